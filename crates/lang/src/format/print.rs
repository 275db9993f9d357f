//! Items as text.

use super::item::{Item, Role};

const INDENT: usize = 4;

struct Printer<'a> {
    items: &'a [Item],
    text: String,
    /// Indentation of the line that is being written.
    indent: usize,
    /// For each open block: the indentation of the line that opens it, and whether it is spread over lines.
    blocks: Vec<(usize, bool)>,
    /// Indentation of statements.
    base: usize,
}

/// What goes between two items.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Gap {
    None,
    Space,
    /// A new line with this indentation.
    Line(usize),
    /// An empty line, then a new one.
    Paragraph(usize),
}

/// Writes `items` in regular form.
pub(crate) fn print(items: &[Item]) -> String {
    let mut printer = Printer { items, text: String::new(), indent: 0, blocks: Vec::new(), base: 0 };
    for idx in 0..items.len() {
        printer.item(idx);
    }
    if !printer.text.is_empty() {
        printer.text.push('\n');
    }
    printer.text
}

impl Printer<'_> {
    fn item(&mut self, idx: usize) {
        let item = &self.items[idx];
        if let Role::Close { .. } = item.role {
            let (indent, _) = self.blocks.pop().unwrap_or((0, false));
            self.base = self.blocks.last().map_or(0, |(indent, multiline)| match multiline {
                true => indent + INDENT,
                false => *indent,
            });
            self.gap_before(idx, indent);
        } else {
            self.gap_before(idx, self.base);
        }
        self.text.push_str(&item.text);
        if let Role::Open { multiline } = item.role {
            self.blocks.push((self.indent, multiline));
            self.base = if multiline { self.indent + INDENT } else { self.indent };
        }
        if item.ends && !self.closes_inline(idx) {
            self.text.push(';');
        }
    }

    /// Whether the statement that ends at `idx` is the last of a block on one line; it takes no semicolon.
    fn closes_inline(&self, idx: usize) -> bool {
        let next = self.items[idx + 1..].iter().find(|item| !matches!(item.role, Role::Comment { .. }));
        let is_last = next.is_some_and(|next| matches!(next.role, Role::Close { .. } | Role::Bars));
        is_last && self.blocks.last().is_some_and(|(_, multiline)| !multiline)
    }

    fn gap_before(&mut self, idx: usize, base: usize) {
        let Some(before) = idx.checked_sub(1) else { return };
        match self.gap(&self.items[before], idx, base) {
            Gap::None => {}
            Gap::Space => self.text.push(' '),
            Gap::Line(indent) => self.line(indent),
            Gap::Paragraph(indent) => {
                self.text.push('\n');
                self.line(indent);
            }
        }
    }

    fn line(&mut self, indent: usize) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', indent));
        self.indent = indent;
    }

    fn gap(&self, before: &Item, idx: usize, base: usize) -> Gap {
        let item = &self.items[idx];
        let multiline = self.blocks.last().is_none_or(|(_, multiline)| *multiline);
        let opened = matches!(before.role, Role::Open { .. } | Role::Bars | Role::Bar);
        let own_line = |indent: usize| match item.newlines {
            0 | 1 => Gap::Line(indent),
            _ if opened => Gap::Line(indent),
            _ => Gap::Paragraph(indent),
        };
        let indent = if self.in_statement(idx) { base + INDENT } else { base };
        match (before.role, item.role) {
            (Role::Directive, Role::Directive) => Gap::Line(0),
            (_, Role::Directive) => own_line(0),
            (_, Role::Close { multiline: true }) => Gap::Line(base),
            (_, Role::Comment { .. }) if item.newlines > 0 => own_line(indent),
            (_, Role::Comment { .. }) => Gap::Space,
            (_, Role::Bars) if multiline => Gap::Line(base.saturating_sub(INDENT)),
            (Role::Directive | Role::Comment { to_line_end: true }, _) => own_line(indent),
            (Role::Comment { .. }, _) if item.newlines > 0 => own_line(indent),
            (Role::Bars | Role::Open { .. }, _) if self.is_parameter(idx) => Gap::Space,
            (Role::Open { multiline: true } | Role::Bar, _) if multiline => Gap::Line(base),
            (Role::Bars, _) if multiline && item.text != "..." => Gap::Line(base),
            _ if item.starts && multiline => own_line(base),
            (_, Role::Arrow) if self.breaks_at(idx) => Gap::Line(indent),
            (Role::Comma, _) if item.newlines > 0 && !self.is_parameter(idx) => Gap::Line(indent),
            (before, now) => inline_gap(before, now, item, &self.items[idx - 1]),
        }
    }

    /// Whether `idx` goes on with a statement that began on an earlier line.
    fn in_statement(&self, idx: usize) -> bool {
        if self.items[idx].starts {
            return false;
        }
        let mut depth = 0usize;
        for item in self.items[..idx].iter().rev() {
            match item.role {
                Role::Close { .. } => depth += 1,
                Role::Open { .. } if depth > 0 => depth -= 1,
                Role::Open { .. } | Role::Bar | Role::Bars if depth == 0 => return false,
                Role::Comment { .. } | Role::Directive => continue,
                _ => {}
            }
            if depth == 0 {
                if item.ends {
                    return false;
                }
                if item.starts {
                    return !self.ends_class(idx);
                }
            }
        }
        false
    }

    /// Whether the last token before `idx` closes an `elementclass`, which no semicolon ends.
    fn ends_class(&self, idx: usize) -> bool {
        let blank = |item: &&Item| !matches!(item.role, Role::Comment { .. } | Role::Directive);
        let last = self.items[..idx].iter().rposition(|item| blank(&item));
        let Some(last) = last.filter(|last| self.items[*last].text == "}") else { return false };
        let mut depth = 0usize;
        for (at, item) in self.items[..=last].iter().enumerate().rev() {
            match item.role {
                Role::Close { .. } => depth += 1,
                Role::Open { .. } => depth -= 1,
                _ => {}
            }
            if depth == 0 {
                let words: Vec<&Item> = self.items[..at].iter().rev().filter(blank).take(2).collect();
                return words.get(1).is_some_and(|word| word.text == "elementclass" && word.starts);
            }
        }
        false
    }

    /// Whether the parameters of a compound go on at `idx`.
    fn is_parameter(&self, idx: usize) -> bool {
        let item = &self.items[idx];
        if item.starts || !matches!(item.role, Role::Word | Role::Comma | Role::Bar) || item.text == "..." {
            return false;
        }
        let before = self.items[..idx].iter().rev();
        let mut before = before.skip_while(|item| {
            matches!(item.role, Role::Word | Role::Comma | Role::Comment { .. } | Role::Directive)
                && !item.starts
        });
        before.next().is_some_and(|item| matches!(item.role, Role::Open { .. } | Role::Bars))
    }

    /// A line ends before an arrow if one ended on either side of it.
    fn breaks_at(&self, idx: usize) -> bool {
        let after = self
            .items
            .get(idx + 1)
            .filter(|next| !matches!(next.role, Role::Comment { .. } | Role::Directive));
        let ends_chain = self.items[idx].ends;
        let closes =
            |next: &&Item| matches!(next.role, Role::Close { .. } | Role::Bars) || next.starts || ends_chain;
        self.items[idx].newlines > 0
            || after.filter(|next| !closes(next)).is_some_and(|next| next.newlines > 0)
    }
}

fn inline_gap(before: Role, now: Role, item: &Item, previous: &Item) -> Gap {
    match (before, now) {
        (_, Role::Comma | Role::Config | Role::PortClose) => Gap::None,
        (Role::PortOpen, _) => Gap::None,
        (Role::PortInner, Role::PortInner) if previous.text == "," => Gap::Space,
        (_, Role::PortInner) => Gap::None,
        (Role::Open { .. }, _) if previous.text == "(" => Gap::None,
        (_, Role::Close { .. }) if item.text == ")" => Gap::None,
        _ => Gap::Space,
    }
}
