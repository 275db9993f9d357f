//! Classifier patterns: `12/0800 !20/00?1%ffff`, clauses of which all must match.

use crate::diagnostic::Diagnostic;
use crate::program::{Combiner, Tree, FAILURE, NEVER};

/// Parses patterns, one an output, into a tree that decides for the first that matches. `align_offset` is added to all
/// offsets, so that words of the packet are aligned. The tree is usable if no diagnostic is an error.
pub(crate) fn parse(patterns: &[impl AsRef<str>], align_offset: u32) -> (Tree, Vec<Diagnostic>) {
    let mut tree = Tree::new(align_offset);
    let mut diagnostics = Vec::new();
    tree.start();
    for (output, pattern) in patterns.iter().enumerate() {
        let mut parser = Parser {
            rest: pattern.as_ref(),
            pattern: output,
            align_offset,
            tree: &mut tree,
            diagnostics: &mut diagnostics,
        };
        parser.tree.start();
        if !parser.clauses() {
            parser.tree.test(0, 0, 0);
        }
        tree.finish_to(Combiner::And, -(output as i32), FAILURE);
    }
    tree.finish_to(Combiner::Or, NEVER, NEVER);
    (tree, diagnostics)
}

struct Parser<'a> {
    rest: &'a str,
    pattern: usize,
    align_offset: u32,
    tree: &'a mut Tree,
    diagnostics: &'a mut Vec<Diagnostic>,
}

impl<'a> Parser<'a> {
    /// Adds all clauses to the tree; whether there were any tests in them.
    fn clauses(&mut self) -> bool {
        let mut any = false;
        if self.rest == "-" {
            return false;
        }
        self.skip_space();
        while !self.rest.is_empty() {
            let Some(tested) = self.clause() else { break };
            any |= tested;
            self.skip_space();
        }
        any
    }

    /// Adds one clause; `None` if the rest of the pattern cannot be understood.
    fn clause(&mut self) -> Option<bool> {
        let negated = self.rest.starts_with('!');
        if negated {
            self.rest = &self.rest[1..];
            self.skip_space();
        }
        let offset = self.take(|c| c.is_ascii_digit());
        if offset.is_empty() {
            self.error("expected a digit");
            return None;
        }
        let digits = offset.bytes().map(|digit| u32::from(digit - b'0'));
        let offset = digits.fold(0u32, |offset, digit| offset.wrapping_mul(10).wrapping_add(digit));
        let Some(rest) = self.rest.strip_prefix('/') else {
            self.error("expected '/'");
            return None;
        };
        self.rest = rest;
        let is_nibble = |c: char| c.is_ascii_hexdigit() || c == '?';
        let mut value = self.take(is_nibble);
        let mut mask = None;
        if let Some(rest) = self.rest.strip_prefix('%') {
            self.rest = rest;
            mask = Some(self.take(is_nibble));
        }
        self.check_lengths(&mut value, &mut mask);
        self.tree.start();
        self.tests(offset.wrapping_add(self.align_offset), value, mask);
        self.tree.finish(Combiner::And);
        if negated {
            self.tree.negate(false);
        }
        Some(value.len() >= 2)
    }

    fn check_lengths(&mut self, value: &mut &'a str, mask: &mut Option<&'a str>) {
        if value.len() < 2 {
            self.error("value has less than 2 hex digits");
            *value = "";
            *mask = mask.map(|_| "");
        }
        if !value.len().is_multiple_of(2) {
            self.error("value has odd number of hex digits");
            *value = &value[..value.len() - 1];
            *mask = mask.map(|mask| &mask[..mask.len().saturating_sub(1)]);
        }
        let Some(digits) = *mask else { return };
        if digits.len() != value.len() {
            let too = if digits.len() > value.len() { "many" } else { "few" };
            self.error(&format!("mask has too {too} hex digits"));
            let len = digits.len().min(value.len());
            (*value, *mask) = (&value[..len], Some(&digits[..len]));
        }
    }

    fn tests(&mut self, offset: u32, value: &str, mask: Option<&str>) {
        for (n, digits) in value.as_bytes().chunks_exact(2).enumerate() {
            let (value, mut bits) = byte(digits);
            if let Some(mask_digits) = mask.and_then(|mask| mask.as_bytes().get(2 * n..2 * n + 2)) {
                let (mask_value, known) = byte(mask_digits);
                bits &= mask_value & known;
            }
            let at = offset.wrapping_add(n as u32) as u16;
            if n == 0 || at.is_multiple_of(4) {
                self.tree.test(at & !3, 0, 0);
            }
            self.tree.refine_last(at, value, bits);
        }
    }

    fn skip_space(&mut self) {
        self.take(|c| matches!(c, ' ' | '\t'..='\r'));
    }

    fn take(&mut self, part: impl Fn(char) -> bool) -> &'a str {
        let end = self.rest.find(|c| !part(c)).unwrap_or(self.rest.len());
        let (taken, rest) = self.rest.split_at(end);
        self.rest = rest;
        taken
    }

    fn error(&mut self, message: &str) {
        self.diagnostics.push(Diagnostic::error(Some(self.pattern), message.to_string()));
    }
}

/// Value and known bits of two digits, each of which may be `?`.
fn byte(digits: &[u8]) -> (u8, u8) {
    digits.iter().fold((0, 0), |(value, known), &digit| match char::from(digit).to_digit(16) {
        Some(nibble) => (value << 4 | nibble as u8, known << 4 | 0xf),
        None => (value << 4, known << 4),
    })
}
