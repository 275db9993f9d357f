//! Ports in brackets: `[0]`, `[1-3, 5]`, `[]`.

use crate::chain::{PortList, MAX_LINKS, MAX_PORT};
use crate::lexer::Kind;
use crate::parser::Parser;

impl PortList {
    pub fn is_empty(&self) -> bool {
        self.ports.is_empty()
    }

    pub fn min_ports(&self) -> usize {
        self.ports.len().max(1)
    }
}

impl Parser<'_, '_> {
    /// Reads `[0, 2-4,]`, if it is there.
    pub fn ports(&mut self, list: &mut PortList) {
        if !self.accept(b'[') {
            return;
        }
        let mut next = 0;
        let mut range = false;
        loop {
            let token = self.lex();
            if token.is(b']') {
                if list.ports.is_empty() {
                    list.ports.push(0);
                }
                list.open = true;
                return;
            }
            if token.kind != Kind::Identifier {
                self.error("syntax error: expected port number");
                self.unlex(token);
                return;
            }
            let port = self.port(&token.text);
            let first = if range { next } else { port };
            list.ports.extend(first..=port);
            // After a range Click counts on once more, which shows only in messages about wrong lists.
            next = first.max(port + 1) + usize::from(range);
            if list.ports.len() > MAX_LINKS {
                self.error("too many ports");
                return;
            }
            let token = self.lex();
            if token.is(b']') {
                return;
            } else if token.is(b'-') && !range {
                range = true;
            } else if token.is(b',') {
                range = false;
            } else {
                self.error("syntax error: expected ','");
                self.unlex(token);
            }
        }
    }

    fn port(&mut self, text: &str) -> usize {
        let number = crate::number::integer(text).filter(|number| *number <= i32::MAX as u64);
        match number.and_then(|number| usize::try_from(number).ok()) {
            None => {
                self.error("syntax error: port number should be integer");
                0
            }
            Some(port) if port > MAX_PORT => {
                self.error(format!("port number {port} too large"))
                    .help(format!("the largest is {MAX_PORT}"));
                0
            }
            Some(port) => port,
        }
    }
}
