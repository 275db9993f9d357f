//! Room for packets on their way.

use std::ops::{Deref, DerefMut};

use crate::error::Result;
use crate::region::{HugePages, Region};

/// Zeroed bytes that take memory only as far as they are written. A vector of zeros takes all of it at once where the allocator has
/// freed memory to give.
#[derive(Debug)]
pub struct Buffer {
    region: Region,
}

/// Room for the longest packet with its link-layer header.
pub const LONGEST_PACKET: usize = 65_536 + 256;

impl Buffer {
    pub fn new(len: usize) -> Result<Self> {
        Ok(Self { region: Region::anonymous(len, HugePages::Off)? })
    }

    /// Room for any packet.
    pub fn for_packet() -> Result<Self> {
        Self::new(LONGEST_PACKET)
    }
}

impl Deref for Buffer {
    type Target = [u8];

    fn deref(&self) -> &[u8] {
        // SAFETY: the region is private memory of `len` initialized bytes, and only references to this value lead to it.
        unsafe { std::slice::from_raw_parts(self.region.as_ptr(), self.region.len()) }
    }
}

impl DerefMut for Buffer {
    fn deref_mut(&mut self) -> &mut [u8] {
        // SAFETY: as above; the reference is the only one.
        unsafe { std::slice::from_raw_parts_mut(self.region.as_ptr(), self.region.len()) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_zero_until_they_are_written() {
        let mut buffer = Buffer::new(70_000).unwrap();
        assert!(buffer.len() == 70_000 && buffer.iter().all(|byte| *byte == 0));
        buffer[69_999] = 7;
        assert_eq!(buffer[69_998..], [0, 7]);
    }

    #[test]
    fn no_bytes_and_too_many_are_errors() {
        assert!(Buffer::new(0).is_err() && Buffer::new(usize::MAX).is_err());
    }
}
