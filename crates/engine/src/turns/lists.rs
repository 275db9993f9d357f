//! Lists of tasks that may take turns, and what they store packets in.

use element::{Causes, ElementIdx, Stock, TaskId};

use super::MOST_TASKS;
use crate::notify::Kind;
use crate::ways::Way;
use crate::world::World;

/// Most lists of tasks that something is known of.
const MOST_LISTS: usize = 32;

/// What is known of a list of tasks.
#[derive(Clone, Debug)]
pub struct List {
    /// In order: those that are present, and behind them those that sleep and that packets of the first one may wake.
    pub tasks: Vec<TaskId>,
    pub n_present: usize,
    /// What they store packets in, if they may take turns.
    pub stores: Option<Vec<Shared>>,
    /// Whether several of them may have something to say about the same packet.
    converses: bool,
    /// Whether one of them looks at what is stored.
    looks: bool,
    /// Whether nobody notices that tasks sleep and wake in between, if only they are in their order at the end.
    may_nap: bool,
    /// The tasks that choose in each run whether and where to pull, a bit each.
    pub choosers: u32,
    /// How many packets at most may set out together.
    most: usize,
}

/// An element that stores packets, and the tasks that fill and empty it.
#[derive(Clone, Copy, Debug)]
pub struct Shared {
    pub element: ElementIdx,
    filled_by: Option<usize>,
    pub emptied_by: Option<usize>,
    /// How many packets at most come of each that the task that fills it moves.
    pub growth: usize,
    /// Whether the task that empties it chooses whether and where to pull.
    pub is_chosen: bool,
}

impl List {
    /// Whether packets of the first task may wake others so that they come in another order.
    pub fn may_wake(&self) -> bool {
        self.n_present < self.tasks.len() || (self.may_nap && self.tasks.len() > 2)
    }
}

impl Shared {
    /// The task that takes the packets out which come in the same turn.
    pub fn passed_on_by(&self) -> Option<usize> {
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

impl World {
    /// How many runs of each task on a list nobody can tell from as many turns of one run.
    pub(super) fn allowed_runs(&self, list: usize, burst: usize, wanted: usize) -> usize {
        let Some(list) = self.wiring.lists.get(list) else { return 1 };
        let List { tasks, n_present, stores: Some(stores), converses, looks, may_nap, most, .. } = list
        else {
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
            if shared.is_chosen {
                n = n.min(self.allowed_to_choose(list, shared, stock));
                continue;
            }
            // Those that sleep and may join come behind all others, where the first one's packets wake them.
            let joins =
                shared.filled_by == Some(0) && shared.emptied_by >= Some(*n_present) && stock.len == 0;
            let wakes =
                shared.filled_by.is_some() && !joins && self.notifiers.may_wake(shared.element, Kind::Empty)
                    || shared.emptied_by.is_some() && self.notifiers.may_wake(shared.element, Kind::Full);
            // What is said of a packet that was there before has no place among the rest.
            if wakes || ((*converses || *looks) && shared.passed_on_by().is_some() && stock.len > 0) {
                return 1;
            }
            // Something must be left, and room.
            n = n.min(shared.limit(stock).saturating_sub(1));
            if shared.passed_on_by().is_some() {
                // Where packets are lost on their way, who takes them out may sleep and wake, and so come behind others in between.
                n = match stock.len {
                    0 if tasks.len() > 2 && !may_nap => n.min(stock.patience),
                    0 => n,
                    len => n.min(len),
                };
            }
        }
        n
    }

    /// The same for a task on the list that chooses whether it pulls from this element.
    fn allowed_to_choose(&self, list: &List, shared: &Shared, stock: Stock) -> usize {
        let by = shared.emptied_by.filter(|by| *by < list.n_present).and_then(|by| list.tasks.get(by));
        // It is awake; others must not wake.
        let wakes = self.notifiers.may_wake(shared.element, Kind::Empty)
            && self.notifiers.sleeper(shared.element).as_ref() != by;
        if by.is_none() || wakes || self.notifiers.may_wake(shared.element, Kind::Full) {
            return 1;
        }
        let room = match shared.filled_by {
            Some(_) => (stock.room / shared.growth).saturating_sub(1),
            None => usize::MAX,
        };
        // It may come behind others if it sleeps in between.
        room.min(if list.tasks.len() > 2 { stock.patience } else { usize::MAX })
    }

    /// The list together with the tasks that sleep until packets of the first one come to a queue, if there are any and may join the others.
    pub(super) fn with_sleepers(&mut self, list: usize) -> Option<usize> {
        let List { tasks, stores: Some(stores), .. } = self.wiring.lists.get(list)? else {
            return Some(list);
        };
        let mut sleepers = [None; MOST_TASKS];
        let mut n_sleepers = 0;
        let is_filled = |shared: &&Shared| shared.filled_by == Some(0) && shared.emptied_by.is_none();
        for shared in stores.iter().filter(is_filled) {
            let sleeper = self.notifiers.sleeper(shared.element);
            if let Some(sleeper) = sleeper.filter(|task| self.tasks.may_join(*task)) {
                *sleepers.get_mut(n_sleepers)? = Some(sleeper);
                n_sleepers += 1;
            }
        }
        if n_sleepers == 0 {
            return Some(list);
        }
        let all = tasks.iter().copied().chain(sleepers.into_iter().flatten());
        let n_present = tasks.len();
        let is_same = |list: &List| list.n_present == n_present && all.clone().eq(list.tasks.iter().copied());
        match self.wiring.lists.iter().position(is_same) {
            None => self.look_at_list(all.collect(), n_present),
            known => known,
        }
    }

    /// Finds out whether tasks may take turns of which so many are on the list, the present one first.
    #[cold]
    pub(super) fn look_at_list(&mut self, tasks: Vec<TaskId>, n_present: usize) -> Option<usize> {
        if tasks.len() > MOST_TASKS {
            return None;
        }
        if self.wiring.lists.len() == MOST_LISTS {
            self.wiring.lists.clear();
        }
        let element_of = |task: &TaskId| self.tasks.get(*task).map_or(ElementIdx::MAX, |task| task.element);
        let elements: Vec<ElementIdx> = tasks.iter().map(element_of).collect();
        for element in elements.iter().skip(1) {
            let present = self.slots.get(*element).and_then(Option::as_ref);
            let (_, own) = present.map_or((1, Causes::ANYTHING), |element| element.joint_runs());
            if own != Causes::ANYTHING {
                self.explore(*element, own);
            }
        }
        let ways: Option<Vec<&Way>> = elements.iter().map(|element| self.way(*element)).collect();
        let most = ways.iter().flatten().map(|way| way.most).min().unwrap_or(0);
        let looks = ways.iter().flatten().any(|way| way.causes.include(Causes::LOOKS_AT_STORES));
        let found = ways.as_deref().and_then(|ways| join(ways, looks));
        let ways = ways.unwrap_or_default();
        let (stores, converses) =
            found.map_or((None, false), |(stores, converses)| (Some(stores), converses));
        let choosers =
            ways.iter().zip(0..).fold(0, |all, (way, task)| all | u32::from(way.chooses()) << task);
        let may_nap = !converses && choosers == 0 && {
            let causes = ways.first().map_or(Causes::ANYTHING, |way| way.causes);
            let is_filled_first = |shared: &Shared| match (shared.filled_by, shared.emptied_by) {
                (Some(filled_by), Some(_)) => filled_by == 0 && shared.growth == 1,
                _ => true,
            };
            let makes_more = causes.include(Causes::COPIES) || causes.include(Causes::MORE);
            !makes_more && stores.iter().flatten().all(is_filled_first)
        };
        self.wiring.lists.push(List { tasks, n_present, stores, converses, looks, may_nap, choosers, most });
        Some(self.wiring.lists.len() - 1)
    }
}

/// What tasks store packets in that go these ways, and whether several say something of packets; `None` if it may show that they do not
/// run one by one.
fn join(ways: &[&Way], looks: bool) -> Option<(Vec<Shared>, bool)> {
    let mut stores: Vec<Shared> = Vec::new();
    for (task, way) in ways.iter().enumerate() {
        for store in &way.stores {
            let at = stores.iter().position(|shared| shared.element == store.element).unwrap_or(stores.len());
            if at == stores.len() {
                let element = store.element;
                stores.push(Shared {
                    element,
                    filled_by: None,
                    emptied_by: None,
                    growth: 1,
                    is_chosen: false,
                });
            }
            let shared = stores.get_mut(at)?;
            if store.is_filled {
                shared.growth = way.growth;
            }
            shared.is_chosen |= store.is_emptied && way.chooses();
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
    // Who chooses sees what came before its run; what comes behind it has no place.
    let is_late = |shared: &Shared| shared.filled_by.is_some() && shared.passed_on_by().is_none();
    if stores.iter().any(|shared| shared.is_chosen && (looks || is_late(shared))) {
        return None;
    }
    // Who looks at a store can be told how it would be if each packet leaves it in the same run.
    let is_as_seen = |shared: &Shared| match shared.passed_on_by() {
        Some(_) => shared.growth == 1,
        None => shared.filled_by.is_none() || shared.emptied_by.is_none(),
    };
    if looks && !stores.iter().all(is_as_seen) {
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
