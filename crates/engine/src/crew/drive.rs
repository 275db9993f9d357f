//! Driving a crew: the first thread's loop, how threads sleep, and how all stop.

use std::os::fd::AsFd;
use std::sync::Arc;

use rustix::event::{poll, PollFd, PollFlags};

use super::hand::Hand;
use super::mate::Mate;
use super::mate_of;
use crate::build::Engine;
use crate::run::{Outcome, Pace};
use crate::world::World;

/// How often a thread looks for parcels before it sleeps, which takes some microseconds: less than to sleep and be woken.
const SPINS: usize = 200;

/// Keeps the calling thread on a processor, if one is given.
pub(super) fn pin(cpu: Option<usize>) {
    if let Some(cpu) = cpu {
        // A processor that is not ours to use is no reason not to run.
        let _ = sys::cpu::pin_thread(cpu);
    }
}

/// Ends the run for all threads, also if the first one panics.
struct Ending<'a>(&'a super::Board);

impl Drop for Ending<'_> {
    fn drop(&mut self) {
        self.0.set_over(true);
    }
}

/// What a look at a stop has led to.
enum Halt {
    /// Some thread has not stopped yet.
    Waits,
    /// The run is over.
    Over,
    /// The driver manager goes on.
    GoesOn,
}

impl Engine {
    /// Runs all worlds of a crew, the first one on the calling thread.
    pub(crate) fn run_crew(&mut self, go_on: &mut dyn FnMut(&mut World) -> bool) -> Outcome {
        let Some(crew) = &self.world.crew else { return Outcome::Stopped };
        let (board, cpu) = (crew.board.clone(), crew.cpu);
        board.set_over(false);
        let begin = |(hand, mate): (&Hand, &Arc<Mate>)| {
            let mate = mate.clone();
            hand.begin(move || mate.work())
        };
        let working: Vec<_> = crew.hands.iter().zip(crew.mates.iter()).map(begin).collect();
        let ending = Ending(&board);
        let before = cpu.and_then(|_| sys::cpu::allowed().ok());
        pin(cpu);
        let outcome = self.world.lead(go_on);
        if let Some(cpus) = before {
            // The thread was there before: it may go back.
            let _ = sys::cpu::allow_thread(&cpus);
        }
        drop(ending);
        let n_failed =
            working.into_iter().filter_map(|working| working.finish().is_none().then_some(())).count();
        // What they had to say they have said; nobody shall take this for a good end.
        assert!(n_failed == 0, "{n_failed} threads have panicked");
        outcome
    }
}

impl World {
    /// The loop of the first world.
    fn lead(&mut self, go_on: &mut dyn FnMut(&mut World) -> bool) -> Outcome {
        self.begin_to_run();
        self.tasks.start();
        let mut pace = Pace::default();
        let mut are_halted = false;
        loop {
            if !go_on(self) || self.crew.as_ref().is_none_or(|crew| crew.board.is_over()) {
                return Outcome::Interrupted;
            }
            if self.awaited_change.is_some() {
                self.make_awaited_change();
            }
            if self.must_balance {
                self.as_one(|_| ());
            }
            self.take_mail();
            if !self.flush() {
                self.doze();
            } else if self.runcount <= 0 || self.is_part_stopped() {
                match self.halt(&mut are_halted) {
                    Halt::Waits => self.doze(),
                    Halt::Over => return Outcome::Stopped,
                    Halt::GoesOn => {}
                }
            } else {
                self.round(&mut pace);
            }
        }
    }

    /// Whether a world that has a part of the graph wants the whole graph to stop.
    fn is_part_stopped(&self) -> bool {
        self.crew.as_ref().is_some_and(|crew| !crew.is_replicated && crew.board.is_any_stopped())
    }

    /// Brings all worlds to a stop, if what has stopped speaks for all, and asks the driver manager when they stand still.
    fn halt(&mut self, are_halted: &mut bool) -> Halt {
        let Some(crew) = &mut self.crew else { return Halt::Over };
        let (board, mates) = (crew.board.clone(), crew.mates.clone());
        if !*are_halted && (!crew.is_replicated || std::mem::take(&mut crew.stops_all)) {
            *are_halted = true;
            let counts = !crew.is_replicated;
            for mate in mates.iter() {
                let wanted = mate.with(|engine| {
                    let before = engine.world.runcount;
                    engine.world.runcount = before.min(0);
                    before.saturating_sub(1)
                });
                if counts {
                    self.runcount = self.runcount.saturating_add(wanted);
                }
            }
        }
        if !board.are_all_stopped() {
            return Halt::Waits;
        }
        // What they sent before they stopped is still to be taken, and may have come since this thread last looked.
        self.take_mail();
        for mate in mates.iter() {
            mate.with(|engine| engine.world.take_mail());
        }
        self.flush();
        if self.crew.as_ref().is_some_and(|crew| crew.post.is_waiting() || crew.post.spills()) {
            return Halt::Waits;
        }
        if self.runcount <= 0 && !self.manager_goes_on() {
            return Halt::Over;
        }
        for mate in mates.iter() {
            mate.with(|engine| engine.world.runcount = 1);
            board.desk(mate.index).set_stopped(false);
            board.desk(mate.index).waker.wake();
        }
        *are_halted = false;
        Halt::GoesOn
    }

    /// Sends what waits to be sent; false if some still does.
    #[inline]
    pub(crate) fn flush(&mut self) -> bool {
        self.crew.as_mut().is_none_or(|crew| crew.post.flush(&crew.board))
    }

    /// Says that the thread is about to sleep; false if there is something to do yet.
    pub(crate) fn lie_down(&mut self) -> bool {
        self.flush();
        self.publish();
        let Some(crew) = &self.crew else { return true };
        let desk = crew.board.desk(crew.index);
        for _ in 0..if crew.board.may_spin { SPINS } else { 0 } {
            if crew.post.is_waiting() || desk.is_wanted() {
                return false;
            }
            std::hint::spin_loop();
        }
        desk.lie_down(crew.post.spills());
        !crew.post.is_waiting()
    }

    /// Says that the thread is awake.
    pub(crate) fn rise(&self) {
        if let Some(crew) = &self.crew {
            crew.board.desk(crew.index).rise();
        }
    }

    /// Sleeps until somebody wakes the thread; nothing else is looked at.
    pub(crate) fn doze(&mut self) {
        let Some(waker) = self.waker() else { return };
        if self.lie_down() {
            // An interrupted sleep is a short one.
            let _ = poll(&mut [PollFd::from_borrowed_fd(waker.as_fd(), PollFlags::IN)], None);
        }
        self.rise();
        waker.reset();
    }

    /// Does something with another world; the first world alone can.
    pub(crate) fn tell_mate<R>(&self, world: usize, act: impl FnOnce(&mut World) -> R) -> Option<R> {
        let mates = self.mates();
        mate_of(&mates, world).map(|mate| mate.with(|engine| act(&mut engine.world)))
    }
}
