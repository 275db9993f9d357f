//! Headers of Generic Routing Encapsulation (RFC 2784) with key and sequence number (RFC 2890), over IPv4.

use std::net::Ipv4Addr;

use element::{offload, Packet};
use wire::{checksum, protocol, Ipv4};

/// Bytes of the header without options.
const BASE_LEN: usize = 4;
/// Most bytes of the outer headers: IPv4 without options, and GRE with all of its own.
const MAX_LEN: usize = 20 + 16;

const CHECKSUM: u16 = 0x8000;
const KEY: u16 = 0x2000;
const SEQUENCE: u16 = 0x1000;
/// Routing, strict source route and recursion control, which RFC 2784 does without: a packet with one is not understood.
const OBSOLETE: u16 = 0x4c00;
const VERSION: u16 = 0x0007;

/// Why a packet cannot be taken out of its tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Fault {
    /// No IPv4 packet, another protocol, or a fragment.
    NotGre,
    /// The headers end early or contradict themselves, or are of another version.
    Malformed,
    /// The checksum is wrong.
    Checksum,
}

/// A tunnel's header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Header {
    /// Where the tunnel begins.
    pub source: Ipv4Addr,
    /// Where it ends.
    pub destination: Ipv4Addr,
    /// Bytes of the outer headers.
    pub len: usize,
    /// Where the packet in the tunnel ends.
    pub end: usize,
    /// What is in the tunnel, an Ethernet protocol number.
    pub protocol: u16,
    /// The key.
    pub key: Option<u32>,
    /// The sequence number.
    pub sequence: Option<u32>,
    /// Whether there is a checksum.
    pub has_checksum: bool,
}

impl Header {
    /// Reads the outer headers of an IPv4 packet. Where the tunnel's checksum, or one of what that covers, is left to be done, it
    /// is done first.
    #[inline]
    pub fn of(packet: &mut Packet) -> Result<Header, Fault> {
        if packet.has_offload() && has_checksum(packet.data()) {
            offload::settle(packet);
        }
        Header::parse(packet.data())
    }

    /// Reads the outer headers of an IPv4 packet.
    #[inline]
    fn parse(packet: &[u8]) -> Result<Header, Fault> {
        let ip = Ipv4::new(packet).filter(|ip| ip.protocol() == protocol::GRE && !ip.is_fragment());
        let ip = ip.ok_or(Fault::NotGre)?;
        let (begin, end) = (ip.header_len(), usize::from(ip.total_len()));
        let gre = packet.get(begin..end).ok_or(Fault::Malformed)?;
        let ([f0, f1, p0, p1], rest) = gre.split_first_chunk::<BASE_LEN>().ok_or(Fault::Malformed)?;
        let flags = u16::from_be_bytes([*f0, *f1]);
        if flags & (OBSOLETE | VERSION) != 0 {
            return Err(Fault::Malformed);
        }
        let mut rest = rest;
        let mut word = |flag: u16| -> Result<Option<u32>, Fault> {
            if flags & flag == 0 {
                return Ok(None);
            }
            let (word, after) = rest.split_first_chunk::<4>().ok_or(Fault::Malformed)?;
            rest = after;
            Ok(Some(u32::from_be_bytes(*word)))
        };
        let has_checksum = word(CHECKSUM)?.is_some();
        let (key, sequence) = (word(KEY)?, word(SEQUENCE)?);
        let len = end - rest.len();
        if has_checksum && !checksum::is_valid(gre) {
            return Err(Fault::Checksum);
        }
        let protocol = u16::from_be_bytes([*p0, *p1]);
        let (source, destination) = (ip.source(), ip.destination());
        Ok(Header { source, destination, len, end, protocol, key, sequence, has_checksum })
    }
}

/// Whether a packet is of a tunnel whose packets have checksums.
fn has_checksum(packet: &[u8]) -> bool {
    let ip = Ipv4::new(packet).filter(|ip| ip.protocol() == protocol::GRE);
    let flags = ip.and_then(|ip| packet.get(ip.header_len()..)?.first_chunk());
    flags.is_some_and(|flags| u16::from_be_bytes(*flags) & CHECKSUM != 0)
}

/// Takes a packet out of its tunnel; what is marked is the IP header inside, if there is one.
#[inline]
pub fn strip(packet: &mut Packet, header: &Header) {
    packet.truncate(header.end);
    packet.strip(header.len);
    packet.clear_network_header();
    packet.clear_transport_header();
    mark_inner(packet, header.protocol);
}

#[inline]
fn mark_inner(packet: &mut Packet, protocol: u16) {
    let ip = Ipv4::new(packet.data()).filter(|_| protocol == wire::ethertype::IPV4);
    if let Some((header_len, destination)) = ip.map(|ip| (ip.header_len(), ip.destination())) {
        packet.set_network_header(0, header_len);
        packet.set_dst_ip(destination);
    }
}

/// What a tunnel's packets begin with.
#[derive(Clone, Debug)]
pub struct Encapsulation {
    /// Outer source.
    pub source: Ipv4Addr,
    /// Outer destination.
    pub destination: Ipv4Addr,
    /// What is in the tunnel; `None` if the packet's own version tells.
    pub protocol: Option<u16>,
    /// The key.
    pub key: Option<u32>,
    /// The next sequence number, if packets are numbered.
    pub next_sequence: Option<u32>,
    /// Whether packets have a checksum.
    pub has_checksum: bool,
    /// Outer time to live.
    pub ttl: u8,
    /// Outer type of service; `None` for the inner one (RFC 2983).
    pub tos: Option<u8>,
    /// Whether the outer packet must not be fragmented.
    pub has_df: bool,
    /// The next outer identification.
    pub next_id: u16,
}

/// Why a packet cannot be put into a tunnel.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Unfit {
    /// Neither IPv4 nor IPv6, and no protocol is given.
    Unknown,
    /// Too long for an IPv4 packet.
    TooLong,
}

impl Encapsulation {
    /// Bytes that come in front of a packet.
    pub fn overhead(&self) -> usize {
        let words = [self.has_checksum, self.key.is_some(), self.next_sequence.is_some()];
        Ipv4::LEN + BASE_LEN + 4 * words.into_iter().filter(|is_there| *is_there).count()
    }

    /// Puts a packet into the tunnel.
    #[inline]
    pub fn put(&mut self, packet: &mut Packet) -> Result<(), Unfit> {
        let first = packet.data().first_chunk::<2>().copied();
        let version = first.map_or(0, |[version, _]| version >> 4);
        let protocol = match (self.protocol, version) {
            (Some(protocol), _) => protocol,
            (None, 4) => wire::ethertype::IPV4,
            (None, 6) => wire::ethertype::IPV6,
            _ => return Err(Unfit::Unknown),
        };
        if self.has_checksum || self.next_sequence.is_some() {
            // They are of the inner packet, which must not change any more, nor become several.
            offload::settle(packet);
        }
        let overhead = self.overhead();
        u16::try_from(offload::frame_len(packet) + overhead).map_err(|_| Unfit::TooLong)?;
        // What is still to be cut may be longer; its segments get lengths of their own.
        let total_len = (packet.len() + overhead) as u16;
        let inner_tos = match first {
            Some([_, tos]) if version == 4 => tos,
            Some([high, low]) if version == 6 => high << 4 | low >> 4,
            _ => 0,
        };
        let mut header = [0; MAX_LEN];
        self.write_gre(&mut header, protocol);
        let data = packet.prepend(overhead);
        if let (Some(place), Some(header)) = (data.get_mut(..overhead), header.get(..overhead)) {
            place.copy_from_slice(header);
        }
        if self.has_checksum {
            let sum = checksum::checksum(data.get(Ipv4::LEN..).unwrap_or_default());
            if let Some(place) = data.get_mut(24..26) {
                place.copy_from_slice(&sum.to_be_bytes());
            }
        }
        self.write_ip(data, total_len, inner_tos);
        packet.set_network_header(0, Ipv4::LEN);
        packet.set_dst_ip(self.destination);
        Ok(())
    }

    /// Writes the GRE header behind the place of the IP header, its checksum being 0.
    fn write_gre(&mut self, header: &mut [u8; MAX_LEN], protocol: u16) {
        let (mut flags, mut at) = (0, Ipv4::LEN + BASE_LEN);
        let mut put = |flag: u16, word: u32| {
            if let Some(place) = header.get_mut(at..at + 4) {
                place.copy_from_slice(&word.to_be_bytes());
            }
            flags |= flag;
            at += 4;
        };
        if self.has_checksum {
            put(CHECKSUM, 0);
        }
        if let Some(key) = self.key {
            put(KEY, key);
        }
        if let Some(sequence) = &mut self.next_sequence {
            put(SEQUENCE, *sequence);
            *sequence = sequence.wrapping_add(1);
        }
        let ([f0, f1], [p0, p1]) = (flags.to_be_bytes(), protocol.to_be_bytes());
        if let Some(base) = header.get_mut(Ipv4::LEN..Ipv4::LEN + BASE_LEN) {
            base.copy_from_slice(&[f0, f1, p0, p1]);
        }
    }

    fn write_ip(&mut self, data: &mut [u8], total_len: u16, inner_tos: u8) {
        let Some(mut ip) = Ipv4::init(data) else { return };
        ip.set_tos(self.tos.unwrap_or(inner_tos));
        ip.set_total_len(total_len);
        ip.set_id(self.next_id);
        ip.set_fragment(if self.has_df { wire::ip_flag::DF } else { 0 });
        ip.set_ttl(self.ttl);
        ip.set_protocol(protocol::GRE);
        ip.set_source(self.source);
        ip.set_destination(self.destination);
        ip.update_checksum();
        self.next_id = self.next_id.wrapping_add(1);
    }

    /// Goes on from the identifications of another one and, if both have the same ends and key, from its numbers.
    pub fn go_on_from(&mut self, old: &Encapsulation) {
        self.next_id = old.next_id;
        let tunnel = |of: &Encapsulation| (of.source, of.destination, of.key);
        if tunnel(self) == tunnel(old) {
            self.next_sequence = self.next_sequence.map(|own| old.next_sequence.unwrap_or(own));
        }
    }
}

/// Whether a sequence number follows the last one; RFC 2890, section 2.2: what is older is dropped, as is a repetition.
#[inline]
pub fn is_in_order(last: Option<u32>, sequence: u32) -> bool {
    last.is_none_or(|last| (1..1 << 31).contains(&sequence.wrapping_sub(last)))
}

#[cfg(test)]
mod tests {
    use super::*;
    use packet::Offload;
    use proptest::prelude::*;

    #[test]
    fn numbers_wrap_and_older_ones_are_out_of_order() {
        assert!(is_in_order(None, 7) && is_in_order(Some(u32::MAX), 0) && is_in_order(Some(5), 9));
        assert!(!is_in_order(Some(5), 5) && !is_in_order(Some(5), 4) && !is_in_order(Some(0), u32::MAX));
    }

    #[test]
    fn a_checksum_that_is_left_to_a_device_is_completed_before_it_is_checked() {
        let (source, destination) = (Ipv4Addr::new(1, 0, 0, 1), Ipv4Addr::new(2, 0, 0, 2));
        let mut tunnel = Encapsulation {
            source,
            destination,
            protocol: Some(0x6558),
            key: Some(7),
            next_sequence: None,
            has_checksum: true,
            ttl: 9,
            tos: None,
            has_df: true,
            next_id: 3,
        };
        let mut packet = Packet::from_bytes(b"what is in the tunnel");
        tunnel.put(&mut packet).unwrap();
        packet.data_mut()[Ipv4::LEN + BASE_LEN..][..2].fill(0);
        assert_eq!(Header::parse(packet.data()), Err(Fault::Checksum));
        // As Linux leaves it to a device: from the GRE header on, to be written behind that's first four bytes.
        let (checksum_start, checksum_offset) = (Ipv4::LEN as u16, BASE_LEN as u16);
        let offload = Offload { needs_checksum: true, checksum_start, checksum_offset, ..Offload::default() };
        packet.set_offload(offload);
        assert_eq!(Header::of(&mut packet).map(|header| header.key), Ok(Some(7)));
        assert_eq!(Header::parse(packet.data()).map(|header| header.key), Ok(Some(7)));
    }

    proptest! {
        #[test]
        fn what_is_put_into_a_tunnel_comes_out(
            key: Option<u32>, next_sequence: Option<u32>, has_checksum: bool, tos: Option<u8>, payload: Vec<u8>, protocol: u16,
        ) {
            let (source, destination) = (Ipv4Addr::new(1, 0, 0, 1), Ipv4Addr::new(2, 0, 0, 2));
            let mut tunnel = Encapsulation {
                source, destination, protocol: Some(protocol), key, next_sequence, has_checksum, ttl: 9, tos,
                has_df: true, next_id: 3,
            };
            let mut packet = Packet::from_bytes(&payload);
            prop_assert_eq!(tunnel.put(&mut packet), Ok(()));
            prop_assert!(Ipv4::new(packet.data()).unwrap().is_checksum_valid());
            let header = Header::parse(packet.data()).unwrap();
            let len = tunnel.overhead();
            let end = len + payload.len();
            prop_assert_eq!(
                header,
                Header { source, destination, len, end, protocol, key, sequence: next_sequence, has_checksum }
            );
            if has_checksum {
                let mut broken = packet.copy();
                broken.data_mut()[21] ^= 0x10;
                prop_assert_ne!(Header::parse(broken.data()), Ok(header));
            }
            packet.append(5);
            strip(&mut packet, &header);
            prop_assert_eq!(packet.data(), &payload[..]);
        }

        #[test]
        fn any_bytes_are_a_header_or_not(mut bytes in prop::collection::vec(any::<u8>(), 0..80), is_gre: bool) {
            if is_gre && bytes.len() > 24 {
                let len = bytes.len() as u8;
                bytes[..10].copy_from_slice(&[0x45, 0, 0, len, 0, 0, 0, 0, 9, 47]);
            }
            if let Ok(header) = Header::parse(&bytes) {
                prop_assert!(header.len <= header.end && header.end <= bytes.len());
            }
        }
    }
}
