//! When an element acts: the time, tasks, timers, notifiers, files and signals.

use std::os::fd::BorrowedFd;

use graph::PortIdx;

use super::{Causes, Ctx, Puller, Ready, Signal, TaskId, TimerId, Wake};
use crate::Clock;

impl Ctx<'_> {
    // ---- time

    /// Wall-clock time in nanoseconds since the epoch, read once in a task run or for a timer. Short runs that follow each other, in which
    /// hardly any packets move, share a time; see [`Ctx::forget_times`].
    #[inline]
    pub fn now_ns(&mut self) -> i64 {
        self.runtime.now_ns()
    }

    /// Lets times be read anew when they are next asked for, by whichever element: for who measures what takes less than a task run.
    pub fn forget_times(&mut self) {
        self.runtime.forget_times();
    }

    /// Runs `work` with a clock to read the time from, for work that does not always need the time: the system's clock is
    /// looked at when it is first read.
    #[inline(always)]
    pub fn with_clock<T>(&mut self, work: impl FnOnce(&mut Ctx<'_>, &mut Clock) -> T) -> T {
        let mut clock = self.runtime.clock();
        let result = work(self, &mut clock);
        if let (Some(begin_ns), passed_ns) = clock.readings() {
            self.runtime.clock_was_read(begin_ns, passed_ns);
        }
        result
    }

    /// Steady time in nanoseconds, without letting simulated time pass.
    #[inline]
    pub fn recent_steady_ns(&mut self) -> i64 {
        self.runtime.recent_steady_ns()
    }

    /// Lets simulated time pass, as for readings of the time that were not made.
    pub fn let_pass(&mut self, passed_ns: i64) {
        self.runtime.pass_ns(passed_ns);
    }

    /// Steady time in nanoseconds, for intervals.
    #[inline]
    pub fn steady_ns(&mut self) -> i64 {
        self.runtime.steady_ns()
    }

    // ---- tasks

    /// Makes a task of this element; in [`Element::initialize`]. It is not scheduled yet. `ScheduleInfo` and the thread
    /// schedulers apply to it.
    pub fn new_task(&mut self) -> TaskId {
        self.runtime.new_task(self.element)
    }

    /// Schedules a task: it runs when its turn comes.
    #[inline]
    pub fn schedule(&mut self, task: TaskId) {
        self.runtime.schedule(task);
    }

    /// Unschedules a task until it is scheduled or a notifier wakes it.
    pub fn unschedule(&mut self, task: TaskId) {
        self.runtime.unschedule(task);
    }

    /// Has [`Element::go_on`](crate::Element::go_on) called when all that comes of what was emitted so far is over. Only for methods that
    /// run a task or a timer: what they do behind their packets (count them, set a task anew) is seen by nobody whom these reach.
    #[inline]
    pub fn go_on_later(&mut self) {
        self.runtime.go_on_later();
    }

    /// As [`Ctx::go_on_later`], but only where somebody notices: where handlers may be called because of what was emitted. To move
    /// packets causes `own`. Yields whether it is so.
    #[inline]
    pub fn go_on_noticed(&mut self, own: Causes) -> bool {
        let is_noticed = self.runtime.is_unforeseen(self.element, own);
        if is_noticed {
            self.runtime.go_on_later();
        }
        is_noticed
    }

    /// Whether a task is scheduled.
    pub fn is_scheduled(&self, task: TaskId) -> bool {
        self.runtime.is_scheduled(task)
    }

    /// Whether tasks besides the one that runs wait for their turn on this thread.
    pub fn has_other_tasks(&self) -> bool {
        self.runtime.has_other_tasks()
    }

    /// Lets no other task run on this thread from now on, and no timer, until [`Ctx::release`]; users are answered. This task of
    /// the element runs whenever a descriptor is ready that the element watches, and every 50 milliseconds.
    pub fn hold(&mut self, task: TaskId) {
        self.runtime.hold(self.element, task);
    }

    /// Ends what [`Ctx::hold`] of this element began, if anything.
    pub fn release(&mut self) {
        self.runtime.release(self.element);
    }

    /// A task's tickets.
    pub fn tickets(&self, task: TaskId) -> u32 {
        self.runtime.tickets(task)
    }

    /// Sets a task's tickets, 1 to 32768.
    pub fn set_tickets(&mut self, task: TaskId, tickets: u32) {
        self.runtime.set_tickets(task, tickets);
    }

    /// Sets the thread on which a task runs; negative: none.
    pub fn set_home_thread(&mut self, task: TaskId, thread: i32) {
        self.runtime.set_home_thread(task, thread);
    }

    // ---- timers

    /// Makes a timer of this element; in [`Element::initialize`]. It is not set yet.
    pub fn new_timer(&mut self) -> TimerId {
        self.runtime.new_timer(self.element)
    }

    /// Sets a timer to expire `delay_ns` from now.
    pub fn schedule_after(&mut self, timer: TimerId, delay_ns: i64) {
        let at = self.runtime.steady_ns().saturating_add(delay_ns);
        self.runtime.schedule_timer(timer, at);
    }

    /// Sets a timer to expire at once.
    pub fn schedule_now(&mut self, timer: TimerId) {
        let at = self.runtime.steady_ns();
        self.runtime.schedule_timer(timer, at);
    }

    /// Sets a timer to expire `delay_ns` after its last expiry, so that periods do not drift.
    pub fn reschedule_after(&mut self, timer: TimerId, delay_ns: i64) {
        let at = self.runtime.timer_expiry(timer).saturating_add(delay_ns);
        self.runtime.schedule_timer(timer, at);
    }

    /// Sets a timer to expire at a steady time.
    pub fn schedule_at(&mut self, timer: TimerId, steady_ns: i64) {
        self.runtime.schedule_timer(timer, steady_ns);
    }

    /// Sets a timer to expire when the wall clock shows a time. Both clocks are read, as by Click: simulated time shows it.
    pub fn schedule_at_wall(&mut self, timer: TimerId, wall_ns: i64) {
        let now_ns = self.now_ns();
        let steady_ns = self.runtime.steady_ns();
        self.runtime.schedule_timer(timer, wall_ns.saturating_sub(now_ns).saturating_add(steady_ns));
    }

    /// Stops a timer.
    pub fn unschedule_timer(&mut self, timer: TimerId) {
        self.runtime.unschedule_timer(timer);
    }

    /// When a timer will expire, or expired last, in steady time.
    pub fn timer_expiry(&self, timer: TimerId) -> i64 {
        self.runtime.timer_expiry(timer)
    }

    /// Whether a timer is set.
    pub fn timer_is_scheduled(&self, timer: TimerId) -> bool {
        self.runtime.timer_is_scheduled(timer)
    }

    // ---- notifiers

    /// Sets this element's empty notifier: active while there is something to pull.
    #[inline]
    pub fn set_empty_signal(&mut self, active: bool) {
        self.runtime.set_empty_signal(self.element, active);
    }

    /// Sets this element's full notifier: active while there is room.
    #[inline]
    pub fn set_full_signal(&mut self, active: bool) {
        self.runtime.set_full_signal(self.element, active);
    }

    /// The empty notifiers upstream of input `port`; in [`Element::initialize`].
    pub fn upstream_empty_signal(&mut self, port: PortIdx, wake: Wake) -> Signal {
        self.runtime.upstream_empty_signal(self.element, port, wake)
    }

    /// Makes a task that pulls from input `port`, which is scheduled at once and whenever there may be packets again; in
    /// [`Element::initialize`].
    pub fn new_puller(&mut self, port: PortIdx) -> Puller {
        let task = self.new_task();
        self.schedule(task);
        Puller { task, signal: self.upstream_empty_signal(port, Wake::Task(task)) }
    }

    /// The full notifiers downstream of output `port`; in [`Element::initialize`].
    pub fn downstream_full_signal(&mut self, port: PortIdx, wake: Wake) -> Signal {
        self.runtime.downstream_full_signal(self.element, port, wake)
    }

    /// Whether a signal is active.
    #[inline]
    pub fn is_active(&self, signal: &Signal) -> bool {
        match signal {
            Signal::Busy => true,
            Signal::Idle => false,
            Signal::Found(_) => self.runtime.signal_is_active(signal),
        }
    }

    /// A signal as Click prints it, such as `empty.0/3:1*`: the kind of its notifiers, the number of the word that
    /// holds their bits, these bits, and those of them that are active.
    pub fn describe_signal(&self, signal: &Signal) -> String {
        self.runtime.describe_signal(signal)
    }

    // ---- files and signals

    /// Calls [`Element::selected`] whenever `fd` is ready for one of `interest`.
    pub fn add_select(&mut self, fd: BorrowedFd<'_>, interest: Ready) -> Result<(), String> {
        self.runtime.add_select(self.element, fd, interest)
    }

    /// Stops watching `fd` for `interest`.
    pub fn remove_select(&mut self, fd: i32, interest: Ready) {
        self.runtime.remove_select(self.element, fd, interest);
    }

    /// Calls [`Element::signalled`] for the next system signal `signo`; each further one must be asked for again.
    pub fn catch_signal(&mut self, signo: i32) -> Result<(), String> {
        self.runtime.catch_signal(self.element, signo)
    }
}
