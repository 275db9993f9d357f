//! The packet: one pointer to a slot. Here are its bytes and the room around them.

use std::ptr::NonNull;

use crate::pool;
use crate::slot::{self, Meta, View};

/// Bytes of headroom in front of a new packet's data unless asked otherwise.
pub const DEFAULT_HEADROOM: usize = 128;

/// A packet: bytes, offsets of its headers, and annotations.
#[repr(transparent)]
pub struct Packet(pub(crate) NonNull<Meta>);

// SAFETY: a packet owns its slot (invariant 1); the buffer it may share is only read while shared, its count is atomic,
// and giving a slot back on another thread goes through an atomic stack.
unsafe impl Send for Packet {}
// SAFETY: `&Packet` only reads.
unsafe impl Sync for Packet {}

impl Packet {
    /// A packet of `len` zero bytes with the default headroom.
    pub fn zeroed(len: usize) -> Packet {
        let mut packet = Packet::uninit(DEFAULT_HEADROOM, len, 0);
        packet.data_mut().fill(0);
        packet
    }

    /// A packet that holds a copy of `bytes`, with the default headroom.
    #[inline]
    pub fn from_bytes(bytes: &[u8]) -> Packet {
        Packet::with_headroom(DEFAULT_HEADROOM, bytes)
    }

    /// A packet that holds a copy of `bytes`, with `headroom` bytes in front.
    #[inline]
    pub fn with_headroom(headroom: usize, bytes: &[u8]) -> Packet {
        let mut packet = Packet::uninit(headroom, bytes.len(), 0);
        packet.unique_data_mut().copy_from_slice(bytes);
        packet
    }

    /// A packet of `len` bytes whose contents are whatever the buffer held before.
    ///
    /// # Panics
    /// When the sizes add up to more than 1 GiB; callers bound what they read from outside.
    #[inline]
    pub fn uninit(headroom: usize, len: usize, tailroom: usize) -> Packet {
        Packet::in_slot(pool::take(checked_size(headroom, len, tailroom)), headroom, len)
    }

    /// A packet in a new slot, which has room for `headroom` and `len`.
    #[inline(always)]
    fn in_slot(slot: NonNull<Meta>, headroom: usize, len: usize) -> Packet {
        let mut packet = Packet(slot);
        let meta = packet.meta_mut();
        // `headroom + len <= size <= cap`.
        meta.offset = headroom as u32;
        meta.end = (headroom + len) as u32;
        meta.family = meta.owner;
        meta.low = headroom as u32;
        packet.clear_annotations();
        packet
    }

    #[inline]
    pub(crate) fn meta(&self) -> &Meta {
        // SAFETY: the packet owns its slot (invariant 1).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    pub(crate) fn meta_mut(&mut self) -> &mut View {
        // SAFETY: the packet owns its slot (invariant 1). Of a shared slot others use `refs`, which is not in the view.
        unsafe { &mut (*self.0.as_ptr()).view }
    }

    /// The packet's bytes.
    #[inline]
    pub fn data(&self) -> &[u8] {
        let meta = self.meta();
        // SAFETY: invariants 3 and 4; nobody writes a shared buffer.
        unsafe { std::slice::from_raw_parts(meta.start(), meta.len() as usize) }
    }

    /// The packet's bytes, to be written; a shared buffer is copied first.
    #[inline]
    pub fn data_mut(&mut self) -> &mut [u8] {
        self.make_unique();
        self.unique_data_mut()
    }

    /// As [`Packet::data_mut`]; the caller has made the buffer unique.
    #[inline]
    fn unique_data_mut(&mut self) -> &mut [u8] {
        let meta = self.meta_mut();
        // SAFETY: invariants 3 and 4; the buffer has one user, this packet.
        unsafe { std::slice::from_raw_parts_mut(meta.start(), meta.len() as usize) }
    }

    /// Length in bytes.
    #[inline]
    pub fn len(&self) -> usize {
        self.meta().len() as usize
    }

    /// Whether the packet has no bytes.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// Bytes of room in front of the data.
    #[inline]
    pub fn headroom(&self) -> usize {
        self.offset() as usize
    }

    /// Bytes of the room in front of the data that were data before: what was stripped.
    #[inline]
    pub fn n_stripped(&self) -> usize {
        self.offset().saturating_sub(self.meta().low) as usize
    }

    /// Bytes of room behind the data.
    #[inline]
    pub fn tailroom(&self) -> usize {
        let meta = self.meta();
        (meta.cap - meta.end) as usize
    }

    /// Bytes of the buffer: headroom, data and tailroom.
    pub fn buffer_len(&self) -> usize {
        self.meta().cap as usize
    }

    /// A number that tells this packet from all others alive; it changes when the packet moves to a larger buffer.
    pub fn id(&self) -> usize {
        self.0.as_ptr() as usize
    }

    /// The packet's place among those that it set out with, if it was told. Clones and copies have it as well.
    pub fn place(&self) -> u32 {
        self.meta().place
    }

    /// Sets the packet's place among those that it sets out with.
    pub fn set_place(&mut self, place: u32) {
        self.meta_mut().place = place;
    }

    /// A number that is the same for all clones of one packet, also once they are written.
    pub fn family(&self) -> usize {
        self.meta().family as usize
    }

    /// Offset of the data from the start of the buffer.
    #[inline]
    pub(crate) fn offset(&self) -> u32 {
        self.meta().offset
    }

    /// Moves the packet into a new slot with this much room around its data, or more behind it.
    ///
    /// # Panics
    /// As [`Packet::uninit`].
    pub fn move_to(&mut self, headroom: usize, tailroom: usize) {
        self.move_into(Packet::uninit(headroom, self.len(), tailroom));
    }

    /// Moves the packet into memory of its own that is hardly larger than it needs: in front of the data what was
    /// stripped, behind it `tailroom` bytes. It is for packets that are kept by the thousand, as it allocates.
    ///
    /// # Panics
    /// As [`Packet::uninit`].
    pub fn compact(&mut self, tailroom: usize) {
        let (headroom, len) = (self.n_stripped(), self.len());
        let slot = pool::take_heap(checked_size(headroom, len, tailroom));
        self.move_into(Packet::in_slot(slot, headroom, len));
    }

    /// Bytes of memory that the packet takes, in use or not; of those that it shares it counts none.
    pub fn footprint(&self) -> usize {
        let slot = self.meta();
        slot::META + slot::own_capacity(slot.class, slot.cap) as usize
    }

    /// Moves the packet into a new one as long as it is.
    fn move_into(&mut self, mut new: Packet) {
        let old = self.meta();
        let headroom = new.headroom();
        let keep = self.headroom().min(headroom).min((self.offset().saturating_sub(old.low)) as usize);
        // SAFETY: `keep` bytes in front of both packets' data lie within their buffers, which do not overlap.
        unsafe {
            let n = keep + self.len();
            std::ptr::copy_nonoverlapping(old.start().sub(keep), new.meta().start().sub(keep), n);
        }
        let shift = headroom as i64 - self.offset() as i64;
        new.inherit(old);
        let view = new.meta_mut();
        view.low = (headroom - keep) as u32;
        view.shift_headers(shift);
        *self = new;
    }

    /// Prepends `n` bytes, whose contents are what the buffer held, and returns all the data to be written.
    #[inline]
    pub fn prepend(&mut self, n: usize) -> &mut [u8] {
        if self.is_shared() || self.headroom() < n {
            self.make_headroom(n);
        }
        self.extend_front(n);
        self.unique_data_mut()
    }

    /// Prepends these bytes.
    #[inline]
    pub fn prepend_array<const N: usize>(&mut self, bytes: &[u8; N]) {
        if self.is_shared() || self.headroom() < N {
            self.make_headroom(N);
        }
        self.extend_front(N);
        // SAFETY: invariants 3 and 4; the data has begun `N` bytes further on, and the buffer has one user, this packet.
        unsafe { self.meta_mut().start().cast::<[u8; N]>().write_unaligned(*bytes) };
    }

    #[cold]
    #[inline(never)]
    fn make_headroom(&mut self, n: usize) {
        if self.headroom() < n {
            let tailroom = self.tailroom();
            self.move_to(n + DEFAULT_HEADROOM, tailroom.min(DEFAULT_HEADROOM));
        } else {
            self.unshare();
        }
    }

    #[inline]
    fn extend_front(&mut self, n: usize) {
        let meta = self.meta_mut();
        // The callers have made sure of `headroom >= n`.
        meta.offset -= n as u32;
        meta.low = meta.low.min(meta.offset);
    }

    /// Puts back `n` bytes that were stripped from the front, as they were; a shared buffer stays shared.
    #[inline]
    pub fn unstrip(&mut self, n: usize) {
        if self.headroom() < n {
            self.make_headroom(n);
        }
        self.extend_front(n);
    }

    /// Removes `n` bytes from the front; all of them if there are fewer.
    #[inline]
    pub fn strip(&mut self, n: usize) {
        let meta = self.meta_mut();
        meta.offset += (n as u64).min(u64::from(meta.len())) as u32;
    }

    /// Appends `n` bytes, whose contents are what the buffer held, and returns all the data to be written.
    #[inline]
    pub fn append(&mut self, n: usize) -> &mut [u8] {
        // A buffer of one's own may be smaller than the shared one was.
        self.make_unique();
        if self.tailroom() < n {
            let headroom = self.headroom();
            self.move_to(headroom, n + DEFAULT_HEADROOM);
        }
        self.meta_mut().end += n as u32;
        self.unique_data_mut()
    }

    /// Removes `n` bytes from the end; all of them if there are fewer.
    #[inline]
    pub fn take(&mut self, n: usize) {
        let meta = self.meta_mut();
        meta.end -= (n as u64).min(u64::from(meta.len())) as u32;
    }

    /// Shortens the packet to at most `len` bytes.
    #[inline]
    pub fn truncate(&mut self, len: usize) {
        let meta = self.meta_mut();
        meta.end = meta.offset + u64::from(meta.len()).min(len as u64) as u32;
    }

    /// Asks the processor to bring the timestamp near, and with it the annotations from byte 24 on.
    #[inline(always)]
    pub fn prefetch_timestamp(&self) {
        prefetch((&raw const self.meta().view.timestamp_ns).cast());
    }

    /// Asks the processor to bring the first bytes of data near.
    #[inline(always)]
    pub fn prefetch_data(&self) {
        prefetch(self.meta().view.start());
    }

    /// Address of the first byte modulo `n`, for alignment checks.
    pub fn alignment(&self, n: usize) -> usize {
        (self.meta().start() as usize).checked_rem(n).unwrap_or(0)
    }
}

impl std::fmt::Debug for Packet {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "Packet({} bytes)", self.len())
    }
}

/// Bytes of a buffer with this room; panics above 1 GiB.
#[inline]
fn checked_size(headroom: usize, len: usize, tailroom: usize) -> usize {
    let size = headroom.saturating_add(len).saturating_add(tailroom);
    assert!(size <= 1 << 30, "a packet of {size} bytes");
    size
}

/// Asks the processor to bring what is at an address near.
#[inline(always)]
fn prefetch(address: *const u8) {
    #[cfg(target_arch = "x86_64")]
    // SAFETY: a prefetch has no effect but on the cache, whatever the address.
    unsafe {
        use std::arch::x86_64::{_mm_prefetch, _MM_HINT_T0};
        _mm_prefetch(address.cast(), _MM_HINT_T0);
    }
    #[cfg(not(target_arch = "x86_64"))]
    let _ = address;
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Offload;

    #[test]
    fn room_is_made_where_there_is_none() {
        let mut packet = Packet::with_headroom(2, b"xyz");
        packet.set_network_header(1, 1);
        packet.prepend(100)[..100].fill(b'-');
        packet.append(3000)[103..].fill(b'+');
        assert_eq!(packet.len(), 3103);
        assert_eq!(&packet.data()[100..103], b"xyz");
        assert_eq!(packet.network_offset(), Some(101));
    }

    #[test]
    fn offload_offsets_stay_on_their_bytes_when_data_moves() {
        let mut packet = Packet::with_headroom(2, &[0; 60]);
        packet.set_offload(Offload { needs_checksum: true, checksum_start: 34, ..Offload::default() });
        packet.move_to(301, 0);
        assert_eq!(packet.offload().checksum_start, 34);
        packet.strip(14);
        packet.prepend(400);
        assert_eq!(packet.offload().checksum_start, 420);
        packet.strip(400);
        assert_eq!(packet.offload().checksum_start, 20);
    }

    #[test]
    fn a_compact_packet_takes_little_more_than_its_bytes() {
        let mut packet = Packet::from_bytes(b"0123456789");
        packet.set_timestamp_ns(7);
        packet.set_network_header(4, 4);
        packet.strip(2);
        assert_eq!(packet.footprint(), slot::META + slot::SMALL_BUFFER);
        packet.compact(50);
        assert_eq!(packet.footprint(), slot::META + 128);
        assert_eq!(
            (packet.data(), packet.network(), packet.timestamp_ns()),
            (&b"23456789"[..], &b"456789"[..], 7)
        );
        assert!(packet.tailroom() >= 50);
        packet.append(50);
        assert_eq!(packet.footprint(), slot::META + 128);
        assert_eq!(&packet.prepend(2)[..4], b"0123");
        assert_eq!(&packet.prepend(100)[100..104], b"0123");
    }

    #[test]
    fn an_array_comes_in_front_whether_there_is_room_or_the_buffer_is_shared() {
        for headroom in [0, 13, 14, 100] {
            let mut packet = Packet::with_headroom(headroom, b"data");
            let twin = packet.clone();
            packet.prepend_array(b"fourteen bytes");
            packet.prepend_array(b"");
            assert_eq!(
                (packet.data(), twin.data()),
                (&b"fourteen bytesdata"[..], &b"data"[..]),
                "{headroom}"
            );
        }
        let mut packet = Packet::from_bytes(b"");
        packet.prepend_array(b"x");
        assert_eq!(packet.data(), b"x");
    }

    #[test]
    fn all_sizes_up_to_64_kib_and_beyond() {
        for len in [0, 1, 1500, 2048, 2049, 65_549, 70_000, 300_000] {
            let packet = Packet::from_bytes(&vec![0xA5; len]);
            let copies = [packet.clone(), packet.copy()];
            assert!(copies.iter().all(|copy| copy.data() == packet.data()), "{len}");
        }
    }

    #[test]
    fn random_operations_agree_with_vectors() {
        let mut seed = 1u64;
        let mut random = move |n: usize| {
            seed = seed.wrapping_mul(6364136223846793005).wrapping_add(1442695040888963407);
            (seed >> 33) as usize % n
        };
        let mut pairs = vec![(Packet::from_bytes(b"seed"), b"seed".to_vec())];
        for _ in 0..if cfg!(miri) { 300 } else { 20_000 } {
            let i = random(pairs.len());
            let n = random(60);
            let n_pairs = pairs.len();
            let (packet, model) = &mut pairs[i];
            match random(8) {
                0 => {
                    packet.strip(n);
                    model.drain(..n.min(model.len()));
                }
                1 => {
                    packet.take(n);
                    model.truncate(model.len().saturating_sub(n));
                }
                2 => {
                    packet.prepend(n)[..n].fill(n as u8);
                    model.splice(0..0, vec![n as u8; n]);
                }
                3 => {
                    let len = packet.len();
                    packet.append(n)[len..].fill(!n as u8);
                    model.extend(vec![!n as u8; n]);
                }
                4 if !model.is_empty() => {
                    let at = n % model.len();
                    packet.data_mut()[at] ^= 0x55;
                    model[at] ^= 0x55;
                }
                5 if n_pairs < 40 => {
                    let twin = (packet.clone(), model.clone());
                    pairs.push(twin);
                    continue;
                }
                6 if n_pairs > 1 => {
                    pairs.swap_remove(i);
                    continue;
                }
                _ if model.len() > 4000 => {
                    packet.truncate(10);
                    model.truncate(10);
                }
                _ => {}
            }
            assert_eq!(pairs[i].0.data(), pairs[i].1.as_slice());
        }
        assert!(pairs.iter().all(|(packet, model)| packet.data() == model.as_slice()));
    }
}
