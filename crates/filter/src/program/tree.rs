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

/// Index of a node in `Tree::nodes`; children come before their parents.
pub type NodeId = usize;

/// An expression over masked words. `Not` with `flip_short` also negates the outcome for short packets.
#[derive(Clone, Debug, PartialEq, Eq)]
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
    Group(Combiner, Vec<NodeId>),
    Not {
        child: NodeId,
        flip_short: bool,
    },
}

/// A program under construction.
#[derive(Clone, Debug)]
pub struct Tree {
    program: Program,
    nodes: Vec<Node>,
    /// For each open group: its finished parts, as the first instruction and the node.
    open: Vec<Vec<(usize, NodeId)>>,
}

impl Tree {
    pub fn new(align_offset: u32) -> Tree {
        Tree { program: Program::new(align_offset), nodes: Vec::new(), open: vec![Vec::new()] }
    }

    pub fn start(&mut self) {
        self.open.push(Vec::new());
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
            (self.program.insns.last_mut(), self.nodes.last_mut())
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
        let parts = self.open.pop().unwrap_or_default();
        let Some(&(first, _)) = parts.first() else { return };
        let start = |part: usize| parts.get(part).map_or(self.program.insns.len(), |&(start, _)| start);
        let mut redirects = Vec::with_capacity(parts.len());
        let mut part = 0;
        while part < parts.len() {
            let (from, next, after) = (start(part), start(part + 1), start(part + 2));
            match combiner {
                _ if part + 1 == parts.len() => redirects.push((from, next, success, failure)),
                Combiner::Or => redirects.push((from, next, success, next as i32)),
                Combiner::Ternary if part + 2 < parts.len() => {
                    redirects.push((from, next, next as i32, after as i32));
                    redirects.push((next, after, success, failure));
                    part += 1;
                }
                Combiner::And | Combiner::Ternary => redirects.push((from, next, next as i32, failure)),
            }
            part += 1;
        }
        for (from, to, success, failure) in redirects {
            self.redirect(from, to, success, failure);
        }
        let children = parts.into_iter().map(|(_, node)| node).collect();
        self.add_part(first, Node::Group(combiner, children));
    }

    /// Negates the last part of the innermost group; short packets too, if `flip_short`.
    pub fn negate(&mut self, flip_short: bool) {
        let Some((first, child)) = self.open.last_mut().and_then(Vec::pop) else { return };
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
        let node = self.nodes.len();
        if let Some((_, part)) = self.open.last_mut().and_then(|parts| parts.last_mut()) {
            self.nodes.push(Node::Greater { offset, mask, bound, parts: *part });
            *part = node;
        }
    }

    /// The program, the nodes, and the root: the last finished part.
    pub fn into_parts(self) -> (Program, Vec<Node>, Option<NodeId>) {
        let root = self.open.last().and_then(|parts| parts.last()).map(|&(_, node)| node);
        (self.program, self.nodes, root)
    }

    fn add_part(&mut self, first: usize, node: Node) {
        self.nodes.push(node);
        let id = self.nodes.len() - 1;
        if self.open.is_empty() {
            self.open.push(Vec::new());
        }
        if let Some(parts) = self.open.last_mut() {
            parts.push((first, id));
        }
    }

    fn redirect(&mut self, from: usize, to: usize, success: i32, failure: i32) {
        for jump in self.program.insns[from..to].iter_mut().flat_map(|insn| &mut insn.jump) {
            *jump = match *jump {
                SUCCESS => success,
                FAILURE => failure,
                other => other,
            };
        }
    }
}
