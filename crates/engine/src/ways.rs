//! The ways that packets may go together: where nothing shows that they did not go one by one, as they do in Click.

use std::sync::Arc;

use element::{Causes, ElementIdx, PortIdx, Stock, BATCH_MAX};

use crate::growth;
use crate::meetings;
use crate::notify::Kind;
use crate::wiring::Step;
use crate::world::World;

/// Where the packets come from that a task of an element moves, and where they go to.
#[derive(Clone, Debug)]
pub struct Way {
    /// Whether each element is met whose packets come in an order.
    pub meets: Box<[bool]>,
    /// The elements among these that store packets.
    pub stores: Vec<Store>,
    pub causes: Causes,
    /// Whether packets may be lost before the task has them.
    pub loses_pulled: bool,
    /// How many packets at most may set out together.
    pub most: usize,
    /// How many packets at most may come to an element of each that sets out.
    pub growth: usize,
    /// If packets that part go on one behind the other, and what was made of a packet before the next, as it would show otherwise: the
    /// elements that packets then come to one by one.
    pub single_file: Option<Arc<[ElementIdx]>>,
}

impl Way {
    /// Whether it is chosen in each run whether and where to pull.
    pub fn chooses(&self) -> bool {
        self.causes.include(Causes::CHOICE)
    }
}

/// An element that stores packets.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Store {
    pub element: ElementIdx,
    pub is_filled: bool,
    pub is_emptied: bool,
    /// Whether it may tell, when it is full, of a packet that has no place among the others.
    pub tells_of_more: bool,
}

impl Store {
    /// Whether packets come from it and go to it.
    fn is_ring(&self) -> bool {
        self.is_filled && self.is_emptied
    }
}

/// What is known of a way.
#[derive(Clone, Debug, Default)]
pub enum Known {
    #[default]
    Nothing,
    /// Packets must go one by one: they come to an element that may cause anything.
    Unforeseen,
    /// Packets must go one by one: it may show that they did not.
    OneByOne,
    /// The packets of a run of the task may go together: each element meets them in the same order.
    Together(Box<Way>),
}

/// What is found out about a way.
struct Search<'a> {
    world: &'a World,
    /// Elements whose neighbours are still to be looked at, and whether packets that leave them may be others.
    next: Vec<(ElementIdx, bool)>,
    way: Way,
    /// Inputs that packets are pushed to.
    inputs: Vec<(ElementIdx, PortIdx)>,
    /// Elements that they come to, but for those that store them, and what they cause there.
    met: Vec<(ElementIdx, Causes)>,
    /// Elements that they come to by several ways, at one input.
    joins: Vec<ElementIdx>,
    /// How often an end was met where it does not matter who is first.
    n_ends: usize,
    /// Whether it may show that packets did not go one by one.
    shows: bool,
    /// Whether it may, unless they go in single file.
    mixes: bool,
}

impl World {
    /// Finds out how packets may go that a task of an element moves, where moving them causes `own`, unless it is known.
    #[inline]
    pub(crate) fn explore(&mut self, element: ElementIdx, own: Causes) {
        if matches!(self.wiring.ways.get(element), None | Some(Known::Nothing)) {
            self.find_way(element, own);
        }
    }

    /// Whether packets that a task of an element moves, which causes `own`, come to one that may cause anything.
    #[inline]
    pub(crate) fn is_unforeseen(&mut self, element: ElementIdx, own: Causes) -> bool {
        self.explore(element, own);
        matches!(self.wiring.ways.get(element), Some(Known::Unforeseen))
    }

    /// What packets that come to an element cause.
    pub(crate) fn causes(&self, element: ElementIdx) -> Option<Causes> {
        Some(self.slots.get(element)?.as_ref()?.causes(self.classes.get(element)?.causes))
    }

    /// How the packets go together that a task of an element moves, which was explored; `None` if they must not.
    #[inline]
    pub(crate) fn way(&self, element: ElementIdx) -> Option<&Way> {
        match self.wiring.ways.get(element) {
            Some(Known::Together(way)) => Some(way),
            _ => None,
        }
    }

    /// Whether the packets of a burst that a task of an element moves, which causes `own`, may go together.
    pub(crate) fn goes_together(&mut self, element: ElementIdx, burst: usize, own: Causes) -> bool {
        self.explore(element, own);
        let Some(way) = self.way(element) else { return false };
        if self.turn.is_on() {
            return true;
        }
        // A pull that loses its packet ends a burst; of a choice it shows how often a place was found empty.
        if burst > way.most || way.loses_pulled || way.chooses() {
            return false;
        }
        let looks = way.causes.include(Causes::LOOKS_AT_STORES);
        let may_go = |store: &Store| {
            let may_be_ring = !looks && way.growth == 1;
            let needs_room = store.tells_of_more || (looks && store.is_filled);
            let Some(Stock { len, room, .. }) = self.stock(store.element) else {
                return !store.is_ring() && !needs_room;
            };
            (!store.is_ring() || (len > burst && may_be_ring))
                && (!needs_room || room >= burst.saturating_mul(way.growth))
        };
        // Those who wake come on the list in the order in which they are woken.
        let wakes = |store: &&Store| store.is_filled && self.notifiers.may_wake(store.element, Kind::Empty);
        way.stores.iter().all(may_go) && way.stores.iter().filter(wakes).count() <= 1
    }

    #[cold]
    fn find_way(&mut self, element: ElementIdx, own: Causes) {
        let n_elements = self.slots.len();
        let way = Way {
            meets: vec![false; n_elements].into(),
            stores: Vec::new(),
            causes: Causes::NOTHING,
            loses_pulled: false,
            most: usize::MAX,
            growth: 1,
            single_file: None,
        };
        let mut search = Search {
            world: self,
            next: vec![(element, false)],
            way,
            inputs: Vec::new(),
            met: vec![(element, own)],
            joins: Vec::new(),
            n_ends: 0,
            shows: false,
            mixes: false,
        };
        let known = match search.run() {
            Some(()) if search.shows => Known::OneByOne,
            Some(()) => Known::Together(Box::new(search.way)),
            None => Known::Unforeseen,
        };
        self.wiring.ways.resize_with(n_elements, Known::default);
        if let Some(place) = self.wiring.ways.get_mut(element) {
            *place = known;
        }
    }
}

impl Search<'_> {
    /// Looks at all elements that packets come from and go to, as far as those that store them. `None` if one may cause anything.
    fn run(&mut self) -> Option<()> {
        let (begin, _) = *self.next.first()?;
        *self.way.meets.get_mut(begin)? = true;
        while let Some((element, more)) = self.next.pop() {
            let world = self.world;
            world.wiring.moves(element).try_for_each(|(step, next)| self.meet(next, step, more))?;
        }
        self.way.causes = self.met.iter().fold(Causes::NOTHING, |all, (_, causes)| all.and(*causes));
        let makes_more = self.way.causes.include(Causes::MORE);
        let comes_again = self.mixes || !self.joins.is_empty();
        if makes_more || (comes_again && self.way.causes.include(Causes::COPIES)) {
            self.way.growth = growth::of(
                self.world,
                begin,
                &self.met.iter().map(|(element, _)| *element).collect::<Vec<_>>(),
            );
        }
        let mixes = self.mixes || !self.keeps_order_where_ways_join() || !self.keeps_order_of_changes(&[]);
        // What comes back may be chosen before what was there.
        self.shows |= self.way.chooses() && self.way.stores.iter().any(Store::is_ring);
        let ring_grows = self.way.growth > 1 && self.way.stores.iter().any(Store::is_ring);
        if mixes || ring_grows || makes_more {
            let singly = self.met_singly();
            let may_file = self.met.len() <= meetings::HORIZON && self.keeps_order_of_changes(&singly);
            self.way.single_file = may_file.then(|| singly.into());
        }
        self.shows |= mixes && self.way.single_file.is_none();
        if self.way.single_file.is_none() && !self.joins.is_empty() {
            // All of them have room where they wait for each other.
            self.way.most = BATCH_MAX / self.way.growth;
        }
        Some(())
    }

    /// Whether what several elements share changes in order. It does where packets come to all of them one by one.
    fn keeps_order_of_changes(&self, singly: &[ElementIdx]) -> bool {
        let changing = || self.met.iter().filter(|(_, causes)| causes.include(Causes::CHANGES));
        changing().count() <= 1 || changing().all(|(element, _)| singly.contains(element))
    }

    /// The elements that packets must come to one by one in single file. To elements behind one that parts them they come in order. Those
    /// that come back to an element are late, as others came to it together before, unless it keeps nothing in mind.
    fn met_singly(&self) -> Vec<ElementIdx> {
        let is_stateless =
            |element: ElementIdx| self.world.classes.get(element).is_some_and(|class| class.is_stateless);
        let must_be_alone = |(element, causes): &&(ElementIdx, Causes)| {
            causes.include(Causes::MORE) || (!is_stateless(*element) && self.leads_back(*element))
        };
        self.met.iter().filter(must_be_alone).map(|(element, _)| *element).collect()
    }

    fn leads_back(&self, begin: ElementIdx) -> bool {
        self.world.wiring.is_behind(begin, |element| element == begin)
    }

    /// Whether packets that come to an input by several ways come in their order: all those of a batch that was split wait for each other
    /// there, and are put in order.
    fn keeps_order_where_ways_join(&self) -> bool {
        if self.joins.is_empty() {
            return true;
        }
        // Who is first of what was made of one packet, its place does not tell.
        let causes = self.way.causes;
        let speaks_of_copies = causes.include(Causes::COPIES.and(Causes::LINES));
        let is_plain = !causes.include(Causes::MORE) && !speaks_of_copies;
        let n_elements = self.n_ends + self.way.meets.iter().filter(|is_met| **is_met).count();
        let is_store = |element| self.way.stores.iter().any(|store| store.element == element);
        let leads_back = |join: &ElementIdx| !is_store(*join) && self.leads_back(*join);
        is_plain && n_elements <= meetings::HORIZON && !self.joins.iter().any(leads_back)
    }

    /// Comes to an element by one of its ports.
    fn meet(&mut self, (element, port): (ElementIdx, PortIdx), step: Step, more: bool) -> Option<()> {
        let class = self.world.classes.get(element)?;
        let causes = self.world.causes(element)?;
        if causes == Causes::ANYTHING {
            return None;
        }
        if causes == Causes::NOTHING && !class.shows_order && self.world.wiring.n_ports(element).1 == 0 {
            // It does not matter in what order they come to an end.
            self.n_ends += 1;
            return Some(());
        }
        let is_join = step == Step::Push && self.inputs.contains(&(element, port));
        if is_join {
            self.joins.push(element);
        } else if step == Step::Push {
            self.inputs.push((element, port));
        }
        let was_met = std::mem::replace(self.way.meets.get_mut(element)?, true);
        if causes.include(Causes::WAKEUPS) {
            self.store(element, step, is_join, more && causes.include(Causes::LINES));
            if !was_met {
                self.next.push((element, more));
            }
            return Some(());
        }
        if was_met {
            // By ways to two inputs packets come in another order.
            self.mixes |= !is_join;
            return Some(());
        }
        // What happens to packets before the task has them happens before all that it does with the first.
        let has_more = causes.include(Causes::LINES) || self.world.wiring.n_ports(element).1 > 1;
        // Lines about those that were made on the way have a place among the others only there.
        self.mixes |= more && causes.include(Causes::LINES);
        self.shows |= step == Step::Pull && has_more;
        self.way.loses_pulled |= step == Step::Pull && !class.facts.drops.is_empty();
        self.met.push((element, causes));
        self.next.push((element, more || causes.include(Causes::MORE)));
        Some(())
    }

    /// Comes to an element that stores packets. None may get them by two inputs, or give them by two ways.
    fn store(&mut self, element: ElementIdx, step: Step, is_join: bool, tells_of_more: bool) {
        let (is_filled, is_emptied) = (step == Step::Push, step == Step::Pull);
        match self.way.stores.iter_mut().find(|store| store.element == element) {
            None => self.way.stores.push(Store { element, is_filled, is_emptied, tells_of_more }),
            Some(store) => {
                self.mixes |= store.is_filled && is_filled && !is_join;
                self.shows |= store.is_emptied && is_emptied;
                store.is_filled |= is_filled;
                store.is_emptied |= is_emptied;
                store.tells_of_more |= tells_of_more;
            }
        }
    }
}
