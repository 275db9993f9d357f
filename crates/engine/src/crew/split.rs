//! Several threads: one graph, cut at its storage elements, and to each thread its parts.
//!
//! A part is what is connected without passing into storage: an element that is pushed to and pulled from, such as a queue. It
//! lives in one world as a whole, on the lowest thread that any of its elements was given. A storage element belongs to the
//! part that pulls from it; in the other worlds an entrance stands in for it.

use std::sync::Arc;

use element::{Element, ElementIdx, Phase, Role};
use graph::Diagnostics;

use super::balance;
use super::board::Board;
use super::hand::Hand;
use super::handover::Entrance;
use super::mate::Mate;
use super::post::{self, Post};
use super::{Crew, Place};
use crate::build::Engine;
use crate::chatter::Voice;
use crate::clock::{Clock, Time};
use crate::configured::words;
use crate::wake::Waker;
use crate::world::{Parts, World};

/// Splits an initialised engine over `n` threads; the first one's engine, with the others as its crew. It stays whole where
/// everything belongs to the first thread.
pub(crate) fn split(
    mut engine: Engine,
    n: usize,
    cpus: &[usize],
    chatter: &Voice,
    diagnostics: &mut Diagnostics,
) -> Option<Engine> {
    let threads = settle(&mut engine.world, n, diagnostics);
    if threads.iter().all(|thread| *thread == 0) {
        return Some(engine);
    }
    let wakers: Option<Vec<_>> = (0..n).map(|_| Waker::new().ok().map(Arc::new)).collect();
    let Some(mut wakers) = wakers else {
        diagnostics.error(&graph::Place::default(), "no descriptor is left; raise the limit of open files");
        engine.cleanup();
        return None;
    };
    // What elements have asked for already, signals say, wakes the first world by the waker it has.
    if let Some(waker) = engine.world.waker() {
        wakers[0] = waker;
    }
    let hands: Option<Vec<_>> = (1..n).map(|at| Hand::new(at, cpus.get(at).copied()).ok()).collect();
    let Some(hands) = hands else {
        diagnostics.error(&graph::Place::default(), "the system gives no more threads");
        engine.cleanup();
        return None;
    };
    let board = Arc::new(Board::new(wakers.clone()));
    let (mut posts, entrances) = connect(&engine.world, &threads, n);
    let order = engine.world.order.clone();
    let mut worlds: Vec<World> = Vec::new();
    for thread in 1..n {
        worlds.push(engine.world.part(thread, &threads, chatter.clone()));
    }
    engine.world.keep_part(&threads);
    engine.world.order.retain(|idx| threads[*idx] == 0);
    for (from, idx, entrance) in entrances {
        let world = match from {
            0 => &mut engine.world,
            from => &mut worlds[from - 1],
        };
        world.slots[idx] = Some(Box::new(entrance) as Box<dyn Element>);
    }
    let places: Arc<[Place]> = threads.iter().map(|thread| Place::World(*thread)).collect();
    let crew = |index: usize, post: Post| {
        let (board, places) = (board.clone(), places.clone());
        let cpu = cpus.get(index).copied();
        let (mates, hands) = (Arc::from([]), Vec::new());
        Box::new(Crew {
            index,
            is_replicated: false,
            board,
            mates,
            hands,
            places,
            post,
            stops_all: false,
            cpu,
        })
    };
    engine.world.crew = Some(crew(0, posts.remove(0)));
    let mut mates = Vec::new();
    for ((at, mut world), post) in worlds.into_iter().enumerate().zip(posts) {
        world.waker = wakers.get(at + 1).cloned();
        world.crew = Some(crew(at + 1, post));
        world.order = order.iter().copied().filter(|idx| threads[*idx] == at + 1).collect();
        mates.push(Arc::new(Mate::new(at + 1, board.clone(), Engine { world })));
    }
    if let Some(crew) = &mut engine.world.crew {
        crew.mates = mates.into();
        crew.hands = hands;
    }
    Some(engine)
}

/// Gives each element a thread, and its tasks with it.
pub(crate) fn settle(world: &mut World, n: usize, diagnostics: &mut Diagnostics) -> Vec<usize> {
    let threads = threads(world, n, diagnostics);
    for (idx, thread) in threads.iter().enumerate() {
        world.settle_tasks(idx, *thread);
    }
    threads
}

impl World {
    /// Sets the thread of an element's tasks to the one that they run on, unless they are not to run.
    fn settle_tasks(&mut self, element: ElementIdx, thread: usize) {
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
    fn part(&mut self, thread: usize, threads: &[usize], chatter: Voice) -> World {
        let is_own = |idx: ElementIdx| threads.get(idx) == Some(&thread);
        let slots = self.slots.iter_mut().enumerate();
        let slots: Vec<_> = slots.map(|(idx, slot)| slot.take_if(|_| is_own(idx))).collect();
        let (hands, others) =
            std::mem::take(&mut self.second_hands).into_iter().partition(|(idx, _)| is_own(*idx));
        self.second_hands = others;
        let mut part = World::new(Parts {
            graph: self.graph.clone(),
            classes: self.classes.clone(),
            wiring: self.wiring.clone(),
            slots,
            clock: Clock::new(Time::Real),
            burst: self.burst,
            chatter,
            names: self.names.clone(),
            replica: self.replica,
            n_threads: self.n_threads,
        });
        part.random = self.random.of_thread(thread);
        part.thread = thread;
        part.second_hands = hands;
        part.configs = self.configs.clone();
        part.tasks = self.tasks.of_elements(is_own);
        part.timers = self.timers.of_elements(is_own);
        part.selects = self.selects.take_elements(is_own);
        part.notifiers = self.notifiers.of_elements(is_own);
        part.home_threads = self.home_threads.clone();
        part.given_threads = self.given_threads.clone();
        part.tickets = self.tickets.clone();
        part.is_initialized = true;
        part
    }

    /// Forgets all but what the first thread's elements have.
    fn keep_part(&mut self, threads: &[usize]) {
        let is_own = |idx: ElementIdx| threads.get(idx) == Some(&0);
        self.tasks = self.tasks.of_elements(is_own);
        self.timers = self.timers.of_elements(is_own);
        self.notifiers = self.notifiers.of_elements(is_own);
    }
}

/// The thread of each element.
fn threads(world: &World, n: usize, diagnostics: &mut Diagnostics) -> Vec<usize> {
    let parts = parts(world);
    let wanted = |idx: ElementIdx| {
        let is_first = world.classes[idx].role == Role::Single && world.wiring.n_ports(idx) != (0, 0);
        let given = world.given_threads.get(idx).copied().flatten().filter(|thread| *thread >= 0);
        let given = given.map(|thread| usize::try_from(thread).unwrap_or(0).min(n - 1));
        if is_first {
            Some(0)
        } else {
            given
        }
    };
    let mut thread_of: Vec<Option<usize>> = vec![None; parts.len()];
    for (idx, &part) in parts.iter().enumerate() {
        thread_of[part] = thread_of[part].into_iter().chain(wanted(idx)).min();
    }
    if let Some(order) = world.balance {
        balance::spread(world, order, n, &parts, &mut thread_of);
    }
    let mut told = vec![false; parts.len()];
    for (idx, &part) in parts.iter().enumerate() {
        let (given, got) = (wanted(idx), thread_of[part].unwrap_or(0));
        if given.is_some_and(|given| given != got) && !std::mem::replace(&mut told[part], true) {
            let element = &world.graph.elements[idx];
            let message = format!(
                "'{}' runs on thread {got}, not {}: no queue is between it and what runs there",
                element.name,
                given.unwrap_or(0)
            );
            diagnostics.warning(&element.place, message);
        }
    }
    parts.iter().map(|part| thread_of[*part].unwrap_or(0)).collect()
}

/// Parts as sets of elements, each named by one of its elements.
struct Sets(Vec<usize>);

impl Sets {
    fn root(&self, mut idx: usize) -> usize {
        while self.0[idx] != idx {
            idx = self.0[idx];
        }
        idx
    }

    fn join(&mut self, a: usize, b: usize) {
        let (a, b) = (self.root(a), self.root(b));
        self.0[a.max(b)] = a.min(b);
    }
}

/// The part of each element.
fn parts(world: &World) -> Vec<usize> {
    let mut sets = Sets((0..world.slots.len()).collect());
    for connection in &world.graph.connections {
        let (from, to) = (connection.from.element, connection.to.element);
        if !is_cut(world, to, connection.to.port) {
            sets.join(from, to);
        }
    }
    for idx in 0..world.slots.len() {
        // Scripts and schedulers act by handlers, which reach every thread; others have acted when the graph begins.
        if world.classes[idx].role != Role::Single && world.classes[idx].phase > Phase::INFO {
            mentioned(world, idx).into_iter().for_each(|other| sets.join(idx, other));
        }
        if world.classes[idx].looks_around {
            around(world, idx).into_iter().for_each(|other| sets.join(idx, other));
        }
        if world.classes[idx].locks {
            of_same_lock(world, idx).into_iter().for_each(|other| sets.join(idx, other));
        }
    }
    (0..world.slots.len()).map(|idx| sets.root(idx)).collect()
}

/// Whether packets may cross threads at this input: it is pushed to, and its element is pulled from.
fn is_cut(world: &World, element: ElementIdx, port: usize) -> bool {
    is_storage(world, element) && world.wiring.input_is_push(element, port)
}

fn is_storage(world: &World, element: ElementIdx) -> bool {
    let (n_inputs, n_outputs) = world.wiring.n_ports(element);
    world.classes[element].role != Role::Single
        && (0..n_inputs).any(|port| world.wiring.input_is_push(element, port))
        && (0..n_outputs).any(|port| !world.wiring.output_is_push(element, port))
}

/// The elements that an element's configuration names: it may use them at any time.
fn mentioned(world: &World, idx: ElementIdx) -> Vec<ElementIdx> {
    words(&world.configs[idx]).filter_map(|word| element::Runtime::find(world, word, idx)).collect()
}

/// The elements before an element that have the same lock.
fn of_same_lock(world: &World, idx: ElementIdx) -> Vec<ElementIdx> {
    let lock = |idx: ElementIdx| world.configs[idx].trim().trim_matches('"');
    let is_same = |other: &ElementIdx| world.classes[*other].locks && lock(*other) == lock(idx);
    (0..idx).filter(is_same).collect()
}

/// The storage elements next to an element, and what is between.
fn around(world: &World, idx: ElementIdx) -> Vec<ElementIdx> {
    let mut found = vec![idx];
    let mut at = 0;
    while let Some(&element) = found.get(at) {
        at += 1;
        if element != idx && is_storage(world, element) {
            continue;
        }
        for connection in &world.graph.connections {
            let (from, to) = (connection.from.element, connection.to.element);
            let other = if from == element {
                to
            } else if to == element {
                from
            } else {
                continue;
            };
            if !found.contains(&other) {
                found.push(other);
            }
        }
    }
    found
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
        let room = world.slots[idx].as_ref().and_then(|element| element.room());
        let door = post::add_door(&mut posts, from, to, idx, room.unwrap_or(usize::MAX));
        entrances.push((from, idx, Entrance { thread: to, door, tells_full: room.is_some() }));
    }
    (posts, entrances)
}
