//! Ethernet frames of frames of other link types.

use packet::DEFAULT_HEADROOM;
use wire::{ethertype, Ethernet};

use crate::capture::{link, Record};
use element::Packet;

/// Raw IP as OpenBSD numbers it.
const OPENBSD_RAW: u32 = 14;
/// OpenBSD loopback: a four-byte address family in network byte order.
const LOOP: u32 = 108;
/// IPv4 without a link-layer header, and IPv6.
const IPV4: u32 = 228;
const IPV6: u32 = 229;

/// Hardware types (ARPHRD) behind whose cooked header no Ethernet type stands: IEEE 802.11 in its forms, and netlink.
const WITHOUT_TYPE: [u16; 4] = [801, 802, 803, 824];
/// The cooked packet type of what was broadcast.
const BROADCAST: u16 = 1;
/// Cooked protocols that stand for IEEE 802.3 frames: those of Novell, which have no LLC header, and those with one.
const IEEE802_3: [u16; 2] = [1, 4];

/// Whether some frames of the link type can be made Ethernet frames.
pub(super) fn can_be_made(link_type: u32) -> bool {
    let is_known = [link::LINUX_SLL2, OPENBSD_RAW, LOOP, IPV4, IPV6].contains(&link_type);
    is_known || link::can_find_ip(link_type)
}

/// The Ethernet frame of a record of another link type: all that Linux captures "cooked", and IP behind other headers, or none,
/// with an Ethernet header of zeros.
pub(super) fn make(record: &Record<'_>) -> Option<Packet> {
    let frame = record.data;
    let (header, at) = match link::canonical(record.link_type) {
        link::LINUX_SLL => {
            let header = frame.first_chunk::<16>()?;
            let [kind, hardware, len, _, _, _, _, protocol] = words(header);
            cooked(record, 16, Cooked { kind, hardware, len, address: header.get(6..12)?, protocol })?
        }
        link::LINUX_SLL2 => {
            let header = frame.first_chunk::<20>()?;
            let [protocol, _, _, _, hardware, kind_and_len, ..] = words::<20, 10>(header);
            let [kind, len] = kind_and_len.to_be_bytes().map(u16::from);
            cooked(record, 20, Cooked { kind, hardware, len, address: header.get(12..18)?, protocol })?
        }
        OPENBSD_RAW | IPV4 | IPV6 => behind(frame, 0)?,
        LOOP => behind(frame, link::ip_offset(link::NULL, frame)?)?,
        link_type => behind(frame, link::ip_offset(link_type, frame)?)?,
    };
    let mut packet = Packet::with_headroom(DEFAULT_HEADROOM + header.len(), frame.get(at..)?);
    packet.prepend_array(&header);
    Some(packet)
}

/// An Ethernet header, and where in the frame what is behind it starts.
type Made = ([u8; Ethernet::LEN], usize);

/// A header's 16-bit numbers.
fn words<const LEN: usize, const N: usize>(header: &[u8; LEN]) -> [u16; N] {
    let mut words = [0; N];
    let pairs =
        header.chunks_exact(2).map(|pair| pair.iter().fold(0, |word, byte| word << 8 | u16::from(*byte)));
    words.iter_mut().zip(pairs).for_each(|(word, value)| *word = value);
    words
}

/// What is before IP at `at`.
fn behind(frame: &[u8], at: usize) -> Option<Made> {
    let kind = match frame.get(at)? >> 4 {
        4 => ethertype::IPV4,
        6 => ethertype::IPV6,
        _ => return None,
    };
    Some((header(&[0; 6], &[0; 6], kind), at))
}

/// What a cooked header says (LINKTYPE_LINUX_SLL, LINKTYPE_LINUX_SLL2).
struct Cooked<'a> {
    kind: u16,
    hardware: u16,
    /// Length of the sender's address.
    len: u16,
    address: &'a [u8],
    protocol: u16,
}

/// What replaces a cooked header of `len` bytes. It does not tell the receiver's address.
fn cooked(record: &Record<'_>, len: usize, cooked: Cooked<'_>) -> Option<Made> {
    if WITHOUT_TYPE.contains(&cooked.hardware) {
        return None;
    }
    let kind = match cooked.protocol {
        protocol if IEEE802_3.contains(&protocol) => {
            let on_wire = usize::try_from(record.wire_len).ok()?.checked_sub(len)?;
            u16::try_from(on_wire).ok().filter(|len| *len <= 1500)?
        }
        0..0x0600 => return None,
        protocol => protocol,
    };
    let destination = if cooked.kind == BROADCAST { [0xff; 6] } else { [0; 6] };
    let source = cooked.address.first_chunk().filter(|_| cooked.len == 6).unwrap_or(&[0; 6]);
    Some((header(&destination, source, kind), len))
}

fn header(destination: &[u8; 6], source: &[u8; 6], kind: u16) -> [u8; Ethernet::LEN] {
    let mut header = [0; Ethernet::LEN];
    let bytes = destination.iter().chain(source).copied().chain(kind.to_be_bytes());
    header.iter_mut().zip(bytes).for_each(|(place, byte)| *place = byte);
    header
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::capture::Timestamp;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn made(link_type: u32, data: &[u8]) -> Option<Packet> {
        let timestamp = Timestamp { seconds: 0, nanoseconds: 0 };
        make(&Record { timestamp, wire_len: data.len() as u32, interface: 0, link_type, data, offset: 0 })
    }

    fn check(link_type: u32, parts: &[&[u8]], expect: Expect) {
        let text = match made(link_type, &parts.concat()) {
            Some(packet) => {
                assert!(packet.headroom() >= DEFAULT_HEADROOM);
                packet.data().iter().map(|byte| format!("{byte:02x}")).collect()
            }
            None => "none".to_string(),
        };
        expect.assert_eq(&text);
    }

    const ADDRESS: &[u8] = &[2, 0, 0, 0, 0, 9, 0xee, 0xee];

    #[test]
    fn what_linux_cooked_keeps_its_sender_and_its_type() {
        let sll = |kind: u8, len: u8| [[0, kind, 0, 1, 0, len].as_slice(), ADDRESS].concat();
        check(link::LINUX_SLL, &[&sll(0, 6), &[8, 6], b"arp"], expect!["0000000000000200000000090806617270"]);
        check(link::LINUX_SLL, &[&sll(1, 6), &[8, 6], b"arp"], expect!["ffffffffffff0200000000090806617270"]);
        check(link::LINUX_SLL, &[&sll(4, 0), &[8, 0], b"E"], expect!["000000000000000000000000080045"]);
        check(
            link::LINUX_SLL,
            &[&sll(4, 6), &[0x81, 0, 0, 7, 8, 0], b"E"],
            expect!["00000000000002000000000981000007080045"],
        );
        // IEEE 802.3, with LLC.
        check(
            link::LINUX_SLL,
            &[&sll(2, 6), &[0, 4], &[0x42, 0x42, 3]],
            expect!["0000000000000200000000090003424203"],
        );
        let sll2 = |kind: u8| [[0, 0, 0, 0, 0, 3, 0, 1, kind, 6].as_slice(), ADDRESS].concat();
        check(link::LINUX_SLL2, &[&[8, 6], &sll2(1), b"arp"], expect!["ffffffffffff0200000000090806617270"]);
        check(link::LINUX_SLL2, &[&[8, 6], &sll2(0), b"arp"], expect!["0000000000000200000000090806617270"]);
    }

    #[test]
    fn ip_behind_other_headers_gets_one_of_zeros() {
        for (link_type, head) in [
            (link::RAW, &[][..]),
            (12, &[]),
            (OPENBSD_RAW, &[]),
            (IPV4, &[]),
            (link::NULL, &[2, 0, 0, 0]),
            (LOOP, &[0, 0, 0, 2]),
            (link::PPP, &[0xff, 3, 0, 0x21]),
        ] {
            check(link_type, &[head, b"E"], expect!["000000000000000000000000080045"]);
        }
        check(link::RAW, &[b"`"], expect!["00000000000000000000000086dd60"]);
    }

    #[test]
    fn what_is_no_ethernet_frame_is_none() {
        check(link::RAW, &[b"x"], expect!["none"]);
        check(link::RAW, &[], expect!["none"]);
        check(link::IEEE802_11, &[&[0x80; 40]], expect!["none"]);
        check(link::LINUX_SLL, &[&[0; 15]], expect!["none"]);
        // A message of netlink, and a CAN frame.
        check(link::LINUX_SLL, &[&[0, 4, 3, 0x38, 0, 0], &[0; 8], &[8, 0], b"E"], expect!["none"]);
        check(link::LINUX_SLL, &[&[0, 4, 1, 0x18, 0, 0], &[0; 8], &[0, 12], b"x"], expect!["none"]);
        assert!(!can_be_made(220) && can_be_made(link::LINUX_SLL2));
    }

    proptest! {
        #[test]
        fn no_frame_makes_it_panic(link_type in 0u32..300, data in proptest::collection::vec(any::<u8>(), 0..60)) {
            let _ = made(link_type, &data);
        }
    }
}
