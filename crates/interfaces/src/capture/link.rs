//! Link types: their numbers in capture files, Click's names for them, and where IP starts behind each.

use std::net::Ipv4Addr;
use wire::word::u16_at;
use wire::{ethertype, Ethernet, Ipv4, Ipv6, Vlan};

/// No link type: not known yet, or none in the capture.
pub const NONE: u32 = u32::MAX;
/// BSD loopback: a four-byte address family.
pub const NULL: u32 = 0;
/// Ethernet.
pub const ETHERNET: u32 = 1;
/// PPP.
pub const PPP: u32 = 9;
/// FDDI.
pub const FDDI: u32 = 10;
/// PPP or Cisco HDLC, with framing.
pub const PPP_HDLC: u32 = 50;
/// LLC-encapsulated ATM (RFC 1483).
pub const ATM_RFC1483: u32 = 100;
/// IP without a link-layer header.
pub const RAW: u32 = 101;
/// Cisco HDLC.
pub const C_HDLC: u32 = 104;
/// IEEE 802.11.
pub const IEEE802_11: u32 = 105;
/// Linux "cooked" capture.
pub const LINUX_SLL: u32 = 113;
/// Linux "cooked" capture that tells interfaces.
pub const LINUX_SLL2: u32 = 276;
/// IEEE 802.11 behind a Prism header.
pub const PRISM: u32 = 119;
/// Aironet.
pub const AIRONET: u32 = 120;
/// ATM with Sun's pseudo-header.
pub const SUNATM: u32 = 123;
/// IEEE 802.11 behind a radiotap header.
pub const IEEE802_11_RADIO: u32 = 127;

/// The number that Linux once wrote for [`RAW`].
const HOST_RAW: u32 = 12;

/// Click's names; of several for one number, the first is the one to print.
const NAMES: &[(&str, u32)] = &[
    ("NULL", NULL),
    ("IP", RAW),
    ("ETHER", ETHERNET),
    ("FDDI", FDDI),
    ("ATM", ATM_RFC1483),
    ("RFC1483", ATM_RFC1483),
    ("ATM_RFC1483", ATM_RFC1483),
    ("802_11", IEEE802_11),
    ("802.11", IEEE802_11),
    ("802_11_RADIO", IEEE802_11_RADIO),
    ("802.11_RADIO", IEEE802_11_RADIO),
    ("SLL", LINUX_SLL),
    ("AIRONET", AIRONET),
    ("HDLC", C_HDLC),
    ("PPP_HDLC", PPP_HDLC),
    ("PPP", PPP),
    ("SUNATM", SUNATM),
    ("PRISM", PRISM),
];

/// The IP header that [`find_ip`] found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum IpHeader {
    /// IPv4, the whole header being there.
    V4 {
        /// Where it starts.
        offset: usize,
        /// Its length with options.
        len: usize,
        /// Its destination address.
        destination: Ipv4Addr,
    },
    /// IPv6, the whole fixed header being there.
    V6 {
        /// Where it starts.
        offset: usize,
    },
}

/// The link type that `name` stands for: one of Click's names, or `#` and a number.
pub fn parse(name: &str) -> Option<u32> {
    if let Some((_, link_type)) = NAMES.iter().find(|(known, _)| *known == name) {
        return Some(*link_type);
    }
    let digits = name.strip_prefix('#')?;
    let (digits, radix) = match digits.strip_prefix("0x").or(digits.strip_prefix("0X")) {
        Some(digits) => (digits, 16),
        None if digits.len() > 1 && digits.starts_with('0') => (digits, 8),
        None => (digits, 10),
    };
    let starts_with_digit = digits.starts_with(|c: char| c.is_digit(radix));
    u32::from_str_radix(digits, radix).ok().filter(|number| starts_with_digit && *number < 0x7fff_ffff)
}

/// Click's name of a link type, or `#` and its number.
pub fn unparse(link_type: u32) -> String {
    match NAMES.iter().find(|(_, known)| *known == link_type) {
        Some((name, _)) => (*name).to_owned(),
        None if link_type > i32::MAX as u32 => "<none>".to_owned(),
        None => format!("#{link_type}"),
    }
}

/// The number that a link type has everywhere, for one that it has on some systems only.
pub fn canonical(link_type: u32) -> u32 {
    if link_type == HOST_RAW {
        RAW
    } else {
        link_type
    }
}

/// The link type that stands in the header of a capture. The high bits tell whether frames end with a checksum; where the others
/// are none that is known, all are the number, as in Click.
pub fn of_header(field: u32) -> u32 {
    let link_type = canonical(field & 0x03ff_ffff);
    match is_known(link_type) {
        true => link_type,
        false => canonical(field),
    }
}

fn is_known(link_type: u32) -> bool {
    NAMES.iter().any(|(_, known)| *known == link_type)
}

/// Whether [`find_ip`] understands the link type.
pub fn can_find_ip(link_type: u32) -> bool {
    link_type != AIRONET && (link_type == HOST_RAW || is_known(link_type))
}

/// Finds a frame's IP header; `None` if it carries something else or the header is cut short.
pub fn find_ip(link_type: u32, frame: &[u8]) -> Option<IpHeader> {
    let offset = ip_offset(link_type, frame)?;
    let packet = frame.get(offset..)?;
    if let Some(ip) = Ipv4::new(packet) {
        return Some(IpHeader::V4 { offset, len: ip.header_len(), destination: ip.destination() });
    }
    Ipv6::new(packet).map(|_| IpHeader::V6 { offset })
}

/// Where IP starts in a frame, by what its link-layer headers say; that it is IP is not checked.
pub fn ip_offset(link_type: u32, frame: &[u8]) -> Option<usize> {
    match link_type {
        RAW | HOST_RAW => Some(0),
        ETHERNET => behind_ethernet(frame, 12),
        FDDI => llc_of_fddi(frame, 0).and_then(|at| behind_llc(frame, at)),
        SUNATM => behind_llc(frame, 4),
        ATM_RFC1483 => behind_llc(frame, 0),
        LINUX_SLL => is_ip(frame, 14).then_some(16),
        C_HDLC => is_ip(frame, 2).then_some(4),
        PPP_HDLC => behind_ppp_hdlc(frame),
        PPP => behind_ppp(frame),
        PRISM => behind_wifi(frame, 144),
        IEEE802_11 => behind_wifi(frame, 0),
        IEEE802_11_RADIO => match *frame {
            [_, _, low, high, ..] => {
                let len = usize::from(u16::from_le_bytes([low, high]));
                (len >= 8).then(|| behind_wifi(frame, len)).flatten()
            }
            _ => None,
        },
        NULL => behind_null(frame),
        _ => None,
    }
}

/// Whether the ethertype at `at` is IPv4 or IPv6.
fn is_ip(frame: &[u8], at: usize) -> bool {
    matches!(u16_at(frame, at), Some(ethertype::IPV4 | ethertype::IPV6))
}

/// Behind an Ethernet header, with at most one tag, whose ethertype stands at `type_at`.
fn behind_ethernet(frame: &[u8], type_at: usize) -> Option<usize> {
    const TAG: usize = Vlan::LEN - Ethernet::LEN;
    if is_ip(frame, type_at) {
        return Some(type_at + 2);
    }
    let is_tagged = u16_at(frame, type_at) == Some(ethertype::VLAN);
    (is_tagged && is_ip(frame, type_at + TAG)).then_some(type_at + TAG + 2)
}

/// Where LLC starts in an asynchronous FDDI frame that is long enough for LLC with SNAP.
fn llc_of_fddi(frame: &[u8], at: usize) -> Option<usize> {
    let header = frame.get(at..at.checked_add(21)?)?;
    (header.first()? & 0xf0 == 0x50).then_some(at + 13)
}

/// Behind LLC (RFC 1483, RFC 2684), which may wrap a whole Ethernet or FDDI frame.
fn behind_llc(frame: &[u8], mut at: usize) -> Option<usize> {
    const IP_LSAP: u8 = 0x06;
    const SNAP_LSAP: u8 = 0xaa;
    loop {
        let header = frame.get(at..)?;
        match *header {
            [SNAP_LSAP, SNAP_LSAP, 3, 0, 0, 0, _, _, ..] if is_ip(frame, at + 6) => return Some(at + 8),
            [IP_LSAP, IP_LSAP, _, _, ..] => return Some(at + 4),
            // Ethernet encapsulated as such, or by Cisco's bridges.
            [SNAP_LSAP, SNAP_LSAP, _, 0, 0, 0 | 0xf8, _, _, ..] => return behind_ethernet(frame, at + 6),
            // RFC 2684: bridged Ethernet, bridged FDDI after a byte of padding.
            [SNAP_LSAP, SNAP_LSAP, _, 0x00, 0x80, 0xc2, 0, 1 | 7, ..] => {
                return behind_ethernet(frame, at + 20)
            }
            [SNAP_LSAP, SNAP_LSAP, _, 0x00, 0x80, 0xc2, 0, 4 | 10, ..] => at = llc_of_fddi(frame, at + 9)?,
            _ => return None,
        }
    }
}

/// Behind an IEEE 802.11 data frame's header.
fn behind_wifi(frame: &[u8], at: usize) -> Option<usize> {
    let header = frame.get(at..at.checked_add(24)?)?;
    let [kind, directions, ..] = *header else { return None };
    // A frame between two access points has a fourth address.
    let len = if directions & 0x03 == 0x03 { 30 } else { 24 };
    (kind & 0x0c == 0x08).then(|| behind_llc(frame, at + len)).flatten()
}

/// Behind PPP with HDLC framing (RFC 1662), or Cisco HDLC.
fn behind_ppp_hdlc(frame: &[u8]) -> Option<usize> {
    match *frame {
        [0xff, _, 0, 0x21 | 0x57, ..] => Some(4),
        [0x0f | 0x8f, _, _, _, ..] => is_ip(frame, 2).then_some(4),
        _ => None,
    }
}

/// Behind PPP, whose address and control fields may be left out and whose protocol field may be compressed (RFC 1661).
fn behind_ppp(frame: &[u8]) -> Option<usize> {
    let at = if frame.starts_with(&[0xff, 0x03]) { 2 } else { 0 };
    match *frame.get(at..)? {
        [0x21 | 0x57, _, ..] => Some(at + 1),
        [0, 0x21 | 0x57, ..] => Some(at + 2),
        _ => None,
    }
}

/// Behind an address family in either byte order: 2 is IPv4; IPv6 is 24, 28 or 30, depending on the system.
fn behind_null(frame: &[u8]) -> Option<usize> {
    let [a, b, c, d, ..] = *frame else { return None };
    let family = match u16::from_le_bytes([a, b]) {
        0 => u16::from_be_bytes([c, d]),
        family => family,
    };
    matches!(family, 2 | 24 | 28 | 30).then_some(4)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    /// Puts `prefix` before an IPv4 and an IPv6 header and tells what is found behind it.
    fn check(link_type: u32, prefixes: &[&[u8]], expect: Expect) {
        let mut out = Vec::new();
        for prefix in prefixes {
            let mut v4 = [prefix, &[0u8; 24][..]].concat();
            v4[prefix.len()] = 0x46;
            v4[prefix.len() + 16..][..4].copy_from_slice(&[10, 0, 0, 1]);
            let mut v6 = [prefix, &[0u8; 40][..]].concat();
            v6[prefix.len()] = 0x60;
            let cut = find_ip(link_type, &v4[..v4.len() - 1]).or(find_ip(link_type, &v6[..v6.len() - 1]));
            assert_eq!(cut, None, "a header that is cut short is not found");
            out.push(format!("{:?} {:?}", find_ip(link_type, &v4), find_ip(link_type, &v6)));
        }
        expect.assert_eq(&out.join("\n"));
    }

    const SNAP: [u8; 8] = [0xaa, 0xaa, 3, 0, 0, 0, 8, 0];

    #[test]
    fn ip_is_found_behind_ethernet_and_one_tag() {
        let plain = [&[1; 12][..], &[0x08, 0]].concat();
        let tagged = [&[1; 12][..], &[0x81, 0, 0, 5, 0x86, 0xdd]].concat();
        let twice = [&[1; 12][..], &[0x81, 0, 0, 5, 0x81, 0, 0, 6, 8, 0]].concat();
        check(
            ETHERNET,
            &[&plain, &tagged, &twice],
            expect![[r#"
            Some(V4 { offset: 14, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 14 })
            Some(V4 { offset: 18, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 18 })
            None None"#]],
        );
    }

    #[test]
    fn ip_is_found_behind_llc() {
        let oui = |last: [u8; 3], pid: u8| [0xaa, 0xaa, 3, last[0], last[1], last[2], 0, pid];
        let bridged = [&oui([0, 0x80, 0xc2], 7)[..], &[1; 12], &[8, 0]].concat();
        let fddi = [&oui([0, 0x80, 0xc2], 10)[..], &[0], &[0x50; 13], &SNAP].concat();
        let cisco = [0xaa, 0xaa, 3, 0, 0, 0xf8, 8, 0];
        check(
            ATM_RFC1483,
            &[&SNAP, &[6, 6, 3, 0], &bridged, &fddi, &cisco, &oui([0, 0x80, 0xc2], 9)],
            expect![[r#"
            Some(V4 { offset: 8, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 8 })
            Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })
            Some(V4 { offset: 22, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 22 })
            Some(V4 { offset: 30, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 30 })
            Some(V4 { offset: 8, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 8 })
            None None"#]],
        );
        check(
            SUNATM,
            &[&[&[9; 4][..], &SNAP].concat()],
            expect![[r#"
            Some(V4 { offset: 12, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 12 })"#]],
        );
        check(
            FDDI,
            &[&[&[0x57; 13][..], &SNAP].concat(), &[&[0x40; 13][..], &SNAP].concat()],
            expect![[r#"
            Some(V4 { offset: 21, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 21 })
            None None"#]],
        );
    }

    #[test]
    fn ip_is_found_behind_radio_frames() {
        let data = |directions: u8, len: usize| {
            let mut header = vec![0; len];
            header[..2].copy_from_slice(&[0x08, directions]);
            [&header[..], &SNAP].concat()
        };
        let beacon = [&[0x80; 24][..], &SNAP].concat();
        check(
            IEEE802_11,
            &[&data(1, 24), &data(3, 30), &beacon],
            expect![[r#"
            Some(V4 { offset: 32, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 32 })
            Some(V4 { offset: 38, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 38 })
            None None"#]],
        );
        let radiotap = [&[0, 0, 10, 0, 0, 0, 0, 0, 0, 0][..], &data(2, 24)].concat();
        check(
            IEEE802_11_RADIO,
            &[&radiotap, &[0, 0, 7, 0]],
            expect![[r#"
            Some(V4 { offset: 42, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 42 })
            None None"#]],
        );
        check(
            PRISM,
            &[&[&[0; 144][..], &data(0, 24)].concat()],
            expect![[r#"
            Some(V4 { offset: 176, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 176 })"#]],
        );
    }

    #[test]
    fn ip_is_found_behind_short_headers() {
        check(
            RAW,
            &[&[]],
            expect!["Some(V4 { offset: 0, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 0 })"],
        );
        let sll = [&[0; 14][..], &[8, 0]].concat();
        check(
            LINUX_SLL,
            &[&sll],
            expect!["Some(V4 { offset: 16, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 16 })"],
        );
        check(
            C_HDLC,
            &[&[0x0f, 0, 8, 0]],
            expect!["Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })"],
        );
        check(
            PPP_HDLC,
            &[&[0xff, 3, 0, 0x21], &[0x8f, 0, 0x86, 0xdd], &[0xff, 3, 0xc0, 0x21]],
            expect![[r#"
            Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })
            Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })
            None None"#]],
        );
        check(
            PPP,
            &[&[0x21], &[0, 0x57], &[0xff, 3, 0x57], &[0xff, 3, 0, 0x21]],
            expect![[r#"
            Some(V4 { offset: 1, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 1 })
            Some(V4 { offset: 2, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 2 })
            Some(V4 { offset: 3, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 3 })
            Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })"#]],
        );
        check(
            NULL,
            &[&[2, 0, 0, 0], &[0, 0, 0, 30], &[9, 0, 0, 0]],
            expect![[r#"
            Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })
            Some(V4 { offset: 4, len: 24, destination: 10.0.0.1 }) Some(V6 { offset: 4 })
            None None"#]],
        );
    }

    #[test]
    fn names_are_clicks() {
        let read = |name: &str| parse(name).map(unparse);
        let names = [
            "ETHER",
            "IP",
            "ATM_RFC1483",
            "802.11",
            "#1",
            "#147",
            "#0x93",
            "#-1",
            "#+1",
            "#",
            "ether",
            "#2147483647",
        ];
        let read = names.map(|name| read(name).unwrap_or("-".into())).join(" ");
        expect!["ETHER IP ATM 802_11 ETHER #147 #147 - - - - -"].assert_eq(&read);
        assert_eq!((unparse(NONE), canonical(12), can_find_ip(12)), ("<none>".into(), RAW, true));
        let of_headers = [12, 1, 0x3000_0001, 0x3000_0084, 0x84].map(of_header);
        assert_eq!(of_headers, [RAW, ETHERNET, ETHERNET, 0x3000_0084, 0x84]);
        assert!(can_find_ip(PRISM) && !can_find_ip(AIRONET) && !can_find_ip(147));
    }

    proptest! {
        #[test]
        fn no_frame_makes_the_search_panic(mut frame: Vec<u8>, llc: bool) {
            if llc {
                frame.splice(0..0, [0xaa, 0xaa, 3, 0, 0x80, 0xc2, 0, 4, 0, 0x50]);
            }
            for link_type in 0..200 {
                let found = find_ip(link_type, &frame);
                prop_assert!(found.is_none() || can_find_ip(link_type));
            }
        }
    }
}
