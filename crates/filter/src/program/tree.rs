//! Builds a program from nested tests and, beside it, the expression the tests came from.

use super::insn::{Insn, FAILURE, SUCCESS};
use super::Program;

/// How the parts of a group are combined. `Ternary` is condition, value, ..., otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Combiner {
    And,
    Or,
    Ternary,
}

/// Index of a node in `Nodes`; children come before their parents.
pub type NodeId = u32;

/// An expression over masked words. `Not` with `flip_short` also negates the outcome for short packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Node {
    Test {
        offset: u16,
        mask: u32,
        value: u32,
    },
    /// `word & mask > bound`; `parts` says the same with tests, some of which may hold for packets too short for others.
    Greater {
        offset: u16,
        mask: u32,
        bound: u32,
        parts: NodeId,
    },
    Group(Combiner, Parts),
    Not {
        child: NodeId,
        flip_short: bool,
    },
}

/// The parts of a group, which lie side by side in `Nodes`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Parts {
    start: u32,
    end: u32,
}

/// The nodes of expressions.
#[derive(Clone, Debug, Default)]
pub struct Nodes {
    nodes: Vec<Node>,
    parts: Vec<NodeId>,
}

impl Nodes {
    pub fn get(&self, id: NodeId) -> Option<Node> {
        self.nodes.get(id as usize).copied()
    }

    pub fn parts(&self, parts: Parts) -> &[NodeId] {
        self.parts.get(parts.start as usize..parts.end as usize).unwrap_or_default()
    }

    pub fn iter(&self) -> impl Iterator<Item = &Node> {
        self.nodes.iter()
    }

    fn push(&mut self, node: Node) -> NodeId {
        self.nodes.push(node);
        self.nodes.len() as NodeId - 1
    }

    fn group(&mut self, combiner: Combiner, parts: impl Iterator<Item = NodeId>) -> Node {
        let start = self.parts.len() as u32;
        self.parts.extend(parts);
        Node::Group(combiner, Parts { start, end: self.parts.len() as u32 })
    }
}

/// A program under construction, or several of them one after the other.
#[derive(Clone, Debug)]
pub struct Tree {
    program: Program,
    nodes: Nodes,
    /// The finished parts of all open groups, as the first instruction and the node.
    parts: Vec<(usize, NodeId)>,
    /// For each open group: where its parts start.
    open: Vec<usize>,
}

impl Tree {
    pub fn new(align_offset: u32) -> Tree {
        let (nodes, parts, open) = (Nodes::default(), Vec::new(), Vec::new());
        Tree { program: Program::new(align_offset), nodes, parts, open }
    }

    pub fn start(&mut self) {
        self.open.push(self.parts.len());
    }

    pub fn test(&mut self, offset: u16, value: u32, mask: u32) {
        let insn = Insn::new(offset, value, mask);
        let first = self.program.insns.len();
        self.program.push(insn);
        self.add_part(first, Node::Test { offset, mask, value: insn.value });
    }

    /// Adds byte `value % mask` at `offset` to the last test, which covers the aligned word around it.
    pub fn refine_last(&mut self, offset: u16, value: u8, mask: u8) {
        let shift = 24 - 8 * (u32::from(offset) % 4);
        let (Some(insn), Some(Node::Test { mask: node_mask, value: node_value, .. })) =
            (self.program.insns.last_mut(), self.nodes.nodes.last_mut())
        else {
            return;
        };
        insn.mask |= u32::from(mask) << shift;
        insn.value |= u32::from(value & mask) << shift;
        (*node_mask, *node_value) = (insn.mask, insn.value);
    }

    /// Ends the innermost group.
    pub fn finish(&mut self, combiner: Combiner) {
        self.finish_to(combiner, SUCCESS, FAILURE);
    }

    /// Ends the innermost group, whose packets go on to `success` and `failure`.
    pub fn finish_to(&mut self, combiner: Combiner, success: i32, failure: i32) {
        let from = self.open.pop().unwrap_or(0);
        let parts = self.parts.get(from..).unwrap_or_default();
        let &[(first, _), ref others @ ..] = parts else { return };
        if others.is_empty() && (success, failure) == (SUCCESS, FAILURE) {
            // A group of one is what it consists of.
            return;
        }
        let insns = &mut self.program.insns;
        let end = insns.len();
        let start = |parts: &[(usize, NodeId)]| parts.first().map_or(end, |&(start, _)| start);
        let mut rest = parts;
        while let [(from, _), after @ ..] = rest {
            let (own, next) = (*from..start(after), start(after) as i32);
            rest = after;
            match (combiner, after) {
                (_, []) => redirect(&mut insns[own], success, failure),
                (Combiner::Or, _) => redirect(&mut insns[own], success, next),
                (Combiner::Ternary, [_, otherwise @ ..]) if !otherwise.is_empty() => {
                    redirect(&mut insns[own], next, start(otherwise) as i32);
                    redirect(&mut insns[next as usize..start(otherwise)], success, failure);
                    rest = otherwise;
                }
                (Combiner::And | Combiner::Ternary, _) => redirect(&mut insns[own], next, failure),
            }
        }
        let group = self.nodes.group(combiner, parts.iter().map(|&(_, node)| node));
        self.parts.truncate(from);
        self.add_part(first, group);
    }

    /// Negates the last part of the innermost group; short packets too, if `flip_short`.
    pub fn negate(&mut self, flip_short: bool) {
        if self.parts.len() <= self.open.last().copied().unwrap_or(0) {
            return;
        }
        let Some((first, child)) = self.parts.pop() else { return };
        for insn in self.program.insns.iter_mut().skip(first) {
            for jump in &mut insn.jump {
                *jump = match *jump {
                    FAILURE => SUCCESS,
                    SUCCESS => FAILURE,
                    other => other,
                };
            }
            insn.short_output ^= flip_short;
        }
        self.add_part(first, Node::Not { child, flip_short });
    }

    /// Says that the last part of the innermost group is `word & mask > bound`, as one test.
    pub fn name_greater(&mut self, offset: u16, mask: u32, bound: u32) {
        if let Some((_, part)) = self.parts.last_mut() {
            *part = self.nodes.push(Node::Greater { offset, mask, bound, parts: *part });
        }
    }

    /// Ends a program, so that another can follow it: its root, if it has any test.
    pub fn end(&mut self) -> Option<NodeId> {
        let root = self.parts.last().map(|&(_, node)| node);
        self.parts.clear();
        self.open.clear();
        root
    }

    /// How many instructions there are.
    pub fn n_insns(&self) -> usize {
        self.program.insns.len()
    }

    /// The program and the nodes.
    pub fn into_parts(self) -> (Program, Nodes) {
        (self.program, self.nodes)
    }

    fn add_part(&mut self, first: usize, node: Node) {
        let id = self.nodes.push(node);
        self.parts.push((first, id));
    }
}

/// Leads what succeeds and what fails elsewhere.
fn redirect(insns: &mut [Insn], success: i32, failure: i32) {
    if (success, failure) == (SUCCESS, FAILURE) {
        return;
    }
    for jump in insns.iter_mut().flat_map(|insn| &mut insn.jump) {
        *jump = match *jump {
            SUCCESS => success,
            FAILURE => failure,
            other => other,
        };
    }
}
