//! Writes an address into packets.
//!
//! Writes ADDR, or without it the destination annotation, at OFFSET. An annotation of 0.0.0.0 is not written. With an OFFSET of
//! `src` or `dst` the address goes into the marked IPv4 header, and the checksums of the header and of TCP or UDP follow; with a
//! number no checksum changes. Packets in which there is no such place leave by output 1 if there is one, else they are
//! dropped.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> StoreIPAddress(10.0.0.1, dst) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{Args, Word};
use element::{
    offload, per_packet, Arg, Causes, Class, Configure, DropReason, Element, Failed, Packet, Verdict,
};
use wire::{checksum, protocol};

/// The class.
pub const CLASS: Class = Class::new::<StoreIPAddress>("StoreIPAddress", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional(
        "ADDR",
        "IP address",
        "The address; given alone, an argument is OFFSET. Default the annotation.",
    ),
    Arg::required("OFFSET", "unsigned, `src` or `dst`", "Where to write the address."),
];

/// The arguments when there is but one.
const ADDRESS_AND_OFFSET: &[Arg] = &[
    Arg::required("ADDR", "IP address", "The address to write."),
    Arg::required("OFFSET", "unsigned, `src` or `dst`", "Where to write the address."),
];
const OFFSET_ONLY: &[Arg] =
    &[Arg::required("OFFSET", "unsigned, `src` or `dst`", "Where to write the address.")];

const NO_PLACE: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("out-of-range", "The packet is too short, or no IPv4 header is marked.")];

/// See the page above.
pub struct StoreIPAddress {
    address: Option<Ipv4Addr>,
    place: Place,
}

#[derive(Clone, Copy)]
enum Place {
    Offset(usize),
    /// Offset in the IPv4 header.
    Header(usize),
}

impl Element for StoreIPAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<StoreIPAddress, Failed> {
        let has_address = args::split_args(conf.config).len() > 1;
        let facts = if has_address { ADDRESS_AND_OFFSET } else { OFFSET_ONLY };
        conf.args = Args::new(conf.config, facts, conf.scope);
        let address = has_address.then(|| conf.args.need_with("ADDR", args::ip)).flatten();
        let Word(offset) = conf.args.need("OFFSET");
        let place = place(&offset);
        if place.is_none() {
            conf.args.fail("type mismatch: OFFSET requires integer");
        }
        conf.finish()?;
        Ok(StoreIPAddress { address, place: place.unwrap_or(Place::Offset(0)) })
    }

    per_packet!();
}

fn place(offset: &str) -> Option<Place> {
    match offset.to_ascii_lowercase().as_str() {
        "src" => Some(Place::Header(12)),
        "dst" => Some(Place::Header(16)),
        _ => args::integer::<i32>(offset).ok().and_then(|n| usize::try_from(n).ok()).map(Place::Offset),
    }
}

impl StoreIPAddress {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let address = self.address.unwrap_or_else(|| packet.dst_ip());
        let is_stored = match self.place {
            Place::Header(offset) => store_in_header(packet, offset as isize, address),
            Place::Offset(offset) if self.address.is_none() && address.is_unspecified() => {
                store_before_header(packet, offset, address)
            }
            Place::Offset(offset) => {
                store(packet, offset, address) || store_before_header(packet, offset, address)
            }
        };
        if is_stored {
            Verdict::PASS
        } else {
            Verdict::port_or_drop(1, NO_PLACE)
        }
    }
}

#[inline(always)]
fn store(packet: &mut Packet, offset: usize, address: Ipv4Addr) -> bool {
    if offset.saturating_add(4) > packet.len() {
        return false;
    }
    if let Some(place) = packet.data_mut().get_mut(offset..).and_then(|rest| rest.first_chunk_mut::<4>()) {
        *place = address.octets();
    }
    true
}

/// What Click makes of an offset that cannot be used: it counts backwards from the header, whose checksums are changed as if
/// the address stood there.
#[cold]
fn store_before_header(packet: &mut Packet, offset: usize, address: Ipv4Addr) -> bool {
    isize::try_from(offset).is_ok_and(|offset| store_in_header(packet, -offset, address))
}

#[inline(always)]
fn store_in_header(packet: &mut Packet, offset: isize, address: Ipv4Addr) -> bool {
    let header_len = packet.network_header_len();
    let is_partial = offload::is_partial(packet);
    let Some(network_at) = packet.network_offset().filter(|_| header_len >= 20) else { return false };
    if packet.network().len() < 20 {
        return false;
    }
    let place = network_at.checked_add(offset).and_then(|at| usize::try_from(at).ok());
    let new = address.to_bits();
    let mut old = new;
    if let Some(place) =
        place.and_then(|at| packet.data_mut().get_mut(at..)).and_then(|rest| rest.first_chunk_mut::<4>())
    {
        old = u32::from_be_bytes(*place);
        *place = address.octets();
    }
    let bytes = packet.network_mut();
    let Some(header) = bytes.first_chunk_mut::<20>() else { return false };
    let sum = checksum::update_u32(u16::from_be_bytes([header[10], header[11]]), old, new);
    [header[10], header[11]] = sum.to_be_bytes();
    let (protocol, is_first) = (header[9], header[6] & 0x1f == 0 && header[7] == 0);
    if is_first {
        let segment = bytes.get_mut(header_len..).unwrap_or_default();
        if let Some(field) = checksum_field(segment, protocol) {
            let before = u16::from_be_bytes(*field);
            // A partial checksum is a sum, not the complement of one.
            let mask = if is_partial { 0xffff } else { 0 };
            *field = (checksum::update_u32(before ^ mask, old, new) ^ mask).to_be_bytes();
        }
    }
    true
}

/// The field of the transport checksum, if the header is all there and has a checksum.
#[inline(always)]
fn checksum_field(segment: &mut [u8], protocol: u8) -> Option<&mut [u8; 2]> {
    match protocol {
        protocol::TCP => segment.first_chunk_mut::<20>()?.get_mut(16..)?.first_chunk_mut(),
        protocol::UDP => {
            let field = segment.first_chunk_mut::<8>()?.last_chunk_mut::<2>()?;
            (*field != [0, 0]).then_some(field)
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;
    use packet::Offload;
    use proptest::prelude::*;

    fn store(arguments: &str, expect: expect_test::Expect) {
        let tcp =
            "45000028 00000000 4006 74cb 01000001 02000002 0001 0002 00000000 00000000 5000 0000 0000 0000";
        let source = format!("InfiniteSource(DATA \\<{tcp}>, LIMIT 1, STOP true) -> SetTCPChecksum");
        let source = source.replace("-> Set", "-> MarkIPHeader -> Set");
        let store = format!("s :: StoreIPAddress({arguments}) -> SetIPAddress(0.0.0.0)");
        let check_tcp = "CheckTCPHeader -> Print(ok) -> Discard; s[1] -> Print(elsewhere) -> Discard";
        check(&format!("{source} -> SetIPAddress(9.9.9.9) -> {store} -> {check_tcp}"), expect);
    }

    #[test]
    fn checksums_follow_addresses_in_headers() {
        store(
            "src",
            expect![[r#"
            ok:   40 | 45000028 00000000 400663ba 09090909 02000002 00010002
        "#]],
        );
        store(
            "1.2.3.4, dst",
            expect![[r#"
            ok:   40 | 45000028 00000000 400672c7 01000001 01020304 00010002
        "#]],
        );
    }

    #[test]
    fn places_outside_the_packet_lead_elsewhere_without_a_header() {
        let source = "InfiniteSource(DATA 0123456789, LIMIT 1, STOP true) -> s";
        check(
            &format!("{source} :: StoreIPAddress(1.2.3.4, 7) -> Print(stored) -> Discard; s[1] -> Print(elsewhere) -> Discard"),
            expect![[r#"
            elsewhere:   10 | 30313233 34353637 3839
        "#]],
        );
    }

    #[test]
    fn places_outside_the_packet_count_backwards_from_the_header() {
        store(
            "1.2.3.4, 37",
            expect![[r#"
                ok:   40 | 45000028 00000000 400674cb 01000001 02000002 00010002
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_mistake("StoreIPAddress(-1)", expect!["type mismatch: OFFSET requires integer"]);
        check_mistake("StoreIPAddress(x, 4)", expect!["ADDR: parse error"]);
        check_mistake("StoreIPAddress()", expect!["OFFSET: required argument missing"]);
    }

    proptest! {
        #[test]
        fn a_partial_checksum_stays_one(mut bytes: [u8; 40], address: [u8; 4], payload: Vec<u8>, is_source: bool) {
            bytes[0] = 0x45;
            bytes[2..4].copy_from_slice(&(40 + payload.len() as u16).to_be_bytes());
            bytes[6..8].fill(0);
            bytes[9] = protocol::TCP;
            let pseudo = |bytes: &[u8]| wire::Ipv4::new(bytes).unwrap().pseudo_header_sum(20 + payload.len() as u16);
            let sum = pseudo(&bytes);
            bytes[36..38].copy_from_slice(&sum.to_be_bytes());
            let mut packet = Packet::from_bytes(&[&bytes[..], &payload].concat());
            packet.set_network_header(0, 20);
            packet.set_offload(Offload { needs_checksum: true, checksum_start: 20, checksum_offset: 16, ..Offload::default() });
            let offset = if is_source { 12 } else { 16 };
            prop_assert!(store_in_header(&mut packet, offset, address.into()));
            offload::settle(&mut packet);
            prop_assert!(checksum::is_transport_valid(pseudo(packet.data()), packet.transport()));
        }
    }
}
