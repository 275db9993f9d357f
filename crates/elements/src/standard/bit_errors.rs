//! Errors in a byte: how likely each number of wrong bits is, and which bits they are.

/// Bits of fraction of a probability.
pub const BITS: u32 = 28;
/// Probability 1.
pub const CERTAIN: u32 = 1 << BITS;

/// Bits in a byte.
const N_BITS: usize = 8;

/// The bytes with any number of bits set, by that number: one of each, of which the others are rotations.
const PATTERNS: [&[u8]; N_BITS + 1] = [
    &[0x00],
    &[0x01],
    &[0x03, 0x05, 0x09, 0x11],
    &[0x07, 0x0B, 0x13, 0x0D, 0x19, 0x15, 0x25],
    &[0x0F, 0x17, 0x27, 0x1B, 0x2B, 0x33, 0x1D, 0x2D, 0x35, 0x55],
    &[0xF8, 0xF4, 0xEC, 0xF2, 0xE6, 0xEA, 0xDA],
    &[0xFC, 0xFA, 0xF6, 0xEE],
    &[0xFE],
    &[0xFF],
];

/// Patterns that Click never draws, and those that it draws instead, twice as often as others: a seed gives Click's errors.
const REPLACED: [(u8, u8); 4] = [(0x36, 0x35), (0x63, 0x53), (0xEA, 0xE9), (0xAE, 0x9E)];

/// The errors of a probability of a wrong bit.
#[derive(Clone, Debug)]
pub struct BitErrors {
    /// By number: the probability that at most so many bits are wrong.
    at_most: [u32; N_BITS + 1],
    /// All bytes by the number of their bits.
    patterns: [u8; 256],
    /// Where those of each number begin, and where the last end.
    begins: [usize; N_BITS + 2],
}

impl BitErrors {
    /// Errors that occur in a bit with a probability, which is at most [`CERTAIN`].
    pub fn new(probability: u32) -> BitErrors {
        let mut patterns = [0; 256];
        let mut begins = [0; N_BITS + 2];
        let mut n = 0;
        for (n_wrong, ones) in PATTERNS.iter().enumerate() {
            begins[n_wrong] = n;
            for pattern in ones.iter().flat_map(|one| rotations(*one)) {
                let replaced = REPLACED.iter().find(|(never, _)| *never == pattern);
                patterns[n] = replaced.map_or(pattern, |(_, instead)| *instead);
                n += 1;
            }
        }
        begins[N_BITS + 1] = n;
        BitErrors { at_most: at_most(probability, &begins), patterns, begins }
    }

    /// Whether there are none.
    pub fn are_none(&self) -> bool {
        self.at_most[0] >= CERTAIN
    }

    /// The wrong bits of a byte, by random numbers below 2^31.
    #[inline]
    pub fn draw(&self, mut random: impl FnMut() -> u32) -> u8 {
        let chance = random() >> 3 & (CERTAIN - 1);
        if chance <= self.at_most[0] {
            return 0;
        }
        let n_wrong = (1..N_BITS).find(|n| chance <= self.at_most[*n]).unwrap_or(N_BITS);
        let (begin, end) = (self.begins[n_wrong], self.begins[n_wrong + 1]);
        self.patterns[begin + (random() >> 5) as usize % (end - begin)]
    }
}

/// A byte and what comes of it by rotation, each once.
fn rotations(one: u8) -> impl Iterator<Item = u8> {
    let n = (1..N_BITS as u32).find(|by| one.rotate_left(*by) == one).unwrap_or(N_BITS as u32);
    (0..n).map(move |by| one.rotate_left(by))
}

/// By number: the probability that at most so many bits are wrong. The products are made with more bits than they are kept
/// with.
fn at_most(probability: u32, begins: &[usize; N_BITS + 2]) -> [u32; N_BITS + 1] {
    const MORE: u32 = 7;
    let (wrong, right) = (u64::from(probability), u64::from(CERTAIN - probability));
    let mut total = 0;
    let mut at_most = [CERTAIN; N_BITS + 1];
    for (n_wrong, place) in at_most.iter_mut().take(N_BITS).enumerate() {
        let factors = (0..N_BITS).map(|bit| if bit < n_wrong { wrong } else { right });
        let each = factors.fold(u64::from(CERTAIN) << MORE, |product, factor| (product * factor) >> BITS);
        total += each * (begins[n_wrong + 1] - begins[n_wrong]) as u64;
        *place = ((total + (1 << (MORE - 1))) >> MORE) as u32;
    }
    at_most
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_pattern_has_its_number_of_bits() {
        let errors = BitErrors::new(0);
        expect_test::expect!["[0, 1, 9, 37, 93, 163, 219, 247, 255, 256]"]
            .assert_eq(&format!("{:?}", errors.begins));
        for n in 0..=N_BITS {
            let patterns = &errors.patterns[errors.begins[n]..errors.begins[n + 1]];
            assert!(patterns.iter().all(|pattern| pattern.count_ones() as usize == n));
        }
        let mut patterns = errors.patterns.to_vec();
        patterns.sort_unstable();
        patterns.dedup();
        assert_eq!(patterns.len(), 256 - REPLACED.len());
    }

    #[test]
    fn probabilities_add_up() {
        assert!(BitErrors::new(0).are_none());
        let all = BitErrors::new(CERTAIN);
        assert_eq!(all.at_most[..N_BITS], [0; N_BITS]);
        let half = BitErrors::new(CERTAIN / 2);
        let expected = half.begins[1..].iter().map(|n| (*n as u32) << (BITS - 8));
        assert_eq!(half.at_most.to_vec(), expected.collect::<Vec<_>>());
    }

    #[test]
    fn as_many_bits_are_wrong_as_are_to_be() {
        for probability in [CERTAIN / 100, CERTAIN / 3, CERTAIN - 1] {
            let errors = BitErrors::new(probability);
            let mut random = 1u64;
            let mut next = || {
                random =
                    random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
                (random >> 33) as u32
            };
            let n_wrong: u32 = (0..100_000).map(|_| errors.draw(&mut next).count_ones()).sum();
            let expected = 800_000.0 * f64::from(probability) / f64::from(CERTAIN);
            assert!((f64::from(n_wrong) - expected).abs() < 3000.0, "{n_wrong}, not {expected}");
        }
    }
}
