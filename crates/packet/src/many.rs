//! Many packets at once: made, cloned and dropped with less work for each than one by one.

use std::ptr::null_mut;
use std::sync::atomic::Ordering;

use crate::headers::UNSET;
use crate::pool;
use crate::sharing::drop_user;
use crate::slot::{Kinds, Meta, View, META};
use crate::{annotation, Batch, Packet, DEFAULT_HEADROOM, SMALL_BUFFER};

/// Most bytes of a packet that [`Batch::fill`] makes.
pub const FRAME_MAX: usize = SMALL_BUFFER - DEFAULT_HEADROOM;

impl Batch {
    /// Adds new frames, at most `n`, with the default headroom. `read` writes a frame to the start of the room that it
    /// is given, in which bytes of older packets may be left. It tells the frame's length and timestamp, or that there
    /// are no more.
    ///
    /// Where no slot was left, there may be more nevertheless.
    #[inline(always)]
    pub fn fill(&mut self, n: usize, mut read: impl FnMut(&mut [u8; FRAME_MAX]) -> Option<(usize, i64)>) {
        self.add_slots(n, |slot| {
            // SAFETY: the slot is ours alone, its buffer is SMALL_BUFFER bytes of initialised memory behind its metadata.
            unsafe {
                let room = slot.cast::<u8>().add(META + DEFAULT_HEADROOM).cast();
                let Some((len, timestamp_ns)) = read(&mut *room) else { return false };
                assert!(len <= FRAME_MAX, "a frame of {len} bytes where {FRAME_MAX} have room");
                *(*slot).refs.get_mut() = 1;
                (*slot).kinds.set(Kinds::default());
                (*slot).view = frame(slot, len, timestamp_ns);
            }
            true
        });
    }

    /// Clones of all packets, in order; cheaper than cloning them one by one.
    pub fn clones(&self) -> Batch {
        let mut clones = Batch::new();
        let mut left = self.iter();
        clones.add_slots(self.len(), |slot| {
            let Some(packet) = left.next() else { return false };
            // SAFETY: the slot is ours alone, with a small buffer and `refs` 0.
            unsafe { packet.clone_to(slot) };
            true
        });
        clones.extend(left.cloned());
        clones
    }

    /// Adds free slots with small buffers, at most `n`, of which `make` makes packets until it has no use for one; how many.
    #[inline(always)]
    fn add_slots(&mut self, n: usize, mut make: impl FnMut(*mut Meta) -> bool) -> usize {
        let (len, n) = (self.len(), n.min(self.room()));
        // SAFETY: there are `n` places behind the packets, and a packet is a pointer to a slot. Each place counts as soon as its slot
        // is a packet's; the others are given back. A panic leaks slots at worst.
        unsafe {
            let places = self.start().add(len).cast::<*mut Meta>();
            let n_slots = pool::take_many(places, n);
            let mut n_made = 0;
            while n_made < n_slots && make(*places.add(n_made)) {
                n_made += 1;
            }
            self.set_len(len + n_made);
            let left = std::slice::from_raw_parts_mut(places.add(n_made), n_slots - n_made);
            left.reverse();
            pool::put_many(left);
            n_made
        }
    }

    /// Drops all packets; clones of one buffer that follow each other are counted off together.
    #[inline]
    pub fn clear(&mut self) {
        let n = self.len();
        let slots = self.start().cast::<*mut Meta>();
        let mut run: (*mut Meta, u32) = (null_mut(), 0);
        let mut n_near = 0;
        // SAFETY: no place counts as one that holds a packet any more, so each slot is ours alone. This does what
        // `Packet::drop` does, with two differences: users of one buffer are counted off together, before that buffer's
        // count is looked at by anyone else; and slots of the own pool are gathered in the first places, which were
        // looked at already.
        unsafe {
            self.set_len(0);
            let mut i = 0;
            while i < n {
                let mut slot = *slots.add(i);
                i += 1;
                let owner = (*slot).view.owner;
                if std::ptr::eq(owner, slot) && (*slot).refs.load(Ordering::Acquire) == 1 {
                    *(*slot).refs.get_mut() = 0;
                } else {
                    if !std::ptr::eq(owner, run.0) {
                        drop_users(run);
                        run = (owner, 0);
                    }
                    run.1 += 1;
                    if std::ptr::eq(owner, slot) {
                        continue;
                    }
                    // Clones of one buffer mostly follow each other.
                    while i < n && pool::is_near(slot) {
                        let next = *slots.add(i);
                        if !std::ptr::eq((*next).view.owner, owner) || std::ptr::eq(next, owner) {
                            break;
                        }
                        slots.add(n_near).write(slot);
                        (n_near, run.1, i) = (n_near + 1, run.1 + 1, i + 1);
                        slot = next;
                    }
                }
                if pool::is_near(slot) {
                    slots.add(n_near).write(slot);
                    n_near += 1;
                } else {
                    pool::put(slot);
                }
            }
            drop_users(run);
            pool::put_many(std::slice::from_raw_parts(slots, n_near));
        }
    }
}

impl Packet {
    /// Adds `n` clones of this packet to `batch`, or as many as there is room for; cheaper than cloning one by one.
    pub fn clone_into(&self, n: usize, batch: &mut Batch) {
        let n = n.min(batch.room());
        let (view, kinds) = (self.meta().view, self.meta().kinds.get());
        let n_added = batch.add_slots(n, |slot| {
            // SAFETY: the slot is ours alone; its `refs` is 0, as it must be while it uses another's buffer.
            unsafe { ((*slot).view, *(*slot).kinds.as_ptr()) = (view, kinds) };
            true
        });
        let mut n_shared = n_added;
        for _ in n_added..n {
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
        unsafe { (*view.owner).refs.fetch_add(n_shared as u32, Ordering::Relaxed) };
    }
}

/// What tells of a frame of `len` bytes behind the default headroom of a small slot.
#[inline(always)]
fn frame(slot: *mut Meta, len: usize, timestamp_ns: i64) -> View {
    const START: u32 = DEFAULT_HEADROOM as u32;
    View {
        owner: slot,
        offset: START,
        end: START + len as u32,
        mac: START,
        network: UNSET,
        transport: UNSET,
        low: START,
        anno: [0; annotation::SIZE],
        timestamp_ns,
        gso_header_len: 0,
        gso_size: 0,
        checksum_start: 0,
        checksum_offset: 0,
        family: slot,
        cap: SMALL_BUFFER as u32,
        place: 0,
    }
}

/// Counts the users of a buffer off, if there are any.
///
/// # Safety
/// As for [`drop_user`].
#[inline]
unsafe fn drop_users((owner, n): (*mut Meta, u32)) {
    if n > 0 {
        // SAFETY: the caller's promise.
        unsafe { drop_user(owner, n) };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::BATCH_MAX;

    #[test]
    fn frames_are_made_until_there_are_no_more() {
        let mut batch = Batch::of(Packet::from_bytes(b"first"));
        let mut sizes = [60, 0, FRAME_MAX].into_iter();
        let mut n_before = 0;
        // One call ends early where the thread's pool has no slot at hand.
        while batch.len() > n_before {
            n_before = batch.len();
            batch.fill(10, |room| {
                let len = sizes.next()?;
                room[..len].fill(len as u8);
                Some((len, 7))
            });
        }
        let frames: Vec<_> = batch.iter().map(|packet| (packet.len(), packet.timestamp_ns())).collect();
        assert_eq!(frames, [(5, 0), (60, 7), (0, 7), (FRAME_MAX, 7)]);
        assert_eq!((batch[1].data(), batch[1].mac_offset()), (&[60; 60][..], Some(0)));
        batch.fill(BATCH_MAX, |_| Some((1, 0)));
        assert!(batch.len() <= BATCH_MAX);
    }

    #[test]
    fn clones_of_a_batch_are_as_those_of_its_packets() {
        let mut batch = Batch::new();
        for len in [0, 60, 250, 257, 1500, SMALL_BUFFER + 1] {
            batch.push(Packet::from_bytes(&vec![len as u8; len]));
            batch[0].set_paint(3);
        }
        // Many of them, so that slots run out at hand.
        let many: Vec<Batch> = (0..BATCH_MAX).map(|_| batch.clones()).collect();
        for clones in &many {
            assert!(clones.iter().map(Packet::data).eq(batch.iter().map(Packet::data)));
            assert_eq!(clones[0].paint(), 3);
        }
        assert!(many[0][4].is_shared());
        batch[4].data_mut()[0] = 1;
        drop(batch);
        assert_eq!(many[9][4].data(), [1500usize as u8; 1500]);
        assert_eq!(Batch::new().clones().len(), 0);
    }

    #[test]
    fn a_frame_remembers_nothing_of_who_had_its_slot() {
        let mut batch = Batch::new();
        for round in 0..3 {
            batch.fill(5, |_| Some((60, 0)));
            for packet in batch.iter_mut() {
                assert_eq!((packet.annotations(), packet.has_offload()), (&[0; annotation::SIZE], false));
                assert_eq!((packet.network_offset(), packet.headroom()), (None, DEFAULT_HEADROOM));
                assert!(!packet.is_shared() && packet.n_stripped() == 0);
                packet.annotations_mut().fill(9);
                packet.set_network_header(14, 20);
                packet.strip(round);
            }
            let clones: Vec<Packet> = batch.iter().map(Packet::clone).collect();
            batch.clear();
            drop(clones);
        }
    }

    #[test]
    fn all_slots_come_back() {
        let before = crate::stats();
        let mut batch = Batch::new();
        batch.fill(20, |_| Some((60, 0)));
        let large = Packet::zeroed(5000);
        large.clone_into(20, &mut batch);
        batch.push(Packet::zeroed(300_000));
        let cloned: Vec<Packet> = batch.iter().map(Packet::clone).collect();
        batch.extend(cloned);
        batch.push(large);
        std::thread::spawn(move || batch.clear()).join().expect("the thread does not panic");
        let after = crate::stats();
        assert_eq!(after.small_free - before.small_free, after.small_touched - before.small_touched);
        assert_eq!((after.large_free, after.heap), (after.large_touched, 0));
    }

    #[test]
    fn clones_of_one_packet_are_dropped_together() {
        let packet = Packet::from_bytes(b"many");
        let mut batch = Batch::new();
        packet.clone_into(300, &mut batch);
        assert_eq!(batch.len(), BATCH_MAX);
        batch.clear();
        assert!(!packet.is_shared());
    }
}
