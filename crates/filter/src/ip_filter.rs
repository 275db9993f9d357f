//! IPFilter and IPClassifier: rules over IP packets, ready to classify.

use crate::fast::{Compiled, Condition, Headers, Layout, Steps};
use crate::ip::{self, Names, Rule, Rules};
use crate::program::{Compressed, Program, NEVER};
use crate::Diagnostic;

/// A filter in the middle of many packets; see [`IpFilter::quick`].
pub struct Quick<'f, F> {
    filter: &'f IpFilter,
    /// The form for packets that are long enough, if that is a decision graph, and how long they are.
    steps: Option<(u32, &'f Steps)>,
    /// The same if it is hash tables.
    tuples: Option<(u32, F)>,
}

impl<F: Fn(&Headers) -> i32> Quick<'_, F> {
    /// As [`IpFilter::classify`].
    #[inline(always)]
    pub fn classify(&self, headers: &Headers) -> Option<usize> {
        match (self.steps, &self.tuples) {
            (Some((from_length, steps)), _) if headers.virtual_len() >= from_length => {
                crate::output(steps.classify_ip(headers))
            }
            (_, Some((from_length, find))) if headers.virtual_len() >= *from_length => {
                crate::output(find(headers))
            }
            _ => self.filter.classify(headers),
        }
    }
}

/// A list of rules, the first of which that matches decides.
#[derive(Clone, Debug)]
pub struct IpFilter {
    rules: Rules,
    /// The rules one after the other, as written.
    program: Program,
    compiled: Option<Compiled>,
}

impl IpFilter {
    /// What is wrong with rules, without making a filter of them.
    pub fn check(patterns: &[impl AsRef<str>], n_outputs: usize, names: &dyn Names) -> Vec<Diagnostic> {
        ip::parse_rules(patterns, n_outputs, names).1
    }

    /// Parses IPFilter rules, `ACTION EXPRESSION`, for an element with `n_outputs` outputs. Patterns are unquoted.
    ///
    /// There is a filter unless a diagnostic is an error.
    pub fn parse(
        patterns: &[impl AsRef<str>],
        n_outputs: usize,
        names: &dyn Names,
    ) -> (Option<IpFilter>, Vec<Diagnostic>) {
        let (rules, diagnostics) = ip::parse_rules(patterns, n_outputs, names);
        let is_good = !diagnostics.iter().any(Diagnostic::is_error);
        (is_good.then(|| IpFilter::new(rules)), diagnostics)
    }

    /// Parses IPClassifier patterns, one an output.
    pub fn parse_classifier(
        patterns: &[impl AsRef<str>],
        n_outputs: usize,
        names: &dyn Names,
    ) -> (Option<IpFilter>, Vec<Diagnostic>) {
        if patterns.len() != n_outputs {
            return (None, vec![Diagnostic::wrong_count(n_outputs)]);
        }
        let numbered =
            patterns.iter().enumerate().map(|(output, pattern)| format!("{output} {}", pattern.as_ref()));
        IpFilter::parse(&numbered.collect::<Vec<_>>(), n_outputs, names)
    }

    fn new(rules: Rules) -> IpFilter {
        let program = rules.chained();
        let condition = |&Rule { root, jump, .. }: &Rule| Condition {
            root,
            jump: if root.is_some() { jump } else { NEVER },
        };
        let conditions: Vec<Condition> = rules.list.iter().map(condition).collect();
        let tested = program.insns().iter().filter(|insn| insn.mask != 0);
        let layout = Layout::ip(tested.map(|insn| insn.offset));
        let compiled = Compiled::new(&rules.nodes, &conditions, &program, layout);
        IpFilter { rules, program, compiled }
    }

    /// The outcome, as of [`IpFilter::classify`], if it is the same for all packets.
    #[inline]
    pub fn always(&self) -> Option<Option<usize>> {
        self.compiled.as_ref().and_then(Compiled::always).map(crate::output)
    }

    /// The output for a packet; `None` drops it.
    #[inline(never)]
    pub fn classify(&self, headers: &Headers) -> Option<usize> {
        let jump = self.compiled.as_ref().and_then(|compiled| compiled.classify_ip(headers));
        crate::output(jump.unwrap_or_else(|| self.run(headers)))
    }

    /// What is the same for all packets, looked up beforehand: for many packets in a row.
    #[inline]
    pub fn quick(&self) -> Quick<'_, impl Fn(&Headers) -> i32 + '_> {
        let steps = self.compiled.as_ref().and_then(Compiled::steps);
        let tuples = self.compiled.as_ref().and_then(Compiled::tuples);
        Quick { filter: self, steps, tuples }
    }

    /// Whether any rule looks at the link-layer header; if not, [`Headers::mac`] may be empty.
    #[inline(always)]
    pub fn looks_at_mac(&self) -> bool {
        self.compiled.as_ref().is_none_or(|compiled| compiled.layout.has_mac())
    }

    /// The output for a packet, found by going through the rules as they are written.
    pub fn classify_by_program(&self, headers: &Headers) -> Option<usize> {
        crate::output(self.run(headers))
    }

    fn run(&self, headers: &Headers) -> i32 {
        self.program.run(headers.virtual_len(), |offset| headers.word(offset))
    }

    /// The decision program in Click's form and order. Takes long for thousands of rules; packets do not go through it.
    pub fn program(&self) -> Compressed {
        Compressed::new(&self.rules.joined())
    }

    /// Warnings for outputs below `n_outputs` that no packet can reach. Takes as long as `program`.
    pub fn unused_outputs(&self, n_outputs: usize) -> Vec<Diagnostic> {
        self.program().unused_outputs(n_outputs).into_iter().map(Diagnostic::unused_output).collect()
    }

    /// The structure that long packets are classified with.
    pub fn structure(&self) -> &'static str {
        self.compiled.as_ref().map_or("program", Compiled::structure)
    }
}
