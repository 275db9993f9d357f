//! The next hops of a route table, each kept once however many routes use it.

use std::collections::HashMap;

/// What a lookup finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Address of the gateway, 0 for none.
    pub gateway: u32,
    /// The output.
    pub output: u32,
}

/// Next hops by number, and how many routes use each.
#[derive(Default)]
pub struct NextHops {
    list: Vec<NextHop>,
    n_users: Vec<u32>,
    numbers: HashMap<NextHop, u32>,
    free: Vec<u32>,
}

impl NextHops {
    /// The next hop with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<NextHop> {
        self.list.get(number as usize).copied()
    }

    /// The number of a next hop, which has one more user from now on.
    pub fn take(&mut self, hop: NextHop) -> u32 {
        let number = match self.numbers.get(&hop) {
            Some(number) => *number,
            None => self.add(hop),
        };
        if let Some(n) = self.n_users.get_mut(number as usize) {
            *n += 1;
        }
        number
    }

    /// Says that a next hop has one user less.
    pub fn give(&mut self, number: u32) {
        let Some(n) = self.n_users.get_mut(number as usize) else { return };
        *n = n.saturating_sub(1);
        if *n == 0 {
            if let Some(hop) = self.list.get(number as usize) {
                self.numbers.remove(hop);
            }
            self.free.push(number);
        }
    }

    fn add(&mut self, hop: NextHop) -> u32 {
        let number = self.free.pop().unwrap_or(self.list.len() as u32);
        match self.list.get_mut(number as usize) {
            Some(place) => *place = hop,
            None => {
                self.list.push(hop);
                self.n_users.push(0);
            }
        }
        self.numbers.insert(hop, number);
        number
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_shared_and_used_again() {
        let mut hops = NextHops::default();
        let hop = |gateway| NextHop { gateway, output: 0 };
        assert_eq!([hops.take(hop(7)), hops.take(hop(8)), hops.take(hop(7))], [0, 1, 0]);
        hops.give(0);
        assert_eq!(hops.take(hop(9)), 2);
        hops.give(0);
        assert_eq!(hops.take(hop(10)), 0);
        assert_eq!(hops.get(0), Some(hop(10)));
        assert_eq!(hops.get(3), None);
    }
}
