//! Clones and copies: packets that share a buffer until one of them is written.

use std::sync::atomic::Ordering;

use crate::pool;
use crate::slot::{self, Class, Meta};
use crate::Packet;

/// Packets of at most this many bytes are copied rather than shared.
const SMALL_COPY: u32 = 256;

impl Packet {
    /// Whether another packet shares the buffer.
    #[inline]
    pub fn is_shared(&self) -> bool {
        // SAFETY: the owner's slot is not reused while this packet counts as its user (invariant 2).
        unsafe { (*self.meta().owner).refs.load(Ordering::Acquire) != 1 }
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
    pub(crate) fn unshare(&mut self) {
        let meta = self.meta();
        let own_cap = slot::own_capacity(meta.class, meta.cap);
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
            let base = slot.cast::<u8>().add(slot::META);
            let n = (end - low) as usize;
            std::ptr::copy_nonoverlapping(meta.base().add(low as usize), base.add(low as usize), n);
            meta.cap = own_cap;
            meta.owner = slot;
            (*slot).refs.store(1, Ordering::Relaxed);
            drop_user(old_owner, 1);
        }
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

    /// Where the bytes of a packet begin and how many they are, if it is to be copied rather than shared.
    #[inline(always)]
    fn small_copy(&self) -> Option<(usize, usize)> {
        let meta = self.meta();
        let low = meta.low.min(self.offset());
        let n = (meta.end - low).next_multiple_of(64);
        let is_small = n <= SMALL_COPY && low + n <= meta.cap && meta.cap == slot::SMALL_BUFFER as u32;
        is_small.then_some((low as usize, n as usize))
    }

    /// A deep copy of a packet in a slot, of bytes that [`Packet::small_copy`] gave.
    ///
    /// # Safety
    /// The slot has a buffer of `cap` bytes, SMALL_BUFFER at least, and belongs to the caller alone.
    #[inline(always)]
    unsafe fn copy_to(&self, slot: *mut Meta, cap: u32, (low, n): (usize, usize)) {
        let meta = self.meta();
        // SAFETY: the slot is the caller's. Both buffers have SMALL_BUFFER bytes at least, `low + n` is no more, and they do not overlap. What
        // lies behind the data is initialised memory that nobody writes while the buffer is shared.
        unsafe {
            let new = &mut *slot;
            *new.refs.get_mut() = 1;
            new.kinds.set(meta.kinds.get());
            new.view = meta.view;
            (new.cap, new.owner) = (cap, slot);
            let (from, to) = (meta.base().add(low), new.base().add(low));
            for at in (0..n).step_by(64) {
                std::ptr::copy_nonoverlapping(from.add(at), to.add(at), 64);
            }
        }
    }

    /// A clone in a slot: see [`Packet::clone`].
    ///
    /// # Safety
    /// The slot has a small buffer, `refs` 0 and belongs to the caller alone.
    #[inline(always)]
    pub(crate) unsafe fn clone_to(&self, slot: *mut Meta) {
        // SAFETY: the caller's promise; the owner's slot is alive as long as `self` is, and `refs` is 0 in a slot that uses another's
        // buffer.
        unsafe {
            match self.small_copy() {
                Some(bytes) => self.copy_to(slot, slot::SMALL_BUFFER as u32, bytes),
                None => {
                    self.share_to(slot);
                    (*self.meta().owner).refs.fetch_add(1, Ordering::Relaxed);
                }
            }
        }
    }

    /// A clone in a slot that uses this packet's buffer, and is not yet counted there.
    ///
    /// # Safety
    /// The slot has `refs` 0 and belongs to the caller alone.
    #[inline(always)]
    unsafe fn share_to(&self, slot: *mut Meta) {
        let meta = self.meta();
        // SAFETY: the slot is the caller's.
        unsafe {
            (*slot).kinds.set(meta.kinds.get());
            (*slot).view = meta.view;
        }
    }

    /// A clone that is not yet counted in the owner's `refs`; `None` if only a heap slot is left.
    #[inline]
    pub(crate) fn share(&self) -> Option<Packet> {
        let slot = pool::take(0);
        // SAFETY: the new slot is ours alone.
        unsafe {
            let new = &mut *slot.as_ptr();
            if new.class == Class::Heap {
                *new.refs.get_mut() = 0;
                pool::put(slot.as_ptr());
                return None;
            }
            *new.refs.get_mut() = 0;
            self.share_to(slot.as_ptr());
        }
        Some(Packet(slot))
    }
}

impl Clone for Packet {
    /// A clone that shares the buffer until one of the two is written; a small packet is copied at once, which costs less
    /// than counting who shares it.
    #[inline]
    fn clone(&self) -> Packet {
        if let Some(bytes) = self.small_copy() {
            let slot = pool::take(slot::SMALL_BUFFER);
            // SAFETY: the slot is ours alone, and its buffer was to be as large.
            unsafe { self.copy_to(slot.as_ptr(), slot.as_ref().cap, bytes) };
            return Packet(slot);
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
        // SAFETY: this packet stops using the owner's buffer. If its own slot is another one, nobody uses that one's
        // buffer (a clone's `refs` is 0), and it goes back as well.
        unsafe {
            drop_user(owner, 1);
            if !std::ptr::eq(owner, slot) {
                pool::put(slot);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

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
}
