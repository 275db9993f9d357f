//! The memory of streams.

use crate::stream::BLOCK;

/// The memory of all streams, in blocks.
#[derive(Debug)]
pub struct Memory {
    limit: usize,
    n_used: usize,
    spare: Vec<Vec<u8>>,
}

impl Memory {
    /// Memory of so many bytes.
    pub fn new(n_bytes: usize) -> Memory {
        Memory { limit: n_bytes / BLOCK, n_used: 0, spare: Vec::new() }
    }

    /// Whether all is in use.
    pub fn is_full(&self) -> bool {
        self.n_used >= self.limit
    }

    /// Bytes in use.
    pub fn n_bytes(&self) -> usize {
        self.n_used * BLOCK
    }

    /// A block, if there is one.
    pub fn take(&mut self) -> Option<Vec<u8>> {
        if self.is_full() {
            return None;
        }
        self.n_used += 1;
        Some(self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK)))
    }

    /// Takes a block back.
    pub fn give(&mut self, mut block: Vec<u8>) {
        if block.capacity() > 0 {
            block.clear();
            self.n_used = self.n_used.saturating_sub(1);
            self.spare.push(block);
        }
    }

    /// Sets how many bytes there may be; what is in use stays.
    pub fn set_limit(&mut self, n_bytes: usize) {
        self.limit = n_bytes / BLOCK;
    }
}
