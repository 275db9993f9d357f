//! Built-in names: of ICMP codes and annotations, and those that filters know too.

use filter::{Table, ICMP_TYPES, PORTS, PROTOCOLS};

use crate::names::NameKind;

/// The value of a built-in name.
pub(crate) fn lookup(kind: NameKind, name: &str) -> Option<u32> {
    let table = table(kind);
    let idx = table.binary_search_by(|entry| entry.0.cmp(name)).ok()?;
    table.get(idx).map(|entry| entry.1)
}

/// The first built-in name of a value.
pub fn name_of(kind: NameKind, value: u32) -> Option<&'static str> {
    table(kind).iter().find(|entry| entry.1 == value).map(|entry| entry.0)
}

fn table(kind: NameKind) -> &'static Table {
    match kind {
        NameKind::Annotation => ANNOTATIONS,
        NameKind::Protocol => PROTOCOLS,
        NameKind::Port(6 | 17) => PORTS,
        NameKind::IcmpType => ICMP_TYPES,
        NameKind::IcmpCode(3) => UNREACHABLE_CODES,
        NameKind::IcmpCode(5) => REDIRECT_CODES,
        NameKind::IcmpCode(11) => TIME_EXCEEDED_CODES,
        NameKind::IcmpCode(12) => PARAMETER_PROBLEM_CODES,
        _ => &[],
    }
}

/// RFC 792 and RFC 1812, section 5.2.7.1: codes of "destination unreachable".
const UNREACHABLE_CODES: &Table = &[
    ("filterprohibited", 13),
    ("host", 1),
    ("hostprecedence", 14),
    ("hostprohibited", 10),
    ("hostunknown", 7),
    ("isolated", 8),
    ("needfrag", 4),
    ("net", 0),
    ("netprohibited", 9),
    ("netunknown", 6),
    ("port", 3),
    ("precedencecutoff", 15),
    ("protocol", 2),
    ("srcroutefail", 5),
    ("toshost", 12),
    ("tosnet", 11),
];

/// RFC 792: codes of "redirect".
const REDIRECT_CODES: &Table = &[("host", 1), ("net", 0), ("toshost", 3), ("tosnet", 2)];

/// RFC 792: codes of "time exceeded".
const TIME_EXCEEDED_CODES: &Table = &[("reassembly", 1), ("transit", 0)];

/// RFC 792 and RFC 1108: codes of "parameter problem".
const PARAMETER_PROBLEM_CODES: &Table = &[("erroratptr", 0), ("length", 2), ("missingopt", 1)];

/// Annotations of a packet by size and offset in bytes.
const ANNOTATIONS: &Table = &[
    ("AGGREGATE", anno(4, 20)),
    ("DST_IP", anno(4, 0)),
    ("DST_IP6", anno(16, 0)),
    ("EXTRA_LENGTH", anno(4, 28)),
    ("EXTRA_PACKETS", anno(4, 24)),
    ("FIRST_TIMESTAMP", anno(8, 32)),
    ("FIX_IP_SRC", anno(1, 19)),
    ("FWD_RATE", anno(4, 20)),
    ("GRID_ROUTE_CB", anno(1, 27)),
    ("ICMP_PARAMPROB", anno(1, 17)),
    ("IPREASSEMBLER", anno(4, 28)),
    ("IPSEC_SA_DATA_REFERENCE", anno(8, 40)),
    ("IPSEC_SPI", anno(4, 32)),
    ("MISC_IP", anno(4, 20)),
    ("PACKET_NUMBER", anno(4, 32)),
    ("PAINT", anno(1, 16)),
    ("PERFCTR", anno(8, 40)),
    ("REV_RATE", anno(4, 24)),
    ("SEQUENCE_NUMBER", anno(4, 36)),
    ("VLAN", anno(2, 20)),
    ("VLAN_TCI", anno(2, 20)),
    ("WIFI_EXTRA", anno(24, 16)),
];

const fn anno(size: u32, offset: u32) -> u32 {
    size << 16 | offset
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tables_are_sorted_so_that_every_name_is_found() {
        let kinds = [NameKind::Annotation, NameKind::Protocol, NameKind::Port(6), NameKind::IcmpType];
        let codes = [3, 5, 11, 12].map(NameKind::IcmpCode);
        for kind in kinds.into_iter().chain(codes) {
            assert!(!table(kind).is_empty());
            for (name, value) in table(kind) {
                assert_eq!(lookup(kind, name), Some(*value), "{name}");
            }
        }
    }

    #[test]
    fn values_have_names() {
        assert_eq!(name_of(NameKind::Protocol, 17), Some("udp"));
        assert_eq!(name_of(NameKind::Port(6), 53), Some("dns"));
        assert_eq!(name_of(NameKind::Protocol, 3), None);
    }
}
