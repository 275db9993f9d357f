//! Completes a primitive from the one before it and checks that its parts fit.

use super::kind::{self, Kind, UNKNOWN};
use super::names::TCP_OR_UDP;
use super::primitive::{Data, Direction, Op, Primitive};
use super::Messages;

/// The header that was named: `ip` or `ether`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Header {
    Unsaid,
    Ip,
    Ether,
}

/// A mask as it was given: what it is written as, and its value.
pub type GivenMask = Option<(Kind, Data)>;

/// Why a primitive is refused; `Silent` if that was reported already.
pub enum Refused {
    Silent,
    Because(String),
}

type Checked = Result<(), Refused>;

fn because<T>(message: impl Into<String>) -> Result<T, Refused> {
    Err(Refused::Because(message.into()))
}

impl Primitive {
    pub fn check(
        &mut self,
        previous: &Primitive,
        header: Header,
        mask: GivenMask,
        messages: &mut Messages,
    ) -> Checked {
        let said = self.direction;
        if self.kind < 0 {
            return Err(Refused::Silent);
        }
        if self.kind == kind::NONE {
            self.infer_kind(previous)?;
        }
        let header = match header {
            Header::Unsaid if self.data == kind::ETHER => Header::Ether,
            Header::Unsaid => Header::Ip,
            header => header,
        };
        if header == Header::Ether && self.kind == kind::HOST {
            self.kind = kind::ETHER;
        }
        self.check_parts(header, mask, messages)?;
        if matches!(self.kind, kind::HOST | kind::PORT | kind::ETHER) {
            if self.direction == Direction::Unsaid {
                self.direction = Direction::Either;
            }
        } else if said != Direction::Unsaid {
            messages.warning(format!("'{}': 'src' or 'dst' ignored", self.name()));
        }
        Ok(())
    }

    fn infer_kind(&mut self, previous: &Primitive) -> Checked {
        if self.data == kind::INT {
            if !kind::is_field(previous.kind) && !matches!(previous.kind, kind::PROTO | kind::PORT) {
                return because("specify header field or 'port'");
            }
            self.data = previous.kind;
        }
        match self.data {
            kind::HOST | kind::NET | kind::TCP_OPTION | kind::ETHER | kind::PORT => {
                if self.direction == Direction::Unsaid {
                    self.direction = previous.direction;
                }
                if self.data == kind::PORT && self.protocol == UNKNOWN {
                    self.protocol = previous.protocol;
                }
            }
            kind::PROTO => {}
            kind::NONE if self.protocol != UNKNOWN => {
                self.kind = kind::PROTO;
                return Ok(());
            }
            kind::NONE => return because("partial directive"),
            field if kind::is_field(field) => {
                if kind::field_protocol(field) != 0 && self.protocol == UNKNOWN {
                    self.protocol = kind::field_protocol(field);
                }
            }
            other => return because(format!("unknown type '{}'", kind::name(other))),
        }
        self.kind = self.data;
        Ok(())
    }

    fn check_parts(&mut self, header: Header, mask: GivenMask, messages: &mut Messages) -> Checked {
        match self.kind {
            kind::HOST | kind::NET | kind::ETHER => self.check_address(header, mask),
            _ if header != Header::Ip && self.needs_ip() => self.refuse("ip only"),
            kind::PROTO => self.check_protocol(mask, messages),
            kind::PORT => self.check_port(mask, messages),
            kind::TCP_OPTION => self.check_tcp_option(mask),
            kind::ECT => self.check_ect(mask, messages),
            kind::CE | kind::FRAGMENT | kind::UNFRAGMENTED => self.check_flag(mask),
            field if kind::is_field(field) => {
                if self.data != kind::INT && self.data != field {
                    return self.refuse("value missing");
                }
                if mask.is_some_and(|(of, _)| of != kind::INT && of != field) {
                    return self.refuse("bad mask");
                }
                self.set_mask(u32::MAX >> (32 - kind::field_n_bits(field)), mask, messages)
            }
            _ => Ok(()),
        }
    }

    fn needs_ip(&self) -> bool {
        kind::is_field(self.kind)
            || matches!(
                self.kind,
                kind::PROTO
                    | kind::PORT
                    | kind::TCP_OPTION
                    | kind::ECT
                    | kind::CE
                    | kind::FRAGMENT
                    | kind::UNFRAGMENTED
            )
    }

    fn check_address(&mut self, header: Header, mask: GivenMask) -> Checked {
        let needed = if self.kind == kind::ETHER { Header::Ether } else { Header::Ip };
        if header != needed || self.data != self.kind {
            return self.refuse("address missing");
        }
        if self.op != Op::Equal {
            return self.refuse("operator not supported");
        }
        match self.kind {
            kind::HOST => self.mask = Data::number(u32::MAX),
            kind::ETHER => self.mask = Data([0xff; 6]),
            _ => self.kind = kind::HOST,
        }
        match mask {
            Some((kind::INT | kind::HOST, mask)) if self.kind == kind::HOST => self.mask = mask,
            Some((kind::ETHER, mask)) if self.kind == kind::ETHER => self.mask = mask,
            Some(_) => return self.refuse("bad mask"),
            None => {}
        }
        Ok(())
    }

    fn check_protocol(&mut self, mask: GivenMask, messages: &mut Messages) -> Checked {
        if self.data == kind::INT || self.data == kind::PROTO {
            if self.protocol != UNKNOWN && self.protocol != self.value.get() as i32 {
                return self.refuse("specified twice");
            }
            self.data = kind::NONE;
        } else {
            self.value = Data::number(self.protocol as u32);
        }
        self.protocol = UNKNOWN;
        let protocol = self.value.get() as i32;
        if self.data != kind::NONE || protocol == UNKNOWN {
            return self.refuse("value missing");
        }
        if protocol >= 256 {
            if self.op != Op::Equal || mask.is_some() {
                let name = kind::protocol_name(protocol);
                return because(format!("'{name}': operator or mask not supported"));
            }
            self.mask = Data::number(0xff);
        } else if mask.is_some_and(|(of, _)| of != kind::INT) {
            return self.refuse("bad mask");
        } else {
            self.set_mask(0xff, mask, messages)?;
        }
        if self.op == Op::Equal && self.mask.get() == 0xff && !self.op_negated {
            self.protocol = self.value.get() as i32;
        }
        Ok(())
    }

    fn check_port(&mut self, mask: GivenMask, messages: &mut Messages) -> Checked {
        const DCCP: i32 = 33;
        if self.data != kind::INT && self.data != kind::PORT {
            return self.refuse("value missing");
        }
        self.data = kind::PORT;
        match self.protocol {
            UNKNOWN => self.protocol = TCP_OR_UDP,
            6 | 17 | TCP_OR_UDP | DCCP if mask.is_some_and(|(of, _)| of != kind::INT) => {
                return self.refuse("bad mask");
            }
            6 | 17 | TCP_OR_UDP | DCCP => {}
            other => return because(format!("'port': bad protocol {other}")),
        }
        self.set_mask(0xffff, mask, messages)
    }

    fn check_tcp_option(&mut self, mask: GivenMask) -> Checked {
        if self.data != kind::INT && self.data != kind::TCP_OPTION {
            return self.refuse("value missing");
        }
        self.data = kind::TCP_OPTION;
        match self.protocol {
            UNKNOWN => self.protocol = 6,
            6 => {}
            other => return because(format!("'tcp opt': bad protocol {other}")),
        }
        if self.op != Op::Equal || self.op_negated || mask.is_some() {
            return self.refuse("operator or mask not supported");
        }
        let value = self.value.get() as i32;
        if !(0..=255).contains(&value) {
            return because(format!("'tcp opt': value {value} out of range"));
        }
        self.mask = Data::number(value as u32);
        Ok(())
    }

    fn check_ect(&mut self, mask: GivenMask, messages: &mut Messages) -> Checked {
        if self.data == kind::NONE {
            self.value = Data::number(0);
            self.op_negated = true;
        } else if self.data != kind::INT {
            return self.refuse("value missing");
        } else if mask.is_some_and(|(of, _)| of != kind::INT) {
            return self.refuse("bad mask");
        }
        self.set_mask(0x3, mask, messages)?;
        self.kind = kind::TOS;
        Ok(())
    }

    fn check_flag(&mut self, mask: GivenMask) -> Checked {
        if self.data != kind::NONE || mask.is_some() {
            return self.refuse("value not supported");
        }
        match self.kind {
            kind::CE => {
                self.mask = Data::number(0x3);
                self.value = Data::number(0x3);
                self.kind = kind::TOS;
            }
            kind::UNFRAGMENTED => {
                self.op_negated = true;
                self.kind = kind::FRAGMENT;
            }
            _ => {}
        }
        Ok(())
    }

    fn refuse(&self, message: &str) -> Checked {
        because(format!("'{}': {message}", self.name()))
    }

    /// Sets the mask, and brings the comparison to the form *equal* or *greater*.
    fn set_mask(&mut self, full: u32, given: GivenMask, messages: &mut Messages) -> Checked {
        let data = self.value.get();
        let mask = given.map(|(_, mask)| mask.get()).filter(|&mask| mask != 0).unwrap_or(full);
        if mask & full != mask {
            return self.refuse(&format!("mask out of range, bound 0x{full:X}"));
        }
        if self.op == Op::Equal {
            if data > full {
                return self.refuse(&format!("out of range, bound {full}"));
            }
            self.mask = Data::number(mask);
            return Ok(());
        }
        if self.op == Op::Less && (data == 0 || data > mask) || self.op == Op::Greater && data >= mask {
            let always = (self.op == Op::Less && data > mask) != self.op_negated;
            let op = self.op_name();
            messages.warning(format!("relation '{op} {data}' is always {always} (range 0-{mask})"));
            self.value = Data::number(0);
            self.mask = Data::number(0);
            self.op_negated = !always;
            self.op = Op::Equal;
            return Ok(());
        }
        let mut bound = data;
        if self.op == Op::Less {
            bound -= 1;
            self.op_negated = !self.op_negated;
            self.op = Op::Greater;
        }
        if bound & mask != bound {
            // The greatest value of the mask's bits that is not above the bound. If the bit that is missing in the
            // mask is the lowest one, the shift is by 32 and Click's result is the whole mask.
            let missing = (bound & mask) ^ (bound & full);
            let below = u32::MAX.wrapping_shr(missing.leading_zeros() + 1);
            bound = (bound | below) & mask;
        }
        self.value = Data::number(bound);
        self.mask = Data::number(mask);
        Ok(())
    }
}
