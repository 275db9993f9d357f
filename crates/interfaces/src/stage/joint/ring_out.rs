//! The end of a ring that packets are written to.

use std::os::fd::AsFd;

use element::{annotation, Batch, Packet, BATCH_MAX};
use packet::Ring;
use ring::{Header, Producer, Refused};
use sys::buffer::LONGEST_PACKET;
use sys::poll::{Interest, Poller};
use sys::span::Sink;
use sys::tap::Received;
use sys::vnet::VnetHeader;

use super::{is_gone, Bells, Line};
use crate::segment::{is_for_kernel, segment};
use crate::stage::framing::wire_len;
use crate::stage::relay::{self, Relayed};
use crate::stage::{neighbour, unwatch_fd, watch_fd, Dispatch, Output};
use crate::vnet;

/// Packets after which they are shown to the reader, though more follow.
const PUBLISH: usize = 64;
/// Packets at once that a reader need not be woken for at once: whoever sends as many is busy, and has more to send.
const MANY: usize = 32;
/// Bytes that wait when a reader who sleeps is woken though the writer has more to do.
const WAKE_BYTES: usize = 32 << 10;

/// The end of a ring that packets are written to.
pub struct RingOut {
    producer: Producer,
    bells: Bells,
    line: Line,
    is_blocked: bool,
    is_finished: bool,
    /// The reader sleeps, and was not woken yet.
    owes_wake: bool,
    /// Segments of a packet that was too long for the ring.
    parts: Ring,
    n_bad: u64,
}

impl RingOut {
    pub(super) fn new(producer: Producer, bells: Bells, line: Line) -> RingOut {
        RingOut {
            producer,
            bells,
            line,
            is_blocked: false,
            is_finished: false,
            owes_wake: false,
            parts: Ring::new(),
            n_bad: 0,
        }
    }

    /// Tells the neighbour to read the ring after the pipe; false if it is gone.
    pub fn announce(&self) -> bool {
        neighbour::announce(&self.line)
    }

    /// Whether the neighbour has not been told yet, though it will be.
    pub fn is_unannounced(&self) -> bool {
        sys::unix::has_unreceived(self.line.as_fd())
    }

    /// Makes the own poller look.
    pub fn call_self(&self) {
        self.bells.room.wake();
    }

    /// Puts a packet in.
    #[inline(always)]
    fn push(&mut self, packet: &Packet) -> Result<(), Refused> {
        if packet.has_offload() || packet.anno_u32(annotation::EXTRA_LENGTH) != 0 {
            return self.push_with_header(packet);
        }
        self.producer.push_plain(packet.timestamp_ns(), packet.data())
    }

    #[cold]
    fn push_with_header(&mut self, packet: &Packet) -> Result<(), Refused> {
        if !is_for_kernel(packet) {
            // The reader may be a kernel. Its segments go instead.
            return Err(Refused::TooLong);
        }
        let header = Header {
            wire_len: wire_len(packet),
            timestamp_ns: packet.timestamp_ns(),
            vnet: if packet.has_offload() { vnet::header_of(packet) } else { VnetHeader::default() },
        };
        self.producer.push(&header, packet.data())
    }

    /// Puts packets in until one is refused, and shows them to the reader: which one was refused, and why.
    #[inline(always)]
    fn push_all(&mut self, batch: &Batch) -> Option<(usize, Refused)> {
        let mut refused = None;
        for (idx, packet) in batch.iter().enumerate() {
            if let Err(why) = self.push(packet) {
                refused = Some((idx, why));
                break;
            }
            if idx % PUBLISH == PUBLISH - 1 {
                self.publish();
            }
        }
        self.publish();
        if batch.len() < MANY {
            self.wake_reader();
        }
        refused
    }

    /// Has `read` put packets, at most `max`, into shared memory.
    pub fn relay_from(
        &mut self,
        mut read: impl FnMut(Sink<'_>) -> sys::Result<Option<Received>>,
        max: usize,
        now_ns: i64,
    ) -> Relayed {
        let mut relayed = Relayed::default();
        let mut n_unseen = 0;
        while relayed.traffic.packets < max as u64 {
            // Whether there is no room, or nobody reads, is found out where packets are sent.
            let Ok(mut room) = self.producer.reserve(LONGEST_PACKET) else { break };
            // So is what went wrong.
            let Ok(received) = read(room.sink()) else { break };
            let Some(received) = received else {
                relayed.is_all = true;
                break;
            };
            if received.truncated {
                continue;
            }
            let (len, vnet) = (received.len, vnet::unverified(received.vnet));
            room.commit(&Header { wire_len: len as u32, timestamp_ns: now_ns, vnet }, len);
            relayed.traffic.add_bytes(len);
            n_unseen += len;
            if n_unseen >= WAKE_BYTES {
                self.publish();
                n_unseen = 0;
            }
        }
        self.publish();
        relayed
    }

    fn refused(&mut self, packet: Packet, why: Refused, waiting: &mut Ring) -> Option<Dispatch> {
        match why {
            Refused::NoRoom => {
                self.wake_reader();
                self.bells.room.reset();
                let may_sleep = self.producer.prepare_to_wait(packet.len());
                waiting.push_front(packet);
                // There may be room again already: then the loop goes on.
                may_sleep.then_some(Dispatch::Blocked)
            }
            Refused::TooLong if packet.has_offload() && self.parts.is_empty() => {
                segment(&packet, |part| self.parts.push_back(part));
                while let Some(part) = self.parts.pop_back() {
                    waiting.push_front(part);
                }
                None
            }
            Refused::TooLong => {
                self.n_bad += 1;
                None
            }
            Refused::Closed => {
                waiting.push_front(packet);
                Some(if is_gone(&self.line) { Dispatch::Closed } else { Dispatch::Unread })
            }
            Refused::Finished | Refused::Corrupt(_) => {
                waiting.push_front(packet);
                Some(Dispatch::Closed)
            }
        }
    }

    /// Shows the reader what was put in. Waking one that sleeps costs as much as hundreds of packets, and one that is as fast as the
    /// writer would have to be woken for each large batch: it may sleep until much waits, or the writer has nothing else to do.
    fn publish(&mut self) {
        self.owes_wake |= self.producer.publish();
        if self.owes_wake && self.producer.pending_bytes() >= WAKE_BYTES {
            self.wake_reader();
        }
    }
}

impl Drop for RingOut {
    fn drop(&mut self) {
        self.wake_reader();
    }
}

impl Output for RingOut {
    fn owes_wake(&self) -> bool {
        self.owes_wake
    }

    fn wake_reader(&mut self) {
        if std::mem::take(&mut self.owes_wake) {
            self.bells.data.wake();
        }
    }

    fn send_now(&mut self, batch: &mut Batch) {
        match self.push_all(batch) {
            // All at once: an atomic count of what packets share waits for everything that was written before it.
            None => batch.clear(),
            Some((n, _)) => drop(batch.drain_first(n)),
        }
    }

    fn send(&mut self, waiting: &mut Ring, _poller: &mut Poller) -> Dispatch {
        let mut batch = Batch::new();
        loop {
            waiting.pop_batch(&mut batch, BATCH_MAX);
            if batch.is_empty() {
                return Dispatch::All;
            }
            let refused = self.push_all(&batch).and_then(|(idx, why)| {
                (idx + 1..batch.len())
                    .for_each(|_| batch.pop().into_iter().for_each(|p| waiting.push_front(p)));
                Some((batch.pop()?, why))
            });
            batch.clear();
            let dispatch = refused.and_then(|(packet, why)| self.refused(packet, why, waiting));
            if let Some(dispatch) = dispatch {
                return if is_gone(&self.line) { Dispatch::Closed } else { dispatch };
            }
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.bells.room.as_fd(), Interest::READ)?;
        watch_fd(poller, self.line.as_fd(), Interest::default())
    }

    fn set_blocked(&mut self, _poller: &mut Poller, is_blocked: bool) {
        if self.is_blocked && !is_blocked {
            self.producer.cancel_wait();
        }
        self.is_blocked = is_blocked;
    }

    fn unwatch(&self, poller: &mut Poller) {
        unwatch_fd(poller, self.bells.room.as_fd());
        unwatch_fd(poller, self.line.as_fd());
    }

    fn woken(&mut self) {
        self.bells.room.reset();
    }

    fn is_closed(&mut self) -> bool {
        is_gone(&self.line)
    }

    fn finish(&mut self, _poller: &mut Poller) -> Dispatch {
        self.owes_wake |= !std::mem::replace(&mut self.is_finished, true) && self.producer.finish();
        self.wake_reader();
        Dispatch::All
    }

    fn joint(&self) -> &'static str {
        "ring"
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn ends_with_neighbour(&self) -> bool {
        true
    }

    fn relay_end(&mut self) -> Option<relay::To<'_>> {
        Some(relay::To::Ring(self))
    }

    fn n_bad(&self) -> u64 {
        self.n_bad
    }
}
