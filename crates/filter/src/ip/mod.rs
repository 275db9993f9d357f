//! IPFilter and IPClassifier: expressions over IP packets.

mod check;
mod expression;
mod kind;
mod lookup;
mod lower;
mod names;
mod number;
mod primitive;
mod term;
mod words;

pub use names::{is_numeric, BuiltInNames, Names, Table, ICMP_TYPES, PORTS, PROTOCOLS};

use crate::diagnostic::{Diagnostic, Severity};
use crate::program::{Combiner, NodeId, Nodes, Program, Tree, FAILURE, NEVER};
use expression::{Parser, Stack};
use lookup::Lookups;
use primitive::Primitive;
use std::ops::Range;

/// Offsets from here on are in the network header; those below, in the MAC header, two bytes before it on.
pub(crate) const NETWORK: u16 = 256;
/// Offsets from here on are in the transport header.
pub(crate) const TRANSPORT: u16 = 512;

/// Parsed rules.
#[derive(Clone, Debug)]
pub struct Rules {
    pub list: Vec<Rule>,
    pub nodes: Nodes,
    /// The programs of the rules, one after the other; those that fail lead to `FAILURE`.
    program: Program,
}

/// A parsed rule: where its packets go, and its condition.
#[derive(Clone, Debug)]
pub struct Rule {
    /// A jump: an output, negated, or `NEVER`.
    pub jump: i32,
    /// `None` for a condition without any test. Such a rule ends the list: it drops all that reach it.
    pub root: Option<NodeId>,
    /// Where its instructions are.
    part: Range<usize>,
}

impl Rules {
    /// The rules one after the other, as written.
    pub fn chained(&self) -> Program {
        self.program.chained(self.list.iter().map(|rule| rule.part.clone()))
    }

    /// The rules joined, in Click's order of steps.
    pub fn joined(&self) -> Program {
        join(self.list.iter().map(|rule| self.program.part(rule.part.clone())).collect())
    }
}

/// Parses `ACTION EXPRESSION` rules. They are usable if no diagnostic is an error.
pub fn parse_rules(
    patterns: &[impl AsRef<str>],
    n_outputs: usize,
    names: &dyn Names,
) -> (Rules, Vec<Diagnostic>) {
    let mut parser = RuleParser {
        n_outputs,
        names: Lookups::new(names),
        tree: Tree::new(0),
        words: Vec::new(),
        stack: Stack::new(),
        messages: Messages::default(),
    };
    let mut list = Vec::with_capacity(patterns.len());
    for (number, pattern) in patterns.iter().enumerate() {
        list.extend(parser.rule(number, pattern.as_ref()));
    }
    let (program, nodes) = parser.tree.into_parts();
    (Rules { list, nodes, program }, parser.messages.diagnostics)
}

/// What is kept from rule to rule.
struct RuleParser<'a> {
    n_outputs: usize,
    names: Lookups<'a>,
    tree: Tree,
    words: Vec<&'a str>,
    stack: Stack,
    messages: Messages,
}

impl<'a> RuleParser<'a> {
    fn rule(&mut self, number: usize, pattern: &'a str) -> Option<Rule> {
        let RuleParser { names, tree, words, stack, messages, .. } = self;
        words::split(pattern, words);
        messages.pattern = number;
        let Some(action) = words.first() else {
            messages.diagnostics.push(Diagnostic::error(None, format!("empty pattern {number}")));
            return None;
        };
        let start = tree.n_insns();
        let jump = parse_action(action, self.n_outputs, messages);
        tree.start();
        if matches!(words[..], [_] | [_, "-" | "any" | "all"]) {
            tree.test(0, 0, 0);
        } else {
            let previous = Primitive::new();
            let mut parser = Parser { words, tree, names, messages, previous, pos: 1, stack };
            parser.expression();
            if let Some(word) = words.get(parser.pos) {
                messages.error(format!("garbage after expression at '{word}'"));
            }
        }
        tree.finish_to(Combiner::And, jump, FAILURE);
        let root = tree.end();
        Some(Rule { jump, root, part: start..tree.n_insns() })
    }
}

fn parse_action(word: &str, n_outputs: usize, messages: &mut Messages) -> i32 {
    match word {
        "allow" => {
            if n_outputs == 0 {
                messages.error("'allow' is meaningless, element has zero outputs");
            }
            return 0;
        }
        "deny" | "drop" => return NEVER,
        _ => {}
    }
    match number::int(word) {
        Some(output) if usize::try_from(output).is_ok_and(|output| output < n_outputs) => return -output,
        Some(output) => messages.error(format!("slot '{output}' out of range")),
        None => messages.error(format!("unknown slot ID '{word}'")),
    }
    NEVER
}

fn join(mut programs: Vec<Program>) -> Program {
    let mut distance = 1;
    while distance < programs.len() {
        for at in (0..programs.len() - distance).step_by(2 * distance) {
            let next = std::mem::replace(&mut programs[at + distance], Program::new(0));
            programs[at].append_or(&next);
            programs[at].optimize(true);
        }
        distance *= 2;
    }
    let n_programs = programs.len();
    let mut program = programs.into_iter().next().unwrap_or(Program::new(0));
    if n_programs <= 1 {
        program.optimize(true);
    }
    program.set_failure(NEVER);
    program.sort_conjunctions(true);
    program
}

/// Collects what is wrong with patterns.
#[derive(Debug, Default)]
pub(crate) struct Messages {
    /// The one that is looked at.
    pattern: usize,
    diagnostics: Vec<Diagnostic>,
}

impl Messages {
    fn error(&mut self, message: impl Into<String>) {
        self.diagnostics.push(Diagnostic::error(Some(self.pattern), message.into()));
    }

    fn warning(&mut self, message: impl Into<String>) {
        let (severity, pattern) = (Severity::Warning, Some(self.pattern));
        self.diagnostics.push(Diagnostic { pattern, severity, message: message.into() });
    }
}
