//! Subscribers, their blocks and their mappings.

use table::flow::FlowTable;
use table::timeout::TimeWheel;

use super::entries::{Inside, Mapping, Subscriber};
use super::fragments::Fragments;
use super::log::{Event, Journal};
use super::pool::{Choice, Pool};
use super::ranges::Ranges;
use super::sessions::{SessionKey, Sessions};
use super::settings::{Filtering, Settings};
use super::tcp::State;
use super::{Endpoint, Protocol, Refusal, NIL};

/// How exact time-outs are, and how often what has ended is cleared away.
pub const TICK_NS: u64 = 100_000_000;
/// A second.
pub const SECOND_NS: u64 = 1_000_000_000;

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
    pub(super) wheel: TimeWheel,
    pub(super) due: Vec<u32>,
    pub(super) ended: Vec<(u32, SessionKey)>,
}

/// The second that a time is in.
pub fn seconds(now_ns: u64) -> u32 {
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
        let n_fixed = settings.fixed.as_ref().map_or(0, Ranges::len);
        let pool = Pool::new(settings.pool.clone(), first_port, block_size, blocks_per_address, n_fixed);
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
        if !self.is_inside(address) {
            return Err(Refusal::NotSubscriber);
        }
        let nobody = Subscriber { address: 0, first_block: NIL, n_blocks: 0, n_mappings: 0, n_sessions: 0 };
        let Ok(idx) = self.subscribers.insert(address, nobody) else { return Err(Refusal::NoBlock) };
        let choice = self.fixed_block(address).map_or(Choice::Any, Choice::Fixed);
        if self.add_block(idx, choice, now_ns).is_none() {
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
        let own = self.fixed_block(inside.address).filter(|own| !self.is_assigned(*own));
        let choice = match own {
            Some(own) => Choice::Fixed(own),
            None if self.settings.is_paired => Choice::OfAddress(address),
            None => Choice::Any,
        };
        let block = self.add_block(idx, choice, now_ns).ok_or(Refusal::NoBlock)?;
        self.pool.take_port(block, inside.protocol, like, now_s).ok_or(Refusal::NoBlock)
    }

    /// The block that is a subscriber's for good: subscribers have blocks in the order of both (RFC 7422, section 2).
    pub fn fixed_block(&self, address: u32) -> Option<u32> {
        self.settings.fixed.as_ref()?.index(address)
    }

    fn is_assigned(&self, block: u32) -> bool {
        self.pool.block(block).is_some_and(|block| block.subscriber != NIL)
    }

    /// The subscriber whose block it is, even if nothing in it is in use.
    pub fn owner(&self, idx: u32) -> Option<u32> {
        match &self.settings.fixed {
            Some(fixed) if self.pool.is_fixed(idx) => Some(fixed.address(idx)),
            _ => self.subscribers.get(self.pool.block(idx)?.subscriber).map(|(address, _)| *address),
        }
    }

    pub(super) fn add_block(&mut self, idx: u32, choice: Choice, now_ns: u64) -> Option<u32> {
        let (&inside, subscriber) = self.subscribers.get_mut(idx)?;
        let block = self.pool.assign(choice, idx, seconds(now_ns))?;
        if subscriber.n_blocks == 0 {
            subscriber.address = self.pool.address_of(block);
        }
        let next = std::mem::replace(&mut subscriber.first_block, block);
        subscriber.n_blocks += 1;
        if let Some(block) = self.pool.block_mut(block) {
            block.next = next;
        }
        let range = self.pool.range_of(block);
        if !self.pool.is_fixed(block) {
            self.journal.block(|| Event::Assigned(inside, range));
        }
        Some(block)
    }

    /// Whether a mapping's subscriber may answer another connection from outside. However many come, half of its sessions are
    /// left for its own.
    pub fn may_answer(&self, mapping: u32) -> bool {
        let subscriber = self.mappings.get(mapping).and_then(|(_, it)| self.subscribers.get(it.subscriber));
        subscriber.is_some_and(|(_, it)| it.n_sessions < self.settings.n_sessions.div_ceil(2))
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
}

/// Whether sessions let in packets of other ports of the same address.
pub fn remembers_host(filtering: Filtering, protocol: Protocol) -> bool {
    filtering == Filtering::Address && protocol == Protocol::Tcp
}
