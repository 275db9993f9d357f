//! How a stream begins: SYNs, and what answers them.

use super::{Stream, StreamCounts};
use crate::memory::Memory;

impl Stream {
    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.next.is_some()
    }

    /// Begins it, with the sequence number of the first byte.
    pub fn begin(&mut self, sequence: u32, memory: &mut Memory, counts: &mut StreamCounts) {
        self.clear(memory, counts);
        (self.next, self.sent, self.claimed) = (Some(sequence), sequence, None);
        (self.end, self.message) = (0, 0);
        (self.n_opening, self.asked, self.is_agreed) = (0, None, false);
    }

    /// Begins it elsewhere. If it had nothing yet, where it began before may be meant still.
    pub fn begin_instead(&mut self, sequence: u32, memory: &mut Memory, counts: &mut StreamCounts) {
        let before = self.next.filter(|_| self.end == 0);
        self.begin(sequence, memory, counts);
        self.asked = before.map(|first| (first, first));
    }

    /// The SYN that began it has so many bytes.
    pub fn open_with(&mut self, n_bytes: usize) {
        self.n_opening = n_bytes as u32;
    }

    /// Another SYN came, with so many bytes, that did not begin it.
    pub fn ask(&mut self, sequence: u32, n_bytes: usize) {
        self.asked = Some((sequence, sequence.wrapping_add(n_bytes as u32)));
    }

    /// Whether an acknowledgement is of the SYN that began it, and of none, some or all bytes that came with that.
    pub fn is_answered_by(&self, acknowledged: u32) -> bool {
        self.first().is_some_and(|first| acknowledged.wrapping_sub(first) <= self.n_opening)
    }

    /// Whether an acknowledgement is of another SYN.
    pub fn was_asked_for(&self, acknowledged: u32) -> bool {
        self.asked.is_some_and(|(first, end)| acknowledged.wrapping_sub(first) <= end.wrapping_sub(first))
    }

    /// Whether it may begin elsewhere yet: nothing came, and the other side has not acknowledged its SYN.
    pub fn is_open(&self) -> bool {
        self.end == 0 && !self.is_agreed
    }

    /// The other side has answered the SYN, and has taken the bytes that came with it up to `acknowledged`; whether there
    /// are any.
    pub fn answer(&mut self, acknowledged: u32) -> bool {
        let Some(next) = self.next.filter(|_| self.end > 0 && self.end == u64::from(self.n_opening)) else {
            return false;
        };
        let n_refused = next.wrapping_sub(acknowledged).min(self.n_opening);
        if n_refused > 0 {
            self.buffer.truncate(self.buffer.len().saturating_sub(n_refused as usize));
            self.marks.clear();
            self.n_opening -= n_refused;
            (self.next, self.end) = (Some(acknowledged), u64::from(self.n_opening));
            (self.sent, self.message) = (acknowledged, self.message.min(self.end));
        }
        self.end > 0
    }

    /// The sequence number of its first byte.
    pub fn first(&self) -> Option<u32> {
        Some(self.next?.wrapping_sub(self.end as u32))
    }
}
