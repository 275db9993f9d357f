//! The keyed hash of flow tables, and of other maps that are looked into for each packet.
//!
//! It is keyed with the operating system's randomness, once a process and once a map, so that who chooses the keys cannot choose
//! which of them collide. It is not cryptographic: never show its values to the outside.

use std::collections::hash_map::RandomState;
use std::hash::{BuildHasher, Hasher};
use std::sync::OnceLock;

use foldhash::quality::{FoldHasher, SeedableRandomState};
use foldhash::SharedSeed;

/// How a map hashes; each that is made by default has another key.
#[derive(Clone, Debug)]
pub struct Keyed(SeedableRandomState);

impl Keyed {
    /// One with a chosen seed: its hash can be reproduced in this process.
    pub fn with_seed(seed: u64) -> Keyed {
        static SHARED: OnceLock<SharedSeed> = OnceLock::new();
        let shared = SHARED.get_or_init(|| SharedSeed::from_u64(random_seed()));
        Keyed(SeedableRandomState::with_seed(seed, shared))
    }
}

impl Default for Keyed {
    fn default() -> Keyed {
        Keyed::with_seed(random_seed())
    }
}

impl BuildHasher for Keyed {
    type Hasher = FoldHasher<'static>;

    #[inline(always)]
    fn build_hasher(&self) -> FoldHasher<'static> {
        self.0.build_hasher()
    }
}

/// The standard library keys its hasher by the operating system's randomness, which is what is wanted from it here.
fn random_seed() -> u64 {
    RandomState::new().build_hasher().finish()
}
