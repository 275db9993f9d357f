//! Parses expressions: `a ? b : c`, `or`, `and` (or nothing), `not`, parentheses, primitives.

use super::lookup::Lookups;
use super::primitive::Primitive;
use super::Messages;
use crate::program::{Combiner, Tree};

/// Parses the expression of one rule.
pub struct Parser<'a, 'p> {
    pub words: &'p [&'a str],
    pub tree: &'p mut Tree,
    pub names: &'p mut Lookups<'a>,
    pub messages: &'p mut Messages,
    pub previous: Primitive,
    pub pos: usize,
    pub stack: &'p mut Stack,
}

/// What is being parsed and where that began, kept from rule to rule so as not to be allocated each time.
pub type Stack = Vec<(State, usize)>;

/// What is being parsed. A stack of these stands in for recursion, so that no input can exhaust the call stack.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum State {
    Expression,
    AfterCondition,
    AfterValue,
    Or,
    AfterOperand,
    And,
    AfterAnd,
    AfterFactor,
    Factor { negated: bool },
    AfterNot,
    AfterParenthesis { negated: bool },
}

/// What to do with the state on top of the stack.
enum Next {
    Pop,
    /// Parse this, and come back to the first.
    Enter(State, State),
}

impl<'a> Parser<'a, '_> {
    /// Parses one expression, as far as it goes.
    pub fn expression(&mut self) {
        self.stack.clear();
        self.stack.push((State::Expression, self.pos));
        while let Some(&(state, entered_at)) = self.stack.last() {
            // Whether the part that was entered from this state turned out empty.
            let nothing = self.pos == entered_at;
            match self.step(state, nothing) {
                Next::Pop => {
                    self.stack.pop();
                }
                Next::Enter(back, state) => {
                    if let Some(top) = self.stack.last_mut() {
                        *top = (back, self.pos);
                    }
                    self.stack.push((state, self.pos));
                }
            }
        }
    }

    pub(super) fn word(&self) -> Option<&'a str> {
        self.words.get(self.pos).copied()
    }

    fn take(&mut self, any_of: &[&str]) -> bool {
        let found = self.word().is_some_and(|word| any_of.contains(&word));
        self.pos += usize::from(found);
        found
    }

    fn step(&mut self, state: State, nothing: bool) -> Next {
        match state {
            State::Expression => {
                self.tree.start();
                return Next::Enter(State::AfterCondition, State::Or);
            }
            State::AfterCondition => {
                if self.take(&["?"]) {
                    return Next::Enter(State::AfterValue, State::Expression);
                }
                self.tree.finish(Combiner::Ternary);
            }
            State::AfterValue => {
                if !nothing && self.take(&[":"]) {
                    return Next::Enter(State::AfterCondition, State::Or);
                }
                self.messages.error("missing ':' in ternary expression");
                self.tree.finish(Combiner::Ternary);
            }
            State::Or => {
                self.tree.start();
                return Next::Enter(State::AfterOperand, State::And);
            }
            State::AfterOperand => {
                if self.take(&["or", "||"]) {
                    return Next::Enter(State::AfterOperand, State::And);
                }
                self.tree.finish(Combiner::Or);
            }
            State::And => {
                self.tree.start();
                return Next::Enter(State::AfterAnd, State::Factor { negated: false });
            }
            State::AfterAnd | State::AfterFactor => return self.after_factor(state, nothing),
            State::Factor { negated } => return self.factor(negated),
            State::AfterNot => {
                if nothing {
                    let last = self.pos.checked_sub(1).and_then(|at| self.words.get(at)).copied();
                    let message = format!("missing expression after '{}'", last.unwrap_or_default());
                    self.messages.error(message);
                }
            }
            State::AfterParenthesis { negated } => {
                if nothing {
                    self.messages.error("missing expression after '('");
                }
                if !self.take(&[")"]) && !nothing {
                    self.messages.error("missing ')'");
                }
                if negated {
                    self.tree.negate(false);
                }
            }
        }
        Next::Pop
    }

    fn after_factor(&mut self, state: State, nothing: bool) -> Next {
        if nothing {
            if state == State::AfterAnd {
                self.messages.error("missing expression");
            }
            self.tree.finish(Combiner::And);
            return Next::Pop;
        }
        let back = if self.take(&["and", "&&"]) { State::AfterAnd } else { State::AfterFactor };
        Next::Enter(back, State::Factor { negated: false })
    }

    fn factor(&mut self, negated: bool) -> Next {
        if self.take(&["not", "!"]) {
            return Next::Enter(State::AfterNot, State::Factor { negated: !negated });
        }
        if self.take(&["("]) {
            return Next::Enter(State::AfterParenthesis { negated }, State::Expression);
        }
        self.test(negated);
        Next::Pop
    }
}
