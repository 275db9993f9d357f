//! One interface of a stage: an input and an output under a name. [`receiving`] and [`sending`] are what its elements do with it,
//! [`upgrade`] what is agreed with neighbours.

mod receiving;
mod sending;
mod upgrade;

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};

use packet::Ring;
use sys::poll::{Poller, Waker};

use super::joint::Line;
use super::{Input, Output};
use crate::traffic::Traffic;

/// Packets that wait for room before any other is turned away.
pub const MAX_WAITING: usize = 4096;
/// How many may wait while nothing else is sent.
const MAX_KEPT: usize = 2 * MAX_WAITING;

/// An input and an output under a name.
pub struct Interface {
    name: String,
    /// What packets are read from; when the first one ends, the next one follows.
    inputs: VecDeque<Box<dyn Input>>,
    /// What packets are written to: the last one. Those before it only finish what they began.
    outputs: VecDeque<Box<dyn Output>>,
    /// A pipe that packets no longer go through, and that is only the sign of life.
    idle: Option<Box<dyn Output>>,
    /// Packets that wait for room, or for an output.
    waiting: Ring,
    rx_poller: Poller,
    tx_poller: Poller,
    is_read: bool,
    /// Elements that send.
    n_writers: usize,
    /// Whether a stream that was the input of this interface has ended, and none followed.
    has_ended: bool,
    /// Whether the stream that was the output of this interface takes no more.
    is_closed: bool,
    /// Whether there is no output, and none will come unless a neighbour is put there.
    is_over: bool,
    is_blocked: bool,
    /// Whether its outputs only finish what they began: packets take another way.
    is_left: bool,
    /// Whether a ring to the neighbour only finishes what it began: packets wait for the one that its successor offers.
    awaits_successor: bool,
    /// Rings for who sends, where no output does.
    bell: Option<Waker>,
    received: Traffic,
    sent: Traffic,
    /// Packets that the other side did not read.
    n_unread: u64,
    /// Packets that could not even wait, which the element that sends counts as dropped.
    n_turned_away: u64,
    /// Packets that inputs which have ended did not receive in time.
    n_missed: u64,
    /// Whether it has an output or leaves packets to a neighbour, did so before, or is to have no output.
    has_way_out: bool,
    /// Whether what is sent is to go nowhere.
    is_unwanted: bool,
    /// Whether it may get an output: who feeds it may turn out to take packets.
    may_get_output: bool,
    /// Packets that were sent though it never had a way out.
    n_lost: u64,
    /// Who is at the other end, as far as known: the number of its process.
    neighbour: Option<u32>,
    faults: Vec<String>,
    has_failed: bool,
    /// Whether a neighbour was found with which something is about to be agreed.
    is_meeting: bool,
    /// How packets go that do not pass through this process, or not through a pipe or ring, and the line to the neighbour.
    kernel_joint: Option<(&'static str, Line)>,
}

/// What is told of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Report {
    /// Its name.
    pub name: String,
    /// What packets come through and go through: `pipe`, `ring`, `tap` ...
    pub joint: &'static str,
    /// The neighbour's process.
    pub neighbour: Option<u32>,
    /// Packets and bytes received.
    pub received: Traffic,
    /// Packets and bytes taken to be sent, those that wait included.
    pub sent: Traffic,
    /// Packets that could not be read or expressed, were not received in time, or that the other side did not read.
    pub n_dropped: u64,
    /// Packets that wait for room.
    pub n_waiting: usize,
    /// Bytes that wait to be received.
    pub n_waiting_bytes: usize,
}

impl Interface {
    /// An interface without input and output.
    pub fn new(name: &str) -> sys::Result<Interface> {
        Ok(Interface {
            name: name.to_string(),
            inputs: VecDeque::new(),
            outputs: VecDeque::new(),
            idle: None,
            waiting: Ring::new(),
            rx_poller: Poller::new()?,
            tx_poller: Poller::new()?,
            is_read: false,
            n_writers: 0,
            has_ended: false,
            is_closed: false,
            is_over: false,
            is_blocked: false,
            is_left: false,
            awaits_successor: false,
            bell: None,
            received: Traffic::default(),
            sent: Traffic::default(),
            n_unread: 0,
            n_turned_away: 0,
            n_missed: 0,
            has_way_out: false,
            is_unwanted: false,
            may_get_output: false,
            n_lost: 0,
            neighbour: None,
            faults: Vec::new(),
            has_failed: false,
            is_meeting: false,
            kernel_joint: None,
        })
    }

    /// Its name.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Says that an element takes what is received.
    pub fn mark_read(&mut self) {
        self.is_read = true;
    }

    /// Nobody reads it any more.
    pub fn unmark_read(&mut self) {
        self.is_read = false;
    }

    /// An element begins to send.
    pub fn add_writer(&mut self) {
        self.n_writers += 1;
    }

    /// An element sends no more; whether it was the last one.
    pub fn remove_writer(&mut self) -> bool {
        self.n_writers = self.n_writers.saturating_sub(1);
        self.n_writers == 0
    }

    /// Whether an element takes what is received.
    pub fn is_read(&self) -> bool {
        self.is_read
    }

    /// The descriptor that is readable when there is something to receive.
    pub fn rx_fd(&self) -> BorrowedFd<'_> {
        self.rx_poller.as_fd()
    }

    /// The descriptor that is readable when there is room again, or the other side is gone.
    pub fn tx_fd(&self) -> BorrowedFd<'_> {
        self.tx_poller.as_fd()
    }

    /// Whether packets wait for room, so that no more should be made.
    pub fn is_full(&self) -> bool {
        self.is_blocked && !self.is_closed
    }

    /// Whether its input has ended for good.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether what is sent can never be read.
    pub fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// Whether it has an input that another process feeds and can end.
    pub fn reads_stream(&self) -> bool {
        self.has_stream() || self.has_ended
    }

    /// What the user should be told, once.
    pub fn take_faults(&mut self) -> Vec<String> {
        self.has_failed |= !self.faults.is_empty();
        std::mem::take(&mut self.faults)
    }

    /// Whether something failed that the user was told of.
    pub fn has_failed(&self) -> bool {
        self.has_failed
    }

    /// Whether something may still be received.
    pub fn has_input(&self) -> bool {
        !self.inputs.is_empty()
    }

    /// Whether it receives from a device, which keeps only so many packets.
    pub fn reads_device(&self) -> bool {
        self.inputs.front().is_some_and(|input| !input.is_stream())
    }

    /// Whether it sends to a device: what comes of that may be at another device at once.
    pub fn feeds_device(&self) -> bool {
        self.outputs.back().is_some_and(|output| !output.is_stream())
    }

    /// Packets taken to be sent so far.
    pub fn n_sent(&self) -> u64 {
        self.sent.packets
    }

    /// Whether something may still be received that has an end.
    pub fn has_stream(&self) -> bool {
        self.inputs.iter().any(|input| input.is_stream())
    }

    /// Whether something may ever be received: there is an input, or was one, or who reads the pipe may send packets back.
    pub fn may_receive(&mut self) -> bool {
        let mut pipes = self.outputs.iter_mut().filter_map(|output| output.pipe());
        pipes.any(|pipe| pipe.stream().id().is_some()) || self.has_input() || self.has_ended
    }

    /// How many packets its outputs did not take, and why.
    pub fn not_taken(&self) -> (u64, Option<String>) {
        let n = self.outputs.iter().map(|output| output.n_bad()).sum();
        (n, self.outputs.iter().find_map(|output| output.why_bad()))
    }

    /// Packets of devices that came faster than they were received, so that the kernel dropped them.
    pub fn n_missed(&self) -> u64 {
        self.n_missed + self.inputs.iter().map(|input| input.n_missed()).sum::<u64>()
    }

    /// Whether it has an output, or had one.
    pub fn is_written(&self) -> bool {
        !self.outputs.is_empty() || self.is_closed
    }

    /// Lets go of all inputs and outputs: packets take another way. What is still sent here is lost, since behind those packets it
    /// would be out of order.
    pub fn clear(&mut self) {
        for input in self.inputs.drain(..) {
            input.unwatch(&mut self.rx_poller);
        }
        for output in self.outputs.drain(..) {
            output.unwatch(&mut self.tx_poller);
        }
        self.give_up_waiting();
        let was_full = self.is_full();
        (self.is_blocked, self.is_over) = (false, true);
        self.call_sender(was_full);
    }

    /// What is told of it.
    pub fn report(&self) -> Report {
        let output = self.outputs.back();
        // What nobody takes tells nothing: it is not looked at, not even for its end.
        let input = self.inputs.front().filter(|_| self.is_read || output.is_none());
        let joint = match (input.map(|input| input.joint()), output.map(|output| output.joint())) {
            (Some("pipe") | None, Some(joint)) | (Some(joint), _) => joint,
            (None, None) => "none",
        };
        let joint = self.kernel_joint.as_ref().map_or(joint, |(joint, _)| joint);
        let n_bad = input.map_or(0, |input| input.n_bad()) + output.map_or(0, |output| output.n_bad());
        Report {
            name: self.name.clone(),
            joint,
            // Whoever was there before may be gone: a plain pipe does not tell who is at its other end.
            neighbour: self.neighbour.filter(|_| !["pipe", "none"].contains(&joint)),
            received: self.received,
            sent: self.sent,
            n_dropped: n_bad + self.n_unread + self.n_lost + self.n_missed(),
            n_waiting: self.waiting.len(),
            n_waiting_bytes: input.map_or(0, |input| input.n_waiting_bytes()),
        }
    }
}
