//! A stream that packets are read from: standard input, a FIFO, a file, a socket.

use std::fs::File;
use std::io::ErrorKind;
use std::os::fd::AsFd;

use element::Batch;
use sys::poll::{Interest, Poller};

use super::framing::{Deframer, Pause};
use super::joint::RingIn;
use super::relay;
use super::stream::Stream;
use super::{table, unwatch_fd, watch_fd, Input, Receipt};

/// A stream of packets, which shared memory may take the place of.
pub struct PipeIn {
    stream: Stream,
    deframer: Deframer,
    /// Why nothing can be read behind the packets that were received last.
    fault: Option<String>,
    /// Shared memory, and how many bytes of the pipe are to be read before.
    ring: Option<(RingIn, usize)>,
    /// Whether the ring is being read, and watched instead of the pipe.
    is_in_ring: bool,
    /// Whether a ring was read to its end.
    has_left_ring: bool,
    /// Whether another input follows, or none will: then the end of a ring is the end, whoever else may have the pipe.
    ends_with_ring: bool,
    /// Whether it is a named pipe that may have had no writer so far.
    awaits_writer: bool,
    /// Whether a writer was promised that it may go on in shared memory: it may have done so before it closed the pipe.
    awaits_ring: bool,
    /// Whether the pipe was found at its end meanwhile, and is not watched until the writer's answer is known.
    is_paused: bool,
    is_at_end: bool,
}

impl PipeIn {
    /// Reads from `file`, which must not block.
    pub fn new(file: File, label: String) -> sys::Result<PipeIn> {
        Ok(PipeIn {
            stream: Stream::new(file, label)?,
            deframer: Deframer::default(),
            fault: None,
            ring: None,
            is_in_ring: false,
            has_left_ring: false,
            ends_with_ring: false,
            awaits_writer: false,
            awaits_ring: false,
            is_paused: false,
            is_at_end: false,
        })
    }

    /// As [`PipeIn::new`], from a named pipe that need not have a writer yet.
    pub fn awaiting_writer(file: File, label: String) -> sys::Result<PipeIn> {
        Ok(PipeIn { awaits_writer: true, ..PipeIn::new(file, label)? })
    }

    /// The stream itself.
    pub fn stream(&self) -> &Stream {
        &self.stream
    }

    /// Whether it is read through shared memory, or will be.
    pub fn has_ring(&self) -> bool {
        self.ring.is_some()
    }

    /// Says that nobody goes on in the pipe where a ring ends.
    pub fn expect_no_more(&mut self) {
        self.ends_with_ring = true;
    }

    /// Says whether the writer may go on in shared memory at any moment.
    pub fn await_ring(&mut self, awaits_ring: bool, is_watched: bool, poller: &mut Poller) {
        self.awaits_ring = awaits_ring;
        if !awaits_ring && std::mem::take(&mut self.is_paused) && is_watched && !self.is_in_ring {
            let _ = watch_fd(poller, self.stream.as_fd(), Interest::READ);
        }
    }

    /// Goes on in shared memory once all that the pipe holds now was read and made into packets. Only a pipe whose turn it is is
    /// watched.
    pub fn upgrade(&mut self, ring: RingIn, is_watched: bool, poller: &mut Poller) {
        if is_watched {
            // A ring that cannot be watched is one that is never heard of.
            let _ = ring.watch(poller);
        }
        ring.call_self();
        self.ring = Some((ring, sys::pipe::n_unread_bytes(&self.stream)));
    }

    /// Reads the ring from now on if it is its turn: all that was read of the pipe is taken.
    fn enter_ring(&mut self, poller: &mut Poller) {
        if !self.is_in_ring && matches!(self.ring, Some((_, 0))) {
            self.is_in_ring = true;
            unwatch_fd(poller, self.stream.as_fd());
        }
    }

    /// The writer left the ring: another may go on in the pipe, with a stream of its own.
    fn leave_ring(&mut self, poller: &mut Poller) {
        if let Some((ring, _)) = self.ring.take() {
            ring.unwatch(poller);
        }
        (self.is_in_ring, self.has_left_ring) = (false, true);
        self.deframer = self.deframer.again();
        let _ = watch_fd(poller, self.stream.as_fd(), Interest::READ);
    }

    /// Nothing follows in the pipe.
    fn end(&mut self) {
        self.is_at_end = true;
        self.deframer.end();
    }

    /// Takes packets from what was read.
    fn take(&mut self, batch: &mut Batch, max: usize) -> Option<Receipt> {
        let pause = match self.fault.take() {
            Some(message) => Pause::Fault(message),
            None => self.deframer.take(batch, max),
        };
        for note in self.deframer.notes() {
            element::output::tell(format_args!("{}", table::told(self.stream.tell(&note))));
        }
        match pause {
            // The packets in front of it come first.
            Pause::Fault(message) if !batch.is_empty() => self.fault = Some(message),
            Pause::Fault(message) => return Some(Receipt::Fault(self.stream.tell(&message))),
            Pause::End if batch.is_empty() && self.is_at_end => return Some(Receipt::End),
            Pause::End | Pause::Enough | Pause::NeedInput => {}
        }
        (!batch.is_empty()).then_some(Receipt::Packets)
    }

    /// Reads what is in the pipe; what is to be told if there is nothing.
    fn read(&mut self, poller: &mut Poller) -> Option<Receipt> {
        // Asked before reading: a writer may come, write and go at any moment.
        let is_unused = self.awaits_writer && !sys::pipe::has_hung_up(&self.stream);
        let max = self.ring.as_ref().map_or(usize::MAX, |(_, n_left)| *n_left);
        let stream = &mut self.stream;
        let read = |room: &mut [u8]| {
            let n = max.min(room.len());
            stream.read(&mut room[..n])
        };
        let result = self.deframer.read(read);
        if let (Some((_, n_left)), Ok(0) | Err(_)) = (&mut self.ring, &result) {
            // Another process has the pipe too, and took some.
            *n_left = 0;
            return None;
        }
        match result {
            // A named pipe without a writer so far has none to lose.
            Ok(0) if is_unused => return Some(Receipt::Nothing),
            Ok(0) if self.awaits_ring => {
                self.is_paused = true;
                unwatch_fd(poller, self.stream.as_fd());
                return Some(Receipt::Nothing);
            }
            Ok(0) => self.end(),
            Ok(n) => {
                self.awaits_writer = false;
                if let Some((_, n_left)) = &mut self.ring {
                    *n_left -= n;
                }
            }
            Err(error) if error.kind() == ErrorKind::WouldBlock => {
                let is_over = self.has_left_ring && self.ends_with_ring;
                return Some(if is_over { Receipt::End } else { Receipt::Nothing });
            }
            Err(error) if error.kind() == ErrorKind::ConnectionReset => self.end(),
            Err(error) => {
                self.is_at_end = true;
                return Some(Receipt::Fault(self.stream.fault(&error)));
            }
        }
        None
    }
}

impl Input for PipeIn {
    fn receive(&mut self, batch: &mut Batch, max: usize, poller: &mut Poller) -> Receipt {
        loop {
            if let Some((ring, _)) = self.ring.as_mut().filter(|_| self.is_in_ring) {
                match ring.receive(batch, max, poller) {
                    Receipt::End => {
                        self.leave_ring(poller);
                        continue;
                    }
                    receipt => return receipt,
                }
            }
            let taken = self.take(batch, max);
            if taken.is_none() || matches!(taken, Some(Receipt::End)) {
                self.enter_ring(poller);
                if self.is_in_ring {
                    continue;
                }
            }
            if let Some(receipt) = taken {
                return receipt;
            }
            if self.is_at_end {
                return Receipt::End;
            }
            if let Some(receipt) = self.read(poller) {
                return receipt;
            }
        }
    }

    fn may_sleep(&mut self) -> bool {
        match &mut self.ring {
            Some((ring, _)) if self.is_in_ring => ring.may_sleep(),
            Some((ring, _)) => {
                // The rest of the pipe comes first, and the pipe tells of it.
                ring.hush();
                true
            }
            _ => true,
        }
    }

    fn watch(&self, poller: &mut Poller) -> sys::Result<()> {
        if let Some((ring, _)) = &self.ring {
            ring.watch(poller)?;
        }
        if self.is_in_ring {
            return Ok(());
        }
        watch_fd(poller, self.stream.as_fd(), Interest::READ)
    }

    fn unwatch(&self, poller: &mut Poller) {
        if let Some((ring, _)) = &self.ring {
            ring.unwatch(poller);
        }
        unwatch_fd(poller, self.stream.as_fd());
    }

    fn joint(&self) -> &'static str {
        if self.is_in_ring {
            "ring"
        } else {
            self.stream.joint()
        }
    }

    fn n_waiting_bytes(&self) -> usize {
        self.ring.as_ref().map_or(0, |(ring, _)| ring.n_waiting_bytes())
    }

    fn is_stream(&self) -> bool {
        true
    }

    fn pipe(&mut self) -> Option<&mut PipeIn> {
        Some(self)
    }

    fn relay_end(&mut self) -> Option<relay::From<'_>> {
        self.ring.as_mut().filter(|_| self.is_in_ring).and_then(|(ring, _)| ring.relay_end())
    }

    fn n_bad(&self) -> u64 {
        self.deframer.n_bad()
    }
}
