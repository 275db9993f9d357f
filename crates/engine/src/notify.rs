//! Notifiers: what tells a puller that there is something to pull, and a pusher that there is room.

mod search;
mod text;

use std::sync::atomic::{AtomicBool, Ordering};

use element::{ElementIdx, Notifies, SearchOp, Signal, TaskId, Wake};

use crate::numbers::Numbers;
use crate::world::World;
use search::{Found, Searched};

/// Which of an element's two notifiers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Whether there is something to pull.
    Empty,
    /// Whether there is room.
    Full,
}

/// A notifier.
#[derive(Debug)]
pub struct Notifier {
    search: SearchOp,
    active: AtomicBool,
    listeners: Vec<Listener>,
}

impl Notifier {
    #[inline]
    fn is_active(&self) -> bool {
        self.active.load(Ordering::Relaxed)
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Listener {
    element: ElementIdx,
    wake: Wake,
}

/// The notifiers of a graph.
#[derive(Debug, Default)]
pub struct Notifiers {
    list: Vec<Notifier>,
    empty_of: Vec<Option<u32>>,
    full_of: Vec<Option<u32>>,
    made_late: Vec<bool>,
    /// The searches that were made, by number; `None` where the element is gone.
    searches: Vec<Option<Searched>>,
    numbers: Numbers,
}

impl Notifiers {
    /// Makes the notifiers of the next element.
    pub fn add(&mut self, notifies: Notifies) {
        let empty = self.make(notifies.empty);
        let full = self.make(notifies.full);
        self.empty_of.push(empty);
        self.full_of.push(full);
        self.made_late.push(notifies.made_late);
    }

    /// Makes room for the notifiers of `n` elements.
    pub fn resize(&mut self, n: usize) {
        self.empty_of.resize(n, None);
        self.full_of.resize(n, None);
        self.made_late.resize(n, false);
    }

    /// Gives an element's place to an element with these notifiers, all of them active at first.
    pub fn replace(&mut self, element: ElementIdx, notifies: Notifies) {
        if let Some(made_late) = self.made_late.get_mut(element) {
            *made_late = notifies.made_late;
        }
        for (kind, search) in [(Kind::Empty, notifies.empty), (Kind::Full, notifies.full)] {
            let kept = self.of(element, kind);
            let id = match (kept.and_then(|id| self.list.get_mut(id as usize)), search) {
                (Some(notifier), Some(search)) => {
                    notifier.search = search;
                    *notifier.active.get_mut() = true;
                    kept
                }
                (None, Some(_)) => self.make_or_reuse(search),
                (_, None) => None,
            };
            let table = if kind == Kind::Empty { &mut self.empty_of } else { &mut self.full_of };
            if let Some(place) = table.get_mut(element) {
                *place = id;
            }
        }
    }

    /// A notifier that no element has any more, or a new one.
    fn make_or_reuse(&mut self, search: Option<SearchOp>) -> Option<u32> {
        let used: Vec<u32> = self.empty_of.iter().chain(&self.full_of).flatten().copied().collect();
        match (0..self.list.len() as u32).find(|id| !used.contains(id)) {
            None => self.make(search),
            Some(id) => {
                let notifier =
                    Notifier { search: search?, active: AtomicBool::new(true), listeners: Vec::new() };
                *self.list.get_mut(id as usize)? = notifier;
                Some(id)
            }
        }
    }

    /// Forgets the searches of an element that `is_dead` says are those of its predecessor, or all.
    pub fn forget_searches(&mut self, element: ElementIdx, is_dead: impl Fn(Wake) -> bool) {
        for place in &mut self.searches {
            if place.as_ref().is_some_and(|made| made.element == element && is_dead(made.wake)) {
                *place = None;
            }
        }
    }

    /// A number for what a search found.
    fn number(&mut self, made: Searched) -> u32 {
        let is_same = |other: &Searched| {
            (other.element, other.port, other.kind, other.wake)
                == (made.element, made.port, made.kind, made.wake)
        };
        let same = self.searches.iter().position(|place| place.as_ref().is_some_and(is_same));
        let vacant = || {
            let mut places = self.searches.iter().enumerate();
            places.find(|(at, place)| place.is_none() && self.numbers.gives(*at)).map(|(at, _)| at)
        };
        let at = same.or_else(vacant).unwrap_or_else(|| self.numbers.next(self.searches.len()));
        self.searches.resize(self.searches.len().max(at + 1), None);
        self.searches[at] = Some(made);
        at as u32
    }

    /// What a signal stands for.
    #[inline]
    fn found(&self, signal: &Signal) -> Option<&Found> {
        let Signal::Found(number) = signal else { return None };
        self.searches.get(*number as usize)?.as_ref().map(|made| &made.found)
    }

    #[inline]
    fn is_found_active(&self, found: &Found) -> bool {
        match found {
            Found::Busy => true,
            Found::Idle => false,
            Found::AnyOf(ids) => {
                ids.iter().any(|id| self.list.get(*id as usize).is_none_or(Notifier::is_active))
            }
        }
    }

    /// The same notifiers under the same numbers, with the listeners that are some elements'.
    pub fn of_elements(&self, is_own: impl Fn(ElementIdx) -> bool) -> Notifiers {
        let copy = |notifier: &Notifier| Notifier {
            search: notifier.search,
            active: AtomicBool::new(notifier.is_active()),
            listeners: notifier
                .listeners
                .iter()
                .copied()
                .filter(|listener| is_own(listener.element))
                .collect(),
        };
        Notifiers {
            list: self.list.iter().map(copy).collect(),
            empty_of: self.empty_of.clone(),
            full_of: self.full_of.clone(),
            made_late: self.made_late.clone(),
            searches: self.searches.clone(),
            numbers: Numbers::default(),
        }
    }

    /// Gives the searches that are made from now on numbers of their own.
    pub fn number_by(&mut self, numbers: Numbers) {
        self.numbers = numbers;
    }

    /// Takes over what some elements have told and searched on another thread, under their numbers.
    pub fn absorb(&mut self, other: &Notifiers, is_own: impl Fn(ElementIdx) -> bool) {
        for (element, id) in other.empty_of.iter().enumerate().chain(other.full_of.iter().enumerate()) {
            let Some(id) = id.filter(|_| is_own(element)) else { continue };
            if let (Some(own), Some(other)) = (self.list.get_mut(id as usize), other.list.get(id as usize)) {
                *own.active.get_mut() = other.is_active();
            }
        }
        for (own, other) in self.list.iter_mut().zip(&other.list) {
            own.listeners.extend(other.listeners.iter().filter(|listener| is_own(listener.element)));
        }
        self.searches.resize(self.searches.len().max(other.searches.len()), None);
        for (place, made) in self.searches.iter_mut().zip(&other.searches) {
            if made.as_ref().is_some_and(|made| is_own(made.element)) {
                place.clone_from(made);
            }
        }
    }

    /// Whether an element has said that it is full.
    pub fn is_full(&self, element: ElementIdx) -> bool {
        let id = self.of(element, Kind::Full);
        id.and_then(|id| self.list.get(id as usize)).is_some_and(|notifier| !notifier.is_active())
    }

    fn make(&mut self, search: Option<SearchOp>) -> Option<u32> {
        let search = search?;
        let active = AtomicBool::new(true);
        self.list.push(Notifier { search, active, listeners: Vec::new() });
        Some(self.list.len() as u32 - 1)
    }

    #[inline]
    fn of(&self, element: ElementIdx, kind: Kind) -> Option<u32> {
        let table = if kind == Kind::Empty { &self.empty_of } else { &self.full_of };
        table.get(element).copied().flatten()
    }

    /// Whether any notifier of a signal is active.
    #[inline]
    pub fn is_active(&self, signal: &Signal) -> bool {
        match signal {
            Signal::Busy => true,
            Signal::Idle => false,
            Signal::Found(_) => self.found(signal).is_none_or(|found| self.is_found_active(found)),
        }
    }

    /// Whether somebody would wake if a notifier became active now.
    pub fn may_wake(&self, element: ElementIdx, kind: Kind) -> bool {
        self.woken(element, kind).next().is_some()
    }

    /// How those would wake.
    fn woken(&self, element: ElementIdx, kind: Kind) -> impl Iterator<Item = Wake> + '_ {
        let notifier = self.of(element, kind).and_then(|id| self.list.get(id as usize));
        let listeners = notifier.filter(|notifier| !notifier.is_active()).map(|notifier| &notifier.listeners);
        listeners.into_iter().flatten().map(|listener| listener.wake).filter(|wake| *wake != Wake::Nobody)
    }

    /// The task that would wake if there were something to pull from an element, if it is one.
    pub fn sleeper(&self, element: ElementIdx) -> Option<TaskId> {
        let mut woken = self.woken(element, Kind::Empty);
        match (woken.next()?, woken.next()) {
            (Wake::Task(task), None) => Some(task),
            _ => None,
        }
    }

    fn listen(&mut self, id: u32, listener: Listener) {
        if let Some(notifier) = self.list.get_mut(id as usize) {
            if !notifier.listeners.contains(&listener) {
                notifier.listeners.push(listener);
            }
        }
    }
}

impl World {
    /// Sets a notifier and wakes who listens if it becomes active.
    #[inline]
    pub fn set_signal(&mut self, element: ElementIdx, kind: Kind, active: bool) {
        let Some(id) = self.notifiers.of(element, kind) else { return };
        let notifier = &self.notifiers.list[id as usize];
        if notifier.is_active() == active {
            return;
        }
        notifier.active.store(active, Ordering::Relaxed);
        if active {
            self.wake_listeners(id);
        }
    }

    /// Apart, so that a signal that stays as it is takes next to nothing.
    #[inline(never)]
    fn wake_listeners(&mut self, id: u32) {
        for i in 0.. {
            let Some(listener) = self.notifiers.list[id as usize].listeners.get(i).copied() else { break };
            self.wake_listener(listener);
        }
    }

    #[inline]
    fn wake_listener(&mut self, Listener { element, wake }: Listener) {
        match wake {
            Wake::Nobody => {}
            Wake::Task(task) => self.tasks.wake(task),
            Wake::Callback => self.notified(element),
        }
    }
}
