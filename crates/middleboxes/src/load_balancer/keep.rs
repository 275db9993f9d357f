//! Connections and clients that outlive the process.
//!
//! The line of a connection is: `flow`, protocol, addresses and ports of the client, of the service and of the backend, what was seen of
//! TCP in both directions, and the milliseconds since the last packet. That of a client with AFFINITY is: `client`, its address,
//! protocol, address and port of the service, address and port of the backend, and the milliseconds for which it comes back.

use std::net::Ipv4Addr;

use element::{Saved, SavedLine, SAVED_AT_A_TIME};

use super::affinity::Client;
use super::backends::{Health, Place};
use super::entry::{Refusal, BEYOND_SYN, FIN, RST};
use super::seen::FlowKey;
use super::LoadBalancer;

impl LoadBalancer {
    /// Saves some connections, and clients when all of those are saved. Even numbers are those of connections, odd ones of clients.
    pub(super) fn save(&self, now_ns: u64, from: usize) -> Saved {
        let is_client = from % 2 == 1;
        let n = if is_client { self.affinity.n_numbers() } else { self.connections.n_numbers() };
        let first = u32::try_from(from / 2).unwrap_or(u32::MAX);
        let end = first.saturating_add(SAVED_AT_A_TIME as u32).min(n);
        let lines = (first..end).filter_map(|idx| match is_client {
            true => self.client(idx, now_ns),
            false => self.flow(idx, now_ns),
        });
        let next = match is_client {
            _ if end < n => Some(end as usize * 2 + usize::from(is_client)),
            false => Some(1),
            true => None,
        };
        Saved { lines: lines.collect(), next }
    }

    fn flow(&self, idx: u32, now_ns: u64) -> Option<String> {
        let (key, entry) = self.connections.client_entry(idx)?;
        let backend = self.pool.get(entry.backend)?;
        if self.connections.deadline_ns(idx, now_ns) <= now_ns {
            return None;
        }
        let back = self.connections.get(entry.peer).map_or(0, |peer| peer.state);
        let address = Ipv4Addr::from_bits;
        Some(format!(
            "flow {} {} {} {} {} {} {} {} {back} {}",
            key.protocol,
            address(key.src),
            key.sport,
            address(key.dst),
            key.dport,
            address(backend.address),
            backend.port,
            entry.state,
            self.connections.idle_ms(idx, now_ns),
        ))
    }

    fn client(&self, idx: u32, now_ns: u64) -> Option<String> {
        let (client, backend, end_ns) = self.affinity.numbered(idx)?;
        let backend = self.pool.get(backend)?;
        let place = self.pool.services.get(usize::from(client.service))?.place;
        let left_ms = end_ns.saturating_sub(now_ns) / 1_000_000;
        let address = Ipv4Addr::from_bits;
        (left_ms > 0).then(|| {
            format!(
                "client {} {} {} {} {} {} {left_ms}",
                address(client.address),
                place.protocol,
                address(place.address),
                place.port,
                address(backend.address),
                backend.port,
            )
        })
    }

    /// Takes a connection or a client that was saved.
    pub(super) fn restore(&mut self, line: &str, passed_ms: i64, now_ns: u64) -> Result<(), String> {
        let mut line = SavedLine::new(line);
        match line.field::<String>()?.as_str() {
            "flow" => self.restore_flow(&mut line, passed_ms, now_ns),
            "client" => self.restore_client(&mut line, passed_ms, now_ns),
            other => Err(format!("`{other}` in a saved line is neither a flow nor a client")),
        }
    }

    fn restore_flow(&mut self, line: &mut SavedLine<'_>, passed_ms: i64, now_ns: u64) -> Result<(), String> {
        let protocol = line.field()?;
        let [(src, sport), (dst, dport)] = [end(line)?, end(line)?];
        let number = self.saved_backend(Place { address: dst, port: dport, protocol }, line)?;
        let states = [line.field::<u8>()?, line.field()?].map(|state| state & (BEYOND_SYN | FIN | RST));
        let idle_ms = i64::from(line.field::<u32>()?).saturating_add(passed_ms.max(0));
        // Nothing lasts longer than what can be counted.
        let Ok(idle_ms) = u32::try_from(idle_ms) else { return Ok(()) };
        let key = FlowKey { src, dst, sport, dport, protocol };
        if self.connections.find(&key).is_some() {
            return Err("the flow has another connection already".to_string());
        }
        let idx = self.connect(&key, number, now_ns).map_err(|refusal| match refusal {
            Refusal::Full => "there are too many connections",
            Refusal::Ambiguous => "another flow's replies look the same",
        })?;
        if !self.connections.go_on(idx, states, idle_ms, now_ns) {
            self.connections.remove(idx);
        } else if let Some(backend) = self.pool.get_mut(number) {
            backend.n_active += 1;
        }
        Ok(())
    }

    fn restore_client(
        &mut self,
        line: &mut SavedLine<'_>,
        passed_ms: i64,
        now_ns: u64,
    ) -> Result<(), String> {
        let address: Ipv4Addr = line.field()?;
        let protocol = line.field()?;
        let (service_address, port) = end(line)?;
        let place = Place { address: service_address, port, protocol };
        let number = self.saved_backend(place, line)?;
        let left_ms = i64::from(line.field::<u32>()?).saturating_sub(passed_ms.max(0));
        let service = self.pool.service_at(&place).ok_or("the service is gone")?;
        let client = Client { address: address.to_bits(), service };
        if self.affinity.find(&client).is_some() {
            return Err("the client has another backend already".to_string());
        }
        self.affinity.go_on(client, number, u32::try_from(left_ms).unwrap_or(0), now_ns);
        Ok(())
    }

    /// Reads a backend of the service at a place: its number, if packets may go to it.
    fn saved_backend(&self, place: Place, line: &mut SavedLine<'_>) -> Result<u16, String> {
        let (address, port) = end(line)?;
        let service =
            self.pool.service_at(&place).ok_or_else(|| format!("there is no service {place} any more"))?;
        let number = self.pool.find(service, address, port).ok_or_else(|| {
            format!("{place} has no backend {}:{port} any more", Ipv4Addr::from_bits(address))
        })?;
        match self.pool.get(number).map(|backend| backend.health) {
            Some(Health::Up | Health::Drain) => Ok(number),
            _ => Err(format!(
                "nothing may go to the backend {}:{port} of {place}",
                Ipv4Addr::from_bits(address)
            )),
        }
    }
}

/// Reads an address and a port.
fn end(line: &mut SavedLine<'_>) -> Result<(u32, u16), String> {
    Ok((line.field::<Ipv4Addr>()?.to_bits(), line.field()?))
}
