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

pub use names::{BuiltInNames, Names, Table, ICMP_TYPES, PORTS, PROTOCOLS};

use crate::diagnostic::{Diagnostic, Severity};
use crate::program::{Combiner, Node, NodeId, Program, Tree, FAILURE, NEVER};
use expression::Parser;
use primitive::Primitive;

/// Offsets from here on are in the network header; those below, in the MAC header, two bytes before it on.
pub(crate) const NETWORK: u16 = 256;
/// Offsets from here on are in the transport header.
pub(crate) const TRANSPORT: u16 = 512;

/// A parsed rule: where its packets go, and its condition.
#[derive(Clone, Debug)]
pub struct Rule {
    /// A jump: an output, negated, or `NEVER`.
    pub jump: i32,
    pub nodes: Vec<Node>,
    /// `None` for a condition without any test. Such a rule ends the list: it drops all that reach it.
    pub root: Option<NodeId>,
    pub(crate) program: Program,
}

/// Parses `ACTION EXPRESSION` rules. They are usable if no diagnostic is an error.
pub fn parse_rules(
    patterns: &[impl AsRef<str>],
    n_outputs: usize,
    names: &dyn Names,
) -> (Vec<Rule>, Vec<Diagnostic>) {
    let mut diagnostics = Vec::new();
    let mut rules = Vec::new();
    for (number, pattern) in patterns.iter().enumerate() {
        let words = words::split(pattern.as_ref());
        if words.is_empty() {
            diagnostics.push(Diagnostic::error(None, format!("empty pattern {number}")));
            continue;
        }
        let mut messages = Messages { pattern: number, diagnostics: Vec::new() };
        rules.push(parse_rule(&words, n_outputs, names, &mut messages));
        diagnostics.extend(messages.diagnostics);
    }
    (rules, diagnostics)
}

fn parse_rule(words: &[&str], n_outputs: usize, names: &dyn Names, messages: &mut Messages) -> Rule {
    let jump = parse_action(words.first().copied().unwrap_or_default(), n_outputs, messages);
    let mut tree = Tree::new(0);
    tree.start();
    if matches!(words, [_] | [_, "-" | "any" | "all"]) {
        tree.test(0, 0, 0);
    } else {
        let previous = Primitive::new();
        let mut parser = Parser { words, tree: &mut tree, names, messages, previous, pos: 1 };
        parser.expression();
        if let Some(word) = words.get(parser.pos) {
            messages.error(format!("garbage after expression at '{word}'"));
        }
    }
    tree.finish_to(Combiner::And, jump, FAILURE);
    let (program, nodes, root) = tree.into_parts();
    Rule { jump, nodes, root, program }
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

/// Joins the programs of rules, in Click's order of steps.
pub(crate) fn join(rules: &[Rule]) -> Program {
    let mut programs: Vec<Program> = rules.iter().map(|rule| rule.program.clone()).collect();
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

/// Collects what is wrong with one pattern.
#[derive(Debug)]
pub(crate) struct Messages {
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
