//! What the engine offers to elements, behind [`crate::Ctx`].

use std::sync::{Arc, OnceLock};

use graph::{ElementIdx, PortIdx};
use packet::Batch;

use crate::clock::Clock;
use crate::ctx::{Ready, SearchOp, Signal, TaskId, TimerId, Wake};
use crate::fast_path::Fan;
use crate::{Causes, Ctx, Element, HandlerCall, Limit, Line};

/// The notifiers that an element has.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Notifies {
    /// Tells downstream pullers whether there is something to pull.
    pub empty: Option<SearchOp>,
    /// Tells upstream pushers whether there is room.
    pub full: Option<SearchOp>,
    /// Whether Click makes the first one when the graph is initialised, and only if packets are pulled from the element. That
    /// shows in the numbers that signals are printed with.
    pub made_late: bool,
}

impl Notifies {
    /// Those of a source that Click makes late.
    pub const LATE: Notifies = Notifies { empty: Some(SearchOp::Stop), full: None, made_late: true };
}

/// Hears lines for the user; it returns false when it is to hear no more. It must not print any itself.
pub type Ear = Box<dyn FnMut(&str) -> bool + Send>;

/// What came of a change of the graph, once it has been tried: what there is to tell of it, as an error if the graph did not
/// change.
pub type ChangeOutcome = Arc<OnceLock<Result<Vec<String>, Vec<String>>>>;

/// How a handler is to be called.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HandlerUse<'a> {
    /// Read, with a parameter.
    Read(&'a str),
    /// Written.
    Write,
}

/// In which order parts of a graph are given threads, each one the thread that has the least to do so far.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Balance {
    /// Those that do least come first.
    Increasing,
    /// Those that do most come first.
    Decreasing,
}

/// How a batch that is handed to another thread is delivered there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Delivery {
    /// It is pushed to the element's input.
    Push,
    /// As `Push`, but what the element emits is thrown away: the batch has gone on where it came from.
    Copy,
    /// It leaves by the element's output.
    Emit,
}

/// The engine as an element sees it. Elements use [`Ctx`], which adds the current element to each call.
///
/// `element` is always the calling element.
pub trait Runtime {
    /// See [`Ctx::now_ns`]; simulated time passes by a nanosecond with each call.
    fn now_ns(&mut self) -> i64;
    /// See [`Ctx::forget_times`].
    fn forget_times(&mut self);
    /// A clock that gives what [`Runtime::now_ns`] would.
    fn clock(&self) -> Clock;
    /// Such a clock began at a time, and let some of it pass, if it is simulated.
    fn clock_was_read(&mut self, begin_ns: i64, passed_ns: i64);
    /// Lets simulated time pass.
    fn pass_ns(&mut self, passed_ns: i64);
    /// Steady time in nanoseconds.
    fn steady_ns(&mut self) -> i64;
    /// Steady time, without letting simulated time pass.
    fn recent_steady_ns(&mut self) -> i64;
    /// Pulls from what is connected to the element's input.
    fn pull(&mut self, element: ElementIdx, port: PortIdx, max: usize) -> Batch;
    /// Runs what a batch pushed to an output causes, at once and to the end.
    fn push_now(&mut self, element: ElementIdx, port: PortIdx, batch: Batch);
    /// Counts `n` drops for a reason.
    fn count_drops(&mut self, element: ElementIdx, reason: Option<usize>, n: u64);
    /// Shows packets about to be dropped to whoever traces packets.
    fn show_drops(&mut self, element: ElementIdx, reason: usize, batch: &Batch);
    /// Number of inputs and outputs.
    fn n_ports(&self, element: ElementIdx) -> (usize, usize);
    /// Whether an output is push.
    fn output_is_push(&self, element: ElementIdx, port: PortIdx) -> bool;
    /// See [`Ctx::leads_straight_to`].
    fn leads_straight_to(&self, element: ElementIdx, port: PortIdx) -> Option<(ElementIdx, PortIdx)>;
    /// What packets that an element sends by several outputs pass until they meet again, and the output that they leave by; `None` if
    /// they do not meet so, or somebody looks at them.
    fn fan(&mut self, element: ElementIdx) -> Option<(&Fan, PortIdx)>;
    /// See [`Ctx::leads_to_reader`].
    fn leads_to_reader(&mut self, element: ElementIdx) -> bool;
    /// Whether an input is push.
    fn input_is_push(&self, element: ElementIdx, port: PortIdx) -> bool;
    /// How many packets an element should move at a time where the user did not say.
    fn default_burst(&self) -> usize;
    /// See [`Ctx::fitting`].
    fn fitting(&mut self, element: ElementIdx, burst: usize, own: Causes) -> usize;
    /// See [`Ctx::at_once`].
    fn at_once(&mut self, element: ElementIdx, burst: usize, own: Causes) -> usize;
    /// Takes several runs of the task that runs now, which moves `burst` packets in each, as one: at most `wanted`. See
    /// [`Ctx::joint_burst`].
    fn take_runs(&mut self, element: ElementIdx, burst: usize, own: Causes, wanted: usize) -> usize;
    /// See [`Ctx::makes_no_longer`].
    fn makes_no_longer(&mut self, element: ElementIdx, bytes: usize);
    /// Whether packets that a task of the element moves, which causes `own`, may cause anything.
    fn is_unforeseen(&mut self, element: ElementIdx, own: Causes) -> bool;
    /// See [`Ctx::took_runs`].
    fn took_runs(&mut self, n: usize);
    /// How many packets came to where the present task takes them out since several runs were taken as one, if they came from another
    /// task that these take turns with.
    fn came_in_turn(&mut self) -> Option<usize>;
    /// See [`Ctx::comes_later`].
    fn comes_later(&mut self, element: ElementIdx, port: PortIdx, batch: &mut Batch) -> bool;
    /// Whether it is chosen in each run of the present task whether and where it pulls, and several runs were taken as one.
    fn chooses_in_turn(&self) -> bool;
    /// Lets the packets come that were brought up to this run.
    fn let_come(&mut self, run: usize);
    /// How many runs of those that were taken as one there are behind that of the packet at this place.
    fn runs_behind(&self, place: Option<u32>) -> usize;
    /// See [`Ctx::is_drained`].
    fn is_drained(&self, store: ElementIdx) -> bool;
    /// See [`Ctx::most_stored`].
    fn most_stored(&self, element: ElementIdx, len: usize) -> usize;

    /// Makes a task.
    fn new_task(&mut self, element: ElementIdx) -> TaskId;
    /// Puts a task on its thread's list.
    fn schedule(&mut self, task: TaskId);
    /// Takes a task off the list, until it is scheduled or a notifier wakes it.
    fn unschedule(&mut self, task: TaskId);
    /// Whether a task is on the list.
    fn is_scheduled(&self, task: TaskId) -> bool;
    /// Whether others than the one that runs are on the list.
    fn has_other_tasks(&self) -> bool;
    /// Has the element whose task or timer runs go on when what it emitted has been dealt with.
    fn go_on_later(&mut self);
    /// Lets no task run on this thread but this one, and no timer, until [`Runtime::release`]: it runs whenever a descriptor is ready
    /// that its element watches, and every so often.
    fn hold(&mut self, element: ElementIdx, task: TaskId);
    /// Ends what [`Runtime::hold`] began for the element.
    fn release(&mut self, element: ElementIdx);
    /// The task's tickets.
    fn tickets(&self, task: TaskId) -> u32;
    /// Sets the task's tickets.
    fn set_tickets(&mut self, task: TaskId, tickets: u32);
    /// Sets the thread a task runs on.
    fn set_home_thread(&mut self, task: TaskId, thread: i32);

    /// Makes a timer.
    fn new_timer(&mut self, element: ElementIdx) -> TimerId;
    /// Sets a timer to a steady time.
    fn schedule_timer(&mut self, timer: TimerId, at_steady_ns: i64);
    /// Stops a timer.
    fn unschedule_timer(&mut self, timer: TimerId);
    /// When a timer will expire, or expired last.
    fn timer_expiry(&self, timer: TimerId) -> i64;
    /// Whether a timer is set.
    fn timer_is_scheduled(&self, timer: TimerId) -> bool;

    /// Sets the element's empty notifier.
    fn set_empty_signal(&mut self, element: ElementIdx, active: bool);
    /// Sets the element's full notifier.
    fn set_full_signal(&mut self, element: ElementIdx, active: bool);
    /// The empty notifiers upstream of an input.
    fn upstream_empty_signal(&mut self, element: ElementIdx, port: PortIdx, wake: Wake) -> Signal;
    /// The full notifiers downstream of an output.
    fn downstream_full_signal(&mut self, element: ElementIdx, port: PortIdx, wake: Wake) -> Signal;
    /// Whether any notifier of a signal is active.
    fn signal_is_active(&self, signal: &Signal) -> bool;
    /// A signal as Click prints it, such as `empty.0/3:1*`.
    fn describe_signal(&self, signal: &Signal) -> String;

    /// Watches a file descriptor.
    fn add_select(
        &mut self,
        element: ElementIdx,
        fd: std::os::fd::BorrowedFd<'_>,
        interest: Ready,
    ) -> Result<(), String>;
    /// Stops watching a file descriptor for `interest`.
    fn remove_select(&mut self, element: ElementIdx, fd: i32, interest: Ready);
    /// Sets the thread on which the tasks of any element run, those it has and those it will make; negative: none.
    fn set_element_thread(&mut self, idx: ElementIdx, thread: i32);
    /// Sets the tickets, of 1024 as usual, of the elements called `name` or inside of a compound element of that name, as
    /// seen from `from`'s compound.
    fn define_tickets(&mut self, from: ElementIdx, name: &str, tickets: u32);

    /// Hands a batch to the same element on another thread; `false` and the batch dropped if there is no such thread.
    fn hand_over(&mut self, thread: usize, to: (ElementIdx, PortIdx), how: Delivery, batch: Batch) -> bool;
    /// Which replica of the graph this is, the first being 0, and how many there are.
    fn replica(&self) -> (usize, usize);
    /// A number on which the replicas of an element agree: what the first one proposes.
    fn agree(&mut self, element: ElementIdx, proposal: Option<u64>) -> Option<u64>;

    /// Sends the element the next `signo`.
    fn catch_signal(&mut self, element: ElementIdx, signo: i32) -> Result<(), String>;

    /// Runs `f` on another element; false if it is busy (it is on the call path) or does not exist.
    fn with_element(&mut self, idx: ElementIdx, f: &mut dyn FnMut(&mut dyn Element, &mut Ctx<'_>)) -> bool;
    /// The element's full name.
    fn name(&self, idx: ElementIdx) -> &str;
    /// The element's class.
    fn class(&self, idx: ElementIdx) -> &'static str;
    /// The element with this name, looked up from `from`'s compound outwards.
    fn find(&self, name: &str, from: ElementIdx) -> Option<ElementIdx>;
    /// The names that arguments may use.
    fn names(&self) -> &args::Names;
    /// Number of elements.
    fn n_elements(&self) -> usize;
    /// The input ports connected to an output.
    fn downstream(&self, idx: ElementIdx, port: PortIdx) -> Vec<(ElementIdx, PortIdx)>;
    /// The output ports connected to an input.
    fn upstream(&self, idx: ElementIdx, port: PortIdx) -> Vec<(ElementIdx, PortIdx)>;
    /// Whether a line that there is a limit to may still be said.
    fn may_say(&self, limit: Limit) -> bool;
    /// Gives an element another flow code than its class has, for searches for notifiers from then on.
    fn set_flow_code(&mut self, idx: ElementIdx, code: &str);

    /// Reads `element.handler param` or a global handler, names being looked up from `from`'s compound outwards. The error is
    /// Click's message.
    fn read_handler(&mut self, from: ElementIdx, handler: &str, param: &str) -> Result<String, String>;
    /// Writes `element.handler` or a global handler.
    fn write_handler(&mut self, from: ElementIdx, handler: &str, value: &str) -> Result<(), String>;
    /// What a script is told by number of a write that failed with this message.
    fn refusal(&self, from: ElementIdx, handler: &str, message: &str) -> i32;
    /// Calls a write handler as soon as the element's method has returned; `tell` where its error is to be told.
    fn call_later(&mut self, from: ElementIdx, call: HandlerCall, tell: bool);
    /// Whether a handler exists: (readable, writable).
    fn handler_exists(&self, from: ElementIdx, handler: &str) -> (bool, bool);

    /// Checks that a handler exists and can be read, or written, with or without a value, before it is called: its full name,
    /// or Click's message.
    fn check_handler(&self, from: ElementIdx, handler: &str, call: HandlerUse<'_>) -> Result<String, String>;
    /// Whether a handler exists and is for the eyes of remote users: (readable, writable).
    fn handler_visible(&self, from: ElementIdx, handler: &str) -> (bool, bool);

    /// Where the outcome will be of the change that the handler `hotconfig` has just been told of; nobody else hears of it
    /// then. `None` if no change is to come.
    fn claim_change(&mut self) -> Option<ChangeOutcome> {
        None
    }

    /// Tells whoever called the handler that is running, or initialises the element, of an error that did not end it.
    fn tell(&mut self, message: &str);
    /// Sets where such errors go, to a list or to standard error, and gives where they went before.
    fn collect_told(&mut self, told: Option<Vec<String>>) -> Option<Vec<String>>;

    /// Prints what an element says on standard error.
    fn chatter(&mut self, element: ElementIdx, text: &str);
    /// The same, of something at which the element failed: logs that know levels warn of it.
    fn complain(&mut self, element: ElementIdx, text: &str);
    /// Says a line about a packet on a channel, which prints it on standard error if that channel is `default` or not quiet.
    fn say(&mut self, element: ElementIdx, line: Line<'_>);

    /// Lets `ear` hear what is said on a channel from now on, until it returns false. A channel is opened by its first
    /// listener, who says whether it is quiet.
    fn listen(&mut self, channel: &str, is_quiet: bool, ear: Ear);
    /// A random number below 2^31.
    fn random(&mut self) -> u32;
    /// Begins another sequence of random numbers, on all threads: that of a seed or, with `None`, one that nobody can
    /// foretell.
    fn seed_random(&mut self, seed: Option<u32>);
    /// The thread, or the core, that what happens now comes from, the first being 0: for what another thread has pushed, that
    /// thread.
    fn thread(&self) -> usize;
    /// Spreads the parts of the graph that no element has a thread for over all threads: before they begin, by what their tasks may
    /// take; when called later, by what they took of late. `None` ends that.
    fn balance_threads(&mut self, order: Option<Balance>);
    /// Does nothing on this thread for a time, or until the system sends a signal; simulated time passes.
    fn block(&mut self, time_ns: i64);
    /// Takes away one reason to keep running, as the element wants it.
    fn stop(&mut self, element: ElementIdx);
    /// Adds to the number of reasons to keep running; the driver stops at 0 or below.
    fn adjust_runcount(&mut self, delta: i64);
    /// The number of reasons to keep running.
    fn runcount(&self) -> i64;
    /// Makes an element the driver manager.
    fn manage_driver(&mut self, element: ElementIdx) -> Result<(), String>;
    /// Whether the graph is running, as opposed to being initialised.
    fn is_running(&self) -> bool;
}
