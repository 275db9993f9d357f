//! The world of a running graph: its elements and all that they ask of the engine.

use std::collections::HashMap;
use std::sync::Arc;

use args::Names;
use element::{Balance, Batch, Class, Element, ElementIdx, Notifies, Outbox, PortIdx, Runtime, TaskId, TOP};
use graph::Graph;

use crate::call::LaterCall;
use crate::change::{Awaited, Follower, Loader, Revisions, Subscriber};
use crate::chatter::{Hear, Voice};
use crate::clock::Clock;
use crate::crew::Crew;
use crate::drops::Drops;
use crate::flow::Step;
use crate::notify::Notifiers;
use crate::random::Random;
use crate::schedule::Schedule;
use crate::select::{Event, Selects};
use crate::signals::Signals;
use crate::tasks::TaskList;
use crate::timers::Timers;
use crate::together::Together;
use crate::turns::Turn;
use crate::wake::Waker;
use crate::watcher::Watcher;
use crate::wiring::Wiring;

/// Steps that take so little time together that nobody minds: runs of tasks, and packets that come to elements. A burst of 32 packets
/// has one time as well.
const RECENT: usize = 32;

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
    pub(crate) told: Option<Vec<String>>,
    pub(crate) clock: Clock,
    /// Times read of late, so that one run, and a few short ones, read each clock once.
    pub(crate) wall_ns: Option<i64>,
    pub(crate) steady_ns: Option<i64>,
    /// Steps that tasks and packets made since times were forgotten.
    pub(crate) n_steps: usize,
    pub(crate) drops: Vec<Drops>,
    /// Batches still to be delivered: the last one is next.
    pub(crate) stack: Vec<Step>,
    /// Storage for what an element emitted, while it is lined up.
    pub(crate) parts: Vec<(u32, Batch)>,
    /// How many calls of [`World::flow`] work on it: the last one on its top part, the others wait for that.
    pub(crate) n_flows: usize,
    /// Handler calls that wait for the elements that asked for them.
    pub(crate) later: Vec<LaterCall>,
    /// Whether the element whose task or timer runs wants to go on when what it emitted has been dealt with.
    pub(crate) goes_on: bool,
    /// Storage of outboxes for reuse.
    pub(crate) spare_outboxes: Vec<Outbox>,
    /// Storage of what descriptors are ready for, for reuse.
    pub(crate) spare_events: Vec<Event>,
    pub(crate) runcount: i64,
    pub(crate) driver: Option<ElementIdx>,
    pub(crate) is_running: bool,
    /// Whether all elements have been initialised.
    pub(crate) is_initialized: bool,
    pub(crate) burst: usize,
    pub(crate) together: Together,
    pub(crate) turn: Turn,
    /// Runs of tasks that are left in this round of the driver, that of the task that runs now among them.
    pub(crate) runs_left: usize,
    /// The elements that let nothing else run, with the tasks that do.
    pub(crate) holders: Vec<(ElementIdx, TaskId)>,
    pub(crate) chatter: Voice,
    /// Those who look at packets on their way.
    pub(crate) watchers: Vec<Box<dyn Watcher>>,
    pub(crate) random: Random,
    /// How often things were said that are said a few times only.
    pub(crate) said: HashMap<&'static str, u32>,
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
    /// When it began to run, in nanoseconds since the epoch.
    pub(crate) began_ns: Option<i64>,
    /// The graphs that ran.
    pub(crate) revisions: Revisions,
    /// Handlers that are written for each step of a change, and the element that they want to hear of, or none.
    pub(crate) subscribers: Vec<Subscriber>,
    /// Those outside of the graph who hear of each change.
    pub(crate) followers: Vec<Follower>,
    /// A change that is made when no element is busy.
    pub(crate) awaited_change: Option<Awaited>,
    /// What a change of the graph is read with; without it the graph cannot be changed.
    pub loader: Option<Arc<dyn Loader>>,
    /// Outputs on whose behalf an input is pulled from just now.
    pub pulling_first: Vec<(ElementIdx, PortIdx)>,
    /// Whether the graph may be changed by the handler `hotconfig`.
    pub has_hotconfig: bool,
    /// The configuration as it was given.
    pub source: String,
    /// Writes a graph as text.
    pub flatten: fn(&Graph) -> String,
    /// The names of the classes that exist.
    pub class_names: fn() -> Vec<&'static str>,
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
            n_steps: 0,
            drops,
            stack: Vec::new(),
            parts: Vec::new(),
            n_flows: 0,
            later: Vec::new(),
            goes_on: false,
            spare_outboxes: Vec::new(),
            spare_events: Vec::new(),
            runcount: 1,
            driver: None,
            is_running: false,
            is_initialized: false,
            burst,
            together: Together::default(),
            turn: Turn::default(),
            runs_left: 0,
            holders: Vec::new(),
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
            began_ns: None,
            revisions: Revisions::default(),
            subscribers: Vec::new(),
            followers: Vec::new(),
            awaited_change: None,
            loader: None,
            pulling_first: Vec::new(),
            has_hotconfig: false,
            source: String::new(),
            flatten: |_| String::new(),
            class_names: Vec::new,
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

    /// Does something, and gathers the errors that are told of meanwhile.
    pub(crate) fn hear<R>(&mut self, act: impl FnOnce(&mut World) -> R) -> (R, Vec<String>) {
        let outer = self.told.replace(Vec::new());
        let result = act(self);
        let told = std::mem::replace(&mut self.told, outer);
        (result, told.unwrap_or_default())
    }

    /// Gives what elements print to `hear`, with the element's name, instead of printing it.
    pub fn hear_elements(&mut self, hear: Hear) {
        self.chatter.give(hear);
    }

    /// Forgets the times read: they are read anew when next asked for.
    #[inline]
    pub(crate) fn forget_times(&mut self) {
        (self.wall_ns, self.steady_ns, self.n_steps) = (None, None, 0);
    }

    /// Forgets them before a run of a task, unless hardly anything has happened since.
    #[inline]
    pub(crate) fn forget_old_times(&mut self) {
        if self.n_steps >= RECENT {
            self.forget_times();
        }
        self.n_steps += 1;
    }

    /// Whether a handler's text is to be printed as it is, without a newline added.
    pub fn handler_is_raw(&self, name: &str) -> bool {
        let found = name
            .rsplit_once('.')
            .and_then(|(element, handler)| crate::handlers::facts(self, self.find(element, TOP)?, handler));
        found.is_some_and(|handler| handler.has_flag("raw"))
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

    /// The graphs that ran, and the one that runs.
    pub fn revisions(&mut self) -> &Revisions {
        self.remember_first();
        &self.revisions
    }

    /// Remembers that the graph runs, and since when.
    pub(crate) fn begin_to_run(&mut self) {
        self.is_running = true;
        self.began_ns();
    }

    /// Since when the graph runs.
    pub(crate) fn began_ns(&mut self) -> i64 {
        let clock = &mut self.clock;
        // Looking at simulated time would let it pass.
        *self.began_ns.get_or_insert_with(|| clock.peek().unwrap_or_else(|| clock.wall_ns()))
    }

    /// The graph.
    pub fn graph(&self) -> &Graph {
        &self.graph
    }

    /// The class of an element.
    pub fn class_of(&self, element: ElementIdx) -> &'static Class {
        self.classes[element]
    }
}
