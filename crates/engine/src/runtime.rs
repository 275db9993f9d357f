//! What elements ask of the engine.

use std::os::fd::BorrowedFd;
use std::time::Duration;

use args::Names;
use element::fast_path::Fan;
use element::{
    Balance, Batch, Causes, ChangeOutcome, Clock, Ctx, Delivery, Ear, Element, ElementIdx, HandlerCall,
    HandlerUse, Limit, Line, PortIdx, Ready, Runtime, Signal, TaskId, TimerId, Wake, BATCH_MAX,
};
use graph::{context_of, contexts};
use rustix::event::{poll, Timespec};

use crate::call::LaterCall;
use crate::notify::Kind;
use crate::random::Random;
use crate::world::World;

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

    fn forget_times(&mut self) {
        World::forget_times(self);
    }

    #[inline]
    fn clock(&self) -> Clock {
        match (self.clock.peek(), self.wall_ns) {
            (Some(now), _) => Clock::new(now, 1),
            (None, Some(now)) => Clock::new(now, 0),
            (None, None) => Clock::of_wall(self.clock.pace()),
        }
    }

    #[inline]
    fn clock_was_read(&mut self, begin_ns: i64, passed_ns: i64) {
        if self.clock.is_simulated() {
            self.clock.pass(passed_ns);
        } else {
            self.wall_ns.get_or_insert(begin_ns);
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
        let max = max.clamp(1, BATCH_MAX);
        let asked = self.slots[from].as_ref().filter(|_| self.classes[from].pulls_first);
        let first = asked.and_then(|element| element.pulls_first(output, max));
        let pulled = match first.map(|(input, max)| self.pull_first(from, output, input, max)) {
            Some(pulled) if pulled.is_empty() => return pulled,
            pulled => pulled,
        };
        let Some(mut taken) = self.slots[from].take() else { return Batch::new() };
        let mut outbox = self.spare_outboxes.pop().unwrap_or_default();
        let mut ctx = Ctx::new(from, self, &mut outbox);
        let batch = match pulled {
            None => taken.pull(&mut ctx, output, max),
            Some(pulled) => taken.pulled(&mut ctx, output, pulled),
        };
        self.put_back(from, taken);
        self.n_steps += batch.len();
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

    fn leads_straight_to(&self, element: ElementIdx, port: PortIdx) -> Option<(ElementIdx, PortIdx)> {
        let target = self.wiring.target(element, port).filter(|_| self.watchers.is_empty())?;
        Some((target.element(), target.port()))
    }

    fn fan(&mut self, element: ElementIdx) -> Option<(&Fan, PortIdx)> {
        self.watchers.is_empty().then(|| self.fan_behind(element)).flatten()
    }

    #[inline]
    fn leads_to_reader(&mut self, element: ElementIdx) -> bool {
        self.wiring.leads_to_reader(element, &self.classes)
    }

    fn input_is_push(&self, element: ElementIdx, port: PortIdx) -> bool {
        self.wiring.input_is_push(element, port)
    }

    fn default_burst(&self) -> usize {
        self.burst
    }

    fn fitting(&mut self, element: ElementIdx, burst: usize, own: Causes) -> usize {
        World::fitting(self, element, burst, own)
    }

    fn at_once(&mut self, element: ElementIdx, burst: usize, own: Causes) -> usize {
        if self.burst == 1 && self.wiring.shows_order {
            if self.clock.is_simulated() || !self.goes_together(element, burst, own) {
                return 1;
            }
            self.go_together(element);
        }
        BATCH_MAX
    }

    fn take_runs(&mut self, element: ElementIdx, burst: usize, own: Causes, wanted: usize) -> usize {
        self.take_turn(element, burst, own, wanted)
    }

    fn makes_no_longer(&mut self, element: ElementIdx, bytes: usize) {
        self.wiring.makes_no_longer(element, bytes);
    }

    fn is_unforeseen(&mut self, element: ElementIdx, own: Causes) -> bool {
        World::is_unforeseen(self, element, own)
    }

    fn took_runs(&mut self, n: usize) {
        self.turn.shorten(n);
    }

    fn came_in_turn(&mut self) -> Option<usize> {
        let store = self.turn.emptied_now()?;
        let len = self.stock(store)?.len;
        Some(self.turn.n_to_take(store, len))
    }

    #[inline]
    fn comes_later(&mut self, element: ElementIdx, port: PortIdx, batch: &mut Batch) -> bool {
        self.turn.keeps_back(element, port, batch)
    }

    fn chooses_in_turn(&self) -> bool {
        self.turn.chooses_now()
    }

    fn let_come(&mut self, run: usize) {
        World::let_come(self, run);
    }

    fn runs_behind(&self, place: Option<u32>) -> usize {
        self.turn.runs_behind(place)
    }

    fn is_drained(&self, store: ElementIdx) -> bool {
        self.turn.is_drained(store)
    }

    fn most_stored(&self, element: ElementIdx, len: usize) -> usize {
        self.turn.most_stored(element).map_or(len, |most| most.min(len))
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

    fn unschedule(&mut self, task: TaskId) {
        self.tasks.unschedule(task, false);
    }

    fn is_scheduled(&self, task: TaskId) -> bool {
        self.tasks.is_scheduled(task)
    }

    fn has_other_tasks(&self) -> bool {
        self.tasks.has_others()
    }

    #[inline]
    fn go_on_later(&mut self) {
        self.goes_on = true;
    }

    fn hold(&mut self, element: ElementIdx, task: TaskId) {
        if !self.holders.iter().any(|(holder, _)| *holder == element) {
            self.holders.push((element, task));
        }
        // The one that runs is the last of this round.
        self.runs_left = self.runs_left.min(1);
    }

    fn release(&mut self, element: ElementIdx) {
        self.holders.retain(|(holder, _)| *holder != element);
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
        self.selects.add(element, fd, interest).map_err(|error| element::output::reason(&error))
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
        let context = context_of(Runtime::name(self, from)).to_string();
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
        let found = |context| self.by_name.get(&format!("{context}{name}")).copied();
        contexts(context_of(Runtime::name(self, from))).find_map(found)
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

    fn may_say(&self, limit: Limit) -> bool {
        self.said.get(limit.what).is_none_or(|n| *n < limit.most)
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

    fn refusal(&self, from: ElementIdx, handler: &str, message: &str) -> i32 {
        crate::handlers::refusal(self, from, handler, message)
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

    fn claim_change(&mut self) -> Option<ChangeOutcome> {
        let unclaimed = self.awaited_change.as_mut().filter(|awaited| awaited.outcome.is_none());
        unclaimed.map(|awaited| awaited.outcome.insert(ChangeOutcome::default()).clone())
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
        self.chatter.say_as(self.name(element), text, false);
    }

    fn complain(&mut self, element: ElementIdx, text: &str) {
        self.chatter.say_as(self.name(element), text, true);
    }

    fn say(&mut self, element: ElementIdx, line: Line<'_>) {
        if !self.together.holds(element, line) {
            self.say_now(element, line);
        }
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
