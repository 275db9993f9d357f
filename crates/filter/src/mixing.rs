//! A fast hash for small keys that come from the configuration.

use std::collections::HashSet;
use std::hash::{BuildHasherDefault, Hasher};

/// Builds hashers that mix numbers word by word.
pub type Mixing = BuildHasherDefault<Mixer>;

/// Pairs of numbers.
pub type MixingSet<T> = HashSet<T, Mixing>;

/// A hash of the numbers so far.
#[derive(Default)]
pub struct Mixer(u64);

impl Hasher for Mixer {
    fn finish(&self) -> u64 {
        // The table takes both the lowest bits and the highest ones.
        self.0 ^ self.0 >> 32
    }

    fn write(&mut self, bytes: &[u8]) {
        let (words, rest) = bytes.as_chunks();
        words.iter().for_each(|&word| self.write_u32(u32::from_le_bytes(word)));
        rest.iter().for_each(|&byte| self.write_u8(byte));
    }

    fn write_u8(&mut self, number: u8) {
        self.write_u32(number.into());
    }

    fn write_usize(&mut self, number: usize) {
        self.write_u64(number as u64);
    }

    fn write_u64(&mut self, number: u64) {
        self.write_u32(number as u32);
        self.write_u32((number >> 32) as u32);
    }

    fn write_u32(&mut self, number: u32) {
        self.0 = mix(self.0, number);
    }
}

/// Multiplicative hashing: the top bits are the good ones.
#[inline]
pub fn mix(hash: u64, word: u32) -> u64 {
    (hash.rotate_left(29) ^ u64::from(word)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}
