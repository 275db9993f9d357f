//! A table of routes: changes, lookup, and rows in the order that a class shows them.
//!
//! Lookup is longest-prefix match in a multibit trie, at one cost however many routes there are. Masks that are not those of
//! prefixes are allowed; a table that has such a route is searched route by route.

use std::collections::{BTreeMap, HashMap};
use std::net::Ipv4Addr;

use args::Prefix;
use table::lpm;

use super::next_hops::{NextHop, NextHops, DEFAULT};
use super::order::{narrow_first, Order};
use super::route::Route;

/// Why a route could not be added.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Refused {
    /// There is this one for the same prefix.
    Exists(Route),
    /// There are too many next hops.
    Full,
}

/// Routes, no two for one prefix.
pub struct RouteTable {
    trie: lpm::Lpm4,
    hops: NextHops,
    /// By place in the order of rows.
    rows: BTreeMap<u64, Row>,
    keys: HashMap<Prefix, u64>,
    order: Order,
    /// Routes whose mask is not that of a prefix: they are not in the trie.
    n_odd: usize,
}

#[derive(Clone, Copy)]
struct Row {
    prefix: Prefix,
    hop: u32,
}

impl RouteTable {
    /// An empty table.
    pub fn new(order: Order) -> RouteTable {
        RouteTable {
            trie: lpm::Lpm4::new(),
            hops: no_hops(&order),
            rows: BTreeMap::new(),
            keys: HashMap::new(),
            order,
            n_odd: 0,
        }
    }

    /// Where packets to an address go.
    #[inline(always)]
    pub fn lookup(&self, address: u32) -> Option<NextHop> {
        if self.n_odd > 0 {
            return self.search(address);
        }
        self.hop(self.trie.lookup(address)?)
    }

    /// The next hop with this number, unless it is that of a default route which is not there.
    #[inline(always)]
    fn hop(&self, number: u32) -> Option<NextHop> {
        self.hops.get(number).filter(|hop| hop.output != NextHop::NO_OUTPUT)
    }

    /// The gateway that lookups without result show: in hashed tables that of a removed default route.
    pub fn left_gateway(&self) -> Ipv4Addr {
        match self.order {
            Order::Hashed { .. } => Ipv4Addr::from_bits(self.hops.get(DEFAULT).map_or(0, |hop| hop.gateway)),
            _ => Ipv4Addr::UNSPECIFIED,
        }
    }

    /// Adds a route, unless there is one for its prefix. The output is not negative.
    pub fn add(&mut self, route: Route) -> Result<(), Refused> {
        match self.get(route.prefix) {
            Some(existing) => Err(Refused::Exists(existing)),
            None => self.set(route).map(|_| ()),
        }
    }

    /// Adds a route, or replaces the one for its prefix, which is returned.
    pub fn set(&mut self, route: Route) -> Result<Option<Route>, Refused> {
        let old_key = self.keys.get(&route.prefix).copied();
        let old = old_key.and_then(|key| self.rows.get(&key).copied());
        let old_route = old.map(|row| self.route(row));
        // First, so that a next hop that no other route has is found anew.
        old.iter().for_each(|row| self.hops.give(row.hop));
        let hop = self.take_hop(&route);
        if let Some(prefix) = trie_prefix(route.prefix) {
            if self.trie.insert(prefix, hop).is_err() {
                self.hops.give(hop);
                if let Some(old) = old_route {
                    self.take_hop(&old);
                }
                return Err(Refused::Full);
            }
        }
        let key = match old_key {
            Some(key) if !self.order.moves_replaced() => key,
            _ => self.order.take(route.prefix),
        };
        if let Some(freed) = old_key.filter(|old_key| *old_key != key) {
            self.rows.remove(&freed);
            self.order.give(freed);
        }
        if old.is_none() {
            self.n_odd += usize::from(trie_prefix(route.prefix).is_none());
        }
        self.rows.insert(key, Row { prefix: route.prefix, hop });
        self.keys.insert(route.prefix, key);
        self.sort();
        Ok(old_route)
    }

    /// The number of a route's next hop, which has one more user from now on.
    fn take_hop(&mut self, route: &Route) -> u32 {
        let output = u32::try_from(route.output).unwrap_or(NextHop::NO_OUTPUT);
        let hop = NextHop { gateway: route.gateway.to_bits(), output };
        match self.order {
            Order::Hashed { .. } if route.prefix.is_empty() => self.hops.set_default(hop),
            _ => self.hops.take(hop),
        }
    }

    /// The route of a row; its output is -1 if it shares the next hop of a default route that is not there.
    fn route(&self, row: Row) -> Route {
        let hop = self.hops.get(row.hop).unwrap_or(NextHop::NONE);
        Route {
            prefix: row.prefix,
            gateway: Ipv4Addr::from_bits(hop.gateway),
            output: i32::try_from(hop.output).unwrap_or(-1),
        }
    }

    /// Removes the route for the prefix of `route`, if gateway and output are its own too, or the output of `route` is
    /// negative.
    pub fn remove(&mut self, route: &Route) -> Option<Route> {
        let key = self.keys.get(&route.prefix).copied()?;
        let row = *self.rows.get(&key)?;
        let found = self.route(row);
        if route.output >= 0 && found != *route {
            return None;
        }
        match trie_prefix(route.prefix) {
            Some(prefix) => self.trie.remove(prefix).is_some(),
            None => {
                self.n_odd = self.n_odd.saturating_sub(1);
                true
            }
        };
        self.hops.give(row.hop);
        self.rows.remove(&key);
        self.keys.remove(&route.prefix);
        self.order.give(key);
        self.settle(&found, key);
        Some(found)
    }

    /// Whether `route` is what Click leaves in the place of a removed route, if places are filled in order: address 0 with any output.
    pub fn has_left_place(&self, route: &Route) -> bool {
        let is_left = route.prefix == Prefix::new(Ipv4Addr::UNSPECIFIED, 32) && route.output < 0;
        is_left && matches!(&self.order, Order::FirstFree { free, .. } if !free.is_empty())
    }

    /// What else removing a route at `key` changes.
    fn settle(&mut self, removed: &Route, key: u64) {
        match self.order {
            Order::Hashed { .. } if removed.prefix.is_empty() => {
                let gateway = removed.gateway.to_bits();
                self.hops.set_default(NextHop { gateway, ..NextHop::NONE });
            }
            // The route of address 0 moves up: where places are filled in order it must precede all free ones.
            Order::FirstFree { .. } => {
                let zero = Prefix::new(Ipv4Addr::UNSPECIFIED, 32);
                let Some(old_key) = self.keys.get(&zero).copied().filter(|old_key| *old_key > key) else {
                    return;
                };
                let Some(row) = self.rows.remove(&old_key) else { return };
                self.order.give(old_key);
                let new_key = self.order.take(zero);
                self.rows.insert(new_key, row);
                self.keys.insert(zero, new_key);
            }
            Order::Sorted { .. } => self.sort(),
            _ => {}
        }
    }

    /// Sorts the rows, if they are to be sorted.
    fn sort(&mut self) {
        if !matches!(self.order, Order::Sorted { .. }) {
            return;
        }
        let rows: Vec<Row> = std::mem::take(&mut self.rows).into_values().collect();
        let prefixes: Vec<Prefix> = rows.iter().map(|row| row.prefix).collect();
        self.order.clear();
        for row in narrow_first(&prefixes).into_iter().filter_map(|place| rows.get(place)) {
            let key = self.order.take(row.prefix);
            self.rows.insert(key, *row);
            self.keys.insert(row.prefix, key);
        }
    }

    /// Removes all routes.
    pub fn clear(&mut self) {
        self.trie.clear();
        self.hops = no_hops(&self.order);
        self.rows.clear();
        self.keys.clear();
        self.order.clear();
        self.n_odd = 0;
    }

    /// The route for this very prefix.
    fn get(&self, prefix: Prefix) -> Option<Route> {
        self.rows.get(self.keys.get(&prefix)?).map(|row| self.route(*row))
    }

    /// The rows, as text.
    pub fn text(&self) -> String {
        let mut text = String::new();
        for row in self.rows.values().map(|row| self.route(*row)).filter(|row| row.output >= 0) {
            row.write_row(&mut text);
        }
        text
    }

    /// Looks up route by route: of those that match, each that is as specific as the one before takes its place.
    ///
    /// Of sorted rows the first that matches counts.
    fn search(&self, address: u32) -> Option<NextHop> {
        if matches!(self.order, Order::Sorted { .. }) {
            let found = self.rows.values().find(|row| row.prefix.contains(Ipv4Addr::from(address)));
            return self.hop(found?.hop);
        }
        let mut found: Option<&Row> = None;
        for row in self.rows.values() {
            let mask = row.prefix.mask.to_bits();
            let found_mask = found.map_or(0, |row| row.prefix.mask.to_bits());
            if mask & found_mask == found_mask && row.prefix.contains(Ipv4Addr::from(address)) {
                found = Some(row);
            }
        }
        self.hop(found?.hop)
    }
}

fn no_hops(order: &Order) -> NextHops {
    match order {
        Order::Hashed { .. } => NextHops::with_shared_default(),
        _ => NextHops::default(),
    }
}

fn trie_prefix(prefix: Prefix) -> Option<lpm::Prefix<u32>> {
    lpm::Prefix::new(prefix.addr.to_bits(), u8::try_from(prefix.len()?).ok()?)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn route() -> impl Strategy<Value = Route> {
        let addr = prop::collection::vec(prop::sample::select(vec![0u8, 1, 10, 128, 255]), 4);
        (addr, 0u32..=32, 0i32..4).prop_map(|(addr, len, output)| {
            let prefix = Prefix::new(Ipv4Addr::new(addr[0], addr[1], addr[2], addr[3]), len);
            let prefix = Prefix { addr: prefix.network(), mask: prefix.mask };
            Route { prefix, gateway: Ipv4Addr::from_bits(output as u32 / 2), output }
        })
    }

    proptest! {
        #[test]
        fn lookup_finds_what_a_search_route_by_route_finds(
            changes in prop::collection::vec((route(), 0..3), 1..40),
            addresses in prop::collection::vec(route(), 40),
        ) {
            for order in [Order::first_free(), Order::last_freed(), Order::hashed()] {
                let mut table = RouteTable::new(order);
                let mut model = std::collections::HashMap::new();
                // A hashed table's default route takes others with it.
                let is_hashed = matches!(table.order, Order::Hashed { .. });
                let changes = changes.iter().filter(|(route, _)| !is_hashed || !route.prefix.is_empty());
                for (route, kind) in changes {
                    match kind {
                        0 => drop(model.remove(&route.prefix).filter(|_| table.remove(&Route { output: -1, ..*route }).is_some())),
                        1 if table.add(*route).is_err() => prop_assert!(model.contains_key(&route.prefix)),
                        1 => drop(model.insert(route.prefix, *route)),
                        _ => prop_assert_eq!(table.set(*route), Ok(model.insert(route.prefix, *route))),
                    }
                }
                prop_assert_eq!(table.rows.len(), model.len());
                prop_assert_eq!(table.text().lines().count(), model.len());
                for address in &addresses {
                    let address = address.prefix.addr.to_bits();
                    let best = model.values().filter(|route| route.prefix.contains(Ipv4Addr::from_bits(address)))
                        .max_by_key(|route| route.prefix.mask)
                        .map(|route| NextHop { gateway: route.gateway.to_bits(), output: route.output as u32 });
                    prop_assert_eq!(table.lookup(address), best);
                    prop_assert_eq!(table.search(address), best);
                }
            }
        }
    }

    #[test]
    fn masks_need_not_be_those_of_prefixes() {
        let scope = args::Scope::builtin();
        let mut table = RouteTable::new(Order::first_free());
        for text in ["10.0.0.1/255.0.0.255 1", "10.0.0.0/8 2", "10.1.0.1/255.255.0.255 3"] {
            table.add(Route::parse(text, &scope).unwrap()).unwrap();
        }
        let output = |table: &RouteTable, text| {
            table.lookup(args::ip(text, &scope).unwrap().to_bits()).map(|hop| hop.output)
        };
        assert_eq!(output(&table, "10.9.9.1"), Some(1));
        assert_eq!(output(&table, "10.1.9.1"), Some(3));
        assert_eq!(output(&table, "10.1.9.2"), Some(2));
        assert_eq!(output(&table, "11.1.9.2"), None);
        for text in ["10.0.0.1/255.0.0.255", "10.1.0.1/255.255.0.255"] {
            table.remove(&Route::parse_removal(text, &scope).unwrap()).unwrap();
        }
        assert_eq!(output(&table, "10.1.9.1"), Some(2));
        assert_eq!(table.n_odd, 0);
    }
}
