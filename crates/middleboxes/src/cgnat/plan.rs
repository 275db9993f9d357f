//! What becomes of each packet: it is planned here and then written by `rewrite`.

use table::prefetch::prefetch;
use wire::tcp_flag::RST;

use super::entries::Inside;
use super::fragments::FragmentKey;
use super::look::{self, Kind, Seen};
use super::nat::{seconds_up, Nat};
use super::sessions::SessionKey;
use super::settings::Filtering;
use super::tcp::{self, Lease, State, Way};
use super::{Endpoint, Protocol, Refusal, Rewrite, TO_INSIDE, TO_OUTSIDE};

/// Packets that are looked up together: enough to overlap cache misses, few enough to stay in the first-level cache.
pub const CHUNK: usize = 64;
/// The input of packets from inside.
pub const FROM_INSIDE: usize = 0;

impl Nat {
    /// Brings near what planning for packets that came in by a port will read, in steps that let cache misses overlap.
    pub fn prepare(&self, port: usize, seen: &mut [Seen]) {
        if port == FROM_INSIDE {
            for seen in seen.iter_mut() {
                if let Some(protocol) = seen.protocol() {
                    seen.hash = self.mappings.hash_of(&Inside::new(seen.source, protocol));
                    self.mappings.prefetch(seen.hash);
                }
            }
            seen.iter_mut().for_each(|seen| seen.near = self.mappings.prefetch_entry(seen.hash));
        } else {
            for seen in seen.iter() {
                let slot = seen.protocol().and_then(|protocol| self.pool.slot(seen.destination, protocol));
                slot.into_iter().for_each(prefetch);
            }
            for seen in seen.iter() {
                if let Some(mapping) = self.mapping_of(seen.destination, seen.protocol()) {
                    self.mappings.prefetch_at(mapping);
                }
            }
        }
        self.prepare_sessions(port, seen);
    }

    fn prepare_sessions(&self, port: usize, seen: &mut [Seen]) {
        let mut hashes = [None; CHUNK];
        for (seen, hash) in seen.iter().zip(&mut hashes) {
            let Some(protocol) = seen.protocol().filter(|protocol| self.has_sessions(*protocol)) else {
                continue;
            };
            let (mapping, remote) = match port {
                FROM_INSIDE => {
                    let inside = Inside::new(seen.source, protocol);
                    (self.mappings.find_near(seen.near, seen.hash, &inside), seen.destination)
                }
                _ => (self.mapping_of(seen.destination, Some(protocol)), seen.source),
            };
            *hash = mapping.map(|mapping| self.sessions.prefetch(&self.key(mapping, protocol, remote)));
        }
        hashes.iter().flatten().for_each(|hash| self.sessions.prefetch_session(*hash));
    }

    #[inline(always)]
    fn mapping_of(&self, external: Endpoint, protocol: Option<Protocol>) -> Option<u32> {
        self.pool.mapping(external, protocol?)
    }

    /// Plans for a packet that came in by a port and was looked at.
    #[inline]
    pub fn plan(
        &mut self,
        port: usize,
        seen: &Seen,
        network: &[u8],
        now_ns: u64,
    ) -> Result<Rewrite, Refusal> {
        let rewrite = match seen.kind {
            Kind::Ports(protocol, flags) if port == FROM_INSIDE => {
                self.outward(seen, protocol, flags, now_ns)
            }
            Kind::Ports(protocol, flags) => self.inward(seen, protocol, flags, now_ns),
            Kind::Request if port == FROM_INSIDE => self.outward(seen, Protocol::Icmp, 0, now_ns),
            Kind::Reply if port != FROM_INSIDE => self.inward(seen, Protocol::Icmp, 0, now_ns),
            Kind::Request | Kind::Reply => return Err(self.misdirected(port, seen)),
            Kind::Error if port == FROM_INSIDE => self.error_outward(seen, network),
            Kind::Error => self.error_inward(seen, network),
            Kind::LaterFragment => {
                return self.fragments.find(&FragmentKey::of(seen, port), now_ns).ok_or(Refusal::LostFragment)
            }
            Kind::Other => Err(Refusal::Protocol),
            Kind::Broken => Err(Refusal::NoHeader),
        }?;
        if seen.has_more {
            self.fragments.note(FragmentKey::of(seen, port), rewrite, now_ns);
        }
        Ok(rewrite)
    }

    /// An ICMP request from outside, or an answer from inside: identifiers are mapped for requests of subscribers only.
    fn misdirected(&self, port: usize, seen: &Seen) -> Refusal {
        match port {
            FROM_INSIDE => Refusal::NoMapping,
            _ => self.refusal_at(seen.destination),
        }
    }

    fn refusal_at(&self, external: Endpoint) -> Refusal {
        match self.pool.ranges.index(external.address) {
            Some(_) => Refusal::NoMapping,
            None => Refusal::NotExternal,
        }
    }

    #[inline]
    fn outward(
        &mut self,
        seen: &Seen,
        protocol: Protocol,
        flags: u8,
        now_ns: u64,
    ) -> Result<Rewrite, Refusal> {
        let target = self.hairpin_target(seen.destination, protocol)?;
        let inside = Inside::new(seen.source, protocol);
        let idx = match self.mappings.find_near(seen.near, seen.hash, &inside) {
            Some(idx) => idx,
            None if protocol == Protocol::Tcp && !tcp::begins(flags) => return Err(Refusal::OutOfState),
            None => self.begin(inside, now_ns)?,
        };
        if let Err(refusal) = self.send(idx, protocol, seen.destination, flags, now_ns) {
            self.end_if_idle(idx, now_ns);
            return Err(refusal);
        }
        let Some((_, mapping)) = self.mappings.get(idx) else { return Err(Refusal::NoMapping) };
        let external = mapping.external;
        let Some(target) = target else {
            return Ok(Rewrite { source: Some(external), destination: None, output: TO_OUTSIDE });
        };
        // RFC 4787 REQ-9: the subscriber who is called sees the external address of the one who calls.
        let destination = self.receive(target, protocol, external, flags, now_ns)?;
        Ok(Rewrite { source: Some(external), destination: Some(destination), output: TO_INSIDE })
    }

    /// The mapping that a packet from inside to an external address goes to.
    #[inline(always)]
    fn hairpin_target(&self, destination: Endpoint, protocol: Protocol) -> Result<Option<u32>, Refusal> {
        match self.pool.ranges.index(destination.address) {
            None => Ok(None),
            // An identifier tells nobody whom a request is for.
            Some(_) if protocol == Protocol::Icmp => Err(Refusal::NoMapping),
            Some(_) => self.pool.mapping(destination, protocol).map(Some).ok_or(Refusal::NoMapping),
        }
    }

    #[inline]
    fn inward(
        &mut self,
        seen: &Seen,
        protocol: Protocol,
        flags: u8,
        now_ns: u64,
    ) -> Result<Rewrite, Refusal> {
        let Some(idx) = self.pool.mapping(seen.destination, protocol) else {
            return Err(self.refusal_at(seen.destination));
        };
        let destination = self.receive(idx, protocol, seen.source, flags, now_ns)?;
        Ok(Rewrite { source: None, destination: Some(destination), output: TO_INSIDE })
    }

    #[inline(always)]
    fn key(&self, mapping: u32, protocol: Protocol, remote: Endpoint) -> SessionKey {
        let is_host = protocol != Protocol::Tcp && self.settings.filtering == Filtering::Address;
        SessionKey { mapping, remote: if is_host { Endpoint { port: 0, ..remote } } else { remote } }
    }

    /// Notes that a packet of a mapping is sent.
    #[inline]
    fn send(
        &mut self,
        idx: u32,
        protocol: Protocol,
        remote: Endpoint,
        flags: u8,
        now_ns: u64,
    ) -> Result<(), Refusal> {
        if !self.has_sessions(protocol) {
            // RFC 4787 REQ-6: what is sent renews the mapping; what is received does not, so that nobody outside can keep it.
            let until_s = seconds_up(now_ns.saturating_add(self.settings.timeouts.of(protocol)));
            if let Some((_, mapping)) = self.mappings.get_mut(idx) {
                mapping.until_s = until_s;
            }
            return Ok(());
        }
        let key = self.key(idx, protocol, remote);
        match self.sessions.find(&key) {
            Some(session) => self.step(session, protocol, Way::Out, flags, now_ns),
            None if protocol == Protocol::Tcp && !tcp::begins(flags) => {
                // What refuses a connection from outside, which has no session yet, needs none.
                return if flags & RST != 0 { Ok(()) } else { Err(Refusal::OutOfState) };
            }
            None => {
                let state = State::opened_by(flags);
                if state == State::Opening(Way::In) && !self.may_answer(idx) {
                    return Err(Refusal::SessionLimit);
                }
                self.begin_session(key, state, self.until_ns(protocol, now_ns))?;
            }
        }
        Ok(())
    }

    /// Notes that a packet to a mapping is received, if the filter lets it in; yields the inside endpoint.
    #[inline]
    fn receive(
        &mut self,
        idx: u32,
        protocol: Protocol,
        remote: Endpoint,
        flags: u8,
        now_ns: u64,
    ) -> Result<Endpoint, Refusal> {
        let Some((inside, _)) = self.mappings.get(idx) else { return Err(Refusal::NoMapping) };
        let endpoint = inside.endpoint();
        if !self.has_sessions(protocol) {
            return Ok(endpoint);
        }
        let key = self.key(idx, protocol, remote);
        match self.sessions.find(&key) {
            Some(session) => self.step(session, protocol, Way::In, flags, now_ns),
            None if protocol != Protocol::Tcp => return Err(Refusal::Filtered),
            None if !tcp::begins(flags) => return Err(Refusal::OutOfState),
            None if !self.lets_in(&key) => return Err(Refusal::Filtered),
            // The session begins when the subscriber answers: who only sends to it uses up nothing.
            None => {}
        }
        Ok(endpoint)
    }

    fn lets_in(&self, key: &SessionKey) -> bool {
        match self.settings.filtering {
            Filtering::EndpointIndependent => true,
            Filtering::Address => self.sessions.knows_host(key),
            Filtering::AddressPort => false,
        }
    }

    /// When a session that begins now ends.
    fn until_ns(&self, protocol: Protocol, now_ns: u64) -> u64 {
        let timeouts = &self.settings.timeouts;
        now_ns.saturating_add(match protocol {
            Protocol::Tcp => timeouts.transitory_ns,
            _ => timeouts.of(protocol),
        })
    }

    #[inline]
    fn step(&mut self, idx: u32, protocol: Protocol, way: Way, flags: u8, now_ns: u64) {
        let timeouts = self.settings.timeouts;
        let Some(session) = self.sessions.get_mut(idx) else { return };
        let was_opening = matches!(session.state, State::Opening(_));
        let before_ns = session.until_ns;
        let lease_ns = if protocol == Protocol::Tcp {
            let (state, lease) = session.state.next(way, flags);
            session.state = state;
            match lease {
                Lease::Keep => return,
                Lease::Transitory => timeouts.transitory_ns,
                Lease::Established => timeouts.established_ns,
            }
        } else if way == Way::Out {
            timeouts.of(protocol)
        } else {
            return;
        };
        let until_ns = now_ns.saturating_add(lease_ns);
        // What is received opens a session or brings its end nearer, but does not put that off: nobody outside can keep the
        // mapping (RFC 7857, section 7).
        let is_put_off = way == Way::Out || was_opening;
        self.sessions.renew(idx, if is_put_off { until_ns } else { until_ns.min(before_ns) });
    }

    /// Ends a mapping that lives as long as its sessions and has none.
    #[cold]
    fn end_if_idle(&mut self, idx: u32, now_ns: u64) {
        let Some((inside, mapping)) = self.mappings.get(idx) else { return };
        if mapping.first_session == super::NIL && self.has_sessions(inside.protocol) {
            self.end(idx, now_ns);
        }
    }

    /// An ICMP error from outside about a packet that went out. It renews nothing (RFC 5508 REQ-7).
    #[cold]
    fn error_inward(&self, seen: &Seen, network: &[u8]) -> Result<Rewrite, Refusal> {
        let about = look::look_at_error(network, seen.transport_at).ok_or(Refusal::NoMapping)?;
        let destination = self.sender(seen, &about).ok_or(self.refusal_at(seen.destination))?;
        Ok(Rewrite { source: None, destination: Some(destination), output: TO_INSIDE })
    }

    /// The inside endpoint that sent, as an external one, the packet that an error to it is about.
    fn sender(&self, seen: &Seen, about: &Seen) -> Option<Endpoint> {
        if about.kind == Kind::Reply || about.source.address != seen.destination.address {
            return None;
        }
        let idx = self.mapping_of(about.source, about.protocol())?;
        self.mappings.get(idx).map(|(inside, _)| inside.endpoint())
    }

    /// An ICMP error from inside about a packet that went in: a subscriber's, or a router's before it. Outside it comes from
    /// the external address of the subscriber (RFC 5508 REQ-5).
    #[cold]
    fn error_outward(&self, seen: &Seen, network: &[u8]) -> Result<Rewrite, Refusal> {
        let about = look::look_at_error(network, seen.transport_at).ok_or(Refusal::NoMapping)?;
        let protocol = about.protocol().filter(|_| about.kind != Kind::Request).ok_or(Refusal::NoMapping)?;
        let inside = Inside::new(about.destination, protocol);
        let idx = self.mappings.find(&inside).ok_or(Refusal::NoMapping)?;
        let source = self.mappings.get(idx).map(|(_, mapping)| mapping.external);
        if self.pool.ranges.index(seen.destination.address).is_none() {
            return Ok(Rewrite { source, destination: None, output: TO_OUTSIDE });
        }
        let destination = self.sender(seen, &about).ok_or(Refusal::NoMapping)?;
        Ok(Rewrite { source, destination: Some(destination), output: TO_INSIDE })
    }
}
