//! The present turn, and what it does to packets that are stored in it.

use element::{Batch, ElementIdx, Packet, PortIdx};

use super::lists::List;

/// After so many runs in which there could be no turn, none is looked for in so many: behind them it is another task's run.
const PATIENCE: u32 = 8;
const WAIT: u32 = 37;

/// The present turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// Runs of each task; 0 if tasks do not take turns now.
    n: usize,
    /// The tasks of the list that take turns, in order, and which of these runs.
    order: Vec<usize>,
    at: usize,
    /// The list, if tasks may wake that the packets of the first one come to, and so come behind the others.
    waking: Option<usize>,
    /// Where packets are stored that come and leave in this turn.
    passed: Vec<Passed>,
    /// Of the tasks of the list, those that choose in each run whether and where to pull, a bit each.
    choosers: u32,
    /// Packets on the doorstep of where such a task pulls from.
    kept_back: Vec<KeptBack>,
    /// How often one after the other there could be no turn, and how many runs to wait until it is looked for one again.
    n_refused: u32,
    n_waits: u32,
}

/// Packets that come to an input when the task runs that takes them out.
#[derive(Debug)]
struct KeptBack {
    by: usize,
    element: ElementIdx,
    port: PortIdx,
    /// The last packet first.
    batch: Batch,
}

/// An element that packets come to and leave in a turn.
#[derive(Debug)]
struct Passed {
    element: ElementIdx,
    /// The task that takes them out, if that is a later one than that which fills it.
    by: Option<usize>,
    /// Packets that it held when the turn began.
    len: usize,
    /// Whether packets are kept back until the run that they come in.
    is_chosen: bool,
    /// Where more than one packet may come of one: what would have happened had they come one by one.
    one_by_one: Option<OneByOne>,
}

/// An element that packets come to in several runs, of each any number, and leave one at the end of each run.
#[derive(Debug, Default)]
struct OneByOne {
    /// The present run, and packets that the element holds in it.
    run: usize,
    len: usize,
    /// Packets that have left it.
    n_left: usize,
}

impl OneByOne {
    /// Ends the runs before this one.
    fn begin(&mut self, run: usize) {
        let n = self.len.min(run.saturating_sub(self.run));
        self.len -= n;
        self.n_left += n;
        self.run = self.run.max(run);
    }

    /// Packets come, each in the run of its place. The most that the element holds at a time then.
    fn come(&mut self, places: impl Iterator<Item = u32>) -> usize {
        let mut most = 0;
        for place in places {
            self.begin(place as usize);
            self.len += 1;
            most = most.max(self.len);
        }
        most
    }
}

impl Turn {
    /// Whether tasks take turns now.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.n > 0
    }

    /// Begins one of so many runs; `len` tells how many packets an element holds.
    pub fn begin(&mut self, n: usize, list: usize, found: &List, len: impl Fn(ElementIdx) -> Option<usize>) {
        (self.n, self.at, self.n_refused) = (n, 0, 0);
        (self.waking, self.choosers) = (found.may_wake().then_some(list), found.choosers);
        self.order.clear();
        self.order.extend(0..found.n_present);
        self.kept_back.clear();
        self.passed.clear();
        for shared in found.stores.as_deref().unwrap_or(&[]) {
            let by = shared.passed_on_by();
            if by.is_none() && (shared.growth == 1 || shared.emptied_by.is_none()) {
                continue;
            }
            let (element, is_chosen) = (shared.element, shared.is_chosen);
            let len = len(element).unwrap_or(0);
            // What others take out first, they do at the beginning of each run.
            let left = if by.is_some() { len } else { len.saturating_sub(1) };
            let grows = shared.growth > 1 && !is_chosen;
            let one_by_one = grows.then(|| OneByOne { len: left, ..OneByOne::default() });
            self.passed.push(Passed { element, by, len, is_chosen, one_by_one });
        }
    }

    /// Ends it, also in the middle.
    pub fn end(&mut self) {
        self.n = 0;
    }

    /// Runs of each task; 0 if there is no turn.
    pub fn n_runs(&self) -> usize {
        self.n
    }

    /// The list, if the first task has run and tasks may have woken.
    pub fn waking_now(&self) -> Option<usize> {
        self.waking.filter(|_| self.is_on() && self.at == 0)
    }

    /// Where packets came to that a task takes out.
    pub fn filled_for(&self, task: usize) -> Option<ElementIdx> {
        let is_its = |passed: &&Passed| passed.by == Some(task) && passed.len == 0;
        Some(self.passed.iter().find(is_its)?.element)
    }

    /// A task comes behind all others.
    pub fn put_last(&mut self, task: usize) {
        self.order.retain(|other| *other != task);
        self.order.push(task);
    }

    /// There can be no turn now.
    pub fn refuse(&mut self) {
        self.n_refused = (self.n_refused + 1).min(PATIENCE);
        if self.n_refused == PATIENCE {
            self.n_waits = WAIT;
        }
    }

    /// Whether it is not yet worthwhile to look for a turn again.
    pub fn waits(&mut self) -> bool {
        let waits = self.n_waits > 0;
        self.n_waits -= u32::from(waits);
        waits
    }

    /// The task of the list that runs.
    fn task(&self) -> Option<usize> {
        self.order.get(self.at).copied().filter(|_| self.is_on())
    }

    /// Where the packets of the present task came to in this turn, each in the run of its place.
    pub fn emptied_now(&self) -> Option<ElementIdx> {
        let task = self.task()?;
        self.filled_for(task).filter(|_| !self.chooses_now())
    }

    /// Whether the present task chooses in each run whether and where to pull.
    pub fn chooses_now(&self) -> bool {
        self.task().is_some_and(|task| self.choosers >> task & 1 == 1)
    }

    /// Whether the packets of the present task have their places: they are the runs in which it pulls them.
    pub fn places_are_given(&self) -> bool {
        self.emptied_now().is_some() || self.chooses_now()
    }

    /// Keeps packets back that come to an element, if the task that takes them out must not see them before its run.
    #[inline]
    pub fn keeps_back(&mut self, element: ElementIdx, port: PortIdx, batch: &mut Batch) -> bool {
        if !self.is_on() || self.choosers == 0 {
            return false;
        }
        let task = self.task();
        let is_here = |passed: &&Passed| passed.is_chosen && passed.element == element && passed.by != task;
        let Some(by) = self.passed.iter().find(is_here).and_then(|passed| passed.by) else { return false };
        let mut kept_back = Batch::new();
        while let Some(packet) = batch.pop() {
            kept_back.push(packet);
        }
        self.kept_back.push(KeptBack { by, element, port, batch: kept_back });
        true
    }

    /// The next of the packets that were kept back up to this run of the present task; if the turn is over, of any task.
    pub fn next_kept_back(&mut self, run: usize) -> Option<(ElementIdx, PortIdx, Packet)> {
        let task = self.task();
        let mut own =
            self.kept_back.iter_mut().filter(|kept_back| task.is_none_or(|task| kept_back.by == task));
        own.find_map(|KeptBack { element, port, batch, .. }| {
            batch.iter().next_back().filter(|packet| packet.place() as usize <= run)?;
            Some((*element, *port, batch.pop()?))
        })
    }

    /// Packets come in single file to an element. If more than one may come of each: how many it would hold at a time, one by one.
    pub fn come(&mut self, element: ElementIdx, batch: &Batch) -> Option<usize> {
        Some(self.one_by_one(element)?.come(batch.iter().map(Packet::place)))
    }

    /// How many packets the present task takes out of this element, which held none when the turn began and holds `len` now.
    pub fn n_to_take(&mut self, element: ElementIdx, len: usize) -> usize {
        let n = self.n;
        let Some(one_by_one) = self.one_by_one(element) else { return len };
        one_by_one.begin(n);
        std::mem::take(&mut one_by_one.n_left)
    }

    fn one_by_one(&mut self, element: ElementIdx) -> Option<&mut OneByOne> {
        let is_on = self.is_on();
        let mut passed = self.passed.iter_mut().filter(|passed| is_on && passed.element == element);
        passed.next()?.one_by_one.as_mut()
    }

    /// How many runs there are behind that of the packet at this place.
    pub fn runs_behind(&self, place: Option<u32>) -> usize {
        self.n.saturating_sub(place.map_or(0, |place| place as usize + 1))
    }

    /// How many packets an element would have at most, if those that come to it and leave it in this turn did so one by one.
    pub fn most_stored(&self, element: ElementIdx) -> Option<usize> {
        let is_it = |passed: &&Passed| passed.element == element && !passed.is_chosen;
        let passed = self.passed.iter().filter(|_| self.is_on()).find(is_it);
        // Of what comes in single file the element is told.
        passed.map(|passed| if passed.one_by_one.is_none() { passed.len + 1 } else { 0 })
    }

    /// Whether packets that come together to this element leave it each in its own run, and others there are none.
    pub fn is_drained(&self, element: ElementIdx) -> bool {
        let mut passed = self.passed.iter().filter(|passed| self.is_on() && passed.element == element);
        passed.any(|passed| passed.by.is_some() && passed.len == 0 && passed.one_by_one.is_none())
    }

    /// The first task had no packets for more than `n` runs.
    pub fn shorten(&mut self, n: usize) {
        if self.is_on() && self.at == 0 {
            self.n = n.clamp(1, self.n);
        }
    }

    /// The present task has run: how many runs it took, and whether the turn is over with it.
    #[inline]
    pub fn ran(&mut self) -> (usize, bool) {
        if !self.is_on() {
            return (1, true);
        }
        let n = self.n;
        self.at += 1;
        if self.at == self.order.len() {
            self.n = 0;
        }
        (n, !self.is_on())
    }
}
