//! The interfaces of a stage: where packets enter and leave a process of a shell pipeline.
//!
//! An [`Interface`] has a name, such as `left`, an [`Input`] and an [`Output`]. What they are is said by a [`Spec`]
//! (`stdin`, `fifo:PATH`, `tap:NAME` ...). `FromInterface` and `ToInterface` find them by name in the process's table
//! ([`table`]).
//!
//! A pipe carries a capture stream, in one direction ([`framing`]). When both of its ends are weir's, they find each other
//! ([`neighbour`]) and go on through shared memory, in both directions ([`joint`]). The pipe stays as the sign of life.
//!
//! Where a FromInterface leads straight to a ToInterface, packets between taps, or cables, and shared memory do not become packets of
//! this process: the kernel copies them from one to the other ([`relay`]).

mod ascii;
pub mod cable_port;
mod descriptor;
mod door;
mod ethernet;
mod file;
pub mod framing;
mod interface;
mod joint;
mod lines;
pub mod meeting;
pub mod neighbour;
pub mod packet_port;
pub mod peer;
mod pipe_in;
mod pipe_out;
mod records;
mod relay;
pub mod spec;
mod stream;
pub mod table;
pub mod tap_port;
#[cfg(test)]
mod tests;

use std::os::fd::{AsRawFd, BorrowedFd};

use element::Batch;
use packet::Ring;
use sys::poll::{Interest, Poller};

pub use framing::Format;
pub use interface::{Interface, Report};
#[cfg(test)]
pub use pipe_in::PipeIn;
#[cfg(test)]
pub use pipe_out::PipeOut;
pub use relay::Moved;
pub use spec::{Endpoint, Spec};

/// What came of an attempt to receive.
#[derive(Debug)]
pub enum Receipt {
    /// Packets, now in the batch; there may be more.
    Packets,
    /// There is nothing now.
    Nothing,
    /// Nothing will ever come again.
    End,
    /// As `End`, for a reason that the user should know.
    Fault(String),
}

/// What came of an attempt to send.
#[derive(Debug, PartialEq, Eq)]
pub enum Dispatch {
    /// Everything went out.
    All,
    /// What is left must wait for room.
    Blocked,
    /// Nobody on the other side takes packets, now or ever, though it is there.
    Unread,
    /// Nobody will ever read from here again.
    Closed,
    /// As `Closed`, for a reason that the user should know.
    Fault(String),
}

/// Where packets come from.
pub trait Input: Send {
    /// Takes at most `max` packets, without waiting. What is watched may change meanwhile.
    fn receive(&mut self, batch: &mut Batch, max: usize, poller: &mut Poller) -> Receipt;

    /// Called after [`Receipt::Nothing`]: whether it is certain that a watched descriptor will tell of the next packet.
    fn may_sleep(&mut self) -> bool {
        true
    }

    /// Begins to watch the descriptors that tell of packets, for reading.
    fn watch(&self, poller: &mut Poller) -> sys::Result<()>;

    /// Stops watching them.
    fn unwatch(&self, poller: &mut Poller);

    /// What packets go through: `pipe`, `ring`, `tap` ...
    fn joint(&self) -> &'static str;

    /// Bytes that wait to be received, as far as that is known.
    fn n_waiting_bytes(&self) -> usize {
        0
    }

    /// Whether its end is the end of the stage: a stream that another process feeds, not a device.
    fn is_stream(&self) -> bool;

    /// Whether its end is no more than the neighbour's, who may be replaced: a ring that came with an output.
    fn ends_with_neighbour(&self) -> bool {
        false
    }

    /// The pipe that neighbours find each other by, if it is one.
    fn pipe(&mut self) -> Option<&mut pipe_in::PipeIn> {
        None
    }

    /// What packets can be relayed from, if it is that.
    fn relay_end(&mut self) -> Option<relay::From<'_>> {
        None
    }

    /// Lines and packets that could not be read.
    fn n_bad(&self) -> u64 {
        0
    }

    /// Packets of a device that came faster than they were received, so that the kernel dropped them.
    fn n_missed(&self) -> u64 {
        0
    }
}

/// Where packets go.
pub trait Output: Send {
    /// Sends packets from the front of a batch, where that takes no more than to hand them over; nothing waits to be sent before them.
    /// What is left in the batch waits for [`Output::send`].
    fn send_now(&mut self, _batch: &mut Batch) {}

    /// Whether what was sent is still to be written, or the reader sleeps and is to be woken for it: soon.
    fn owes_wake(&self) -> bool {
        false
    }

    /// Wakes the reader if that is due, behind [`Output::send`].
    fn wake_reader(&mut self) {}

    /// Sends packets from the front of `waiting`, as far as there is room. What is watched may change meanwhile.
    fn send(&mut self, waiting: &mut Ring, poller: &mut Poller) -> Dispatch;

    /// Begins to watch the descriptors that tell of room, and of the other side's end.
    fn watch(&self, poller: &mut Poller) -> sys::Result<()>;

    /// Watches for room, or only for the end.
    fn set_blocked(&mut self, poller: &mut Poller, is_blocked: bool);

    /// Stops watching.
    fn unwatch(&self, poller: &mut Poller);

    /// Called when a watched descriptor told of something, before the next [`Output::send`].
    fn woken(&mut self) {}

    /// Whether the other side has gone; asked when a watched descriptor told of something.
    fn is_closed(&mut self) -> bool {
        false
    }

    /// Says that nothing will follow, once everything was sent.
    fn finish(&mut self, _poller: &mut Poller) -> Dispatch {
        Dispatch::All
    }

    /// The stage ends: nobody is to find any more what would lead to it.
    fn leave(&mut self) {}

    /// Whether this process is to stay though everything was sent: the other side does not know yet where that is.
    fn must_stay(&self) -> bool {
        false
    }

    /// What packets go through.
    fn joint(&self) -> &'static str;

    /// Whether its end is the end of the stage.
    fn is_stream(&self) -> bool;

    /// Whether its end is no more than the neighbour's, who may be replaced: a ring that came with an input.
    fn ends_with_neighbour(&self) -> bool {
        false
    }

    /// The pipe that neighbours find each other by, if it is one.
    fn pipe(&mut self) -> Option<&mut pipe_out::PipeOut> {
        None
    }

    /// What packets can be relayed to, if it is that.
    fn relay_end(&mut self) -> Option<relay::To<'_>> {
        None
    }

    /// A duplicate of the tap that it is, if it is one.
    fn tap(&self) -> Option<std::os::fd::OwnedFd> {
        None
    }

    /// Packets that it did not take: its format cannot express them, or the device refused them.
    fn n_bad(&self) -> u64 {
        0
    }

    /// Why it did not take them, as far as that is known.
    fn why_bad(&self) -> Option<String> {
        None
    }
}

/// Adds a descriptor to a poller under its own number.
fn watch_fd(poller: &mut Poller, fd: BorrowedFd<'_>, interest: Interest) -> sys::Result<()> {
    poller.add(fd, fd.as_raw_fd() as u64, interest)
}

/// Watches an output's descriptor, which is watched already, for room as well, or only for the end of the other side.
fn watch_room(poller: &mut Poller, fd: BorrowedFd<'_>, was_blocked: &mut bool, is_blocked: bool) {
    if std::mem::replace(was_blocked, is_blocked) != is_blocked {
        let interest = if is_blocked { Interest::WRITE } else { Interest::default() };
        // Once it is not watched any more, nobody waits for what it would tell.
        let _ = poller.modify(fd, fd.as_raw_fd() as u64, interest);
    }
}

/// Takes a descriptor away from a poller.
fn unwatch_fd(poller: &mut Poller, fd: BorrowedFd<'_>) {
    // Whatever is not watched any more need not be removed.
    let _ = poller.remove(fd);
}
