//! A packet that is being put together from its fragments (RFC 791, section 3.2; RFC 815).

use std::fmt::Write;
use std::net::Ipv4Addr;

use element::Packet;
use wire::ip_flag;

use super::set_ip_checksum;

/// What a packet costs beside its payload, in bytes.
const OVERHEAD: u32 = 40;
/// Bytes that a packet may take beside twice its length when memory is tight.
const SLACK: usize = 512;
/// The annotation that shows the first piece of a packet that is given up.
const ANNO: usize = 28;

/// What the fragments of a packet have in common.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Key {
    /// Identification.
    pub id: u16,
    protocol: u8,
    source: Ipv4Addr,
    destination: Ipv4Addr,
}

/// A fragment: where it belongs.
#[derive(Clone, Copy, Debug)]
pub struct Fragment {
    /// Its packet.
    pub key: Key,
    begin: u16,
    end: u16,
    is_last: bool,
}

/// The fragments of a packet so far.
pub struct Queue {
    packet: Packet,
    /// The pieces of payload that are there, in order, with gaps between them.
    pieces: Vec<(u16, u16)>,
    has_end: bool,
}

impl Fragment {
    /// Reads a fragment's header and cuts what is behind its total length; `None` if its length or offset cannot be.
    pub fn of(packet: &mut Packet) -> Option<Fragment> {
        let header = packet.network().first_chunk::<20>()?;
        let word = |at: usize| u16::from_be_bytes([header[at], header[at + 1]]);
        let address = |at: usize| Ipv4Addr::new(header[at], header[at + 1], header[at + 2], header[at + 3]);
        let key = Key { id: word(4), protocol: header[9], source: address(12), destination: address(16) };
        let header_len = usize::from(header[0] & 0x0f) * 4;
        let len = usize::from(word(2)).checked_sub(header_len).filter(|len| *len > 0)?;
        let begin = (word(6) & ip_flag::OFFSET_MASK).wrapping_mul(8);
        let end = u16::try_from(usize::from(begin) + len).ok()?;
        let is_last = word(6) & ip_flag::MF == 0;
        let n_bytes = packet.transport().len();
        if end % 8 != 0 && !is_last || n_bytes < len {
            return None;
        }
        packet.take(n_bytes - len);
        Some(Fragment { key, begin, end, is_last })
    }
}

impl Queue {
    /// Begins a packet with one of its fragments. If memory `is_tight` it takes little more than it needs, which costs time.
    pub fn new(packet: Packet, fragment: &Fragment, mtu_anno: Option<usize>, is_tight: bool) -> Queue {
        let mut whole = packet;
        if fragment.begin != 0 {
            whole = unheaded(&whole, fragment);
        }
        // The flags stay, the offset goes.
        if let Some(header) = whole.network_mut().first_chunk_mut::<20>() {
            header[6] &= 0xe0;
            header[7] = 0;
        }
        if let Some(anno) = mtu_anno {
            whole.set_anno_u16(anno, whole.network().len() as u16);
        }
        let pieces = vec![(fragment.begin, fragment.end)];
        let mut queue = Queue { packet: whole, pieces, has_end: fragment.is_last };
        if is_tight {
            queue.tighten();
        }
        queue
    }

    /// Adds a fragment, as in [`Queue::new`]; false if it lies behind the end that another one gave.
    pub fn add(
        &mut self,
        packet: &Packet,
        fragment: &Fragment,
        mtu_anno: Option<usize>,
        is_tight: bool,
    ) -> bool {
        if let Some(anno) = mtu_anno {
            let longest = self.packet.anno_u16(anno).max(packet.network().len() as u16);
            self.packet.set_anno_u16(anno, longest);
        }
        let (begin, end) = (usize::from(fragment.begin), usize::from(fragment.end));
        let len = self.packet.transport().len();
        if end > len {
            if self.has_end {
                return false;
            }
            let n_more = end - len;
            if is_tight && self.packet.tailroom() < n_more {
                // Twice what is there, so that many small fragments are not copied again for each.
                self.packet.compact(n_more + len);
            }
            let bytes = self.packet.append(n_more);
            let n_bytes = bytes.len();
            bytes.get_mut(n_bytes - n_more..).unwrap_or_default().fill(0);
        }
        self.add_piece(fragment.begin, fragment.end);
        let place = self.packet.transport_mut().get_mut(begin..end).unwrap_or_default();
        for (to, from) in place.iter_mut().zip(packet.transport()) {
            *to = *from;
        }
        if fragment.begin == 0 {
            self.take_front(packet, mtu_anno);
        }
        self.has_end |= fragment.is_last;
        if is_tight {
            self.tighten();
        }
        true
    }

    /// Bytes of memory that it takes.
    pub fn memory(&self) -> usize {
        size_of::<Queue>() + self.packet.footprint() + self.pieces.capacity() * size_of::<(u16, u16)>()
    }

    /// Gives memory back if much more is taken than is needed.
    fn tighten(&mut self) {
        if self.packet.footprint() > 2 * self.packet.len() + SLACK {
            self.packet.compact(0);
        }
    }

    /// Whether nothing is missing.
    pub fn is_whole(&self) -> bool {
        self.has_end && self.pieces == [(0, self.packet.transport().len() as u16)]
    }

    /// The bytes it counts for, as Click counts.
    pub fn cost(&self) -> u32 {
        OVERHEAD + self.packet.transport().len() as u32
    }

    /// When its first fragment, or the one with the header, came, in seconds since the epoch.
    pub fn time_s(&self) -> i64 {
        self.packet.timestamp_ns().div_euclid(1_000_000_000)
    }

    /// The whole packet.
    pub fn into_whole(self, timestamp_ns: i64) -> Packet {
        let mut packet = self.packet;
        packet.set_anno(ANNO, [0; 4]);
        packet.set_timestamp_ns(timestamp_ns);
        let bytes = packet.network_mut();
        let len = bytes.len() as u16;
        if let Some(header) = bytes.first_chunk_mut::<20>() {
            header[2..4].copy_from_slice(&len.to_be_bytes());
            header[6] &= !0x20;
        }
        set_ip_checksum::set(bytes);
        packet
    }

    /// The packet as far as it is there.
    pub fn into_incomplete(self) -> Packet {
        let mut packet = self.packet;
        let (begin, end) = self.pieces.first().copied().unwrap_or_default();
        packet.set_anno_u16(ANNO, begin);
        packet.set_anno_u16(ANNO + 2, end);
        if self.has_end {
            if let Some(header) = packet.network_mut().first_chunk_mut::<20>() {
                header[6] &= !0x20;
            }
        }
        packet
    }

    /// Adds a line on its flow, identification and pieces.
    pub fn describe(&self, key: &Key, text: &mut String) {
        let Key { id, source, destination, .. } = key;
        let port = |at: usize| {
            let bytes = self.packet.transport().get(at..).and_then(|rest| rest.first_chunk::<2>());
            bytes.map_or(0, |bytes| u16::from_be_bytes(*bytes))
        };
        // Writing to a string cannot fail.
        let _ = write!(text, " ({source}, {}, {destination}, {}) {id}", port(0), port(2));
        for (begin, end) in &self.pieces {
            let _ = write!(text, " ({begin},{end})");
        }
        text.push('\n');
    }

    /// Joins a piece with those that it overlaps or touches.
    fn add_piece(&mut self, begin: u16, end: u16) {
        let from = self.pieces.partition_point(|piece| piece.1 < begin);
        let to = self.pieces.partition_point(|piece| piece.0 <= end);
        let joined = self.pieces.get(from..to).unwrap_or_default();
        let begin = joined.first().map_or(begin, |piece| piece.0.min(begin));
        let end = joined.last().map_or(end, |piece| piece.1.max(end));
        self.pieces.splice(from..to.max(from), [(begin, end)]);
    }

    /// Takes the headers and annotations of the fragment with offset 0.
    fn take_front(&mut self, first: &Packet, mtu_anno: Option<usize>) {
        let (Some(network), Some(transport)) =
            (offset(first.network_offset()), offset(first.transport_offset()))
        else {
            return;
        };
        // The payload stays where it is; what is in front of it becomes as long as the fragment's headers.
        let own = self.packet.transport_offset().unwrap_or(0).max(0).unsigned_abs();
        if transport > own {
            self.packet.prepend(transport - own);
        } else {
            self.packet.strip(own - transport);
        }
        let flags = self.packet.network().get(6).copied().unwrap_or(0) & 0xe0;
        let (to, from) = (self.packet.data_mut(), first.data());
        if let (Some(to), Some(from)) = (to.get_mut(..transport), from.get(..transport)) {
            to.copy_from_slice(from);
        }
        if let Some(header) = to.get_mut(network..).and_then(|rest| rest.first_chunk_mut::<20>()) {
            header[6] = flags;
            header[7] = 0;
        }
        match first.mac_offset().and_then(|offset| usize::try_from(offset).ok()) {
            Some(mac) => self.packet.set_mac_header(mac, network.saturating_sub(mac)),
            None => self.packet.clear_mac_header(),
        }
        self.packet.set_network_header(network, transport.saturating_sub(network));
        let longest = mtu_anno.map(|anno| self.packet.anno_u16(anno));
        self.packet.copy_annotations(first);
        if let (Some(anno), Some(longest)) = (mtu_anno, longest) {
            self.packet.set_anno_u16(anno, longest);
        }
    }
}

fn offset(offset: Option<isize>) -> Option<usize> {
    offset.and_then(|offset| usize::try_from(offset).ok())
}

/// A packet with the fixed IPv4 header and the payload of a fragment at its place, zeros in front of it; no annotations.
fn unheaded(packet: &Packet, fragment: &Fragment) -> Packet {
    let headroom = packet.headroom().saturating_add_signed(packet.network_offset().unwrap_or(0));
    let (begin, end) = (usize::from(fragment.begin), usize::from(fragment.end));
    let mut whole = Packet::uninit(headroom, 20 + end, 0);
    let bytes = whole.data_mut();
    bytes.fill(0);
    if let (Some(to), Some(from)) = (bytes.first_chunk_mut::<20>(), packet.network().first_chunk::<20>()) {
        *to = *from;
        // Options stay with the fragments that have them until the first one brings its own.
        to[0] = 0x45;
    }
    if let Some(place) = bytes.get_mut(20 + begin..20 + end) {
        for (to, from) in place.iter_mut().zip(packet.transport()) {
            *to = *from;
        }
    }
    whole.set_network_header(0, 20);
    whole
}
