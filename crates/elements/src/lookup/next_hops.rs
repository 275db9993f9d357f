//! The next hops of a route table, each kept once however many routes use it.
//!
//! In Click's direct tables the default route has the first next hop, and changes it in place. Other routes share it if it was their
//! next hop too when they were added, and no other route's before: they go where the default route goes from then on, and nowhere once
//! it is removed.

use std::collections::HashMap;

/// What a lookup finds.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct NextHop {
    /// Address of the gateway, 0 for none.
    pub gateway: u32,
    /// The output.
    pub output: u32,
}

impl NextHop {
    /// The output of a default route that is not there.
    pub const NO_OUTPUT: u32 = u32::MAX;
    /// Where packets go that have no route.
    pub const NONE: NextHop = NextHop { gateway: 0, output: NextHop::NO_OUTPUT };
}

/// The number of the default route's next hop, where that is changed in place.
pub const DEFAULT: u32 = 0;

/// Next hops by number, and how many routes use each.
#[derive(Default)]
pub struct NextHops {
    list: Vec<NextHop>,
    n_users: Vec<u32>,
    numbers: HashMap<NextHop, u32>,
    free: Vec<u32>,
    has_shared_default: bool,
}

impl NextHops {
    /// No next hops but the default route's, which other routes may share.
    pub fn with_shared_default() -> NextHops {
        NextHops {
            list: vec![NextHop::NONE],
            n_users: vec![1],
            has_shared_default: true,
            ..NextHops::default()
        }
    }

    /// The next hop with this number.
    #[inline]
    pub fn get(&self, number: u32) -> Option<NextHop> {
        self.list.get(number as usize).copied()
    }

    /// Changes the default route's next hop, for all that share it.
    pub fn set_default(&mut self, hop: NextHop) -> u32 {
        if let Some(default) = self.list.get_mut(DEFAULT as usize) {
            *default = hop;
        }
        DEFAULT
    }

    /// The number of a next hop, which has one more user from now on.
    pub fn take(&mut self, hop: NextHop) -> u32 {
        let number = match self.numbers.get(&hop) {
            Some(number) => *number,
            None if self.shares_default(hop) => DEFAULT,
            None => self.add(hop),
        };
        if let Some(n) = self.n_users.get_mut(number as usize) {
            *n += 1;
        }
        number
    }

    /// Says that a next hop has one user less. The default route's stays.
    pub fn give(&mut self, number: u32) {
        if self.has_shared_default && number == DEFAULT {
            return;
        }
        let Some(n) = self.n_users.get_mut(number as usize) else { return };
        *n = n.saturating_sub(1);
        if *n == 0 {
            if let Some(hop) = self.list.get(number as usize) {
                self.numbers.remove(hop);
            }
            self.free.push(number);
        }
    }

    /// Whether this is the default route's next hop, which is not among the numbers.
    fn shares_default(&self, hop: NextHop) -> bool {
        self.has_shared_default && self.list.get(DEFAULT as usize) == Some(&hop)
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
