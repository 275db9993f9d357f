//! What a primitive tests: a number, because fields carry their place in the header in it.

use super::names::{TCP_OR_UDP, TRANSPORT};

/// See above.
pub type Kind = i32;

/// Nothing was said of it.
pub const NONE: Kind = 0;
pub const TYPE: Kind = 1;
/// A word of the language, such as `and`.
pub const SYNTAX: Kind = 2;
/// A plain number.
pub const INT: Kind = 3;

pub const HOST: Kind = 10;
pub const PROTO: Kind = 11;
pub const FRAGMENT: Kind = 12;
pub const PORT: Kind = 13;
pub const TCP_OPTION: Kind = 14;
pub const ETHER: Kind = 15;

pub const NET: Kind = 30;
pub const UNFRAGMENTED: Kind = 31;
pub const ECT: Kind = 32;
pub const CE: Kind = 33;

/// Set in fields: bits 21-29 are the transport protocol (0 for the IP header), 5-20 the offset in bits, 0-4 the
/// length in bits less one.
pub const FIELD: Kind = 0x4000_0000;
const PROTO_SHIFT: u32 = 21;
const OFFSET_SHIFT: u32 = 5;

pub const TOS: Kind = field(0, 8, 8);
pub const ICMP_TYPE: Kind = field(1, 0, 8);

/// No transport protocol was named.
pub const UNKNOWN: i32 = -1000;

const LENGTH: Kind = field(0, 2 * 8, 16);
const ID: Kind = field(0, 4 * 8, 16);
const VERSION: Kind = field(0, 0, 4);
const HEADER_LENGTH: Kind = field(0, 4, 4);
const DSCP: Kind = field(0, 8, 6);
const TTL: Kind = field(0, 8 * 8, 8);
const TCP_WINDOW: Kind = field(6, 14 * 8, 16);

/// A field of the header of `protocol`. Values out of range spill over, as they always have.
pub const fn field(protocol: i32, bit_offset: i32, n_bits: i32) -> Kind {
    FIELD | protocol << PROTO_SHIFT | bit_offset << OFFSET_SHIFT | (n_bits - 1)
}

pub fn is_field(kind: Kind) -> bool {
    kind & FIELD != 0
}

/// The transport protocol of a field; 0 if it is in the IP header.
pub fn field_protocol(kind: Kind) -> i32 {
    kind >> PROTO_SHIFT & 0x1ff
}

pub fn field_bit_offset(kind: Kind) -> u32 {
    (kind >> OFFSET_SHIFT & 0xffff) as u32
}

pub fn field_n_bits(kind: Kind) -> u32 {
    (kind & 0x1f) as u32 + 1
}

/// The kind that a keyword names; `SYNTAX` for words of the grammar.
pub fn keyword(word: &str) -> Option<Kind> {
    Some(match word {
        "dest" | "dst" | "ether" | "ip" | "not" | "src" => SYNTAX,
        "ce" => CE,
        "dscp" => DSCP,
        "ect" => ECT,
        "frag" => FRAGMENT,
        "hl" => HEADER_LENGTH,
        "host" => HOST,
        "id" => ID,
        "len" => LENGTH,
        "net" => NET,
        "opt" => TCP_OPTION,
        "port" => PORT,
        "proto" => PROTO,
        "tos" => TOS,
        "ttl" => TTL,
        "type" => ICMP_TYPE,
        "unfrag" => UNFRAGMENTED,
        "vers" => VERSION,
        "win" => TCP_WINDOW,
        _ => return None,
    })
}

pub fn name(kind: Kind) -> String {
    let fixed = match kind {
        NONE => "<none>",
        HOST => "ip host",
        PROTO => "proto",
        ETHER => "ether host",
        FRAGMENT => "ip frag",
        PORT => "port",
        TCP_OPTION => "tcp opt",
        NET => "ip net",
        UNFRAGMENTED => "ip unfrag",
        ECT => "ip ect",
        CE => "ip ce",
        LENGTH => "ip len",
        ID => "ip id",
        VERSION => "ip vers",
        HEADER_LENGTH => "ip hl",
        TOS => "ip tos",
        DSCP => "ip dscp",
        TTL => "ip ttl",
        TCP_WINDOW => "tcp win",
        ICMP_TYPE => "icmp type",
        _ if !is_field(kind) => return format!("<unknown type {kind}>"),
        _ if field_protocol(kind) == 0 => "ip[...]",
        _ => return protocol_name(field_protocol(kind)) + "[...]",
    };
    fixed.to_string()
}

pub fn protocol_name(protocol: i32) -> String {
    let fixed = match protocol {
        UNKNOWN => "",
        1 => "icmp",
        2 => "igmp",
        4 => "ipip",
        6 => "tcp",
        17 => "udp",
        TCP_OR_UDP => "tcpudp",
        TRANSPORT => "transp",
        _ => return format!("ip proto {protocol}"),
    };
    fixed.to_string()
}
