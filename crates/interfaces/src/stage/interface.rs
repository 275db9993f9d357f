//! One interface of a stage: an input and an output under a name.

use std::collections::VecDeque;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use element::Batch;
use packet::Ring;
use sys::pipe::PipeId;
use sys::poll::Poller;

use super::joint::{Line, RingIn, RingOut};
use super::pipe_in::PipeIn;
use super::pipe_out::PipeOut;
use super::relay::{self, Relayed};
use super::{meeting, Dispatch, Input, Output, Receipt};
use crate::traffic::Traffic;

/// Packets that wait for room before any other is turned away.
pub const MAX_WAITING: usize = 4096;

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
    /// Whether a stream that was the input of this interface has ended, and none followed.
    has_ended: bool,
    /// Whether the stream that was the output of this interface takes no more.
    is_closed: bool,
    is_blocked: bool,
    received: Traffic,
    sent: Traffic,
    /// Packets that the other side did not read.
    n_unread: u64,
    /// Whether it has an output, had one, may get one, or is to have none.
    has_way_out: bool,
    /// Packets beyond those that wait for an output.
    n_beyond: u64,
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
    /// Packets that could not be read or expressed, or that the other side did not read.
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
            has_ended: false,
            is_closed: false,
            is_blocked: false,
            received: Traffic::default(),
            sent: Traffic::default(),
            n_unread: 0,
            has_way_out: false,
            n_beyond: 0,
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

    /// Reads from `input` once all inputs before it have ended.
    pub fn add_input(&mut self, mut input: Box<dyn Input>) -> sys::Result<()> {
        self.has_ended = false;
        // The neighbour at the other end of a pipe may turn out to take packets.
        self.has_way_out |= input.pipe().is_some_and(|pipe| pipe.stream().id().is_some());
        if self.inputs.is_empty() {
            input.watch(&mut self.rx_poller)?;
        }
        self.inputs.iter_mut().filter_map(|input| input.pipe()).for_each(|pipe| pipe.expect_successor());
        self.inputs.push_back(input);
        Ok(())
    }

    /// Writes to `output` from now on; those before it finish what they began.
    pub fn add_output(&mut self, output: Box<dyn Output>) -> sys::Result<()> {
        output.watch(&mut self.tx_poller)?;
        self.outputs.push_back(output);
        self.is_closed = false;
        self.has_way_out = true;
        Ok(())
    }

    /// Says that what is sent is to go nowhere.
    pub fn want_no_output(&mut self) {
        self.has_way_out = true;
    }

    /// Packets that were sent though the interface can only be read.
    pub fn n_lost(&self) -> u64 {
        match self.has_way_out {
            true => 0,
            false => self.waiting.len() as u64 + self.n_beyond,
        }
    }

    /// Says that an element takes what is received.
    pub fn mark_read(&mut self) {
        self.is_read = true;
    }

    /// Nobody reads it any more.
    pub fn unmark_read(&mut self) {
        self.is_read = false;
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
        self.inputs.iter().any(|input| input.is_stream()) || self.has_ended
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

    /// Whether it has an output, or had one.
    pub fn is_written(&self) -> bool {
        !self.outputs.is_empty() || self.is_closed
    }

    /// Receives at most `max` packets; whether there may be more. `false`: a descriptor will tell.
    pub fn receive(&mut self, batch: &mut Batch, max: usize) -> bool {
        loop {
            let Some(input) = self.inputs.front_mut() else { return false };
            match input.receive(batch, max, &mut self.rx_poller) {
                Receipt::Packets => {
                    self.received.add_batch(batch);
                    return true;
                }
                Receipt::Nothing if input.may_sleep() => return false,
                Receipt::Nothing => {}
                Receipt::End => self.end_input(),
                Receipt::Fault(message) => {
                    self.faults.push(message);
                    self.end_input();
                }
            }
        }
    }

    /// Moves packets straight to `to`, at most `max`; whether any were. If not, [`Interface::receive`] finds out why.
    pub fn relay(&mut self, to: &mut Interface, max: usize, now_ns: impl FnOnce() -> i64) -> bool {
        let (Some(input), [output]) = (self.inputs.front_mut(), to.outputs.make_contiguous()) else {
            return false;
        };
        let (Some(input), Some(output), true) =
            (input.relay_end(), output.relay_end(), to.waiting.is_empty())
        else {
            return false;
        };
        let Relayed { traffic, left } = relay::relay(input, output, max, now_ns);
        self.received.add_traffic(traffic);
        to.sent.add_traffic(traffic);
        let has_worked = traffic.packets > 0 || left.is_some();
        if let Some(packet) = left {
            self.received.add(&packet);
            to.send(&mut Batch::of(packet));
        }
        to.wake_reader();
        has_worked
    }

    /// Goes on with the next input.
    fn end_input(&mut self) {
        let Some(input) = self.inputs.pop_front() else { return };
        input.unwatch(&mut self.rx_poller);
        match self.inputs.front() {
            Some(next) => {
                if let Err(error) = next.watch(&mut self.rx_poller) {
                    self.faults.push(error.to_string());
                }
            }
            None => self.has_ended |= !input.ends_with_neighbour(),
        }
    }

    /// Sends a batch; what there is no room for waits. The packets that there was no place for, or nobody to read, are left
    /// in the batch, for the caller to drop. [`Interface::wake_reader`] is to follow soon.
    pub fn send(&mut self, batch: &mut Batch) {
        let n = MAX_WAITING.saturating_sub(self.waiting.len()).min(batch.len());
        batch.iter().take(n).for_each(|packet| self.sent.add(packet));
        if let [output] = self.outputs.make_contiguous() {
            if self.waiting.is_empty() {
                output.send_now(batch);
                if batch.is_empty() {
                    return;
                }
            }
        }
        self.waiting.push_batch(batch, n);
        self.n_beyond += batch.len() as u64;
        self.send_waiting();
    }

    /// Whether [`Interface::wake_reader`] is due.
    pub fn owes_wake(&self) -> bool {
        self.outputs.iter().any(|output| output.owes_wake())
    }

    /// Lets the reader have what was sent and wakes it, if that is due.
    pub fn wake_reader(&mut self) {
        if self.owes_wake() {
            self.flush();
        }
    }

    /// Sends what waits, as far as there is room, and wakes the reader.
    pub fn flush(&mut self) {
        self.send_waiting();
        self.outputs.iter_mut().for_each(|output| output.wake_reader());
    }

    fn send_waiting(&mut self) {
        while self.outputs.len() > 1 {
            let Some(output) = self.outputs.front_mut() else { break };
            if output.finish(&mut self.tx_poller) == Dispatch::Blocked {
                output.set_blocked(&mut self.tx_poller, true);
                self.is_blocked = true;
                return;
            }
            output.unwatch(&mut self.tx_poller);
            self.outputs.pop_front();
        }
        let Some(output) = self.outputs.front_mut() else {
            // Nobody is there to send to yet, or the way back is not there at all.
            self.is_blocked = false;
            return;
        };
        let dispatch = output.send(&mut self.waiting, &mut self.tx_poller);
        let is_blocked = dispatch == Dispatch::Blocked;
        if is_blocked != self.is_blocked {
            output.set_blocked(&mut self.tx_poller, is_blocked);
            self.is_blocked = is_blocked;
        }
        match dispatch {
            Dispatch::All | Dispatch::Blocked => {}
            Dispatch::Unread => {
                self.n_unread += self.waiting.len() as u64;
                self.waiting.truncate(0);
            }
            Dispatch::Closed => self.close_output(None),
            Dispatch::Fault(message) => self.close_output(Some(message)),
        }
    }

    fn close_output(&mut self, fault: Option<String>) {
        self.faults.extend(fault);
        let Some(output) = self.outputs.pop_front() else { return };
        output.unwatch(&mut self.tx_poller);
        self.n_unread += self.waiting.len() as u64;
        self.waiting.truncate(0);
        self.is_blocked = false;
        self.is_closed |= !output.ends_with_neighbour() && self.outputs.is_empty() && output.is_stream();
    }

    /// Looks at what the descriptor of the output tells.
    pub fn look_at_output(&mut self) {
        let is_gone = match self.tx_poller.wait(Some(Duration::ZERO)) {
            Ok(events) => events.iter().any(|event| event.closed),
            Err(_) => false,
        };
        if is_gone {
            self.notice_end();
        }
        if let Some(output) = self.outputs.back_mut() {
            output.woken();
            self.flush();
        }
    }

    /// The other side of an output may be gone.
    fn notice_end(&mut self) {
        let Interface { idle, outputs, tx_poller, .. } = self;
        if let Some(pipe) = idle.as_mut().and_then(|output| output.pipe()) {
            if pipe.notice_end(tx_poller) {
                pipe.unwatch(tx_poller);
                *idle = None;
                self.is_closed = true;
            }
            return;
        }
        if outputs.len() != 1 {
            return;
        }
        let Some(output) = outputs.front_mut() else { return };
        let is_over = match output.pipe() {
            Some(pipe) => pipe.notice_end(tx_poller),
            None => output.is_stream() && output.is_closed(),
        };
        if is_over {
            self.close_output(None);
        }
    }

    /// Waits until there may be room, for `patience` at most.
    pub fn wait_for_room(&mut self, patience: Duration) {
        // Whatever it yields, looking tells what is the case.
        let _ = self.tx_poller.wait(Some(patience));
        self.look_at_output();
    }

    /// Says that nothing will follow; whether everything is sent.
    pub fn finish(&mut self) -> bool {
        self.flush();
        if self.is_blocked {
            return false;
        }
        let Some(output) = self.outputs.back_mut() else { return true };
        match output.finish(&mut self.tx_poller) {
            Dispatch::Fault(message) => {
                self.faults.push(message);
                true
            }
            dispatch => dispatch != Dispatch::Blocked && !output.must_stay(),
        }
    }

    /// Packets that wait for room, and those that wait for an output.
    pub fn n_waiting(&self) -> (usize, usize) {
        if self.outputs.is_empty() {
            (0, self.waiting.len())
        } else {
            (self.waiting.len(), 0)
        }
    }

    /// The pipe of this identity that packets are read from.
    pub fn pipe_in(&mut self, id: PipeId) -> Option<&mut PipeIn> {
        self.inputs.iter_mut().filter_map(|input| input.pipe()).find(|pipe| pipe.stream().is(id))
    }

    /// The pipe of this identity that packets are written to.
    pub fn pipe_out(&mut self, id: PipeId) -> Option<&mut PipeOut> {
        let outputs = self.outputs.iter_mut().chain(&mut self.idle);
        outputs.filter_map(|output| output.pipe()).find(|pipe| pipe.stream().is(id))
    }

    /// The pipes that neighbours may be found by: those that are read, and those that are written.
    pub fn pipes(&mut self) -> (Vec<PipeId>, Vec<PipeId>) {
        let Interface { inputs, outputs, idle, .. } = self;
        let outputs = outputs.iter_mut().chain(idle);
        (
            inputs.iter_mut().filter_map(|input| input.pipe()?.stream().id()).collect(),
            outputs.filter_map(|output| output.pipe()?.stream().id()).collect(),
        )
    }

    /// Says whether a pipe's writer may go on in a ring at any moment.
    pub fn await_ring(&mut self, id: PipeId, awaits_ring: bool) {
        let Interface { inputs, rx_poller, .. } = self;
        for (idx, input) in inputs.iter_mut().enumerate() {
            if let Some(pipe) = input.pipe().filter(|pipe| pipe.stream().is(id)) {
                pipe.await_ring(awaits_ring, idx == 0, rx_poller);
            }
        }
    }

    /// Lets a pipe's reader go on in a ring after what the pipe holds, and answers through the other ring.
    pub fn upgrade_input(&mut self, id: PipeId, rings: (RingIn, RingOut), neighbour: u32) {
        let (mut input, output) = rings;
        if !self.is_read {
            input.refuse();
        }
        let Interface { inputs, rx_poller, .. } = self;
        let pipes = inputs.iter_mut().enumerate().filter_map(|(idx, input)| Some((idx, input.pipe()?)));
        let Some((idx, pipe)) = pipes.into_iter().find(|(_, pipe)| pipe.stream().is(id)) else { return };
        // Only the pipe that is being read is watched.
        pipe.upgrade(input, idx == 0, rx_poller);
        self.meet(neighbour);
        if !self.outputs.iter_mut().any(|output| output.pipe().is_some()) {
            output.call_self();
            let added = self.add_output(Box::new(output));
            self.faults.extend(added.err().map(|error| error.to_string()));
            // What was used before is finished at once: its reader may be waiting for that.
            self.flush();
        }
    }

    /// Lets a pipe's writer go on in a ring, and reads what comes back through the other ring.
    pub fn upgrade_output(&mut self, id: PipeId, rings: (RingIn, RingOut), neighbour: u32) {
        let (mut input, output) = rings;
        if !self.is_read {
            input.refuse();
        }
        let is_duplex = !self.inputs.iter_mut().any(|input| input.pipe().is_some());
        let Interface { outputs, tx_poller, .. } = self;
        let pipe = outputs.iter_mut().filter_map(|output| output.pipe()).find(|pipe| pipe.stream().is(id));
        let Some(pipe) = pipe else { return };
        pipe.upgrade(output, tx_poller);
        self.meet(neighbour);
        if is_duplex {
            input.call_self();
            let added = self.add_input(Box::new(input));
            self.faults.extend(added.err().map(|error| error.to_string()));
        }
    }

    /// Packets go from stack to stack in the kernel, or through one of both processes alone.
    pub fn set_kernel_joint(&mut self, joint: &'static str, neighbour: u32, line: Line) {
        self.kernel_joint = Some((joint, line));
        self.meet(neighbour);
    }

    fn meet(&mut self, neighbour: u32) {
        self.neighbour = Some(neighbour);
        meeting::tell();
    }

    /// Whether it was agreed with a neighbour how packets go.
    pub fn has_met(&self) -> bool {
        self.neighbour.is_some()
    }

    /// Says whether a neighbour was found with which something is about to be agreed.
    pub fn set_meeting(&mut self, is_meeting: bool) {
        self.is_meeting = is_meeting;
    }

    /// Whether a neighbour was found with which something is about to be agreed.
    pub fn is_meeting(&self) -> bool {
        self.is_meeting
    }

    /// Packets go through the pipe again.
    pub fn end_kernel_joint(&mut self) {
        self.kernel_joint = None;
        self.neighbour = None;
        let Some(pipe) = self.idle.take() else { return };
        // What went around it, both ways.
        if let Some(output) = self.outputs.pop_back() {
            output.unwatch(&mut self.tx_poller);
        }
        if let Some(idx) = self.inputs.iter().position(|input| !input.is_stream()) {
            if let Some(input) = self.inputs.remove(idx) {
                input.unwatch(&mut self.rx_poller);
            }
        }
        self.outputs.push_back(pipe);
        self.is_blocked = false;
    }

    /// Whether packets take another way than this interface's pipe.
    pub fn has_kernel_joint(&self) -> bool {
        self.kernel_joint.is_some()
    }

    /// Packets go another way than through the pipe, which stays as the sign of life.
    pub fn go_around(&mut self, input: Box<dyn Input>, output: Box<dyn Output>) -> sys::Result<()> {
        self.idle = self.outputs.pop_back();
        self.add_input(input)?;
        self.add_output(output)
    }

    /// A duplicate of the tap that packets go to, if they do.
    pub fn tap(&self) -> Option<std::os::fd::OwnedFd> {
        self.outputs.back()?.tap()
    }

    /// Lets go of all inputs and outputs: packets take another way.
    pub fn clear(&mut self) {
        for input in self.inputs.drain(..) {
            input.unwatch(&mut self.rx_poller);
        }
        for output in self.outputs.drain(..) {
            output.unwatch(&mut self.tx_poller);
        }
        self.waiting.truncate(0);
        self.is_blocked = false;
    }

    /// What is told of it.
    pub fn report(&self) -> Report {
        let input = self.inputs.front();
        let output = self.outputs.back();
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
            neighbour: self.neighbour.filter(|_| joint != "pipe"),
            received: self.received,
            sent: self.sent,
            n_dropped: n_bad + self.n_unread + self.n_lost(),
            n_waiting: if self.n_lost() > 0 { 0 } else { self.waiting.len() },
            n_waiting_bytes: input.map_or(0, |input| input.n_waiting_bytes()),
        }
    }
}
