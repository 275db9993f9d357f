//! Loads the words of a packet that a filter looks at into an array of fixed size.

use crate::ip::{NETWORK, TRANSPORT};

/// Places for words; indexes are masked with `N_WORDS - 1`.
pub const N_WORDS: usize = 16;

/// The words of a packet, big-endian. Bytes that the packet does not have are zero.
pub type Words = [u32; N_WORDS];

/// An IP packet as filters see it.
#[derive(Clone, Copy, Debug)]
pub struct Headers<'a> {
    /// From the MAC header on; may be empty if no rule looks at it.
    pub mac: &'a [u8],
    /// From the network header to the end of the packet.
    pub network: &'a [u8],
    /// Where the transport header starts, from the network header on.
    pub transport: usize,
}

impl Headers<'_> {
    /// Bytes from the transport header on.
    #[inline]
    pub fn transport_len(&self) -> usize {
        self.network.len().saturating_sub(self.transport)
    }

    /// The length of the packet in the space of offsets where headers are 256 apart.
    #[inline]
    pub fn virtual_len(&self) -> u32 {
        let (base, len) = match self.transport_len() {
            0 => (NETWORK, self.network.len()),
            len => (TRANSPORT, len),
        };
        u32::try_from(len).unwrap_or(u32::MAX).saturating_add(base.into())
    }

    /// The word at a fixed place.
    #[inline(always)]
    pub fn word_at(&self, place: Place) -> u32 {
        word(self.network, self.at(place))
    }

    /// How far behind the start of the network header a place is.
    #[inline(always)]
    pub fn at(&self, Place { at, from_transport }: Place) -> usize {
        usize::from(at).saturating_add(self.transport & from_transport)
    }

    /// The word at an offset in that space.
    pub fn word(&self, offset: u16) -> u32 {
        let at = usize::from(offset);
        match offset {
            TRANSPORT.. => word(self.network, self.transport.saturating_add(at - usize::from(TRANSPORT))),
            NETWORK.. => word(self.network, at - usize::from(NETWORK)),
            // MAC offsets start two bytes before the header, so that addresses fall on words.
            0 => word(self.mac, 0) >> 16,
            _ => word(self.mac, at - 2),
        }
    }
}

/// The four bytes at `at`, as far as they exist.
#[inline]
pub fn word(bytes: &[u8], at: usize) -> u32 {
    match bytes.get(at..).and_then(<[u8]>::first_chunk) {
        Some(&chunk) => u32::from_be_bytes(chunk),
        None => cut_off_word(bytes, at),
    }
}

#[cold]
fn cut_off_word(bytes: &[u8], at: usize) -> u32 {
    let tail = bytes.get(at..).unwrap_or_default();
    (0..4).fold(0, |word, n| word << 8 | u32::from(tail.get(n).copied().unwrap_or(0)))
}

/// Where a word is in the bytes from the network header on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Place {
    /// The offset from where it is counted.
    pub at: u16,
    /// All ones if it is counted from the transport header, else 0.
    pub from_transport: usize,
}

impl Place {
    /// Of words that are not there, but in the link-layer header.
    pub const ELSEWHERE: Place = Place { at: u16::MAX, from_transport: 0 };

    /// Where the word at an offset is in the space where headers are 256 apart.
    pub fn of(offset: u16) -> Place {
        match offset {
            TRANSPORT.. => Place { at: offset - TRANSPORT, from_transport: usize::MAX },
            NETWORK.. => Place { at: offset - NETWORK, from_transport: 0 },
            _ => Place::ELSEWHERE,
        }
    }
}

/// Which word goes where.
#[derive(Clone, Debug, Default)]
pub struct Layout {
    /// Offsets of the words that have no fixed place.
    extra: Vec<u16>,
    n_fixed: usize,
}

/// In the layout of IP packets: 20 bytes of network header, then 16 of transport header.
const N_NETWORK: usize = 5;
const N_TRANSPORT: usize = 4;

impl Layout {
    /// A layout with the words of IP headers in fixed places; `None` if there are too many others.
    pub fn ip(offsets: impl Iterator<Item = u16>) -> Option<Layout> {
        Layout { extra: Vec::new(), n_fixed: N_NETWORK + N_TRANSPORT }.with(offsets)
    }

    /// A layout without fixed places; `None` if there are too many words.
    pub fn plain(offsets: impl Iterator<Item = u16>) -> Option<Layout> {
        Layout::default().with(offsets)
    }

    /// Whether it is that of IP packets.
    pub fn is_ip(&self) -> bool {
        self.n_fixed > 0
    }

    /// Whether words before the network header are looked at.
    pub fn has_mac(&self) -> bool {
        self.extra.iter().any(|&offset| offset < NETWORK)
    }

    fn with(mut self, offsets: impl Iterator<Item = u16>) -> Option<Layout> {
        let mut extra: Vec<u16> = offsets.filter(|&offset| self.fixed(offset).is_none()).collect();
        extra.sort_unstable();
        extra.dedup();
        self.extra = extra;
        (self.n_fixed + self.extra.len() <= N_WORDS).then_some(self)
    }

    fn fixed(&self, offset: u16) -> Option<usize> {
        let place = match offset {
            TRANSPORT.. => usize::from(offset - TRANSPORT) / 4 + N_NETWORK,
            NETWORK.. if offset < NETWORK + 20 => usize::from(offset - NETWORK) / 4,
            _ => return None,
        };
        (place < self.n_fixed).then_some(place)
    }

    /// Where in a packet the word is that has this place in the layout, if that is one of the fixed places.
    pub fn fixed_place(&self, place: u8) -> Option<Place> {
        let offset = match usize::from(place).checked_sub(N_NETWORK) {
            Some(beyond) => TRANSPORT + 4 * beyond as u16,
            None => NETWORK + 4 * u16::from(place),
        };
        (usize::from(place) < self.n_fixed).then(|| Place::of(offset))
    }

    /// Whether the word at `offset` is one of a header's first ones, which have fixed places.
    pub fn is_fixed(&self, offset: u16) -> bool {
        self.fixed(offset).is_some()
    }

    /// The words with fixed places in the layout of IP packets, as they lie in the packet; `None` if it is too short for them.
    #[inline(always)]
    pub fn load_raw(headers: &Headers) -> Option<Words> {
        let network = headers.network.first_chunk::<{ 4 * N_NETWORK }>()?;
        let transport = headers.network.get(headers.transport..)?.first_chunk::<{ 4 * N_TRANSPORT }>()?;
        let mut words = [0; N_WORDS];
        let (network, transport) = (network.as_chunks::<4>().0, transport.as_chunks::<4>().0);
        for (word, bytes) in words.iter_mut().zip(network.iter().chain(transport)) {
            *word = u32::from_ne_bytes(*bytes);
        }
        Some(words)
    }

    /// The place of the word at `offset`, which must be one that the layout was made for.
    pub fn place(&self, offset: u16) -> u8 {
        let found = || self.extra.iter().position(|&extra| extra == offset).map_or(0, |at| self.n_fixed + at);
        self.fixed(offset).unwrap_or_else(found) as u8
    }

    #[inline]
    pub fn load_ip(&self, headers: &Headers) -> Words {
        let network = load::<N_NETWORK>(headers.network);
        let transport = load::<N_TRANSPORT>(headers.network.get(headers.transport..).unwrap_or_default());
        let mut words = [0; N_WORDS];
        words[..N_NETWORK].copy_from_slice(&network);
        words[N_NETWORK..N_NETWORK + N_TRANSPORT].copy_from_slice(&transport);
        for (place, &offset) in self.extra.iter().enumerate() {
            words[(self.n_fixed + place) % N_WORDS] = headers.word(offset);
        }
        words
    }

    /// Loads words of a plain layout; offsets are `align_offset` above those in `data`.
    #[inline]
    pub fn load_plain(&self, data: &[u8], align_offset: u32) -> Words {
        let mut words = [0; N_WORDS];
        for (slot, &offset) in words.iter_mut().zip(&self.extra) {
            *slot = aligned_word(data, offset, align_offset);
        }
        words
    }
}

/// The word at `offset`, where offsets are `align_offset` above those in `data`.
pub fn aligned_word(data: &[u8], offset: u16, align_offset: u32) -> u32 {
    match u32::from(offset).checked_sub(align_offset) {
        Some(at) => word(data, at as usize),
        None => word(data, 0).checked_shr(8 * (align_offset - u32::from(offset))).unwrap_or(0),
    }
}

/// The first words of `bytes`.
#[inline]
fn load<const N: usize>(bytes: &[u8]) -> [u32; N] {
    if bytes.len() < 4 * N {
        return std::array::from_fn(|n| word(bytes, 4 * n));
    }
    let mut chunks = bytes.chunks_exact(4);
    std::array::from_fn(|_| {
        let chunk = chunks.next().and_then(<[u8]>::first_chunk);
        u32::from_be_bytes(chunk.copied().unwrap_or_default())
    })
}
