//! Turns: runs of one task, or of several that take turns, are taken as one each, where nothing shows that they were not one by one.
//!
//! A source that fills a queue and a task that empties it run in turn. When the source runs, it may move the packets of several runs, and
//! then the other those of as many: the queue gives them in the same order, and is never as empty or full that somebody would notice.

mod lists;
mod turn;

use element::{Batch, Causes, Element, ElementIdx, Stock, TaskId};
use smallvec::SmallVec;

use crate::world::World;
pub use lists::List;
pub use turn::Turn;

/// Most tasks that are looked at.
const MOST_TASKS: usize = 8;

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
            return self.turn.n_runs();
        }
        if self.clock.is_simulated() || self.runs_left <= 1 || self.turn.waits() {
            return 1;
        }
        self.explore(element, own);
        if self.way(element).is_none() || self.tasks.n_listed() > MOST_TASKS {
            return 1;
        }
        let lists = &self.wiring.lists;
        let is_present =
            |list: &List| list.n_present == list.tasks.len() && self.tasks.are_listed(&list.tasks);
        let known = lists.iter().position(is_present);
        let shows = known.and_then(|list| lists.get(list)).is_some_and(|list| list.stores.is_none());
        if shows || !self.tasks.take_turns() {
            self.turn.refuse();
            return 1;
        }
        let known = known.or_else(|| {
            let tasks: Vec<TaskId> = self.tasks.listed().collect();
            let n_present = tasks.len();
            self.look_at_list(tasks, n_present)
        });
        let Some(list) = known.and_then(|list| self.with_sleepers(list)) else { return 1 };
        let n = self.allowed_runs(list, burst, wanted);
        if n <= 1 {
            self.turn.refuse();
            return 1;
        }
        let Some(found) = self.wiring.lists.get(list) else { return 1 };
        self.turn.begin(n, list, found, |element| Some(stock(&self.slots, element)?.len));
        self.go_together(element);
        n
    }

    /// What an element has stored, if it is one that stores packets.
    pub(crate) fn stock(&self, element: ElementIdx) -> Option<Stock> {
        stock(&self.slots, element)
    }

    /// The present task has run: how many runs it took, and whether the turn is over with it.
    #[inline]
    pub(crate) fn have_run(&mut self) -> (usize, bool) {
        if let Some(list) = self.turn.waking_now() {
            self.let_wake(list);
        }
        self.turn.ran()
    }

    /// Lets the packets come to where the present task pulls from that were kept back up to this run.
    pub(crate) fn let_come(&mut self, run: usize) {
        while let Some((element, port, packet)) = self.turn.next_kept_back(run) {
            self.call(element, |element, ctx| element.push(ctx, port, Batch::of(packet)));
            if self.turn.is_on() {
                // The task that runs was on the list all the time.
                self.tasks.begin_again();
            }
        }
    }

    /// Ends a turn in the middle.
    pub(crate) fn end_turn(&mut self) {
        self.turn.end();
        self.let_come(usize::MAX);
    }

    /// Puts the tasks that packets of the first one have woken behind all others, in the order in which they woke last.
    fn let_wake(&mut self, list: usize) {
        let Some(List { tasks, n_present, .. }) = self.wiring.lists.get(list) else { return };
        let last_wake = |task: TaskId| {
            let at = tasks.iter().position(|other| *other == task)?;
            let store = self.turn.filled_for(at)?;
            Some((self.last_wake(store, at >= *n_present)?, at, task))
        };
        let mut woken: SmallVec<[(u32, usize, TaskId); MOST_TASKS]> =
            self.tasks.listed().skip(1).filter_map(last_wake).collect();
        woken.sort_by_key(|(place, ..)| *place);
        for (_, at, task) in woken {
            self.tasks.put_last(task);
            self.turn.put_last(at);
        }
    }

    /// The place of the packet, of those that came in this turn to an element, that last woke the task which takes them out.
    fn last_wake(&self, element: ElementIdx, is_asleep: bool) -> Option<u32> {
        let Stock { patience, patience_anew, .. } = self.stock(element)?;
        let mut patience = if is_asleep { None } else { Some(patience) };
        let (mut begin, mut last) = (0, None);
        self.slots.get(element)?.as_ref()?.stored_places(&mut |place| {
            if patience.is_none_or(|patience| place.saturating_sub(begin) as usize > patience) {
                last = Some(place);
            }
            (begin, patience) = (place + 1, Some(patience_anew));
        });
        last
    }
}

/// See [`World::stock`].
fn stock(slots: &[Option<Box<dyn Element>>], element: ElementIdx) -> Option<Stock> {
    slots.get(element)?.as_ref()?.stock()
}
