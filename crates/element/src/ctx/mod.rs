//! The context: what an element can ask of the engine while one of its methods runs. Here is what concerns packets, what is said, and
//! chance.

mod calls;
mod schedule;

use graph::{ElementIdx, PortIdx};
use packet::{Batch, Packet};

use crate::runtime::Runtime;
use crate::{Causes, Limit, Line, Outbox};

/// Most packets of several runs of a task that are moved together.
const TOGETHER: usize = 32;
/// Largest burst of which several are moved together.
const JOINT: usize = TOGETHER / 2;

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

/// The task of an element that pulls; see [`Ctx::new_puller`].
#[derive(Debug)]
pub struct Puller {
    /// The task.
    pub task: TaskId,
    /// Whether there may be packets to pull.
    pub signal: Signal,
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
        if !self.outbox.is_empty() {
            self.deliver();
        }
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

    /// Of a burst that the user did not ask for, how many packets to send in this run of a task: so many that the queues that they come to
    /// have room for them and are emptied, so that what comes of them is what comes of single ones, as under Click. None if the task is to
    /// run once more first. To move them causes `own`.
    #[inline]
    pub fn fitting(&mut self, burst: usize, own: Causes) -> usize {
        match burst {
            0 | 1 => burst,
            _ => self.runtime.fitting(self.element, burst, own),
        }
    }

    /// How many packets of a burst may move together: 1 under `weir click` if it may show in what order packets came, else
    /// as many as a batch holds. To move them causes `own`.
    pub fn at_once(&mut self, burst: usize, own: Causes) -> usize {
        self.runtime.at_once(self.element, burst, own)
    }

    /// As [`Ctx::emit_now`], but what comes of the batch may wait until the method that runs has returned, where nobody notices: where no
    /// handler is called because of it. To move packets causes `own`.
    pub fn emit_noticed(&mut self, port: PortIdx, batch: Batch, own: Causes) {
        if self.runtime.is_unforeseen(self.element, own) {
            self.emit_now(port, batch);
        } else {
            self.emit(port, batch);
        }
    }

    /// How many packets to move in this run of a task that moves `burst` in each, and may move `left` in all. They are those of several
    /// runs, up to 32, if these would follow each other, or take turns with those of other tasks, and it shows nowhere that the packets
    /// went together. To move them causes `own`.
    #[inline]
    pub fn joint_burst(&mut self, burst: usize, left: u64, own: Causes) -> usize {
        let runs = match burst {
            1 => left.min(TOGETHER as u64) as usize,
            2..=JOINT => left.div_ceil(burst as u64).min((TOGETHER / burst) as u64) as usize,
            _ => 1,
        };
        let runs = if runs > 1 { self.runtime.take_runs(self.element, burst, own, runs) } else { 1 };
        left.min((burst * runs) as u64) as usize
    }

    /// As [`Ctx::pull`], of as many packets as [`Ctx::joint_burst`] told for this burst. Yields also how many of the runs that were taken
    /// as one found nothing behind the last packet; of a run with a larger burst, whether it found less.
    #[inline]
    pub fn pull_joint(&mut self, port: PortIdx, burst: usize, wanted: usize) -> (Batch, usize) {
        if burst == 1 {
            if let Some(n_stored) = self.runtime.came_in_turn() {
                return self.pull_in_turn(port, n_stored, wanted);
            }
            if self.runtime.chooses_in_turn() {
                return self.pull_run_by_run(port, wanted);
            }
        }
        let batch = self.pull(port, wanted);
        let n_idle = usize::from(batch.len() < wanted);
        (batch, n_idle)
    }

    /// Pulls what came to be pulled in this turn, and then finds nothing as often as runs one by one would.
    #[cold]
    fn pull_in_turn(&mut self, port: PortIdx, n_stored: usize, wanted: usize) -> (Batch, usize) {
        let n = n_stored.min(wanted);
        let mut batch = if n > 0 { self.pull(port, n) } else { Batch::new() };
        let mut run = 0;
        for packet in batch.iter_mut() {
            // Of those that come at once each leaves in another run.
            run = packet.place().max(run);
            packet.set_place(run);
            run += 1;
        }
        let n_idle = self.runtime.runs_behind(batch.iter().next_back().map(Packet::place));
        for _ in 0..n_idle {
            self.pull(port, 1);
        }
        (batch, n_idle)
    }

    /// Pulls a packet in each run, when those have come that were brought before it.
    #[cold]
    fn pull_run_by_run(&mut self, port: PortIdx, n_runs: usize) -> (Batch, usize) {
        let (mut batch, mut n_idle) = (Batch::new(), 0);
        for run in 0..n_runs {
            self.runtime.let_come(run);
            match self.pull_packet(port) {
                None => n_idle += 1,
                Some(mut packet) => {
                    packet.set_place(run as u32);
                    batch.push(packet);
                    n_idle = 0;
                }
            }
        }
        (batch, n_idle)
    }

    /// Packets come that are to be stored. Whether they come later instead, as a task takes them out that must not see them too early; the
    /// batch is empty then.
    #[inline]
    pub fn comes_later(&mut self, port: PortIdx, batch: &mut Batch) -> bool {
        self.runtime.comes_later(self.element, port, batch)
    }

    /// From now on the packets that this element makes are no longer than that.
    pub fn makes_no_longer(&mut self, bytes: usize) {
        self.runtime.makes_no_longer(self.element, bytes);
    }

    /// There were packets for `n` of the runs that [`Ctx::joint_burst`] took as one.
    pub fn took_runs(&mut self, n: usize) {
        self.runtime.took_runs(n);
    }

    /// Whether each packet that comes to an element now leaves it before the next comes, though they come together.
    pub fn is_drained(&self, store: ElementIdx) -> bool {
        self.runtime.is_drained(store)
    }

    /// How many packets would have been stored at a time, where `len` are stored now, if they had come one by one.
    pub fn most_stored(&self, len: usize) -> usize {
        self.runtime.most_stored(self.element, len)
    }

    // ---- the rest

    /// Prints text, a line or several, on standard error.
    pub fn chatter(&mut self, text: &str) {
        self.runtime.chatter(self.element, text);
    }

    /// The same, about a packet, by its [`Packet::place`]: lines about packets that went together come in the order of the packets.
    pub fn chatter_of(&mut self, place: u32, text: &str) {
        self.chatter_on("", place, text);
    }

    /// The same, unless enough was said of what the line tells.
    pub fn chatter_of_at_most(&mut self, place: u32, limit: Limit, text: &str) {
        self.runtime.say(self.element, Line { channel: "", place, limit: Some(limit), text });
    }

    /// As [`Ctx::chatter`], of something at which this element failed: where there are levels, it is a warning.
    pub fn complain(&mut self, text: &str) {
        self.runtime.complain(self.element, text);
    }

    /// Whether a line that there is a limit to may still be said.
    pub fn may_say(&self, limit: Limit) -> bool {
        self.runtime.may_say(limit)
    }

    /// As [`Ctx::chatter_of`], on a channel for those who listen there; `default` is standard error.
    pub fn chatter_on(&mut self, channel: &str, place: u32, text: &str) {
        self.runtime.say(self.element, Line { channel, place, limit: None, text });
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
