//! One direction of a TCP connection: its bytes in order, as far back as rules look.
//!
//! What came first counts: bytes that come again are compared with what is kept, and the segment is to be looked at by
//! itself if they differ or are no longer kept. Segments that come early wait for what is before them. Where the other side
//! acknowledges what was never seen here, or too much waits, the stream goes on behind the gap.

use std::collections::VecDeque;

/// How far back, in bytes, a match that ends in new bytes may begin.
pub const LOOK_BACK: usize = 2048;
/// Bytes that a stream's buffer holds; also those of a block that a waiting segment takes.
pub const BLOCK: usize = 2 * LOOK_BACK;
/// Most blocks of segments that wait.
const MAX_WAITING: usize = 32;
/// A segment that is further ahead belongs to no window that hosts use.
const MAX_AHEAD: u32 = 1 << 24;
/// Most rules that a stream remembers.
const MAX_MARKS: usize = 16;
/// Attempts at a rule before the next one waits for an eighth of the buffer.
const QUICK_ATTEMPTS: u8 = 8;

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

    fn take(&mut self) -> Option<Vec<u8>> {
        if self.is_full() {
            return None;
        }
        self.n_used += 1;
        Some(self.spare.pop().unwrap_or_else(|| Vec::with_capacity(BLOCK)))
    }

    fn give(&mut self, mut block: Vec<u8>) {
        if block.capacity() > 0 {
            block.clear();
            self.n_used = self.n_used.saturating_sub(1);
            self.spare.push(block);
        }
    }
}

/// What a rule left behind in a stream.
#[derive(Clone, Copy, Debug)]
pub struct Mark {
    /// The rule.
    pub rule: u32,
    /// It matched, and now looks only at what comes from this position on.
    pub begin: u64,
    /// Its pattern was found, ending by this position, while other tests of it may pass with what is still to come.
    pub waits_since: Option<u64>,
    n_attempts: u8,
    /// Position at which it is tried next.
    try_at: u64,
}

/// One direction of a TCP connection.
#[derive(Debug, Default)]
pub struct Stream {
    /// Sequence number of the next byte, once the stream has begun.
    next: Option<u32>,
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
    /// Whether it has begun.
    pub fn has_begun(&self) -> bool {
        self.next.is_some()
    }

    /// Begins it, with the sequence number of the first byte.
    pub fn begin(&mut self, sequence: u32, memory: &mut Memory, counts: &mut StreamCounts) {
        self.clear(memory, counts);
        self.next = Some(sequence);
        (self.end, self.message) = (0, 0);
    }

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

    /// Whether the other side has acknowledged what was not seen.
    pub fn lacks(&self, acknowledged: u32) -> bool {
        self.next.is_some_and(|next| (1..=MAX_AHEAD).contains(&acknowledged.wrapping_sub(next)))
    }

    /// FIN takes a sequence number, if it comes behind the last byte.
    pub fn finish(&mut self, sequence: u32) {
        if self.next == Some(sequence) {
            self.next = Some(sequence.wrapping_add(1));
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
        let next = *self.next.get_or_insert(sequence);
        let ahead = sequence.wrapping_sub(next);
        if ahead == 0 {
            return Offer::Next(0);
        }
        let behind = next.wrapping_sub(sequence) as usize;
        if (ahead as i32) < 0 {
            let offer = self.compare(behind, payload);
            counts.retransmissions += u64::from(matches!(offer, Offer::Alone | Offer::Differs(_)));
            return offer;
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
    fn compare(&self, behind: usize, payload: &[u8]) -> Offer {
        let n_old = behind.min(payload.len());
        let begin = self.buffer.len().checked_sub(behind);
        let kept = begin.and_then(|begin| self.buffer.get(begin..begin + n_old));
        let is_same = kept.is_some() && kept == payload.get(..n_old);
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

    /// The next bytes of a segment that waited, with how many of its first are old; the stream's buffer is not theirs yet.
    pub fn take_ready(&mut self, memory: &mut Memory) -> Option<(Vec<u8>, usize)> {
        let next = self.next?;
        loop {
            let first = self.waiting.front()?;
            let behind = next.wrapping_sub(first.sequence);
            if (behind as i32) < 0 {
                return None;
            }
            let waiting = self.waiting.pop_front()?;
            if (behind as usize) < waiting.bytes.len() {
                return Some((waiting.bytes, behind as usize));
            }
            memory.give(waiting.bytes);
        }
    }

    /// Gives back what [`Stream::take_ready`] gave.
    pub fn give_back(&mut self, bytes: Vec<u8>, memory: &mut Memory) {
        memory.give(bytes);
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
            acknowledged.map(|ack| ack.wrapping_sub(next)).filter(|ahead| (1..=MAX_AHEAD).contains(ahead));
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
        self.next = Some(next.wrapping_add(skipped));
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

/// What rules left behind in a stream, during a search in its buffer.
#[derive(Debug, Default)]
pub struct Marks {
    marks: Vec<Mark>,
    /// Positions of the buffer.
    begin: u64,
    end: u64,
}

impl Marks {
    /// The rules that wait for more.
    pub fn waiting(&self) -> impl Iterator<Item = u32> + '_ {
        self.marks.iter().filter(|mark| mark.waits_since.is_some()).map(|mark| mark.rule)
    }

    /// Whether nothing is marked.
    pub fn is_empty(&self) -> bool {
        self.marks.is_empty()
    }

    /// Where in the buffer a rule may begin to look; `None` if it was tried often, and is to wait.
    pub fn origin(&self, rule: u32) -> Option<usize> {
        let Some(mark) = self.marks.iter().find(|mark| mark.rule == rule) else { return Some(0) };
        let is_due = mark.n_attempts < QUICK_ATTEMPTS || mark.try_at <= self.end;
        is_due.then(|| usize::try_from(mark.begin.saturating_sub(self.begin)).unwrap_or(usize::MAX))
    }

    /// Makes all rules that wait due, as this is their last chance.
    pub fn hurry(&mut self) {
        self.marks.iter_mut().for_each(|mark| mark.try_at = 0);
    }

    /// A rule matched.
    pub fn matched(&mut self, rule: u32) {
        let end = self.end;
        let mark = self.mark(rule);
        (mark.begin, mark.waits_since, mark.n_attempts) = (end, None, 0);
    }

    /// A rule's pattern is there, but not all it asks for.
    pub fn missed(&mut self, rule: u32, is_new: bool) {
        let (end, n_bytes) = (self.end, self.end - self.begin);
        let mark = self.mark(rule);
        if is_new || mark.waits_since.is_none() {
            mark.waits_since = Some(end);
        }
        mark.n_attempts = mark.n_attempts.saturating_add(1);
        mark.try_at = end + n_bytes / 8;
    }

    /// Forgets what is no longer in the buffer.
    pub fn expire(&mut self) {
        let begin = self.begin;
        self.marks.retain(|mark| mark.begin > begin || mark.waits_since.is_some_and(|since| since > begin));
    }

    fn mark(&mut self, rule: u32) -> &mut Mark {
        let idx = self.marks.iter().position(|mark| mark.rule == rule).unwrap_or_else(|| {
            if self.marks.len() >= MAX_MARKS {
                self.marks.remove(0);
            }
            self.marks.push(Mark { rule, begin: 0, waits_since: None, n_attempts: 0, try_at: 0 });
            self.marks.len() - 1
        });
        self.marks.get_mut(idx).expect("it was found, or added last")
    }
}
