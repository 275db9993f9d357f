//! Rewrites rules as lists of conjunctions.

use super::conjunctions::{Conjunctions, Equal, Range};
use super::draft::Draft;
use super::words::Layout;
use crate::program::{required_length, Combiner, Node, NodeId, Nodes};

/// No rule may become more conjunctions than this, not even on the way.
const MAX_PER_RULE: usize = 1024;
/// Deeper expressions are not rewritten.
const MAX_DEPTH: usize = 100;
/// How many times a condition may be looked at or added to a conjunction, for all rules together: what bounds the time.
const MAX_STEPS: usize = 1 << 21;

/// Any of these; none at all is what no packet fulfils.
type Disjunction = Vec<Draft>;

/// What rewrites rules, for packets of one virtual length.
pub struct Rewriter<'a> {
    nodes: &'a Nodes,
    layout: &'a Layout,
    length: u32,
    /// Whether packets of this length may lack what is tested.
    is_short: bool,
    steps_left: usize,
    /// Memory to be used again.
    spare: Vec<Draft>,
    spare_lists: Vec<Disjunction>,
}

impl<'a> Rewriter<'a> {
    pub fn new(nodes: &'a Nodes, layout: &'a Layout, length: u32, is_short: bool) -> Rewriter<'a> {
        let (spare, spare_lists) = (Vec::new(), Vec::new());
        Rewriter { nodes, layout, length, is_short, steps_left: MAX_STEPS, spare, spare_lists }
    }

    /// Appends a rule's conjunctions to `list`: whether one of them holds for all packets. `None` if that would take too long.
    pub fn rule(&mut self, root: Option<NodeId>, jump: i32, list: &mut Conjunctions) -> Option<bool> {
        if self.is_short && root.is_some_and(|root| self.lacks_word(root, 0)) {
            return Some(false);
        }
        let mut all = self.spare_lists.pop().unwrap_or_default();
        let mut any = self.spare.pop().unwrap_or_default();
        any.copy_from(&Draft::default());
        all.push(any);
        if let Some(root) = root {
            self.add(root, Sense { negated: false, short: false, depth: 0 }, &mut all)?;
        }
        let mut is_constant = false;
        for draft in &all {
            is_constant |= draft.is_empty();
            list.push(draft.equals.iter().copied(), draft.ranges.iter().copied(), jump);
        }
        self.recycle(all);
        Some(is_constant)
    }

    /// Whether a condition is plainly a conjunction with a test for which packets are too short.
    fn lacks_word(&self, id: NodeId, depth: usize) -> bool {
        match self.nodes.get(id) {
            Some(Node::Test { offset, mask, .. }) => required_length(offset, mask) > self.length,
            Some(Node::Group(Combiner::And, parts)) if depth < MAX_DEPTH => {
                self.nodes.parts(parts).iter().any(|&part| self.lacks_word(part, depth + 1))
            }
            _ => false,
        }
    }

    /// Adds a condition to each conjunction of `all`, which become more or fewer by that.
    fn add(&mut self, id: NodeId, sense: Sense, all: &mut Disjunction) -> Option<()> {
        self.steps_left = self.steps_left.checked_sub(1)?;
        if sense.depth > MAX_DEPTH {
            return None;
        }
        let Sense { negated, short, .. } = sense;
        let inner = Sense { depth: sense.depth + 1, ..sense };
        match self.nodes.get(id)? {
            Node::Test { mask: 0, .. } => self.add_constant(!negated, all),
            Node::Test { offset, mask, .. } if required_length(offset, mask) > self.length => {
                self.add_constant(short != negated, all);
            }
            Node::Test { offset, mask, value } => self.add_test(offset, mask, value, negated, all)?,
            Node::Greater { offset, mask, parts, .. } if required_length(offset, mask) > self.length => {
                self.add(parts, inner, all)?;
            }
            Node::Greater { offset, mask, bound, .. } => {
                self.add_greater(offset, mask, bound, negated, all)?
            }
            Node::Not { child, flip_short } => {
                let sense = Sense { negated: !negated, short: short != flip_short, ..inner };
                self.add(child, sense, all)?;
            }
            Node::Group(combiner, parts) => {
                let children = self.nodes.parts(parts);
                match (combiner, negated) {
                    (Combiner::And, false) | (Combiner::Or, true) => {
                        children.iter().try_for_each(|&child| self.add(child, inner, all))?;
                    }
                    (Combiner::And, true) | (Combiner::Or, false) => self.add_any(children, inner, all)?,
                    (Combiner::Ternary, _) => self.add_choice(children, inner, all)?,
                }
            }
        }
        Some(())
    }

    fn add_constant(&mut self, value: bool, all: &mut Disjunction) {
        if !value {
            self.spare.append(all);
        }
    }

    fn add_test(
        &mut self,
        offset: u16,
        mask: u32,
        value: u32,
        negated: bool,
        all: &mut Disjunction,
    ) -> Option<()> {
        let place = self.layout.place(offset);
        if negated && !mask.is_power_of_two() {
            let range = Range { place, mask, low: value, high: value, negated };
            return self.add_each(all, |draft| draft.add_range(range));
        }
        let value = if negated { value ^ mask } else { value };
        self.add_each(all, |draft| draft.add_equal(Equal { place, mask, value }))
    }

    fn add_greater(
        &mut self,
        offset: u16,
        mask: u32,
        bound: u32,
        negated: bool,
        all: &mut Disjunction,
    ) -> Option<()> {
        let place = self.layout.place(offset);
        let (low, high) = match (negated, bound.checked_add(1)) {
            (true, _) => (0, bound),
            (false, Some(low)) => (low, u32::MAX),
            (false, None) => {
                self.add_constant(false, all);
                return Some(());
            }
        };
        let range = Range { place, mask, low, high, negated: false };
        self.add_each(all, |draft| draft.add_range(range))
    }

    /// Drops the conjunctions for which `add` finds that they cannot be fulfilled.
    fn add_each(&mut self, all: &mut Disjunction, mut add: impl FnMut(&mut Draft) -> bool) -> Option<()> {
        let mut at = 0;
        while let Some(draft) = all.get_mut(at) {
            self.steps_left = self.steps_left.checked_sub(1 + draft.ranges.len() / 8)?;
            if add(draft) {
                at += 1;
            } else {
                self.spare.push(all.swap_remove(at));
            }
        }
        Some(())
    }

    /// Adds that any of `children` holds.
    fn add_any(&mut self, children: &[NodeId], sense: Sense, all: &mut Disjunction) -> Option<()> {
        if let [child] = *children {
            return self.add(child, sense, all);
        }
        let before = self.take(all);
        for &child in children {
            if self.is_excluded(child, sense, &before) {
                continue;
            }
            let mut with = self.copy(&before)?;
            self.add(child, sense, &mut with)?;
            self.join(all, with)?;
        }
        self.recycle(before);
        Some(())
    }

    /// Whether a condition is one test, which contradicts all of these: that a packet is of both TCP and UDP, say.
    fn is_excluded(&mut self, id: NodeId, sense: Sense, all: &Disjunction) -> bool {
        let Some(Node::Test { offset, mask, value }) = self.nodes.get(id) else { return false };
        if sense.negated || mask == 0 || required_length(offset, mask) > self.length {
            return false;
        }
        let place = self.layout.place(offset);
        let contradicts =
            |equal: &Equal| equal.place == place && (equal.value ^ value) & equal.mask & mask != 0;
        all.iter().all(|draft| draft.equals.iter().any(contradicts))
    }

    /// Adds that what is chosen holds: `children` are condition, value, ..., otherwise. Without an otherwise, the last two are a
    /// conjunction.
    fn add_choice(&mut self, children: &[NodeId], sense: Sense, all: &mut Disjunction) -> Option<()> {
        let mut reached = self.take(all);
        let mut rest = children;
        while let [condition, value, after @ ..] = rest {
            let mut taken = self.copy(&reached)?;
            self.add(*condition, Sense { negated: false, ..sense }, &mut taken)?;
            self.add(*value, sense, &mut taken)?;
            self.join(all, taken)?;
            self.add(*condition, Sense { negated: true, ..sense }, &mut reached)?;
            rest = after;
        }
        match *rest {
            [otherwise] => self.add(otherwise, sense, &mut reached)?,
            _ => self.add_constant(sense.negated, &mut reached),
        }
        self.join(all, reached)
    }

    fn take(&mut self, all: &mut Disjunction) -> Disjunction {
        std::mem::replace(all, self.spare_lists.pop().unwrap_or_default())
    }

    fn copy(&mut self, all: &Disjunction) -> Option<Disjunction> {
        let mut copies = self.spare_lists.pop().unwrap_or_default();
        for draft in all {
            self.steps_left = self.steps_left.checked_sub(1 + draft.ranges.len() / 8)?;
            let mut copy = self.spare.pop().unwrap_or_default();
            copy.copy_from(draft);
            copies.push(copy);
        }
        Some(copies)
    }

    fn join(&mut self, all: &mut Disjunction, mut more: Disjunction) -> Option<()> {
        all.append(&mut more);
        self.spare_lists.push(more);
        (all.len() <= MAX_PER_RULE).then_some(())
    }

    fn recycle(&mut self, mut all: Disjunction) {
        self.spare.append(&mut all);
        self.spare_lists.push(all);
    }
}

/// How a condition is to be understood.
#[derive(Clone, Copy)]
struct Sense {
    negated: bool,
    /// What a test is taken for if the packet is too short for it.
    short: bool,
    /// How many conditions it is part of.
    depth: usize,
}
