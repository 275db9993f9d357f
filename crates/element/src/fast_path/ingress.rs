//! The fast path into a router: packets whose IPv4 header is wrong or has options are not plain.

use std::net::Ipv4Addr;

use packet::{Batch, Packet};
use wire::checksum;

/// Which packets come in, and what is done to them on the way.
#[derive(Clone, Debug)]
pub struct Ingress {
    /// Bytes that are taken off in front, first of all.
    n_stripped: usize,
    check: Option<Check>,
    /// Whether the destination annotation is set to what the header says, from the start of the data on.
    takes_destination: bool,
}

/// How an IPv4 header is checked.
#[derive(Clone, Debug)]
struct Check {
    offset: usize,
    has_checksum: bool,
    bad_sources: Vec<Ipv4Addr>,
}

impl Ingress {
    /// Packets of that many bytes at least, which lose them.
    pub fn stripped(n_bytes: usize) -> Ingress {
        Ingress { n_stripped: n_bytes, check: None, takes_destination: false }
    }

    /// Packets with an IPv4 header, `offset` bytes in, that is right, has no options, and is not from one of these addresses. It is
    /// marked, the packet is cut to its total length, and the destination annotation is set.
    pub fn checked(offset: usize, has_checksum: bool, bad_sources: &[Ipv4Addr]) -> Ingress {
        let check = Check { offset, has_checksum, bad_sources: bad_sources.to_vec() };
        Ingress { n_stripped: 0, check: Some(check), takes_destination: false }
    }

    /// Packets whose destination annotation is set to the bytes where that of an IPv4 header at the start of the data is: to be joined
    /// with what has checked that header.
    pub fn to_destination() -> Ingress {
        Ingress { n_stripped: 0, check: None, takes_destination: true }
    }

    /// As [`super::FastPath::then`].
    pub(super) fn then(&self, next: &Ingress) -> Option<Ingress> {
        match &self.check {
            // The annotation is set already.
            Some(check) => (check.offset == 0 && next.takes_destination).then(|| self.clone()),
            None if self.takes_destination || next.takes_destination => None,
            None => Some(Ingress {
                n_stripped: self.n_stripped.checked_add(next.n_stripped)?,
                check: next.check.clone(),
                takes_destination: false,
            }),
        }
    }

    /// Takes packets along the path up to the first that is not plain. How many it took.
    #[inline(never)]
    pub(super) fn take(&self, batch: &mut Batch) -> usize {
        let special = match &self.check {
            Some(check) => batch.iter_mut().position(|packet| !self.take_checked(packet, check)),
            None => batch.iter_mut().position(|packet| !self.take_unchecked(packet)),
        };
        special.unwrap_or(batch.len())
    }

    #[inline(always)]
    fn take_checked(&self, packet: &mut Packet, check: &Check) -> bool {
        let Some(bytes) = packet.data().get(self.n_stripped + check.offset..) else { return false };
        let Some(header) = bytes.first_chunk::<20>() else { return false };
        let [.., s0, s1, s2, s3, d0, d1, d2, d3] = *header;
        let n_bytes = bytes.len();
        let Some(len) = plain_len(header, n_bytes, check.has_checksum) else { return false };
        let is_bad = || check.bad_sources.contains(&Ipv4Addr::new(s0, s1, s2, s3));
        // What is left to a device may begin in what is stripped.
        if !check.bad_sources.is_empty() && is_bad() || packet.has_offload() {
            return false;
        }
        packet.strip(self.n_stripped);
        packet.set_network_header(check.offset, 20);
        packet.take(n_bytes - len);
        packet.set_dst_ip(Ipv4Addr::new(d0, d1, d2, d3));
        true
    }

    #[inline(always)]
    fn take_unchecked(&self, packet: &mut Packet) -> bool {
        let is_plain = packet.len() >= self.n_stripped && !packet.has_offload();
        if is_plain {
            packet.strip(self.n_stripped);
        }
        is_plain
    }
}

/// The total length that the header of a packet of `n_bytes` gives, if it has no options, is not longer than the packet, and its
/// checksum is right where that is looked at.
#[inline(always)]
fn plain_len(header: &[u8; 20], n_bytes: usize, has_checksum: bool) -> Option<usize> {
    let len = usize::from(u16::from_be_bytes([header[2], header[3]]));
    let is_right = header[0] == 0x45 && len <= n_bytes && len >= header.len();
    (is_right && (!has_checksum || checksum::is_valid_20(header))).then_some(len)
}
