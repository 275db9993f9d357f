//! The range of timestamps that `TimeFilter` lets pass.

use args::Timestamp;

/// Where a range begins.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Begin {
    /// At a time.
    At(Timestamp),
    /// Some time after the start of the graph.
    Delay(Timestamp),
    /// Some time after the first packet's timestamp.
    After(Timestamp),
}

/// Where a range ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum End {
    /// At a time.
    At(Timestamp),
    /// Some time after the start of the graph.
    Delay(Timestamp),
    /// Some time after the first packet's timestamp.
    After(Timestamp),
    /// Some time after the beginning.
    Interval(Timestamp),
}

/// A range of timestamps.
#[derive(Debug)]
pub struct Window {
    /// The earliest timestamp that is in it, as far as it is known.
    pub first: Timestamp,
    /// The first timestamp that is past it, as far as it is known.
    pub last: Timestamp,
    /// Whether the next packet past the end is to be told of.
    pub is_armed: bool,
    begin: Begin,
    end: End,
    /// When the graph started, as far as that matters.
    start: Option<Timestamp>,
    /// The first packet's timestamp, once it has come.
    first_packet: Option<Timestamp>,
}

/// What Click takes for the end of all time.
const NEVER: Timestamp = Timestamp::new(i32::MAX as i64, 0);

impl Window {
    /// A range; without `begin` it begins with the first packet, without `end` it does not end.
    pub fn new(begin: Option<Begin>, end: Option<End>, is_armed: bool) -> Window {
        let begin = begin.unwrap_or(Begin::After(Timestamp::default()));
        let end = end.unwrap_or(End::At(NEVER));
        let (Begin::At(first) | Begin::Delay(first) | Begin::After(first)) = begin;
        let (End::At(last) | End::Delay(last) | End::After(last) | End::Interval(last)) = end;
        Window { first, last, is_armed, begin, end, start: None, first_packet: None }
    }

    /// Whether it counts from the start of the graph.
    pub fn needs_now(&self) -> bool {
        matches!(self.begin, Begin::Delay(_)) || matches!(self.end, End::Delay(_))
    }

    /// The graph starts.
    pub fn start_at(&mut self, now: Timestamp) {
        self.start = Some(now);
        if matches!(self.begin, Begin::Delay(_)) {
            self.first += now;
        }
        if matches!(self.end, End::Delay(_)) {
            self.last += now;
        }
    }

    /// A packet comes with this timestamp; only the first one counts.
    #[inline]
    pub fn begin_with(&mut self, time: Timestamp) {
        if self.first_packet.is_some() {
            return;
        }
        self.first_packet = Some(time);
        if matches!(self.begin, Begin::After(_)) {
            self.first += time;
        }
        match self.end {
            End::After(_) => self.last += time,
            End::Interval(_) => self.last += self.first,
            End::At(_) | End::Delay(_) => {}
        }
    }

    /// Counts from the start and the first packet that another range counts from. If it is the same range, it is as far.
    pub fn take_over(&mut self, old: &Window) {
        if (self.begin, self.end) == (old.begin, old.end) {
            (self.first, self.last, self.start) = (old.first, old.last, old.start);
            (self.first_packet, self.is_armed) = (old.first_packet, old.is_armed);
            return;
        }
        if let (Some(now), Some(start)) = (self.start, old.start) {
            let is_begin = matches!(self.begin, Begin::Delay(_));
            let is_end = matches!(self.end, End::Delay(_));
            self.first = if is_begin { self.first - now + start } else { self.first };
            self.last = if is_end { self.last - now + start } else { self.last };
            self.start = Some(start);
        }
        if let Some(time) = old.first_packet {
            self.begin_with(time);
        }
    }

    /// Begins at a time, which is that of the first packet if none has come yet.
    pub fn set_first(&mut self, time: Timestamp) {
        self.begin_with(time);
        self.first = time;
    }

    /// Ends at a time; the next packet past it is to be told of.
    pub fn move_end(&mut self, time: Timestamp) {
        self.last = time;
        self.is_armed = true;
    }
}
