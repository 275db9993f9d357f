//! Going another way than through the pipe: in shared memory, or in the kernel.

use sys::pipe::{self, PipeId};

use super::Interface;
use crate::stage::joint::{Line, RingIn, RingOut};
use crate::stage::pipe_in::PipeIn;
use crate::stage::pipe_out::PipeOut;
use crate::stage::{meeting, Input, Output};

impl Interface {
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

    /// Whether somebody has the other end of any of its pipes.
    pub fn has_company(&mut self) -> bool {
        let Interface { inputs, outputs, idle, .. } = self;
        let mut read = inputs.iter_mut().filter_map(|input| input.pipe());
        let mut written = outputs.iter_mut().chain(idle).filter_map(|output| output.pipe());
        read.any(|pipe| pipe.stream().id().is_some() && !pipe::has_hung_up(pipe.stream()))
            || written.any(|pipe| pipe.stream().id().is_some() && !pipe::is_unread(pipe.stream()))
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
        // What nobody reads would be kept for ever: only who reads an input finds its end.
        let is_duplex = self.is_read && !self.inputs.iter_mut().any(|input| input.pipe().is_some());
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

    /// Another neighbour is about to take the place of the last one: the ring to that one is finished, as its reader may be waiting for
    /// that, and the way to the other one may be free only then. What is sent meanwhile waits.
    pub fn await_successor(&mut self) {
        self.awaits_successor = true;
        self.flush_and_call();
    }

    /// The other neighbour is there, or will not come.
    pub fn await_successor_no_more(&mut self) {
        if std::mem::take(&mut self.awaits_successor) {
            self.flush_and_call();
        }
    }

    /// Packets go from stack to stack in the kernel, or through one of both processes alone.
    pub fn set_kernel_joint(&mut self, joint: &'static str, neighbour: u32, line: Line) {
        self.kernel_joint = Some((joint, line));
        self.meet(neighbour);
    }

    /// As [`Interface::set_kernel_joint`], where the neighbour does all that there is to do: what was used before is finished, as its
    /// reader may be waiting for that. Packets that wait because there was nothing to write them to are lost, as are those in
    /// [`Interface::clear`].
    pub fn leave_to(&mut self, joint: &'static str, neighbour: u32, line: Line) {
        self.set_kernel_joint(joint, neighbour, line);
        (self.has_way_out, self.is_left, self.awaits_successor) = (true, true, false);
        self.flush_and_call();
    }

    fn meet(&mut self, neighbour: u32) {
        self.neighbour = Some(neighbour);
        meeting::tell();
    }

    /// Says that another process is to be at the other end, which is not known yet.
    pub fn forget_neighbour(&mut self) {
        self.neighbour = None;
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
        (self.kernel_joint, self.is_left) = (None, false);
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
        self.is_over = false;
        if self.is_blocked {
            self.tell_of_room();
        }
    }

    /// Whether packets take another way than this interface's pipe.
    pub fn has_kernel_joint(&self) -> bool {
        self.kernel_joint.is_some()
    }

    /// Packets go another way than through the pipe, which stays as the sign of life.
    pub fn go_around(&mut self, input: Box<dyn Input>, output: Box<dyn Output>) -> sys::Result<()> {
        self.idle = self.outputs.pop_back();
        if let Some(idle) = &mut self.idle {
            idle.set_blocked(&mut self.tx_poller, false);
        }
        self.add_input(input)?;
        self.add_output(output)?;
        if self.is_blocked {
            self.tell_of_room();
        }
        Ok(())
    }

    /// A duplicate of the tap that packets go to, if they do.
    pub fn tap(&self) -> Option<std::os::fd::OwnedFd> {
        self.outputs.back()?.tap()
    }
}
