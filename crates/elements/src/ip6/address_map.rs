//! Which address stands for which: fixed pairs, and pairs made from a pool as hosts appear.

use std::collections::HashMap;
use std::net::Ipv6Addr;

/// Which way a packet goes through a translator.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Direction {
    /// From the inner hosts: their address is replaced by the mapped one.
    Outward,
    /// To the inner hosts: the mapped address is replaced by theirs.
    Inward,
}

/// An address, and what else of a packet a pair goes by.
type Key = (Ipv6Addr, Port);

/// The port of a packet that a pair goes by.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
enum Port {
    /// Any packet.
    Any,
    /// A packet that has no port.
    None,
    /// This one.
    Is(u16),
}

/// An inner or mapped address, with its port if ports are mapped too.
pub type Side = (Ipv6Addr, Option<u16>);

/// The pairs.
#[derive(Debug, Default)]
pub struct AddressMap {
    outward: HashMap<Key, Side>,
    inward: HashMap<Key, Side>,
    /// Addresses to be given to those who come from one side; those in use come first.
    pool: Vec<Ipv6Addr>,
    n_used: usize,
    pool_for: Option<Direction>,
}

impl AddressMap {
    /// Adds a fixed pair; of two for one address, the first counts.
    pub fn add(&mut self, inner: Side, mapped: Side) {
        for (map, from, to) in [(&mut self.outward, inner, mapped), (&mut self.inward, mapped, inner)] {
            match from.1 {
                Some(port) => {
                    map.entry((from.0, Port::Is(port))).or_insert(to);
                    map.entry((from.0, Port::None)).or_insert((to.0, None));
                }
                None => {
                    map.entry((from.0, Port::Any)).or_insert(to);
                }
            }
        }
    }

    /// Sets the pool that packets of one direction are given addresses from.
    pub fn set_pool(&mut self, pool_for: Direction, pool: Vec<Ipv6Addr>) {
        self.pool_for = Some(pool_for);
        self.pool = pool;
    }

    /// What replaces an address and port. A new host is given an address of the pool, if one is left and it may have one.
    pub fn translate(&mut self, direction: Direction, address: Ipv6Addr, port: Option<u16>) -> Option<Side> {
        let map = if direction == Direction::Outward { &self.outward } else { &self.inward };
        let own = (address, port.map_or(Port::None, Port::Is));
        if let Some(found) = map.get(&own).or_else(|| map.get(&(address, Port::Any))) {
            return Some(*found);
        }
        if self.pool_for != Some(direction) {
            return None;
        }
        let given = *self.pool.get(self.n_used)?;
        self.n_used += 1;
        let (inner, mapped) = match direction {
            Direction::Outward => (address, given),
            Direction::Inward => (given, address),
        };
        self.add((inner, None), (mapped, None));
        Some((given, None))
    }

    /// Gives those who have an address of another map's pool the same one of this map's.
    pub fn take_over(&mut self, old: &AddressMap) {
        let Some(pool_for) = self.pool_for.filter(|_| old.pool_for == self.pool_for) else { return };
        for given in old.pool.iter().take(old.n_used) {
            let holders = if pool_for == Direction::Outward { &old.inward } else { &old.outward };
            let Some((holder, _)) = holders.get(&(*given, Port::Any)) else { continue };
            let unused = self.pool.iter().skip(self.n_used).position(|address| address == given);
            let Some(at) = unused else { continue };
            self.pool.swap(self.n_used, self.n_used + at);
            self.n_used += 1;
            let (inner, mapped) = match pool_for {
                Direction::Outward => (*holder, *given),
                Direction::Inward => (*given, *holder),
            };
            self.add((inner, None), (mapped, None));
        }
    }
}

#[cfg(test)]
mod tests {
    use super::Direction::*;
    use super::*;

    fn ip(n: u16) -> Ipv6Addr {
        Ipv6Addr::new(n, 0, 0, 0, 0, 0, 0, 0)
    }

    #[test]
    fn pairs_hold_both_ways() {
        let mut map = AddressMap::default();
        map.add((ip(1), None), (ip(101), None));
        assert_eq!(map.translate(Outward, ip(1), Some(5)), Some((ip(101), None)));
        assert_eq!(map.translate(Inward, ip(101), None), Some((ip(1), None)));
        assert_eq!(map.translate(Inward, ip(1), None), None);
    }

    #[test]
    fn pairs_with_ports_hold_for_those_and_for_packets_without_ports() {
        let mut map = AddressMap::default();
        map.add((ip(1), Some(80)), (ip(101), Some(8080)));
        assert_eq!(map.translate(Outward, ip(1), Some(80)), Some((ip(101), Some(8080))));
        assert_eq!(map.translate(Outward, ip(1), Some(81)), None);
        assert_eq!(map.translate(Outward, ip(1), None), Some((ip(101), None)));
        assert_eq!(map.translate(Inward, ip(101), Some(8080)), Some((ip(1), Some(80))));
    }

    #[test]
    fn a_pool_gives_each_host_an_address() {
        let mut map = AddressMap::default();
        map.set_pool(Outward, vec![ip(101), ip(102)]);
        assert_eq!(map.translate(Inward, ip(101), None), None);
        assert_eq!(map.translate(Outward, ip(1), None), Some((ip(101), None)));
        assert_eq!(map.translate(Outward, ip(2), None), Some((ip(102), None)));
        assert_eq!(map.translate(Outward, ip(3), None), None);
        assert_eq!(map.translate(Outward, ip(1), Some(1)), Some((ip(101), None)));
        assert_eq!(map.translate(Inward, ip(102), Some(1)), Some((ip(2), None)));
    }
}
