//! One direction of a TCP connection: its bytes in order, as far back as rules look.
//!
//! What came first counts: bytes that come again are compared with what is kept, and the segment is to be looked at by
//! itself if they differ or are no longer kept. Segments that come early wait for what is before them, and are then treated
//! like any other that comes at that moment. Where the other side acknowledges what was never seen here, or too much waits,
//! the stream goes on behind the gap. An acknowledgement of more than was seen sent may be wrong: the stream goes on there
//! when data comes that begins there.

mod opening;

use std::collections::VecDeque;

use crate::marks::{Mark, Marks};
use crate::memory::Memory;

/// How far back, in bytes, a match that ends in new bytes may begin.
pub const LOOK_BACK: usize = 2048;
/// Bytes that a stream's buffer holds; also those of a block that a waiting segment takes.
pub const BLOCK: usize = 2 * LOOK_BACK;
/// Most blocks of segments that wait.
const MAX_WAITING: usize = 32;
/// A segment that is further ahead belongs to no window that hosts use.
const MAX_AHEAD: u32 = 1 << 24;
/// How far an acknowledgement may be ahead: half of all sequence numbers are.
const MAX_MISSED: u32 = i32::MAX as u32;

/// One direction of a TCP connection.
#[derive(Debug, Default)]
pub struct Stream {
    /// Sequence number of the next byte, once the stream has begun.
    next: Option<u32>,
    /// Sequence number behind all that was seen sent, once the stream has begun; or one that is behind `next`.
    sent: u32,
    /// What the other side has acknowledged though it was not seen sent.
    claimed: Option<u32>,
    /// Bytes that came with the SYN.
    n_opening: u32,
    /// Another SYN, which did not begin the stream: the sequence numbers of its first byte, and behind its last.
    asked: Option<(u32, u32)>,
    /// Whether the other side has acknowledged something of it.
    is_agreed: bool,
    /// Position of the next byte.
    end: u64,
    /// Position where the message begins that is under way.
    message: u64,
    /// The bytes before `end`.
    buffer: Vec<u8>,
    waiting: VecDeque<Waiting>,
    marks: Vec<Mark>,
}

#[derive(Debug)]
struct Waiting {
    sequence: u32,
    bytes: Vec<u8>,
}

/// What becomes of a segment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// Its bytes from this one on are next.
    Next(usize),
    /// As [`Offer::Next`], but what comes before differs from what was there.
    Differs(usize),
    /// It was seen before.
    Seen,
    /// It is to be looked at by itself: it comes again, and what came first is not known any more or differs.
    Alone,
    /// It waits for what is before it.
    Early,
}

/// What counts of a segment at its end, and how streams ended up.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct StreamCounts {
    /// Gaps that were left open.
    pub gaps: u64,
    /// Segments that came again and were looked at by themselves.
    pub retransmissions: u64,
    /// Segments that were looked at by themselves for lack of memory.
    pub unbuffered: u64,
    /// Segments that were given up while they waited.
    pub lost: u64,
}

impl Stream {
    /// Gives all memory back.
    pub fn clear(&mut self, memory: &mut Memory, counts: &mut StreamCounts) {
        memory.give(std::mem::take(&mut self.buffer));
        counts.lost += self.waiting.len() as u64;
        self.waiting.drain(..).for_each(|waiting| memory.give(waiting.bytes));
        self.marks.clear();
        self.message = self.end;
    }

    /// Whether it holds memory.
    pub fn has_memory(&self) -> bool {
        self.buffer.capacity() > 0 || !self.waiting.is_empty()
    }

    /// Whether the next byte is among so many from a sequence number on, or just behind them.
    pub fn is_next(&self, sequence: u32, len: usize) -> bool {
        self.next.is_none_or(|next| next.wrapping_sub(sequence) as usize <= len)
    }

    /// Whether a sequence number is ahead of the next byte's.
    fn is_ahead(&self, sequence: u32) -> bool {
        self.next.is_some_and(|next| (1..=MAX_MISSED).contains(&sequence.wrapping_sub(next)))
    }

    /// Up to where the other side has what was not seen, if it acknowledges this: not behind what was seen sent, where the
    /// acknowledgement may be wrong.
    pub fn lacks(&mut self, acknowledged: u32) -> Option<u32> {
        self.claimed = None;
        let next = self.next?;
        if !self.is_ahead(acknowledged) {
            self.is_agreed |= u64::from(next.wrapping_sub(acknowledged)) <= self.end;
            return None;
        }
        if acknowledged.wrapping_sub(self.sent) as i32 <= 0 {
            self.is_agreed = true;
            return Some(acknowledged);
        }
        self.claimed = Some(acknowledged);
        Some(self.sent).filter(|sent| self.is_ahead(*sent))
    }

    /// Whether the other side has acknowledged just what is before a segment, without that having been seen.
    pub fn was_claimed(&self, sequence: u32) -> bool {
        self.claimed == Some(sequence) && self.is_ahead(sequence)
    }

    /// Bytes up to a sequence number were seen sent.
    fn note_sent(&mut self, end: u32) {
        let is_near = self.next.is_some_and(|next| end.wrapping_sub(next) <= MAX_AHEAD);
        if is_near && end.wrapping_sub(self.sent) as i32 > 0 {
            self.sent = end;
        }
    }

    /// Counts bytes as seen that are not searched.
    pub fn pass(&mut self, sequence: u32, len: usize) {
        let Some(next) = self.next else { return };
        let n_new = sequence.wrapping_add(len as u32).wrapping_sub(next);
        if n_new <= MAX_AHEAD {
            self.next = Some(next.wrapping_add(n_new));
            self.end += u64::from(n_new);
        }
    }

    /// FIN takes a sequence number, if it comes behind the last byte.
    pub fn finish(&mut self, sequence: u32) {
        let end = sequence.wrapping_add(1);
        self.note_sent(end);
        if self.next == Some(sequence) {
            self.next = Some(end);
        }
    }

    /// Bytes seen in order.
    pub fn position(&self) -> u64 {
        self.end
    }

    /// A new message begins with the next byte.
    pub fn begin_message(&mut self) {
        self.message = self.end;
    }

    /// Where in the buffer the message under way begins, if that is kept.
    pub fn message_at(&self) -> Option<usize> {
        usize::try_from(self.message.checked_sub(self.begin_of_buffer())?).ok()
    }

    fn begin_of_buffer(&self) -> u64 {
        self.end - self.buffer.len() as u64
    }

    /// Decides what becomes of a segment, and keeps it if it is early.
    pub fn offer(
        &mut self,
        sequence: u32,
        payload: &[u8],
        memory: &mut Memory,
        counts: &mut StreamCounts,
    ) -> Offer {
        let next = match self.next {
            Some(next) => next,
            None => {
                (self.next, self.sent) = (Some(sequence), sequence);
                sequence
            }
        };
        self.note_sent(sequence.wrapping_add(payload.len() as u32));
        let ahead = sequence.wrapping_sub(next);
        if ahead == 0 {
            return Offer::Next(0);
        }
        if (ahead as i32) < 0 {
            return self.compare(next.wrapping_sub(sequence), payload, counts);
        }
        if ahead > MAX_AHEAD {
            counts.retransmissions += 1;
            return Offer::Alone;
        }
        if self.keep(sequence, payload, memory) {
            return Offer::Early;
        }
        counts.unbuffered += 1;
        Offer::Alone
    }

    /// What becomes of a segment that begins so many bytes before the next one.
    fn compare(&self, behind: u32, payload: &[u8], counts: &mut StreamCounts) -> Offer {
        let behind = behind as usize;
        let n_old = behind.min(payload.len());
        let begin = self.buffer.len().checked_sub(behind);
        let kept = begin.and_then(|begin| self.buffer.get(begin..begin + n_old));
        let is_same = kept.is_some() && kept == payload.get(..n_old);
        counts.retransmissions += u64::from(!is_same);
        match (is_same, n_old < payload.len()) {
            (true, true) => Offer::Next(n_old),
            (true, false) => Offer::Seen,
            (false, true) => Offer::Differs(n_old),
            (false, false) => Offer::Alone,
        }
    }

    fn keep(&mut self, sequence: u32, payload: &[u8], memory: &mut Memory) -> bool {
        let next = self.next.unwrap_or(sequence);
        let n_blocks = payload.len().div_ceil(BLOCK);
        if self.waiting.len() + n_blocks > MAX_WAITING {
            return false;
        }
        for (i, part) in payload.chunks(BLOCK).enumerate() {
            let sequence = sequence.wrapping_add((i * BLOCK) as u32);
            let ahead = sequence.wrapping_sub(next);
            let idx = self.waiting.partition_point(|other| other.sequence.wrapping_sub(next) <= ahead);
            let is_known = idx
                .checked_sub(1)
                .and_then(|before| self.waiting.get(before))
                .is_some_and(|before| before.sequence == sequence && before.bytes.starts_with(part));
            if is_known {
                continue;
            }
            let Some(mut bytes) = memory.take() else { return false };
            bytes.extend_from_slice(part);
            self.waiting.insert(idx, Waiting { sequence, bytes });
        }
        true
    }

    /// A segment that need not wait any longer, and what becomes of it: others may have brought its bytes before.
    pub fn take_ready(&mut self, counts: &mut StreamCounts) -> Option<(Vec<u8>, Offer)> {
        let behind = self.next?.wrapping_sub(self.waiting.front()?.sequence);
        if (behind as i32) < 0 {
            return None;
        }
        let Waiting { bytes, .. } = self.waiting.pop_front()?;
        let offer = self.compare(behind, &bytes, counts);
        Some((bytes, offer))
    }

    /// Goes on behind a gap if too much waits, or if the other side has acknowledged what was not seen.
    pub fn close_gap(
        &mut self,
        acknowledged: Option<u32>,
        memory: &mut Memory,
        counts: &mut StreamCounts,
    ) -> bool {
        let Some(next) = self.next else { return false };
        let ahead =
            acknowledged.map(|ack| ack.wrapping_sub(next)).filter(|ahead| (1..=MAX_MISSED).contains(ahead));
        let first = self.waiting.front().map(|waiting| waiting.sequence.wrapping_sub(next));
        let is_crowded = self.waiting.len() * 2 > MAX_WAITING || memory.is_full();
        let skipped = match (ahead, first) {
            (Some(ahead), Some(first)) => first.min(ahead),
            (Some(ahead), None) => ahead,
            (None, Some(first)) if is_crowded => first,
            (None, _) => return false,
        };
        if skipped == 0 {
            return false;
        }
        counts.gaps += 1;
        memory.give(std::mem::take(&mut self.buffer));
        self.marks.clear();
        let after = next.wrapping_add(skipped);
        self.next = Some(after);
        if after.wrapping_sub(self.sent) as i32 > 0 {
            self.sent = after;
        }
        self.end += u64::from(skipped);
        self.message = self.end;
        true
    }

    /// Adds the next bytes, at most [`LOOK_BACK`], to the buffer; yields where in it they begin. `None` for lack of memory:
    /// they count as seen nevertheless.
    pub fn append(&mut self, bytes: &[u8], memory: &mut Memory) -> Option<usize> {
        self.next = self.next.map(|next| next.wrapping_add(bytes.len() as u32));
        self.end += bytes.len() as u64;
        if self.buffer.capacity() == 0 {
            let Some(block) = memory.take() else {
                self.marks.clear();
                self.message = self.end;
                return None;
            };
            self.buffer = block;
        }
        if self.buffer.len() + bytes.len() > BLOCK {
            let n_old = self.buffer.len() - LOOK_BACK.min(self.buffer.len());
            self.buffer.drain(..n_old);
        }
        let fresh = self.buffer.len();
        self.buffer.extend_from_slice(bytes);
        Some(fresh)
    }

    /// Takes buffer and marks out for a search, to be put back by [`Stream::put_back`].
    pub fn take_out(&mut self) -> (Vec<u8>, Marks) {
        let buffer = std::mem::take(&mut self.buffer);
        let begin = self.end - buffer.len() as u64;
        (buffer, Marks { marks: std::mem::take(&mut self.marks), begin, end: self.end })
    }

    /// Puts back what [`Stream::take_out`] took.
    pub fn put_back(&mut self, buffer: Vec<u8>, marks: Marks) {
        self.buffer = buffer;
        self.marks = marks.marks;
    }

    /// Forgets what rules have left behind, for new rules.
    pub fn forget_marks(&mut self) {
        self.marks.clear();
    }
}
