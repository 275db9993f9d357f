//! The balancer's handlers as text.

use std::net::Ipv4Addr;

use args::Scope;

use super::backends::{Backend, Health, Pool, Scheduler};
use super::connections::Connections;
use super::seen::{protocol_name, FlowKey};
use super::settings;

/// A line for each service: where it is, its backends that take flows, all of its backends, flows, packets and bytes in both
/// directions.
pub fn services(pool: &Pool) -> String {
    let mut text = String::new();
    for service in pool.services.iter().filter(|service| !pool.is_gone(service)) {
        let all = service.backends.iter().filter_map(|number| Some((*number, pool.get(*number)?)));
        let n_takers = all.clone().filter(|(number, _)| pool.takes_flows(*number)).count();
        let n_active: u32 = all.clone().map(|(_, backend)| backend.n_active).sum();
        let n_connections: u64 = all.clone().map(|(_, backend)| backend.n_connections).sum();
        let place = service.place;
        text += &format!(
            "{place} backends {n_takers} of {} active {n_active} connections {n_connections}\n",
            all.count()
        );
    }
    text
}

/// A line for each backend of each service.
pub fn backends(pool: &Pool) -> String {
    let lines = pool.iter().map(|(_, backend)| {
        let Backend { service, weight, health, n_active, n_connections, .. } = backend;
        let place = pool.services.get(usize::from(*service)).map_or(String::new(), |s| s.place.to_string());
        let [(n_packets, n_bytes), (n_replies, n_reply_bytes)] = backend.counts;
        format!(
            "{place} {backend} weight {weight} {health} active {n_active} connections {n_connections} \
             packets {n_packets} bytes {n_bytes} replies {n_replies} bytes {n_reply_bytes}\n"
        )
    });
    lines.collect()
}

/// A line for each backend that takes flows: its places in the service's table, or its weight where there is no table.
pub fn table(pool: &Pool) -> String {
    let lines = pool.iter().filter(|(number, _)| pool.takes_flows(*number)).map(|(number, backend)| {
        let Some(service) = pool.services.get(usize::from(backend.service)) else { return String::new() };
        if pool.scheduler == Scheduler::Maglev {
            let n_places = service.table.iter().filter(|place| **place == number).count();
            format!("{} {backend} {n_places} of {}\n", service.place, service.table.len())
        } else {
            format!("{} {backend} weight {}\n", service.place, backend.weight)
        }
    });
    lines.collect()
}

/// A line for each connection.
pub fn connections(connections: &Connections, pool: &Pool, now_ns: u64) -> String {
    let lines = connections.iter().map(|(idx, key, entry)| {
        let backend = pool.get(entry.backend).map_or("-".to_string(), |backend| backend.to_string());
        let back = connections.get(entry.peer).map_or((0, 0), |peer| (peer.n_packets, peer.n_bytes));
        let left_s = connections.deadline_ns(idx, now_ns).saturating_sub(now_ns) / 1_000_000_000;
        format!(
            "{key} {backend} {} packets {} bytes {} replies {} bytes {} expires {left_s}\n",
            connections.phase(idx).name(),
            entry.n_packets,
            entry.n_bytes,
            back.0,
            back.1
        )
    });
    lines.collect()
}

/// Reads `tcp|udp SOURCE PORT DESTINATION PORT`, a packet's.
pub fn flow(text: &str, scope: &Scope<'_>) -> Result<FlowKey, String> {
    let words = args::split_words(text);
    let parse = || {
        let [name, src, sport, dst, dport] = words.as_slice() else { return None };
        let protocol =
            [wire::protocol::TCP, wire::protocol::UDP].into_iter().find(|n| protocol_name(*n) == name)?;
        let address = |word: &str| args::ip(word, scope).ok().map(Ipv4Addr::to_bits);
        let port = |word: &str| args::port(word, scope, protocol).ok();
        let (sport, dport) = (port(sport)?, port(dport)?);
        Some(FlowKey { src: address(src)?, dst: address(dst)?, sport, dport, protocol })
    };
    parse().ok_or_else(|| "expected 'tcp|udp SOURCE PORT DESTINATION PORT'".to_string())
}

/// Reads `[SERVICE] BACKEND` and what follows it: numbers of the backends meant, and the words behind them. Without a
/// service all services are meant, without a port all ports.
pub fn named(text: &str, pool: &Pool, scope: &Scope<'_>) -> Result<(Vec<u16>, Vec<String>), String> {
    let mut words = args::split_words(text);
    let mut service = None;
    if words.first().is_some_and(|word| word.contains('/')) {
        let place = settings::place(&words.remove(0), scope)?;
        service = Some(pool.service_at(&place).ok_or_else(|| format!("no service {place}"))?);
    }
    if words.is_empty() {
        return Err("expected '[SERVICE] BACKEND'".to_string());
    }
    let word = words.remove(0);
    let mut found = Vec::new();
    for (number, known) in (0u16..).zip(&pool.services) {
        if service.is_none_or(|service| service == number) {
            let (address, port) = settings::address_and_port(&word, &known.place, scope)
                .ok_or_else(|| format!("'{word}' is no backend, expected 'ADDRESS[:PORT]'"))?;
            let any_port = !word.contains(':');
            let is_meant = |backend: &Backend| {
                backend.service == number && backend.address == address && (any_port || backend.port == port)
            };
            found.extend(pool.iter().filter(|(_, backend)| is_meant(backend)).map(|(number, _)| number));
        }
    }
    if found.is_empty() {
        return Err(format!("no backend {word}"));
    }
    Ok((found, words))
}

/// Reads what may go to a backend.
pub fn health(words: &[String]) -> Result<Health, String> {
    let health = if let [word] = words { settings::health(word) } else { None };
    health.ok_or_else(|| "expected '[SERVICE] BACKEND up|down|drain'".to_string())
}
