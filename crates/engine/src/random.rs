//! Random numbers: the sequence that the C library's `random` gives for a seed, and so Click does.
//!
//! An additive lagged Fibonacci generator (Knuth, "The Art of Computer Programming", volume 2, section 3.2.2): every word is
//! the sum of those 3 and 31 places before it, and its upper 31 bits are the number. A multiplicative generator (Park and
//! Miller, "Random Number Generators: Good Ones Are Hard to Find", 1988) makes the first 31 words of a seed.

const LEN: usize = 31;
const LAG: usize = 3;
/// Numbers thrown away first, until the seed has spread over all words.
const WARM_UP: usize = 10 * LEN;

/// A generator.
#[derive(Clone, Debug)]
pub(crate) struct Random {
    seed: u32,
    words: [u32; LEN],
    /// The word that is made next; it takes the place of the one 31 places before it.
    at: usize,
}

impl Random {
    /// The sequence of a seed.
    pub fn seeded(seed: u32) -> Random {
        const MODULUS: i64 = 0x7FFF_FFFF;
        let mut word = i64::from(seed.max(1) as i32);
        let mut words = [0; LEN];
        for place in &mut words {
            *place = word as u32;
            word = (16807 * word).rem_euclid(MODULUS);
        }
        // The oldest word is the first one.
        let mut random = Random { seed, words, at: LAG };
        for _ in 0..WARM_UP {
            random.next();
        }
        random
    }

    /// A sequence that nobody can foretell.
    pub fn unforeseen() -> Random {
        Random::seeded(fastrand::u32(..))
    }

    /// The sequence for thread `n` of those that share a seed, the first being 0.
    pub fn of_thread(&self, n: usize) -> Random {
        Random::seeded(self.seed.wrapping_add(n as u32))
    }

    /// The next number, below 2^31.
    #[inline]
    pub fn next(&mut self) -> u32 {
        let back = if self.at >= LAG { self.at - LAG } else { self.at + LEN - LAG };
        let word = self.words[self.at].wrapping_add(self.words[back]);
        self.words[self.at] = word;
        self.at = if self.at + 1 < LEN { self.at + 1 } else { 0 };
        word >> 1
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_seed_gives_the_sequence_of_the_c_library() {
        let first = |seed| {
            let mut random = Random::seeded(seed);
            [random.next(), random.next(), random.next()]
        };
        assert_eq!(first(1), [1_804_289_383, 846_930_886, 1_681_692_777]);
        assert_eq!(first(0), first(1));
        assert_eq!(first(42), [71_876_166, 708_592_740, 1_483_128_881]);
        assert_eq!(first(0xDEAD_BEEF), [352_217_057, 918_588_210, 499_345_174]);
    }

    #[test]
    fn threads_that_share_a_seed_differ() {
        let mut random = Random::seeded(5).of_thread(1);
        assert_eq!(random.next(), Random::seeded(6).next());
    }
}
