//! The neighbors in words, for people and for another process.

use std::fmt::Write;
use std::net::Ipv6Addr;

use args::EtherAddr;
use element::{Saved, SavedLine};

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

    /// Saves some of those that have answered: address and Ethernet address.
    pub fn save_state(&self, from: usize) -> Saved {
        let known = self.answered.values().filter_map(|ip| Some((ip, self.neighbors.get(ip)?)));
        Saved::of(known, from, |(ip, neighbor)| format!("{ip} {}", EtherAddr(neighbor.mac)))
    }

    /// Takes one that was saved, if it may be here: it is asked whether it is still there as soon as somebody speaks to it.
    pub fn restore_state(
        &mut self,
        line: &str,
        now: i64,
        may_be: impl Fn(Ipv6Addr) -> bool,
    ) -> Result<(), String> {
        let mut line = SavedLine::new(line);
        let (ip, EtherAddr(mac)): (Ipv6Addr, EtherAddr) = (line.field()?, line.field()?);
        if !may_be(ip) {
            return Err(format!("{ip} is on no network of this one"));
        }
        if !self.neighbors.contains_key(&ip) {
            self.asked_by(ip, mac, now);
        }
        Ok(())
    }
}
