//! Tags of templates that tell about elements, their classes and ports.

use std::cmp::Ordering;
use std::collections::HashSet;

use lang::Kind;

use crate::markup::{class_name, NAMELESS};
use crate::pretty::{Page, TagsLeft, MAX_DEPTH};
use crate::router::{port, Element, Port, Side};
use crate::templates::{quote, split, Tag};
use crate::wiring::Wiring;

/// What tags tell about: an element or its class, and perhaps one of its ports.
#[derive(Clone)]
pub(crate) struct Subject {
    element: usize,
    is_class: bool,
    port: Option<usize>,
    side: Side,
}

impl Subject {
    pub fn element(element: usize) -> Subject {
        Subject { element, is_class: false, port: None, side: Side::Input }
    }

    fn at(&self, port: Option<usize>, side: Side) -> Subject {
        Subject { port, side, ..self.clone() }
    }
}

/// What an `<~elements>` tag expands to.
pub(crate) struct Elements<'a> {
    page: &'a Page<'a>,
    wiring: &'a Wiring<'a>,
    tag: &'a Tag,
    tags: &'a TagsLeft,
    text: String,
    /// What goes before the next text, if any comes.
    separator: String,
}

impl<'a> Elements<'a> {
    pub fn new(page: &'a Page<'a>, wiring: &'a Wiring<'a>, tag: &'a Tag, tags: &'a TagsLeft) -> Elements<'a> {
        Elements { page, wiring, tag, tags, text: String::new(), separator: String::new() }
    }

    /// What was written so far.
    pub fn into_text(self) -> String {
        self.text
    }

    /// Writes the entries of the column that is asked for.
    pub fn list(mut self, output: &mut String) {
        let entries = self.entries();
        let (which, n_columns) = columns(self.tag.get("column"));
        let per_column = entries.len().saturating_sub(1) / n_columns + 1;
        let last = if which == n_columns { entries.len() } else { (which * per_column).min(entries.len()) };
        let first = ((which - 1) * per_column).min(last);
        for subject in &entries[first..last] {
            let template = self.tag.get(if subject.is_class { "typeentry" } else { "entry" });
            self.run(template, subject, 0);
            self.separator = self.tag.get("sep").to_string();
        }
        output.push_str(&self.text);
    }

    fn entries(&self) -> Vec<Subject> {
        let mut entries: Vec<(String, Subject)> = Vec::new();
        let mut classes = HashSet::new();
        for idx in self.page.router.live().filter(|idx| !self.page.router.elements[*idx].is_tunnel()) {
            if self.tag.find("entry").is_some() {
                entries.push((self.page.router.elements[idx].name.clone(), Subject::element(idx)));
            }
            let class = self.class(idx);
            if self.tag.find("typeentry").is_some() && classes.insert(class.clone()) {
                entries.push((class, Subject { is_class: true, ..Subject::element(idx) }));
            }
        }
        entries.sort_by(|a, b| compare(&a.0, &b.0));
        entries.into_iter().map(|(_, subject)| subject).collect()
    }

    fn class(&self, idx: usize) -> String {
        let kind = &self.page.router.elements[idx].kind;
        match class_name(kind, self.page.outline) {
            _ if *kind == Kind::Tunnel => "<tunnel>".to_string(),
            name if name == NAMELESS => String::new(),
            name => name,
        }
    }

    fn put(&mut self, text: &str) {
        if !text.is_empty() {
            self.text.push_str(&std::mem::take(&mut self.separator));
            self.text.push_str(text);
        }
    }

    pub fn run(&mut self, template: &str, subject: &Subject, depth: usize) {
        let mut rest = template;
        while depth < MAX_DEPTH && self.tags.allow(&self.text) {
            let (before, found) = split(rest, true);
            self.put(before);
            let Some((tag, after)) = found else { return };
            let start = self.text.len();
            let next_separator = self.expand(&tag, subject, depth + 1);
            if self.text.len() != start {
                self.separator = next_separator;
            }
            rest = after;
        }
    }

    /// Writes what a tag stands for; returns what goes before the next text.
    fn expand(&mut self, tag: &Tag, subject: &Subject, depth: usize) -> String {
        let element = &self.page.router.elements[subject.element];
        let class = self.class(subject.element);
        match (tag.name.as_str(), subject.is_class) {
            ("name", _) => self.name(tag, subject, &class),
            ("anonymous", _) => self.put(if is_anonymous(element, &class) { "yes" } else { "" }),
            ("type", _) => {
                let href = self.page.class_href(&class).filter(|_| tag.find("link").is_some());
                self.put(&linked(&class, href));
            }
            ("config", false) => self.config(tag, &element.config),
            ("typerefs", _) => self.references(tag, subject, depth),
            ("configlink", false) => {
                let text = tag.find("text").unwrap_or(self.tag.get("configlink"));
                if !text.is_empty() {
                    let text = format!("<a href='#e-{}'>{text}</a>", quote(&element.name));
                    self.run(&text, subject, depth);
                    return tag.get("sep").to_string();
                }
            }
            ("ninputs", false) => self.count(tag, element.n_inputs, "input"),
            ("noutputs", false) => self.count(tag, element.n_outputs, "output"),
            ("inputs", false) => self.ports(tag, subject, Side::Input, element.n_inputs, depth),
            ("outputs", false) => self.ports(tag, subject, Side::Output, element.n_outputs, depth),
            ("inputconnections", _) if subject.side == Side::Input => self.connections(tag, subject, depth),
            ("outputconnections", _) if subject.side == Side::Output => self.connections(tag, subject, depth),
            ("port", _) => self.put(&subject.port.map_or(String::new(), |port| port.to_string())),
            ("processing", _) => self.processing(subject),
            ("if", _) => {
                let template = if self.test(tag, subject, depth) { tag.get("then") } else { tag.get("else") };
                self.run(template, subject, depth);
            }
            (name, _) => self.own(tag, name, subject, depth),
        }
        String::new()
    }

    /// The name of an element or a class, with the link that the tag wants.
    fn name(&mut self, tag: &Tag, subject: &Subject, class: &str) {
        let name = if subject.is_class { class } else { &self.page.router.elements[subject.element].name };
        let href = match tag.get("link").to_lowercase().as_str() {
            "" => None,
            "type" => self.page.class_href(class),
            _ if subject.is_class => self.page.class_href(class),
            _ => Some(format!("#e-{name}")),
        };
        self.put(&linked(name, href));
    }

    fn processing(&mut self, subject: &Subject) {
        let Some(number) = subject.port else { return };
        let end = port(subject.element, number);
        let mode = match subject.side {
            Side::Input => self.wiring.input(end),
            Side::Output => self.wiring.output(end),
        };
        self.put(mode.processing.name());
    }

    /// A tag that the user defined.
    fn own(&mut self, tag: &Tag, name: &str, subject: &Subject, depth: usize) {
        let defined = self.page.definitions.iter().rev().find(|(known, _)| known == name);
        if self.tag.find(name).is_some() {
            self.run(tag.get(name), subject, depth);
        } else if let Some((_, text)) = defined {
            self.run(text, subject, depth);
        }
    }

    fn config(&mut self, tag: &Tag, config: &str) {
        let limit: usize = tag.get("limit").parse().unwrap_or(0);
        let mut shown: String = config.to_string();
        if limit > 0 && config.chars().count() > limit {
            shown = config.chars().take(limit).collect::<String>() + "...";
        }
        if !shown.is_empty() {
            let shown = quote(&shown);
            self.put(&if tag.find("parens").is_some() { format!("({shown})") } else { shown });
        }
    }

    fn count(&mut self, tag: &Tag, n: usize, what: &str) {
        let plural = if n == 1 { "" } else { "s" };
        self.put(&if tag.find("english").is_some() { format!("{n} {what}{plural}") } else { n.to_string() });
    }

    fn references(&mut self, tag: &Tag, subject: &Subject, depth: usize) {
        let template = tag.find("entry").unwrap_or(self.tag.get("typeref"));
        let class = self.class(subject.element);
        let mut list: Vec<usize> = self.page.router.live().filter(|idx| self.class(*idx) == class).collect();
        list.sort_by(|a, b| {
            compare(&self.page.router.elements[*a].name, &self.page.router.elements[*b].name)
        });
        for idx in list {
            self.run(template, &Subject::element(idx), depth);
            self.separator = tag.get("sep").to_string();
        }
    }

    fn ports(&mut self, tag: &Tag, subject: &Subject, side: Side, n_ports: usize, depth: usize) {
        let (entry, no_entry) = match side {
            Side::Input => ("inputentry", "noinputentry"),
            Side::Output => ("outputentry", "nooutputentry"),
        };
        if n_ports == 0 {
            let template = tag.find("noentry").unwrap_or(self.tag.get(no_entry));
            self.run(template, &subject.at(None, side), depth);
        }
        for number in 0..n_ports {
            let template = tag.find("entry").unwrap_or(self.tag.get(entry));
            self.run(template, &subject.at(Some(number), side), depth);
            self.separator = tag.get("sep").to_string();
        }
    }

    fn connections(&mut self, tag: &Tag, subject: &Subject, depth: usize) {
        let (Some(number), side) = (subject.port, subject.side) else { return };
        let (entry, no_entry) = match side {
            Side::Input => ("inputconnection", "noinputconnection"),
            Side::Output => ("outputconnection", "nooutputconnection"),
        };
        let router = self.page.router;
        let mut ends: Vec<Port> = router.neighbours(port(subject.element, number), side);
        ends.sort_by(|a, b| {
            let names = compare(&router.elements[a.element].name, &router.elements[b.element].name);
            names.then(a.port.cmp(&b.port))
        });
        if ends.is_empty() {
            let template = tag.find("noentry").unwrap_or(self.tag.get(no_entry));
            self.run(template, subject, depth);
        }
        for end in ends {
            let template = tag.find("entry").unwrap_or(self.tag.get(entry));
            self.run(template, &Subject::element(end.element).at(Some(end.port), side.other()), depth);
            self.separator = tag.get("sep").to_string();
        }
    }

    fn value(&mut self, template: &str, subject: &Subject, depth: usize) -> String {
        let start = self.text.len();
        self.run(template, subject, depth);
        self.text.split_off(start)
    }

    fn test(&mut self, tag: &Tag, subject: &Subject, depth: usize) -> bool {
        let value = self.value(tag.get("test"), subject, depth);
        for (name, wanted) in [
            ("eq", &[Ordering::Equal][..]),
            ("ne", &[Ordering::Less, Ordering::Greater]),
            ("gt", &[Ordering::Greater]),
            ("lt", &[Ordering::Less]),
            ("ge", &[Ordering::Greater, Ordering::Equal]),
            ("le", &[Ordering::Less, Ordering::Equal]),
        ] {
            if let Some(other) = tag.find(name) {
                let other = self.value(other, subject, depth);
                return wanted.contains(&compare(&value, &other));
            }
        }
        !value.is_empty()
    }
}

/// Whether an element was given its name by its class.
fn is_anonymous(element: &Element, class: &str) -> bool {
    let number = element.name.strip_prefix(class).and_then(|rest| rest.strip_prefix('@'));
    let is_numbered = number.is_some_and(|number| number.bytes().all(|byte| byte.is_ascii_digit()));
    is_numbered || matches!(element.kind, Kind::Tunnel)
}

fn linked(name: &str, href: Option<String>) -> String {
    match href {
        Some(href) => format!("<a href='{}'>{name}</a>", quote(&href)),
        None => name.to_string(),
    }
}

/// `WHICH/COUNT`; the only column if it is malformed.
fn columns(text: &str) -> (usize, usize) {
    let parts =
        text.split_once('/').and_then(|(which, count)| Some((which.parse().ok()?, count.parse().ok()?)));
    parts.filter(|(which, count)| *which >= 1 && which <= count).unwrap_or((1, 1))
}

/// Compares names as people do: letters without regard to case first, numbers by their value.
fn compare(a: &str, b: &str) -> Ordering {
    let (mut left, mut right) = (a.as_bytes(), b.as_bytes());
    loop {
        let (Some(x), Some(y)) = (left.first(), right.first()) else {
            return left.len().cmp(&right.len()).then_with(|| a.cmp(b));
        };
        if x.is_ascii_digit() && y.is_ascii_digit() {
            let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
            let (n, m) = (digits(left), digits(right));
            let trimmed = |text: &[u8]| String::from_utf8_lossy(text).trim_start_matches('0').to_string();
            let (one, other) = (trimmed(&left[..n]), trimmed(&right[..m]));
            match one.len().cmp(&other.len()).then_with(|| one.cmp(&other)) {
                Ordering::Equal => (left, right) = (&left[n..], &right[m..]),
                different => return different,
            }
            continue;
        }
        match x.to_ascii_lowercase().cmp(&y.to_ascii_lowercase()) {
            Ordering::Equal => (left, right) = (&left[1..], &right[1..]),
            different => return different,
        }
    }
}
