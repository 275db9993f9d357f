//! The post: batches on their way between the threads of a crew.
//!
//! A ring leads from one thread to another, with one that puts in and one that takes out. What finds the ring full waits in a
//! spill of the sender's, who then runs no task until the spill is empty: nothing is lost, nobody waits with a lock in his
//! hands, and what waits is bounded by what a round of tasks can send.

use std::collections::VecDeque;
use std::sync::atomic::{fence, AtomicBool, AtomicU32, AtomicU64, Ordering};
use std::sync::Arc;

use element::{Batch, Delivery, ElementIdx, PortIdx};
use rtrb::{Consumer, Producer, PushError, RingBuffer};

use super::board::Board;

/// Batches that a ring holds.
const RING_LEN: usize = 64;

/// A batch on its way to an element of another thread.
pub(crate) struct Parcel {
    pub element: ElementIdx,
    pub port: PortIdx,
    pub how: Delivery,
    pub batch: Batch,
}

impl Parcel {
    /// Whether another parcel's packets can travel in this one.
    fn takes(&self, other: &Parcel) -> bool {
        let is_same = (self.element, self.port, self.how) == (other.element, other.port, other.how);
        is_same && self.batch.room() >= other.batch.len()
    }
}

/// Where parcels for another thread go.
struct Outlet {
    to: usize,
    ring: Producer<Parcel>,
    spill: VecDeque<Parcel>,
}

/// Where parcels from another thread come from.
struct Inlet {
    from: usize,
    ring: Consumer<Parcel>,
}

/// What a thread knows of a storage element that another thread feeds through it.
#[derive(Default)]
pub(crate) struct Door {
    /// Packets sent to the storage, as its thread has taken them out of the ring (upper half), and the room it had then.
    credit: AtomicU64,
    n_sent: AtomicU32,
    /// Whether the sender was told that there is no room and waits to be told of some.
    is_closed: AtomicBool,
}

/// A door, as the thread of the storage sees it.
struct Inside {
    element: ElementIdx,
    from: usize,
    door: Arc<Door>,
    n_taken: u32,
    room: Option<u32>,
}

/// A thread's part of the post.
#[derive(Default)]
pub(crate) struct Post {
    outlets: Vec<Outlet>,
    inlets: Vec<Inlet>,
    inside: Vec<Inside>,
    outside: Vec<(ElementIdx, Arc<Door>)>,
    /// Whether parcels are taken although some wait to be sent: where taking one never sends another.
    pub always_takes: bool,
}

impl Door {
    /// The sender has sent `n` packets. Whether there may be room for more.
    pub fn send(&self, n: usize) -> bool {
        self.n_sent.store(self.n_sent.load(Ordering::Relaxed).wrapping_add(n as u32), Ordering::Relaxed);
        if self.has_room() {
            return true;
        }
        self.is_closed.store(true, Ordering::Relaxed);
        false
    }

    fn has_room(&self) -> bool {
        let credit = self.credit.load(Ordering::Acquire);
        let on_way = self.n_sent.load(Ordering::Relaxed).wrapping_sub((credit >> 32) as u32);
        on_way < credit as u32
    }

    /// Whether a closed door can be opened again.
    fn can_open(&self) -> bool {
        self.is_closed.load(Ordering::Relaxed) && self.has_room()
    }

    /// Opens the door.
    pub fn open(&self) {
        self.is_closed.store(false, Ordering::Relaxed);
    }
}

/// A ring from one thread's post to another's.
pub(crate) fn connect(posts: &mut [Post], from: usize, to: usize) {
    let (producer, consumer) = RingBuffer::new(RING_LEN);
    if let Some(post) = posts.get_mut(from) {
        post.outlets.push(Outlet { to, ring: producer, spill: VecDeque::new() });
    }
    if let Some(post) = posts.get_mut(to) {
        post.inlets.push(Inlet { from, ring: consumer });
    }
}

/// A door for a storage element that thread `from` feeds and thread `to` holds; `is_closed`: the sender waits for room.
pub(crate) fn add_door(
    posts: &mut [Post],
    from: usize,
    to: usize,
    element: ElementIdx,
    room: usize,
    is_closed: bool,
) -> Arc<Door> {
    let room = u32::try_from(room).unwrap_or(u32::MAX);
    let (credit, is_closed) = (AtomicU64::new(u64::from(room)), AtomicBool::new(is_closed));
    let door = Arc::new(Door { credit, is_closed, ..Door::default() });
    if let Some(post) = posts.get_mut(from) {
        post.outside.push((element, door.clone()));
    }
    if let Some(post) = posts.get_mut(to) {
        post.inside.push(Inside { element, from, door: door.clone(), n_taken: 0, room: Some(room) });
    }
    door
}

impl Post {
    /// A post that takes parcels also while it spills.
    pub fn taking_always() -> Post {
        Post { always_takes: true, ..Post::default() }
    }

    /// Sends a parcel; false if nothing leads to that thread. The last parcel stays open until [`Post::flush`], so that small
    /// batches travel together.
    pub fn send(&mut self, board: &Board, to: usize, mut parcel: Parcel) -> bool {
        let Some(outlet) = self.outlets.iter_mut().find(|outlet| outlet.to == to) else { return false };
        match outlet.spill.back_mut() {
            Some(open) if open.takes(&parcel) => open.batch.append(&mut parcel.batch),
            _ => {
                outlet.flush(board);
                outlet.spill.push_back(parcel);
            }
        }
        true
    }

    /// Sends what waits to be sent; false if some still does.
    #[inline]
    pub fn flush(&mut self, board: &Board) -> bool {
        let mut is_done = true;
        for outlet in &mut self.outlets {
            if !outlet.spill.is_empty() {
                outlet.flush(board);
                is_done &= outlet.spill.is_empty();
            }
        }
        is_done
    }

    /// Whether parcels wait because a ring is full.
    pub fn spills(&self) -> bool {
        self.outlets.iter().any(|outlet| !outlet.spill.is_empty())
    }

    /// Whether there is something to do for a thread that is about to sleep.
    pub fn is_waiting(&self) -> bool {
        let spills = self.spills();
        let can_send = self.outlets.iter().any(|outlet| !outlet.spill.is_empty() && !outlet.ring.is_full());
        let can_take = !spills || self.always_takes;
        can_send
            || (can_take && self.inlets.iter().any(|inlet| !inlet.ring.is_empty()))
            || self.outside.iter().any(|(_, door)| door.can_open())
    }

    /// The next parcel from any thread, and that thread.
    #[inline]
    pub fn take(&mut self, board: &Board) -> Option<(usize, Parcel)> {
        for inlet in &mut self.inlets {
            if let Ok(parcel) = inlet.ring.pop() {
                board.desk(inlet.from).tell_of_room();
                if !self.inside.is_empty() {
                    let mut inside = self.inside.iter_mut();
                    let own = |i: &&mut Inside| i.element == parcel.element && i.from == inlet.from;
                    if let Some(inside) = inside.find(own) {
                        inside.n_taken = inside.n_taken.wrapping_add(parcel.batch.len() as u32);
                        inside.room = None;
                    }
                }
                return Some((inlet.from, parcel));
            }
        }
        None
    }

    /// Takes out all that others have put into the rings to this thread, and where it came from.
    pub fn take_in(&mut self) -> Vec<(usize, Parcel)> {
        let inlets = self.inlets.iter_mut();
        let all = inlets.flat_map(|inlet| {
            let from = inlet.from;
            std::iter::from_fn(move || Some((from, inlet.ring.pop().ok()?)))
        });
        all.collect()
    }

    /// Takes out all that waits to be put into rings.
    pub fn take_out(&mut self) -> impl Iterator<Item = Parcel> + '_ {
        self.outlets.iter_mut().flat_map(|outlet| outlet.spill.drain(..))
    }

    /// A door whose sender may push again.
    pub fn reopened(&self) -> Option<(ElementIdx, &Door)> {
        let found = self.outside.iter().find(|(_, door)| door.can_open());
        found.map(|(element, door)| (*element, door.as_ref()))
    }

    /// Tells those that feed this thread's storage how much room it has.
    pub fn publish(&mut self, board: &Board, room_of: impl Fn(ElementIdx) -> Option<usize>) {
        for inside in &mut self.inside {
            let room =
                room_of(inside.element).map_or(u32::MAX, |room| u32::try_from(room).unwrap_or(u32::MAX));
            if inside.room != Some(room) {
                inside.room = Some(room);
                inside
                    .door
                    .credit
                    .store(u64::from(inside.n_taken) << 32 | u64::from(room), Ordering::Release);
                fence(Ordering::SeqCst);
            }
            if inside.door.is_closed.load(Ordering::Relaxed) && room > 0 {
                board.desk(inside.from).nudge();
            }
        }
    }
}

impl Outlet {
    fn flush(&mut self, board: &Board) {
        let mut has_sent = false;
        while let Some(parcel) = self.spill.pop_front() {
            match self.ring.push(parcel) {
                Ok(()) => has_sent = true,
                Err(PushError::Full(parcel)) => {
                    self.spill.push_front(parcel);
                    break;
                }
            }
        }
        if has_sent {
            board.desk(self.to).nudge();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::wake::Waker;
    use element::Packet;

    fn board() -> Board {
        Board::new((0..2).map(|_| Arc::new(Waker::new().unwrap())).collect())
    }

    /// Two posts, the first of which leads to the second.
    fn posts() -> (Post, Post) {
        let mut posts = vec![Post::default(), Post::default()];
        connect(&mut posts, 0, 1);
        let to = posts.pop().unwrap();
        (posts.pop().unwrap(), to)
    }

    fn parcel(port: PortIdx, first: u8, n: u8) -> Parcel {
        let mut batch = Batch::new();
        (first..first + n).for_each(|byte| batch.push(Packet::from_bytes(&[byte])));
        Parcel { element: 5, port, how: Delivery::Push, batch }
    }

    fn bytes(parcel: Option<(usize, Parcel)>) -> (PortIdx, Vec<u8>) {
        let (from, parcel) = parcel.expect("there is a parcel");
        assert_eq!(from, 0);
        (parcel.port, parcel.batch.iter().map(|packet| packet.data()[0]).collect())
    }

    #[test]
    fn small_batches_travel_together_and_in_order() {
        let (board, (mut from, mut to)) = (board(), posts());
        assert!(from.send(&board, 1, parcel(0, 0, 2)));
        assert!(from.send(&board, 1, parcel(0, 2, 1)));
        assert!(from.send(&board, 1, parcel(1, 3, 1)));
        assert!(from.send(&board, 1, parcel(0, 4, 1)));
        assert!(from.flush(&board));
        assert_eq!(bytes(to.take(&board)), (0, vec![0, 1, 2]));
        assert_eq!(bytes(to.take(&board)), (1, vec![3]));
        assert_eq!(bytes(to.take(&board)), (0, vec![4]));
        assert!(to.take(&board).is_none());
        assert!(!from.send(&board, 0, parcel(0, 0, 1)), "nothing leads there");
    }

    #[test]
    fn what_finds_the_ring_full_waits_and_is_not_lost() {
        let (board, (mut from, mut to)) = (board(), posts());
        let n = RING_LEN as u8 + 10;
        for i in 0..n {
            from.send(&board, 1, parcel(usize::from(i % 2), i, 1));
        }
        assert!(!from.flush(&board) && from.spills() && !from.is_waiting());
        let mut seen = Vec::new();
        while seen.len() < usize::from(n) {
            seen.append(&mut bytes(to.take(&board)).1);
            assert!(!from.spills() || from.is_waiting());
            from.flush(&board);
        }
        assert_eq!(seen, (0..n).collect::<Vec<u8>>());
        assert!(!from.spills());
    }

    #[test]
    fn a_door_closes_when_what_is_on_its_way_fills_the_room() {
        let board = board();
        let mut posts = vec![Post::default(), Post::default()];
        connect(&mut posts, 0, 1);
        let door = add_door(&mut posts, 0, 1, 5, 3, false);
        let (mut to, mut from) = (posts.pop().unwrap(), posts.pop().unwrap());
        let send = |from: &mut Post, n: u8| {
            from.send(&board, 1, parcel(0, 0, n));
            from.flush(&board);
            door.send(usize::from(n))
        };
        assert!(send(&mut from, 2));
        assert!(!send(&mut from, 1));
        assert!(from.reopened().is_none());
        // The parcels arrive and fill the storage.
        while to.take(&board).is_some() {}
        to.publish(&board, |_| Some(0));
        assert!(from.reopened().is_none());
        // Two packets are pulled.
        to.publish(&board, |_| Some(2));
        assert!(from.is_waiting());
        let (element, door) = from.reopened().expect("there is room");
        assert_eq!(element, 5);
        door.open();
        assert!(send(&mut from, 1));
        assert!(!send(&mut from, 1));
    }
}
