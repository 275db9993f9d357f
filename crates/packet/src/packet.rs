//! The packet: one pointer to a slot.

use std::ptr::NonNull;
use std::sync::atomic::Ordering;

use crate::annotation;
use crate::offload::{Gso, Offload, F_DATA_VALID, F_NEEDS_CSUM, GSO_ECN};
use crate::pool::{self, Class, Kinds, Meta, View};
use crate::PacketType;

/// Bytes of headroom in front of a new packet's data unless asked otherwise.
pub const DEFAULT_HEADROOM: usize = 128;

/// Packets of at most this many bytes are copied rather than shared.
const SMALL_COPY: u32 = 256;

/// A header offset that is not set.
const UNSET: u32 = u32::MAX;

/// Offsets beyond the largest packet are as good as this one; a few of them add up to less than [`UNSET`].
const FAR: usize = 1 << 30;

/// A packet: bytes, offsets of its headers, and annotations.
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
    fn meta(&self) -> &Meta {
        // SAFETY: the packet owns its slot (invariant 1).
        unsafe { self.0.as_ref() }
    }

    #[inline]
    fn meta_mut(&mut self) -> &mut View {
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

    /// A number that is the same for all clones of one packet, also once they are written.
    pub fn family(&self) -> usize {
        self.meta().family as usize
    }

    /// Whether another packet shares the buffer.
    #[inline]
    pub fn is_shared(&self) -> bool {
        // SAFETY: the owner's slot is not reused while this packet counts as its user (invariant 2).
        unsafe { (*self.meta().owner).refs.load(Ordering::Acquire) != 1 }
    }

    /// Offset of the data from the start of the buffer.
    #[inline]
    fn offset(&self) -> u32 {
        self.meta().offset
    }

    /// Makes this packet the only user of its buffer.
    #[inline]
    pub fn make_unique(&mut self) {
        if self.is_shared() {
            self.unshare();
        }
    }

    #[cold]
    #[inline(never)]
    fn unshare(&mut self) {
        let meta = self.meta();
        let own_cap = pool::own_capacity(meta.class, meta.cap);
        let end = self.meta().end;
        if std::ptr::eq(self.meta().owner, self.0.as_ptr()) || own_cap < end {
            // The clones use this slot's buffer, or this slot's own buffer is too small: move to another slot.
            let headroom = self.headroom();
            let tailroom = self.tailroom();
            self.move_to(headroom, tailroom);
            return;
        }
        let low = self.meta().low.min(self.offset());
        // Not made from `meta`, which may only reach the metadata.
        let slot = self.0.as_ptr();
        let meta = self.meta_mut();
        let old_owner = meta.owner;
        // SAFETY: the slot's own buffer is unused while the slot is a clone's (its `refs` is 0) and holds `own_cap >= end`
        // bytes; the old buffer holds `end` bytes. Two slots' buffers do not overlap. Afterwards this packet no longer
        // uses the old owner's buffer, so its count falls by one.
        unsafe {
            let base = slot.cast::<u8>().add(pool::META);
            let n = (end - low) as usize;
            std::ptr::copy_nonoverlapping(meta.base().add(low as usize), base.add(low as usize), n);
            meta.cap = own_cap;
            meta.owner = slot;
            (*slot).refs.store(1, Ordering::Relaxed);
            drop_user(old_owner, 1);
        }
    }

    /// Moves the packet into a new slot with this much room around its data.
    fn move_to(&mut self, headroom: usize, tailroom: usize) {
        self.move_into(Packet::uninit(headroom, self.len(), tailroom));
    }

    /// Moves the packet into memory of its own of hardly more than it needs, in front of the data only what was stripped, behind it
    /// `tailroom` bytes: for packets that are kept by the thousand. This allocates.
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
        pool::META + pool::own_capacity(slot.class, slot.cap) as usize
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
        for offset in [&mut view.mac, &mut view.network, &mut view.transport] {
            if *offset != UNSET {
                *offset = u32::try_from(i64::from(*offset) + shift).unwrap_or(UNSET);
            }
        }
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

    /// Moves the data within the buffer, or to a new one, so that `headroom` bytes are in front of it.
    pub fn realign(&mut self, headroom: usize, tailroom: usize) {
        self.move_to(headroom, tailroom);
    }

    /// Address of the first byte modulo `n`, for alignment checks.
    pub fn alignment(&self, n: usize) -> usize {
        (self.meta().start() as usize).checked_rem(n).unwrap_or(0)
    }

    /// A deep copy: no buffer is shared.
    pub fn copy(&self) -> Packet {
        let mut copy = Packet::uninit(self.headroom(), self.len(), self.tailroom());
        let low = self.meta().low.min(self.offset());
        let n = (self.offset() - low) as usize + self.len();
        // SAFETY: the new packet has the same headroom and at least as large a buffer; the buffers do not overlap.
        unsafe {
            let from = self.meta().base().add(low as usize);
            std::ptr::copy_nonoverlapping(from, copy.meta().base().add(low as usize), n);
        }
        copy.meta_mut().low = low;
        copy.inherit(self.meta());
        copy
    }

    /// A deep copy of a packet of few bytes in a small slot; `None` for any other.
    #[inline]
    fn copy_small(&self) -> Option<Packet> {
        let meta = self.meta();
        let offset = self.offset();
        let low = meta.low.min(offset);
        let n = (meta.end - low).next_multiple_of(64);
        if n > SMALL_COPY || low + n > meta.cap || meta.cap != pool::SMALL_BUFFER as u32 {
            return None;
        }
        let mut slot = pool::take(pool::SMALL_BUFFER);
        // SAFETY: the slot is ours alone.
        let new = unsafe { slot.as_mut() };
        let cap = new.cap;
        new.kinds.set(meta.kinds.get());
        new.view = meta.view;
        (new.cap, new.owner) = (cap, slot.as_ptr());
        let base = new.base();
        // SAFETY: both buffers have at least SMALL_BUFFER bytes, `low + n` is no more, and they do not overlap. What lies
        // behind the data is initialised memory that nobody writes while the buffer is shared.
        unsafe {
            let (from, to) = (meta.base().add(low as usize), base.add(low as usize));
            for at in (0..n as usize).step_by(64) {
                std::ptr::copy_nonoverlapping(from.add(at), to.add(at), 64);
            }
        }
        Some(Packet(slot))
    }

    /// Adds `n` clones of this packet to `batch`, or as many as there is room for; cheaper than cloning one by one.
    pub fn clone_into(&self, n: usize, batch: &mut crate::Batch) {
        let owner = self.meta().owner;
        let mut n_shared = 0;
        for _ in 0..n.min(batch.room()) {
            match self.share() {
                Some(clone) => {
                    n_shared += 1;
                    batch.push(clone);
                }
                None => batch.push(self.copy()),
            }
        }
        // SAFETY: the owner's slot is alive as long as `self` is; the clones made above are counted before anyone can
        // drop one, since they have not left this function.
        unsafe { (*owner).refs.fetch_add(n_shared, Ordering::Relaxed) };
    }

    /// A clone that is not yet counted in the owner's `refs`; `None` if only a heap slot is left.
    #[inline]
    fn share(&self) -> Option<Packet> {
        let slot = pool::take(0);
        let meta = self.meta();
        // SAFETY: the new slot is ours alone.
        unsafe {
            let new = &mut *slot.as_ptr();
            if new.class == Class::Heap {
                *new.refs.get_mut() = 0;
                pool::put(slot.as_ptr());
                return None;
            }
            *new.refs.get_mut() = 0;
            new.kinds.set(meta.kinds.get());
            new.view = meta.view;
        }
        Some(Packet(slot))
    }

    // ---- headers

    /// Offset of the link-layer header from the start of the data; negative once it is stripped.
    #[inline]
    pub fn mac_offset(&self) -> Option<isize> {
        self.relative(self.meta().mac)
    }

    /// Offset of the network header from the start of the data; negative once it is stripped.
    #[inline]
    pub fn network_offset(&self) -> Option<isize> {
        self.relative(self.meta().network)
    }

    /// Offset of the transport header from the start of the data; negative once it is stripped.
    #[inline]
    pub fn transport_offset(&self) -> Option<isize> {
        self.relative(self.meta().transport)
    }

    #[inline]
    fn relative(&self, offset: u32) -> Option<isize> {
        (offset != UNSET).then(|| offset as isize - self.offset() as isize)
    }

    /// Bytes of the network header: from it to the transport header; 0 if either is not set.
    #[inline]
    pub fn network_header_len(&self) -> usize {
        let meta = self.meta();
        match (meta.network, meta.transport) {
            (UNSET, _) | (_, UNSET) => 0,
            (network, transport) => transport.saturating_sub(network) as usize,
        }
    }

    /// The bytes from the network header to the end of the packet, also when it was stripped; empty if it is not set.
    #[inline]
    pub fn network(&self) -> &[u8] {
        self.tail_from(self.meta().network)
    }

    /// The bytes from the transport header to the end of the packet, also when it was stripped; empty if it is not set.
    #[inline]
    pub fn transport(&self) -> &[u8] {
        self.tail_from(self.meta().transport)
    }

    /// The bytes from the link-layer header on, also when it was stripped; empty if it is not set.
    #[inline]
    pub fn mac(&self) -> &[u8] {
        self.tail_from(self.meta().mac)
    }

    /// As [`Packet::network`], to be written.
    #[inline]
    pub fn network_mut(&mut self) -> &mut [u8] {
        self.make_unique();
        let offset = self.meta().network;
        self.tail_from_mut(offset)
    }

    /// As [`Packet::transport`], to be written.
    #[inline]
    pub fn transport_mut(&mut self) -> &mut [u8] {
        self.make_unique();
        let offset = self.meta().transport;
        self.tail_from_mut(offset)
    }

    #[inline]
    fn tail_from(&self, offset: u32) -> &[u8] {
        let meta = self.meta();
        let end = meta.end;
        // An offset that is not set is larger than any end.
        if offset > end {
            return &[];
        }
        // SAFETY: `offset <= end <= cap`, and all bytes of a buffer are initialised.
        unsafe { std::slice::from_raw_parts(meta.base().add(offset as usize), (end - offset) as usize) }
    }

    /// The caller has made the buffer unique.
    #[inline]
    fn tail_from_mut(&mut self, offset: u32) -> &mut [u8] {
        let end = self.meta().end;
        if offset > end {
            return &mut [];
        }
        let base = self.meta_mut().base();
        // SAFETY: as in `tail_from`; the buffer has one user, this packet.
        unsafe { std::slice::from_raw_parts_mut(base.add(offset as usize), (end - offset) as usize) }
    }

    /// Sets the link-layer header to `offset` bytes after the start of the data, and the network header behind its
    /// `header_len` bytes.
    #[inline]
    pub fn set_mac_header(&mut self, offset: usize, header_len: usize) {
        let at = self.absolute(offset);
        let meta = self.meta_mut();
        meta.mac = at;
        meta.network = at + header_len.min(FAR) as u32;
    }

    /// Sets the link-layer header alone.
    #[inline]
    pub fn set_mac_offset(&mut self, offset: usize) {
        self.meta_mut().mac = self.absolute(offset);
    }

    /// Sets the network header to `offset` bytes after the start of the data, and the transport header behind its
    /// `header_len` bytes.
    #[inline]
    pub fn set_network_header(&mut self, offset: usize, header_len: usize) {
        let at = self.absolute(offset);
        let meta = self.meta_mut();
        meta.network = at;
        meta.transport = at + header_len.min(FAR) as u32;
    }

    /// Forgets the link-layer header.
    pub fn clear_mac_header(&mut self) {
        self.meta_mut().mac = UNSET;
    }

    /// Forgets the network header.
    pub fn clear_network_header(&mut self) {
        self.meta_mut().network = UNSET;
    }

    /// Forgets the transport header.
    pub fn clear_transport_header(&mut self) {
        self.meta_mut().transport = UNSET;
    }

    #[inline]
    fn absolute(&self, offset: usize) -> u32 {
        self.offset() + offset.min(FAR) as u32
    }

    // ---- annotations

    /// Sets all annotations, header offsets and offload metadata to nothing.
    pub fn clear_annotations(&mut self) {
        self.meta().kinds.set(Kinds::default());
        self.meta_mut().clear_annotations();
    }

    /// Takes over all metadata but where the bytes are.
    #[inline]
    fn inherit(&mut self, from: &Meta) {
        self.meta().kinds.set(from.kinds.get());
        self.meta_mut().copy_annotations(from);
    }

    /// Changes what the packet is.
    #[inline]
    fn set_kinds(&mut self, change: impl FnOnce(&mut Kinds)) {
        let mut kinds = self.meta().kinds.get();
        change(&mut kinds);
        self.meta().kinds.set(kinds);
    }

    /// Takes annotations, header offsets aside, from another packet.
    pub fn copy_annotations(&mut self, from: &Packet) {
        let from = from.meta();
        let meta = self.meta_mut();
        meta.anno = from.anno;
        meta.timestamp_ns = from.timestamp_ns;
        self.set_kinds(|kinds| kinds.packet_type = from.kinds.get().packet_type);
    }

    /// The annotation area.
    #[inline]
    pub fn annotations(&self) -> &[u8; annotation::SIZE] {
        &self.meta().anno
    }

    /// The annotation area, to be written.
    #[inline]
    pub fn annotations_mut(&mut self) -> &mut [u8; annotation::SIZE] {
        &mut self.meta_mut().anno
    }

    /// The byte of the annotation area at `offset`; 0 outside it.
    #[inline]
    pub fn anno_u8(&self, offset: usize) -> u8 {
        self.meta().anno.get(offset).copied().unwrap_or(0)
    }

    /// Sets the byte of the annotation area at `offset`.
    #[inline]
    pub fn set_anno_u8(&mut self, offset: usize, value: u8) {
        self.set_anno(offset, [value]);
    }

    /// Two bytes of the annotation area in host order; 0 outside it.
    #[inline]
    pub fn anno_u16(&self, offset: usize) -> u16 {
        u16::from_ne_bytes(self.anno(offset))
    }

    /// Sets two bytes of the annotation area in host order.
    #[inline]
    pub fn set_anno_u16(&mut self, offset: usize, value: u16) {
        self.set_anno(offset, value.to_ne_bytes());
    }

    /// Four bytes of the annotation area in host order; 0 outside it.
    #[inline]
    pub fn anno_u32(&self, offset: usize) -> u32 {
        u32::from_ne_bytes(self.anno(offset))
    }

    /// Sets four bytes of the annotation area in host order.
    #[inline]
    pub fn set_anno_u32(&mut self, offset: usize, value: u32) {
        self.set_anno(offset, value.to_ne_bytes());
    }

    /// `N` bytes of the annotation area; zeros outside it.
    #[inline]
    pub fn anno<const N: usize>(&self, offset: usize) -> [u8; N] {
        let bytes = self.meta().anno.get(offset..).and_then(|tail| tail.first_chunk::<N>());
        bytes.copied().unwrap_or([0; N])
    }

    /// Sets `N` bytes of the annotation area; nothing outside it.
    #[inline]
    pub fn set_anno<const N: usize>(&mut self, offset: usize, value: [u8; N]) {
        let anno = self.meta_mut().anno.get_mut(offset..);
        if let Some(bytes) = anno.and_then(|tail| tail.first_chunk_mut::<N>()) {
            *bytes = value;
        }
    }

    /// The destination IPv4 address annotation.
    #[inline]
    pub fn dst_ip(&self) -> std::net::Ipv4Addr {
        std::net::Ipv4Addr::from(self.anno::<4>(annotation::DST_IP))
    }

    /// Sets the destination IPv4 address annotation.
    #[inline]
    pub fn set_dst_ip(&mut self, address: std::net::Ipv4Addr) {
        self.set_anno(annotation::DST_IP, address.octets());
    }

    /// The paint annotation.
    #[inline]
    pub fn paint(&self) -> u8 {
        self.meta().anno[annotation::PAINT]
    }

    /// Sets the paint annotation.
    #[inline]
    pub fn set_paint(&mut self, colour: u8) {
        self.meta_mut().anno[annotation::PAINT] = colour;
    }

    /// Timestamp in nanoseconds since the epoch; 0 if not set.
    #[inline]
    pub fn timestamp_ns(&self) -> i64 {
        self.meta().timestamp_ns
    }

    /// Sets the timestamp in nanoseconds since the epoch.
    #[inline]
    pub fn set_timestamp_ns(&mut self, timestamp_ns: i64) {
        self.meta_mut().timestamp_ns = timestamp_ns;
    }

    /// Link-layer packet type.
    #[inline]
    pub fn packet_type(&self) -> PacketType {
        PacketType::from_number(self.meta().kinds.get().packet_type)
    }

    /// Sets the link-layer packet type.
    #[inline]
    pub fn set_packet_type(&mut self, packet_type: PacketType) {
        self.set_kinds(|kinds| kinds.packet_type = packet_type as u8);
    }

    // ---- offload

    /// Whether a checksum or segmentation is left to be done.
    #[inline]
    pub fn has_offload(&self) -> bool {
        let meta = self.meta();
        meta.kinds.get().offload_flags & F_NEEDS_CSUM != 0 || meta.kinds.get().gso_type != 0
    }

    /// The offload metadata. Its offsets count from the start of the buffer's frame as it was when they were set.
    pub fn offload(&self) -> Offload {
        let meta = self.meta();
        Offload {
            needs_checksum: meta.kinds.get().offload_flags & F_NEEDS_CSUM != 0,
            checksum_valid: meta.kinds.get().offload_flags & F_DATA_VALID != 0,
            gso: Gso::from_number(meta.kinds.get().gso_type & !GSO_ECN).unwrap_or(Gso::None),
            gso_ecn: meta.kinds.get().gso_type & GSO_ECN != 0,
            header_len: meta.gso_header_len,
            gso_size: meta.gso_size,
            checksum_start: self.relative_to_data(meta.checksum_start),
            checksum_offset: meta.checksum_offset,
        }
    }

    /// Sets the offload metadata; `checksum_start` counts from the start of the data and stays on the same byte when
    /// headers are stripped or prepended.
    pub fn set_offload(&mut self, offload: Offload) {
        let start = self.offset().saturating_add(u32::from(offload.checksum_start));
        self.set_kinds(|kinds| {
            kinds.offload_flags = (u8::from(offload.needs_checksum) * F_NEEDS_CSUM)
                | (u8::from(offload.checksum_valid) * F_DATA_VALID);
            kinds.gso_type = offload.gso as u8 | if offload.gso_ecn { GSO_ECN } else { 0 };
        });
        let meta = self.meta_mut();
        meta.gso_header_len = offload.header_len;
        meta.gso_size = offload.gso_size;
        meta.checksum_start = u16::try_from(start).unwrap_or(u16::MAX);
        meta.checksum_offset = offload.checksum_offset;
    }

    fn relative_to_data(&self, at: u16) -> u16 {
        u16::try_from(u32::from(at).saturating_sub(self.offset())).unwrap_or(u16::MAX)
    }
}

impl View {
    fn clear_annotations(&mut self) {
        self.mac = UNSET;
        self.network = UNSET;
        self.transport = UNSET;
        self.anno = [0; annotation::SIZE];
        self.timestamp_ns = 0;
    }

    #[inline]
    fn copy_annotations(&mut self, from: &View) {
        self.family = from.family;
        self.mac = from.mac;
        self.network = from.network;
        self.transport = from.transport;
        self.anno = from.anno;
        self.timestamp_ns = from.timestamp_ns;
        self.gso_header_len = from.gso_header_len;
        self.gso_size = from.gso_size;
        self.checksum_start = from.checksum_start;
        self.checksum_offset = from.checksum_offset;
    }
}

impl Clone for Packet {
    /// A clone that shares the buffer until one of the two is written; a small packet is copied at once, which costs less
    /// than counting who shares it.
    #[inline]
    fn clone(&self) -> Packet {
        if let Some(copy) = self.copy_small() {
            return copy;
        }
        match self.share() {
            Some(clone) => {
                // SAFETY: the owner's slot is alive as long as `self` is.
                unsafe { (*self.meta().owner).refs.fetch_add(1, Ordering::Relaxed) };
                clone
            }
            None => self.copy(),
        }
    }
}

/// Takes `n` users off a buffer's count and frees its slot with the last one.
///
/// # Safety
/// `n` packets counted in `owner.refs` stop using the buffer now.
#[inline]
pub(crate) unsafe fn drop_user(owner: *mut Meta, n: u32) {
    // SAFETY: the slot is alive because its count is at least `n`. When the count is `n`, nobody else uses the buffer or
    // could begin to, so no atomic subtraction is needed.
    unsafe {
        let refs = &(*owner).refs;
        if refs.load(Ordering::Acquire) == n || refs.fetch_sub(n, Ordering::AcqRel) == n {
            *(*owner).refs.get_mut() = 0;
            pool::put(owner);
        }
    }
}

impl Drop for Packet {
    #[inline]
    fn drop(&mut self) {
        let slot = self.0.as_ptr();
        let owner = self.meta().owner;
        // SAFETY: this packet stops using the owner's buffer, and its own slot if that is another one, whose buffer then
        // is unused (a clone's `refs` is 0).
        unsafe {
            drop_user(owner, 1);
            if !std::ptr::eq(owner, slot) {
                pool::put(slot);
            }
        }
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
    use crate::Batch;

    #[test]
    fn a_clone_shares_until_written() {
        let mut packet = Packet::from_bytes(&[b'a'; 1000]);
        packet.set_paint(7);
        let mut clone = packet.clone();
        assert!(packet.is_shared() && clone.is_shared());
        assert_eq!((clone.paint(), clone.family()), (7, packet.family()));
        clone.data_mut()[0] = b'X';
        assert!(!packet.is_shared() && !clone.is_shared());
        assert_eq!((&packet.data()[..2], &clone.data()[..2]), (&b"aa"[..], &b"Xa"[..]));
        assert_eq!(clone.family(), packet.family());
    }

    #[test]
    fn a_clone_of_a_small_packet_is_a_copy() {
        for len in [0, 1, 63, 64, 65, 127, 128, 129, 255, 256, 257, 300] {
            let bytes: Vec<u8> = (0..len).map(|i| i as u8).collect();
            let mut packet = Packet::from_bytes(&bytes);
            packet.set_network_header(0, 0);
            packet.strip(7);
            packet.set_paint(9);
            let mut clone = packet.clone();
            assert_eq!((clone.data(), clone.paint(), clone.family()), (packet.data(), 9, packet.family()));
            assert_eq!(clone.headroom(), packet.headroom());
            clone.unstrip(7.min(bytes.len()));
            let len = clone.len();
            clone.append(100)[len..].fill(1);
            assert_eq!((packet.network(), &clone.network()[..bytes.len()]), (&bytes[..], &bytes[..]));
        }
        let mut brim = Packet::uninit(crate::SMALL_BUFFER - 10, 10, 0);
        brim.data_mut().fill(5);
        assert_eq!(brim.clone().data(), [5; 10]);
    }

    #[test]
    fn the_original_may_be_written_or_dropped_while_clones_live() {
        let mut packet = Packet::from_bytes(b"abc");
        let first = packet.clone();
        let second = first.clone();
        packet.data_mut()[2] = b'!';
        assert_eq!((packet.data(), first.data(), second.data()), (&b"ab!"[..], &b"abc"[..], &b"abc"[..]));
        let third = packet.clone();
        drop(packet);
        drop(first);
        assert_eq!((second.data(), third.data()), (&b"abc"[..], &b"ab!"[..]));
    }

    #[test]
    fn a_copy_keeps_what_was_stripped() {
        let mut packet = Packet::from_bytes(b"header|payload");
        packet.set_mac_header(0, 7);
        packet.strip(7);
        let mut clone = packet.clone();
        clone.data_mut()[0] = b'P';
        clone.unstrip(7);
        assert_eq!(clone.data(), b"header|Payload");
        assert_eq!((clone.mac_offset(), clone.network_offset()), (Some(0), Some(7)));
    }

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
    fn a_compact_packet_takes_little_more_than_its_bytes() {
        let mut packet = Packet::from_bytes(b"0123456789");
        packet.set_timestamp_ns(7);
        packet.set_network_header(4, 4);
        packet.strip(2);
        assert_eq!(packet.footprint(), pool::META + pool::SMALL_BUFFER);
        packet.compact(50);
        assert_eq!(packet.footprint(), pool::META + 128);
        assert_eq!(
            (packet.data(), packet.network(), packet.timestamp_ns()),
            (&b"23456789"[..], &b"456789"[..], 7)
        );
        assert!(packet.tailroom() >= 50);
        packet.append(50);
        assert_eq!(packet.footprint(), pool::META + 128);
        assert_eq!(&packet.prepend(2)[..4], b"0123");
        assert_eq!(&packet.prepend(100)[100..104], b"0123");
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
    fn packets_come_home_from_other_threads() {
        let batch: Vec<Packet> = (0..100).map(|i: u32| Packet::from_bytes(&i.to_be_bytes())).collect();
        let clones: Vec<Packet> = batch.iter().map(Packet::clone).collect();
        let other = std::thread::spawn(move || drop(clones));
        drop(batch);
        other.join().expect("the thread does not panic");
        let before = crate::stats().small_touched;
        let again: Vec<Packet> = (0..200).map(|_| Packet::zeroed(9)).collect();
        assert_eq!(crate::stats().small_touched, before.max(200));
        drop(again);
    }

    #[test]
    fn clones_of_one_packet_are_dropped_together() {
        let packet = Packet::from_bytes(b"many");
        let mut batch = Batch::new();
        packet.clone_into(300, &mut batch);
        assert_eq!(batch.len(), crate::BATCH_MAX);
        batch.clear();
        assert!(!packet.is_shared());
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
