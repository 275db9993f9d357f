//! Longest-prefix match: a table of routes that answers with the longest prefix an address lies in.
//!
//! Values are numbers of up to [`MAX_VALUE`], usually an index of next hops, or a newtype of one.
//!
//! - Lookup: IPv4 reads at most 3 slots (bits 0-15, 16-23, 24-31), IPv6 one slot for each 4 bits past the 16th that the
//!   table distinguishes. For IPv6, [`Lpm::lookup_batch`] walks 32 addresses level by level,
//!   which overlaps their cache misses: faster from some 10000 routes on.
//! - Change: O(log routes) for the ordered list of routes, plus the slots that the prefix covers: 2^(8 - length) up to
//!   8 bits; otherwise the rest of one node (root: 2^(16 - length) slots) and the nodes below. Removing also asks for
//!   each shorter length in use whether a prefix takes over.
//! - Memory: 1 KiB when empty. Then a root of 256 KiB of which only written pages are touched (one 4 KiB page for each
//!   /6 in use); a node of 1 KiB for each /16 and each /24 with longer prefixes that differ (IPv6: 64 bytes for each 4
//!   bits); 12 bytes (IPv6: 48) a route in the ordered list.

mod prefix;
mod trie;

use std::collections::BTreeMap;
use std::fmt;
use std::marker::PhantomData;

pub use prefix::{Address, Prefix};
use trie::{Leaf, Trie};
pub use trie::{MAX_VALUE, NO_ROUTE};

/// Routes by IPv4 prefix.
pub type Lpm4<V = u32> = Lpm<u32, 8, V>;

/// Routes by IPv6 prefix.
pub type Lpm6<V = u32> = Lpm<u128, 4, V>;

/// Routes by prefix; see [`Lpm4`] and [`Lpm6`]. `STRIDE` is the number of address bits that a node decides.
pub struct Lpm<A, const STRIDE: u32, V> {
    trie: Trie<A, STRIDE>,
    routes: BTreeMap<Prefix<A>, u32>,
    /// How many routes have each length: removal asks only for lengths that exist.
    n_by_len: Vec<u32>,
    value: PhantomData<V>,
}

/// The value is larger than [`MAX_VALUE`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ValueTooLarge(pub u32);

impl<A: Address, const STRIDE: u32, V: Copy + From<u32> + Into<u32>> Lpm<A, STRIDE, V> {
    /// An empty table.
    pub fn new() -> Self {
        let n_lens = A::BITS as usize + 1;
        Lpm { trie: Trie::new(), routes: BTreeMap::new(), n_by_len: vec![0; n_lens], value: PhantomData }
    }

    /// Adds a route or replaces the value of the one with this very prefix, which is returned.
    pub fn insert(&mut self, prefix: Prefix<A>, value: V) -> Result<Option<V>, ValueTooLarge> {
        let value = value.into();
        if value > MAX_VALUE {
            return Err(ValueTooLarge(value));
        }
        self.trie.paint(prefix, Leaf::Route { len: prefix.bits(), value });
        let replaced = self.routes.insert(prefix, value);
        if replaced.is_none() {
            self.count(prefix.bits(), |n| n.saturating_add(1));
        }
        Ok(replaced.map(V::from))
    }

    /// Removes the route with this very prefix and returns its value.
    pub fn remove(&mut self, prefix: Prefix<A>) -> Option<V> {
        let removed = self.routes.remove(&prefix)?;
        self.count(prefix.bits(), |n| n.saturating_sub(1));
        self.trie.paint(prefix, self.heir(prefix));
        Some(removed.into())
    }

    /// Removes all routes.
    pub fn clear(&mut self) {
        *self = Self::new();
    }

    /// The value of the route with this very prefix.
    pub fn get(&self, prefix: Prefix<A>) -> Option<V> {
        self.routes.get(&prefix).map(|value| V::from(*value))
    }

    /// The value of the longest prefix that `addr` lies in.
    #[inline(always)]
    pub fn lookup(&self, addr: A) -> Option<V> {
        self.trie.lookup(addr).map(V::from)
    }

    /// Writes to each `out` the value for the address at the same place, or [`NO_ROUTE`].
    ///
    /// If the slices differ in length, the rest of the longer one is left alone.
    #[inline]
    pub fn lookup_batch(&self, addrs: &[A], out: &mut [u32]) {
        self.trie.lookup_batch(addrs, out);
    }

    /// The routes, ordered by address, then by length.
    pub fn iter(&self) -> impl DoubleEndedIterator<Item = (Prefix<A>, V)> + '_ {
        self.routes.iter().map(|(prefix, value)| (*prefix, V::from(*value)))
    }

    /// Number of routes.
    pub fn len(&self) -> usize {
        self.routes.len()
    }

    /// Whether there are no routes.
    pub fn is_empty(&self) -> bool {
        self.routes.is_empty()
    }

    /// Bytes that the lookup structure has reserved; see the module for how much of it is touched.
    pub fn memory(&self) -> usize {
        self.trie.memory()
    }

    /// What answers in the place of `prefix` once it is gone.
    fn heir(&self, prefix: Prefix<A>) -> Leaf {
        match self.longest(prefix, usize::from(prefix.bits())) {
            // The trie falls back to its table of short prefixes by itself.
            Some((heir, _)) if heir.bits() <= 8 && prefix.bits() > 8 => Leaf::Empty,
            Some((heir, value)) => Leaf::Route { len: heir.bits(), value },
            None => Leaf::Empty,
        }
    }

    /// The longest route of less than `end` bits that covers `prefix`.
    fn longest(&self, prefix: Prefix<A>, end: usize) -> Option<(Prefix<A>, u32)> {
        let lens = self.n_by_len.iter().enumerate().take(end).rev();
        lens.filter(|(_, n)| **n != 0).find_map(|(len, _)| {
            let cut = prefix.cut(len as u8);
            self.routes.get(&cut).map(|value| (cut, *value))
        })
    }

    fn count(&mut self, len: u8, change: impl Fn(u32) -> u32) {
        if let Some(n) = self.n_by_len.get_mut(usize::from(len)) {
            *n = change(*n);
        }
    }
}

impl<A: Address, const STRIDE: u32, V: Copy + From<u32> + Into<u32>> Default for Lpm<A, STRIDE, V> {
    fn default() -> Self {
        Self::new()
    }
}

impl fmt::Display for ValueTooLarge {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "route value {} is larger than {MAX_VALUE}", self.0)
    }
}

impl std::error::Error for ValueTooLarge {}

#[cfg(test)]
mod tests;
