//! Receiving: from one input after the other.

use element::Batch;

use super::Interface;
use crate::stage::relay::{self, Moved, Relayed};
use crate::stage::{Input, Receipt};

impl Interface {
    /// Reads from `input` once all inputs before it have ended.
    pub fn add_input(&mut self, mut input: Box<dyn Input>) -> sys::Result<()> {
        self.has_ended = false;
        self.may_get_output |= input.pipe().is_some_and(|pipe| pipe.stream().id().is_some());
        if self.inputs.is_empty() {
            input.watch(&mut self.rx_poller)?;
        }
        self.expect_no_more();
        self.inputs.push_back(input);
        Ok(())
    }

    /// Takes the end of a ring for that of its pipe from now on: nobody goes on in the pipe.
    pub fn expect_no_more(&mut self) {
        self.inputs.iter_mut().filter_map(|input| input.pipe()).for_each(|pipe| pipe.expect_no_more());
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

    /// Moves packets straight to `to`, at most `max`. If none were, [`Interface::receive`] finds out why.
    pub fn relay(&mut self, to: &mut Interface, max: usize, now_ns: impl FnOnce() -> i64) -> Moved {
        let (Some(input), [output]) = (self.inputs.front_mut(), to.outputs.make_contiguous()) else {
            return Moved::None;
        };
        let (Some(from), Some(output), true) = (input.relay_end(), output.relay_end(), to.waiting.is_empty())
        else {
            return Moved::None;
        };
        let Relayed { traffic, left, is_all } = relay::relay(from, output, max, now_ns);
        self.received.add_traffic(traffic);
        to.sent.add_traffic(traffic);
        let moved = match traffic.packets > 0 || left.is_some() {
            false => Moved::None,
            true if is_all && input.may_sleep() => Moved::All,
            true => Moved::Some,
        };
        if let Some(packet) = left {
            self.received.add(&packet);
            to.send(&mut Batch::of(packet));
        }
        to.wake_reader();
        moved
    }

    /// Goes on with the next input.
    fn end_input(&mut self) {
        let Some(input) = self.inputs.pop_front() else { return };
        input.unwatch(&mut self.rx_poller);
        self.n_missed += input.n_missed();
        match self.inputs.front() {
            Some(next) => {
                if let Err(error) = next.watch(&mut self.rx_poller) {
                    self.faults.push(error.to_string());
                }
            }
            None => {
                self.has_ended |= !input.ends_with_neighbour();
                self.await_successor_no_more();
            }
        }
    }
}
