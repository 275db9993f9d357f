//! Rates from and to IP addresses: a tree whose nodes are address prefixes of whole bytes.

use std::collections::btree_map::{BTreeMap, Entry};

use crate::standard::ewma::{unparse_scaled, Ewma};
use crate::standard::jiffies;

/// Epochs a second; an epoch is eight jiffies.
pub const PER_SECOND: u32 = jiffies::PER_SECOND >> 3;

const STABILITY: u32 = 5;
const SCALE: u32 = 10;

/// Bytes that Click needs for a pair of rates and for a node: limits of memory are counted in these.
const PAIR_SIZE: usize = 40;
const NODE_SIZE: usize = 2080;

/// Steps of one length by which the threshold rises while too much memory is used.
const MOST_STEPS: i32 = 1000;

/// The root's place; it is always there.
const ROOT: usize = 0;

/// The epoch of a wall-clock time.
pub fn epoch(now_ns: i64) -> u32 {
    jiffies::at(now_ns) >> 3
}

/// The rates from and to an address or a prefix, in events per epoch.
#[derive(Clone, Copy)]
struct Pair {
    epoch: u32,
    current: [u64; 2],
    averages: [Ewma; 2],
}

struct Counter {
    pair: Pair,
    /// The node with the rates of the next byte.
    next: Option<usize>,
    /// Until then there is none.
    closed_until: u32,
}

/// A pair of rates for each value of a byte that packets had.
struct Node {
    /// The node of the byte before, and that byte.
    parent: (usize, u8),
    age: u64,
    counters: BTreeMap<u8, Counter>,
}

/// The tree.
pub struct RateTree {
    /// Rate a second from which on rates are kept closer.
    pub threshold: i32,
    /// Most bytes to be used; 0 is no limit.
    pub memory_max: usize,
    /// When the last reset was.
    pub since: u32,
    memory: usize,
    nodes: Vec<Option<Node>>,
    /// Places of all nodes but the root by age.
    by_age: BTreeMap<u64, usize>,
    next_age: u64,
    folded_at: Option<u32>,
    /// How often Click would have looked at the clock besides since that was last asked for.
    n_looks: u32,
}

impl Pair {
    fn new(epoch: u32) -> Pair {
        Pair { epoch, current: [0; 2], averages: [Ewma::new(STABILITY, SCALE); 2] }
    }

    fn advance(&mut self, now: u32) {
        if now == self.epoch {
            return;
        }
        for (average, current) in self.averages.iter_mut().zip(&mut self.current) {
            average.update(std::mem::take(current));
            average.update_n(0, now.wrapping_sub(self.epoch).wrapping_sub(1));
        }
        self.epoch = now;
    }

    fn count(&mut self, way: usize, n: u64, now: u32) {
        self.advance(now);
        if let Some(current) = self.current.get_mut(way) {
            *current = current.wrapping_add(n);
        }
    }

    /// Events per second.
    fn rates(&self) -> [i32; 2] {
        self.averages.map(|average| (average.scaled() as i32).wrapping_mul(PER_SECOND as i32) >> SCALE)
    }

    fn unparse(&self, way: usize) -> String {
        let scaled = self.averages.get(way).map_or(0, Ewma::scaled);
        unparse_scaled(scaled * u64::from(PER_SECOND), SCALE)
    }

    /// Whether both averages, with their bits of fraction, are below a threshold.
    fn is_below(&self, threshold: i32) -> bool {
        self.averages.iter().all(|average| (average.scaled() as i32) < threshold)
    }
}

impl RateTree {
    /// No rates yet.
    pub fn new(threshold: i32, memory_max: usize) -> RateTree {
        let root = Node { parent: (ROOT, 0), age: 0, counters: BTreeMap::new() };
        RateTree {
            threshold,
            memory_max,
            since: 0,
            memory: NODE_SIZE,
            nodes: vec![Some(root)],
            by_age: BTreeMap::new(),
            next_age: 1,
            folded_at: None,
            n_looks: 0,
        }
    }

    /// Goes on from the rates of another tree, with this one's limits.
    pub fn take_over(&mut self, old: RateTree) {
        *self = RateTree { threshold: self.threshold, memory_max: self.memory_max, ..old };
    }

    /// Bytes used, as Click counts them.
    pub fn memory(&self) -> usize {
        self.memory
    }

    /// Counts `n` events, if any, from (`way` 0) or to (1) an address: the rates kept closest to it, `None` if there is no
    /// memory for any.
    pub fn count(&mut self, address: [u8; 4], way: usize, n: Option<u64>, now: u32) -> Option<[i32; 2]> {
        let mut place = ROOT;
        for (level, byte) in address.into_iter().enumerate() {
            let has_room = self.has_room(PAIR_SIZE);
            let node = self.nodes.get_mut(place)?.as_mut()?;
            let counter = match node.counters.entry(byte) {
                Entry::Occupied(entry) => entry.into_mut(),
                Entry::Vacant(_) if !has_room => return None,
                Entry::Vacant(entry) => {
                    self.memory += PAIR_SIZE;
                    self.n_looks += 1;
                    entry.insert(Counter { pair: Pair::new(now), next: None, closed_until: 0 })
                }
            };
            if let Some(n) = n {
                self.n_looks += 1;
                counter.pair.count(way, n, now);
            }
            if let Some(next) = counter.next {
                place = next;
                continue;
            }
            let (pair, is_open) = (counter.pair, counter.closed_until < now);
            let rates = pair.rates();
            let is_high = rates.iter().any(|rate| *rate >= self.threshold);
            if let Some(next_byte) = address.get(level + 1).filter(|_| is_open && is_high) {
                if self.has_room(PAIR_SIZE + NODE_SIZE) {
                    self.open(place, byte, *next_byte, pair);
                }
            }
            return Some(rates);
        }
        None
    }

    /// Keeps rates closer: the pair of the byte after `byte` starts with the rates that there are.
    fn open(&mut self, place: usize, byte: u8, next_byte: u8, pair: Pair) {
        let counter = Counter { pair, next: None, closed_until: 0 };
        let age = self.next_age;
        self.next_age += 1;
        let node = Node { parent: (place, byte), age, counters: BTreeMap::from([(next_byte, counter)]) };
        let free = self.nodes.iter().position(Option::is_none);
        let new = free.unwrap_or(self.nodes.len());
        match self.nodes.get_mut(new) {
            Some(slot) => *slot = Some(node),
            None => self.nodes.push(Some(node)),
        }
        self.by_age.insert(age, new);
        self.memory += PAIR_SIZE + NODE_SIZE;
        if let Some(counter) = self.counter(place, byte) {
            counter.next = Some(new);
        }
    }

    fn counter(&mut self, place: usize, byte: u8) -> Option<&mut Counter> {
        self.nodes.get_mut(place)?.as_mut()?.counters.get_mut(&byte)
    }

    fn has_room(&self, size: usize) -> bool {
        self.memory_max == 0 || self.memory + size <= self.memory_max
    }

    /// Removes a node and those below it.
    fn remove(&mut self, place: usize) {
        let Some(node) = self.nodes.get_mut(place).and_then(Option::take) else { return };
        for next in node.counters.values().filter_map(|counter| counter.next) {
            self.remove(next);
        }
        self.memory = self.memory.saturating_sub(NODE_SIZE + node.counters.len() * PAIR_SIZE);
        self.by_age.remove(&node.age);
        let (parent, byte) = node.parent;
        if let Some(counter) = self.counter(parent, byte) {
            counter.next = None;
        }
    }

    /// How often Click would have looked at the clock since this was last asked, for each rate that it made or counted for.
    pub fn take_looks(&mut self) -> u32 {
        std::mem::take(&mut self.n_looks)
    }

    /// Whether a second has passed since the last folding.
    pub fn is_fold_due(&mut self, now: u32) -> bool {
        now.wrapping_sub(*self.folded_at.get_or_insert(now)) >= PER_SECOND
    }

    /// Folds what is below the threshold, the oldest or the newest first.
    pub fn fold_now(&mut self, now: u32, oldest_first: bool) {
        self.fold(self.threshold, now, oldest_first);
        self.folded_at = Some(now);
    }

    /// Folds nodes whose rates are below a threshold, until enough memory is free: a tenth if there is no limit.
    fn fold(&mut self, threshold: i32, now: u32, oldest_first: bool) {
        let enough = if self.memory_max == 0 { self.memory / 10 * 9 } else { self.memory_max };
        let mut places: Vec<usize> = self.by_age.values().copied().collect();
        if !oldest_first {
            places.reverse();
        }
        for place in places {
            let Some((parent, byte)) = self.nodes.get(place).and_then(Option::as_ref).map(|node| node.parent)
            else {
                continue;
            };
            self.n_looks += 1;
            let Some(counter) = self.counter(parent, byte) else { continue };
            counter.pair.advance(now);
            if counter.pair.is_below(threshold) {
                self.remove(place);
                if self.memory < enough {
                    return;
                }
            }
        }
    }

    /// Folds higher and higher rates until the limit of memory is kept, each time the oldest or the newest first.
    pub fn shrink(&mut self, now: u32, mut oldest_first: impl FnMut() -> bool) {
        let mut threshold = self.threshold.max(0);
        let step = (threshold / 5).max(1);
        while self.memory_max > 0 && self.memory > self.memory_max && threshold < i32::MAX {
            self.fold(threshold, now, oldest_first());
            // Steps grow where there would be too many of one length.
            threshold = threshold.saturating_add(step.max(threshold / MOST_STEPS));
        }
    }

    /// Forgets all rates. Click does not count the memory of the first bytes' pairs as free, so neither is it here.
    pub fn reset(&mut self, now: u32) {
        let Some(root) = self.nodes.get_mut(ROOT).and_then(Option::as_mut) else { return };
        let counters = std::mem::take(&mut root.counters);
        for next in counters.values().filter_map(|counter| counter.next) {
            self.remove(next);
        }
        self.since = now;
    }

    /// Keeps rates no closer than of the byte number `level` of an address, until then.
    pub fn set_level(&mut self, address: [u8; 4], level: usize, until: u32) {
        let mut place = ROOT;
        for (at, byte) in address.into_iter().enumerate() {
            let Some(counter) = self.counter(place, byte) else { return };
            let next = counter.next;
            if at == level {
                counter.closed_until = until;
                return next.into_iter().for_each(|next| self.remove(next));
            }
            let Some(next) = next else { return };
            place = next;
        }
    }

    /// The rates as text: address, tab, rate from, tab, rate to, a line each, those of closer rates further right.
    pub fn look(&mut self, now: u32) -> String {
        let mut text = format!("{}\n", now.wrapping_sub(self.since));
        self.look_at(ROOT, "", now, &mut text);
        text
    }

    fn look_at(&mut self, place: usize, prefix: &str, now: u32, text: &mut String) {
        let Some(node) = self.nodes.get_mut(place).and_then(Option::as_mut) else { return };
        let mut closer = Vec::new();
        for (byte, counter) in &mut node.counters {
            if counter.pair.averages.iter().all(|average| average.scaled() == 0) {
                continue;
            }
            let address = if prefix.is_empty() { byte.to_string() } else { format!("{prefix}.{byte}") };
            counter.pair.advance(now);
            let line = format!("{address}\t{}\t{}\n", counter.pair.unparse(0), counter.pair.unparse(1));
            closer.push((line, counter.next, format!("\t{address}")));
        }
        for (line, next, address) in closer {
            text.push_str(&line);
            if let Some(next) = next {
                self.look_at(next, &address, now, text);
            }
        }
    }
}
