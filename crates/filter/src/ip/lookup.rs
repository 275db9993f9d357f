//! Decides what a word of an expression names, given what is known about the primitive so far.

use super::kind::{self, Kind};
use super::names::{self, Names, TCP_OR_UDP};

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

pub fn lookup(word: &str, kind: Kind, protocol: i32, names: &dyn Names) -> Meaning {
    if kind == kind::NONE || kind == kind::TYPE {
        match kind::keyword(word) {
            Some(kind::SYNTAX) => return Meaning::Unknown,
            Some(kind) => return Meaning::Keyword(kind),
            None => {}
        }
    }
    let over = |ours: &[i32]| protocol == kind::UNKNOWN || ours.contains(&protocol);
    let (tcp, udp) = (over(&[6, TCP_OR_UDP]), over(&[17, TCP_OR_UDP]));
    let found: Vec<(Kind, u32, bool)> = [
        (kind::PROTO, names.protocol(word).map(|p| p as u32), true),
        (kind::PORT, names.port(6, word).map(u32::from), tcp),
        (kind::PORT, names.port(17, word).map(u32::from), udp),
        (kind::TCP_OPTION, names::tcp_option(word).map(u32::from), tcp),
        (kind::ICMP_TYPE, names.icmp_type(word).map(u32::from), over(&[1])),
    ]
    .into_iter()
    .filter_map(|(of, value, fits)| Some((of, value?, fits)))
    .collect();
    if found.is_empty() {
        return Meaning::Unknown;
    }
    let mut fitting: Vec<(Kind, u32)> = found
        .iter()
        .filter(|&&(of, _, fits)| fits && (kind == kind::NONE || kind == of))
        .map(|&(of, value, _)| (of, value))
        .collect();
    // A port that TCP and UDP have in common.
    fitting.dedup();
    match fitting[..] {
        [(of, value)] => Meaning::Value(of, value),
        [] => Meaning::Wrong(message(word, kind, protocol, "meaningless", &found)),
        _ => Meaning::Wrong(message(word, kind, protocol, "ambiguous", &found)),
    }
}

fn message(word: &str, kind: Kind, protocol: i32, is: &str, found: &[(Kind, u32, bool)]) -> String {
    let spell = |kind| format!("'{} {} {word}'", kind::name(kind), kind::protocol_name(protocol));
    let tries: Vec<String> = found.iter().map(|&(of, ..)| spell(of)).collect();
    format!("{} is {is}; try {}", spell(kind), tries.join(", "))
}
