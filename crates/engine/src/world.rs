//! The world of a running graph: its elements and all that they ask of the engine.

use std::collections::HashMap;
use std::os::fd::BorrowedFd;
use std::sync::Arc;
use std::time::Duration;

use args::Names;
use element::{
    Balance, Batch, Class, Ctx, Delivery, Ear, Element, ElementIdx, HandlerCall, HandlerUse, Notifies,
    Outbox, PortIdx, Ready, Runtime, Signal, TaskId, TimerId, Wake,
};
use graph::Graph;
use rustix::event::{poll, Timespec};

use crate::change::{Follower, Loader, Prepared, Revisions, Subscriber};
use crate::chatter::{Hear, Voice};
use crate::clock::Clock;
use crate::crew::Crew;
use crate::notify::{Kind, Notifiers};
use crate::random::Random;
use crate::schedule::Schedule;
use crate::select::Selects;
use crate::signals::Signals;
use crate::tasks::TaskList;
use crate::timers::Timers;
use crate::wake::Waker;
use crate::wiring::Wiring;

/// A batch on its way: to an input port of an element.
struct Step {
    element: u32,
    port: u32,
    batch: Batch,
}

/// What looks at packets on their way.
pub trait Watcher: Send {
    /// Packets leave an output for what is connected to it.
    fn passes(&mut self, world: &World, element: ElementIdx, port: PortIdx, batch: &Batch);
    /// Packets are dropped for a reason of the element's class.
    fn drops(&mut self, world: &World, element: ElementIdx, reason: usize, batch: &Batch);
    /// Whether the watcher has seen enough and may be taken away.
    fn is_done(&self) -> bool;
}

/// Drops counted by an element, by reason, and those of ports that lead nowhere.
#[derive(Clone, Debug, Default)]
pub struct Drops {
    by_reason: Vec<u64>,
    unconnected: u64,
}

impl Drops {
    /// Nothing was dropped yet by an element of this class.
    pub(crate) fn of(class: &Class) -> Drops {
        Drops { by_reason: vec![0; class.facts.drops.len()], unconnected: 0 }
    }

    pub(crate) fn add(&mut self, other: &Drops) {
        for (counter, n) in self.by_reason.iter_mut().zip(&other.by_reason) {
            *counter += n;
        }
        self.unconnected += other.unconnected;
    }
}

/// A handler to be written when the method that asked for it has returned.
struct LaterCall {
    from: ElementIdx,
    call: HandlerCall,
    tell: bool,
}

/// A running graph.
pub struct World {
    pub(crate) graph: Arc<Graph>,
    pub(crate) classes: Vec<&'static Class>,
    pub(crate) wiring: Wiring,
    /// `None` while a method of the element runs.
    pub(crate) slots: Vec<Option<Box<dyn Element>>>,
    /// The order in which elements were initialised; they are cleaned up in reverse.
    pub(crate) order: Vec<ElementIdx>,
    pub(crate) by_name: HashMap<String, ElementIdx>,
    /// The configuration string that each element has now.
    pub(crate) configs: Vec<String>,
    pub(crate) tasks: TaskList,
    pub(crate) timers: Timers,
    pub(crate) selects: Selects,
    pub(crate) notifiers: Notifiers,
    pub(crate) signals: Signals,
    /// Second hands of the elements that have them.
    pub(crate) second_hands: HashMap<ElementIdx, Box<dyn Element>>,
    pub(crate) schedule: Schedule,
    /// Errors that handlers tell of, while somebody listens.
    told: Option<Vec<String>>,
    pub(crate) clock: Clock,
    /// Times read in this task run, so that one run reads each clock once.
    wall_ns: Option<i64>,
    steady_ns: Option<i64>,
    pub(crate) drops: Vec<Drops>,
    /// Batches still to be delivered: the last one is next.
    stack: Vec<Step>,
    /// How many calls of [`World::flow`] work on it: the last one on its top part, the others wait for that.
    n_flows: usize,
    /// Handler calls that wait for the elements that asked for them.
    later: Vec<LaterCall>,
    /// Storage of outboxes for reuse.
    spare_outboxes: Vec<Outbox>,
    pub(crate) runcount: i64,
    pub(crate) driver: Option<ElementIdx>,
    pub(crate) is_running: bool,
    /// Whether all elements have been initialised.
    pub(crate) is_initialized: bool,
    pub(crate) burst: usize,
    pub(crate) chatter: Voice,
    /// Those who look at packets on their way.
    watchers: Vec<Box<dyn Watcher>>,
    pub(crate) random: Random,
    /// How often things were said that are said a few times only.
    said: HashMap<&'static str, u32>,
    /// Flow codes of elements that have others than their classes.
    pub(crate) flow_codes: HashMap<ElementIdx, String>,
    /// The thread that what happens now comes from.
    pub(crate) thread: usize,
    /// How the parts of the graph are to be spread over threads, if they are.
    pub(crate) balance: Option<Balance>,
    /// Whether parts are to move between threads before the next round.
    pub(crate) must_balance: bool,
    pub(crate) home_threads: Vec<i32>,
    /// The threads that elements were given.
    pub(crate) given_threads: Vec<Option<i32>>,
    pub(crate) tickets: Vec<Option<u32>>,
    pub(crate) names: Arc<Names>,
    pub(crate) waker: Option<Arc<Waker>>,
    /// The other worlds of the graph, if it runs on several threads.
    pub(crate) crew: Option<Box<Crew>>,
    pub(crate) replica: (usize, usize),
    pub(crate) n_threads: usize,
    /// Counts the changes of the graph.
    pub(crate) version: u64,
    /// The graphs that ran.
    pub(crate) revisions: Revisions,
    /// Handlers that are written for each step of a change, and the element that they want to hear of, or none.
    pub(crate) subscribers: Vec<Subscriber>,
    /// Those outside of the graph who hear of each change.
    pub(crate) followers: Vec<Follower>,
    /// A change that is made when no element is busy, and its text.
    pub(crate) awaited_change: Option<(Prepared, String)>,
    /// What a change of the graph is read with; without it the graph cannot be changed.
    pub loader: Option<Arc<dyn Loader>>,
    /// Whether the graph may be changed by the handler `hotconfig`.
    pub has_hotconfig: bool,
    /// The configuration as it was given.
    pub source: String,
    /// Writes a graph as text.
    pub flatten: fn(&Graph) -> String,
    /// The classes that exist.
    pub class_names: Vec<&'static str>,
}

/// What a new world is made of.
pub(crate) struct Parts {
    pub graph: Arc<Graph>,
    pub classes: Vec<&'static Class>,
    pub wiring: Wiring,
    pub slots: Vec<Option<Box<dyn Element>>>,
    pub clock: Clock,
    pub burst: usize,
    pub chatter: Voice,
    pub names: Arc<Names>,
    pub replica: (usize, usize),
    pub n_threads: usize,
}

impl World {
    pub(crate) fn new(parts: Parts) -> World {
        let Parts { graph, classes, wiring, slots, clock, burst, chatter, names, replica, n_threads } = parts;
        let by_name = graph.elements.iter().enumerate().map(|(i, e)| (e.name.clone(), i)).collect();
        let configs = graph.elements.iter().map(|element| element.config.clone()).collect();
        let drops = classes.iter().map(|class| Drops::of(class)).collect();
        let mut notifiers = Notifiers::default();
        for slot in &slots {
            notifiers.add(slot.as_ref().map_or(Notifies::default(), |element| element.notifies()));
        }
        let n = slots.len();
        let second_hand = |slot: &Option<Box<dyn Element>>| slot.as_ref().and_then(|e| e.second_hand());
        let second_hands = slots.iter().map(second_hand).enumerate();
        let second_hands = second_hands.filter_map(|(idx, hand)| Some((idx, hand?))).collect();
        World {
            graph,
            classes,
            wiring,
            slots,
            order: Vec::new(),
            by_name,
            configs,
            tasks: TaskList::default(),
            timers: Timers::default(),
            selects: Selects::default(),
            notifiers,
            signals: Signals::default(),
            second_hands,
            schedule: Schedule::default(),
            told: None,
            clock,
            wall_ns: None,
            steady_ns: None,
            drops,
            stack: Vec::new(),
            n_flows: 0,
            later: Vec::new(),
            spare_outboxes: Vec::new(),
            runcount: 1,
            driver: None,
            is_running: false,
            is_initialized: false,
            burst,
            chatter,
            watchers: Vec::new(),
            random: Random::unforeseen(),
            said: HashMap::new(),
            flow_codes: HashMap::new(),
            thread: replica.0,
            balance: None,
            must_balance: false,
            home_threads: vec![0; n],
            given_threads: vec![None; n],
            tickets: vec![None; n],
            names,
            waker: None,
            crew: None,
            replica,
            n_threads,
            version: 0,
            revisions: Revisions::default(),
            subscribers: Vec::new(),
            followers: Vec::new(),
            awaited_change: None,
            loader: None,
            has_hotconfig: false,
            source: String::new(),
            flatten: |_| String::new(),
            class_names: Vec::new(),
        }
    }

    /// Goes on in the place of a thread's world whose elements others have now.
    pub(crate) fn succeed(&mut self, old: &mut World) {
        std::mem::swap(&mut self.clock, &mut old.clock);
        self.random = old.random.clone();
        self.watchers.append(&mut old.watchers);
        self.said = std::mem::take(&mut old.said);
        self.spare_outboxes.append(&mut old.spare_outboxes);
        (self.waker, self.crew) = (old.waker.take(), old.crew.take());
        (self.runcount, self.is_running) = (old.runcount, old.is_running);
        if self.is_running {
            self.tasks.start();
        }
    }

    /// Calls a method of an element and runs all that it causes. `None` if the element is busy further up.
    pub(crate) fn call<R>(
        &mut self,
        element: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let (result, outbox) = self.step(element, method)?;
        self.flow(element, outbox);
        Some(result)
    }

    /// Does something, and gathers the errors that are told of meanwhile.
    pub(crate) fn hear<R>(&mut self, act: impl FnOnce(&mut World) -> R) -> (R, Vec<String>) {
        let outer = self.told.replace(Vec::new());
        let result = act(self);
        let told = std::mem::replace(&mut self.told, outer);
        (result, told.unwrap_or_default())
    }

    /// Calls a handler's method of an element, by its second hand if it is busy.
    pub(crate) fn call_handler<R>(
        &mut self,
        idx: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        if self.slots.get(idx)?.is_some() {
            return self.call(idx, method);
        }
        let mut hand = self.second_hands.get(&idx)?.second_hand()?;
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        let result = method(hand.as_mut(), &mut Ctx::new(idx, self, &mut outbox));
        self.flow(idx, outbox);
        Some(result)
    }

    /// An element to ask about its handlers, be it busy or not.
    pub(crate) fn describer(&self, idx: ElementIdx) -> Option<&dyn Element> {
        let present = self.slots.get(idx)?.as_deref();
        present.or_else(|| self.second_hands.get(&idx).map(|hand| hand.as_ref()))
    }

    /// Calls a method of an element, without what it causes.
    #[inline(always)]
    fn step<R>(
        &mut self,
        element: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<(R, Outbox)> {
        let mut taken = self.slots.get_mut(element)?.take()?;
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        let result = method(taken.as_mut(), &mut Ctx::new(element, self, &mut outbox));
        self.put_back(element, taken);
        Some((result, outbox))
    }

    /// Puts an element back into its place after a method of it has returned.
    #[inline(always)]
    fn put_back(&mut self, element: ElementIdx, taken: Box<dyn Element>) {
        // The place is empty: there is nothing to drop in it.
        std::mem::forget(self.slots[element].replace(taken));
        if !self.later.is_empty() {
            self.call_now();
        }
    }

    /// Delivers what an element has emitted, and all that follows from it: depth first, outputs in order, so that a batch
    /// of one goes the way Click's packet goes. Loops in the graph only lengthen the stack of batches.
    #[inline]
    pub(crate) fn flow(&mut self, element: ElementIdx, mut outbox: Outbox) {
        let below = self.stack.len();
        let mut base = below;
        let mut from = element;
        self.n_flows += 1;
        loop {
            let next = match outbox.take_only() {
                Some((port, batch)) => self.address(from, port, batch),
                None if !outbox.is_empty() => {
                    self.put_on_stack(from, &mut outbox);
                    continue;
                }
                None if self.stack.len() > base => self.stack.pop(),
                None => break,
            };
            let Some(Step { element, port, batch }) = next else { continue };
            let idx = element as usize;
            // An element that is busy further up the call path gets the batch when it is free again.
            let Some(mut taken) = self.slots[idx].take() else {
                base += self.postpone(below, Step { element, port, batch });
                continue;
            };
            taken.push(&mut Ctx::new(idx, self, &mut outbox), port as usize, batch);
            self.put_back(idx, taken);
            from = idx;
        }
        self.n_flows -= 1;
        self.spare_outboxes.push(outbox);
    }

    /// Makes the handler calls that waited for elements that are free now.
    #[cold]
    fn call_now(&mut self) {
        let is_free =
            |later: &LaterCall, slots: &[Option<_>]| slots.get(later.from).is_some_and(Option::is_some);
        while let Some(at) = self.later.iter().position(|later| is_free(later, &self.slots)) {
            let LaterCall { from, call, tell } = self.later.remove(at);
            if let (Err(message), true) = (crate::handlers::write(self, from, &call.name, &call.value), tell)
            {
                self.chatter.say(&message);
            }
        }
    }

    /// Finds where a batch goes; one that goes nowhere is dropped.
    #[inline]
    fn address(&mut self, from: ElementIdx, port: u32, batch: Batch) -> Option<Step> {
        if !self.watchers.is_empty() {
            self.show(from, port as usize, &batch);
        }
        match self.wiring.target(from, port as usize) {
            Some((to, input)) => Some(Step { element: to as u32, port: input as u32, batch }),
            None => {
                self.count_drops(from, None, batch.len() as u64);
                None
            }
        }
    }

    /// Puts emitted batches on the stack, the first on top.
    fn put_on_stack(&mut self, from: ElementIdx, outbox: &mut Outbox) {
        while let Some((port, batch)) = outbox.pop() {
            if let Some(step) = self.address(from, port, batch) {
                self.stack.push(step);
            }
        }
    }

    #[cold]
    fn show(&mut self, element: ElementIdx, port: PortIdx, batch: &Batch) {
        self.watch(|watcher, world| watcher.passes(world, element, port, batch));
    }

    fn watch(&mut self, mut see: impl FnMut(&mut dyn Watcher, &World)) {
        let mut watchers = std::mem::take(&mut self.watchers);
        for watcher in &mut watchers {
            see(watcher.as_mut(), self);
        }
        watchers.retain(|watcher| !watcher.is_done());
        watchers.append(&mut self.watchers);
        self.watchers = watchers;
    }

    /// Gives what elements print to `hear`, with the element's name, instead of printing it.
    pub fn hear_elements(&mut self, hear: Hear) {
        self.chatter.give(hear);
    }

    /// Lets somebody look at packets on their way from now on; with several threads, a watcher for each.
    pub fn add_watchers(&mut self, mut make: impl FnMut() -> Box<dyn Watcher>) {
        self.watchers.push(make());
        for mate in self.mates().iter() {
            let watcher = make();
            mate.with(|engine| engine.world.watchers.push(watcher));
        }
    }

    /// Puts a batch below the part of the stack that is being worked on and what was put there before: whoever works on that part
    /// delivers it, first of all. How many batches there are more.
    #[cold]
    fn postpone(&mut self, below: usize, step: Step) -> usize {
        if self.n_flows == 1 {
            // Nobody is left to deliver it: the element is busy with a call that does not come from a packet.
            self.count_drops(step.element as usize, None, step.batch.len() as u64);
            return 0;
        }
        self.stack.insert(below, step);
        1
    }

    pub(crate) fn notified(&mut self, element: ElementIdx) {
        self.call(element, |element, ctx| element.notified(ctx));
    }

    /// Forgets the times read: they are read anew when next asked for.
    #[inline]
    pub(crate) fn forget_times(&mut self) {
        self.wall_ns = None;
        self.steady_ns = None;
    }

    /// Whether a handler's text is to be printed as it is, without a newline added.
    pub fn handler_is_raw(&self, name: &str) -> bool {
        let found = name.rsplit_once('.').and_then(|(element, handler)| {
            crate::handlers::facts(self, self.find(element, usize::MAX)?, handler)
        });
        found.is_some_and(|handler| handler.flags.split_whitespace().any(|flag| flag == "raw"))
    }

    /// Whether an element waits for a system signal, which then must not have another effect.
    pub fn awaits_signal(&self, signo: i32) -> bool {
        self.signals.is_awaited(signo)
    }

    /// Asks the driver to stop whatever its reasons to run; a driver manager gets to its end first.
    pub fn ask_to_stop(&mut self) {
        self.runcount = i32::MIN.into();
        if let Some(crew) = &mut self.crew {
            crew.stops_all = true;
        }
    }

    /// Lets the driver go on after it has stopped.
    pub fn go_on(&mut self) {
        self.runcount = 1;
    }

    /// What to write to from elsewhere, a signal handler say, so that the driver does not sleep on.
    pub fn wake_writer(&mut self) -> Option<std::os::unix::net::UnixStream> {
        self.waker()?.writer().ok()
    }

    /// Whether there is neither a task to run, a timer to wait for, nor a file to watch.
    pub fn is_idle(&self) -> bool {
        !self.tasks.is_active() && self.timers.next_expiry().is_none() && self.selects.is_empty()
    }

    /// Whether nothing moves unless a file or another thread tells of something.
    pub fn is_still(&self) -> bool {
        !self.tasks.is_active() && self.timers.next_expiry().is_none()
    }

    /// The graph as text, each element with the configuration that it has now.
    pub fn flat_configuration(&mut self) -> String {
        crate::globals::flat(self)
    }

    /// The graphs that ran since the first change, and the one that runs.
    pub fn revisions(&self) -> &Revisions {
        &self.revisions
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The class of an element.
    pub fn class_of(&self, element: ElementIdx) -> &'static Class {
        self.classes[element]
    }

    /// The drops of an element, in all worlds: reason and number, those that are not zero.
    pub fn drops(&self, element: ElementIdx) -> Vec<(&'static str, u64)> {
        let Some(drops) = self.drops.get(element) else { return Vec::new() };
        let mut total = drops.clone();
        for mate in self.mates().iter() {
            mate.with(|engine| engine.world.drops.get(element).map(|drops| total.add(drops)));
        }
        let names = self.classes[element].facts.drops.iter().map(|reason| reason.name);
        let counted = names.zip(total.by_reason.iter().copied());
        counted.chain([("unconnected", total.unconnected)]).filter(|(_, n)| *n > 0).collect()
    }

    /// Calls a method of an element without what it causes: what it emits is thrown away.
    pub(crate) fn call_apart<R>(
        &mut self,
        element: ElementIdx,
        method: impl FnOnce(&mut dyn Element, &mut Ctx<'_>) -> R,
    ) -> Option<R> {
        let (result, mut outbox) = self.step(element, method)?;
        outbox.drain().for_each(drop);
        self.spare_outboxes.push(outbox);
        Some(result)
    }
}

impl Runtime for World {
    #[inline]
    fn now_ns(&mut self) -> i64 {
        match self.wall_ns {
            Some(now) => now,
            // Simulated time passes by each reading, as in Click.
            None if self.clock.is_simulated() => self.clock.wall_ns(),
            None => *self.wall_ns.insert(self.clock.wall_ns()),
        }
    }

    #[inline]
    fn peek_ns(&mut self) -> (i64, i64) {
        match self.clock.peek() {
            Some(now) => (now, 1),
            None => (self.now_ns(), 0),
        }
    }

    fn recent_steady_ns(&mut self) -> i64 {
        // Simulated, both times are one.
        self.clock.peek().unwrap_or_else(|| self.steady_ns())
    }

    fn pass_ns(&mut self, passed_ns: i64) {
        self.clock.pass(passed_ns);
    }

    #[inline]
    fn steady_ns(&mut self) -> i64 {
        match self.steady_ns {
            Some(now) => now,
            None if self.clock.is_simulated() => self.clock.steady_ns(),
            None => *self.steady_ns.insert(self.clock.steady_ns()),
        }
    }

    #[inline]
    fn pull(&mut self, element: ElementIdx, port: PortIdx, max: usize) -> Batch {
        let Some((from, output)) = self.wiring.source(element, port) else { return Batch::new() };
        let max = max.clamp(1, element::BATCH_MAX);
        let Some(mut taken) = self.slots[from].take() else { return Batch::new() };
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        let batch = taken.pull(&mut Ctx::new(from, self, &mut outbox), output, max);
        self.put_back(from, taken);
        if outbox.is_empty() {
            self.spare_outboxes.push(outbox);
        } else {
            self.flow(from, outbox);
        }
        if !self.watchers.is_empty() && !batch.is_empty() {
            self.show(from, output, &batch);
        }
        batch
    }

    fn push_now(&mut self, element: ElementIdx, port: PortIdx, batch: Batch) {
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        outbox.put(port as u32, batch);
        self.flow(element, outbox);
    }

    fn count_drops(&mut self, element: ElementIdx, reason: Option<usize>, n: u64) {
        let Some(drops) = self.drops.get_mut(element) else { return };
        match reason.and_then(|reason| drops.by_reason.get_mut(reason)) {
            Some(counter) => *counter += n,
            None => drops.unconnected += n,
        }
    }

    #[inline]
    fn show_drops(&mut self, element: ElementIdx, reason: usize, batch: &Batch) {
        if !self.watchers.is_empty() {
            self.watch(|watcher, world| watcher.drops(world, element, reason, batch));
        }
    }

    #[inline]
    fn n_ports(&self, element: ElementIdx) -> (usize, usize) {
        self.wiring.n_ports(element)
    }

    fn output_is_push(&self, element: ElementIdx, port: PortIdx) -> bool {
        self.wiring.output_is_push(element, port)
    }

    fn input_is_push(&self, element: ElementIdx, port: PortIdx) -> bool {
        self.wiring.input_is_push(element, port)
    }

    fn default_burst(&self) -> usize {
        self.burst
    }

    fn new_task(&mut self, element: ElementIdx) -> TaskId {
        self.warn_of_tickets(element);
        let thread = self.home_threads.get(element).copied().unwrap_or(0);
        let task = self.tasks.add(element, thread);
        if let Some(tickets) = self.tickets.get(element).copied().flatten() {
            self.tasks.set_tickets(task, tickets);
        }
        task
    }

    fn schedule(&mut self, task: TaskId) {
        self.tasks.schedule(task);
    }

    fn unschedule(&mut self, task: TaskId, strong: bool) {
        self.tasks.unschedule(task, strong);
    }

    fn is_scheduled(&self, task: TaskId) -> bool {
        self.tasks.is_scheduled(task)
    }

    fn has_other_tasks(&self) -> bool {
        self.tasks.has_others()
    }

    fn tickets(&self, task: TaskId) -> u32 {
        self.tasks.get(task).map_or(0, |task| task.tickets)
    }

    fn set_tickets(&mut self, task: TaskId, tickets: u32) {
        self.tasks.set_tickets(task, tickets);
    }

    fn set_home_thread(&mut self, task: TaskId, thread: i32) {
        self.tasks.set_home_thread(task, thread);
    }

    fn new_timer(&mut self, element: ElementIdx) -> TimerId {
        self.timers.add(element)
    }

    fn schedule_timer(&mut self, timer: TimerId, at_steady_ns: i64) {
        let now = self.recent_steady_ns();
        self.timers.schedule(timer, at_steady_ns, now);
    }

    fn unschedule_timer(&mut self, timer: TimerId) {
        self.timers.unschedule(timer);
    }

    fn timer_expiry(&self, timer: TimerId) -> i64 {
        self.timers.get(timer).map_or(0, |timer| timer.expiry_ns)
    }

    fn timer_is_scheduled(&self, timer: TimerId) -> bool {
        self.timers.is_scheduled(timer)
    }

    #[inline]
    fn set_empty_signal(&mut self, element: ElementIdx, active: bool) {
        self.set_signal(element, Kind::Empty, active);
    }

    #[inline]
    fn set_full_signal(&mut self, element: ElementIdx, active: bool) {
        self.set_signal(element, Kind::Full, active);
    }

    fn upstream_empty_signal(&mut self, element: ElementIdx, port: PortIdx, wake: Wake) -> Signal {
        self.search_notifiers(element, port, Kind::Empty, wake)
    }

    fn downstream_full_signal(&mut self, element: ElementIdx, port: PortIdx, wake: Wake) -> Signal {
        self.search_notifiers(element, port, Kind::Full, wake)
    }

    fn signal_is_active(&self, signal: &Signal) -> bool {
        self.notifiers.is_active(signal)
    }

    fn describe_signal(&self, signal: &Signal) -> String {
        self.signal_text(signal)
    }

    fn add_select(&mut self, element: ElementIdx, fd: BorrowedFd<'_>, interest: Ready) -> Result<(), String> {
        self.selects.add(element, fd, interest).map_err(|error| error.to_string())
    }

    fn remove_select(&mut self, element: ElementIdx, fd: i32, interest: Ready) {
        self.selects.remove(element, fd, interest);
    }

    fn set_element_thread(&mut self, idx: ElementIdx, thread: i32) {
        if let (Some(home), Some(given)) = (self.home_threads.get_mut(idx), self.given_threads.get_mut(idx)) {
            (*home, *given) = (thread, Some(thread));
        }
        for task in self.tasks.of_element(idx).collect::<Vec<_>>() {
            self.tasks.set_home_thread(task, thread);
        }
    }

    fn define_tickets(&mut self, from: ElementIdx, name: &str, tickets: u32) {
        let own = Runtime::name(self, from);
        let context = own.rfind('/').map_or("", |slash| &own[..=slash]).to_string();
        self.schedule.define(context, name, tickets);
        for idx in 0..self.slots.len() {
            let tickets = self.schedule.tickets(Runtime::name(self, idx));
            if let Some(slot) = self.tickets.get_mut(idx) {
                *slot = tickets;
            }
        }
    }

    fn hand_over(&mut self, thread: usize, to: (ElementIdx, PortIdx), how: Delivery, batch: Batch) -> bool {
        self.send(thread, to, how, batch)
    }

    fn replica(&self) -> (usize, usize) {
        self.replica
    }

    fn agree(&mut self, element: ElementIdx, proposal: Option<u64>) -> Option<u64> {
        self.crew.as_ref().map_or(proposal, |crew| crew.board.agree(element, proposal))
    }

    fn catch_signal(&mut self, element: ElementIdx, signo: i32) -> Result<(), String> {
        let waker = self.waker().ok_or("cannot wake the driver")?;
        self.signals.catch(element, signo, &waker)
    }

    fn with_element(&mut self, idx: ElementIdx, f: &mut dyn FnMut(&mut dyn Element, &mut Ctx<'_>)) -> bool {
        self.call(idx, |element, ctx| f(element, ctx)).is_some()
    }

    fn name(&self, idx: ElementIdx) -> &str {
        self.graph.elements.get(idx).map_or("", |element| element.name.as_str())
    }

    fn class(&self, idx: ElementIdx) -> &'static str {
        self.classes.get(idx).map_or("", |class| class.alias_of.unwrap_or(class.facts.name))
    }

    fn find(&self, name: &str, from: ElementIdx) -> Option<ElementIdx> {
        let own = self.graph.elements.get(from).map_or("", |element| element.name.as_str());
        let mut context = own.rfind('/').map_or("", |slash| &own[..=slash]);
        loop {
            if let Some(found) = self.by_name.get(&format!("{context}{name}")) {
                return Some(*found);
            }
            if context.is_empty() {
                return None;
            }
            let outer = context.strip_suffix('/').unwrap_or(context);
            context = outer.rfind('/').map_or("", |slash| &context[..=slash]);
        }
    }

    fn names(&self) -> &Names {
        &self.names
    }

    fn n_elements(&self) -> usize {
        self.slots.len()
    }

    fn downstream(&self, idx: ElementIdx, port: PortIdx) -> Vec<(ElementIdx, PortIdx)> {
        self.wiring.downstream(idx, port)
    }

    fn n_said(&mut self, what: &'static str) -> u32 {
        let n = self.said.entry(what).or_default();
        *n = n.saturating_add(1);
        *n - 1
    }

    fn set_flow_code(&mut self, idx: ElementIdx, code: &str) {
        self.flow_codes.insert(idx, code.to_string());
    }

    fn upstream(&self, idx: ElementIdx, port: PortIdx) -> Vec<(ElementIdx, PortIdx)> {
        self.wiring.upstream(idx, port)
    }

    fn read_handler(&mut self, from: ElementIdx, handler: &str, param: &str) -> Result<String, String> {
        crate::handlers::read(self, from, handler, param)
    }

    fn write_handler(&mut self, from: ElementIdx, handler: &str, value: &str) -> Result<(), String> {
        crate::handlers::write(self, from, handler, value)
    }

    fn call_later(&mut self, from: ElementIdx, call: HandlerCall, tell: bool) {
        self.later.push(LaterCall { from, call, tell });
    }

    fn handler_exists(&self, from: ElementIdx, handler: &str) -> (bool, bool) {
        crate::handlers::exists(self, from, handler)
    }

    fn check_handler(&self, from: ElementIdx, handler: &str, call: HandlerUse<'_>) -> Result<String, String> {
        crate::handlers::check(self, from, handler, call)
    }

    fn handler_visible(&self, from: ElementIdx, handler: &str) -> (bool, bool) {
        crate::handlers::visible(self, from, handler)
    }

    fn tell(&mut self, message: &str) {
        match &mut self.told {
            Some(told) => told.push(message.to_string()),
            None => self.chatter.say(message),
        }
    }

    fn collect_told(&mut self, told: Option<Vec<String>>) -> Option<Vec<String>> {
        std::mem::replace(&mut self.told, told)
    }

    fn chatter(&mut self, element: ElementIdx, text: &str) {
        self.chatter.say_as(self.name(element), text);
    }

    fn chatter_on(&mut self, element: ElementIdx, channel: &str, text: &str) {
        self.chatter.say_on(self.name(element), channel, text);
    }

    fn listen(&mut self, channel: &str, is_quiet: bool, ear: Ear) {
        self.chatter.listen(channel, is_quiet, ear);
    }

    #[inline]
    fn random(&mut self) -> u32 {
        self.random.next()
    }

    fn seed_random(&mut self, seed: Option<u32>) {
        let random = seed.map_or_else(Random::unforeseen, Random::seeded);
        for mate in self.mates().iter() {
            mate.with(|engine| engine.world.random = random.of_thread(mate.index));
        }
        let index = self.crew.as_ref().map_or(self.replica.0, |crew| crew.index);
        self.random = if index > 0 { random.of_thread(index) } else { random };
    }

    #[inline]
    fn thread(&self) -> usize {
        self.thread
    }

    fn balance_threads(&mut self, order: Option<Balance>) {
        // One thread, or one a replica, has nothing to be spread: nothing is measured either.
        self.balance = order.filter(|_| self.n_threads > 1);
        self.must_balance = self.crew.is_some() && self.balance.is_some();
    }

    fn block(&mut self, time_ns: i64) {
        let time_ns = time_ns.max(0);
        if self.clock.is_simulated() {
            self.clock.pass(time_ns);
        } else if let Ok(time) = Timespec::try_from(Duration::from_nanos(time_ns as u64)) {
            // A signal ends it; what is to come of the signal the driver sees to.
            let _ = poll(&mut [], Some(&time));
        }
        self.forget_times();
    }

    fn stop(&mut self, element: ElementIdx) {
        self.adjust_runcount(-1);
        if let Some(crew) = &mut self.crew {
            crew.stops_all |= crew.speaks_for_all(element);
        }
    }

    fn adjust_runcount(&mut self, delta: i64) {
        self.runcount = self.runcount.saturating_add(delta);
    }

    fn runcount(&self) -> i64 {
        self.runcount
    }

    fn manage_driver(&mut self, element: ElementIdx) -> Result<(), String> {
        match self.driver {
            Some(other) if other != element => Err("router already has a driver manager".to_string()),
            _ => {
                self.driver = Some(element);
                Ok(())
            }
        }
    }

    fn is_running(&self) -> bool {
        self.is_running
    }
}
