//! A primitive of the expression language: one comparison, with what was said about it.

use super::kind::{self, Kind};
use super::Messages;

/// How a value is compared.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    Equal,
    Greater,
    Less,
}

/// Which of a packet's two addresses or ports is compared: `src`, `dst`, `src and dst`, `src or dst`, or what nobody said.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    Unsaid,
    Source,
    Destination,
    Both,
    Either,
}

impl Direction {
    pub fn source(self) -> bool {
        matches!(self, Direction::Source | Direction::Both | Direction::Either)
    }

    pub fn destination(self) -> bool {
        matches!(self, Direction::Destination | Direction::Both | Direction::Either)
    }
}

/// A number, an IP address in network order, or an Ethernet address. The first four bytes are also a little-endian
/// number, so that an IP address given where a number is meant, or the other way round, means what it always meant.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Data(pub [u8; 6]);

impl Data {
    pub fn number(number: u32) -> Data {
        let [a, b, c, d] = number.to_le_bytes();
        Data([a, b, c, d, 0, 0])
    }

    pub fn ip(address: std::net::Ipv4Addr) -> Data {
        let [a, b, c, d] = address.octets();
        Data([a, b, c, d, 0, 0])
    }

    pub fn get(self) -> u32 {
        let [a, b, c, d, ..] = self.0;
        u32::from_le_bytes([a, b, c, d])
    }
}

/// A comparison. What was not said yet is filled in by what is known of the one before.
#[derive(Clone, Copy, Debug)]
pub struct Primitive {
    pub kind: Kind,
    /// What the value is a value of.
    pub data: Kind,
    pub op: Op,
    pub op_negated: bool,
    pub direction: Direction,
    pub protocol: i32,
    pub value: Data,
    pub mask: Data,
}

impl Primitive {
    pub fn new() -> Primitive {
        Primitive {
            kind: kind::NONE,
            data: kind::NONE,
            op: Op::Equal,
            op_negated: false,
            direction: Direction::Unsaid,
            protocol: kind::UNKNOWN,
            value: Data::default(),
            mask: Data::default(),
        }
    }

    pub fn set_kind(&mut self, kind: Kind, messages: &mut Messages) {
        if self.kind != kind::NONE {
            messages.error("type specified twice");
        }
        self.kind = kind;
    }

    pub fn set_direction(&mut self, direction: Direction, messages: &mut Messages) {
        if self.direction != Direction::Unsaid {
            messages.error("'src' or 'dst' specified twice");
        }
        self.direction = direction;
    }

    pub fn set_protocol(&mut self, protocol: i32, messages: &mut Messages) {
        if self.protocol != kind::UNKNOWN && self.protocol != protocol {
            messages.error("transport protocol specified twice");
        }
        self.protocol = protocol;
    }

    /// The primitive without its value, for messages.
    pub fn name(&self) -> String {
        let direction = match self.direction {
            Direction::Unsaid => "",
            Direction::Source => "src ",
            Direction::Destination => "dst ",
            Direction::Either => "src or dst ",
            Direction::Both => "src and dst ",
        };
        direction.to_string() + &kind::name(self.kind)
    }

    pub fn op_name(&self) -> &'static str {
        match (self.op, self.op_negated) {
            (Op::Greater, false) => ">",
            (Op::Greater, true) => "<=",
            (Op::Less, false) => "<",
            (Op::Less, true) => ">=",
            (Op::Equal, false) => "=",
            (Op::Equal, true) => "!=",
        }
    }
}
