//! Subscribers, their blocks and their mappings.

use std::hash::{Hash, Hasher};

use table::flow::FlowTable;
use table::timeout::TimeWheel;

use super::fragments::Fragments;
use super::log::{Event, Journal};
use super::pool::Pool;
use super::ranges;
use super::sessions::{SessionKey, Sessions};
use super::settings::{Filtering, Settings};
use super::tcp::State;
use super::{Endpoint, Protocol, Refusal, NIL};

/// How exact time-outs are, and how often what has ended is cleared away.
pub const TICK_NS: u64 = 100_000_000;
const SECOND_NS: u64 = 1_000_000_000;

/// The inside of a mapping, by which packets of subscribers find it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Inside {
    /// The subscriber's address.
    pub address: u32,
    /// Its port.
    pub port: u16,
    /// Protocol.
    pub protocol: Protocol,
}

impl Inside {
    /// The inside of the mapping of an endpoint.
    #[inline(always)]
    pub fn new(endpoint: Endpoint, protocol: Protocol) -> Inside {
        Inside { address: endpoint.address, port: endpoint.port, protocol }
    }

    /// The subscriber's address and port.
    #[inline(always)]
    pub fn endpoint(&self) -> Endpoint {
        Endpoint { address: self.address, port: self.port }
    }
}

impl Hash for Inside {
    #[inline(always)]
    fn hash<H: Hasher>(&self, state: &mut H) {
        let Inside { address, port, protocol } = *self;
        state.write_u64(u64::from(address) << 32 | u64::from(port) << 8 | protocol as u64);
    }
}

/// A mapping of an endpoint of a subscriber to an external one, whoever it talks with. With its inside it takes half a cache
/// line in its table: with a million mappings little else counts.
#[derive(Clone, Copy, Debug)]
pub struct Mapping {
    /// The external endpoint.
    pub external: Endpoint,
    /// Index of the subscriber.
    pub subscriber: u32,
    /// Its first session, or none.
    pub first_session: u32,
    /// The second in which it ends, unless it lives as long as its sessions.
    pub until_s: u32,
}

impl Mapping {
    /// When it ends.
    pub fn until_ns(&self) -> u64 {
        u64::from(self.until_s) * SECOND_NS
    }
}

/// Somebody with mappings.
#[derive(Clone, Copy, Debug)]
pub struct Subscriber {
    /// Index of the external address of the first block.
    pub address: u32,
    /// The newest block.
    pub first_block: u32,
    /// Number of blocks.
    pub n_blocks: u32,
    /// Number of mappings.
    pub n_mappings: u32,
    /// Number of sessions.
    pub n_sessions: u32,
}

/// All state of a NAT.
pub struct Nat {
    /// What the arguments say.
    pub settings: Settings,
    /// External addresses.
    pub pool: Pool,
    /// Mappings by their inside.
    pub mappings: FlowTable<Inside, Mapping>,
    /// Subscribers by address.
    pub subscribers: FlowTable<u32, Subscriber>,
    /// Sessions.
    pub sessions: Sessions,
    /// What is known of later fragments.
    pub fragments: Fragments,
    /// What is to be logged.
    pub journal: Journal,
    wheel: TimeWheel,
    due: Vec<u32>,
    ended: Vec<(u32, SessionKey)>,
}

/// The second that a time is in.
fn seconds(now_ns: u64) -> u32 {
    (now_ns / SECOND_NS) as u32
}

/// The second before which a time has come.
pub fn seconds_up(ns: u64) -> u32 {
    u32::try_from(ns.div_ceil(SECOND_NS)).unwrap_or(u32::MAX)
}

impl Nat {
    /// A NAT without mappings.
    pub fn new(settings: Settings, journal: Journal) -> Nat {
        let Settings { block_size, blocks_per_address, first_port, capacity, .. } = settings;
        let pool = Pool::new(settings.pool.clone(), first_port, block_size, blocks_per_address);
        let fragments = Fragments::new(settings.n_fragments, settings.timeouts.fragment_ns);
        Nat {
            mappings: FlowTable::new(capacity),
            subscribers: FlowTable::new(pool.n_blocks()),
            sessions: Sessions::new(TICK_NS, capacity),
            fragments,
            journal,
            wheel: TimeWheel::new(TICK_NS, u32::MAX),
            due: Vec::new(),
            ended: Vec::new(),
            pool,
            settings,
        }
    }

    /// Whether mappings of a protocol have sessions and live as long as these.
    #[inline(always)]
    pub fn has_sessions(&self, protocol: Protocol) -> bool {
        protocol == Protocol::Tcp || self.settings.filtering != Filtering::EndpointIndependent
    }

    /// When something may end next.
    pub fn next_ns(&self) -> Option<u64> {
        [self.wheel.next_ns(), self.sessions.next_ns()].into_iter().flatten().min()
    }

    /// Makes a mapping.
    pub fn begin(&mut self, inside: Inside, now_ns: u64) -> Result<u32, Refusal> {
        if self.mappings.is_full() {
            return Err(Refusal::Capacity);
        }
        let subscriber = match self.subscribers.find(&inside.address) {
            Some(subscriber) => subscriber,
            None => self.begin_subscriber(inside.address, now_ns)?,
        };
        let external = self.take_port(subscriber, inside, now_ns)?;
        let until_s = seconds_up(now_ns.saturating_add(self.settings.timeouts.of(inside.protocol)));
        let mapping = Mapping { external, subscriber, first_session: NIL, until_s };
        let Ok(idx) = self.mappings.insert(inside, mapping) else { return Err(Refusal::Capacity) };
        self.pool.set_mapping(external, inside.protocol, idx);
        if !self.has_sessions(inside.protocol) {
            self.wheel.schedule(idx, mapping.until_ns());
        }
        if let Some((_, subscriber)) = self.subscribers.get_mut(subscriber) {
            subscriber.n_mappings += 1;
        }
        self.journal.mapping(|| Event::Mapped(inside, external));
        Ok(idx)
    }

    fn begin_subscriber(&mut self, address: u32, now_ns: u64) -> Result<u32, Refusal> {
        let is_inside = self.settings.inside.is_empty() || ranges::contain(&self.settings.inside, address);
        if !is_inside || self.pool.ranges.index(address).is_some() {
            return Err(Refusal::NotSubscriber);
        }
        let nobody = Subscriber { address: 0, first_block: NIL, n_blocks: 0, n_mappings: 0, n_sessions: 0 };
        let Ok(idx) = self.subscribers.insert(address, nobody) else { return Err(Refusal::NoBlock) };
        if self.add_block(idx, None, now_ns).is_none() {
            self.subscribers.remove(idx);
            return Err(Refusal::NoBlock);
        }
        Ok(idx)
    }

    fn take_port(&mut self, idx: u32, inside: Inside, now_ns: u64) -> Result<Endpoint, Refusal> {
        let Some((_, subscriber)) = self.subscribers.get(idx) else { return Err(Refusal::NoBlock) };
        let (n_blocks, address) = (subscriber.n_blocks, subscriber.address);
        let (like, now_s) = (self.settings.keeps_parity.then_some(inside.port), seconds(now_ns));
        let mut at = subscriber.first_block;
        while let Some(next) = self.pool.block(at).map(|block| block.next) {
            if let Some(external) = self.pool.take_port(at, inside.protocol, like, now_s) {
                return Ok(external);
            }
            at = next;
        }
        if n_blocks >= self.settings.n_blocks {
            return Err(Refusal::PortLimit);
        }
        // RFC 6888 REQ-2: all mappings of a subscriber have one external address.
        let address = self.settings.is_paired.then_some(address);
        let block = self.add_block(idx, address, now_ns).ok_or(Refusal::NoBlock)?;
        self.pool.take_port(block, inside.protocol, like, now_s).ok_or(Refusal::NoBlock)
    }

    fn add_block(&mut self, idx: u32, address: Option<u32>, now_ns: u64) -> Option<u32> {
        let (&inside, subscriber) = self.subscribers.get_mut(idx)?;
        let block = self.pool.assign(address, idx, seconds(now_ns))?;
        if subscriber.n_blocks == 0 {
            subscriber.address = self.pool.address_of(block);
        }
        let next = std::mem::replace(&mut subscriber.first_block, block);
        subscriber.n_blocks += 1;
        if let Some(block) = self.pool.block_mut(block) {
            block.next = next;
        }
        let range = self.pool.range_of(block);
        self.journal.block(|| Event::Assigned(inside, range));
        Some(block)
    }

    /// Adds a session to a mapping.
    pub fn begin_session(&mut self, key: SessionKey, state: State, until_ns: u64) -> Result<(), Refusal> {
        let Some((inside, mapping)) = self.mappings.get_mut(key.mapping) else {
            return Err(Refusal::NoMapping);
        };
        let Some((_, subscriber)) = self.subscribers.get_mut(mapping.subscriber) else {
            return Err(Refusal::NoMapping);
        };
        if subscriber.n_sessions >= self.settings.n_sessions {
            return Err(Refusal::SessionLimit);
        }
        let remembers_host = remembers_host(self.settings.filtering, inside.protocol);
        if !self.sessions.begin(key, state, until_ns, &mut mapping.first_session, remembers_host) {
            return Err(Refusal::Capacity);
        }
        subscriber.n_sessions += 1;
        Ok(())
    }

    /// Ends a session, and its mapping if that was its last one.
    fn end_session(&mut self, idx: u32, key: SessionKey, now_ns: u64) {
        let Some((inside, mapping)) = self.mappings.get_mut(key.mapping) else { return };
        let remembers_host = remembers_host(self.settings.filtering, inside.protocol);
        if self.sessions.end(idx, &mut mapping.first_session, remembers_host).is_none() {
            return;
        }
        let is_last = mapping.first_session == NIL;
        if let Some((_, subscriber)) = self.subscribers.get_mut(mapping.subscriber) {
            subscriber.n_sessions = subscriber.n_sessions.saturating_sub(1);
        }
        if is_last {
            self.end(key.mapping, now_ns);
        }
    }

    /// Ends a mapping and its sessions.
    pub fn end(&mut self, idx: u32, now_ns: u64) {
        let Some((inside, mut mapping)) = self.mappings.remove(idx) else { return };
        self.wheel.cancel(idx);
        let remembers_host = remembers_host(self.settings.filtering, inside.protocol);
        let mut n_sessions = 0;
        while mapping.first_session != NIL {
            let session = mapping.first_session;
            if self.sessions.end(session, &mut mapping.first_session, remembers_host).is_none() {
                break;
            }
            n_sessions += 1;
        }
        if let Some((_, subscriber)) = self.subscribers.get_mut(mapping.subscriber) {
            subscriber.n_mappings = subscriber.n_mappings.saturating_sub(1);
            subscriber.n_sessions = subscriber.n_sessions.saturating_sub(n_sessions);
        }
        self.journal.mapping(|| Event::Unmapped(inside, mapping.external));
        // RFC 6888 REQ-8 excepts TCP, whose sessions are tracked to their end.
        let ready_s = match inside.protocol {
            Protocol::Tcp => seconds(now_ns),
            _ => self.ready_s(now_ns),
        };
        if let Some((block, 0)) = self.pool.release_port(mapping.external, inside.protocol, ready_s) {
            self.release_block(block, mapping.subscriber, now_ns);
        }
    }

    /// When what is released now may be used again.
    fn ready_s(&self, now_ns: u64) -> u32 {
        match self.settings.quarantine_s {
            0 => 0,
            // The present second has partly passed.
            quarantine_s => seconds(now_ns).saturating_add(quarantine_s).saturating_add(1),
        }
    }

    fn release_block(&mut self, block: u32, idx: u32, now_ns: u64) {
        let range = self.pool.range_of(block);
        let Some((&inside, subscriber)) = self.subscribers.get_mut(idx) else { return };
        let after = self.pool.block(block).map_or(NIL, |block| block.next);
        if subscriber.first_block == block {
            subscriber.first_block = after;
        } else {
            let mut at = subscriber.first_block;
            while let Some(known) = self.pool.block_mut(at) {
                if known.next == block {
                    known.next = after;
                    break;
                }
                at = known.next;
            }
        }
        subscriber.n_blocks = subscriber.n_blocks.saturating_sub(1);
        if subscriber.n_blocks == 0 {
            self.subscribers.remove(idx);
        }
        let ready_s = self.ready_s(now_ns);
        self.pool.release(block, ready_s);
        self.journal.block(|| Event::Released(inside, range));
    }

    /// Ends what has timed out; whether `n_visits` were enough to find all of it.
    pub fn expire(&mut self, now_ns: u64, n_visits: usize) -> bool {
        let mut due = std::mem::take(&mut self.due);
        let mut is_done = self.wheel.advance(now_ns, n_visits, &mut due);
        for idx in due.drain(..) {
            let Some((_, mapping)) = self.mappings.get(idx) else { continue };
            if mapping.until_ns() > now_ns {
                self.wheel.schedule(idx, mapping.until_ns());
            } else {
                self.end(idx, now_ns);
            }
        }
        let mut ended = std::mem::take(&mut self.ended);
        is_done &= self.sessions.expire(now_ns, n_visits, &mut ended, &mut due);
        for (idx, key) in ended.drain(..) {
            self.end_session(idx, key, now_ns);
        }
        (self.due, self.ended) = (due, ended);
        is_done
    }

    /// Ends all mappings, or those of a subscriber; tells how many there were.
    pub fn flush(&mut self, address: Option<u32>, now_ns: u64) -> usize {
        let is_meant = |inside: &Inside| address.is_none_or(|address| inside.address == address);
        let indexes: Vec<u32> =
            self.mappings.iter().filter(|(_, inside, _)| is_meant(inside)).map(|(idx, ..)| idx).collect();
        indexes.iter().for_each(|idx| self.end(*idx, now_ns));
        self.fragments.clear();
        indexes.len()
    }
}

/// Whether sessions let in packets of other ports of the same address.
fn remembers_host(filtering: Filtering, protocol: Protocol) -> bool {
    filtering == Filtering::Address && protocol == Protocol::Tcp
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_mapping_takes_half_a_cache_line() {
        // The table adds four bytes of its own.
        assert_eq!(size_of::<Inside>() + size_of::<Mapping>(), 28);
        assert_eq!(size_of::<Option<Inside>>(), size_of::<Inside>());
    }
}
