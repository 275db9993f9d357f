//! Virtual services, their backends, and the choice among them.

use std::collections::{HashMap, HashSet};
use std::fmt;
use std::net::Ipv4Addr;

use super::maglev::{self, Member, NOBODY};
use super::seen::protocol_name;

/// How new flows are given to backends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Scheduler {
    /// Consistent hashing.
    Maglev,
    /// In turn, by weight.
    RoundRobin,
    /// Where the fewest are for the weight.
    LeastConnections,
}

/// What may go to a backend.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Health {
    /// New flows and old ones.
    Up,
    /// Nothing: its flows begin anew elsewhere.
    Down,
    /// Old flows.
    Drain,
    /// Old flows; the backend is gone with the last of them.
    Removed,
}

/// Where a service is: address, port and protocol.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Place {
    /// Address.
    pub address: u32,
    /// Port.
    pub port: u16,
    /// IP protocol: TCP or UDP.
    pub protocol: u8,
}

/// A backend of a service.
#[derive(Clone, Debug)]
pub struct Backend {
    /// Number of its service.
    pub service: u16,
    /// Address.
    pub address: u32,
    /// Port.
    pub port: u16,
    /// Share of new flows, relative to the other backends'.
    pub weight: u32,
    /// What may go to it.
    pub health: Health,
    /// What the configuration says about that.
    pub configured: Health,
    /// Flows that it has.
    pub n_active: u32,
    /// Flows that it was given.
    pub n_connections: u64,
    /// Packets and bytes to it, then from it.
    pub counts: [(u64, u64); 2],
    /// What smooth weighted round robin saved up.
    pub(super) credit: i64,
}

/// A service.
#[derive(Clone, Debug)]
pub struct Service {
    /// Where it is.
    pub place: Place,
    /// The backends by hash.
    pub table: Vec<u16>,
    /// Its backends, removed ones too while they have flows.
    pub backends: Vec<u16>,
}

/// Services and backends. A backend keeps its number while it or one of its flows lives.
#[derive(Clone, Debug)]
pub struct Pool {
    /// How new flows are given to backends.
    pub scheduler: Scheduler,
    /// Places of each service's table.
    pub table_size: u32,
    /// The services.
    pub services: Vec<Service>,
    pub(super) backends: Vec<Option<Backend>>,
    by_place: HashMap<Place, u16>,
    /// Addresses of services and backends: fragments between them are not let through without their first one.
    addresses: HashSet<u32>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}/{}", Ipv4Addr::from_bits(self.address), self.port, protocol_name(self.protocol))
    }
}

impl fmt::Display for Backend {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", Ipv4Addr::from_bits(self.address), self.port)
    }
}

impl fmt::Display for Health {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Health::Up => "up",
            Health::Down => "down",
            Health::Drain => "drain",
            Health::Removed => "removed",
        })
    }
}

impl Backend {
    /// One that has had nothing to do yet.
    pub fn new(service: u16, address: u32, port: u16, weight: u32) -> Backend {
        Backend {
            service,
            address,
            port,
            weight,
            health: Health::Up,
            configured: Health::Up,
            n_active: 0,
            n_connections: 0,
            counts: [(0, 0); 2],
            credit: 0,
        }
    }

    /// Whether it may be given a new flow.
    pub fn takes_flows(&self) -> bool {
        self.health == Health::Up && self.weight > 0
    }
}

impl Pool {
    /// Without services.
    pub fn new(scheduler: Scheduler, table_size: u32) -> Pool {
        Pool {
            scheduler,
            table_size,
            services: Vec::new(),
            backends: Vec::new(),
            by_place: HashMap::new(),
            addresses: HashSet::new(),
        }
    }

    /// The service at a place, which is made if there is none: one that is being removed is brought back, and the number of
    /// one that is gone is given again.
    pub fn add_service(&mut self, place: Place) -> Result<u16, String> {
        if let Some(number) = self.by_place.get(&place) {
            return Ok(*number);
        }
        let mut idx = self.services.len();
        if self.by_place.len() < idx {
            let same = self.services.iter().position(|service| service.place == place);
            let gone = || self.services.iter().position(|service| self.is_gone(service));
            idx = same.or_else(gone).unwrap_or(idx);
        }
        let number = u16::try_from(idx).ok().filter(|n| *n < NOBODY).ok_or("too many services")?;
        match self.services.get_mut(idx) {
            Some(service) => service.place = place,
            None => self.services.push(Service { place, table: Vec::new(), backends: Vec::new() }),
        }
        self.by_place.insert(place, number);
        self.addresses.insert(place.address);
        Ok(number)
    }

    /// Whether a service is gone: the configuration has it not, and none of its backends has flows.
    pub fn is_gone(&self, service: &Service) -> bool {
        service.backends.is_empty() && !self.by_place.contains_key(&service.place)
    }

    /// Adds a backend, or brings back one that is being removed. [`Pool::refresh`] makes it count.
    pub fn add_backend(&mut self, new: Backend) -> Result<u16, String> {
        if let Some(number) = self.find(new.service, new.address, new.port) {
            let Some(old) = self.get_mut(number) else { return Ok(number) };
            if old.health != Health::Removed {
                return Err(format!("the service has backend {old} already"));
            }
            (old.health, old.configured, old.weight) = (new.health, new.configured, new.weight);
            return Ok(number);
        }
        let free = self.backends.iter().position(Option::is_none).unwrap_or(self.backends.len());
        let number = u16::try_from(free).ok().filter(|n| *n < NOBODY).ok_or("too many backends")?;
        if free == self.backends.len() {
            self.backends.push(None);
        }
        self.addresses.insert(new.address);
        if let Some(service) = self.services.get_mut(usize::from(new.service)) {
            service.backends.push(number);
        }
        if let Some(place) = self.backends.get_mut(free) {
            *place = Some(new);
        }
        Ok(number)
    }

    /// The number of a service's backend.
    pub fn find(&self, service: u16, address: u32, port: u16) -> Option<u16> {
        let service = self.services.get(usize::from(service))?;
        let is_it = |number: &u16| {
            self.get(*number).is_some_and(|backend| (backend.address, backend.port) == (address, port))
        };
        service.backends.iter().copied().find(is_it)
    }

    /// The number of the service at a place.
    #[inline]
    pub fn service_at(&self, place: &Place) -> Option<u16> {
        self.by_place.get(place).copied()
    }

    /// A backend by its number.
    #[inline(always)]
    pub fn get(&self, number: u16) -> Option<&Backend> {
        self.backends.get(usize::from(number))?.as_ref()
    }

    /// A backend by its number, to be changed.
    #[inline(always)]
    pub fn get_mut(&mut self, number: u16) -> Option<&mut Backend> {
        self.backends.get_mut(usize::from(number))?.as_mut()
    }

    /// All backends with their numbers, by service.
    pub fn iter(&self) -> impl Iterator<Item = (u16, &Backend)> {
        let numbers = self.services.iter().flat_map(|service| service.backends.iter().copied());
        numbers.filter_map(|number| Some((number, self.get(number)?)))
    }

    /// Whether an address is that of a service or of a backend.
    pub fn has_address(&self, address: u32) -> bool {
        self.addresses.contains(&address)
    }

    /// Makes what follows from weights and health.
    pub fn refresh(&mut self) {
        let backends = &self.backends;
        let member = |number: &u16| {
            let backend =
                backends.get(usize::from(*number))?.as_ref().filter(|backend| backend.takes_flows())?;
            let identity = u64::from(backend.address) << 16 | u64::from(backend.port);
            Some(Member { index: *number, identity, weight: backend.weight })
        };
        for service in &mut self.services {
            service.table = Vec::new();
            if self.scheduler == Scheduler::Maglev && self.by_place.contains_key(&service.place) {
                let members: Vec<Member> = service.backends.iter().filter_map(member).collect();
                service.table = maglev::table(&members, self.table_size);
            }
        }
    }

    /// Whether a backend may be given a new flow.
    pub fn takes_flows(&self, number: u16) -> bool {
        self.get(number).is_some_and(Backend::takes_flows)
    }

    /// A backend has a flow less; one that is being removed is gone with its last.
    pub fn release(&mut self, number: u16) {
        let Some(backend) = self.get_mut(number) else { return };
        backend.n_active = backend.n_active.saturating_sub(1);
        self.forget_if_done(number);
    }

    /// Takes a removed backend that has no flow out of the pool.
    pub fn forget_if_done(&mut self, number: u16) {
        let is_done = |backend: &&mut Backend| backend.health == Health::Removed && backend.n_active == 0;
        let Some(backend) = self.get_mut(number).filter(is_done) else { return };
        let (service, address) = (usize::from(backend.service), backend.address);
        let mut addresses = [Some(address), None];
        if let Some(service) = self.services.get_mut(service) {
            service.backends.retain(|other| *other != number);
            addresses[1] = Some(service.place.address);
        }
        if let Some(place) = self.backends.get_mut(usize::from(number)) {
            *place = None;
        }
        addresses.into_iter().flatten().for_each(|address| self.forget_if_unused(address));
    }

    /// Forgets an address that neither a service nor a backend has any more.
    fn forget_if_unused(&mut self, address: u32) {
        let has = |service: &Service| service.place.address == address && !self.is_gone(service);
        let is_used = self.iter().any(|(_, other)| other.address == address) || self.services.iter().any(has);
        if !is_used {
            self.addresses.remove(&address);
        }
    }

    /// Takes over the backends that `old` has, with their numbers, and removes those that this one has not. Services that
    /// this one has not get no new flows, and are gone with their last one. If there are too many of them, nothing is taken over.
    pub fn take_over(&mut self, old: Pool) -> Result<(), String> {
        let wanted: Vec<(Place, Vec<Backend>)> =
            self.services.iter().map(|service| self.listed(service)).collect();
        let (scheduler, table_size) = (self.scheduler, self.table_size);
        let mut pool = Pool { scheduler, table_size, ..old };
        pool.by_place.retain(|place, _| self.by_place.contains_key(place));
        let mut removed: Vec<u16> = pool.iter().map(|(number, _)| number).collect();
        for (place, backends) in wanted {
            let service = pool.add_service(place)?;
            for backend in backends {
                let number = match pool.find(service, backend.address, backend.port) {
                    Some(number) => number,
                    None => pool.add_backend(Backend { service, ..backend.clone() })?,
                };
                removed.retain(|other| *other != number);
                if let Some(known) = pool.get_mut(number) {
                    known.weight = backend.weight;
                    // What was written to a handler stays until the configuration says something else.
                    if known.health == Health::Removed || known.configured != backend.configured {
                        known.health = backend.configured;
                    }
                    known.configured = backend.configured;
                }
            }
        }
        for number in removed {
            if let Some(backend) = pool.get_mut(number) {
                backend.health = Health::Removed;
            }
            pool.forget_if_done(number);
        }
        let gone = pool.services.iter().filter(|service| pool.is_gone(service));
        let addresses: Vec<u32> = gone.map(|service| service.place.address).collect();
        addresses.into_iter().for_each(|address| pool.forget_if_unused(address));
        pool.refresh();
        *self = pool;
        Ok(())
    }

    fn listed(&self, service: &Service) -> (Place, Vec<Backend>) {
        let backends = service.backends.iter().filter_map(|number| self.get(*number).cloned());
        (service.place, backends.collect())
    }
}
