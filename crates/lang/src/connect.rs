//! Connections of lists: which output goes to which input.

use graph::Place;

use crate::chain::{Mention, PortList, MAX_LINKS};
use crate::lexer::Kind;
use crate::parser::Parser;

/// One side of a connection of lists: a cursor over elements and their ports.
struct Cursor<'m> {
    mentions: std::slice::Iter<'m, Mention>,
    current: Option<&'m Mention>,
    is_output: bool,
    /// Which port of the current element is next, by position.
    position: usize,
    /// Whether the cursor moves on after each connection.
    steps: bool,
    min_ports: usize,
    /// Whether one of the lists is open.
    expandable: bool,
    /// How many ports the open list still has to provide.
    n_extra: usize,
}

impl<'m> Cursor<'m> {
    fn new(mentions: &'m [Mention], is_output: bool) -> (Cursor<'m>, usize) {
        let list = |mention: &'m Mention| if is_output { &mention.outputs } else { &mention.inputs };
        let min_ports = mentions.iter().map(|mention| list(mention).min_ports()).sum();
        let n_open = mentions.iter().filter(|mention| list(mention).open).count();
        let mut iter = mentions.iter();
        let current = iter.next();
        let cursor = Cursor {
            mentions: iter,
            current,
            is_output,
            position: 0,
            steps: false,
            min_ports,
            expandable: n_open > 0,
            n_extra: 0,
        };
        (cursor, n_open)
    }

    fn list(&self) -> Option<&'m PortList> {
        self.current.map(|mention| if self.is_output { &mention.outputs } else { &mention.inputs })
    }

    /// Element and port where the cursor stands.
    fn end(&self) -> Option<(usize, usize)> {
        let list = self.list()?;
        let port = match list.ports.get(self.position) {
            Some(port) => *port,
            // An open list goes on after its last port; a missing one from 0.
            None => match list.ports.last() {
                Some(last) => last + self.position + 1 - list.ports.len(),
                None => self.position,
            },
        };
        Some((self.current?.element, port))
    }

    fn advance(&mut self) {
        let Some(list) = self.list().filter(|_| self.steps) else { return };
        self.position += 1;
        if self.position < list.ports.len() {
            return;
        }
        if (list.open || (list.is_empty() && self.min_ports == 1)) && self.n_extra > 0 {
            self.n_extra -= 1;
            return;
        }
        self.position = 0;
        self.current = self.mentions.next();
    }
}

impl Parser<'_, '_> {
    /// Connects the elements of two lists, as `->` or `=>` says.
    pub fn connect_all(&mut self, outputs: &[Mention], inputs: &[Mention], connector: Kind, place: &Place) {
        let (mut from, n_open_from) = Cursor::new(outputs, true);
        let (mut to, n_open_to) = Cursor::new(inputs, false);
        if n_open_from + n_open_to > 1 {
            self.error("at most one expandable port allowed per connection");
            let shorter = if to.min_ports < from.min_ports { &mut from } else { &mut to };
            shorter.expandable = false;
        }
        if connector == Kind::DoubleArrow {
            let (from_min, to_min) = (from.min_ports, to.min_ports);
            for (cursor, other) in [(&mut to, from_min), (&mut from, to_min)] {
                if cursor.min_ports == 1 && other > 1 && cursor.list().is_some_and(PortList::is_empty) {
                    cursor.expandable = true;
                }
            }
        }
        let (from_min, to_min) = (from.min_ports, to.min_ports);
        for (cursor, other) in [(&mut to, from_min), (&mut from, to_min)] {
            cursor.steps = cursor.min_ports > 1 || cursor.expandable;
            cursor.n_extra = if cursor.expandable { other.saturating_sub(cursor.min_ports) } else { 0 };
        }
        if from.steps && to.steps {
            self.check_counts(&from, &to, connector);
        } else if !from.steps && !to.steps {
            to.steps = true;
        }
        while let (Some(out), Some(input)) = (from.end(), to.end()) {
            if self.c.links.len() >= MAX_LINKS {
                self.error("too many connections");
                return;
            }
            self.c.connect(out, input, place.clone());
            from.advance();
            to.advance();
        }
    }

    fn check_counts(&mut self, from: &Cursor, to: &Cursor, connector: Kind) {
        if connector != Kind::DoubleArrow {
            self.error("syntax error: many-to-many connections require '=>'")
                .help("write `=>` to connect first to first, second to second and so on");
        }
        let (n_out, n_in) = (from.min_ports, to.min_ports);
        let message = if !to.expandable && !from.expandable && n_in != n_out {
            format!("connection mismatch: {n_out} outputs connected to {n_in} inputs")
        } else if !to.expandable && n_in < n_out {
            format!("connection mismatch: {n_out} or more outputs connected to {n_in} inputs")
        } else if !from.expandable && n_out < n_in {
            format!("connection mismatch: {n_out} outputs connected to {n_in} or more inputs")
        } else {
            return;
        };
        self.error(message);
    }
}
