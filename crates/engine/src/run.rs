//! The driver: runs tasks, signals, timers and file descriptors in turn until the graph stops.

use std::os::fd::AsFd;
use std::sync::Arc;
use std::time::Instant;

use element::{failure, ElementIdx, Runtime, TaskId, TimerId};

use crate::build::Engine;
use crate::wake::Waker;
use crate::world::World;

/// Task runs between looks at signals, timers and files.
const TASKS_PER_ROUND: usize = 128;
/// Rounds between looks at file descriptors while there are tasks to run.
const ROUNDS_PER_SELECT: u32 = 2;
/// Most rounds between looks at timers.
const MAX_TIMER_STRIDE: u32 = 32;
/// Timers run in a row before all expired ones are run once each.
const MAX_TIMERS: usize = 64;
/// A timer this late makes the driver look at timers more often.
const LATE_NS: i64 = 1_000_000;
/// The same with `weir click`; in simulated time each timer that is late does.
const CLICKS_LATE_NS: i64 = 500_000;
/// How long to sleep in real time when simulated time has come to its end.
const IDLE_NS: i64 = 1_000_000;
/// How often a task that lets nothing else run does so itself.
const HELD_NS: i64 = 50_000_000;
/// How often a driver manager may go on when the driver is about to stop.
const MAX_DRIVER_STEPS: usize = 1001;

/// Why a run ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// An element, a handler or the driver manager stopped it.
    Stopped,
    /// [`Engine::run_while`]'s condition no longer held.
    Interrupted,
}

/// How often the driver looks at what.
pub(crate) struct Pace {
    round: u32,
    stride: u32,
    n_punctual: u32,
}

impl Default for Pace {
    fn default() -> Pace {
        Pace { round: 0, stride: MAX_TIMER_STRIDE, n_punctual: 0 }
    }
}

impl Engine {
    /// Runs the graph until it stops.
    pub fn run(&mut self) -> Outcome {
        self.run_while(|_| true)
    }

    /// Runs the graph until it stops or `go_on`, which is asked once a round, says no.
    pub fn run_while(&mut self, mut go_on: impl FnMut(&mut World) -> bool) -> Outcome {
        if self.world.crew.is_some() {
            return self.run_crew(&mut go_on);
        }
        let world = &mut self.world;
        world.begin_to_run();
        world.tasks.start();
        let mut pace = Pace::default();
        loop {
            if world.awaited_change.is_some() {
                world.make_awaited_change();
            }
            // A configuration may end with asking for the next one.
            if world.runcount <= 0 && !world.manager_goes_on() && world.awaited_change.is_none() {
                return Outcome::Stopped;
            }
            if !go_on(world) {
                return Outcome::Interrupted;
            }
            world.round(&mut pace);
        }
    }
}

impl World {
    /// A round of the driver: tasks, and what else it is time for.
    pub(crate) fn round(&mut self, pace: &mut Pace) {
        if self.is_held() {
            return self.round_held();
        }
        pace.round = pace.round.wrapping_add(1);
        self.run_tasks();
        self.run_signals();
        if pace.round.is_multiple_of(pace.stride) {
            self.run_timers(pace);
        }
        if pace.round.is_multiple_of(ROUNDS_PER_SELECT) {
            self.run_selects();
        }
    }

    /// Whether an element lets nothing else run.
    fn is_held(&self) -> bool {
        !self.holders.is_empty()
    }

    /// A round in which only those run that let nothing else run, once there is something for them to see.
    fn round_held(&mut self) {
        self.run_signals();
        let Some(waker) = self.waker() else { return };
        let holders = self.holders.clone();
        let own = self.selects.take_elements(|element| holders.iter().any(|(holder, _)| *holder == element));
        let timeout = if self.lie_down() { HELD_NS } else { 0 };
        let mut events = std::mem::take(&mut self.spare_events);
        own.wait(waker.as_fd(), Some(timeout), &mut events);
        events.clear();
        self.rise();
        self.spare_events = events;
        self.selects.append(own);
        for (element, task) in holders {
            self.forget_times();
            if self.call(element, |element, ctx| element.run_task(ctx, task)).is_none() {
                Runtime::release(self, element);
            }
        }
        self.have_arrived();
        waker.reset();
    }

    /// Whether the driver manager keeps the driver running.
    pub(crate) fn manager_goes_on(&mut self) -> bool {
        let Some(driver) = self.driver else { return false };
        for _ in 0..MAX_DRIVER_STEPS {
            self.forget_times();
            let goes_on = self.call(driver, |element, ctx| element.driver_stops(ctx));
            if goes_on != Some(true) || self.runcount > 0 {
                break;
            }
        }
        self.runcount > 0
    }

    fn run_tasks(&mut self) {
        self.runs_left = TASKS_PER_ROUND + 1;
        self.forget_times();
        // A turn is not left in the middle, and so a round may have some runs more.
        while self.runs_left > 0 || self.turn.is_on() {
            if self.runcount <= 0 {
                break;
            }
            let Some((task, element)) = self.tasks.begin() else { break };
            self.forget_old_times();
            if self.acts_for_threads() {
                self.thread = self.home_of(task);
            }
            let begin = self.balance.map(|_| Instant::now());
            let worked = self.call(element, |element, ctx| element.run_task(ctx, task)).unwrap_or(false);
            let worked = if self.goes_on { self.go_on_with(element) } else { worked };
            let (runs, is_over) = self.have_run();
            if is_over {
                self.have_arrived();
            }
            if let Some(begin) = begin.filter(|_| worked) {
                self.tasks.add_cost(task, begin.elapsed());
            }
            if !self.tasks.done(task, worked, runs) {
                break;
            }
            self.runs_left = self.runs_left.saturating_sub(runs);
        }
        self.runs_left = 0;
        if self.turn.is_on() {
            // Somebody stopped the driver.
            self.end_turn();
            self.have_arrived();
        }
        if self.acts_for_threads() {
            self.thread = 0;
        }
    }

    /// Lets an element go on with its task or timer as long as it asks for that.
    fn go_on_with(&mut self, element: ElementIdx) -> bool {
        let mut worked = false;
        while std::mem::take(&mut self.goes_on) {
            worked = self.call(element, |element, ctx| element.go_on(ctx)).unwrap_or(false);
        }
        worked
    }

    /// Whether this world runs the tasks of several threads in turn, as in simulated time.
    #[inline]
    fn acts_for_threads(&self) -> bool {
        self.n_threads > 1 && self.crew.is_none()
    }

    /// The thread that a task belongs to.
    fn home_of(&self, task: TaskId) -> usize {
        let home = self.tasks.get(task).map_or(0, |task| task.home_thread);
        usize::try_from(home).unwrap_or(0).min(self.n_threads - 1)
    }

    fn run_signals(&mut self) {
        let happened = self.signals.take();
        if happened.is_empty() {
            return;
        }
        let mut handled = Vec::new();
        for (signo, element) in &happened {
            self.forget_times();
            if self.call(*element, |element, ctx| element.signalled(ctx, *signo)) == Some(true) {
                handled.push(*signo);
            }
        }
        self.signals.settle(happened.into_iter().map(|(signo, _)| signo), &handled);
    }

    fn run_timers(&mut self, pace: &mut Pace) {
        let Some(expiry) = self.timers.next_expiry() else { return };
        if self.runcount <= 0 || self.is_held() {
            return;
        }
        self.forget_times();
        let now = Runtime::steady_ns(self);
        if expiry > now {
            return;
        }
        let late_from = late_from(failure::is_told_as_click(), self.clock.is_simulated());
        pace.adapt(now - expiry >= late_from);
        for _ in 0..=MAX_TIMERS {
            let Some((timer, element)) = self.timers.pop(now) else { return };
            self.run_timer(timer, element);
            if self.runcount <= 0 || self.is_held() {
                return;
            }
        }
        // Perhaps a timer sets itself into the past for ever: let every expired one run once.
        for (timer, element, at_ns) in self.timers.expired(now) {
            if self.runcount <= 0 || self.is_held() {
                return;
            }
            // One that ran before may have stopped it, or set it anew.
            if !self.timers.is_scheduled_at(timer, at_ns) {
                continue;
            }
            self.timers.unschedule(timer);
            self.run_timer(timer, element);
        }
    }

    fn run_timer(&mut self, timer: TimerId, element: ElementIdx) {
        self.forget_times();
        self.call(element, |element, ctx| element.run_timer(ctx, timer));
        if self.goes_on {
            self.go_on_with(element);
        }
    }

    /// Looks at file descriptors; waits for them, or for the next timer, if there is no task to run.
    fn run_selects(&mut self) {
        let busy = self.tasks.is_active() || self.runcount <= 0;
        if (busy && self.selects.is_empty()) || self.is_held() {
            return;
        }
        let timeout = match self.timers.next_expiry() {
            _ if busy || self.signals.have_come() => Some(0),
            // Nothing can happen in simulated time any more, but the caller may want to know.
            None if self.clock.is_simulated() => Some(IDLE_NS),
            None => None,
            Some(expiry) if self.clock.is_simulated() => {
                self.clock.jump_to(expiry);
                self.forget_times();
                Some(0)
            }
            Some(expiry) => {
                self.forget_times();
                let left = expiry.saturating_sub(Runtime::steady_ns(self)).max(0);
                Some((left as f64 / self.clock.speed()) as i64)
            }
        };
        let Some(waker) = self.waker() else { return };
        let timeout = if timeout == Some(0) || self.lie_down() { timeout } else { Some(0) };
        let mut events = std::mem::take(&mut self.spare_events);
        self.selects.wait(waker.as_fd(), timeout, &mut events);
        self.rise();
        for (element, fd, ready) in events.drain(..) {
            self.forget_times();
            self.call(element, |element, ctx| element.selected(ctx, fd, ready));
            if self.runcount <= 0 || self.is_held() {
                break;
            }
        }
        self.spare_events = events;
        waker.reset();
    }

    /// What wakes the driver.
    pub fn waker(&mut self) -> Option<Arc<Waker>> {
        if self.waker.is_none() {
            self.waker = Waker::new().ok().map(Arc::new);
        }
        self.waker.clone()
    }
}

/// From when on a timer is late.
fn late_from(is_click: bool, is_simulated: bool) -> i64 {
    match (is_click, is_simulated) {
        (true, true) => 0,
        (true, false) => CLICKS_LATE_NS,
        (false, _) => LATE_NS,
    }
}

impl Pace {
    /// Looks more often after a late timer, less often after many punctual ones.
    fn adapt(&mut self, is_late: bool) {
        if is_late {
            self.n_punctual = 0;
            self.stride = (self.stride * 4 / 5).max(1);
        } else {
            self.n_punctual += 1;
            if self.n_punctual >= 12 {
                self.n_punctual = 0;
                self.stride = (self.stride + 1).min(MAX_TIMER_STRIDE);
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn timers_that_are_late_are_looked_at_more_often() {
        let stride_after = |late_ns: i64, is_click, is_simulated| {
            let mut pace = Pace::default();
            pace.adapt(late_ns >= late_from(is_click, is_simulated));
            pace.stride
        };
        assert_eq!(stride_after(1, true, true), 25);
        assert_eq!(stride_after(500_000, true, false), 25);
        assert_eq!(stride_after(499_999, true, false), MAX_TIMER_STRIDE);
        assert_eq!(stride_after(999_999, false, true), MAX_TIMER_STRIDE);
    }
}
