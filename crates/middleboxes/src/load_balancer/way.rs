//! A packet's way through the balancer.

use element::{Packet, Verdict};
use wire::{protocol, tcp_flag};

use super::affinity::Client;
use super::backends::{Health, Place};
use super::entry::{Entry, Refusal, NO_ENTRY};
use super::fragments::{Owner, Whole};
use super::rewrite::{self, Change};
use super::seen::{FlowKey, Kind, Seen};
use super::settings::Mode;
use super::{
    LoadBalancer, AMBIGUOUS, NO_BACKEND, NO_CONNECTION, NO_HEADER, NO_SERVICE, STRAY_FRAGMENT, TABLE_FULL,
    TOO_LONG,
};

/// The input of backends.
const FROM_BACKENDS: usize = 1;
/// The output to clients.
const TO_CLIENTS: usize = 1;
/// The output of what belongs to no service.
const OTHERS: usize = 2;

impl LoadBalancer {
    /// What becomes of a packet.
    #[inline(always)]
    pub(super) fn balance(&mut self, packet: &mut Packet, seen: &Seen, port: usize, now_ns: u64) -> Verdict {
        match seen.kind {
            Kind::Flow => self.balance_flow(packet, seen, port, now_ns),
            Kind::Rest => self.balance_rest(packet, seen, now_ns),
            Kind::Error => self.balance_error(packet, seen),
            Kind::Other => others(),
            Kind::NoHeader => Verdict::drop(NO_HEADER),
        }
    }

    #[inline(always)]
    fn balance_flow(&mut self, packet: &mut Packet, seen: &Seen, port: usize, now_ns: u64) -> Verdict {
        let found = self.connections.find_near(seen.near, seen.hash, &seen.key);
        let owner = match found.filter(|idx| self.stays(*idx, seen)) {
            Some(idx) => self.connections.note(idx, seen, now_ns).map(owner).ok_or(others()),
            None => self.begin(seen, port, now_ns),
        };
        let owner = match owner {
            Ok(owner) => owner,
            Err(verdict) => return verdict,
        };
        if seen.has_more {
            self.fragments.note(Whole::of(seen), owner, now_ns);
        }
        self.count(owner.backend, seen, &owner.change);
        match self.mode {
            Mode::Nat => {
                rewrite::flow(packet, usize::from(seen.transport_at), &owner.change);
                leave(packet, seen, &owner.change)
            }
            _ => self.forward(packet, &owner.change),
        }
    }

    /// Whether a flow keeps its connection: not if the backend is down, or if a SYN begins it anew.
    #[inline(always)]
    fn stays(&mut self, idx: u32, seen: &Seen) -> bool {
        let Some(entry) = self.connections.get(idx) else { return false };
        let (backend, is_reply) = (entry.backend, entry.change.is_source);
        let is_syn = seen.key.protocol == protocol::TCP && is_first(seen.tcp_flags) && !is_reply;
        let is_down = self.pool.get(backend).is_none_or(|backend| backend.health == Health::Down);
        let stays = !(is_down || is_syn && self.connections.is_over(idx));
        if !stays {
            self.end(idx);
        }
        stays
    }

    /// Ends a connection.
    #[cold]
    pub(super) fn end(&mut self, idx: u32) {
        if let Some(backend) = self.connections.remove(idx) {
            self.pool.release(backend);
        }
    }

    /// Finds a backend for a new flow.
    #[inline(never)]
    fn begin(&mut self, seen: &Seen, port: usize, now_ns: u64) -> Result<Owner, Verdict> {
        let key = seen.key;
        let place = Place { address: key.dst, port: key.dport, protocol: key.protocol };
        let service = self.pool.service_at(&place).filter(|_| port != FROM_BACKENDS);
        let Some(service) = service else { return Err(others()) };
        if key.protocol == protocol::TCP && seen.tcp_flags & tcp_flag::RST != 0 {
            return Err(Verdict::drop(NO_CONNECTION));
        }
        let client = Client { address: key.src, service };
        let known = self.affinity.find(&client).filter(|number| self.may_have(*number, service));
        let backend = known.or_else(|| self.pool.choose(service, &key)).ok_or(Verdict::drop(NO_BACKEND))?;
        let (idx, backend) = match self.connect(&key, backend, now_ns) {
            Ok(idx) => (idx, backend),
            Err(Refusal::Full) if self.mode == Mode::Nat => return Err(Verdict::drop(TABLE_FULL)),
            Err(Refusal::Full) => {
                self.n_untracked += 1;
                (NO_ENTRY, backend)
            }
            Err(Refusal::Ambiguous) => self.connect_elsewhere(&key, service, now_ns)?,
        };
        if idx != NO_ENTRY {
            self.affinity.note(client, backend, now_ns);
            if let Some(backend) = self.pool.get_mut(backend) {
                backend.n_active += 1;
                backend.n_connections += 1;
            }
            self.connections.note(idx, seen, now_ns);
        }
        let change = self.change_to(&key, backend).ok_or(Verdict::drop(NO_BACKEND))?;
        Ok(Owner { backend, change })
    }

    fn may_have(&self, number: u16, service: u16) -> bool {
        self.pool.takes_flows(number)
            && self.pool.get(number).is_some_and(|backend| backend.service == service)
    }

    /// What becomes of a client's packets that go to a backend.
    fn change_to(&self, key: &FlowKey, number: u16) -> Option<Change> {
        let backend = self.pool.get(number)?;
        Some(Change::new(false, (key.dst, key.dport), (backend.address, backend.port)))
    }

    pub(super) fn connect(&mut self, key: &FlowKey, number: u16, now_ns: u64) -> Result<u32, Refusal> {
        let change = self.change_to(key, number).ok_or(Refusal::Ambiguous)?;
        let reply = (self.mode == Mode::Nat).then(|| {
            let reply = FlowKey { dst: change.address, dport: change.port, ..*key }.reverse();
            (reply, Change::new(true, (change.address, change.port), (key.dst, key.dport)))
        });
        self.connections.insert(*key, change, reply, number, now_ns)
    }

    /// Two services may share a backend, and a client its port between them: any other backend will do.
    #[cold]
    fn connect_elsewhere(&mut self, key: &FlowKey, service: u16, now_ns: u64) -> Result<(u32, u16), Verdict> {
        let n_backends =
            self.pool.services.get(usize::from(service)).map_or(0, |service| service.backends.len());
        for i in 0..n_backends {
            let service = self.pool.services.get(usize::from(service));
            let Some(number) = service.and_then(|service| service.backends.get(i)).copied() else { continue };
            if self.pool.takes_flows(number) {
                if let Ok(idx) = self.connect(key, number, now_ns) {
                    return Ok((idx, number));
                }
            }
        }
        Err(Verdict::drop(AMBIGUOUS))
    }

    #[inline(always)]
    fn count(&mut self, backend: u16, seen: &Seen, change: &Change) {
        if let Some(backend) = self.pool.get_mut(backend) {
            let (n_packets, n_bytes) = &mut backend.counts[usize::from(change.is_source)];
            *n_packets += 1;
            *n_bytes += u64::from(seen.len);
        }
    }

    /// Sends a packet to a backend without NAT.
    fn forward(&mut self, packet: &mut Packet, change: &Change) -> Verdict {
        match self.mode {
            Mode::Tunnel(local) => {
                let id = self.next_id;
                self.next_id = id.wrapping_add(1);
                if rewrite::wrap(packet, local, change.address, id) {
                    Verdict::PASS
                } else {
                    Verdict::drop(TOO_LONG)
                }
            }
            _ => {
                packet.set_dst_ip(change.address.into());
                Verdict::PASS
            }
        }
    }

    #[cold]
    fn balance_rest(&mut self, packet: &mut Packet, seen: &Seen, now_ns: u64) -> Verdict {
        if !matches!(seen.key.protocol, protocol::TCP | protocol::UDP) {
            return others();
        }
        let Some(owner) = self.fragments.find(&Whole::of(seen), now_ns) else {
            let is_ours = self.pool.has_address(seen.key.dst) || self.pool.has_address(seen.key.src);
            return if is_ours { Verdict::drop(STRAY_FRAGMENT) } else { others() };
        };
        self.count(owner.backend, seen, &owner.change);
        match self.mode {
            Mode::Nat => {
                rewrite::rest(packet, &owner.change);
                leave(packet, seen, &owner.change)
            }
            _ => self.forward(packet, &owner.change),
        }
    }

    #[cold]
    fn balance_error(&mut self, packet: &mut Packet, seen: &Seen) -> Verdict {
        let found = self.connections.find(&seen.key).and_then(|idx| self.connections.get(idx)).copied();
        let Some(Entry { change, backend, .. }) = found else { return others() };
        self.count(backend, seen, &change);
        if self.mode != Mode::Nat {
            return self.forward(packet, &change);
        }
        let old = if change.is_source { seen.key.src } else { seen.key.dst };
        rewrite::error(packet, usize::from(seen.transport_at), old, &change);
        if change.is_source {
            return Verdict::port_or_drop(TO_CLIENTS, NO_SERVICE);
        }
        packet.set_dst_ip(change.address.into());
        Verdict::PASS
    }

    /// The backend that a flow has, or would have if it began now.
    pub(super) fn look_up(&self, key: &FlowKey) -> Result<String, String> {
        let entry = self.connections.find(key).and_then(|idx| self.connections.get(idx));
        if let Some(backend) = entry.and_then(|entry| self.pool.get(entry.backend)) {
            return Ok(backend.to_string());
        }
        let place = Place { address: key.dst, port: key.dport, protocol: key.protocol };
        let service = self.pool.service_at(&place).ok_or_else(|| format!("no service {place}"))?;
        let known = self.affinity.find(&Client { address: key.src, service });
        let known = known.filter(|number| self.may_have(*number, service));
        let number = known.or_else(|| self.pool.by_hash(service, key));
        Ok(number
            .and_then(|number| self.pool.get(number))
            .map_or("-".to_string(), |backend| format!("{backend} new")))
    }
}

#[inline(always)]
fn owner(entry: &Entry) -> Owner {
    Owner { backend: entry.backend, change: entry.change }
}

/// Sends a rewritten packet to where its addresses now say.
#[inline(always)]
fn leave(packet: &mut Packet, seen: &Seen, change: &Change) -> Verdict {
    if change.is_source {
        packet.set_dst_ip(seen.key.dst.into());
        Verdict::port_or_drop(TO_CLIENTS, NO_SERVICE)
    } else {
        packet.set_dst_ip(change.address.into());
        Verdict::PASS
    }
}

/// Whether these are the flags of a connection's first packet.
#[inline(always)]
fn is_first(tcp_flags: u8) -> bool {
    tcp_flags & (tcp_flag::SYN | tcp_flag::ACK) == tcp_flag::SYN
}

fn others() -> Verdict {
    Verdict::port_or_drop(OTHERS, NO_SERVICE)
}
