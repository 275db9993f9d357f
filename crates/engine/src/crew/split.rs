//! Several threads: one graph, cut at its storage elements, and to each thread its parts.
//!
//! A part is what is connected without passing into storage: an element that is pushed to and pulled from, such as a queue. It
//! lives in one world as a whole, on the lowest thread that any of its elements was given. A storage element belongs to the
//! part that pulls from it; in the other worlds an entrance stands in for it.

use std::sync::Arc;

use element::{ElementIdx, Phase, Role};
use graph::Diagnostics;

use super::balance;
use super::board::Board;
use super::hand::Hand;
use super::mate::Mate;
use super::spread::{places, spread};
use super::{Crew, Place};
use crate::build::Engine;
use crate::configured::words;
use crate::wake::Waker;
use crate::world::World;

/// Splits an initialised engine over `n` threads; the first one's engine, with the others as its crew. It stays whole where
/// everything belongs to the first thread.
pub(crate) fn split(
    mut engine: Engine,
    n: usize,
    cpus: &[usize],
    diagnostics: &mut Diagnostics,
) -> Option<Engine> {
    let threads = settle(&mut engine.world, n, None, diagnostics);
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
    let hands: std::io::Result<Vec<_>> = (1..n).map(|at| Hand::new(at, cpus.get(at).copied())).collect();
    let hands = match hands {
        Ok(hands) => hands,
        Err(error) => {
            diagnostics.error(&graph::Place::default(), sys::no_thread(&error));
            engine.cleanup();
            return None;
        }
    };
    let board = Arc::new(Board::new(wakers.clone()));
    let (worlds, posts) = spread(&mut engine.world, &threads, n);
    let places = places(&threads);
    let mut crews = posts.into_iter().enumerate().map(|(index, post)| {
        let (board, places, mates) = (board.clone(), places.clone(), Arc::from([]));
        let (hands, cpu) = (Vec::new(), cpus.get(index).copied());
        let (is_replicated, stops_all) = (false, false);
        Box::new(Crew { index, is_replicated, board, mates, hands, places, post, stops_all, cpu })
    });
    engine.world.crew = crews.next();
    let mut mates = Vec::new();
    for (mut world, crew) in worlds.into_iter().zip(crews) {
        let index = crew.index;
        world.waker = wakers.get(index).cloned();
        world.crew = Some(crew);
        mates.push(Arc::new(Mate::new(index, board.clone(), Engine { world })));
    }
    if let Some(crew) = &mut engine.world.crew {
        crew.mates = mates.into();
        crew.hands = hands;
    }
    Some(engine)
}

/// Gives each element a thread, and its tasks with it; `before`: where elements were.
pub(crate) fn settle(
    world: &mut World,
    n: usize,
    before: Option<&[Place]>,
    diagnostics: &mut Diagnostics,
) -> Vec<usize> {
    let threads = threads(world, n, before.unwrap_or(&[]), diagnostics);
    for (idx, thread) in threads.iter().enumerate() {
        world.settle_tasks(idx, *thread);
    }
    threads
}

/// The thread of each element.
fn threads(world: &World, n: usize, before: &[Place], diagnostics: &mut Diagnostics) -> Vec<usize> {
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
        let is_given: Vec<bool> = thread_of.iter().map(Option::is_some).collect();
        for (&part, place) in parts.iter().zip(before) {
            if let (Place::World(thread), false) = (place, is_given[part]) {
                thread_of[part] = thread_of[part].into_iter().chain([*thread]).min();
            }
        }
        balance::spread(world, order, n, &parts, &mut thread_of);
        if world.must_balance {
            balance::even_out(&costs(world, &parts), order, n, &is_given, &mut thread_of);
        }
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

/// What the tasks of each part have cost of late, in nanoseconds.
fn costs(world: &World, parts: &[usize]) -> Vec<u64> {
    let mut costs = vec![0; parts.len()];
    for (idx, &part) in parts.iter().enumerate() {
        let tasks = world.tasks.of_element(idx).filter_map(|task| world.tasks.get(task));
        costs[part] += tasks.map(|task| task.cost_ns).sum::<u64>();
    }
    costs
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
    world.classes[element].role != Role::Single && world.wiring.stores(element)
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
