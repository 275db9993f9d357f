//! Texts as items.

use args::{is_comment, skip_comment};
use graph::{Diagnostics, Place};

use super::item::{Item, Role};
use crate::lexer::{Kind, Lexer, Token};

/// What may come next in a chain.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Stage {
    /// A statement.
    Start,
    /// An element, after an arrow.
    AfterArrow,
    /// An element, after a comma.
    AfterComma,
    /// An element, after its input ports.
    AfterPorts,
    /// `::`, a configuration, ports, or what follows an element.
    Named,
    /// A class, after `::`.
    AfterColons,
    /// A configuration, ports, or what follows an element.
    Typed,
    /// Ports, or what follows an element.
    Configured,
    /// What follows an element.
    Complete,
    /// The name after `elementclass`.
    ClassName,
    /// The body or synonym after `elementclass NAME`.
    ClassBody,
    /// The parenthesis after `require` or `define`.
    Keyword,
    /// Parameters at the start of a compound.
    Parameters,
}

/// An open brace or parenthesis.
struct Bracket {
    item: usize,
    is_class_body: bool,
    /// What the text is to be when it closes.
    after: Stage,
}

struct Scanner<'a> {
    source: &'a str,
    lexer: Lexer,
    items: Vec<Item>,
    brackets: Vec<Bracket>,
    stage: Stage,
    /// The last item of the statement, where its semicolon goes.
    last: Option<usize>,
}

/// Splits a text into items; the error is the place of what has no clear meaning.
pub(crate) fn scan(source: &str) -> Result<Vec<Item>, Place> {
    let lexer = Lexer::new("", source);
    let mut scanner =
        Scanner { source, lexer, items: Vec::new(), brackets: Vec::new(), stage: Stage::Start, last: None };
    let mut ignored = Diagnostics::default();
    loop {
        let before = scanner.lexer.offset();
        let token = scanner.lexer.next(&mut ignored);
        let start = scanner.lexer.token_start();
        let newlines = scanner.blank(before, start);
        if token.kind == Kind::End {
            scanner.end_statement();
            let complete = scanner.brackets.is_empty() && scanner.stage == Stage::Start;
            return if complete { Ok(scanner.items) } else { Err(scanner.lexer.place()) };
        }
        scanner.token(&token, newlines).ok_or_else(|| scanner.lexer.place())?;
    }
}

impl Scanner<'_> {
    /// Keeps the comments between two tokens; returns how many lines end after the last of them.
    fn blank(&mut self, mut at: usize, end: usize) -> usize {
        let text = self.source.as_bytes();
        let mut newlines = 0;
        while at < end {
            let start = at;
            let role = if is_comment(text, at) {
                let to_line_end = text[at + 1] == b'/';
                at = skip_comment(text, at).min(end);
                Role::Comment { to_line_end }
            } else if text[at] == b'#' {
                at = text[at..end]
                    .iter()
                    .position(|byte| matches!(byte, b'\n' | b'\r'))
                    .map_or(end, |len| at + len);
                Role::Directive
            } else {
                newlines +=
                    usize::from(text[at] == b'\n' || (text[at] == b'\r' && text.get(at + 1) != Some(&b'\n')));
                at += 1;
                continue;
            };
            let raw = &self.source[start..at];
            let text = raw.trim_end();
            // A comment's own end of line counts as what follows it.
            let after = usize::from(raw.len() > text.len() && role != Role::Directive);
            self.items.push(Item { text: text.into(), role, newlines, starts: false, ends: false });
            newlines = after;
        }
        newlines
    }

    fn push(&mut self, role: Role, newlines: usize) {
        let text = self.source[self.lexer.token_start()..self.lexer.offset()].to_string();
        self.items.push(Item { text, role, newlines, starts: false, ends: false });
        self.last = Some(self.items.len() - 1);
    }

    /// Ends the statement, if one has begun.
    fn end_statement(&mut self) {
        let implicit_end = matches!(self.stage, Stage::AfterArrow | Stage::AfterPorts);
        let element_end =
            matches!(self.stage, Stage::Named | Stage::Typed | Stage::Configured | Stage::Complete);
        if implicit_end || element_end {
            if let Some(item) = self.last.and_then(|last| self.items.get_mut(last)) {
                item.ends = true;
            }
            self.stage = Stage::Start;
        }
    }

    fn token(&mut self, token: &Token, newlines: usize) -> Option<()> {
        use Stage::*;
        match (self.stage, token.kind) {
            (Parameters, _) => return self.parameter(token, newlines),
            (ClassName, Kind::Identifier) => self.put(Role::Word, newlines, ClassBody),
            (ClassBody, Kind::Identifier) => {
                self.put(Role::Word, newlines, Complete);
                self.end_statement();
            }
            (ClassBody, Kind::Byte(b'{')) => self.open(newlines, true, Start),
            (Keyword, Kind::Byte(b'(')) => {
                self.config(newlines)?;
                self.stage = Complete;
                self.end_statement();
            }
            (ClassName | ClassBody | Keyword, _) => return None,
            (AfterColons, Kind::Identifier) => self.put(Role::Word, newlines, Typed),
            (AfterColons, Kind::Byte(b'{')) => self.open(newlines, false, Typed),
            (AfterColons, _) => return None,
            (Named, Kind::Colons) => self.put(Role::Word, newlines, AfterColons),
            (Named | Typed, Kind::Byte(b'(')) => {
                self.config(newlines)?;
                self.stage = Configured;
            }
            (Named | Typed | Configured, Kind::Byte(b'[')) => {
                self.ports(newlines)?;
                self.stage = Complete;
            }
            (Start | AfterArrow | AfterComma, Kind::Byte(b'[')) => {
                let (starts, first) = (self.stage == Start, self.items.len());
                self.ports(newlines)?;
                self.items[first].starts = starts;
                self.stage = AfterPorts;
            }
            (AfterComma, Kind::Arrow | Kind::DoubleArrow) => return None,
            (_, Kind::Arrow | Kind::DoubleArrow) => {
                let starts = self.stage == Start;
                self.put(Role::Arrow, newlines, AfterArrow);
                self.mark_start(starts);
            }
            (AfterPorts | Named | Typed | Configured | Complete, Kind::Byte(b',')) => {
                self.put(Role::Comma, newlines, AfterComma);
            }
            (AfterComma, Kind::Byte(b';' | b'}' | b')') | Kind::Bars) => return None,
            _ => return self.boundary(token, newlines),
        }
        Some(())
    }

    /// Tokens that start an element, end a statement or end a block.
    fn boundary(&mut self, token: &Token, newlines: usize) -> Option<()> {
        let begins = matches!(token.kind, Kind::Identifier | Kind::Byte(b'{' | b'('));
        let expected = matches!(self.stage, Stage::AfterArrow | Stage::AfterComma | Stage::AfterPorts);
        if !(begins && expected) {
            if self.stage == Stage::AfterComma {
                return None;
            }
            self.end_statement();
        }
        let starts = self.stage == Stage::Start;
        match token.kind {
            Kind::Byte(b';') => return Some(()),
            Kind::Identifier => self.put(Role::Word, newlines, Stage::Named),
            Kind::Byte(b'{') => self.open(newlines, false, Stage::Named),
            Kind::Byte(b'(') => self.open(newlines, false, Stage::Named),
            // After the ports of a chain, this is a new statement.
            Kind::Byte(b'[') => {
                let first = self.items.len();
                self.ports(newlines)?;
                self.items[first].starts = true;
                self.stage = Stage::AfterPorts;
                return Some(());
            }
            Kind::ElementClass => self.put(Role::Word, newlines, Stage::ClassName),
            Kind::Require | Kind::Define => self.put(Role::Word, newlines, Stage::Keyword),
            Kind::Byte(b'}' | b')') => return self.close(newlines),
            Kind::Bars => {
                self.push(Role::Bars, newlines);
                self.last = None;
                self.stage = Stage::Parameters;
                return Some(());
            }
            _ => return None,
        }
        self.mark_start(starts);
        Some(())
    }

    fn put(&mut self, role: Role, newlines: usize, next: Stage) {
        let starts = self.stage == Stage::Start && role == Role::Word;
        self.push(role, newlines);
        self.mark_start(starts);
        self.stage = next;
    }

    /// Marks the last item as a statement's first.
    fn mark_start(&mut self, starts: bool) {
        if let Some(item) = self.items.last_mut().filter(|_| starts) {
            item.starts = true;
        }
    }

    fn open(&mut self, newlines: usize, is_class_body: bool, after: Stage) {
        let is_group = self.source.as_bytes().get(self.lexer.token_start()) == Some(&b'(');
        self.push(Role::Open { multiline: false }, newlines);
        self.brackets.push(Bracket { item: self.items.len() - 1, is_class_body, after });
        self.stage = if is_group { Stage::Start } else { Stage::Parameters };
    }

    fn close(&mut self, newlines: usize) -> Option<()> {
        let bracket = self.brackets.pop()?;
        let multiline = newlines > 0 || self.items[bracket.item + 1..].iter().any(|item| item.newlines > 0);
        self.items[bracket.item].role = Role::Open { multiline };
        self.push(Role::Close { multiline }, newlines);
        self.stage = bracket.after;
        if bracket.is_class_body {
            self.last = None;
        }
        Some(())
    }

    /// `KEYWORD $name, $name |`, or nothing of the kind.
    fn parameter(&mut self, token: &Token, newlines: usize) -> Option<()> {
        match token.kind {
            Kind::Variable => self.push(Role::Word, newlines),
            Kind::Byte(b',') => self.push(Role::Comma, newlines),
            Kind::Identifier if self.variable_follows() => self.push(Role::Word, newlines),
            Kind::Byte(b'|') => {
                self.push(Role::Bar, newlines);
                self.stage = Stage::Start;
            }
            Kind::Dots => {
                self.push(Role::Word, newlines);
                self.stage = Stage::Start;
            }
            _ => {
                self.stage = Stage::Start;
                return self.token(token, newlines);
            }
        }
        self.last = None;
        Some(())
    }

    fn variable_follows(&self) -> bool {
        self.lexer.clone().next(&mut Diagnostics::default()).kind == Kind::Variable
    }

    fn config(&mut self, newlines: usize) -> Option<()> {
        let start = self.lexer.token_start();
        let mut ignored = Diagnostics::default();
        self.lexer.config(&mut ignored);
        let closed = self.lexer.next(&mut ignored).is(b')');
        let text = self.source[start..self.lexer.offset()].to_string();
        self.items.push(Item { text, role: Role::Config, newlines, starts: false, ends: false });
        self.last = Some(self.items.len() - 1);
        closed.then_some(())
    }

    fn ports(&mut self, newlines: usize) -> Option<()> {
        self.push(Role::PortOpen, newlines);
        loop {
            let before = self.lexer.offset();
            let token = self.lexer.next(&mut Diagnostics::default());
            let newlines = self.blank(before, self.lexer.token_start());
            match token.kind {
                Kind::Byte(b']') => {
                    self.push(Role::PortClose, newlines);
                    return Some(());
                }
                Kind::Identifier | Kind::Byte(b',' | b'-') => self.push(Role::PortInner, newlines),
                _ => return None,
            }
        }
    }
}
