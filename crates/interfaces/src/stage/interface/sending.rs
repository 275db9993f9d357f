//! Sending: at once, or as soon as there is room.

use std::os::fd::AsFd;
use std::time::Duration;

use element::{Batch, BATCH_MAX};
use sys::poll::{Interest, Waker};

use super::{Interface, MAX_KEPT, MAX_WAITING};
use crate::stage::{unwatch_fd, watch_fd, Dispatch, Output};

impl Interface {
    /// Writes to `output` from now on; those before it finish what they began.
    pub fn add_output(&mut self, output: Box<dyn Output>) -> sys::Result<()> {
        output.watch(&mut self.tx_poller)?;
        self.outputs.push_back(output);
        (self.is_closed, self.is_over, self.is_left, self.awaits_successor) = (false, false, false, false);
        (self.has_way_out, self.is_unwanted) = (true, false);
        Ok(())
    }

    /// Writes to `output` from now on, beginning with what waits.
    pub fn go_on_with(&mut self, output: Box<dyn Output>) -> sys::Result<()> {
        let was_full = self.is_full();
        self.add_output(output)?;
        self.flush();
        if was_full {
            self.tell_of_room();
        }
        Ok(())
    }

    /// Has the descriptor of the output tell as soon as the first output has room: who sends takes it for full.
    pub(super) fn tell_of_room(&mut self) {
        if let Some(output) = self.outputs.front_mut() {
            output.set_blocked(&mut self.tx_poller, true);
        }
    }

    /// Says that what is sent is to go nowhere.
    pub fn want_no_output(&mut self) {
        (self.has_way_out, self.is_over, self.is_unwanted) = (true, true, true);
    }

    /// Packets that were sent though the interface can only be read, once nobody can come any more who would take what waits.
    pub fn n_lost(&self) -> u64 {
        match self.has_way_out {
            true => self.n_lost,
            false => self.n_lost + self.waiting.len() as u64 + self.n_turned_away,
        }
    }

    /// Packets that an output took, or would have, whose reader has gone; 0 where it was told why the output takes nothing, and where
    /// there is to be none.
    pub fn n_unread(&self) -> u64 {
        let is_explained = self.is_unwanted || self.has_failed || !self.faults.is_empty();
        if is_explained {
            0
        } else {
            self.n_unread
        }
    }

    /// Counts packets that could not even wait and are dropped.
    pub fn count_turned_away(&mut self, n: usize) {
        self.n_turned_away += n as u64;
    }

    /// Packets that could not even wait for room, or for an output that came later.
    pub fn n_turned_away(&self) -> u64 {
        match self.has_way_out {
            true => self.n_turned_away,
            false => 0,
        }
    }

    /// Sends a batch; what there is no room for waits, as does what nobody is there to read yet. The packets that cannot even wait are
    /// left in the batch, for the caller to drop. [`Interface::wake_reader`] is to follow soon.
    pub fn send(&mut self, batch: &mut Batch) {
        loop {
            let n = self.count_next(batch, MAX_WAITING);
            if let [output] = self.outputs.make_contiguous() {
                if self.waiting.is_empty() {
                    output.send_now(batch);
                    if batch.is_empty() {
                        return;
                    }
                }
            }
            self.waiting.push_batch(batch, n);
            self.send_waiting();
            // As many as may wait did so, but there may be room since it was last looked.
            if batch.is_empty() || self.waiting.len() >= MAX_WAITING {
                return;
            }
        }
    }

    /// How many packets of the batch can wait if `max` may, which are counted as sent.
    #[inline(always)]
    fn count_next(&mut self, batch: &Batch, max: usize) -> usize {
        let n = max.saturating_sub(self.waiting.len()).min(batch.len());
        batch.iter().take(n).for_each(|packet| self.sent.add(packet));
        n
    }

    /// Keeps packets that cannot even wait in line, behind those that do, as far as their sender stops meanwhile. What is left in the
    /// batch is too much even so.
    pub fn keep(&mut self, batch: &mut Batch) {
        let n = self.count_next(batch, MAX_KEPT);
        self.waiting.push_batch(batch, n);
    }

    /// Whether more packets wait than may wait in line.
    pub fn keeps(&self) -> bool {
        self.waiting.len() > MAX_WAITING
    }

    /// Gives back the last ones of the packets that are kept beyond those that wait in line.
    pub fn give_back(&mut self) -> Batch {
        let mut batch = Batch::new();
        while self.keeps() && batch.len() < BATCH_MAX {
            let Some(packet) = self.waiting.pop_back() else { break };
            self.sent.take_back(&packet);
            batch.push(packet);
        }
        batch
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
            // A few may wait without anybody standing still for them.
            self.is_blocked = self.awaits_successor && self.waiting.len() >= MAX_WAITING / 2;
            if self.is_over || self.is_left || !(self.has_way_out || self.may_get_output) {
                self.give_up_waiting();
            }
            return;
        };
        let dispatch = output.send(&mut self.waiting, &mut self.tx_poller);
        // Always said: it may be another output than the last time, or the same one in another way.
        self.is_blocked = dispatch == Dispatch::Blocked;
        output.set_blocked(&mut self.tx_poller, self.is_blocked);
        match dispatch {
            Dispatch::All if (self.is_left || self.awaits_successor) && output.ends_with_neighbour() => {
                output.finish(&mut self.tx_poller);
                output.unwatch(&mut self.tx_poller);
                self.outputs.pop_front();
            }
            Dispatch::All | Dispatch::Blocked => {}
            Dispatch::Unread => self.give_up_waiting(),
            Dispatch::Closed => self.close_output(None),
            Dispatch::Fault(message) => self.close_output(Some(message)),
        }
    }

    fn close_output(&mut self, fault: Option<String>) {
        self.faults.extend(fault);
        let Some(output) = self.outputs.pop_front() else { return };
        output.unwatch(&mut self.tx_poller);
        self.give_up_waiting();
        self.is_blocked = false;
        self.is_over |= !output.ends_with_neighbour() && self.outputs.is_empty();
        self.is_closed |= self.is_over && output.is_stream();
    }

    /// Nobody will read what waits.
    pub(super) fn give_up_waiting(&mut self) {
        let n = self.waiting.len() as u64;
        match self.has_way_out {
            true => self.n_unread += n,
            false => self.n_lost += n,
        }
        self.waiting.truncate(0);
    }

    /// As [`Interface::flush`], where no output may be left that would tell who sends of the room that there is then.
    pub(super) fn flush_and_call(&mut self) {
        let was_full = self.is_full();
        self.flush();
        self.call_sender(was_full);
    }

    /// Has the descriptor of the output tell at once that there is room, if there was none: no output is left that would.
    pub(super) fn call_sender(&mut self, was_full: bool) {
        if !was_full || self.is_full() || self.bell.is_some() {
            return;
        }
        // Where no descriptor is free, who sends hears of it with its next packet.
        let Ok(bell) = Waker::new() else { return };
        if watch_fd(&mut self.tx_poller, bell.as_fd(), Interest::READ).is_ok() {
            bell.wake();
            self.bell = Some(bell);
        }
    }

    /// Looks at what the descriptor of the output tells.
    pub fn look_at_output(&mut self) {
        if let Some(bell) = self.bell.take() {
            unwatch_fd(&mut self.tx_poller, bell.as_fd());
        }
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

    /// The stage ends: nobody is to find any more what would lead to it.
    pub fn leave(&mut self) {
        self.outputs.iter_mut().for_each(|output| output.leave());
    }

    /// How many packets wait for room, and how many for an output, or for the end if no element looks after them any
    /// more.
    pub fn n_waiting(&self) -> (usize, usize) {
        if self.outputs.is_empty() || self.n_writers == 0 {
            (0, self.waiting.len())
        } else {
            (self.waiting.len(), 0)
        }
    }
}
