//! Where in memory the kernel should read from and write to when it moves much at once.
//!
//! The pages of a pipe or of a file are mostly used from their start. The kernel copies them with `rep movsb`. AMD's processors do that
//! at less than half their speed if the copy lies up to 31 bytes further into its page than the original. In memory that `malloc`
//! gives, it does.

/// What copies begin at a multiple of.
pub const ALIGNMENT: usize = 64;

/// How many bytes behind `at` of `storage` a copy should begin; less than [`ALIGNMENT`].
pub fn gap(storage: &[u8], at: usize) -> usize {
    storage.as_ptr().wrapping_add(at).align_offset(ALIGNMENT) % ALIGNMENT
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn behind_a_gap_memory_is_aligned() {
        let storage = [0; 3 * ALIGNMENT];
        for at in 0..2 * ALIGNMENT {
            let gap = gap(&storage, at);
            assert!(gap < ALIGNMENT);
            assert_eq!(storage[at + gap..].as_ptr().addr() % ALIGNMENT, 0);
        }
    }
}
