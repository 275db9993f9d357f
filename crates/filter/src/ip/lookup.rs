//! Decides what a word of an expression names, given what is known about the primitive so far.

use super::kind::{self, Kind};
use super::names::{self, Names, TCP_OR_UDP};
use super::number;
use crate::mixing::Mixing;
use std::collections::HashMap;
use std::net::Ipv4Addr;

/// What a word means.
pub enum Meaning {
    /// A keyword such as `port`.
    Keyword(Kind),
    /// A named value: what it is a value of, and the value.
    Value(Kind, u32),
    /// Not a name.
    Unknown,
    /// A name of something else, or of several things: the error message.
    Wrong(String),
}

/// The values of a name: as a protocol, a port of TCP and of UDP, a TCP option and an ICMP type.
type Values = [Option<u32>; 5];

type Prefix = (Ipv4Addr, Ipv4Addr);

/// What a word names, as far as it was asked for.
#[derive(Default)]
struct Known {
    values: Option<Values>,
    ip: Option<Option<Ipv4Addr>>,
    prefix: Option<Option<Prefix>>,
    ethernet: Option<Option<[u8; 6]>>,
}

/// Names that are looked up once, however many rules have them: the host may be asked for each.
pub struct Lookups<'a> {
    names: &'a dyn Names,
    /// Whether numbers may be names, once that was asked.
    has_numeric: Option<bool>,
    known: HashMap<&'a str, Known, Mixing>,
}

impl<'a> Lookups<'a> {
    pub fn new(names: &'a dyn Names) -> Lookups<'a> {
        Lookups { names, has_numeric: None, known: HashMap::default() }
    }

    pub fn meaning(&mut self, word: &'a str, kind: Kind, protocol: i32) -> Meaning {
        if self.is_surely_no_name(word) {
            return Meaning::Unknown;
        }
        if kind == kind::NONE || kind == kind::TYPE {
            match kind::keyword(word) {
                Some(kind::SYNTAX) => return Meaning::Unknown,
                Some(kind) => return Meaning::Keyword(kind),
                None => {}
            }
        }
        let values = self.values(word);
        if values == [None; 5] {
            return Meaning::Unknown;
        }
        choose(word, kind, protocol, values)
    }

    fn values(&mut self, word: &'a str) -> Values {
        let names = self.names;
        let look_up = || {
            [
                names.protocol(word).map(|p| p as u32),
                names.port(6, word).map(u32::from),
                names.port(17, word).map(u32::from),
                names::tcp_option(word).map(u32::from),
                names.icmp_type(word).map(u32::from),
            ]
        };
        *self.known.entry(word).or_default().values.get_or_insert_with(look_up)
    }

    /// Whether it is a number, an address or a prefix, and names are never such.
    fn is_surely_no_name(&mut self, word: &str) -> bool {
        names::is_numeric(word) && !*self.has_numeric.get_or_insert_with(|| self.names.has_numeric())
    }

    pub fn ip(&mut self, word: &'a str) -> Option<Ipv4Addr> {
        number::ipv4(word).or_else(|| self.named_ip(word))
    }

    fn named_ip(&mut self, word: &'a str) -> Option<Ipv4Addr> {
        // Without a slash it may still be a device.
        if word.contains('/') && self.is_surely_no_name(word) {
            return None;
        }
        let names = self.names;
        *self.known.entry(word).or_default().ip.get_or_insert_with(|| names.ip(word))
    }

    pub fn prefix(&mut self, word: &'a str) -> Option<Prefix> {
        if let Some(prefix) = number::prefix(word, |name| self.named_ip(name)) {
            return Some(prefix);
        }
        let names = self.names;
        *self.known.entry(word).or_default().prefix.get_or_insert_with(|| names.prefix(word))
    }

    pub fn ethernet(&mut self, word: &'a str) -> Option<[u8; 6]> {
        let names = self.names;
        number::ethernet(word).or_else(|| {
            *self.known.entry(word).or_default().ethernet.get_or_insert_with(|| names.ethernet(word))
        })
    }
}

fn choose(word: &str, kind: Kind, protocol: i32, values: Values) -> Meaning {
    let over = |ours: &[i32]| protocol == kind::UNKNOWN || ours.contains(&protocol);
    let (tcp, udp) = (over(&[6, TCP_OR_UDP]), over(&[17, TCP_OR_UDP]));
    let kinds = [
        (kind::PROTO, true),
        (kind::PORT, tcp),
        (kind::PORT, udp),
        (kind::TCP_OPTION, tcp),
        (kind::ICMP_TYPE, over(&[1])),
    ];
    let found = || kinds.into_iter().zip(values).filter_map(|((of, fits), value)| Some((of, value?, fits)));
    let mut fitting = found()
        .filter(|&(of, _, fits)| fits && (kind == kind::NONE || kind == of))
        .map(|(of, value, _)| (of, value));
    match fitting.next() {
        None => Meaning::Wrong(message(word, kind, protocol, "meaningless", found())),
        // A port that TCP and UDP have in common is one.
        Some(first) if fitting.all(|other| other == first) => Meaning::Value(first.0, first.1),
        Some(_) => Meaning::Wrong(message(word, kind, protocol, "ambiguous", found())),
    }
}

fn message(
    word: &str,
    kind: Kind,
    protocol: i32,
    is: &str,
    found: impl Iterator<Item = (Kind, u32, bool)>,
) -> String {
    let spell = |kind| format!("'{} {} {word}'", kind::name(kind), kind::protocol_name(protocol));
    let tries: Vec<String> = found.map(|(of, ..)| spell(of)).collect();
    format!("{} is {is}; try {}", spell(kind), tries.join(", "))
}
