//! Names in filter expressions: what the caller resolves, and the built-in tables.

use std::net::Ipv4Addr;

/// `tcpudp`: either protocol.
pub const TCP_OR_UDP: i32 = 256;
/// `transp`: any protocol.
pub const TRANSPORT: i32 = 258;

/// Resolves the names of a graph: `AddressInfo`, `PortInfo` and the system's tables. What is not overridden is unknown,
/// or, for protocols, ports and ICMP types, in the built-in tables.
pub trait Names {
    /// Whether any name [is numeric](is_numeric). If not, such words are looked up only where they may be devices.
    fn has_numeric(&self) -> bool {
        true
    }

    /// An IP protocol. Values of 256 and above are protocol sets, as in the built-in table.
    fn protocol(&self, name: &str) -> Option<i32> {
        find(PROTOCOLS, name)
    }

    /// A port of IP protocol `protocol` (6 or 17).
    fn port(&self, _protocol: u8, name: &str) -> Option<u16> {
        find(PORTS, name)
    }

    fn icmp_type(&self, name: &str) -> Option<u8> {
        find(ICMP_TYPES, name)
    }

    fn ip(&self, _name: &str) -> Option<Ipv4Addr> {
        None
    }

    /// Address and mask of a network.
    fn prefix(&self, _name: &str) -> Option<(Ipv4Addr, Ipv4Addr)> {
        None
    }

    fn ethernet(&self, _name: &str) -> Option<[u8; 6]> {
        None
    }
}

/// The built-in tables only.
pub struct BuiltInNames;

impl Names for BuiltInNames {
    fn has_numeric(&self) -> bool {
        false
    }
}

/// Whether a word consists of digits, dots and slashes, as numbers, addresses and prefixes do.
pub fn is_numeric(word: &str) -> bool {
    word.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'/'))
}

pub(super) fn tcp_option(name: &str) -> Option<u8> {
    find(TCP_OPTIONS, name)
}

fn find<T: TryFrom<u32>>(table: &[(&str, u32)], name: &str) -> Option<T> {
    table.iter().find(|(entry, _)| *entry == name).and_then(|&(_, value)| T::try_from(value).ok())
}

/// Names and their values, sorted by name.
pub type Table = [(&'static str, u32)];

/// IP protocols; values above 255 are groups of protocols.
pub const PROTOCOLS: &Table = &[
    ("dccp", 33),
    ("gre", 47),
    ("icmp", 1),
    ("igmp", 2),
    ("ipip", 4),
    ("payload", 259),
    ("sctp", 132),
    ("tcp", 6),
    ("tcpudp", TCP_OR_UDP as u32),
    ("transp", TRANSPORT as u32),
    ("udp", 17),
];

const TCP_OPTIONS: &Table =
    &[("ack", 0x10), ("fin", 0x01), ("psh", 0x08), ("rst", 0x04), ("syn", 0x02), ("urg", 0x20)];

/// RFC 792, RFC 950 and RFC 1256: ICMP types.
pub const ICMP_TYPES: &Table = &[
    ("echo", 8),
    ("echo-reply", 0),
    ("inforeq", 15),
    ("inforeq-reply", 16),
    ("maskreq", 17),
    ("maskreq-reply", 18),
    ("parameterproblem", 12),
    ("redirect", 5),
    ("routeradvert", 9),
    ("routersolicit", 10),
    ("sourcequench", 4),
    ("timeexceeded", 11),
    ("timestamp", 13),
    ("timestamp-reply", 14),
    ("unreachable", 3),
];

/// Well-known ports of TCP and UDP.
pub const PORTS: &Table = &[
    ("auth", 113),
    ("bootpc", 68),
    ("bootps", 67),
    ("chargen", 19),
    ("daytime", 13),
    ("discard", 9),
    ("dns", 53),
    ("domain", 53),
    ("echo", 7),
    ("finger", 79),
    ("ftp", 21),
    ("ftp-data", 20),
    ("https", 443),
    ("imap3", 220),
    ("imaps", 993),
    ("irc", 194),
    ("netbios-dgm", 138),
    ("netbios-ns", 137),
    ("netbios-ssn", 139),
    ("nntp", 119),
    ("ntp", 123),
    ("pop3", 110),
    ("pop3s", 995),
    ("pptp", 1723),
    ("rip", 520),
    ("route", 520),
    ("smtp", 25),
    ("snmp", 161),
    ("snmp-trap", 162),
    ("ssh", 22),
    ("sunrpc", 111),
    ("telnet", 23),
    ("tftp", 69),
    ("www", 80),
];
