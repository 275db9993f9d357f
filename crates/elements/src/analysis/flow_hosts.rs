//! All pairs of hosts that were ever seen, in Click's order.

use std::cell::OnceCell;
use std::collections::HashMap;

use table::chained::Growth;

use super::flow_key::{Hosts, TCP};

/// Buckets of Click's tables at first.
const N_BUCKETS: u32 = 63;

/// The pairs of hosts.
pub struct HostList {
    numbers: HashMap<Hosts, u64>,
    /// TCP, and UDP behind it.
    growths: [Growth; 2],
    n: [u64; 2],
    /// Places, worked out since the last addition.
    places: OnceCell<HashMap<Hosts, usize>>,
}

impl HostList {
    /// No hosts.
    pub fn new() -> HostList {
        let growth = Growth::new(N_BUCKETS);
        HostList {
            numbers: HashMap::new(),
            growths: [growth.clone(), growth],
            n: [0; 2],
            places: OnceCell::new(),
        }
    }

    /// Adds two hosts if they were never seen.
    pub fn add(&mut self, hosts: &Hosts) {
        let which = which(hosts);
        let (Some(n), Some(growth)) = (self.n.get_mut(which), self.growths.get_mut(which)) else { return };
        if self.numbers.contains_key(hosts) {
            return;
        }
        self.numbers.insert(*hosts, *n);
        // The table grows before the pair that it grows for is in it.
        growth.grow(*n + 1, *n);
        *n += 1;
        self.places.take();
    }

    /// Where two hosts stand in Click's order.
    pub fn place(&self, hosts: &Hosts) -> usize {
        let places = self.places.get_or_init(|| {
            let listed = self.growths.iter().enumerate().flat_map(|(number, growth)| {
                let own = self.numbers.iter().filter(|(hosts, _)| which(hosts) == number);
                let mut own: Vec<_> =
                    own.map(|(hosts, number)| (*number, hosts.click_hash(), *hosts)).collect();
                own.sort_unstable_by_key(|(number, ..)| *number);
                growth.order(own)
            });
            listed.zip(0..).collect()
        });
        places.get(hosts).copied().unwrap_or(usize::MAX)
    }
}

fn which(hosts: &Hosts) -> usize {
    usize::from(hosts.protocol != TCP)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The pair before which Click's table grows, so that it is first in its bucket of the larger one.
    #[test]
    fn the_pair_that_the_table_grows_for_is_in_the_larger_table_only() {
        let pairs: Vec<Hosts> = (0..=2 * 127).map(|n| Hosts { a: 0, b: n * 1000, protocol: 17 }).collect();
        let bucket = |pair: &Hosts| pair.click_hash() % 255;
        let mut list = HostList::new();
        pairs.iter().for_each(|pair| list.add(pair));
        let (last, others) = pairs.split_last().unwrap();
        let mut of_its_bucket = others.iter().filter(|other| bucket(other) == bucket(last)).peekable();
        assert!(of_its_bucket.peek().is_some());
        assert!(of_its_bucket.all(|other| list.place(last) < list.place(other)));
    }
}
