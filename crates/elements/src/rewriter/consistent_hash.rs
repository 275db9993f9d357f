//! Consistent hashing: numbers are spread over servers so that a new server takes few of them from the others.
//!
//! Each server stands at random points of a ring; a number belongs to the next point. The points are drawn as the C library's
//! `random` draws them, and searched in the order of Click's tree, so that both spread alike.

/// Most draws for a ring.
const MAX_DRAWS: u64 = 1 << 26;

/// A ring of points.
pub struct Ring {
    /// A search tree in the order of a heap.
    tree: Vec<Point>,
    n_draws: u64,
}

#[derive(Clone, Copy)]
struct Point {
    key: u32,
    /// The server's place in the order of identifiers.
    rank: u16,
}

impl Ring {
    /// A ring on which each server stands at `n_points`; `None` if that is too many.
    pub fn new(servers: &[u16], n_points: u32, seed: u32) -> Option<Ring> {
        let n_ids = servers.iter().max().map_or(0, |id| u64::from(*id) + 1);
        let n_draws = n_ids * u64::from(n_points);
        if n_draws > MAX_DRAWS {
            return None;
        }
        let mut random = Random::new(seed);
        let mut points = Vec::new();
        let mut rank = 0;
        for id in 0..n_ids {
            let is_server = servers.iter().any(|server| u64::from(*server) == id);
            for _ in 0..n_points {
                // Numbers are drawn for the identifiers that are left out, too: so a server's do not depend on the others.
                let key = random.next();
                if is_server {
                    points.push(Point { key, rank });
                }
            }
            rank += u16::from(is_server);
        }
        points.sort_by_key(|point| point.key);
        Some(Ring { tree: in_tree_order(&points), n_draws })
    }

    /// How many random numbers it took.
    pub fn n_draws(&self) -> u64 {
        self.n_draws
    }

    /// The rank of the server to which a number below 2^31 belongs.
    pub fn rank(&self, number: u32) -> usize {
        let mut at = 0;
        let mut next = self.tree.first();
        while let Some(point) = self.tree.get(at) {
            if number == point.key {
                next = Some(point);
                break;
            }
            if number > point.key {
                at = 2 * at + 2;
            } else {
                at = 2 * at + 1;
                next = Some(point);
            }
        }
        next.map_or(0, |point| usize::from(point.rank))
    }
}

/// Sorted points in the order of a complete binary tree, level by level, the last level filled from the left.
fn in_tree_order(points: &[Point]) -> Vec<Point> {
    let len = points.len();
    let mut tree = Vec::with_capacity(len);
    let above = (len + 1).next_power_of_two().max(2);
    // Below this place, counted in a full tree, the last level is there.
    let first_gap = 2 * len.div_ceil(2) as i64 - 2 * ((above as i64 - 1 - len as i64) / 2) + 1;
    let mut step = above;
    while step > 1 {
        for place in (step / 2..above).step_by(step) {
            let place = place as i64;
            let from = if place < first_gap { place } else { (place + first_gap - 1) / 2 };
            if tree.len() < len {
                tree.extend(usize::try_from(from - 1).ok().and_then(|from| points.get(from)));
            }
        }
        step /= 2;
    }
    tree
}

/// The C library's `random`: an additive feedback generator of 31 words.
struct Random {
    words: [u32; 31],
    at: usize,
}

impl Random {
    fn new(seed: u32) -> Random {
        let mut words = [0; 31];
        let mut word = if seed == 0 { 1 } else { seed as i32 };
        for place in &mut words {
            *place = word as u32;
            // The "minimal standard" generator, computed without overflow.
            word = 16807_i32.wrapping_mul(word % 127_773).wrapping_sub(2836 * (word / 127_773));
            if word < 0 {
                word += i32::MAX;
            }
        }
        let mut random = Random { words, at: 3 };
        for _ in 0..310 {
            random.next();
        }
        random
    }

    fn next(&mut self) -> u32 {
        // Word n is the sum of words n - 31 and n - 3; the first three words were there before the first 31.
        let sum = self.words[self.at].wrapping_add(self.words[(self.at + 28) % 31]);
        self.words[self.at] = sum;
        self.at = (self.at + 1) % 31;
        sum >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn random_numbers_are_the_c_librarys() {
        let mut random = Random::new(1);
        assert_eq!([(); 3].map(|()| random.next()), [1_804_289_383, 846_930_886, 1_681_692_777]);
    }

    #[test]
    fn a_new_server_takes_little() {
        let ring = |servers: &[u16]| Ring::new(servers, 100, 7).expect("few points");
        let (few, many) = (ring(&[0, 1, 2, 3]), ring(&[0, 1, 2, 3, 4]));
        let numbers = || (0..10_000).map(|n| n * 200_003);
        let n_moved = numbers().filter(|n| few.rank(*n) != many.rank(*n)).count();
        assert!(n_moved < 3_000, "{n_moved}");
    }

    proptest! {
        #[test]
        fn every_number_has_a_server(servers in prop::collection::vec(0u16..50, 1..9), n_points in 1u32..40, seed: u32, number: u32) {
            let ring = Ring::new(&servers, n_points, seed).expect("few points");
            prop_assert!(ring.rank(number >> 1) < servers.len());
        }
    }
}
