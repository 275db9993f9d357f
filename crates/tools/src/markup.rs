//! A configuration's text as HTML: what is written in colours, names linked with what they name.

use std::collections::HashMap;

use lang::{Body, Kind, Outline};

use crate::pretty::Page;
use crate::templates::quote;

/// The text in a `<pre>`.
pub(crate) fn markup(page: &Page) -> String {
    let mut marker = Marker {
        page,
        at: Places::new(page),
        text: page.text,
        offset: 0,
        line: 1,
        column: 1,
        depth: 0,
        html: String::new(),
    };
    marker.html.push_str("<pre>");
    marker.run();
    marker.html + "</pre>\n"
}

/// What is declared where, by line and column.
struct Places<'a> {
    /// Elements outside compound elements.
    main: HashMap<(u32, u32), (&'a str, String)>,
    /// Elements inside.
    inner: HashMap<(u32, u32), (&'a str, String)>,
}

impl<'a> Places<'a> {
    fn new(page: &'a Page) -> Places<'a> {
        let collect = |body: &'a Body| {
            let here = body
                .parts
                .iter()
                .filter(|part| part.place.file.as_deref() == Some(page.name) && part.kind != Kind::Tunnel);
            here.map(|part| {
                let title = format!("{} :: {}", part.name, class_name(&part.kind, page.outline));
                ((part.place.line, part.place.column), (part.name.as_str(), title))
            })
        };
        let inner = page.outline.compounds.iter().flat_map(|compound| collect(&compound.body));
        Places { main: collect(&page.outline.main).collect(), inner: inner.collect() }
    }
}

/// What stands for the name of a class that has none.
pub(crate) const NAMELESS: &str = "{...}";

/// The name of a class; of a compound element, the last that it was given.
pub(crate) fn class_name(kind: &Kind, outline: &Outline) -> String {
    match kind {
        Kind::Class(name) => name.clone(),
        _ => {
            let named = outline.classes.iter().rev().find(|(_, other)| other == kind);
            named.map_or(NAMELESS.to_string(), |(name, _)| name.clone())
        }
    }
}

struct Marker<'a> {
    page: &'a Page<'a>,
    at: Places<'a>,
    text: &'a str,
    offset: usize,
    line: u32,
    column: u32,
    /// How many braces are open.
    depth: usize,
    html: String,
}

impl<'a> Marker<'a> {
    fn run(&mut self) {
        let mut after_class_keyword = false;
        let mut may_be_config = false;
        while let Some(first) = self.rest().chars().next() {
            let rest = self.rest();
            if rest.starts_with("//") || rest.starts_with("/*") || (first == '#' && self.column == 1) {
                self.span("c-cmt", comment_len(rest));
            } else if first.is_whitespace() {
                self.plain(first.len_utf8());
            } else if first == '(' && may_be_config {
                self.plain(1);
                self.span("c-cfg", config_len(self.rest()));
                may_be_config = false;
            } else if is_name(first) {
                let len = name_len(rest);
                let word = &rest[..len];
                may_be_config = true;
                if matches!(word, "elementclass" | "require" | "provide" | "define") {
                    after_class_keyword = word == "elementclass";
                    self.span("c-kw", len);
                } else {
                    self.name(word, std::mem::take(&mut after_class_keyword));
                }
            } else {
                may_be_config = first == '}';
                match first {
                    '{' => self.depth += 1,
                    '}' => self.depth = self.depth.saturating_sub(1),
                    _ => {}
                }
                self.plain(first.len_utf8());
            }
        }
    }

    fn rest(&self) -> &'a str {
        &self.text[self.offset..]
    }

    /// Writes the next bytes as they are.
    fn plain(&mut self, len: usize) {
        let text = &self.rest()[..len];
        self.html.push_str(&quote(text));
        for c in text.chars() {
            if c == '\n' {
                self.line += 1;
                self.column = 1;
            } else {
                self.column += 1;
            }
        }
        self.offset += len;
    }

    /// Writes the next bytes in a class of their own, line by line.
    fn span(&mut self, class: &str, len: usize) {
        let end = self.offset + len;
        while self.offset < end {
            let left = &self.text[self.offset..end];
            let line = left.find('\n').unwrap_or(left.len());
            if line > 0 {
                self.html.push_str(&format!("<span class='{class}'>"));
                self.plain(line);
                self.html.push_str("</span>");
            }
            if line < left.len() {
                self.plain(1);
            }
        }
    }

    fn name(&mut self, word: &str, is_class_declaration: bool) {
        let here = (self.line, self.column);
        let (before, after) = if is_class_declaration {
            (format!("<a id='{}'><span class='c-cd'>", class_anchor(word)), "</span></a>")
        } else if let Some((name, title)) = self.at.main.get(&here).filter(|_| self.depth == 0) {
            let anchor = quote(name);
            (format!("<a id='e-{anchor}'><span class='c-ed' title='{}'>", quote(title)), "</span></a>")
        } else if let Some((_, title)) = self.at.inner.get(&here) {
            (format!("<span class='c-ed' title='{}'>", quote(title)), "</span>")
        } else if let Some(element) = self.page.router.find(word).filter(|_| self.depth == 0) {
            let element = &self.page.router.elements[element];
            let class = class_name(&element.kind, self.page.outline);
            (format!("<span title='{}'>", quote(&format!("{word} :: {class}"))), "</span>")
        } else if let Some(href) = self.page.class_href(word) {
            (format!("<a href='{}'>", quote(&href)), "</a>")
        } else {
            (String::new(), "")
        };
        self.html.push_str(&before);
        self.plain(word.len());
        self.html.push_str(after);
    }
}

/// Where the declaration of a class is, in the page.
pub(crate) fn class_anchor(name: &str) -> String {
    format!("c-{}", quote(name))
}

fn is_name(c: char) -> bool {
    c.is_ascii_alphanumeric() || c == '_' || c == '@'
}

fn name_len(text: &str) -> usize {
    text.find(|c: char| !is_name(c) && c != '/').unwrap_or(text.len())
}

fn comment_len(text: &str) -> usize {
    match text.starts_with("/*") {
        true => text.get(2..).and_then(|body| body.find("*/")).map_or(text.len(), |end| end + 4),
        false => text.find('\n').unwrap_or(text.len()),
    }
}

/// How long a configuration string is, to the parenthesis that closes it.
fn config_len(text: &str) -> usize {
    let bytes = text.as_bytes();
    let (mut at, mut open, mut quoted) = (0, 0usize, None);
    while let Some(byte) = bytes.get(at).copied() {
        match byte {
            b'\\' if quoted == Some(b'"') => at += 1,
            b'\'' | b'"' if quoted.is_none() => quoted = Some(byte),
            byte if quoted == Some(byte) => quoted = None,
            _ if quoted.is_some() => {}
            b'/' if matches!(bytes.get(at + 1), Some(b'/' | b'*')) => {
                at += comment_len(&text[at..]).saturating_sub(1)
            }
            b'(' => open += 1,
            b')' if open == 0 => return at,
            b')' => open -= 1,
            _ => {}
        }
        at += 1;
    }
    text.len()
}
