//! IPv4 headers (RFC 791).

use crate::checksum;
use std::net::Ipv4Addr;

/// Bits of [`Ipv4::fragment`].
pub mod ip_flag {
    /// Reserved, must be 0.
    pub const RESERVED: u16 = 0x8000;
    /// Don't fragment.
    pub const DF: u16 = 0x4000;
    /// More fragments follow.
    pub const MF: u16 = 0x2000;
    /// Offset of the fragment in units of 8 bytes.
    pub const OFFSET_MASK: u16 = 0x1fff;
}

/// Types of IPv4 options.
pub mod ip_option {
    /// End of the options.
    pub const END: u8 = 0;
    /// Padding of one byte.
    pub const NOP: u8 = 1;
    /// Record route.
    pub const RECORD_ROUTE: u8 = 7;
    /// Timestamp.
    pub const TIMESTAMP: u8 = 68;
    /// Security.
    pub const SECURITY: u8 = 130;
    /// Loose source route.
    pub const LOOSE_ROUTE: u8 = 131;
    /// Stream identifier.
    pub const STREAM_ID: u8 = 136;
    /// Strict source route.
    pub const STRICT_ROUTE: u8 = 137;
    /// Router alert.
    pub const ROUTER_ALERT: u8 = 148;
}

/// A packet that starts with a whole IPv4 header: version 4, header length at least 20 and within the bytes.
#[derive(Clone, Copy, Debug)]
pub struct Ipv4<B>(B);

impl Ipv4<()> {
    /// Length of a header without options in bytes.
    pub const LEN: usize = 20;
    /// Length of the longest header, with options.
    pub const MAX_LEN: usize = 60;
}

impl<B: AsRef<[u8]>> Ipv4<B> {
    /// Views a packet; `None` unless its version is 4 and its header, options included, is all there.
    ///
    /// The total length is not compared with the bytes at hand: they may be a part of the packet.
    #[inline]
    pub fn new(packet: B) -> Option<Self> {
        let len = packet.as_ref().len();
        if len < Ipv4::LEN {
            return None;
        }
        let ip = Ipv4(packet);
        let header_len = ip.header_len();
        (ip.version() == 4 && header_len >= Ipv4::LEN && header_len <= len).then_some(ip)
    }

    /// IP version: 4.
    #[inline]
    pub fn version(&self) -> u8 {
        self.version_and_len() >> 4
    }

    /// Length of the header with its options in bytes.
    #[inline]
    pub fn header_len(&self) -> usize {
        usize::from(self.version_and_len() & 0x0f) * 4
    }

    /// The header with its options.
    #[inline]
    pub fn header(&self) -> &[u8] {
        self.0.as_ref().get(..self.header_len()).unwrap_or_default()
    }

    /// The options with their padding.
    #[inline]
    pub fn options(&self) -> &[u8] {
        self.header().get(Ipv4::LEN..).unwrap_or_default()
    }

    /// What follows the header, cut at the total length (link-layer padding is left out).
    #[inline]
    pub fn payload(&self) -> &[u8] {
        let bytes = self.0.as_ref();
        let end = usize::from(self.total_len()).min(bytes.len());
        bytes.get(self.header_len()..end).unwrap_or_default()
    }

    /// Differentiated services code point, 6 bits.
    #[inline]
    pub fn dscp(&self) -> u8 {
        self.tos() >> 2
    }

    /// Explicit congestion notification, 2 bits.
    #[inline]
    pub fn ecn(&self) -> u8 {
        self.tos() & 3
    }

    /// Offset of this fragment in the whole packet in bytes.
    #[inline]
    pub fn fragment_offset(&self) -> usize {
        usize::from(self.fragment() & ip_flag::OFFSET_MASK) * 8
    }

    /// Whether this is a fragment, the first one included.
    #[inline]
    pub fn is_fragment(&self) -> bool {
        self.fragment() & (ip_flag::MF | ip_flag::OFFSET_MASK) != 0
    }

    /// Whether the transport header is here: a whole packet or its first fragment.
    #[inline]
    pub fn is_first_fragment(&self) -> bool {
        self.fragment() & ip_flag::OFFSET_MASK == 0
    }

    /// Whether the header checksum is right.
    #[inline]
    pub fn is_checksum_valid(&self) -> bool {
        match self.0.as_ref().first_chunk::<20>() {
            Some(header) if self.version_and_len() == 0x45 => checksum::sum_20(header) == 0xffff,
            _ => checksum::sum(self.header()) == 0xffff,
        }
    }

    /// Where the packet will end up: the last hop of a source route (RFC 791), else the destination.
    ///
    /// Transport checksums cover this address.
    #[inline]
    pub fn final_destination(&self) -> Ipv4Addr {
        if self.version_and_len() == 0x45 {
            self.destination()
        } else {
            source_route_end(self.options()).unwrap_or_else(|| self.destination())
        }
    }

    /// Sum of the pseudo-header for a transport segment of `len` bytes, see [`checksum::pseudo_ipv4`].
    #[inline]
    pub fn pseudo_header_sum(&self, len: u16) -> u16 {
        checksum::pseudo_ipv4(self.source(), self.final_destination(), self.protocol(), len)
    }
}

impl<B: AsRef<[u8]> + AsMut<[u8]>> Ipv4<B> {
    /// Begins a new header of 20 bytes: version and header length set, all else 0; `None` if there is no room.
    #[inline]
    pub fn init(mut packet: B) -> Option<Self> {
        packet.as_mut().get_mut(..Ipv4::LEN)?.fill(0);
        let mut ip = Ipv4(packet);
        ip.set_version_and_len(0x45);
        Some(ip)
    }

    /// What follows the header, cut at the total length.
    #[inline]
    pub fn payload_mut(&mut self) -> &mut [u8] {
        let (start, total_len) = (self.header_len(), usize::from(self.total_len()));
        let bytes = self.0.as_mut();
        let end = total_len.min(bytes.len());
        bytes.get_mut(start..end).unwrap_or_default()
    }

    /// Computes the header checksum anew.
    #[inline]
    pub fn update_checksum(&mut self) {
        self.set_checksum(0);
        let sum = match self.0.as_ref().first_chunk::<20>() {
            Some(header) if self.version_and_len() == 0x45 => checksum::sum_20(header),
            _ => checksum::sum(self.header()),
        };
        self.set_checksum(!sum);
    }
}

fields! { Ipv4 {
    version_and_len, set_version_and_len: u8, 0, "Version (high half) and header length in words (low half).";
    tos, set_tos: u8, 1, "Type of service: code point and congestion notification.";
    total_len, set_total_len: u16, 2, "Length of header and payload in bytes.";
    id, set_id: u16, 4, "Identification, equal in all fragments of a packet.";
    fragment, set_fragment: u16, 6, "Flags and fragment offset, see [`ip_flag`].";
    ttl, set_ttl: u8, 8, "Time to live in hops.";
    protocol, set_protocol: u8, 9, "Protocol of the payload, see [`crate::protocol`].";
    checksum, set_checksum: u16, 10, "Header checksum.";
    source, set_source: Ipv4Addr, 12, "Source address.";
    destination, set_destination: Ipv4Addr, 16, "Destination address.";
} }

/// Takes 1 from the time to live of a header and corrects the checksum. False if it runs out: then nothing is changed.
#[inline(always)]
pub fn decrement_ttl(header: &mut [u8; 20]) -> bool {
    let Some(place) = header[8..].first_chunk_mut() else { return false };
    // Time to live, protocol, checksum: the high byte of that in front of the low one.
    let word = u32::from_le_bytes(*place);
    if word & 0xff <= 1 {
        return false;
    }
    // RFC 1624, equation 3: the high byte of the checksum rises by 1; as the bytes lie here, a carry goes to the low one by itself. What
    // that one carries, and -0, take 1 more.
    let more = u32::from(word >= 0xfffe_0000) << 16;
    *place = word.wrapping_add((1 << 16) - 1 + more).to_le_bytes();
    true
}

/// The last address of the source route among `options`, if there is a well-formed one.
fn source_route_end(options: &[u8]) -> Option<Ipv4Addr> {
    let mut rest = options;
    loop {
        match *rest {
            [ip_option::NOP, ref after @ ..] => rest = after,
            [] | [ip_option::END, ..] => return None,
            [kind, len, ..] => {
                let (option, after) = rest.split_at_checked(usize::from(len).max(2))?;
                let is_route = matches!(kind, ip_option::LOOSE_ROUTE | ip_option::STRICT_ROUTE);
                if len < 2 {
                    return None;
                } else if is_route && len >= 7 {
                    return option.last_chunk::<4>().map(|last| Ipv4Addr::from(*last));
                }
                rest = after;
            }
            [_] => return None,
        }
    }
}
