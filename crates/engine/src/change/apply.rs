//! Carrying a prepared change out between two batches.

use std::collections::HashMap;
use std::sync::Arc;

use args::Names;
use element::{Class, Element, ElementIdx, Runtime, TaskId, TimerId, Wake};
use graph::{Diagnostics, Graph};

use super::plan::{compact, How, New, Prepared};
use super::{is_vacant, present, Changed, Refusal};
use crate::configured::order_of;
use crate::notify::Notifiers;
use crate::select::Selects;
use crate::wiring::Wiring;
use crate::world::{Drops, World};

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
}

/// An element whose place another has.
struct Old {
    idx: ElementIdx,
    how: How,
    takes_state: bool,
    element: Option<Box<dyn Element>>,
    hand: Option<Box<dyn Element>>,
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
        let changed = self.as_one(|world| world.change_alone(prepared, diagnostics))?;
        self.tell_change(&changed.actions);
        Ok(changed)
    }

    /// Makes a change in this world, which has all elements.
    fn change_alone(
        &mut self,
        prepared: Prepared,
        diagnostics: &mut Diagnostics,
    ) -> Result<Changed, Refusal> {
        let Prepared { graph, classes, wiring, names, new, removed, is_rewired, title, actions, .. } =
            prepared;
        let undo = self.put_in((graph, classes, wiring, names), new, &removed);
        let was_running = std::mem::replace(&mut self.is_running, false);
        undo.olds.iter().for_each(|old| self.let_foresee(old));
        let mut is_ready = true;
        for at in 0..undo.olds.len() {
            let Old { idx, how, .. } = undo.olds[at];
            if how != How::Reconfigured && !self.initialize(idx, diagnostics) {
                is_ready = false;
                break;
            }
        }
        self.is_running = was_running;
        if !is_ready {
            self.undo(undo);
            return Err(Refusal::Failed);
        }
        self.settle(undo, &removed);
        if is_rewired {
            self.search_anew();
        }
        self.version += 1;
        let now = self.clock.wall_ns();
        let revision = self.revisions.add(now, &title, compact(&self.graph), &actions);
        Ok(Changed { revision, actions })
    }

    /// Shows a new element what it will take over.
    fn let_foresee(&mut self, old: &Old) {
        let new = self.slots.get_mut(old.idx).and_then(Option::as_mut);
        if let (Some(new), Some(element), true) = (new, &old.element, old.takes_state) {
            new.foresee(&**element);
        }
    }

    /// Begins the history with the graph that runs.
    fn remember_first(&mut self) {
        if self.revisions.is_empty() {
            let now = self.clock.wall_ns();
            self.revisions.add(now, "start", compact(&self.graph), &[]);
        }
    }

    /// Puts new elements into their places and moves the edges.
    fn put_in(
        &mut self,
        (graph, classes, wiring, names): (Graph, Vec<&'static Class>, Wiring, Arc<Names>),
        new: Vec<New>,
        removed: &[ElementIdx],
    ) -> Undo {
        self.make_places(graph.elements.len().max(self.slots.len()));
        let by_name = present(&graph).map(|(idx, element)| (element.name.clone(), idx)).collect();
        let notifiers = self.notifiers.of_elements(|_| true);
        let is_rebuilt = |idx: ElementIdx| new.iter().any(|new| new.idx == idx && new.how == How::Rebuilt);
        let mut undo = Undo {
            graph: std::mem::replace(&mut self.graph, Arc::new(graph)),
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
        };
        self.driver = self.driver.filter(|driver| !removed.contains(driver));
        for new in new {
            undo.olds.push(self.put_in_place(new, &undo.classes));
        }
        undo
    }

    fn put_in_place(&mut self, new: New, before: &[&'static Class]) -> Old {
        let New { idx, element, how, takes_state } = new;
        let is_own_class = before.get(idx).is_some_and(|class| std::ptr::eq(*class, self.classes[idx]));
        if how != How::Reconfigured {
            self.notifiers.replace(idx, element.notifies());
            self.flow_codes.remove(&idx);
        }
        if !is_own_class {
            self.drops[idx] = Drops::of(self.classes[idx]);
        }
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
        Old { idx, how, takes_state, element: self.slots[idx].replace(element), hand, tasks, timers }
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
            if old.how != How::Reconfigured {
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
        } = undo;
        (self.graph, self.classes, self.wiring, self.names) = (graph, classes, wiring, names);
        (self.by_name, self.flow_codes, self.driver, self.runcount) = (by_name, flow_codes, driver, runcount);
        let is_new = |idx: ElementIdx| olds.iter().any(|old| old.idx == idx && old.how != How::Reconfigured);
        drop(self.selects.take_elements(is_new));
        self.selects.append(selects);
        for old in olds {
            let Old { idx, how, element, hand, tasks, timers, .. } = old;
            if how != How::Reconfigured {
                self.forget_tasks(idx, |task| !tasks.contains(&task), |timer| !timers.contains(&timer));
            }
            self.slots[idx] = element;
            match hand {
                Some(hand) => drop(self.second_hands.insert(idx, hand)),
                None => drop(self.second_hands.remove(&idx)),
            }
        }
        self.notifiers = notifiers;
        self.make_places(self.graph.elements.len());
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
    fn settle(&mut self, undo: Undo, removed: &[ElementIdx]) {
        for idx in removed {
            self.call_apart(*idx, |element, ctx| element.cleanup(ctx));
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
            self.configs[idx].clone_from(&self.graph.elements[idx].config);
            if how == How::Rebuilt {
                self.forget_tasks(idx, |task| tasks.contains(&task), |timer| timers.contains(&timer));
                let is_dead = |wake: Wake| matches!(wake, Wake::Task(task) if tasks.contains(&task));
                self.notifiers.forget_searches(idx, is_dead);
            }
            let Some(element) = element else { continue };
            let mut element = Some(element);
            self.forget_times();
            self.call(idx, |new, ctx| match element.take() {
                Some(old) if takes_state => new.take_state(ctx, old),
                Some(mut old) => old.cleanup(ctx),
                None => {}
            });
        }
        let order = order_of(&self.classes).into_iter();
        self.order = order.filter(|idx| !is_vacant(&self.graph, *idx)).collect();
    }
}
