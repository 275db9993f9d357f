//! Segmentation and checksums in software, for readers that know nothing of offload.
//!
//! Does what a packet's offload metadata leaves to be done, as a network card would: cuts TCP and UDP payloads into
//! segments (with their own lengths, identifications, sequence numbers, flags and checksums), or completes a partial
//! checksum.

use element::Packet;
use packet::{Gso, Offload};
use wire::checksum;
use wire::word::{put_u16, u16_at};

use headers::Headers;

mod headers;

const TCP: u8 = 6;
const UDP: u8 = 17;
const UDP_HEADER: usize = 8;

/// Most segments of a packet: 64 KiB with its headers, cut at the least size that Linux gives segments of TCP, which is 48 bytes.
pub const MAX_SEGMENTS: usize = 1400;

const FIN_PSH: u8 = 0x09;
const CWR: u8 = 0x80;

/// Hands what `packet` stands for on a wire to `emit`: segments with complete checksums, in order, without offload
/// metadata. If its headers do not fit its metadata, or there would be more than [`MAX_SEGMENTS`], it is handed on
/// whole, its checksum completed if that can be done.
pub fn segment(packet: &Packet, mut emit: impl FnMut(Packet)) {
    let offload = packet.offload();
    let Some(plan) = Plan::of(packet, &offload) else {
        return emit(completed(packet, &offload));
    };
    let payload = packet.data().get(plan.payload_at..).unwrap_or_default();
    let n_segments = payload.len().div_ceil(plan.size);
    for (i, part) in payload.chunks(plan.size).enumerate() {
        emit(plan.segment(packet, part, i, i + 1 == n_segments));
    }
}

/// Whether a kernel can do what is left to be done: of packets in tunnels it is not told where they begin.
#[inline]
pub fn is_for_kernel(packet: &Packet) -> bool {
    !packet.has_offload() || !is_in_tunnel(packet)
}

fn is_in_tunnel(packet: &Packet) -> bool {
    Plan::of(packet, &packet.offload()).is_some_and(|plan| plan.headers.are_in_tunnel())
}

/// The packet with its partial checksum completed.
fn completed(packet: &Packet, offload: &Offload) -> Packet {
    let mut packet = packet.clone();
    if offload.needs_checksum {
        let (start, offset) = (usize::from(offload.checksum_start), usize::from(offload.checksum_offset));
        checksum::complete(packet.data_mut(), start, offset);
    }
    packet.set_offload(Offload::default());
    packet
}

/// Where the headers of a packet to be segmented are; everything lies within the packet.
struct Plan {
    headers: Headers,
    transport_at: usize,
    payload_at: usize,
    protocol: u8,
    size: usize,
}

impl Plan {
    /// `None` if there is nothing to segment, or the headers are not what the metadata says.
    fn of(packet: &Packet, offload: &Offload) -> Option<Plan> {
        let protocol = match offload.gso {
            Gso::TcpV4 | Gso::TcpV6 => TCP,
            Gso::UdpSegment => UDP,
            // Fragments are no segments: whole, the datagram is as right, and only longer.
            Gso::UdpFragment | Gso::None => return None,
        };
        let data = packet.data();
        let transport_at = usize::from(offload.checksum_start);
        let headers = Headers::of(packet, transport_at, protocol)?;
        let header_len = match protocol {
            TCP => usize::from(data.get(transport_at + 12)? >> 4) * 4,
            _ => UDP_HEADER,
        };
        let payload_at = transport_at + header_len;
        let min_len = if protocol == TCP { 20 } else { UDP_HEADER };
        let size = usize::from(offload.gso_size);
        let at = if protocol == TCP { 16 } else { 6 };
        let is_partial = offload.needs_checksum && usize::from(offload.checksum_offset) == at;
        let fits = is_partial
            && header_len >= min_len
            && payload_at < data.len()
            && data.len() <= size * MAX_SEGMENTS;
        fits.then_some(Plan { headers, transport_at, payload_at, protocol, size })
    }

    /// Segment number `i`, which carries `part`.
    fn segment(&self, whole: &Packet, part: &[u8], i: usize, is_last: bool) -> Packet {
        let headers = whole.data().get(..self.payload_at).unwrap_or_default();
        let mut packet = Packet::uninit(whole.headroom(), headers.len() + part.len(), 0);
        let data = packet.data_mut();
        if let Some((to_headers, to_part)) = data.split_at_mut_checked(headers.len()) {
            to_headers.copy_from_slice(headers);
            to_part.copy_from_slice(part);
        }
        self.headers.fix(data, i as u16);
        match self.protocol {
            TCP => self.fix_tcp(data, i, is_last),
            _ => put_u16(data, self.transport_at + 4, (UDP_HEADER + part.len()) as u16),
        }
        self.fix_checksum(data, whole.len());
        packet.copy_annotations(whole);
        if let Some(at) = whole.mac_offset().and_then(|at| usize::try_from(at).ok()) {
            packet.set_mac_offset(at);
        }
        let (at, end) = self.headers.outer();
        packet.set_network_header(at, end - at);
        packet
    }

    /// Sets sequence number and flags: only the first segment tells that the window was reduced, only the last ends.
    fn fix_tcp(&self, data: &mut [u8], i: usize, is_last: bool) {
        let Some(header) = data.get_mut(self.transport_at..).and_then(|tcp| tcp.first_chunk_mut::<14>())
        else {
            return;
        };
        let [_, _, _, _, a, b, c, d, _, _, _, _, _, flags] = header;
        let sequence = u32::from_be_bytes([*a, *b, *c, *d]);
        let sequence = sequence.wrapping_add((i as u32).wrapping_mul(self.size as u32));
        [*a, *b, *c, *d] = sequence.to_be_bytes();
        if i > 0 {
            *flags &= !CWR;
        }
        if !is_last {
            *flags &= !FIN_PSH;
        }
    }

    /// Goes on from the sum of the pseudo-header that the partial checksum holds, which counts the whole packet's length.
    fn fix_checksum(&self, data: &mut [u8], whole_len: usize) {
        let at = self.transport_at + if self.protocol == TCP { 16 } else { 6 };
        let len = data.len() - self.transport_at;
        let Some(partial) = u16_at(data, at) else { return };
        let longer_by = checksum::fold((whole_len - self.transport_at) as u64);
        let pseudo = checksum::add(checksum::add(partial, !longer_by), checksum::fold(len as u64));
        put_u16(data, at, 0);
        let transport = data.get(self.transport_at..).unwrap_or_default();
        let mut sum = checksum::transport(pseudo, transport);
        if self.protocol == UDP {
            sum = checksum::nonzero(sum);
        }
        put_u16(data, at, sum);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;
    use wire::checksum::{add, fold, sum};

    fn get(data: &[u8], at: usize) -> u16 {
        u16_at(data, at).expect("the packet is so long")
    }

    /// An Ethernet (or bare) IP packet with a transport header and `n` bytes of payload, its checksum partial.
    fn packet(is_v6: bool, is_tagged: bool, protocol: u8, n: usize) -> Vec<u8> {
        let mut ether = vec![2; 12];
        if is_tagged {
            ether.extend([0x81, 0, 0, 5]);
        }
        ether.extend(if is_v6 { [0x86, 0xdd] } else { [8, 0] });
        let header = if protocol == TCP { 20 } else { 8 };
        let len = (header + n) as u16;
        let mut ip = if is_v6 {
            let mut ip = vec![0x60, 0, 0, 0, (len >> 8) as u8, len as u8, protocol, 64];
            ip.extend([1; 16]);
            ip.extend([2; 16]);
            ip
        } else {
            let total = len + 20;
            let mut ip = vec![0x45, 0, (total >> 8) as u8, total as u8, 0, 7, 0, 0, 64, protocol, 0, 0];
            ip.extend([10, 0, 0, 1, 10, 0, 0, 2]);
            ip
        };
        let mut transport = vec![0, 80, 0, 81];
        if protocol == TCP {
            transport.extend([0xff, 0xff, 0xff, 0xf0, 0, 0, 0, 0, 0x50, 0x99, 0, 9, 0, 0, 0, 0]);
        } else {
            transport.extend([(len >> 8) as u8, len as u8, 0, 0]);
        }
        transport.extend((0..n).map(|i| i as u8));
        let addresses = if is_v6 { &ip[8..40] } else { &ip[12..20] };
        let pseudo = add(sum(addresses), fold(u64::from(protocol) + u64::from(len)));
        put_u16(&mut transport, if protocol == TCP { 16 } else { 6 }, pseudo);
        ether.append(&mut ip);
        ether.append(&mut transport);
        ether
    }

    /// What a receiver checks: lengths and both checksums.
    fn describe(data: &[u8], ip_at: usize) -> String {
        let ip = &data[ip_at..];
        let (header, addresses, len) = match ip[0] >> 4 {
            4 => (20, &ip[12..20], usize::from(get(ip, 2))),
            _ => (40, &ip[8..40], usize::from(get(ip, 4)) + 40),
        };
        let protocol = if header == 20 { ip[9] } else { ip[6] };
        let transport = &ip[header..];
        let pseudo = add(sum(addresses), fold(u64::from(protocol) + transport.len() as u64));
        let mut text = format!("len {}", ip.len());
        if len != ip.len() {
            text += " BAD LENGTH";
        }
        if header == 20 {
            text += &format!(" id {}", get(ip, 4));
            if !checksum::is_valid(&ip[..20]) {
                text += " BAD IP CHECKSUM";
            }
        }
        if protocol == TCP {
            text +=
                &format!(" seq {:x}{:04x} flags {:02x}", get(transport, 4), get(transport, 6), transport[13]);
        } else {
            text += &format!(" udp {}", get(transport, 4));
        }
        if !checksum::is_transport_valid(pseudo, transport) {
            text += " BAD CHECKSUM";
        }
        text
    }

    fn check(bytes: &[u8], ip_at: usize, gso: Gso, size: u16, expect: Expect) {
        let is_v6 = bytes[ip_at] >> 4 == 6;
        let start = ip_at + if is_v6 { 40 } else { 20 };
        let checksum_offset = if gso == Gso::UdpSegment { 6 } else { 16 };
        let mut packet = Packet::from_bytes(bytes);
        packet.set_timestamp_ns(5);
        packet.set_offload(Offload {
            needs_checksum: true,
            gso,
            gso_size: size,
            checksum_start: start as u16,
            checksum_offset,
            ..Offload::default()
        });
        let mut lines = Vec::new();
        segment(&packet, |part| {
            assert!(!part.has_offload() && part.timestamp_ns() == 5);
            lines.push(describe(part.data(), ip_at));
        });
        expect.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn tcp_is_cut_into_segments() {
        check(
            &packet(false, false, TCP, 250),
            14,
            Gso::TcpV4,
            100,
            expect![[r#"
            len 140 id 7 seq fffffff0 flags 90
            len 140 id 8 seq 00054 flags 10
            len 90 id 9 seq 000b8 flags 19"#]],
        );
        check(
            &packet(true, true, TCP, 250),
            18,
            Gso::TcpV6,
            200,
            expect![[r#"
            len 260 seq fffffff0 flags 90
            len 110 seq 000b8 flags 19"#]],
        );
        check(
            &packet(false, false, TCP, 20)[14..],
            0,
            Gso::TcpV4,
            10,
            expect![[r#"
            len 50 id 7 seq fffffff0 flags 90
            len 50 id 8 seq fffffffa flags 19"#]],
        );
    }

    /// The lengths of segments of a TCP packet behind these headers, and whether all that its headers say of them is right.
    fn in_tunnel(front: &[u8], is_v6: bool) -> Vec<usize> {
        let inner = &packet(is_v6, false, TCP, 250)[14..];
        let mut packet = Packet::from_bytes(&[front, inner].concat());
        let start = front.len() + if is_v6 { 40 } else { 20 };
        packet.set_offload(Offload {
            needs_checksum: true,
            gso: Gso::TcpV4,
            gso_size: 100,
            checksum_start: start as u16,
            checksum_offset: 16,
            ..Offload::default()
        });
        let mut lens = Vec::new();
        segment(&packet, |part| {
            let text = describe(part.data(), front.len());
            assert!(!text.contains("BAD"), "{text}");
            let part = part.data();
            match part[12..] {
                _ if part[0] == 0x45 => {
                    assert!(checksum::is_valid(&part[..20]) && usize::from(get(part, 2)) == part.len());
                }
                _ if part[0] == 0x60 => assert_eq!(usize::from(get(part, 4)) + 40, part.len()),
                [0x88, 0x64, ..] => assert_eq!(usize::from(get(part, 18)) + 20, part.len()),
                _ => panic!("{part:02x?}"),
            }
            lens.push(part.len() - front.len());
        });
        assert!(!is_for_kernel(&packet));
        packet.strip(front.len());
        assert!(is_for_kernel(&packet));
        lens
    }

    #[test]
    fn what_is_in_tunnels_is_cut() {
        let v4 = |protocol: u8| {
            [&[0x45, 0, 0, 0, 0, 0, 0, 0, 64, protocol, 0, 0][..], &[10, 1, 1, 1], &[10, 2, 2, 2]].concat()
        };
        let v6 = |next: u8| [&[0x60, 0, 0, 0, 0, 0, next, 64][..], &[7; 32]].concat();
        let options = [60, 0, 1, 4, 0, 0, 0, 0];
        let pppoe = |protocol: u8| [&[2; 12][..], &[0x88, 0x64, 0x11, 0, 0, 1, 0, 0, 0, protocol]].concat();
        assert_eq!(in_tunnel(&v4(4), false), [140, 140, 90]);
        assert_eq!(in_tunnel(&v4(41), true), [160, 160, 110]);
        assert_eq!(in_tunnel(&v6(41), true), [160, 160, 110]);
        assert_eq!(in_tunnel(&[&v6(0)[..], &[4, 0, 1, 4, 0, 0, 0, 0]].concat(), false), [140, 140, 90]);
        assert_eq!(
            in_tunnel(&[&v6(0)[..], &options, &[4, 0, 1, 4, 0, 0, 0, 0]].concat(), false),
            [140, 140, 90]
        );
        assert_eq!(in_tunnel(&[v4(47), vec![0, 0, 8, 0]].concat(), false), [140, 140, 90]);
        assert_eq!(in_tunnel(&[v4(47), vec![0x20, 0, 8, 0, 0, 0, 0, 1]].concat(), false), [140, 140, 90]);
        assert_eq!(in_tunnel(&[v4(4), v4(41)].concat(), true), [160, 160, 110]);
        assert_eq!(in_tunnel(&pppoe(0x21), false), [140, 140, 90]);
        assert_eq!(in_tunnel(&pppoe(0x57), true), [160, 160, 110]);
    }

    #[test]
    fn udp_is_cut_into_datagrams() {
        check(
            &packet(false, true, UDP, 250),
            18,
            Gso::UdpSegment,
            100,
            expect![[r#"
            len 128 id 7 udp 108
            len 128 id 8 udp 108
            len 78 id 9 udp 58"#]],
        );
        check(
            &packet(true, false, UDP, 250),
            14,
            Gso::UdpSegment,
            125,
            expect![[r#"
            len 173 udp 133
            len 173 udp 133"#]],
        );
    }

    #[test]
    fn a_partial_checksum_is_completed() {
        check(&packet(true, false, TCP, 33), 14, Gso::None, 0, expect!["len 93 seq fffffff0 flags 99"]);
    }

    #[test]
    fn a_packet_does_not_become_any_number_of_segments() {
        let bytes = packet(false, false, TCP, 65_000);
        let n_segments = |size| {
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_offload(Offload {
                needs_checksum: true,
                gso: Gso::TcpV4,
                gso_size: size,
                checksum_start: 34,
                checksum_offset: 16,
                ..Offload::default()
            });
            let mut n = 0;
            segment(&packet, |_| n += 1);
            n
        };
        assert_eq!([0, 1, 40, 48, 1448].map(n_segments), [1, 1, 1, 1355, 45]);
    }

    proptest! {
        #[test]
        fn any_packet_with_any_metadata_is_handed_on(
            bytes in proptest::collection::vec(any::<u8>(), 0..200),
            n in 0usize..300,
            cut in 0usize..400,
            is_random: bool,
            kind in 0u8..6,
            start in 0u16..120,
            offset in 0u16..40,
            size in 0u16..200,
        ) {
            let mut bytes = if is_random { bytes } else { packet(kind == 4, false, if kind == 5 { UDP } else { TCP }, n) };
            bytes.truncate(cut);
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_offload(Offload {
                needs_checksum: true,
                gso: Gso::from_number(kind).unwrap_or(Gso::None),
                gso_size: size,
                checksum_start: start,
                checksum_offset: offset,
                ..Offload::default()
            });
            let mut n_bytes = 0;
            segment(&packet, |part| n_bytes += part.len());
            prop_assert!(n_bytes >= packet.len());
        }
    }
}
