//! The fast path out of a router: packets that are broadcasts, have options, are expired or too long are not plain.

use packet::{annotation, Batch, Packet};
use wire::Ethernet;

/// Which packets leave, and what is done to them on the way. Without conditions all do, as they are.
#[derive(Clone, Debug, PartialEq)]
pub struct Egress {
    /// Broadcasts and multicasts of the link layer are not plain.
    without_broadcasts: bool,
    paint: Option<Paint>,
    /// A packet that asks for another source address is not plain.
    keeps_source: bool,
    /// One without an IPv4 header is not.
    needs_header: bool,
    /// Most words of the header.
    max_words: u8,
    /// Whether the time to live is taken 1 from, unless it runs out.
    decrements: bool,
    /// Whether packets to groups are plain.
    groups: bool,
    /// Most bytes from the network header on. A packet that is still to be cut into segments may be longer, but is not plain then.
    max_len: usize,
    /// The link-layer header that is put in front at last.
    frame: Option<[u8; Ethernet::LEN]>,
}

/// A condition on the annotation that holds the paint.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Paint {
    anno: usize,
    color: u8,
    is_wanted: bool,
}

impl Default for Egress {
    fn default() -> Egress {
        Egress {
            without_broadcasts: false,
            paint: None,
            keeps_source: false,
            needs_header: false,
            max_words: u8::MAX,
            decrements: false,
            groups: true,
            max_len: usize::MAX,
            frame: None,
        }
    }
}

impl Egress {
    /// Packets that were not sent to all or to a group in the link layer.
    pub fn without_broadcasts() -> Egress {
        Egress { without_broadcasts: true, ..Egress::default() }
    }

    /// Packets that have this paint, or those that have another.
    pub fn of_paint(anno: usize, color: u8, is_wanted: bool) -> Egress {
        Egress { paint: Some(Paint { anno, color, is_wanted }), ..Egress::default() }
    }

    /// Packets that do not ask for another source address.
    pub fn with_own_source() -> Egress {
        Egress { keeps_source: true, ..Egress::default() }
    }

    /// Packets whose IPv4 header has no options.
    pub fn without_options() -> Egress {
        Egress { needs_header: true, max_words: 5, ..Egress::default() }
    }

    /// Packets whose time to live does not run out when it is taken 1 from; with or without those to groups.
    pub fn with_lifetime(groups: bool) -> Egress {
        Egress { needs_header: true, decrements: true, groups, ..Egress::default() }
    }

    /// Packets up to this length from the network header on.
    pub fn up_to(max_len: usize) -> Egress {
        Egress { max_len, ..Egress::default() }
    }

    /// All packets, which get this link-layer header.
    pub fn framed(header: [u8; Ethernet::LEN]) -> Egress {
        Egress { frame: Some(header), ..Egress::default() }
    }

    /// Whether nothing is done to any packet.
    pub(super) fn takes_all(&self) -> bool {
        *self == Egress::default()
    }

    /// As [`super::FastPath::then`].
    pub(super) fn then(&self, next: &Egress) -> Option<Egress> {
        let is_twice = self.paint.is_some() && next.paint.is_some() || self.decrements && next.decrements;
        // What comes behind a new header would see another packet.
        (!is_twice && self.frame.is_none()).then(|| Egress {
            without_broadcasts: self.without_broadcasts | next.without_broadcasts,
            paint: self.paint.or(next.paint),
            keeps_source: self.keeps_source | next.keeps_source,
            needs_header: self.needs_header | next.needs_header,
            max_words: self.max_words.min(next.max_words),
            decrements: self.decrements | next.decrements,
            groups: self.groups & next.groups,
            max_len: self.max_len.min(next.max_len),
            frame: next.frame,
        })
    }

    /// Takes packets along the path up to the first that is not plain. How many it took.
    #[inline(never)]
    pub(super) fn take(&self, batch: &mut Batch) -> usize {
        batch.iter_mut().position(|packet| !self.take_one(packet)).unwrap_or(batch.len())
    }

    #[inline(always)]
    pub(super) fn take_one(&self, packet: &mut Packet) -> bool {
        let is_special = self.without_broadcasts && packet.packet_type().is_group()
            || self.paint.is_some_and(|paint| !paint.fits(packet))
            || self.keeps_source && packet.anno_u8(annotation::FIX_IP_SRC) != 0;
        if is_special {
            return false;
        }
        if self.decrements {
            let bytes = packet.network_mut();
            let len = bytes.len();
            let is_taken = bytes.first_chunk_mut().is_some_and(|header| {
                len <= self.max_len && self.is_plain(header) && wire::decrement_ttl(header)
            });
            if !is_taken {
                return false;
            }
        } else {
            let bytes = packet.network();
            let is_plain = match bytes.first_chunk::<20>() {
                Some(header) => self.is_plain(header),
                None => !self.needs_header,
            };
            if !is_plain || bytes.len() > self.max_len {
                return false;
            }
        }
        if let Some(header) = &self.frame {
            put_frame(packet, header);
        }
        true
    }

    /// Whether an IPv4 header is one of a plain packet, but for the time to live.
    #[inline(always)]
    fn is_plain(&self, header: &[u8; 20]) -> bool {
        header[0] & 0x0f <= self.max_words && (self.groups || header[16] & 0xf0 != 0xe0)
    }
}

impl Paint {
    #[inline(always)]
    fn fits(&self, packet: &Packet) -> bool {
        (packet.anno_u8(self.anno) == self.color) == self.is_wanted
    }
}

/// Puts an Ethernet header in front of a packet.
#[inline(always)]
pub fn put_frame(packet: &mut Packet, header: &[u8; Ethernet::LEN]) {
    packet.prepend_array(header);
    packet.set_mac_header(0, Ethernet::LEN);
}
