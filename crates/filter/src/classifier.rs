//! Classifier: patterns over packet data, ready to classify.

use crate::fast::{aligned_word, Compiled, Condition, Layout, Test};
use crate::patterns;
use crate::program::{Combiner, Node, NodeId, Nodes, Program};
use crate::Diagnostic;

/// Patterns, one an output, the first of which that matches decides.
#[derive(Clone, Debug)]
pub struct Classifier {
    /// The patterns as written.
    plain: Program,
    program: Program,
    compiled: Option<Compiled>,
}

impl Classifier {
    /// Parses patterns for packets whose data starts `align_offset` bytes after an aligned word.
    ///
    /// There is a classifier unless a diagnostic is an error.
    pub fn parse(
        patterns: &[impl AsRef<str>],
        n_outputs: usize,
        align_offset: u32,
    ) -> (Option<Classifier>, Vec<Diagnostic>) {
        if patterns.len() != n_outputs {
            return (None, vec![Diagnostic::wrong_count(n_outputs)]);
        }
        let (mut tree, mut diagnostics) = patterns::parse(patterns, align_offset);
        if diagnostics.iter().any(Diagnostic::is_error) {
            return (None, diagnostics);
        }
        let root = tree.end();
        let (plain, nodes) = tree.into_parts();
        let mut program = plain.clone();
        program.optimize(false);
        diagnostics.extend(program.unused_outputs(n_outputs).into_iter().map(Diagnostic::unused_output));
        let layout =
            Layout::plain(plain.insns().iter().filter(|insn| insn.mask != 0).map(|insn| insn.offset));
        let compiled = Compiled::new(&nodes, &conditions(&nodes, root), &plain, layout);
        (Some(Classifier { plain, program, compiled }), diagnostics)
    }

    /// The output for a packet; `None` drops it.
    #[inline(never)]
    pub fn classify(&self, data: &[u8]) -> Option<usize> {
        let fast =
            |compiled: &Compiled| compiled.classify_data(data, self.length(data), self.plain.align_offset());
        let jump = self.compiled.as_ref().and_then(fast);
        crate::output(jump.unwrap_or_else(|| self.run(data)))
    }

    /// As [`Classifier::classify`], with what is the same for all packets looked up beforehand: for many packets in a row.
    #[inline]
    pub fn quick(&self) -> impl Fn(&[u8]) -> Option<usize> + '_ {
        let align_offset = self.plain.align_offset();
        let steps = self.compiled.as_ref().and_then(Compiled::steps);
        move |data| match steps {
            Some((from_length, steps)) if data.len() + align_offset as usize >= from_length as usize => {
                crate::output(steps.classify_data(data, align_offset))
            }
            _ => self.classify(data),
        }
    }

    /// The test that alone decides about all packets that have the word it looks at, if there is only one.
    pub fn only_test(&self) -> Option<Test> {
        let (from_length, steps) = self.compiled.as_ref()?.steps()?;
        let align_offset = self.plain.align_offset();
        steps.only_test(from_length.saturating_sub(align_offset))
    }

    /// The output for a packet, found by going through the patterns as they are written.
    pub fn classify_by_program(&self, data: &[u8]) -> Option<usize> {
        crate::output(self.run(data))
    }

    fn run(&self, data: &[u8]) -> i32 {
        let align_offset = self.plain.align_offset();
        self.plain.run(self.length(data), |offset| aligned_word(data, offset, align_offset))
    }

    fn length(&self, data: &[u8]) -> u32 {
        u32::try_from(data.len()).unwrap_or(u32::MAX).saturating_add(self.plain.align_offset())
    }

    /// The decision program in Click's form and order.
    pub fn program(&self) -> &Program {
        &self.program
    }

    /// The structure that long packets are classified with.
    pub fn structure(&self) -> &'static str {
        self.compiled.as_ref().map_or("program", Compiled::structure)
    }
}

/// The patterns are the parts of the root, in the order of outputs.
fn conditions(nodes: &Nodes, root: Option<NodeId>) -> Vec<Condition> {
    let parts = match root.and_then(|root| nodes.get(root)) {
        Some(Node::Group(Combiner::Or, parts)) => nodes.parts(parts),
        _ => &[],
    };
    (0..).zip(parts).map(|(jump, &part): (i32, _)| Condition { root: Some(part), jump: -jump }).collect()
}
