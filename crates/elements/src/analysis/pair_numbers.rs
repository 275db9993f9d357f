//! The pairs of addresses of AggregateIPAddrPair: their numbers, and when they are forgotten.

use table::chained::Growth;
use table::flow::FlowTable;

/// Buckets of Click's table at first.
const N_BUCKETS: u32 = 63;
/// The time as which Click takes now to be when all pairs are forgotten.
const LATE_S: u32 = i32::MAX as u32;

/// What is known of a pair.
struct Pair {
    /// Its number.
    number: u32,
    /// Whether its first packet came from the larger address.
    is_reversed: bool,
    /// Second of its last packet.
    last_s: u32,
    /// How many pairs were met before it.
    sequence: u64,
}

/// All pairs; addresses are numbers as they lie in memory.
pub struct PairNumbers {
    pairs: FlowTable<[u32; 2], Pair>,
    /// When Click's table grew, on which the order in which pairs are forgotten depends.
    growth: Growth,
    n_met: u64,
    next: u32,
    timeout_s: u32,
    reap_s: u32,
    now_s: u32,
    next_reap_s: u32,
    /// Whether numbers of forgotten pairs are kept.
    pub keeps_ended: bool,
    /// Those, in order.
    pub ended: Vec<u32>,
}

/// Whether a second is before another, on a clock of 32 bits.
fn is_before(second: u32, other: u32) -> bool {
    (second.wrapping_sub(other) as i32) < 0
}

/// Click's hash of a pair.
fn click_hash([a, b]: [u32; 2]) -> u32 {
    (a << 12).wrapping_add(b).wrapping_add(a >> 20 & 0x1F)
}

impl PairNumbers {
    /// No pairs. A timeout of 0 is none.
    pub fn new(timeout_s: u32, reap_s: u32) -> PairNumbers {
        PairNumbers {
            pairs: FlowTable::new(u32::MAX),
            growth: Growth::new(N_BUCKETS),
            n_met: 0,
            next: 1,
            timeout_s,
            reap_s,
            now_s: 0,
            next_reap_s: 0,
            keeps_ended: false,
            ended: Vec::new(),
        }
    }

    /// Whether the packets' times matter.
    pub fn needs_time(&self) -> bool {
        self.timeout_s > 0
    }

    /// The number of the pair of a packet's source and destination, and whether the packet goes the other way than the
    /// pair's first one.
    #[inline(always)]
    pub fn number(&mut self, [source, destination]: [u32; 2], time_ns: i64) -> (u32, bool) {
        let is_flipped = source > destination;
        let hosts = [source.min(destination), source.max(destination)];
        let second = time_ns.div_euclid(1_000_000_000) as u32;
        let hash = self.pairs.hash_of(&hosts);
        let found = self.pairs.find_hashed(hash, &hosts).and_then(|idx| self.pairs.get_mut(idx));
        let result = match found {
            Some((_, pair)) => {
                let is_old =
                    self.timeout_s > 0 && is_before(pair.last_s, second.wrapping_sub(self.timeout_s));
                if is_old {
                    if self.keeps_ended {
                        self.ended.push(pair.number);
                    }
                    pair.number = take_next(&mut self.next);
                    pair.is_reversed = is_flipped;
                }
                pair.last_s = second;
                (pair.number, pair.is_reversed != is_flipped)
            }
            None => (self.add(hash, hosts, is_flipped, second), false),
        };
        if self.timeout_s > 0 {
            self.now_s = second;
            if self.now_s > self.next_reap_s {
                self.reap();
            }
        }
        result
    }

    #[cold]
    fn add(&mut self, hash: u64, hosts: [u32; 2], is_reversed: bool, last_s: u32) -> u32 {
        let number = take_next(&mut self.next);
        let sequence = self.n_met;
        self.n_met += 1;
        // A table that is full gives each packet a number of its own.
        let _ = self.pairs.insert_hashed(hash, hosts, Pair { number, is_reversed, last_s, sequence });
        self.growth.grow(self.pairs.len() as u64, sequence);
        number
    }

    /// Forgets all pairs.
    pub fn clear(&mut self) {
        let times = (self.now_s, self.next_reap_s);
        if self.timeout_s == 0 {
            self.pairs.iter_mut().for_each(|(_, _, pair)| pair.last_s = 0);
        }
        (self.now_s, self.next_reap_s) = (LATE_S, LATE_S);
        self.reap();
        (self.now_s, self.next_reap_s) = times;
    }

    /// Forgets the pairs that were silent for too long, except at first.
    #[cold]
    fn reap(&mut self) {
        if self.next_reap_s != 0 {
            let limit_s = self.now_s.wrapping_sub(self.timeout_s);
            let mut silent: Vec<_> = self
                .pairs
                .iter()
                .map(|(idx, hosts, pair)| {
                    (pair.sequence, click_hash(*hosts), (idx, is_before(pair.last_s, limit_s)))
                })
                .collect();
            silent.sort_unstable_by_key(|(sequence, ..)| *sequence);
            let in_order = self.growth.order(silent);
            for (idx, _) in in_order.into_iter().filter(|(_, is_silent)| *is_silent) {
                if let Some((_, pair)) = self.pairs.remove(idx).filter(|_| self.keeps_ended) {
                    self.ended.push(pair.number);
                }
            }
        }
        self.next_reap_s = self.now_s.wrapping_add(self.reap_s);
    }

    /// Goes on with another's pairs, by own times.
    pub fn take_over(&mut self, old: PairNumbers) {
        *self = PairNumbers {
            timeout_s: self.timeout_s,
            reap_s: self.reap_s,
            next_reap_s: old.next_reap_s.min(old.now_s.saturating_add(self.reap_s)),
            keeps_ended: self.keeps_ended,
            ..old
        };
    }
}

/// 0 is no number.
fn take_next(next: &mut u32) -> u32 {
    let number = *next;
    *next = next.checked_add(1).unwrap_or(1);
    number
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn numbers_begin_anew_behind_the_last() {
        let mut pairs = PairNumbers::new(0, 0);
        pairs.next = u32::MAX;
        assert_eq!(pairs.number([1, 2], 0), (u32::MAX, false));
        assert_eq!(pairs.number([3, 2], 0), (1, false));
        assert_eq!(pairs.number([2, 3], 0), (1, true));
    }

    proptest! {
        #[test]
        fn every_number_ends_once(packets in prop::collection::vec((0u32..9, 0u32..9, 0i64..200), 0..60)) {
            let mut pairs = PairNumbers::new(10, 20);
            pairs.keeps_ended = true;
            for (source, destination, second) in packets {
                pairs.number([source, destination], second * 1_000_000_000);
            }
            pairs.clear();
            let mut ended = pairs.ended.clone();
            ended.sort_unstable();
            prop_assert_eq!(ended, (1..pairs.next).collect::<Vec<_>>());
        }
    }
}
