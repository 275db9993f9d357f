//! The task list: stride scheduling with Click's order.
//!
//! Every task has a pass; the one with the smallest runs next, and its pass then grows by its stride, which is inversely
//! proportional to its tickets. Among equal passes the one that came first runs first.

use std::collections::VecDeque;
use std::time::Duration;

use element::TaskId;
use graph::ElementIdx;

use crate::numbers::Numbers;

const STRIDE_1: u32 = 1 << 16;
/// Most tickets a task can have.
pub const MAX_TICKETS: u32 = 1 << 15;
/// Tickets of a task unless told otherwise.
pub const DEFAULT_TICKETS: u32 = 1 << 10;

/// A task of an element.
#[derive(Clone, Debug)]
pub struct Task {
    /// The element whose [`element::Element::run_task`] is called.
    pub element: ElementIdx,
    pub tickets: u32,
    /// The thread the user wants it on.
    pub home_thread: i32,
    /// Nanoseconds for which it has worked, of late, if that is measured.
    pub cost_ns: u64,
    stride: u32,
    pass: u32,
    scheduled: bool,
    strongly_unscheduled: bool,
    on_list: bool,
}

impl Task {
    /// A task that is not scheduled.
    fn of(element: ElementIdx, home_thread: i32) -> Task {
        Task {
            element,
            tickets: DEFAULT_TICKETS,
            home_thread,
            cost_ns: 0,
            stride: STRIDE_1 / DEFAULT_TICKETS,
            pass: 0,
            scheduled: false,
            strongly_unscheduled: false,
            on_list: false,
        }
    }

    fn is_scheduled(&self) -> bool {
        self.scheduled && !self.strongly_unscheduled
    }

    /// Whether it comes on the list when it wakes.
    fn may_wake(&self) -> bool {
        !self.on_list && !self.strongly_unscheduled && self.home_thread >= 0
    }

    /// Whether it is to run, and somewhere.
    fn may_run(&self) -> bool {
        self.is_scheduled() && self.home_thread >= 0
    }
}

/// The tasks of a thread.
#[derive(Debug, Default)]
pub struct TaskList {
    tasks: Vec<Task>,
    /// Sorted by pass. A task that was unscheduled stays until its turn.
    list: VecDeque<TaskId>,
    /// Scheduled before the driver ran.
    pending: Vec<TaskId>,
    running: bool,
    numbers: Numbers,
}

/// The element of a task that was taken away.
const NOBODY: ElementIdx = ElementIdx::MAX;

/// Whether pass `a` is later than pass `b`; passes wrap around.
fn later(a: u32, b: u32) -> bool {
    a.wrapping_sub(b) as i32 > 0
}

impl TaskList {
    /// The same tasks under the same numbers, of which only those of some elements are scheduled; before the driver runs.
    pub fn of_elements(&self, is_own: impl Fn(ElementIdx) -> bool) -> TaskList {
        let mut tasks = self.tasks.clone();
        for task in tasks.iter_mut().filter(|task| !is_own(task.element)) {
            task.scheduled = false;
        }
        let is_own_task = |id: &TaskId| self.get(*id).is_some_and(|task| is_own(task.element));
        let pending = self.pending.iter().copied().filter(is_own_task).collect();
        TaskList { tasks, pending, ..TaskList::default() }
    }

    /// Gives the tasks that are made from now on numbers of their own.
    pub fn number_by(&mut self, numbers: Numbers) {
        self.numbers = numbers;
    }

    /// Ends the driver's run for now: what is on the list waits for [`TaskList::start`], in order.
    pub fn pause(&mut self) {
        self.running = false;
        for id in std::mem::take(&mut self.list) {
            if let Some(task) = self.get_mut(id) {
                task.on_list = false;
            }
            if self.is_scheduled(id) {
                self.pending.push(id);
            }
        }
    }

    /// Takes the tasks over that some elements have on another list that has paused, under their numbers, behind its own.
    pub fn absorb(&mut self, other: TaskList, is_own: impl Fn(ElementIdx) -> bool) {
        self.make_places(other.tasks.len());
        let is_own_task = |id: &TaskId| other.get(*id).is_some_and(|task| is_own(task.element));
        self.pending.extend(other.pending.iter().filter(|id| is_own_task(id)));
        for (place, task) in self.tasks.iter_mut().zip(other.tasks) {
            if is_own(task.element) {
                *place = task;
            }
        }
    }

    /// Counts what a run of a task has cost.
    pub fn add_cost(&mut self, id: TaskId, cost: Duration) {
        if let Some(task) = self.get_mut(id) {
            task.cost_ns = task.cost_ns.saturating_add(cost.as_nanos() as u64);
        }
    }

    /// Lets what tasks have cost so far count for half.
    pub fn age_costs(&mut self) {
        self.tasks.iter_mut().for_each(|task| task.cost_ns /= 2);
    }

    /// Finds the numbers that no task has.
    pub fn find_free(&mut self) {
        let numbered = self.tasks.iter().enumerate();
        let free = numbered.filter(|(_, task)| task.element == NOBODY).map(|(number, _)| number as u32);
        self.numbers = Numbers::of_all(free);
    }

    /// Makes room for `n` tasks.
    fn make_places(&mut self, n: usize) {
        let n = n.max(self.tasks.len());
        self.tasks.resize_with(n, || Task::of(NOBODY, 0));
    }

    /// Makes a task that is not scheduled.
    pub fn add(&mut self, element: ElementIdx, home_thread: i32) -> TaskId {
        let number = self.numbers.next(self.tasks.len());
        self.make_places(number + 1);
        self.tasks[number] = Task::of(element, home_thread);
        TaskId(number as u32)
    }

    /// Takes a task away; its number is given to the next one that is made.
    pub fn remove(&mut self, id: TaskId) {
        self.list.retain(|other| *other != id);
        self.pending.retain(|other| *other != id);
        if let Some(task) = self.get_mut(id) {
            (task.element, task.scheduled, task.on_list) = (NOBODY, false, false);
            self.numbers.give_back(id.0);
        }
    }

    /// The task, if it exists.
    pub fn get(&self, id: TaskId) -> Option<&Task> {
        self.tasks.get(id.0 as usize)
    }

    fn get_mut(&mut self, id: TaskId) -> Option<&mut Task> {
        self.tasks.get_mut(id.0 as usize)
    }

    /// The tasks of an element, in the order in which they were made.
    pub fn of_element(&self, element: ElementIdx) -> impl Iterator<Item = TaskId> + '_ {
        let ids = self.tasks.iter().enumerate();
        ids.filter(move |(_, task)| task.element == element).map(|(id, _)| TaskId(id as u32))
    }

    /// Whether a task is to run.
    pub fn is_scheduled(&self, id: TaskId) -> bool {
        self.get(id).is_some_and(Task::is_scheduled)
    }

    /// Sets tickets, within 1 to [`MAX_TICKETS`].
    pub fn set_tickets(&mut self, id: TaskId, tickets: u32) {
        if let Some(task) = self.get_mut(id) {
            task.tickets = tickets.clamp(1, MAX_TICKETS);
            task.stride = STRIDE_1 / task.tickets;
        }
    }

    /// Sets the thread the user wants it on.
    pub fn set_home_thread(&mut self, id: TaskId, thread: i32) {
        if let Some(task) = self.get_mut(id) {
            task.home_thread = thread;
        }
    }

    /// Schedules a task, ending a strong unscheduling.
    pub fn schedule(&mut self, id: TaskId) {
        if let Some(task) = self.get_mut(id) {
            task.strongly_unscheduled = false;
            self.wake(id);
        }
    }

    /// Schedules a task unless it is strongly unscheduled.
    #[inline]
    pub fn wake(&mut self, id: TaskId) {
        let Some(task) = self.tasks.get_mut(id.0 as usize) else { return };
        task.scheduled = true;
        if !task.may_wake() {
            return;
        }
        if self.running {
            self.insert(id);
        } else if !self.pending.contains(&id) {
            self.pending.push(id);
        }
    }

    /// Unschedules a task; `strong`: so that notifiers do not wake it.
    pub fn unschedule(&mut self, id: TaskId, strong: bool) {
        if let Some(task) = self.get_mut(id) {
            task.scheduled = false;
            task.strongly_unscheduled |= strong;
        }
    }

    /// From now on tasks go to the list as they are scheduled; those scheduled before come first, in order.
    pub fn start(&mut self) {
        self.running = true;
        for id in std::mem::take(&mut self.pending) {
            if self.is_scheduled(id) && self.get(id).is_some_and(|task| !task.on_list) {
                self.insert(id);
            }
        }
    }

    fn insert(&mut self, id: TaskId) {
        let pass = self.list.front().and_then(|first| self.get(*first)).map_or(0, |first| first.pass);
        let Some(task) = self.tasks.get_mut(id.0 as usize) else { return };
        task.pass = pass.wrapping_add(task.stride);
        task.on_list = true;
        let pass = task.pass;
        self.put(id, pass);
    }

    /// Puts a task with this pass on the list, behind all that have no later one.
    #[inline]
    fn put(&mut self, id: TaskId, pass: u32) {
        let is_before = |other: &TaskId| self.get(*other).is_some_and(|task| !later(task.pass, pass));
        // Mostly behind all others: tasks take turns.
        if self.list.back().is_none_or(is_before) {
            self.list.push_back(id);
        } else {
            let at = self.list.iter().take_while(|other| is_before(other)).count();
            self.list.insert(at, id);
        }
    }

    /// Whether any task is on the list.
    #[inline]
    pub fn is_active(&self) -> bool {
        !self.list.is_empty()
    }

    /// Whether any task is on the list besides the one that was taken up.
    pub fn has_others(&self) -> bool {
        self.list.len() > 1
    }

    /// The tasks on the list, in order; the one that was taken up is the first.
    pub fn listed(&self) -> impl Iterator<Item = TaskId> + '_ {
        self.list.iter().copied()
    }

    /// How many tasks are on the list.
    #[inline]
    pub fn n_listed(&self) -> usize {
        self.list.len()
    }

    /// Whether these are the tasks on the list, in order.
    #[inline]
    pub fn are_listed(&self, tasks: &[TaskId]) -> bool {
        self.list.len() == tasks.len() && self.list.iter().eq(tasks)
    }

    /// Whether the tasks on the list take turns as long as all of them go on: they have the same share, and each is to run once before the
    /// one that was taken up runs again.
    pub fn take_turns(&self) -> bool {
        let mut all = self.list.iter().filter_map(|id| self.get(*id));
        let Some(first) = all.next() else { return false };
        let again = first.pass.wrapping_add(first.stride);
        all.all(|task| task.may_run() && task.stride == first.stride && !later(task.pass, again))
    }

    /// Whether a task that sleeps would take turns with those on the list if it woke: it has the share of the one that was taken up.
    pub fn may_join(&self, id: TaskId) -> bool {
        let first = self.list.front().and_then(|first| self.get(*first));
        let (Some(first), Some(task)) = (first, self.get(id)) else { return false };
        task.may_wake() && task.stride == first.stride
    }

    /// Marks the task that was taken up unscheduled again: it has not been woken since.
    pub fn begin_again(&mut self) {
        if let Some(id) = self.list.front().copied() {
            self.unschedule(id, false);
        }
    }

    /// Puts a task where it would be if the one that was taken up had woken it.
    pub fn put_last(&mut self, id: TaskId) {
        self.list.retain(|other| *other != id);
        self.insert(id);
    }

    /// Takes up the next task that is to run: marks it unscheduled, so that it must schedule itself again, and leaves it
    /// at the head of the list until [`TaskList::done`].
    #[inline]
    pub fn begin(&mut self) -> Option<(TaskId, ElementIdx)> {
        while let Some(id) = self.list.front().copied() {
            let task = self.tasks.get_mut(id.0 as usize)?;
            if task.may_run() {
                task.scheduled = false;
                return Some((id, task.element));
            }
            task.on_list = false;
            self.list.pop_front();
        }
        None
    }

    /// Puts the task at the head of the list where it belongs after `runs` runs; false if it is alone and did no work, so that
    /// the driver should look elsewhere.
    #[inline]
    pub fn done(&mut self, id: TaskId, worked: bool, runs: usize) -> bool {
        let next_pass = self.list.get(1).and_then(|next| self.get(*next)).map(|next| next.pass);
        let Some(task) = self.tasks.get_mut(id.0 as usize) else { return true };
        if !task.is_scheduled() {
            task.on_list = false;
            self.list.pop_front();
            return true;
        }
        task.pass = task.pass.wrapping_add(task.stride.wrapping_mul(runs as u32));
        let Some(next_pass) = next_pass else { return worked };
        if !worked && later(next_pass, task.pass) {
            task.pass = next_pass;
        }
        let pass = task.pass;
        if later(next_pass, pass) {
            return true;
        }
        self.list.pop_front();
        self.put(id, pass);
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn run(list: &mut TaskList, n: usize, mut again: impl FnMut(TaskId) -> bool) -> String {
        let mut order = String::new();
        for _ in 0..n {
            let Some((id, _)) = list.begin() else { break };
            order += &id.0.to_string();
            if again(id) {
                list.schedule(id);
            }
            list.done(id, true, 1);
        }
        order
    }

    #[test]
    fn equal_tasks_take_turns() {
        let mut list = TaskList::default();
        for element in 0..3 {
            let id = list.add(element, 0);
            list.schedule(id);
        }
        list.start();
        assert_eq!(run(&mut list, 7, |_| true), "0120120");
    }

    #[test]
    fn tickets_set_the_share() {
        let mut list = TaskList::default();
        let (a, b) = (list.add(0, 0), list.add(1, 0));
        list.set_tickets(a, 2048);
        list.schedule(a);
        list.schedule(b);
        list.start();
        let order = run(&mut list, 300, |_| true);
        let n_a = order.matches('0').count();
        assert!((199..=201).contains(&n_a), "{n_a} of 300");
    }

    #[test]
    fn two_lists_become_one() {
        let mut first = TaskList::default();
        let tasks: Vec<TaskId> = (0..4).map(|element| first.add(element, 0)).collect();
        tasks.iter().for_each(|id| first.schedule(*id));
        let mut second = first.of_elements(|element| element >= 2);
        first = first.of_elements(|element| element < 2);
        first.number_by(Numbers::of_thread(0, 2));
        second.number_by(Numbers::of_thread(1, 2));
        for list in [&mut first, &mut second] {
            list.start();
            list.begin();
        }
        // Each thread makes a task, and unschedules one.
        assert_eq!((first.add(0, 0), second.add(3, 0)), (TaskId(4), TaskId(5)));
        second.schedule(TaskId(5));
        second.unschedule(TaskId(3), true);
        first.pause();
        second.pause();
        first.absorb(second, |element| (2..4).contains(&element));
        first.find_free();
        first.start();
        assert_eq!(run(&mut first, 9, |_| true), "151515151");
        assert!(first.is_scheduled(TaskId(1)) && !first.is_scheduled(TaskId(3)));
        assert_eq!((first.add(0, 0), first.of_element(3).count()), (TaskId(6), 2));
    }

    #[test]
    fn a_task_that_does_not_reschedule_leaves() {
        let mut list = TaskList::default();
        let a = list.add(0, 0);
        list.schedule(a);
        list.start();
        assert_eq!(run(&mut list, 5, |_| false), "0");
        assert!(!list.is_active());
    }
}
