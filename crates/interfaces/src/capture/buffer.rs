//! A window over a stream: filled at its end in big reads, consumed at its start.

use crate::alignment::{gap, ALIGNMENT};

/// Bytes that a read should have room for; a quarter of it will do.
const READ_LEN: usize = 256 * 1024;
/// Windows up to this length are moved rather than read behind of wherever they end.
const SHORT: usize = 4096;

/// Bytes that were read and not yet consumed, with their place in the stream.
#[derive(Debug)]
pub(super) struct Buffer {
    bytes: Vec<u8>,
    start: usize,
    end: usize,
    /// Position in the stream of `bytes[start]`.
    offset: u64,
}

impl Buffer {
    pub(super) fn new() -> Self {
        Buffer { bytes: Vec::new(), start: 0, end: 0, offset: 0 }
    }

    /// The bytes at hand.
    pub(super) fn window(&self) -> &[u8] {
        self.bytes.get(self.start..self.end).unwrap_or_default()
    }

    /// `len` bytes of storage that was a window when they stood at `at` from its start, before [`Buffer::consume`].
    pub(super) fn storage(&self, at: usize, len: usize) -> &[u8] {
        self.bytes.get(at..).and_then(|rest| rest.get(..len)).unwrap_or_default()
    }

    /// Where the window starts in the storage.
    pub(super) fn start(&self) -> usize {
        self.start
    }

    /// Position in the stream of the window's first byte.
    pub(super) fn offset(&self) -> u64 {
        self.offset
    }

    /// Forgets up to `len` bytes at the start of the window; returns how many.
    pub(super) fn consume(&mut self, len: u64) -> u64 {
        let n = usize::try_from(len).unwrap_or(usize::MAX).min(self.end - self.start);
        self.start += n;
        self.offset = self.offset.saturating_add(n as u64);
        n as u64
    }

    /// Room for the next read, enough for the window to come to hold `need` bytes.
    pub(super) fn room(&mut self, need: usize) -> &mut [u8] {
        let window_len = self.end - self.start;
        let wanted = need.saturating_sub(window_len).max(READ_LEN / 4);
        if window_len <= SHORT || self.bytes.len() - self.end < wanted {
            let held = window_len.saturating_add(ALIGNMENT);
            if self.bytes.len().saturating_sub(held) < wanted {
                self.bytes.resize(held.saturating_add(wanted.max(READ_LEN)), 0);
            }
            let start = gap(&self.bytes, window_len);
            self.bytes.copy_within(self.start..self.end, start);
            (self.start, self.end) = (start, start + window_len);
        }
        self.bytes.get_mut(self.end..).unwrap_or_default()
    }

    /// Takes in `len` bytes that were written to the room.
    pub(super) fn fill(&mut self, len: usize) {
        self.end = self.end.saturating_add(len).min(self.bytes.len());
    }

    /// Forgets everything and goes on at another place of the stream.
    pub(super) fn restart_at(&mut self, offset: u64) {
        (self.start, self.end, self.offset) = (0, 0, offset);
    }
}
