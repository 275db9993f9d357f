//! Gathering: the parts of a graph on several threads become one graph for a while, so that it can be changed.

use element::ElementIdx;
use graph::{Diagnostics, Graph};

use super::mate::Held;
use super::post::Parcel;
use super::split::settle;
use super::spread::{places, spread};
use super::{Crew, Place};
use crate::world::World;

impl World {
    /// Does something with all worlds that have the whole graph: this one, the first, or all replicas. The threads of other worlds
    /// stand still meanwhile, and what was on its way between them has arrived. Where they have parts of the graph, this world
    /// has all elements.
    pub(crate) fn as_one<R>(&mut self, act: impl FnOnce(&mut [&mut World]) -> R) -> R {
        if self.crew.as_ref().is_some_and(|crew| crew.is_replicated) {
            return self.with_replicas(act);
        }
        let Some(crew) = self.crew.take() else { return act(&mut [self]) };
        let mates = crew.mates.clone();
        let mut held: Vec<Held<'_>> = mates.iter().map(|mate| mate.hold()).collect();
        let crew = self.gather(crew, &mut held);
        let result = act(&mut [self]);
        self.part_again(crew, &mut held);
        result
    }

    /// The graph, each element with the configuration that it has now, in whichever world it is.
    pub(crate) fn present_graph(&self) -> Graph {
        let mut graph = (*self.graph).clone();
        for (element, config) in graph.elements.iter_mut().zip(&self.configs) {
            element.config.clone_from(config);
        }
        let Some(crew) = self.crew.as_ref().filter(|crew| !crew.is_replicated) else { return graph };
        for mate in crew.mates.iter() {
            mate.with(|engine| {
                for (idx, config) in engine.world.configs.iter().enumerate() {
                    if crew.places.get(idx) == Some(&Place::World(mate.index)) {
                        graph.elements[idx].config.clone_from(config);
                    }
                }
            });
        }
        graph
    }

    /// Takes over what the others have.
    fn gather(&mut self, mut crew: Box<Crew>, held: &mut [Held<'_>]) -> Box<Crew> {
        let mut parcels: Vec<(usize, Parcel)> = crew.post.take_in();
        let mut late: Vec<(usize, Parcel)> = crew.post.take_out().map(|parcel| (0, parcel)).collect();
        self.tasks.pause();
        for (at, held) in held.iter_mut().enumerate() {
            let other = &mut held.engine().world;
            if let Some(other) = &mut other.crew {
                parcels.append(&mut other.post.take_in());
                late.extend(other.post.take_out().map(|parcel| (at + 1, parcel)));
            }
            self.absorb(other, |idx| crew.places.get(idx) == Some(&Place::World(at + 1)));
        }
        self.tasks.find_free();
        self.timers.find_free();
        self.find_order();
        for (from, parcel) in parcels.into_iter().chain(late) {
            self.thread = from;
            self.deliver(parcel);
        }
        self.thread = 0;
        crew
    }

    /// Takes over the elements that another world has, and what is theirs.
    fn absorb(&mut self, other: &mut World, is_own: impl Fn(ElementIdx) -> bool + Copy) {
        for idx in (0..other.slots.len()).filter(|idx| is_own(*idx)) {
            self.slots[idx] = other.slots[idx].take();
            self.configs[idx] = std::mem::take(&mut other.configs[idx]);
            self.home_threads[idx] = other.home_threads[idx];
            self.given_threads[idx] = other.given_threads[idx];
            self.tickets[idx] = other.tickets[idx];
        }
        for (own, other) in self.drops.iter_mut().zip(&other.drops) {
            own.add(other);
        }
        self.second_hands.extend(other.second_hands.drain());
        self.wiring.keep_lengths(&other.wiring, is_own);
        self.wiring.forget_ways();
        other.tasks.pause();
        self.tasks.absorb(std::mem::take(&mut other.tasks), is_own);
        self.timers.absorb(std::mem::take(&mut other.timers), is_own);
        self.selects.append(std::mem::take(&mut other.selects));
        self.notifiers.absorb(&other.notifiers, is_own);
    }

    /// Gives each thread its part of the graph as it now is.
    fn part_again(&mut self, mut crew: Box<Crew>, held: &mut [Held<'_>]) {
        let n = held.len() + 1;
        // Whose wish is not followed was told when the graph began.
        let threads = settle(self, n, Some(&crew.places), &mut Diagnostics::default());
        if std::mem::take(&mut self.must_balance) {
            self.tasks.age_costs();
        }
        let (worlds, posts) = spread(self, &threads, n);
        let (places, mut posts) = (places(&threads), posts.into_iter());
        (crew.places, crew.post) = (places.clone(), posts.next().unwrap_or_default());
        self.crew = Some(crew);
        for ((held, mut world), post) in held.iter_mut().zip(worlds).zip(posts) {
            let old = &mut held.engine().world;
            world.succeed(old);
            if let Some(crew) = &mut world.crew {
                (crew.places, crew.post) = (places.clone(), post);
            }
            *old = world;
        }
        if self.is_running {
            self.tasks.start();
        }
    }
}
