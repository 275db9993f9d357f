//! Rewrites rules as a list of conjunctions, of which the first that holds decides.

use super::words::{Layout, Words, N_WORDS};
use crate::program::{required_length, Combiner, Node, NodeId};

/// No rule may become more conjunctions than this.
const MAX_PER_RULE: usize = 256;
/// Deeper expressions are not rewritten.
const MAX_DEPTH: usize = 100;

/// Equality of a masked word.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Equal {
    pub place: u8,
    pub mask: u32,
    pub value: u32,
}

/// A masked word within a range, or outside it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Range {
    pub place: u8,
    pub mask: u32,
    pub low: u32,
    pub high: u32,
    pub negated: bool,
}

impl Range {
    #[inline]
    pub fn holds(&self, words: &Words) -> bool {
        let word = words[usize::from(self.place) % N_WORDS] & self.mask;
        (self.low <= word && word <= self.high) != self.negated
    }
}

/// What a packet must fulfil to be sent to `jump`. At most one equality a word.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Conjunction {
    pub equals: Vec<Equal>,
    pub ranges: Vec<Range>,
    pub jump: i32,
}

impl Conjunction {
    /// Both; `None` if they contradict each other.
    fn and(&self, other: &Conjunction) -> Option<Conjunction> {
        let mut both = self.clone();
        for new in &other.equals {
            match both.equals.iter_mut().find(|equal| equal.place == new.place) {
                Some(old) if (old.value ^ new.value) & old.mask & new.mask != 0 => return None,
                Some(old) => (old.mask, old.value) = (old.mask | new.mask, old.value | new.value),
                None => both.equals.push(*new),
            }
        }
        both.ranges.extend(other.ranges.iter().filter(|range| !self.ranges.contains(range)));
        both.tidy()
    }

    /// Drops ranges that the equalities decide, and joins those of one masked word.
    fn tidy(mut self) -> Option<Conjunction> {
        self.equals.sort_unstable_by_key(|equal| equal.place);
        let mut ranges: Vec<Range> = Vec::with_capacity(self.ranges.len());
        for range in self.ranges {
            let covers = |equal: &&Equal| equal.place == range.place && range.mask & !equal.mask == 0;
            if let Some(equal) = self.equals.iter().find(covers) {
                let value = equal.value & range.mask;
                if (range.low <= value && value <= range.high) == range.negated {
                    return None;
                }
                continue;
            }
            let joins = |old: &&mut Range| {
                old.place == range.place && old.mask == range.mask && !old.negated && !range.negated
            };
            match ranges.iter_mut().find(joins) {
                Some(old) => {
                    (old.low, old.high) = (old.low.max(range.low), old.high.min(range.high));
                    if old.low > old.high {
                        return None;
                    }
                }
                None => ranges.push(range),
            }
        }
        self.ranges = ranges;
        Some(self)
    }

    #[inline]
    pub fn holds(&self, words: &Words) -> bool {
        let equals = |equal: &Equal| words[usize::from(equal.place) % N_WORDS] & equal.mask == equal.value;
        self.equals.iter().all(equals) && self.ranges_hold(words)
    }

    #[inline]
    pub fn ranges_hold(&self, words: &Words) -> bool {
        self.ranges.iter().all(|range| range.holds(words))
    }
}

/// Rewrites one rule's condition for packets of virtual length `length`; `None` if it would become too long.
pub fn rewrite(nodes: &[Node], root: NodeId, length: u32, layout: &Layout) -> Option<Vec<Conjunction>> {
    Rewriter { nodes, length, layout }.node(root, false, false, 0)
}

struct Rewriter<'a> {
    nodes: &'a [Node],
    length: u32,
    layout: &'a Layout,
}

type Disjunction = Vec<Conjunction>;

impl Rewriter<'_> {
    /// `short`: what a test is taken for if the packet is too short for it.
    fn node(&self, id: NodeId, negated: bool, short: bool, depth: usize) -> Option<Disjunction> {
        if depth > MAX_DEPTH {
            return None;
        }
        match *self.nodes.get(id)? {
            Node::Test { mask: 0, .. } => Some(constant(!negated)),
            Node::Test { offset, mask, .. } if required_length(offset, mask) > self.length => {
                Some(constant(short != negated))
            }
            Node::Test { offset, mask, value } => Some(vec![self.test(offset, mask, value, negated)]),
            Node::Greater { offset, mask, bound, parts } => {
                if required_length(offset, mask) > self.length {
                    return self.node(parts, negated, short, depth + 1);
                }
                Some(self.greater(offset, mask, bound, negated))
            }
            Node::Not { child, flip_short } => self.node(child, !negated, short != flip_short, depth + 1),
            Node::Group(combiner, ref children) => self.group(combiner, children, negated, short, depth + 1),
        }
    }

    fn test(&self, offset: u16, mask: u32, value: u32, negated: bool) -> Conjunction {
        let place = self.layout.place(offset);
        let mut conjunction = Conjunction::default();
        if negated && !mask.is_power_of_two() {
            conjunction.ranges.push(Range { place, mask, low: value, high: value, negated });
        } else {
            let value = if negated { value ^ mask } else { value };
            conjunction.equals.push(Equal { place, mask, value });
        }
        conjunction
    }

    fn greater(&self, offset: u16, mask: u32, bound: u32, negated: bool) -> Disjunction {
        let place = self.layout.place(offset);
        let (low, high) = match (negated, bound.checked_add(1)) {
            (true, _) => (0, bound),
            (false, Some(low)) => (low, u32::MAX),
            (false, None) => return constant(false),
        };
        let range = Range { place, mask, low, high, negated: false };
        vec![Conjunction { ranges: vec![range], ..Conjunction::default() }]
    }

    fn group(
        &self,
        combiner: Combiner,
        children: &[NodeId],
        negated: bool,
        short: bool,
        depth: usize,
    ) -> Option<Disjunction> {
        let any = match combiner {
            Combiner::Ternary => return self.ternary(children, negated, short, depth),
            Combiner::And => negated,
            Combiner::Or => !negated,
        };
        let mut parts = children.iter().map(|&child| self.node(child, negated, short, depth));
        match any {
            true => parts.try_fold(constant(false), |all, part| or(all, part?)),
            false => parts.try_fold(constant(true), |all, part| and(&all, &part?)),
        }
    }

    /// Condition, value, ..., otherwise. Without an otherwise, the last two are a conjunction.
    fn ternary(&self, children: &[NodeId], negated: bool, short: bool, depth: usize) -> Option<Disjunction> {
        let node = |child: NodeId, negated| self.node(child, negated, short, depth);
        let mut result = constant(false);
        let mut reached = constant(true);
        let mut rest = children;
        while let [condition, value, after @ ..] = rest {
            let taken = and(&reached, &node(*condition, false)?)?;
            result = or(result, and(&taken, &node(*value, negated)?)?)?;
            reached = and(&reached, &node(*condition, true)?)?;
            rest = after;
        }
        let last = match rest {
            [otherwise] => node(*otherwise, negated)?,
            _ => constant(negated),
        };
        or(result, and(&reached, &last)?)
    }
}

fn constant(value: bool) -> Disjunction {
    if value {
        vec![Conjunction::default()]
    } else {
        Vec::new()
    }
}

fn or(mut all: Disjunction, part: Disjunction) -> Option<Disjunction> {
    all.extend(part);
    (all.len() <= MAX_PER_RULE).then_some(all)
}

fn and(left: &Disjunction, right: &Disjunction) -> Option<Disjunction> {
    if left.len() * right.len() > 4 * MAX_PER_RULE {
        return None;
    }
    let pairs = left.iter().flat_map(|l| right.iter().filter_map(move |r| l.and(r)));
    or(Vec::new(), pairs.collect())
}
