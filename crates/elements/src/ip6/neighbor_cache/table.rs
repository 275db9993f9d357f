//! The neighbors in words.

use std::fmt::Write;
use std::net::Ipv6Addr;

use args::EtherAddr;

use super::{Neighbor, NeighborCache, State};

impl NeighborCache {
    /// The neighbors by address: address, state, Ethernet address, whether it is a router, seconds since it showed last that it
    /// is there, packets that wait.
    pub fn table(&self, now: i64) -> String {
        let mut lines: Vec<(&Ipv6Addr, &Neighbor)> = self.neighbors.iter().collect();
        lines.sort_unstable_by_key(|(ip, _)| **ip);
        let mut text = String::new();
        for (ip, neighbor) in lines {
            let age_ms = now - neighbor.confirmed_at;
            let state = match neighbor.state {
                State::Incomplete => "incomplete",
                State::Reachable if age_ms <= self.limits.reachable_ms => "reachable",
                State::Reachable | State::Stale => "stale",
                State::Delay => "delay",
                State::Probe => "probe",
            };
            let mac = match neighbor.state {
                State::Incomplete => "-".to_string(),
                _ => EtherAddr(neighbor.mac).with_colons(),
            };
            let kind = if neighbor.is_router { "router" } else { "host" };
            let _ = writeln!(text, "{ip} {state} {mac} {kind} {} {}", age_ms / 1000, neighbor.waiting.len());
        }
        text
    }
}
