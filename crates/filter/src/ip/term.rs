//! Parses one test of an expression: qualifiers, mask, relation and value, or `true` and `false`.

use super::check::{Header, Refused};
use super::expression::Parser;
use super::kind::{self, UNKNOWN};
use super::lookup::Meaning;
use super::number;
use super::primitive::{Data, Direction, Op, Primitive};

impl<'a> Parser<'a, '_> {
    /// Parses a test and adds it to the tree; nothing if there is none.
    pub(super) fn test(&mut self, mut negated: bool) {
        match self.word() {
            None | Some(")" | "||" | "or" | "?" | ":") => return,
            Some(constant @ ("true" | "false")) => {
                let is_false = constant == "false";
                self.tree.test(0, 0, 0);
                if negated != is_false {
                    self.tree.negate(false);
                }
                self.pos += 1;
                return;
            }
            Some(_) => {}
        }
        let first = self.pos;
        let mut primitive = Primitive::new();
        let mut header = self.qualifiers(&mut primitive, &mut negated);
        if self.pos != first {
            self.previous = Primitive::new();
        }
        if self.previous.data == kind::ETHER {
            header = Header::Ether;
        }
        if self.operator() == "[" && self.pos > first && primitive.kind == kind::NONE {
            self.brackets(&mut primitive);
        }
        let mask = self.mask(header);
        self.relation(&mut primitive);
        let word = self.data(&mut primitive, header);
        if self.pos == first {
            self.messages.error(format!("empty term near '{word}'"));
            return;
        }
        match primitive.check(&self.previous, header, mask, self.messages) {
            Ok(()) => {
                primitive.lower(self.tree);
                if negated {
                    self.tree.negate(false);
                }
                self.previous = primitive;
            }
            Err(Refused::Silent) => {}
            Err(Refused::Because(message)) => self.messages.error(message),
        }
    }

    fn qualifiers(&mut self, primitive: &mut Primitive, negated: &mut bool) -> Header {
        let mut header = Header::Unsaid;
        while let Some(&word) = self.words.get(self.pos) {
            match self.names.meaning(word, kind::NONE, UNKNOWN) {
                Meaning::Keyword(kind) => {
                    primitive.set_kind(kind, self.messages);
                    if kind::is_field(kind) && kind::field_protocol(kind) != 0 {
                        primitive.set_protocol(kind::field_protocol(kind), self.messages);
                    }
                }
                Meaning::Value(kind::PROTO, protocol) => {
                    primitive.set_protocol(protocol as i32, self.messages);
                }
                Meaning::Value(..) | Meaning::Wrong(_) => break,
                Meaning::Unknown => match word {
                    "src" => {
                        let direction = self.source_or_both();
                        primitive.set_direction(direction, self.messages);
                    }
                    "dst" | "dest" => primitive.set_direction(Direction::Destination, self.messages),
                    "ip" if header == Header::Unsaid => header = Header::Ip,
                    "ether" if header == Header::Unsaid => header = Header::Ether,
                    "not" | "!" => *negated = !*negated,
                    _ => break,
                },
            }
            self.pos += 1;
        }
        header
    }

    /// `src`, `src and dst` or `src or dst`; moves to the last word of it.
    fn source_or_both(&mut self) -> Direction {
        let direction = match self.words.get(self.pos + 1..self.pos + 3) {
            Some(["and" | "&&", "dst" | "dest"]) => Direction::Both,
            Some(["or" | "||", "dst" | "dest"]) => Direction::Either,
            _ => return Direction::Source,
        };
        self.pos += 2;
        direction
    }

    /// The current word, if another follows: an operator cannot be last.
    fn operator(&self) -> &'a str {
        match self.words.get(self.pos..) {
            Some([word, _, ..]) => word,
            _ => "",
        }
    }

    /// `[POS]`, `[POS:LEN]` or `[FIRST,LAST]`, in bytes.
    fn brackets(&mut self, primitive: &mut Primitive) {
        let first = self.pos + 1;
        let Some(len) = self.words[first..].iter().position(|&word| word == "]") else {
            self.messages.error("missing ']'");
            self.pos = first;
            return;
        };
        let text = self.words[first..first + len].concat();
        self.pos = first + len + 1;
        let Some((at, len)) = position_and_length(&text) else {
            self.messages.error("syntax error after '[', expected '[POS]' or '[POS:LEN]'");
            return;
        };
        let (at, len) = (at.wrapping_mul(8), len.wrapping_mul(8));
        if !(1..=32).contains(&len) {
            self.messages.error("LEN in '[POS:LEN]' out of range, should be between 1 and 4");
        } else if at & !31 != at.wrapping_add(len - 1) & !31 {
            let (at, len) = (at / 8, len / 8);
            self.messages.error(format!("field [{at}:{len}] does not fit in a single word"));
        } else {
            let protocol = if primitive.protocol == UNKNOWN { 0 } else { primitive.protocol };
            primitive.set_kind(kind::field(protocol, at, len), self.messages);
        }
    }

    fn mask(&mut self, header: Header) -> Option<(kind::Kind, Data)> {
        if self.operator() != "&" {
            return None;
        }
        let word = self.words.get(self.pos + 1)?;
        let mask = if let Some(mask) = number::uint(word) {
            (kind::INT, Data::number(mask))
        } else if let Some(mask) = self.names.ip(word).filter(|_| header != Header::Ether) {
            (kind::HOST, Data::ip(mask))
        } else {
            let mask = self.names.ethernet(word).filter(|_| header != Header::Ip)?;
            (kind::ETHER, Data(mask))
        };
        self.pos += 2;
        if mask.0 != kind::ETHER && mask.1.get() == 0 {
            self.messages.error("zero mask ignored");
            return None;
        }
        Some(mask)
    }

    fn relation(&mut self, primitive: &mut Primitive) {
        let (op, op_negated) = match self.operator() {
            "=" | "==" => (Op::Equal, false),
            "!=" => (Op::Equal, true),
            ">" => (Op::Greater, false),
            "<" => (Op::Less, false),
            ">=" => (Op::Less, true),
            "<=" => (Op::Greater, true),
            _ => return,
        };
        (primitive.op, primitive.op_negated) = (op, op_negated);
        self.pos += 1;
    }

    /// Takes the value, if there is one; the word that was looked at.
    fn data(&mut self, primitive: &mut Primitive, header: Header) -> &'a str {
        let Some(&word) = self.words.get(self.pos) else { return "" };
        self.pos += 1;
        match self.names.meaning(word, primitive.kind, primitive.protocol) {
            Meaning::Wrong(message) => {
                self.messages.error(message);
                primitive.kind = -2;
                return word;
            }
            Meaning::Value(of, value) => {
                (primitive.data, primitive.value) = (of, Data::number(value));
                return word;
            }
            Meaning::Keyword(_) | Meaning::Unknown => {}
        }
        if let Some(number) = number::int(word) {
            (primitive.data, primitive.value) = (kind::INT, Data::number(number as u32));
        } else if !self.address(word, primitive, header) {
            if primitive.op != Op::Equal || primitive.op_negated {
                self.messages.error(format!("dangling operator near '{word}'"));
            }
            self.pos -= 1;
        }
        word
    }

    fn address(&mut self, word: &'a str, primitive: &mut Primitive, header: Header) -> bool {
        if header != Header::Ether {
            if let Some(address) = self.names.ip(word) {
                primitive.value = Data::ip(address);
                primitive.data = kind::HOST;
                if let Some(["mask", mask, ..]) = self.words.get(self.pos..) {
                    if let Some(mask) = self.names.ip(mask) {
                        self.pos += 2;
                        (primitive.data, primitive.mask) = (kind::NET, Data::ip(mask));
                        return true;
                    }
                }
                if primitive.kind == kind::NET {
                    self.prefix(word, primitive);
                }
                return true;
            }
            if self.prefix(word, primitive) {
                return true;
            }
        }
        let address = self.names.ethernet(word).filter(|_| header != Header::Ip);
        if let Some(address) = address {
            (primitive.data, primitive.value) = (kind::ETHER, Data(address));
        }
        address.is_some()
    }

    fn prefix(&mut self, word: &'a str, primitive: &mut Primitive) -> bool {
        let prefix = self.names.prefix(word);
        if let Some((address, mask)) = prefix {
            (primitive.value, primitive.mask) = (Data::ip(address), Data::ip(mask));
            primitive.data = kind::NET;
        }
        prefix.is_some()
    }
}

fn position_and_length(text: &str) -> Option<(i32, i32)> {
    let split = |separator| text.split_once(separator).filter(|(_, after): &(&str, &str)| !after.is_empty());
    if let Some((at, len)) = split(':') {
        Some((number::saturating_int(at)?, number::saturating_int(len)?))
    } else if let Some((first, last)) = split(',') {
        let (first, last) = (number::saturating_int(first)?, number::saturating_int(last)?);
        Some((first, last.wrapping_sub(first).wrapping_add(1)))
    } else {
        Some((number::int(text)?, 1))
    }
}
