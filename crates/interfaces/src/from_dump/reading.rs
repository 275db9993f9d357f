//! How FromDump takes packets from the capture: in time, up to the end time.

use args::Timestamp;
use element::{Batch, Ctx, Packet};

use super::{FromDump, Output, NOT_IP};
use crate::dump_source::Found;
use crate::dump_window::Place;
use crate::mark_ip::mark_ip;

/// How often the handler at the end may put the end off at once.
const MAX_EXTENSIONS: usize = 1000;

/// What was read ahead.
pub(super) enum Next {
    Nothing,
    /// A packet whose time has not come.
    Early(Packet, u32),
    /// The first packet after the end time.
    PastEnd(Packet, u32),
    /// That packet while another element is told of the end, for the how manieth time.
    Told(Packet, u32, usize),
    /// The capture cannot be read further.
    Fault(String),
}

/// What a look at the capture yields.
pub(super) enum Step {
    /// A packet and its link type.
    Packet(Packet, u32),
    PassedOver,
    /// Nothing until more is written.
    NothingYet,
    /// A packet that is too early, or the end comes before it.
    Wait,
    /// What comes next shows when another element has been told of the end.
    Told,
    End,
}

impl FromDump {
    /// Reads at most `max` packets, looking at most at `tries` records. What stops the reading is told only if no packet
    /// goes before it, else at the next call.
    pub(super) fn gather(&mut self, ctx: &mut Ctx<'_>, max: usize, tries: usize) -> (Batch, Step) {
        let (mut batch, mut others) = (Batch::new(), Batch::new());
        let mut stop = Step::PassedOver;
        let mut left = tries;
        while left > 0 && batch.len() < max && others.room() > 0 {
            left -= 1;
            let is_first = batch.is_empty() && others.is_empty();
            let step = self.step(ctx, is_first);
            match step {
                Step::Packet(mut packet, link_type) => {
                    if !self.forces_ip || mark_ip(&mut packet, link_type) {
                        batch.push(packet);
                    } else {
                        others.push(packet);
                    }
                }
                Step::PassedOver => {}
                // What has come does not wait for what may come.
                Step::NothingYet => break,
                Step::Wait | Step::Told => {
                    stop = step;
                    break;
                }
                // The end does not wait for another run because of packets that are no packets of the source: they go before it.
                Step::End if batch.is_empty() && !is_first => {
                    pass_by(ctx, std::mem::take(&mut others));
                    left += 1;
                }
                Step::End => {
                    if is_first {
                        stop = Step::End;
                    }
                    break;
                }
            }
        }
        self.count += batch.len() as u64;
        self.traffic.add_batch(&batch);
        ctx.emit_or_drop(1, NOT_IP, others);
        (batch, stop)
    }

    /// Takes the next packet, if its time has come. With `is_first`, an end or a fault is acted upon.
    #[inline]
    fn step(&mut self, ctx: &mut Ctx<'_>, is_first: bool) -> Step {
        let step = if matches!(self.next, Next::Nothing) {
            self.read_record(ctx, is_first)
        } else {
            self.step_ahead(ctx, is_first)
        };
        match step {
            Step::Packet(packet, link_type) if self.keeps_timing => self.in_time(ctx, packet, link_type),
            step => step,
        }
    }

    /// Goes on with what was read ahead.
    #[cold]
    fn step_ahead(&mut self, ctx: &mut Ctx<'_>, is_first: bool) -> Step {
        match std::mem::replace(&mut self.next, Next::Nothing) {
            Next::Early(packet, link_type) => Step::Packet(packet, link_type),
            Next::PastEnd(packet, link_type) if is_first => self.pass_end(ctx, packet, link_type),
            Next::Told(packet, link_type, n_told) => self.go_on_past_end(ctx, packet, link_type, n_told),
            Next::Fault(message) if is_first => {
                ctx.complain(&message);
                element::failure::note();
                Step::End
            }
            next => {
                self.next = next;
                Step::End
            }
        }
    }

    #[inline]
    fn read_record(&mut self, ctx: &mut Ctx<'_>, may_wait: bool) -> Step {
        let found = self.source.next(ctx, may_wait);
        if let Some(time) = self.source.first_time.take().filter(|_| self.keeps_timing) {
            self.timing_offset_ns = ctx.steady_ns().saturating_sub(time.as_nanos());
        }
        match found {
            Found::Packet(packet, link_type) => return Step::Packet(packet, link_type),
            Found::PastEnd(packet, link_type) => self.next = Next::PastEnd(packet, link_type),
            Found::Fault(message) => self.next = Next::Fault(message),
            Found::NothingYet => return Step::NothingYet,
            Found::PassedOver => {}
            Found::End => return Step::End,
        }
        Step::PassedOver
    }

    /// The end time is reached: tells so. Whoever is told may put the end off.
    fn pass_end(&mut self, ctx: &mut Ctx<'_>, packet: Packet, link_type: u32) -> Step {
        if self.tells_others(ctx) {
            return self.tell_end(ctx, packet, link_type, 1);
        }
        let time = Timestamp::from_nanos(packet.timestamp_ns());
        for _ in 0..MAX_EXTENSIONS {
            self.end(ctx, true);
            if !self.is_active {
                return Step::End;
            }
            match self.source.window.place(time) {
                Place::After => {}
                Place::Before => return Step::PassedOver,
                Place::Within => break,
            }
        }
        self.sampled(ctx, packet, link_type)
    }

    /// The packet, if it is one of the sample: behind the end, lots are drawn only now.
    fn sampled(&self, ctx: &mut Ctx<'_>, packet: Packet, link_type: u32) -> Step {
        match self.source.leaves_out(ctx) {
            true => Step::PassedOver,
            false => Step::Packet(packet, link_type),
        }
    }

    /// Whether a handler of another element is written at the end: after this method, so that the packet must wait for it. A
    /// puller cannot wait.
    fn tells_others(&self, ctx: &Ctx<'_>) -> bool {
        let is_others = self.end_call.as_ref().is_some_and(|call| call.is_of_another(ctx));
        is_others && matches!(self.output, Output::Push(..))
    }

    fn tell_end(&mut self, ctx: &mut Ctx<'_>, packet: Packet, link_type: u32, n_told: usize) -> Step {
        self.end(ctx, true);
        ctx.go_on_later();
        self.next = Next::Told(packet, link_type, n_told);
        Step::Told
    }

    /// Another element has been told of the end.
    fn go_on_past_end(&mut self, ctx: &mut Ctx<'_>, packet: Packet, link_type: u32, n_told: usize) -> Step {
        if !self.is_active {
            return Step::End;
        }
        match self.source.window.place(Timestamp::from_nanos(packet.timestamp_ns())) {
            Place::After if n_told < MAX_EXTENSIONS => self.tell_end(ctx, packet, link_type, n_told + 1),
            Place::Before => Step::PassedOver,
            Place::After | Place::Within => self.sampled(ctx, packet, link_type),
        }
    }

    /// Holds a packet back until its time comes.
    fn in_time(&mut self, ctx: &mut Ctx<'_>, packet: Packet, link_type: u32) -> Step {
        let due_ns = packet.timestamp_ns().saturating_add(self.timing_offset_ns);
        if ctx.steady_ns() >= due_ns {
            return Step::Packet(packet, link_type);
        }
        match self.output {
            Output::Push(_, timer) => ctx.schedule_at(timer, due_ns),
            Output::Pull(timer) => {
                ctx.schedule_at(timer, due_ns);
                ctx.set_empty_signal(false);
            }
            Output::Unknown => {}
        }
        self.next = Next::Early(packet, link_type);
        Step::Wait
    }
}

/// Packets that are not IP go on at once.
#[cold]
fn pass_by(ctx: &mut Ctx<'_>, others: Batch) {
    if ctx.n_outputs() > 1 {
        ctx.emit_now(1, others);
    } else {
        ctx.drop_batch(NOT_IP, others);
    }
}
