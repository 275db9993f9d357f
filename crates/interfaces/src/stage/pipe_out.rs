//! A stream that packets are written to: standard output, a FIFO, a file, a socket.

use std::fs::File;
use std::os::fd::AsFd;

use element::{Batch, BATCH_MAX};
use packet::Ring;
use sys::poll::{Interest, Poller};

use super::framing::{Format, Framer};
use super::joint::RingOut;
use super::relay;
use super::stream::{Pending, Stream, Writing};
use super::{unwatch_fd, watch_fd, watch_room, Dispatch, Output};

/// Bytes of packets that are gathered for one write.
const GATHER: usize = 64 * 1024;
/// Packets that are gathered for one write: the pages of small ones are read, and written again, while caches have them.
const GATHER_PACKETS: usize = 256;
/// Bytes that a pipe is asked to hold once it was found full.
const CAPACITY: usize = 1 << 20;

/// A stream of packets, which shared memory may take the place of.
pub struct PipeOut {
    stream: Stream,
    framer: Framer,
    pending: Pending,
    /// Packets that were made into what is pending, since all was written.
    n_gathered: usize,
    ring: Option<RingOut>,
    /// Shared memory to go on in once everything that was begun is in the pipe.
    next: Option<RingOut>,
    has_asked: bool,
    is_blocked: bool,
    is_closed: bool,
}

impl PipeOut {
    /// Writes to `file`, which must not block.
    pub fn new(file: File, label: String, format: Format) -> sys::Result<PipeOut> {
        let stream = Stream::new(file, label)?;
        let framer = Framer::new(format);
        let mut pending = Pending::default();
        framer.begin(pending.bytes());
        Ok(PipeOut {
            stream,
            framer,
            pending,
            n_gathered: 0,
            ring: None,
            next: None,
            has_asked: false,
            is_blocked: false,
            is_closed: false,
        })
    }

    /// The stream itself.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether it is written through shared memory, or will be.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some() || self.next.is_some()
    }

    /// Goes on in shared memory as soon as what was begun is in the pipe.
    pub fn upgrade(&mut self, ring: RingOut, poller: &mut Poller) {
        self.next = Some(ring);
        if !self.is_closed {
            self.write_pending(poller);
        }
    }

    /// Writes what was made; then goes on in the ring that was offered.
    fn write_pending(&mut self, poller: &mut Poller) -> Writing {
        let writing = self.write();
        let next = if matches!(writing, Writing::All) { self.next.take() } else { None };
        if let Some(ring) = next {
            // The neighbour reads what is in the pipe now, and then the ring. If it has gone, the pipe says so.
            if ring.announce() {
                unwatch_fd(poller, self.stream.as_fd());
                let _ = ring.watch(poller);
                ring.call_self();
                self.ring = Some(ring);
                self.is_blocked = false;
            }
        }
        writing
    }

    /// The reader left the ring: another may read the pipe, from a stream of its own.
    fn leave_ring(&mut self, poller: &mut Poller) {
        if let Some(ring) = self.ring.take() {
            ring.unwatch(poller);
        }
        self.begin_again();
        let _ = watch_fd(poller, self.stream.as_fd(), Interest::default());
    }

    /// Goes on with a stream of its own: whoever reads from here on may have read nothing before.
    pub fn begin_again(&mut self) {
        self.framer = self.framer.again();
        self.framer.begin(self.pending.bytes());
    }

    /// The other side of what is watched has gone; whether nobody can ever read from here again.
    pub fn notice_end(&mut self, poller: &mut Poller) -> bool {
        match self.ring.as_mut().map(|ring| ring.is_closed()) {
            Some(true) => self.leave_ring(poller),
            Some(false) => {}
            None => self.is_closed |= sys::pipe::is_unread(&self.stream),
        }
        self.is_closed
    }

    /// Makes bytes of packets, as many as go out with one write; of how many.
    #[inline]
    fn frame(&mut self, batch: &Batch) -> usize {
        for (n, packet) in batch.iter().enumerate() {
            if self.has_enough() {
                return n;
            }
            self.framer.packet(self.pending.bytes(), packet);
            self.n_gathered += 1;
        }
        batch.len()
    }

    /// Whether what was made is to be written before more is.
    #[inline(always)]
    fn has_enough(&self) -> bool {
        self.n_gathered >= GATHER_PACKETS || self.pending.len() >= GATHER
    }

    /// Writes what was made, as far as there is room.
    fn write(&mut self) -> Writing {
        let writing = self.pending.write(&mut self.stream);
        if matches!(writing, Writing::All) {
            self.n_gathered = 0;
        }
        writing
    }

    /// As [`PipeOut::frame`], of packets that wait.
    fn gather(&mut self, waiting: &mut Ring) {
        let mut batch = Batch::new();
        while !self.has_enough() {
            waiting.pop_batch(&mut batch, BATCH_MAX);
            if batch.is_empty() {
                return;
            }
            let n = self.frame(&batch);
            while batch.len() > n {
                batch.pop().into_iter().for_each(|packet| waiting.push_front(packet));
            }
            batch.clear();
        }
    }

    fn dispatch(&mut self, writing: Writing) -> Dispatch {
        match writing {
            Writing::All => Dispatch::All,
            Writing::Blocked => {
                if !self.has_asked && self.stream.id().is_some() {
                    self.has_asked = true;
                    sys::pipe::ask_for_capacity(&self.stream, CAPACITY);
                }
                Dispatch::Blocked
            }
            Writing::Closed => {
                self.is_closed = true;
                Dispatch::Closed
            }
            Writing::Fault(error) => {
                self.is_closed = true;
                Dispatch::Fault(self.stream.fault(&error))
            }
        }
    }
}

impl Drop for PipeOut {
    /// Writes what was kept, as far as there is room.
    fn drop(&mut self) {
        if !self.is_closed {
            let _ = self.pending.write(&mut self.stream);
        }
    }
}

impl Output for PipeOut {
    fn send_now(&mut self, batch: &mut Batch) {
        if let Some(ring) = self.ring.as_mut().filter(|_| !self.is_closed) {
            return ring.send_now(batch);
        }
        while !self.is_closed && !batch.is_empty() {
            let n = self.frame(batch);
            if n == batch.len() {
                return batch.clear();
            }
            drop(batch.drain_first(n));
            // Why it cannot be written is found out where the rest is sent.
            if self.is_blocked || !matches!(self.write(), Writing::All) {
                return;
            }
        }
    }

    fn owes_wake(&self) -> bool {
        match &self.ring {
            Some(ring) => ring.owes_wake(),
            None => !self.pending.is_empty() && !self.is_blocked && !self.is_closed,
        }
    }

    fn wake_reader(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.wake_reader();
        }
    }

    fn send(&mut self, waiting: &mut Ring, poller: &mut Poller) -> Dispatch {
        if self.is_closed {
            return Dispatch::Closed;
        }
        loop {
            if let Some(ring) = &mut self.ring {
                match ring.send(waiting, poller) {
                    Dispatch::Closed => self.leave_ring(poller),
                    dispatch => return dispatch,
                }
            }
            self.gather(waiting);
            match self.write_pending(poller) {
                Writing::All if waiting.is_empty() => return Dispatch::All,
                Writing::All => {}
                writing => return self.dispatch(writing),
            }
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        watch_fd(poller, self.stream.as_fd(), Interest::default())
    }

    fn set_blocked(&mut self, poller: &mut Poller, is_blocked: bool) {
        if let Some(ring) = &mut self.ring {
            return ring.set_blocked(poller, is_blocked);
        }
        watch_room(poller, self.stream.as_fd(), &mut self.is_blocked, is_blocked);
    }

    fn unwatch(&self, poller: &mut Poller) {
        match &self.ring {
            Some(ring) => ring.unwatch(poller),
            None => unwatch_fd(poller, self.stream.as_fd()),
        }
    }

    fn woken(&mut self) {
        if let Some(ring) = &mut self.ring {
            ring.woken();
        }
    }

    fn is_closed(&mut self) -> bool {
        self.is_closed
    }

    fn finish(&mut self, poller: &mut Poller) -> Dispatch {
        if let Some(ring) = &mut self.ring {
            return ring.finish(poller);
        }
        if self.is_closed {
            return Dispatch::Closed;
        }
        let writing = self.write_pending(poller);
        self.dispatch(writing)
    }

    fn must_stay(&self) -> bool {
        // Whoever has the pipe next may write to it at once: the reader could not tell that from what was written before.
        self.ring.as_ref().is_some_and(|ring| ring.is_unannounced())
    }

    fn joint(&self) -> &'static str {
        if self.ring.is_some() {
            "ring"
        } else {
            self.stream.joint()
        }
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn pipe(&mut self) -> Option<&mut PipeOut> {
        Some(self)
    }

    fn relay_end(&mut self) -> Option<relay::To<'_>> {
        self.ring.as_mut().filter(|_| !self.is_closed)?.relay_end()
    }

    fn n_bad(&self) -> u64 {
        self.framer.n_bad
    }

    fn why_bad(&self) -> Option<String> {
        self.framer.why_bad()
    }
}
