//! Going on with the mappings of another NAT, whose arguments may have been others.

use super::entries::{Inside, Mapping, Subscriber};
use super::log::Event;
use super::nat::Nat;
use super::pool::Choice;
use super::ranges;
use super::sessions::SessionKey;
use super::settings::{Filtering, Settings};
use super::tcp::State;
use super::{Endpoint, Protocol, NIL};

/// A session that goes on: whom a mapping talks with, the state of the connection and when it ends.
type Contact = (Endpoint, State, u64);

impl Nat {
    /// Goes on with the mappings of another NAT as far as these arguments allow them; the others end, of which the journal tells.
    pub fn take_over(&mut self, old: &mut Nat, now_ns: u64) {
        if has_same_tables(&self.settings, &old.settings) {
            self.take_tables(old, now_ns);
        } else {
            self.take_mappings(old, now_ns);
        }
    }

    /// Takes the tables as they are.
    fn take_tables(&mut self, old: &mut Nat, now_ns: u64) {
        std::mem::swap(self, old);
        std::mem::swap(&mut self.settings, &mut old.settings);
        std::mem::swap(&mut self.journal, &mut old.journal);
        let limits = |settings: &Settings| (settings.n_fragments, settings.timeouts.fragment_ns);
        if limits(&self.settings) != limits(&old.settings) {
            std::mem::swap(&mut self.fragments, &mut old.fragments);
        }
        self.pool.take_order(&old.pool);
        self.mappings.set_limit(self.settings.capacity);
        self.sessions.set_limit(self.settings.capacity);
        let subscribers = self.subscribers.iter().map(|(_, address, _)| *address);
        let outside: Vec<u32> = subscribers.filter(|address| !self.is_inside(*address)).collect();
        for address in outside {
            self.flush(Some(address), now_ns);
        }
    }

    /// Makes the mappings again, one by one, with the same external endpoints.
    fn take_mappings(&mut self, old: &mut Nat, now_ns: u64) {
        let mut others = Vec::new();
        for (idx, inside, mapping) in old.mappings.iter() {
            let sessions = old.sessions.of_mapping(mapping.first_session);
            let contacts = sessions.map(|(key, session)| (key.remote, session.state, session.until_ns));
            let contacts = self.contacts(inside, contacts.collect(), old.settings.filtering);
            if self.adopt(*inside, mapping, contacts, now_ns).is_none() {
                others.push(idx);
            }
        }
        let places = |settings: &Settings| (settings.first_port, settings.block_size);
        if places(&self.settings) == places(&old.settings) {
            // The blocks are whose they were.
            self.journal.clear();
        } else {
            let blocks: Vec<u32> = old.pool.assigned().map(|(block, _)| block).collect();
            for block in blocks.into_iter().filter(|block| !old.pool.is_fixed(*block)) {
                let (owner, range) = (old.owner(block).unwrap_or(0), old.pool.range_of(block));
                old.journal.block(|| Event::Released(owner, range));
            }
        }
        others.into_iter().for_each(|idx| old.end(idx, now_ns));
        self.journal.put_before(&mut old.journal);
    }

    /// The sessions of a mapping as this NAT's filter has them; `None` if it cannot let in whom the other one lets in.
    fn contacts(&self, inside: &Inside, contacts: Vec<Contact>, before: Filtering) -> Option<Vec<Contact>> {
        let filtering = self.settings.filtering;
        if inside.protocol == Protocol::Tcp || filtering == before {
            return Some(contacts);
        }
        match (before, filtering) {
            (_, Filtering::EndpointIndependent) => Some(contacts),
            (Filtering::AddressPort, Filtering::Address) => {
                let any_port =
                    |(remote, state, until_ns): Contact| (Endpoint { port: 0, ..remote }, state, until_ns);
                Some(contacts.into_iter().map(any_port).collect())
            }
            _ => None,
        }
    }

    /// Makes a mapping with the external endpoint that it had; `None` if it may not have it.
    fn adopt(
        &mut self,
        inside: Inside,
        old: &Mapping,
        contacts: Option<Vec<Contact>>,
        now_ns: u64,
    ) -> Option<()> {
        let contacts = contacts?;
        let has_sessions = self.has_sessions(inside.protocol);
        if self.mappings.is_full() || !self.is_inside(inside.address) || has_sessions && contacts.is_empty() {
            return None;
        }
        let block = self.pool.block_at(old.external)?;
        let subscriber = self.adopt_block(inside.address, block, now_ns)?;
        if !self.pool.take_this(old.external, inside.protocol) {
            return None;
        }
        let until_s = match contacts.iter().map(|(_, _, until_ns)| super::nat::seconds_up(*until_ns)).max() {
            Some(until_s) if !has_sessions => until_s,
            _ => old.until_s,
        };
        let mapping = Mapping { external: old.external, subscriber, first_session: NIL, until_s };
        let idx = self.mappings.insert(inside, mapping).ok()?;
        self.pool.set_mapping(old.external, inside.protocol, idx);
        if let Some((_, subscriber)) = self.subscribers.get_mut(subscriber) {
            subscriber.n_mappings += 1;
        }
        if !has_sessions {
            self.wheel.schedule(idx, mapping.until_ns());
            return Some(());
        }
        let mut has_any = false;
        for (remote, state, until_ns) in contacts.into_iter().rev() {
            let key = SessionKey { mapping: idx, remote };
            let is_new = self.sessions.find(&key).is_none();
            has_any |= !is_new || self.begin_session(key, state, until_ns).is_ok();
        }
        if !has_any {
            self.end(idx, now_ns);
            return None;
        }
        Some(())
    }

    /// Sees to it that a block is a subscriber's; the subscriber's index.
    fn adopt_block(&mut self, address: u32, block: u32, now_ns: u64) -> Option<u32> {
        let nobody = Subscriber { address: 0, first_block: NIL, n_blocks: 0, n_mappings: 0, n_sessions: 0 };
        let idx = match self.subscribers.find(&address) {
            Some(idx) => idx,
            None => self.subscribers.insert(address, nobody).ok()?,
        };
        if self.pool.block(block)?.subscriber == idx {
            return Some(idx);
        }
        let (_, subscriber) = self.subscribers.get(idx)?;
        let is_new = subscriber.n_blocks == 0;
        let is_free = !self.pool.is_fixed(block) || self.fixed_block(address) == Some(block);
        let is_near = is_new || !self.settings.is_paired || subscriber.address == self.pool.address_of(block);
        let may_have = is_free && is_near && subscriber.n_blocks < self.settings.n_blocks;
        if may_have && self.add_block(idx, Choice::Fixed(block), now_ns).is_some() {
            return Some(idx);
        }
        if is_new {
            self.subscribers.remove(idx);
        }
        None
    }

    /// Whether an address may be a subscriber's.
    pub(super) fn is_inside(&self, address: u32) -> bool {
        let is_inside = self.settings.inside.is_empty() || ranges::contain(&self.settings.inside, address);
        is_inside && self.pool.ranges.index(address).is_none()
    }
}

/// Whether what the tables of an old NAT hold means the same to a new one, which allows all of it.
fn has_same_tables(new: &Settings, old: &Settings) -> bool {
    let numbers = |of: &Settings| (of.first_port, of.block_size, of.blocks_per_address, of.filtering);
    let is_stricter =
        new.is_paired && !old.is_paired || new.n_blocks < old.n_blocks || new.n_sessions < old.n_sessions;
    !is_stricter && numbers(new) == numbers(old) && (&new.pool, &new.fixed) == (&old.pool, &old.fixed)
}
