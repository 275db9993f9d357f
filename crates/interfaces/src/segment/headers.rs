//! The headers in front of a packet's transport header: those of IP, several if it is in tunnels, and PPPoE's.

use element::Packet;
use wire::checksum;
use wire::word::{put_u16, u16_at};

const VLAN_TYPES: [[u8; 2]; 2] = [[0x81, 0x00], [0x88, 0xa8]];
const PPPOE_SESSION: [u8; 2] = [0x88, 0x64];
const ETHERNET: usize = 14;
const TAG: usize = 4;
/// PPPoE's header and PPP's protocol (RFC 2516, section 4).
const PPPOE: usize = 6;
const PPP: usize = 2;

/// IPv4 or IPv6 in IP.
const TUNNELS: [u8; 2] = [4, 41];
const GRE: u8 = 47;
/// A GRE header (RFC 2784, RFC 2890) may have a key: with a checksum or a sequence number a segment's is another.
const GRE_KEY: u8 = 0x20;
const MAX_TUNNELS: usize = 4;

/// Where each IP header begins and ends, from outside in.
pub struct Headers {
    ip: [(usize, usize); MAX_TUNNELS],
    n_ip: usize,
    pppoe_at: Option<usize>,
}

impl Headers {
    /// `None` if it is not IP headers that lead to the transport header, of this protocol, at `transport_at`.
    pub fn of(packet: &Packet, transport_at: usize, protocol: u8) -> Option<Headers> {
        let data = packet.data();
        let marked = packet.network_offset().and_then(|at| usize::try_from(at).ok());
        let ether = behind_ethernet(data);
        let candidates =
            [marked, ether.map(|(at, is_pppoe)| if is_pppoe { at + PPPOE + PPP } else { at }), Some(0)];
        let mut headers = candidates
            .into_iter()
            .flatten()
            .find_map(|at| Headers::walk(data, at, transport_at, protocol))?;
        let is_in_session =
            |(at, is_pppoe): &(usize, bool)| *is_pppoe && at + PPPOE + PPP == headers.outer().0;
        headers.pppoe_at = ether.filter(is_in_session).map(|(at, _)| at);
        Some(headers)
    }

    /// Follows the headers from the one at `at`.
    fn walk(data: &[u8], mut at: usize, transport_at: usize, protocol: u8) -> Option<Headers> {
        let mut headers = Headers { ip: [(0, 0); MAX_TUNNELS], n_ip: 0, pppoe_at: None };
        for n in 0..MAX_TUNNELS {
            let (end, next) = match data.get(at)? >> 4 {
                4 => (at + v4_len(data, at)?, *data.get(at + 9)?),
                6 => v6_end(data, at)?,
                _ => return None,
            };
            *headers.ip.get_mut(n)? = (at, end);
            headers.n_ip = n + 1;
            at = match next {
                _ if end == transport_at => return (next == protocol).then_some(headers),
                next if TUNNELS.contains(&next) => end,
                GRE => behind_gre(data, end)?,
                _ => return None,
            };
        }
        None
    }

    /// Where the outermost IP header begins and ends.
    pub fn outer(&self) -> (usize, usize) {
        self.all().first().copied().unwrap_or_default()
    }

    /// Whether there is more than one header.
    pub fn are_in_tunnel(&self) -> bool {
        self.n_ip > 1 || self.pppoe_at.is_some()
    }

    /// Sets lengths, identifications and checksums for segment number `i`, which is `data`.
    pub fn fix(&self, data: &mut [u8], i: u16) {
        if let Some(at) = self.pppoe_at {
            put_u16(data, at + 4, data.len().saturating_sub(at + PPPOE) as u16);
        }
        for (at, end) in self.all().iter().copied() {
            let len = data.len().saturating_sub(at);
            if data.get(at).is_some_and(|first| first >> 4 == 6) {
                put_u16(data, at + 4, len.saturating_sub(40) as u16);
                continue;
            }
            put_u16(data, at + 2, len as u16);
            let id = u16_at(data, at + 4).unwrap_or(0);
            put_u16(data, at + 4, id.wrapping_add(i));
            put_u16(data, at + 10, 0);
            let sum = checksum::checksum(data.get(at..end).unwrap_or_default());
            put_u16(data, at + 10, sum);
        }
    }

    fn all(&self) -> &[(usize, usize)] {
        self.ip.get(..self.n_ip).unwrap_or_default()
    }
}

fn v4_len(data: &[u8], at: usize) -> Option<usize> {
    let header_len = usize::from(data.get(at)? & 0x0f) * 4;
    (header_len >= 20).then_some(header_len)
}

/// Where an IPv6 header ends with its extension headers (RFC 8200, section 4), and what comes then.
fn v6_end(data: &[u8], at: usize) -> Option<(usize, u8)> {
    const HOP_BY_HOP: u8 = 0;
    const ROUTING: u8 = 43;
    const OPTIONS: u8 = 60;
    const MAX_EXTENSIONS: usize = 16;
    let (mut end, mut next) = (at + 40, *data.get(at + 6)?);
    for _ in 0..MAX_EXTENSIONS {
        if !matches!(next, HOP_BY_HOP | ROUTING | OPTIONS) {
            return Some((end, next));
        }
        let header = data.get(end..)?.first_chunk::<2>()?;
        next = header[0];
        end += (usize::from(header[1]) + 1) * 8;
    }
    None
}

/// Where the packet in a GRE tunnel begins.
fn behind_gre(data: &[u8], at: usize) -> Option<usize> {
    let flags = data.get(at..)?.first_chunk::<4>()?;
    match *flags {
        [0, 0, ..] => Some(at + 4),
        [GRE_KEY, 0, ..] => Some(at + 8),
        _ => None,
    }
}

/// Where the payload of an Ethernet frame starts, behind up to two tags, and whether it is PPPoE's.
fn behind_ethernet(data: &[u8]) -> Option<(usize, bool)> {
    let mut at = ETHERNET;
    for _ in 0..2 {
        let kind = data.get(at.checked_sub(2)?..at)?;
        if !VLAN_TYPES.iter().any(|tag| tag == kind) {
            break;
        }
        at += TAG;
    }
    Some((at, data.get(at - 2..at)? == PPPOE_SESSION))
}
