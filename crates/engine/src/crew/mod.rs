//! Crews: several threads that run one graph.
//!
//! Each thread has a [`World`] of its own. With [`crate::Layout::Cores`] every world has the whole graph and its share of the
//! flows ([`cores`]); with [`crate::Layout::Threads`] every world has a part of the graph ([`split`]). The first world belongs
//! to the thread that called [`crate::Engine::run`]; each of the others is behind a lock that its thread holds while it works
//! and gives up when the first thread asks for it ([`mate`]). Only the first thread ever locks another's world, so nobody
//! waits in a circle; what the others want of the first they leave as a note on the [`board`]. Batches cross by [`post`].

mod balance;
pub(crate) mod board;
mod calls;
pub(crate) mod cores;
mod drive;
mod flow;
mod gather;
pub(crate) mod hand;
mod handover;
pub(crate) mod mate;
mod merge;
pub(crate) mod post;
pub(crate) mod replicas;
mod share;
pub(crate) mod split;
mod spread;

use std::sync::Arc;

use element::{Batch, Delivery, ElementIdx, PortIdx, Runtime};

pub(crate) use calls::{read, write};

use crate::notify::Kind;
use crate::world::World;
use board::Board;
use hand::Hand;
use mate::Mate;
use post::{Parcel, Post};

/// Whose an element is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Place {
    /// Every world has its own.
    Everywhere,
    /// Every world has its own, which all read the same: the first one's handlers speak for all.
    Alike,
    /// Only this world has it.
    World(usize),
}

/// What a world knows of its crew.
pub(crate) struct Crew {
    /// The world's number.
    pub index: usize,
    /// Whether every world has the whole graph.
    pub is_replicated: bool,
    pub board: Arc<Board>,
    /// The other worlds, for the first one only.
    pub mates: Arc<[Arc<Mate>]>,
    /// The other worlds' threads, for the first one only.
    pub hands: Vec<Hand>,
    pub places: Arc<[Place]>,
    pub post: Post,
    /// Whether the first world's reason to stop is one for all.
    pub stops_all: bool,
    /// The processor on which the first world's thread is to run.
    pub cpu: Option<usize>,
}

impl Crew {
    /// The other world that has an element, if another one has it.
    pub fn elsewhere(&self, element: ElementIdx) -> Option<usize> {
        match self.places.get(element) {
            Some(Place::World(world)) if *world != self.index => Some(*world),
            _ => None,
        }
    }

    /// Whether what an element does concerns all worlds: it is the only one of its kind, or is none (a user).
    pub fn speaks_for_all(&self, element: ElementIdx) -> bool {
        !self.is_replicated || !matches!(self.places.get(element), Some(Place::Everywhere | Place::Alike))
    }
}

/// The mate that has world `world`.
pub(crate) fn mate_of(mates: &[Arc<Mate>], world: usize) -> Option<&Arc<Mate>> {
    mates.get(world.checked_sub(1)?)
}

impl World {
    /// Hands a batch to the same element in another world.
    pub(crate) fn send(
        &mut self,
        to: usize,
        (element, port): (ElementIdx, PortIdx),
        how: Delivery,
        batch: Batch,
    ) -> bool {
        let Some(crew) = &mut self.crew else { return false };
        crew.post.send(&crew.board, to, Parcel { element, port, how, batch })
    }

    /// Does what the other threads have sent or asked for. One call does at most what was there when it began, or a little
    /// more.
    pub(crate) fn take_mail(&mut self) {
        self.take_parcels();
        if self.crew.as_ref().is_some_and(|crew| crew.index == 0) {
            self.take_notes();
        }
    }

    /// Delivers what the other threads have sent.
    fn take_parcels(&mut self) {
        const MOST: usize = 256;
        self.flush();
        for _ in 0..MOST {
            let Some(crew) = &mut self.crew else { return };
            if !crew.post.always_takes && crew.post.spills() {
                break;
            }
            let Some((from, parcel)) = crew.post.take(&crew.board) else { break };
            let own = std::mem::replace(&mut self.thread, from);
            self.deliver(parcel);
            self.thread = own;
        }
        self.publish();
        self.reopen();
    }

    fn deliver(&mut self, parcel: Parcel) {
        let Parcel { element, port, how, batch } = parcel;
        self.forget_times();
        let n = batch.len() as u64;
        let mut batch = Some(batch);
        let done = match how {
            Delivery::Emit => batch.take().map(|batch| self.push_now(element, port, batch)),
            Delivery::Push => {
                self.call(element, |element, ctx| element.push(ctx, port, batch.take().unwrap_or_default()))
            }
            Delivery::Copy => self.call_apart(element, |element, ctx| {
                element.push(ctx, port, batch.take().unwrap_or_default())
            }),
        };
        if done.is_none() {
            self.count_drops(element, None, n);
        }
    }

    /// Tells those that feed storage of this world how much room there is.
    pub(crate) fn publish(&mut self) {
        let Some(crew) = &mut self.crew else { return };
        let slots = &self.slots;
        crew.post.publish(&crew.board, |element| told_room(&**slots.get(element)?.as_ref()?));
    }

    /// Tells elements that wait for room elsewhere that there is some.
    fn reopen(&mut self) {
        while let Some(crew) = &mut self.crew {
            let Some((element, door)) = crew.post.reopened() else { return };
            door.open();
            self.set_signal(element, Kind::Full, true);
        }
    }

    fn take_notes(&mut self) {
        let notes = self.crew.as_ref().map(|crew| crew.board.take_notes()).unwrap_or_default();
        for note in notes {
            let result = crate::handlers::write(self, note.from, &note.call.name, &note.call.value);
            if let (Err(message), true) = (result, note.tell) {
                self.chatter.say(&message);
            }
        }
    }

    /// The other worlds.
    pub(crate) fn mates(&self) -> Arc<[Arc<Mate>]> {
        self.crew.as_ref().map_or_else(|| Arc::from([]), |crew| crew.mates.clone())
    }
}

/// How many packets an element has room for, if it stores packets and tells those upstream when it is full.
fn told_room(element: &dyn element::Element) -> Option<usize> {
    element.notifies().full.and_then(|_| Some(element.room()?.left))
}
