//! Turns: runs of one task, or of several that take turns, are taken as one each, where nothing shows that they were not one by one.
//!
//! A source that fills a queue and a task that empties it run in turn. When the source runs, it may move the packets of several runs, and
//! then the other those of as many: the queue gives them in the same order, and is never as empty or full that somebody would notice.

use element::{Batch, Causes, ElementIdx, Packet, Stock, TaskId};

use crate::notify::Kind;
use crate::ways::Way;
use crate::world::World;

/// Most tasks that are looked at.
const MOST_TASKS: usize = 8;
/// Most lists of tasks that something is known of.
const MOST_LISTS: usize = 32;
/// After so many runs in which there could be no turn, none is looked for in so many.
const PATIENCE: u32 = 8;
const WAIT: u32 = 32;

/// The present turn.
#[derive(Debug, Default)]
pub struct Turn {
    /// Runs of each task; 0 if tasks do not take turns now.
    n: usize,
    /// The task that runs, of those that take turns, and how many these are.
    at: usize,
    n_tasks: usize,
    /// Where packets are stored that come and leave in this turn.
    passed: Vec<Passed>,
    /// How often one after the other there could be no turn, and how many runs to wait until it is looked for one again.
    n_refused: u32,
    n_waits: u32,
}

/// An element that packets come to and leave in a turn.
#[derive(Debug)]
struct Passed {
    element: ElementIdx,
    /// The task that takes them out, if that is a later one than that which fills it.
    by: Option<usize>,
    /// Packets that it held when the turn began.
    len: usize,
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

/// What is known of a list of tasks.
#[derive(Clone, Debug)]
pub struct List {
    /// In order.
    tasks: Vec<TaskId>,
    /// What they store packets in, if they may take turns.
    stores: Option<Vec<Shared>>,
    /// Whether several of them may have something to say about the same packet.
    converses: bool,
    /// How many packets at most may set out together.
    most: usize,
}

/// An element that stores packets, and the tasks that fill and empty it.
#[derive(Clone, Copy, Debug)]
struct Shared {
    element: ElementIdx,
    filled_by: Option<usize>,
    emptied_by: Option<usize>,
    /// How many packets at most come of each that the task that fills it moves.
    growth: usize,
}

impl Shared {
    /// The task that takes the packets out which come in the same turn.
    fn passed_on_by(&self) -> Option<usize> {
        self.emptied_by.filter(|emptied| self.filled_by.is_some_and(|filled| filled < *emptied))
    }

    /// How many packets may come and leave in a turn.
    fn limit(&self, Stock { len, room, .. }: Stock) -> usize {
        match self.emptied_by {
            Some(_) if self.passed_on_by().is_none() && self.growth == 1 => len,
            Some(_) if self.passed_on_by().is_none() => len.min(room / self.growth),
            _ => room / self.growth,
        }
    }
}

impl Turn {
    /// Whether tasks take turns now.
    #[inline]
    pub fn is_on(&self) -> bool {
        self.n > 0
    }

    fn begin(&mut self, n: usize, n_tasks: usize) {
        (self.n, self.at, self.n_tasks) = (n, 0, n_tasks);
        self.passed.clear();
        self.n_refused = 0;
    }

    /// There can be no turn now.
    fn refuse(&mut self) {
        self.n_refused = (self.n_refused + 1).min(PATIENCE);
        if self.n_refused == PATIENCE {
            self.n_waits = WAIT;
        }
    }

    /// Whether it is not yet worthwhile to look for a turn again.
    fn waits(&mut self) -> bool {
        let waits = self.n_waits > 0;
        self.n_waits -= u32::from(waits);
        waits
    }

    /// Ends it, also in the middle.
    pub fn end(&mut self) {
        self.n = 0;
    }

    /// Where the packets of the present task came to in this turn, each in the run of its place.
    pub fn emptied_now(&self) -> Option<ElementIdx> {
        let mut passed = self.passed.iter().filter(|_| self.is_on());
        Some(passed.find(|passed| passed.by == Some(self.at) && passed.len == 0)?.element)
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
        let passed = self.passed.iter().filter(|_| self.is_on()).find(|passed| passed.element == element);
        // Of what comes in single file the element is told.
        passed.map(|passed| if passed.one_by_one.is_none() { passed.len + 1 } else { 0 })
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
        if self.at == self.n_tasks {
            self.n = 0;
        }
        (n, !self.is_on())
    }
}

impl World {
    /// How many runs of the present task to take as one.
    pub(crate) fn take_turn(
        &mut self,
        element: ElementIdx,
        burst: usize,
        own: Causes,
        wanted: usize,
    ) -> usize {
        if self.turn.is_on() {
            self.go_together(element);
            return self.turn.n;
        }
        if self.clock.is_simulated() || self.runs_left == 0 || self.turn.waits() {
            return 1;
        }
        self.explore(element, own);
        let n_tasks = self.tasks.n_listed();
        if self.way(element).is_none() || n_tasks > MOST_TASKS {
            return 1;
        }
        let known = self.wiring.lists.iter().position(|list| self.tasks.are_listed(&list.tasks));
        let shows =
            known.and_then(|list| self.wiring.lists.get(list)).is_some_and(|list| list.stores.is_none());
        if shows || !self.tasks.take_turns() {
            return 1;
        }
        let Some(list) = known.or_else(|| self.look_at_list(element)) else { return 1 };
        let n = self.allowed_runs(list, burst, wanted.min(self.runs_left / n_tasks));
        if n <= 1 {
            self.turn.refuse();
            return 1;
        }
        self.turn.begin(n, n_tasks);
        let stores = self.wiring.lists.get(list).and_then(|list| list.stores.as_deref()).unwrap_or(&[]);
        for shared in stores {
            let by = shared.passed_on_by();
            if by.is_none() && (shared.growth == 1 || shared.emptied_by.is_none()) {
                continue;
            }
            let len = self.stock(shared.element).map_or(0, |stock| stock.len);
            // What others take out first, they do at the beginning of each run.
            let left = if by.is_some() { len } else { len.saturating_sub(1) };
            let one_by_one = (shared.growth > 1).then(|| OneByOne { len: left, ..OneByOne::default() });
            self.turn.passed.push(Passed { element: shared.element, by, len, one_by_one });
        }
        self.go_together(element);
        n
    }

    /// What an element has stored, if it is one that stores packets.
    pub(crate) fn stock(&self, element: ElementIdx) -> Option<Stock> {
        self.slots.get(element)?.as_ref()?.stock()
    }

    /// How many runs of each task on a list nobody can tell from as many turns of one run.
    fn allowed_runs(&self, list: usize, burst: usize, wanted: usize) -> usize {
        let Some(List { tasks, stores: Some(stores), converses, most }) = self.wiring.lists.get(list) else {
            return 1;
        };
        if burst > 1 && (tasks.len() > 1 || !stores.is_empty()) {
            return 1;
        }
        let mut n = wanted.min(most / burst.max(1));
        for task in tasks.iter().skip(1) {
            let element = self.tasks.get(*task).and_then(|task| self.slots.get(task.element)?.as_ref());
            n = n.min(element.map_or(1, |element| element.joint_runs().0));
        }
        for shared in stores {
            let Some(stock) = self.stock(shared.element) else { return 1 };
            let wakes = shared.filled_by.is_some() && self.notifiers.may_wake(shared.element, Kind::Empty)
                || shared.emptied_by.is_some() && self.notifiers.may_wake(shared.element, Kind::Full);
            // What is said of a packet that was there before has no place among the rest.
            if wakes || (*converses && shared.passed_on_by().is_some() && stock.len > 0) {
                return 1;
            }
            // Something must be left, and room.
            n = n.min(shared.limit(stock).saturating_sub(1));
            if shared.passed_on_by().is_some() {
                // Where packets are lost on their way, who takes them out may sleep and wake, and so come behind others in between.
                n = match stock.len {
                    0 if tasks.len() > 2 => n.min(stock.patience),
                    0 => n,
                    len => n.min(len),
                };
            }
        }
        n
    }

    /// Finds out whether the tasks on the list may take turns, of which the first is that of `element`.
    #[cold]
    fn look_at_list(&mut self, element: ElementIdx) -> Option<usize> {
        if self.wiring.lists.len() == MOST_LISTS {
            return None;
        }
        let tasks: Vec<TaskId> = self.tasks.listed().collect();
        let mut elements = vec![element];
        for task in tasks.iter().skip(1) {
            let element = self.tasks.get(*task).map_or(ElementIdx::MAX, |task| task.element);
            let present = self.slots.get(element).and_then(Option::as_ref);
            let (_, own) = present.map_or((1, Causes::ANYTHING), |element| element.joint_runs());
            if own != Causes::ANYTHING {
                self.explore(element, own);
            }
            elements.push(element);
        }
        let ways: Option<Vec<&Way>> = elements.iter().map(|element| self.way(*element)).collect();
        let most = ways.iter().flatten().map(|way| way.most).min().unwrap_or(0);
        let found = ways.and_then(|ways| join(&ways));
        let (stores, converses) =
            found.map_or((None, false), |(stores, converses)| (Some(stores), converses));
        self.wiring.lists.push(List { tasks, stores, converses, most });
        Some(self.wiring.lists.len() - 1)
    }
}

/// What tasks store packets in that go these ways, and whether several say something of packets; `None` if it may show that they do not
/// run one by one.
fn join(ways: &[&Way]) -> Option<(Vec<Shared>, bool)> {
    let mut stores: Vec<Shared> = Vec::new();
    for (task, way) in ways.iter().enumerate() {
        for store in &way.stores {
            let at = stores.iter().position(|shared| shared.element == store.element).unwrap_or(stores.len());
            if at == stores.len() {
                stores.push(Shared { element: store.element, filled_by: None, emptied_by: None, growth: 1 });
            }
            let shared = stores.get_mut(at)?;
            if store.is_filled {
                shared.growth = way.growth;
            }
            if store.is_filled && shared.filled_by.replace(task).is_some()
                || store.is_emptied && shared.emptied_by.replace(task).is_some()
            {
                return None;
            }
        }
    }
    let is_store = |element| stores.iter().any(|shared| shared.element == element);
    let meet_twice =
        |element: usize| ways.iter().filter(|way| way.meets.get(element) == Some(&true)).count() > 1;
    let n_elements = ways.iter().map(|way| way.meets.len()).max().unwrap_or(0);
    if (0..n_elements).any(|element| meet_twice(element) && !is_store(element)) {
        return None;
    }
    let looks = ways.iter().any(|way| way.causes.include(Causes::LOOKS_AT_STORES));
    if looks && stores.iter().any(|shared| shared.filled_by.is_some() && shared.emptied_by.is_some()) {
        return None;
    }
    // It is told by the last packet how many runs found none.
    let passes = |task| stores.iter().any(|shared| shared.passed_on_by() == Some(task));
    if ways.iter().enumerate().any(|(task, way)| way.loses_pulled && passes(task)) {
        return None;
    }
    let n_causing = |causes| ways.iter().filter(|way| way.causes.include(causes)).count();
    if n_causing(Causes::CHANGES) > 1 {
        return None;
    }
    let converses = n_causing(Causes::LINES) > 1;
    // In which run a packet was pulled nobody can tell then.
    if converses && ways.iter().any(|way| way.loses_pulled) {
        return None;
    }
    // Of what comes of a packet, in single file the run is known that it comes in.
    let passes = stores.iter().any(|shared| shared.filled_by.is_some() && shared.emptied_by.is_some());
    let may_grow = |way: &Way| way.single_file.is_some() || (!converses && !passes);
    ways.iter().all(|way| way.growth == 1 || may_grow(way)).then_some((stores, converses))
}
