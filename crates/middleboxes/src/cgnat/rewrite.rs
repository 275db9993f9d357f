//! Writing translated addresses and ports, and correcting the checksums by what changed (RFC 1624).

use element::{offload, Packet};
use wire::word::{put_u16, u16_at};
use wire::{checksum, Icmp, Tcp, Udp};

use super::look::{self, Kind, Seen};
use super::{Endpoint, Protocol, Rewrite};

/// Rewrites a packet.
#[inline(always)]
pub fn apply(packet: &mut Packet, seen: &Seen, rewrite: &Rewrite) {
    let partial_at = offload::partial_checksum_at(packet);
    let destination = rewrite.destination.unwrap_or(seen.destination).address;
    packet.set_dst_ip(destination.into());
    let network = packet.network_mut();
    match seen.kind {
        Kind::Error => apply_to_error(network, seen, rewrite),
        _ => {
            apply_to_packet(network, seen, rewrite, partial_at);
        }
    }
}

/// What the sums of headers gain, as one's-complement numbers that need not be folded.
#[derive(Clone, Copy, Default)]
struct Gain {
    addresses: u64,
    ports: u64,
}

impl Gain {
    #[inline(always)]
    fn add(&mut self, old: Endpoint, new: Endpoint) {
        self.addresses += u64::from(!old.address) + u64::from(new.address);
        self.ports += u64::from(!old.port) + u64::from(new.port);
    }

    /// The checksum after a sum gained this.
    #[inline(always)]
    fn applied(gain: u64, old: u16) -> u16 {
        !checksum::fold(u64::from(!old) + gain)
    }
}

#[inline(always)]
fn apply_to_packet(network: &mut [u8], seen: &Seen, rewrite: &Rewrite, partial_at: Option<usize>) {
    let (source, destination) =
        (rewrite.source.unwrap_or(seen.source), rewrite.destination.unwrap_or(seen.destination));
    let mut gain = Gain::default();
    if rewrite.source.is_some() {
        gain.add(seen.source, source);
    }
    if rewrite.destination.is_some() {
        gain.add(seen.destination, destination);
    }
    write_addresses(network, source.address, destination.address, gain.addresses);
    let Some(transport) = network.get_mut(seen.transport_at..) else { return };
    match seen.kind {
        Kind::Ports(protocol, _) => {
            put_u16(transport, 0, source.port);
            put_u16(transport, 2, destination.port);
            let at = if protocol == Protocol::Tcp { Tcp::CHECKSUM_AT } else { Udp::CHECKSUM_AT };
            let Some(old) = u16_at(transport, at) else { return };
            let whole = gain.addresses + gain.ports;
            let new = match protocol {
                // A partial checksum is the sum of the pseudo-header, which has no ports, not complemented.
                _ if partial_at == Some(seen.transport_at + at) => !Gain::applied(gain.addresses, !old),
                Protocol::Tcp => Gain::applied(whole, old),
                // RFC 768: 0 is no checksum.
                _ if old == 0 => return,
                _ => checksum::nonzero(Gain::applied(whole, old)),
            };
            put_u16(transport, at, new);
        }
        Kind::Request => write_identifier(transport, source.port, gain.ports),
        Kind::Reply => write_identifier(transport, destination.port, gain.ports),
        _ => {}
    }
}

#[inline(always)]
fn write_addresses(network: &mut [u8], source: u32, destination: u32, gain: u64) {
    let Some(header) = network.first_chunk_mut::<20>() else { return };
    let old = u16::from_be_bytes([header[10], header[11]]);
    header[10..12].copy_from_slice(&Gain::applied(gain, old).to_be_bytes());
    header[12..16].copy_from_slice(&source.to_be_bytes());
    header[16..20].copy_from_slice(&destination.to_be_bytes());
}

fn write_identifier(icmp: &mut [u8], identifier: u16, gain: u64) {
    put_u16(icmp, 4, identifier);
    let old = u16_at(icmp, Icmp::CHECKSUM_AT).unwrap_or(0);
    put_u16(icmp, Icmp::CHECKSUM_AT, Gain::applied(gain, old));
}

/// Rewrites an ICMP error: what is the source of the error is the destination of the packet it is about, and the other way
/// round. The length of the error stays, and so does what is behind the headers (RFC 5508, section 4).
#[cold]
fn apply_to_error(network: &mut [u8], seen: &Seen, rewrite: &Rewrite) {
    let Some(about) = look::look_at_error(network, seen.transport_at) else { return };
    let about_at = seen.transport_at + look::ABOUT_AT;
    // What follows the headers does not change and is not summed.
    let end = network.len().min(about_at + about.transport_at + Tcp::LEN);
    let before = network.get(about_at..end).map_or(0, checksum::sum);
    if let Some(inner) = network.get_mut(about_at..) {
        let mirrored = Rewrite { source: rewrite.destination, destination: rewrite.source, ..*rewrite };
        apply_to_packet(inner, &about, &mirrored, None);
    }
    let after = network.get(about_at..end).map_or(0, checksum::sum);
    if let Some(icmp) = network.get_mut(seen.transport_at..) {
        let old = u16_at(icmp, Icmp::CHECKSUM_AT).unwrap_or(0);
        put_u16(icmp, Icmp::CHECKSUM_AT, checksum::update_u16(old, before, after));
    }
    let outer = Seen { kind: Kind::LaterFragment, ..*seen };
    apply_to_packet(network, &outer, rewrite, None);
}
