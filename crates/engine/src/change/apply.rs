//! Carrying a prepared change out between two batches.

use std::collections::HashMap;
use std::sync::Arc;

use args::Names;
use element::{Class, Element, ElementIdx, Runtime, TaskId, TimerId, Wake};
use graph::{Diagnostics, Graph};

use super::plan::{compact, How, New, Part, Plan, Prepared};
use super::{is_vacant, present, Changed, Refusal};
use crate::configured::order_of;
use crate::crew::replicas::for_other_replica;
use crate::crew::Place;
use crate::drops::Drops;
use crate::notify::Notifiers;
use crate::select::Selects;
use crate::wiring::Wiring;
use crate::world::World;

/// Makes a change in all worlds that have the whole graph, or in none of them.
fn change_all(
    worlds: &mut [&mut World],
    plan: Plan,
    parts: Vec<Part>,
    diagnostics: &mut Diagnostics,
) -> bool {
    let is_rewired = plan.is_rewired;
    let mut undos = Vec::new();
    let mut is_ready = true;
    for (at, (plan, part)) in std::iter::repeat_n(plan, worlds.len()).zip(parts).enumerate() {
        let places = worlds.first().and_then(|first| first.places()).filter(|_| at > 0);
        let world = &mut worlds[at];
        undos.push(world.put_in(plan, part, places));
        let mut told = Diagnostics::default();
        is_ready = world.fits(&mut told) && world.begin_new(&undos[at], &mut told);
        if at == 0 || !is_ready {
            diagnostics.list.append(&mut told.list);
        }
        if !is_ready {
            break;
        }
    }
    for (world, undo) in worlds.iter_mut().zip(undos) {
        if !is_ready {
            world.undo(undo);
            continue;
        }
        world.settle(undo);
        if is_rewired {
            world.search_anew();
        }
    }
    is_ready
}

/// What is needed to make a world what it was.
struct Undo {
    graph: Arc<Graph>,
    classes: Vec<&'static Class>,
    wiring: Wiring,
    names: Arc<Names>,
    by_name: HashMap<String, ElementIdx>,
    notifiers: Notifiers,
    flow_codes: HashMap<ElementIdx, String>,
    driver: Option<ElementIdx>,
    runcount: i64,
    /// What was in the places that others have now.
    olds: Vec<Old>,
    selects: Selects,
    /// Whose each element was, in a crew.
    places: Option<Arc<[Place]>>,
    /// Elements that are taken away.
    removed: Vec<ElementIdx>,
    /// Elements that were not initialised here: what only the first replica has.
    absent: Vec<ElementIdx>,
}

/// An element whose place another has.
struct Old {
    idx: ElementIdx,
    how: How,
    takes_state: bool,
    element: Option<Box<dyn Element>>,
    hand: Option<Box<dyn Element>>,
    /// Its drops, if an element of another class counts there now.
    drops: Option<Drops>,
    tasks: Vec<TaskId>,
    timers: Vec<TimerId>,
}

impl World {
    /// Makes a prepared change; no element may be busy.
    pub fn change(&mut self, prepared: Prepared, diagnostics: &mut Diagnostics) -> Result<Changed, Refusal> {
        if prepared.version != self.version {
            return Err(Refusal::Stale);
        }
        self.remember_first();
        let Prepared { plan, parts, title, actions, .. } = prepared;
        if !self.as_one(|worlds| change_all(worlds, plan, parts, diagnostics)) {
            return Err(Refusal::Failed);
        }
        self.version += 1;
        if actions.is_empty() {
            return Ok(Changed { revision: self.revisions.last(), actions });
        }
        let now = self.clock.wall_ns();
        let revision = self.revisions.add(now, &title, compact(&self.graph), &actions);
        self.tell_change(&actions);
        Ok(Changed { revision, actions })
    }

    /// Initialises what was put in; false if an element cannot be.
    fn begin_new(&mut self, undo: &Undo, diagnostics: &mut Diagnostics) -> bool {
        let was_running = std::mem::replace(&mut self.is_running, false);
        undo.olds.iter().for_each(|old| self.let_foresee(old));
        let begun = undo.olds.iter().filter(|old| old.how != How::Reconfigured).map(|old| old.idx);
        let begun: Vec<ElementIdx> = begun.filter(|idx| self.is_here(*idx)).collect();
        self.let_looks_pass(begun.iter().copied());
        let is_ready = begun.into_iter().all(|idx| self.initialize(idx, diagnostics));
        self.is_running = was_running;
        is_ready
    }

    /// Shows a new element what it will take over.
    fn let_foresee(&mut self, old: &Old) {
        let new = self.slots.get_mut(old.idx).and_then(Option::as_mut);
        if let (Some(new), Some(element), true) = (new, &old.element, old.takes_state) {
            new.foresee(&**element);
        }
    }

    /// Begins the history with the graph that runs.
    pub(crate) fn remember_first(&mut self) {
        if self.revisions.is_empty() {
            let began_ns = self.began_ns();
            self.revisions.add(began_ns, "start", compact(&self.graph), &[]);
        }
    }

    /// Puts new elements into their places and moves the edges; `places`: whose each element is, as the first replica knows.
    fn put_in(&mut self, plan: Plan, part: Part, places: Option<Arc<[Place]>>) -> Undo {
        let Plan { graph, classes, wiring, removed, .. } = plan;
        let absent = (0..self.slots.len()).filter(|idx| !self.is_here(*idx)).collect();
        let names = part.names.unwrap_or_else(|| self.names.clone());
        let new = match &places {
            Some(places) => for_other_replica(part.new, places, &classes, &wiring),
            None => part.new,
        };
        self.make_places(graph.elements.len().max(self.slots.len()));
        let by_name = present(&graph).map(|(idx, element)| (element.name.clone(), idx)).collect();
        let notifiers = self.notifiers.of_elements(|_| true);
        let is_rebuilt = |idx: ElementIdx| new.iter().any(|new| new.idx == idx && new.how == How::Rebuilt);
        let mut undo = Undo {
            graph: std::mem::replace(&mut self.graph, graph),
            classes: std::mem::replace(&mut self.classes, classes),
            wiring: std::mem::replace(&mut self.wiring, wiring),
            names: std::mem::replace(&mut self.names, names),
            by_name: std::mem::replace(&mut self.by_name, by_name),
            notifiers,
            flow_codes: self.flow_codes.clone(),
            driver: self.driver,
            runcount: self.runcount,
            selects: self.selects.take_elements(is_rebuilt),
            olds: Vec::new(),
            places: self.places(),
            removed,
            absent,
        };
        self.driver = self.driver.filter(|driver| !undo.removed.contains(driver));
        let is_kept = |idx: ElementIdx| !undo.removed.contains(&idx) && new.iter().all(|new| new.idx != idx);
        self.wiring.keep_lengths(&undo.wiring, is_kept);
        for new in new {
            undo.olds.push(self.put_in_place(new, &undo.classes));
        }
        let others: Vec<ElementIdx> =
            undo.olds.iter().filter(|old| old.how != How::Reconfigured).map(|old| old.idx).collect();
        self.take_places(places, &others);
        undo
    }

    fn put_in_place(&mut self, new: New, before: &[&'static Class]) -> Old {
        let New { idx, element, how, takes_state } = new;
        let is_own_class = before.get(idx).is_some_and(|class| std::ptr::eq(*class, self.classes[idx]));
        if how != How::Reconfigured {
            self.notifiers.replace(idx, element.notifies());
            self.flow_codes.remove(&idx);
        }
        let drops =
            (!is_own_class).then(|| std::mem::replace(&mut self.drops[idx], Drops::of(self.classes[idx])));
        if how == How::Added {
            (self.home_threads[idx], self.given_threads[idx]) = (0, None);
            self.tickets[idx] = self.schedule.tickets(Runtime::name(self, idx));
        }
        let hand = match element.second_hand() {
            Some(hand) => self.second_hands.insert(idx, hand),
            None => self.second_hands.remove(&idx),
        };
        let tasks = self.tasks.of_element(idx).collect();
        let timers = self.timers.of_element(idx).collect();
        let element = self.slots[idx].replace(element);
        Old { idx, how, takes_state, element, hand, drops, tasks, timers }
    }

    /// Makes as many places as there are elements, the last of which nobody has if there were more.
    fn make_places(&mut self, n: usize) {
        self.slots.resize_with(n, || None);
        self.configs.resize(n, String::new());
        self.drops.resize_with(n, Drops::default);
        self.home_threads.resize(n, 0);
        self.given_threads.resize(n, None);
        self.tickets.resize(n, None);
        self.notifiers.resize(n);
    }

    /// Takes the new elements out again and puts the old ones back.
    fn undo(&mut self, undo: Undo) {
        for old in &undo.olds {
            if old.how != How::Reconfigured && self.is_here(old.idx) {
                self.call_apart(old.idx, |element, ctx| element.cleanup(ctx));
            }
        }
        let Undo {
            graph,
            classes,
            wiring,
            names,
            by_name,
            notifiers,
            flow_codes,
            driver,
            runcount,
            olds,
            selects,
            places,
            ..
        } = undo;
        (self.graph, self.classes, self.wiring, self.names) = (graph, classes, wiring, names);
        (self.by_name, self.flow_codes, self.driver, self.runcount) = (by_name, flow_codes, driver, runcount);
        let is_new = |idx: ElementIdx| olds.iter().any(|old| old.idx == idx && old.how != How::Reconfigured);
        drop(self.selects.take_elements(is_new));
        self.selects.append(selects);
        for old in olds {
            let Old { idx, how, element, hand, drops, tasks, timers, .. } = old;
            if let Some(drops) = drops {
                self.drops[idx] = drops;
            }
            if how != How::Reconfigured {
                self.forget_tasks(idx, |task| !tasks.contains(&task), |timer| !timers.contains(&timer));
            }
            self.slots[idx] = element;
            match hand {
                Some(hand) => drop(self.second_hands.insert(idx, hand)),
                None => drop(self.second_hands.remove(&idx)),
            }
        }
        self.wiring.forget_ways();
        self.notifiers = notifiers;
        self.make_places(self.graph.elements.len());
        if places.is_some() {
            self.take_places(places, &[]);
        }
    }

    /// Takes away an element's tasks and timers, as far as they are meant.
    fn forget_tasks(
        &mut self,
        idx: ElementIdx,
        is_meant: impl Fn(TaskId) -> bool,
        is_meant_timer: impl Fn(TimerId) -> bool,
    ) {
        let tasks: Vec<TaskId> = self.tasks.of_element(idx).filter(|task| is_meant(*task)).collect();
        let timers: Vec<TimerId> =
            self.timers.of_element(idx).filter(|timer| is_meant_timer(*timer)).collect();
        tasks.into_iter().for_each(|task| self.tasks.remove(task));
        timers.into_iter().for_each(|timer| self.timers.remove(timer));
    }

    /// Lets new elements take the state of the old ones, and what was removed go.
    fn settle(&mut self, mut undo: Undo) {
        // What goes says its last words under the name that it had.
        self.swap_names(&mut undo);
        for idx in undo.removed.iter().filter(|idx| !undo.absent.contains(idx)) {
            self.call_apart(*idx, |element, ctx| element.cleanup(ctx));
        }
        self.swap_names(&mut undo);
        for idx in &undo.removed {
            self.slots[*idx] = None;
            self.second_hands.remove(idx);
            self.forget_tasks(*idx, |_| true, |_| true);
            drop(self.selects.take_elements(|other| other == *idx));
            self.signals.forget(*idx);
            self.notifiers.forget_searches(*idx, |_| true);
            self.notifiers.replace(*idx, element::Notifies::default());
            self.configs[*idx].clear();
        }
        for old in undo.olds {
            let Old { idx, how, takes_state, element, tasks, timers, .. } = old;
            let takes_state = takes_state && self.is_here(idx);
            self.configs[idx].clone_from(&self.graph.elements[idx].config);
            if how == How::Rebuilt {
                self.forget_tasks(idx, |task| tasks.contains(&task), |timer| timers.contains(&timer));
                let is_dead = |wake: Wake| matches!(wake, Wake::Task(task) if tasks.contains(&task));
                self.notifiers.forget_searches(idx, is_dead);
            }
            let Some(element) = element.filter(|_| !undo.absent.contains(&idx)) else { continue };
            let mut element = Some(element);
            self.forget_times();
            self.call(idx, |new, ctx| match element.take() {
                Some(old) if takes_state => new.take_state(ctx, old),
                Some(mut old) => old.cleanup(ctx),
                None => {}
            });
        }
        self.wiring.forget_ways();
        self.find_order();
    }

    /// Calls elements what the other graph calls them.
    fn swap_names(&mut self, undo: &mut Undo) {
        std::mem::swap(&mut self.graph, &mut undo.graph);
        std::mem::swap(&mut self.classes, &mut undo.classes);
        std::mem::swap(&mut self.by_name, &mut undo.by_name);
    }

    /// Finds the order of the elements that this world has.
    pub(crate) fn find_order(&mut self) {
        let order = order_of(&self.classes).into_iter();
        self.order = order.filter(|idx| !is_vacant(&self.graph, *idx) && self.is_here(*idx)).collect();
    }
}
