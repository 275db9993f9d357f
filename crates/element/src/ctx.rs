//! The context: what an element can ask of the engine while one of its methods runs.

use std::os::fd::BorrowedFd;

use graph::{ElementIdx, PortIdx};
use packet::{Batch, Packet};

use crate::runtime::{HandlerUse, Runtime};
use crate::{Clock, Element, HandlerCall, Outbox};

/// A task: work that the engine runs whenever it is scheduled.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TaskId(pub u32);

/// A timer: a method call at a time.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct TimerId(pub u32);

/// What a file descriptor is watched or ready for.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub struct Ready {
    /// Reading will not block.
    pub read: bool,
    /// Writing will not block.
    pub write: bool,
}

impl Ready {
    /// Reading.
    pub const READ: Ready = Ready { read: true, write: false };
    /// Writing.
    pub const WRITE: Ready = Ready { read: false, write: true };
}

/// What a search for notifiers does at an element that has one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SearchOp {
    /// The search ends here: the notifier speaks for all that is beyond.
    Stop,
    /// The search goes on beyond the element.
    Continue,
    /// As `Continue`, for notifiers that wake listeners of what is beyond as well.
    ContinueWake,
}

/// What to do when a notifier becomes active.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Wake {
    /// Nothing: the signal is asked when it matters.
    Nobody,
    /// Schedule a task.
    Task(TaskId),
    /// Call [`Element::notified`] of the calling element.
    Callback,
}

/// A set of notifiers: active while any of them is.
#[derive(Clone, Debug, PartialEq, Eq, Default)]
pub enum Signal {
    /// Always active: there is something upstream that does not notify.
    #[default]
    Busy,
    /// Never active: there is nothing upstream.
    Idle,
    /// What the search with this number has found; it may find something else when the graph changes.
    Found(u32),
}

/// What an element can ask of the engine while one of its methods runs.
pub struct Ctx<'a> {
    /// The element whose method runs.
    pub element: ElementIdx,
    pub(crate) outbox: &'a mut Outbox,
    pub(crate) runtime: &'a mut dyn Runtime,
}

impl<'a> Ctx<'a> {
    /// A context for `element`; what it emits goes into `outbox`. Used by engines.
    #[inline]
    pub fn new(element: ElementIdx, runtime: &'a mut dyn Runtime, outbox: &'a mut Outbox) -> Ctx<'a> {
        Ctx { element, outbox, runtime }
    }

    // ---- packets

    /// Hands a batch to output `port`; an output that does not exist drops it, uncounted by reason. An empty batch is
    /// nothing.
    #[inline]
    pub fn emit(&mut self, port: PortIdx, batch: Batch) {
        if !batch.is_empty() {
            self.outbox.put(port as u32, batch);
        }
    }

    /// Hands one packet to output `port`.
    #[inline]
    pub fn emit_packet(&mut self, port: PortIdx, packet: Packet) {
        self.outbox.put(port as u32, Batch::of(packet));
    }

    /// Runs what a batch pushed to output `port` causes at once and to the end, before this method goes on. Only for
    /// elements whose own next step depends on it (a source that counts its queue, say): [`Ctx::emit`] is cheaper.
    /// Batches emitted earlier run first.
    pub fn emit_now(&mut self, port: PortIdx, batch: Batch) {
        self.deliver();
        if !batch.is_empty() {
            self.runtime.push_now(self.element, port, batch);
        }
    }

    /// Delivers what was emitted so far.
    fn deliver(&mut self) {
        for (port, batch) in self.outbox.drain() {
            self.runtime.push_now(self.element, port as usize, batch);
        }
    }

    /// Hands a batch to output `port` if there is one, else drops it for `reason`.
    #[inline]
    pub fn emit_or_drop(&mut self, port: PortIdx, reason: usize, batch: Batch) {
        if port < self.n_outputs() {
            self.emit(port, batch);
        } else {
            self.drop_batch(reason, batch);
        }
    }

    /// Pulls at most `max` packets from input `port`.
    #[inline]
    pub fn pull(&mut self, port: PortIdx, max: usize) -> Batch {
        self.runtime.pull(self.element, port, max)
    }

    /// Pulls one packet from input `port`.
    #[inline]
    pub fn pull_packet(&mut self, port: PortIdx) -> Option<Packet> {
        self.runtime.pull(self.element, port, 1).pop()
    }

    /// Drops a packet for the reason with this index in the class facts.
    #[inline]
    pub fn drop_packet(&mut self, reason: usize, packet: Packet) {
        self.drop_batch(reason, Batch::of(packet));
    }

    /// Drops a batch for the reason with this index in the class facts.
    #[inline]
    pub fn drop_batch(&mut self, reason: usize, mut batch: Batch) {
        if !batch.is_empty() {
            self.runtime.count_drops(self.element, Some(reason), batch.len() as u64);
            self.runtime.show_drops(self.element, reason, &batch);
            batch.clear();
        }
    }

    /// Counts `n` packets as dropped for a reason; the caller has disposed of them.
    #[inline]
    pub fn count_drops(&mut self, reason: usize, n: u64) {
        if n > 0 {
            self.runtime.count_drops(self.element, Some(reason), n);
        }
    }

    /// Number of outputs.
    #[inline]
    pub fn n_outputs(&self) -> usize {
        self.runtime.n_ports(self.element).1
    }

    /// Number of inputs.
    #[inline]
    pub fn n_inputs(&self) -> usize {
        self.runtime.n_ports(self.element).0
    }

    /// Whether output `port` is push.
    pub fn output_is_push(&self, port: PortIdx) -> bool {
        self.runtime.output_is_push(self.element, port)
    }

    /// The input that push output `port` leads to, unless somebody looks at what goes there.
    pub fn leads_straight_to(&self, port: PortIdx) -> Option<(ElementIdx, PortIdx)> {
        self.runtime.leads_straight_to(self.element, port)
    }

    /// Whether somebody behind this element may look at packets before they are stored again.
    #[inline]
    pub fn leads_to_reader(&mut self) -> bool {
        self.runtime.leads_to_reader(self.element)
    }

    /// Whether input `port` is push.
    pub fn input_is_push(&self, port: PortIdx) -> bool {
        self.runtime.input_is_push(self.element, port)
    }

    /// How many packets to move at a time where the user did not say: 1 under `weir click`.
    pub fn default_burst(&self) -> usize {
        self.runtime.default_burst()
    }

    // ---- time

    /// Wall-clock time in nanoseconds since the epoch, read once per task run, timer or pull.
    #[inline]
    pub fn now_ns(&mut self) -> i64 {
        self.runtime.now_ns()
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
        self.runtime.unschedule(task, false);
    }

    /// Unschedules a task until [`Ctx::schedule`]; notifiers do not wake it.
    pub fn strong_unschedule(&mut self, task: TaskId) {
        self.runtime.unschedule(task, true);
    }

    /// Whether a task is scheduled.
    pub fn is_scheduled(&self, task: TaskId) -> bool {
        self.runtime.is_scheduled(task)
    }

    /// Whether tasks besides the one that runs wait for their turn on this thread.
    pub fn has_other_tasks(&self) -> bool {
        self.runtime.has_other_tasks()
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

    /// A signal as Click prints it: the kind of its notifiers, the number of the word and the bits that are theirs, and those
    /// of them that are active, such as `empty.0/3:1*`.
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

    // ---- other elements

    /// Runs `f` on another element if it is a `T`; `None` if it is not, or is busy further up the call path.
    pub fn with<T: Element, R>(
        &mut self,
        idx: ElementIdx,
        mut f: impl FnMut(&mut T, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let mut result = None;
        self.runtime.with_element(idx, &mut |element, ctx| {
            let element: &mut dyn std::any::Any = element;
            if let Some(element) = element.downcast_mut::<T>() {
                result = Some(f(element, ctx));
            }
        });
        result
    }

    /// Runs `f` on another element of any class; `None` if it is busy further up the call path.
    pub fn with_any<R>(
        &mut self,
        idx: ElementIdx,
        mut f: impl FnMut(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let mut result = None;
        self.runtime.with_element(idx, &mut |element, ctx| result = Some(f(element, ctx)));
        result
    }

    /// This element's full name.
    pub fn own_name(&self) -> &str {
        self.runtime.name(self.element)
    }

    /// The names that this element's arguments may use, for handlers that read arguments.
    pub fn scope(&self) -> args::Scope<'_> {
        args::Scope::new(self.runtime.names(), self.runtime.name(self.element))
    }

    /// Another element's full name.
    pub fn name(&self, idx: ElementIdx) -> &str {
        self.runtime.name(idx)
    }

    /// Another element's class.
    pub fn class(&self, idx: ElementIdx) -> &'static str {
        self.runtime.class(idx)
    }

    /// The element with this name, looked up from this element's compound outwards.
    pub fn find(&self, name: &str) -> Option<ElementIdx> {
        self.runtime.find(name, self.element)
    }

    /// The engine itself, for what the methods here do not offer.
    pub fn runtime(&mut self) -> &mut dyn Runtime {
        self.runtime
    }

    // ---- handlers

    /// Reads `element.handler` (or a global handler) with a parameter.
    pub fn read_handler(&mut self, handler: &str, param: &str) -> Result<String, String> {
        self.runtime.read_handler(self.element, handler, param)
    }

    /// Writes `element.handler` (or a global handler).
    pub fn write_handler(&mut self, handler: &str, value: &str) -> Result<(), String> {
        self.runtime.write_handler(self.element, handler, value)
    }

    /// What a script is told by number of a write that failed with this message.
    pub fn refusal(&self, handler: &str, message: &str) -> i32 {
        self.runtime.refusal(self.element, handler, message)
    }

    /// Writes a handler as soon as this method has returned, so that what the handler does may call this element again.
    /// What was emitted before is delivered at once, what is emitted later is delivered after the call. Nobody hears of an
    /// error.
    pub fn call_later(&mut self, call: HandlerCall) {
        self.deliver();
        self.runtime.call_later(self.element, call, false);
    }

    /// As [`Ctx::call_later`]; an error of the handler is printed.
    pub fn call_later_and_tell(&mut self, call: HandlerCall) {
        self.deliver();
        self.runtime.call_later(self.element, call, true);
    }

    /// Whether a handler can be read and written.
    pub fn handler_exists(&self, handler: &str) -> (bool, bool) {
        self.runtime.handler_exists(self.element, handler)
    }

    /// Checks that a handler can be called: its full name, or Click's message.
    pub fn check_handler(&self, handler: &str, call: HandlerUse<'_>) -> Result<String, String> {
        self.runtime.check_handler(self.element, handler, call)
    }

    /// Tells whoever called the handler that is running of an error that did not end it: a sentence, or a line each.
    pub fn tell(&mut self, message: &str) {
        self.runtime.tell(message);
    }

    /// Warns whoever called the handler that is running, or initialises the element: a sentence.
    pub fn warn(&mut self, message: &str) {
        self.runtime.tell(&format!("warning: {message}"));
    }

    /// Calls handlers, and gathers the errors they tell of besides those they return.
    pub fn hear<R>(&mut self, call: impl FnOnce(&mut Ctx<'a>) -> R) -> (R, Vec<String>) {
        let outer = self.runtime.collect_told(Some(Vec::new()));
        let result = call(self);
        let told = self.runtime.collect_told(outer);
        (result, told.unwrap_or_default())
    }

    // ---- the rest

    /// Prints text, a line or several, on standard error.
    pub fn chatter(&mut self, text: &str) {
        self.runtime.chatter(self.element, text);
    }

    /// The same, of something at which this element failed: where there are levels, it is a warning.
    pub fn complain(&mut self, text: &str) {
        self.runtime.complain(self.element, text);
    }

    /// How often this was called before with `what`, by any element: for what is said once, or a few times, a graph.
    pub fn n_said(&mut self, what: &'static str) -> u32 {
        self.runtime.n_said(what)
    }

    /// Says text, a line or several, on a channel for those who listen there; `default` is standard error.
    pub fn chatter_on(&mut self, channel: &str, text: &str) {
        self.runtime.chatter_on(self.element, channel, text);
    }

    /// A random number below 2^31.
    pub fn random(&mut self) -> u32 {
        self.runtime.random()
    }

    /// A random number from `low` to `high`, both included; `low` if `high` is less. A seed gives the numbers that Click has.
    pub fn random_between(&mut self, low: u32, high: u32) -> u32 {
        const N_NUMBERS: u32 = 1 << 31;
        let Some(range) = high.checked_sub(low) else { return low };
        if range >= N_NUMBERS {
            // One number is too short: two overlap.
            loop {
                let number = self.random() << 17 ^ self.random() >> 14;
                if number <= range {
                    return low + number;
                }
            }
        }
        if range == 1 {
            return low + (self.random() >> 14 & 1);
        }
        // The numbers are cut in equal parts; those that are left over are drawn again.
        let part = N_NUMBERS / (range + 1);
        loop {
            let number = self.random() / part;
            if number <= range {
                return low + number;
            }
        }
    }

    /// Asks the driver to stop: takes away one reason to keep running.
    pub fn stop(&mut self) {
        self.runtime.stop(self.element);
    }

    /// Makes this element the driver manager: it is asked before the driver stops.
    pub fn manage_driver(&mut self) -> Result<(), String> {
        self.runtime.manage_driver(self.element)
    }
}
