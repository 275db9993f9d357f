//! What is known of the Ethernet addresses of IPv4 hosts, and the packets that wait to know.

pub mod limits;
pub mod shared;

use std::collections::{BTreeMap, HashMap, VecDeque};
use std::fmt::Write;
use std::net::Ipv4Addr;

use args::{Args, EtherAddr, Timestamp};
use element::{Arg, Ctx, Packet, Saved, SavedLine};
use table::keyed::Keyed;

use limits::Limits;
use shared::now_ms;

const INSERT_ARGS: &[Arg] = &[
    Arg::required("IP", "IP address", "The host."),
    Arg::required("ETH", "Ethernet address", "Its Ethernet address."),
];
const DELETE_ARGS: &[Arg] = &[Arg::required("IP", "IP address", "The host.")];

/// Waits between queries for one host: the usual one, and the one after many without an answer, in milliseconds.
const QUERY_MS: i64 = 100;
const SLOW_QUERY_MS: i64 = 2000;
const MANY_QUERIES: u8 = 10;

#[derive(Debug)]
struct Entry {
    address: EtherAddr,
    is_known: bool,
    n_queries: u8,
    live_at: i64,
    queried_at: i64,
    packets: VecDeque<Packet>,
    /// Its key in the order of age.
    age: (i64, i64),
}

/// What became of a packet without a known address.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kept {
    /// It waits; a query is due.
    Query,
    /// It waits.
    Wait,
    /// It was dropped.
    Dropped,
}

/// The cache. Times are in milliseconds.
pub struct ArpCache {
    /// Its limits.
    pub limits: Limits,
    entries: HashMap<Ipv4Addr, Entry, Keyed>,
    /// Oldest first.
    by_age: BTreeMap<(i64, i64), Ipv4Addr>,
    /// Those of them for which packets wait, so that room is made without looking at the others.
    waiting: BTreeMap<(i64, i64), Ipv4Addr>,
    next_number: i64,
    /// Packets that wait.
    pub n_packets: u32,
    /// Packets dropped.
    pub n_drops: u32,
}

impl ArpCache {
    /// An empty cache.
    pub fn new(limits: Limits) -> ArpCache {
        let (entries, by_age, waiting) = (HashMap::default(), BTreeMap::new(), BTreeMap::new());
        ArpCache { limits, entries, by_age, waiting, next_number: 1, n_packets: 0, n_drops: 0 }
    }

    /// Number of entries.
    pub fn n_entries(&self) -> usize {
        self.entries.len()
    }

    /// The address of a host, if it is known, and whether it is time to ask again. The time is read if there is an entry.
    pub fn lookup(
        &mut self,
        ip: Ipv4Addr,
        poll_ms: i64,
        now: impl FnOnce() -> i64,
    ) -> Option<(EtherAddr, bool)> {
        let timeout = self.limits.timeout_ms;
        let entry = self.entries.get_mut(&ip)?;
        let now = now();
        if !entry.is_good(now, timeout) {
            return None;
        }
        let polls = poll_ms != 0 && now >= entry.live_at + poll_ms && entry.may_query(now);
        if polls {
            entry.note_query(now);
        }
        Some((entry.address, polls))
    }

    /// Whether there is an entry of a host.
    pub fn has(&self, ip: Ipv4Addr) -> bool {
        self.entries.contains_key(&ip)
    }

    /// Notes the address of a host, or with the broadcast address that it is unknown.
    pub fn insert(&mut self, ip: Ipv4Addr, address: EtherAddr, now: i64) {
        self.ensure(ip, now);
        self.touch(ip, now, Among::Last);
        if let Some(entry) = self.entries.get_mut(&ip) {
            entry.address = address;
            entry.is_known = !address.is_broadcast();
            entry.live_at = now;
            entry.n_queries = 0;
            entry.queried_at = now - 1000;
        }
    }

    /// Takes the packets that wait for a host.
    pub fn take_packets(&mut self, ip: Ipv4Addr) -> VecDeque<Packet> {
        let Some(entry) = self.entries.get_mut(&ip) else { return VecDeque::new() };
        let packets = std::mem::take(&mut entry.packets);
        self.waiting.remove(&entry.age);
        self.n_packets = self.n_packets.saturating_sub(packets.len() as u32);
        packets
    }

    /// Keeps a packet for a host whose address is not known.
    pub fn save(&mut self, ip: Ipv4Addr, packet: Packet, now: i64) -> Kept {
        self.ensure(ip, now);
        let Limits { timeout_ms, entry_packets, packets, .. } = self.limits;
        let too_old = now - timeout_ms;
        // What is still asked for does not expire.
        if timeout_ms != 0 && self.entries.get(&ip).is_some_and(|entry| entry.live_at < too_old) {
            self.touch(ip, too_old, Among::First);
        }
        let n_waiting = self.entries.get(&ip).map_or(0, |entry| entry.packets.len());
        if entry_packets != 0 && n_waiting >= entry_packets as usize {
            self.n_drops = self.n_drops.wrapping_add(1);
            return Kept::Dropped;
        }
        self.n_packets += 1;
        if packets != 0 && self.n_packets > packets {
            self.slim(now);
        }
        let Some(entry) = self.entries.get_mut(&ip) else {
            self.n_packets -= 1;
            self.n_drops = self.n_drops.wrapping_add(1);
            return Kept::Dropped;
        };
        if entry.packets.is_empty() {
            self.waiting.insert(entry.age, ip);
        }
        entry.packets.push_back(packet);
        if entry.may_query(now) {
            entry.note_query(now);
            return Kept::Query;
        }
        Kept::Wait
    }

    /// Drops expired entries, and what is too much.
    pub fn slim(&mut self, now: i64) {
        while let Some((age, ip)) = self.by_age.first_key_value().map(|(age, ip)| (*age, *ip)) {
            let is_expired =
                self.entries.get(&ip).is_none_or(|entry| entry.is_expired(now, self.limits.timeout_ms));
            let is_too_much = self.limits.entries != 0 && self.entries.len() as u32 > self.limits.entries;
            if !is_expired && !is_too_much {
                break;
            }
            self.by_age.remove(&age);
            self.waiting.remove(&age);
            let n = self.entries.remove(&ip).map_or(0, |entry| entry.packets.len()) as u32;
            self.n_packets = self.n_packets.saturating_sub(n);
            self.n_drops = self.n_drops.wrapping_add(n);
        }
        let capacity = self.limits.packets;
        if capacity != 0 && self.n_packets > capacity {
            let kept = (capacity - capacity / self.limits.slim_factor.max(1)).max(1);
            while let Some(oldest) = self.waiting.first_entry().filter(|_| self.n_packets > kept) {
                let packets = self.entries.get_mut(oldest.get()).map(|entry| &mut entry.packets);
                let mut none = VecDeque::new();
                let packets = packets.unwrap_or(&mut none);
                while self.n_packets > kept && packets.pop_front().is_some() {
                    self.n_packets -= 1;
                    self.n_drops = self.n_drops.wrapping_add(1);
                }
                if packets.is_empty() {
                    *packets = VecDeque::new();
                    oldest.remove();
                }
            }
        }
    }

    /// Drops everything.
    pub fn clear(&mut self) {
        let n: usize = self.entries.values().map(|entry| entry.packets.len()).sum();
        self.n_drops = self.n_drops.wrapping_add(n as u32);
        self.n_packets = 0;
        self.entries.clear();
        self.by_age.clear();
        self.waiting.clear();
    }

    /// The entries, oldest first: host, whether its address is good, the address, seconds since it was noted.
    pub fn table(&self, now: i64) -> String {
        let mut text = String::new();
        for ip in self.by_age.values() {
            if let Some(entry) = self.entries.get(ip) {
                let is_good = u8::from(entry.is_good(now, self.limits.timeout_ms));
                let age = Timestamp::from_millis(now - entry.live_at);
                let _ = writeln!(text, "{ip} {is_good} {} {age}", entry.address);
            }
        }
        text
    }

    /// Saves some of what is known and good: host, address, and its age in milliseconds.
    pub fn save_state(&self, now: i64, from: usize) -> Saved {
        let known = self.by_age.values().filter_map(|ip| Some((ip, self.entries.get(ip)?)));
        let good = known.filter(|(_, entry)| entry.is_good(now, self.limits.timeout_ms));
        Saved::of(good, from, |(ip, entry)| format!("{ip} {} {}", entry.address, now - entry.live_at))
    }

    /// Takes an entry that was saved, unless the host is known already or its time is over.
    pub fn restore_state(&mut self, line: &str, now: i64, passed_ms: i64) -> Result<(), String> {
        let mut line = SavedLine::new(line);
        let (ip, address, age): (Ipv4Addr, EtherAddr, i64) = (line.field()?, line.field()?, line.field()?);
        if address.is_broadcast() {
            return Err(format!("{address} is no host's address"));
        }
        let live_at = now.saturating_sub(age.max(0).saturating_add(passed_ms));
        let timeout = self.limits.timeout_ms;
        let is_over = timeout != 0 && live_at < now.saturating_sub(timeout);
        if !is_over && !self.entries.contains_key(&ip) {
            self.insert(ip, address, live_at);
        }
        Ok(())
    }

    /// Writes handler `insert`, `delete` or `clear`.
    pub fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let (facts, is_insert) = match name {
            "insert" => (INSERT_ARGS, true),
            "delete" => (DELETE_ARGS, false),
            "clear" => {
                self.clear();
                return Ok(());
            }
            _ => return Err(format!("no {name} write handler")),
        };
        let scope = ctx.scope();
        let mut args = Args::from_words(value, facts, &scope);
        let ip = args.need("IP");
        let address = if is_insert { args.need("ETH") } else { EtherAddr::BROADCAST };
        args.finish().map_err(|errors| errors.join("\n"))?;
        self.insert(ip, address, now_ms(ctx));
        Ok(())
    }

    fn ensure(&mut self, ip: Ipv4Addr, now: i64) {
        if self.entries.contains_key(&ip) {
            return;
        }
        let age = (now, self.next_number);
        self.next_number += 1;
        let (address, packets) = (EtherAddr::BROADCAST, VecDeque::new());
        let entry = Entry {
            address,
            is_known: false,
            n_queries: 0,
            live_at: now,
            queried_at: now - 1000,
            packets,
            age,
        };
        self.entries.insert(ip, entry);
        if self.limits.entries != 0 && self.entries.len() as u32 > self.limits.entries {
            self.slim(now);
        }
        self.by_age.insert(age, ip);
    }

    /// Gives an entry another time, and its place among those of that time.
    fn touch(&mut self, ip: Ipv4Addr, live_at: i64, among: Among) {
        if let Some(entry) = self.entries.get_mut(&ip) {
            self.by_age.remove(&entry.age);
            let number = if among == Among::Last { self.next_number } else { -self.next_number };
            self.next_number += 1;
            entry.live_at = live_at;
            let is_waiting = self.waiting.remove(&entry.age).is_some();
            entry.age = (live_at, number);
            if is_waiting {
                self.waiting.insert(entry.age, ip);
            }
            self.by_age.insert(entry.age, ip);
        }
    }
}

/// A place among the entries of one time.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Among {
    First,
    Last,
}

impl Entry {
    fn is_expired(&self, now: i64, timeout_ms: i64) -> bool {
        timeout_ms != 0 && self.live_at + timeout_ms < now
    }

    fn is_good(&self, now: i64, timeout_ms: i64) -> bool {
        self.is_known && !self.is_expired(now, timeout_ms)
    }

    fn may_query(&self, now: i64) -> bool {
        now >= self.queried_at + if self.n_queries >= MANY_QUERIES { SLOW_QUERY_MS } else { QUERY_MS }
    }

    fn note_query(&mut self, now: i64) {
        self.queried_at = now;
        self.n_queries = self.n_queries.saturating_add(1);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;
    use proptest::prelude::*;

    #[test]
    fn what_is_still_asked_for_comes_before_others_of_its_time() {
        let limits = Limits { packets: 0, entries: 0, entry_packets: 0, slim_factor: 2, timeout_ms: 100 };
        let mut cache = ArpCache::new(limits);
        let host = |n: u8| Ipv4Addr::new(1, 0, 0, n);
        for n in 1..=3 {
            cache.insert(host(n), EtherAddr([n; 6]), 0);
        }
        for n in 1..=3 {
            cache.save(host(n), Packet::from_bytes(b"x"), 120);
        }
        cache.insert(host(1), EtherAddr([9; 6]), 150);
        expect![[r#"
            1.0.0.3 0 03-03-03-03-03-03 0.150000
            1.0.0.2 0 02-02-02-02-02-02 0.150000
            1.0.0.1 1 09-09-09-09-09-09 0.020000
        "#]]
        .assert_eq(&cache.table(170));
    }

    #[test]
    fn a_scan_costs_the_same_for_each_host() {
        // Looking at the hosts for which nothing waits any more, room for a packet would take minutes.
        let limits = Limits { packets: 4, entries: 0, entry_packets: 0, slim_factor: 2, timeout_ms: 0 };
        let mut cache = ArpCache::new(limits);
        for n in 0..300_000 {
            assert_eq!(
                cache.save(Ipv4Addr::from_bits(n), Packet::from_bytes(b"x"), i64::from(n)),
                Kept::Query
            );
        }
        let waiting: Vec<u32> = cache.waiting.values().map(|ip| ip.to_bits()).collect();
        assert_eq!(waiting, [299_997, 299_998, 299_999]);
        assert_eq!((cache.n_packets, cache.n_drops, cache.n_entries()), (3, 299_997, 300_000));
    }

    proptest! {
        #[test]
        fn packets_are_dropped_from_the_oldest_entries(
            steps in prop::collection::vec((0u8..8, 0u8..12, 0i64..60), 0..200)
        ) {
            let limits = Limits { packets: 7, entries: 9, entry_packets: 3, slim_factor: 2, timeout_ms: 100 };
            let mut cache = ArpCache::new(limits);
            let mut now = 0;
            for (step, n, passed) in steps {
                let ip = Ipv4Addr::new(1, 0, 0, n);
                now += passed;
                match step {
                    0 => cache.insert(ip, EtherAddr([2; 6]), now),
                    1 => drop(cache.take_packets(ip)),
                    2 => cache.slim(now),
                    _ => drop(cache.save(ip, Packet::from_bytes(b"x"), now)),
                }
                let entries = cache.by_age.iter().filter(|(_, ip)| !cache.entries[ip].packets.is_empty());
                prop_assert!(entries.eq(cache.waiting.iter()));
                let n_packets: usize = cache.entries.values().map(|entry| entry.packets.len()).sum();
                prop_assert_eq!(n_packets, cache.n_packets as usize);
                prop_assert!(n_packets <= 7 && cache.n_entries() <= 9);
            }
        }
    }
}
