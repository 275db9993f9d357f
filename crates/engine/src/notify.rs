//! Notifiers: what tells a puller that there is something to pull, and a pusher that there is room.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};

use element::{ElementIdx, Notifies, PortIdx, SearchOp, Signal, Wake};
use graph::FlowCode;
use smallvec::SmallVec;

use crate::configured::order_of;
use crate::numbers::Numbers;
use crate::world::World;

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

/// A search that an element made, and what was found.
#[derive(Clone, Debug)]
struct Searched {
    element: ElementIdx,
    port: PortIdx,
    kind: Kind,
    wake: Wake,
    found: Found,
}

/// What a search found.
#[derive(Clone, Debug, PartialEq, Eq)]
enum Found {
    /// Something that does not notify.
    Busy,
    /// Nothing.
    Idle,
    /// These notifiers.
    AnyOf(SmallVec<[u32; 2]>),
}

/// The notifiers of a graph.
#[derive(Debug, Default)]
pub struct Notifiers {
    list: Vec<Notifier>,
    empty_of: Vec<Option<u32>>,
    full_of: Vec<Option<u32>>,
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
    }

    /// Makes room for the notifiers of `n` elements.
    pub fn resize(&mut self, n: usize) {
        self.empty_of.resize(n, None);
        self.full_of.resize(n, None);
    }

    /// Gives an element's place to an element with these notifiers, all of them active at first.
    pub fn replace(&mut self, element: ElementIdx, notifies: Notifies) {
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

    fn wake_listeners(&mut self, id: u32) {
        for i in 0.. {
            let Some(listener) = self.notifiers.list[id as usize].listeners.get(i).copied() else { break };
            match listener.wake {
                Wake::Nobody => {}
                Wake::Task(task) => self.tasks.wake(task),
                Wake::Callback => self.notified(listener.element),
            }
        }
    }

    /// Searches for notifiers from a port of `element`: upstream for empty ones, downstream for full ones.
    pub fn search_notifiers(&mut self, element: ElementIdx, port: PortIdx, kind: Kind, wake: Wake) -> Signal {
        let found = self.look_for_notifiers(element, port, kind, wake);
        Signal::Found(self.notifiers.number(Searched { element, port, kind, wake, found }))
    }

    /// Makes all searches anew after the graph has changed, and wakes those who find something that is active.
    pub(crate) fn search_anew(&mut self) {
        self.notifiers.list.iter_mut().for_each(|notifier| notifier.listeners.clear());
        for at in 0..self.notifiers.searches.len() {
            let Some(Some(made)) = self.notifiers.searches.get(at) else { continue };
            let Searched { element, port, kind, wake, .. } = *made;
            let found = self.look_for_notifiers(element, port, kind, wake);
            let Some(Some(made)) = self.notifiers.searches.get_mut(at) else { continue };
            let is_other = std::mem::replace(&mut made.found, found.clone()) != found;
            if is_other && self.notifiers.is_found_active(&found) {
                match wake {
                    Wake::Nobody => {}
                    Wake::Task(task) => self.tasks.wake(task),
                    Wake::Callback => self.notified(element),
                }
            }
        }
    }

    fn look_for_notifiers(&mut self, element: ElementIdx, port: PortIdx, kind: Kind, wake: Wake) -> Found {
        let mut search = Search { kind, found: Vec::new(), busy: false, wakes_beyond: false };
        search.run(self, element, port, false);
        if search.busy {
            return Found::Busy;
        }
        // What is beyond a notifier that speaks for it only wakes the listeners.
        let n_heeded = search.found.len();
        if search.wakes_beyond {
            search.run(self, element, port, true);
        }
        if wake != Wake::Nobody {
            for id in &search.found {
                self.notifiers.listen(*id, Listener { element, wake });
            }
        }
        if search.found.is_empty() {
            return Found::Idle;
        }
        let mut ids: SmallVec<[u32; 2]> = SmallVec::from_slice(&search.found[..n_heeded]);
        ids.sort_unstable();
        Found::AnyOf(ids)
    }
}

/// Notifiers of a kind that Click keeps together, and those whose states share a word.
const BLOCK: usize = 4096;
const WORD: usize = 32;

/// A word of notifiers' states, as far as a signal has to do with it.
#[derive(Default)]
struct Word {
    mask: u32,
    active: u32,
}

impl World {
    /// A signal as Click prints it. Click numbers notifiers as elements are configured, those of each kind from 0.
    pub(crate) fn signal_text(&self, signal: &Signal) -> String {
        let ids = match (signal, self.notifiers.found(signal)) {
            (_, Some(Found::AnyOf(ids))) => ids,
            (Signal::Idle, _) | (_, Some(Found::Idle)) => return "idle".to_string(),
            _ => return "busy*".to_string(),
        };
        let mut words: BTreeMap<(&str, usize), Word> = BTreeMap::new();
        for (kind, name) in [(Kind::Empty, "empty"), (Kind::Full, "full")] {
            for (number, id) in self.notifiers_of(kind).enumerate().filter(|(_, id)| ids.contains(id)) {
                let bit = 1 << (number % WORD);
                let word = words.entry((name, number / WORD)).or_default();
                word.mask |= bit;
                word.active |= if self.notifiers.list[id as usize].is_active() { bit } else { 0 };
            }
        }
        let texts: Vec<String> = words.iter().map(|((name, at), word)| word.text(name, *at)).collect();
        texts.join("+")
    }

    /// The notifiers of a kind, in the order in which their elements are configured.
    fn notifiers_of(&self, kind: Kind) -> impl Iterator<Item = u32> + '_ {
        order_of(&self.classes).into_iter().filter_map(move |idx| self.notifiers.of(idx, kind))
    }
}

impl Word {
    fn text(&self, name: &str, at: usize) -> String {
        let (block, at) = (at / (BLOCK / WORD), at % (BLOCK / WORD));
        let block = if block == 0 { String::new() } else { (block + 1).to_string() };
        let star = if self.active == 0 { "" } else { "*" };
        format!("{name}{block}.{at}/{:x}:{:x}{star}", self.mask, self.active)
    }
}

struct Search {
    kind: Kind,
    found: Vec<u32>,
    busy: bool,
    wakes_beyond: bool,
}

impl Search {
    /// Visits the far ends of a port's connections and, through elements, what is beyond them, breadth first.
    fn run(&mut self, world: &World, element: ElementIdx, port: PortIdx, second: bool) {
        let mut frontier = vec![(element, port)];
        let mut seen: Vec<(ElementIdx, PortIdx)> = Vec::new();
        while !frontier.is_empty() && (second || !self.busy) {
            let mut next = Vec::new();
            for (element, port) in std::mem::take(&mut frontier) {
                let ends = match self.kind {
                    Kind::Empty => world.wiring.upstream(element, port),
                    Kind::Full => world.wiring.downstream(element, port),
                };
                for end in ends {
                    if seen.contains(&end) {
                        continue;
                    }
                    seen.push(end);
                    if self.visit(world, end, second) {
                        next.extend(beyond(world, end, self.kind));
                    }
                }
            }
            frontier = next;
        }
    }

    /// Looks at a port; true if the search goes on beyond its element.
    fn visit(&mut self, world: &World, (element, port): (ElementIdx, PortIdx), second: bool) -> bool {
        if let Some(id) = world.notifiers.of(element, self.kind) {
            if !self.found.contains(&id) {
                self.found.push(id);
            }
            return match world.notifiers.list[id as usize].search {
                SearchOp::Stop => false,
                SearchOp::Continue => true,
                SearchOp::ContinueWake => {
                    self.wakes_beyond |= !second;
                    second
                }
            };
        }
        let turned = match self.kind {
            Kind::Empty => world.wiring.output_is_push(element, port),
            Kind::Full => !world.wiring.input_is_push(element, port),
        };
        let ends_here = beyond(world, (element, port), self.kind).is_empty();
        if turned || (ends_here && world.classes[element].generates) {
            self.busy = true;
            return false;
        }
        true
    }
}

/// The ports on the other side of an element that packets through `port` come from or go to.
fn beyond(world: &World, (element, port): (ElementIdx, PortIdx), kind: Kind) -> Vec<(ElementIdx, PortIdx)> {
    let (n_inputs, n_outputs) = world.wiring.n_ports(element);
    let own = world.flow_codes.get(&element).map(String::as_str);
    let Some(flow) = FlowCode::parse(own.unwrap_or(world.classes[element].facts.flow)) else {
        return Vec::new();
    };
    match kind {
        Kind::Empty => (0..n_inputs).filter(|i| flow.reaches(*i, port)).map(|i| (element, i)).collect(),
        Kind::Full => (0..n_outputs).filter(|o| flow.reaches(port, *o)).map(|o| (element, o)).collect(),
    }
}
