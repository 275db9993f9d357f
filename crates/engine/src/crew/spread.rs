//! Spreading: the elements of each thread go into a world of its own.

use std::sync::Arc;

use element::{Element, ElementIdx};

use super::handover::Entrance;
use super::post::{self, Post};
use super::Place;
use crate::clock::{Clock, Time};
use crate::numbers::Numbers;
use crate::world::{Parts, World};

/// Takes the elements of the other threads out of the first one's world: a world for each of these, and the posts of all.
pub(super) fn spread(world: &mut World, threads: &[usize], n: usize) -> (Vec<World>, Vec<Post>) {
    let (posts, entrances) = connect(world, threads, n);
    let mut worlds: Vec<World> = (1..n).map(|thread| world.part(thread, threads, n)).collect();
    world.keep_part(threads, n);
    for (from, idx, entrance) in entrances {
        let world = match from {
            0 => &mut *world,
            from => &mut worlds[from - 1],
        };
        world.slots[idx] = Some(Box::new(entrance) as Box<dyn Element>);
    }
    (worlds, posts)
}

/// Whose each element is, for a crew that knows the thread of each.
pub(super) fn places(threads: &[usize]) -> Arc<[Place]> {
    threads.iter().map(|thread| Place::World(*thread)).collect()
}

impl World {
    /// Sets the thread of an element's tasks to the one that they run on, unless they are not to run.
    pub(super) fn settle_tasks(&mut self, element: ElementIdx, thread: usize) {
        let thread = i32::try_from(thread).unwrap_or(i32::MAX);
        if let Some(home) = self.home_threads.get_mut(element).filter(|home| **home >= 0) {
            *home = thread;
        }
        for task in self.tasks.of_element(element).collect::<Vec<_>>() {
            if self.tasks.get(task).is_some_and(|task| task.home_thread >= 0) {
                self.tasks.set_home_thread(task, thread);
            }
        }
    }

    /// A world for the elements of a thread, which are taken out of this one. Tasks, timers and notifiers keep their numbers.
    fn part(&mut self, thread: usize, threads: &[usize], n: usize) -> World {
        let is_own = |idx: ElementIdx| threads.get(idx) == Some(&thread);
        let slots = self.slots.iter_mut().enumerate();
        let slots: Vec<_> = slots.map(|(idx, slot)| slot.take_if(|_| is_own(idx))).collect();
        let (hands, others) =
            std::mem::take(&mut self.second_hands).into_iter().partition(|(idx, _)| is_own(*idx));
        self.second_hands = others;
        self.wiring.forget_ways();
        let mut part = World::new(Parts {
            graph: self.graph.clone(),
            classes: self.classes.clone(),
            wiring: self.wiring.clone(),
            slots,
            clock: Clock::new(Time::Real),
            burst: self.burst,
            chatter: self.chatter.clone(),
            names: self.names.clone(),
            replica: self.replica,
            n_threads: self.n_threads,
        });
        part.random = self.random.of_thread(thread);
        part.thread = thread;
        part.second_hands = hands;
        part.configs = self.configs.clone();
        part.selects = self.selects.take_elements(is_own);
        part.tasks = self.tasks.of_elements(is_own);
        part.timers = self.timers.of_elements(is_own);
        part.notifiers = self.notifiers.of_elements(is_own);
        part.number(thread, n);
        part.home_threads = self.home_threads.clone();
        part.given_threads = self.given_threads.clone();
        part.tickets = self.tickets.clone();
        part.order = self.order.iter().copied().filter(|idx| is_own(*idx)).collect();
        part.balance = self.balance;
        part.is_initialized = true;
        part
    }

    /// Forgets all but what the first thread's elements have.
    fn keep_part(&mut self, threads: &[usize], n: usize) {
        let is_own = |idx: ElementIdx| threads.get(idx) == Some(&0);
        self.tasks = self.tasks.of_elements(is_own);
        self.timers = self.timers.of_elements(is_own);
        self.notifiers = self.notifiers.of_elements(is_own);
        self.order.retain(|idx| is_own(*idx));
        self.number(0, n);
    }

    /// Lets tasks, timers and searches that are made from now on have numbers that no other thread gives.
    fn number(&mut self, thread: usize, n: usize) {
        self.tasks.number_by(Numbers::of_thread(thread, n));
        self.timers.number_by(Numbers::of_thread(thread, n));
        self.notifiers.number_by(Numbers::of_thread(thread, n));
    }
}

/// Entrances to be put into worlds in the place of elements.
type Entrances = Vec<(usize, ElementIdx, Entrance)>;

/// The post between the threads, and the entrances through which it is used.
fn connect(world: &World, threads: &[usize], n: usize) -> (Vec<Post>, Entrances) {
    let mut posts: Vec<Post> = (0..n).map(|_| Post::taking_always()).collect();
    let mut rings: Vec<(usize, usize)> = Vec::new();
    let mut entrances: Entrances = Vec::new();
    for connection in &world.graph.connections {
        let (idx, from, to) =
            (connection.to.element, threads[connection.from.element], threads[connection.to.element]);
        if from == to || entrances.iter().any(|(world, element, _)| (*world, *element) == (from, idx)) {
            continue;
        }
        if !rings.contains(&(from, to)) {
            rings.push((from, to));
            post::connect(&mut posts, from, to);
        }
        let room = world.slots[idx].as_ref().and_then(|element| super::told_room(&**element));
        let is_full = room.is_some() && world.notifiers.is_full(idx);
        let door = post::add_door(&mut posts, from, to, idx, room.unwrap_or(usize::MAX), is_full);
        entrances.push((from, idx, Entrance { thread: to, door, tells_full: room.is_some() }));
    }
    (posts, entrances)
}
