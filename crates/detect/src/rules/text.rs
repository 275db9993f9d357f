//! Texts of rules: logical lines, and where in the text something stands.

use std::sync::Arc;

use graph::{Diagnostics, Place};

/// A line, with those that a backslash at its end joins to it.
pub struct Line {
    /// What it says.
    pub text: String,
    /// Where in `text` each line of the file begins: offset and line number.
    starts: Vec<(usize, u32)>,
    file: Arc<str>,
}

impl Line {
    /// The lines of a file.
    pub fn all(file: &str, text: &str) -> Vec<Line> {
        let file: Arc<str> = file.into();
        let mut lines = Vec::new();
        let mut open: Option<Line> = None;
        for (i, part) in text.lines().enumerate() {
            let line = open.get_or_insert_with(|| Line {
                text: String::new(),
                starts: Vec::new(),
                file: file.clone(),
            });
            line.starts.push((line.text.len(), u32::try_from(i + 1).unwrap_or(u32::MAX)));
            let is_comment = line.text.is_empty() && part.trim_start().starts_with('#');
            match part.strip_suffix('\\') {
                Some(part) if !is_comment => {
                    line.text.push_str(part);
                    line.text.push(' ');
                }
                _ => {
                    line.text.push_str(part);
                    lines.extend(open.take());
                }
            }
        }
        lines.extend(open);
        lines
    }

    /// The place of a byte of the line.
    pub fn place(&self, offset: usize) -> Place {
        let start = self.starts.iter().rev().find(|(start, _)| *start <= offset);
        let (start, line) = start.copied().unwrap_or((0, 1));
        let before = self.text.get(start..offset.min(self.text.len())).unwrap_or_default();
        let column = u32::try_from(before.chars().count() + 1).unwrap_or(u32::MAX);
        Place { file: Some(self.file.clone()), line, column }
    }
}

/// Where to tell of mistakes in a line.
pub struct Report<'a> {
    /// The line.
    pub line: &'a Line,
    /// What was told.
    pub diagnostics: &'a mut Diagnostics,
}

impl Report<'_> {
    /// Tells of a mistake at an offset, and what to do about it.
    pub fn error(&mut self, offset: usize, mistake: Mistake) {
        self.diagnostics.error(&self.line.place(offset), mistake.message).help(mistake.help);
    }
}

/// What is wrong, and what to do about it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Mistake {
    /// A sentence.
    pub message: String,
    /// The remedy.
    pub help: String,
}

impl Mistake {
    /// A mistake.
    pub fn new(message: impl Into<String>, help: impl Into<String>) -> Mistake {
        Mistake { message: message.into(), help: help.into() }
    }
}

/// A piece of a line: its text, and where it begins.
#[derive(Clone, Copy, Debug)]
pub struct Piece<'t> {
    /// The text, trimmed.
    pub text: &'t str,
    /// Offset in the line.
    pub offset: usize,
}

impl<'t> Piece<'t> {
    /// The part of a text between two offsets, trimmed.
    pub fn of(text: &'t str, from: usize, to: usize) -> Piece<'t> {
        let part = text.get(from..to).unwrap_or_default();
        let trimmed = part.trim_start();
        Piece { text: trimmed.trim_end(), offset: from + part.len() - trimmed.len() }
    }

    /// The pieces between commas that are outside of brackets.
    pub fn split_list(self) -> Vec<Piece<'t>> {
        let (mut depth, mut from, mut pieces) = (0u32, 0, Vec::new());
        for (i, byte) in self.text.bytes().enumerate() {
            match byte {
                b'[' => depth += 1,
                b']' => depth = depth.saturating_sub(1),
                b',' if depth == 0 => {
                    pieces.push(self.part(from, i));
                    from = i + 1;
                }
                _ => {}
            }
        }
        pieces.push(self.part(from, self.text.len()));
        pieces
    }

    /// A part, trimmed.
    pub fn part(self, from: usize, to: usize) -> Piece<'t> {
        let piece = Piece::of(self.text, from, to);
        Piece { text: piece.text, offset: self.offset + piece.offset }
    }

    /// What follows a prefix, if it begins so.
    pub fn after(self, prefix: &str) -> Option<Piece<'t>> {
        self.text.starts_with(prefix).then(|| self.part(prefix.len(), self.text.len()))
    }

    /// What is inside of a pair of brackets around the whole.
    pub fn inside_brackets(self) -> Option<Piece<'t>> {
        let is_list = self.text.starts_with('[') && self.text.ends_with(']') && self.text.len() >= 2;
        is_list.then(|| self.part(1, self.text.len() - 1))
    }
}
