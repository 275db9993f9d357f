//! A table of IPv6 routes: longest-prefix match, and rows in the order in which Click shows them.

use std::cmp::Reverse;
use std::collections::BinaryHeap;
use std::fmt::Write;
use std::net::Ipv6Addr;

use args::Prefix6;
use table::lpm::{Lpm6, Prefix};

/// From so many routes on, addresses are looked up side by side.
const MANY: usize = 10_000;

/// Where packets to some addresses go.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Route {
    /// The addresses; host bits do not matter.
    pub prefix: Prefix6,
    /// The gateway; `::` for none.
    pub gateway: Ipv6Addr,
    /// The output.
    pub output: usize,
}

/// The table is full.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Full;

/// The routes.
#[derive(Default)]
pub struct Routes {
    /// Numbers of rows.
    table: Lpm6,
    rows: Vec<Option<Route>>,
    /// Rows that have become free; a new route takes the first.
    free: BinaryHeap<Reverse<u32>>,
}

impl Routes {
    /// Adds a route, in place of the one for its prefix if there is one.
    pub fn add(&mut self, route: Route) -> Result<(), Full> {
        self.remove(route.prefix);
        let Some(key) = key(route.prefix) else { return Ok(()) };
        let number = self.free.peek().map_or(self.rows.len() as u32, |Reverse(number)| *number);
        self.table.insert(key, number).map_err(|_| Full)?;
        self.free.pop();
        let idx = number as usize;
        if idx >= self.rows.len() {
            self.rows.resize(idx + 1, None);
        }
        if let Some(row) = self.rows.get_mut(idx) {
            *row = Some(Route { prefix: Prefix6 { addr: route.prefix.network(), ..route.prefix }, ..route });
        }
        Ok(())
    }

    /// Removes the route for a prefix, if there is one.
    pub fn remove(&mut self, prefix: Prefix6) {
        if let Some(number) = key(prefix).and_then(|key| self.table.remove(key)) {
            if let Some(row) = self.rows.get_mut(number as usize) {
                *row = None;
            }
            self.free.push(Reverse(number));
        }
    }

    /// Writes to each `found` the number of the row for the address at the same place.
    #[inline]
    pub fn lookup_all(&self, addresses: &[u128], found: &mut [u32]) {
        if self.table.len() >= MANY {
            return self.table.lookup_batch(addresses, found);
        }
        for (address, found) in addresses.iter().zip(found) {
            *found = self.table.lookup(*address).unwrap_or(table::lpm::NO_ROUTE);
        }
    }

    /// The route in a row.
    #[inline]
    pub fn row(&self, number: u32) -> Option<&Route> {
        self.rows.get(number as usize)?.as_ref()
    }

    /// The rows in words, a line each.
    pub fn text(&self) -> String {
        let mut text = String::new();
        if !self.rows.is_empty() {
            text += "# Active routes\n";
        }
        for route in self.rows.iter().flatten() {
            let _ =
                writeln!(text, "{}\t{}\t{}", route.prefix, args::unparse_ip6(route.gateway), route.output);
        }
        text
    }
}

fn key(prefix: Prefix6) -> Option<Prefix<u128>> {
    Prefix::new(prefix.addr.to_bits(), prefix.len)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Click's table: a list that is searched from end to end.
    #[derive(Default)]
    struct Model(Vec<Option<Route>>);

    impl Model {
        fn remove(&mut self, prefix: Prefix6) {
            let is_it =
                |route: &Route| (route.prefix.addr, route.prefix.len) == (prefix.network(), prefix.len);
            self.0.iter_mut().filter(|row| row.as_ref().is_some_and(is_it)).for_each(|row| *row = None);
        }

        fn add(&mut self, mut route: Route) {
            self.remove(route.prefix);
            route.prefix.addr = route.prefix.network();
            match self.0.iter_mut().find(|row| row.is_none()) {
                Some(row) => *row = Some(route),
                None => self.0.push(Some(route)),
            }
        }

        fn lookup(&self, address: Ipv6Addr) -> Option<Route> {
            let matching = self.0.iter().flatten().filter(|route| route.prefix.contains(address));
            matching.max_by_key(|route| route.prefix.len).copied()
        }
    }

    fn address() -> impl Strategy<Value = Ipv6Addr> {
        (0u128..4, 0u128..4, 0u128..4)
            .prop_map(|(high, middle, low)| (high << 126 | middle << 64 | low).into())
    }

    proptest! {
        #[test]
        fn the_table_behaves_like_a_list(
            changes in prop::collection::vec((any::<bool>(), address(), 0u8..=128, 0usize..4), 0..60),
            asked in prop::collection::vec(address(), 0..20),
        ) {
            let (mut routes, mut model) = (Routes::default(), Model::default());
            for (adds, addr, len, output) in changes {
                let prefix = Prefix6 { addr, len };
                if adds {
                    let route = Route { prefix, gateway: addr, output };
                    prop_assert_eq!(routes.add(route), Ok(()));
                    model.add(route);
                } else {
                    routes.remove(prefix);
                    model.remove(prefix);
                }
            }
            prop_assert_eq!(&routes.rows, &model.0);
            let addresses: Vec<u128> = asked.iter().map(|address| address.to_bits()).collect();
            let mut found = vec![0; addresses.len()];
            routes.lookup_all(&addresses, &mut found);
            for (address, number) in asked.iter().zip(found) {
                prop_assert_eq!(routes.row(number).copied(), model.lookup(*address));
            }
        }
    }
}
