//! The part of a capture that is read: from a first time to a last time, absolute or relative.

use args::Timestamp;

/// Where a packet's time lies.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Place {
    /// Before the first time.
    Before,
    /// To be read.
    Within,
    /// At or after the last time; told once.
    After,
}

/// How a bound is given.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Bound {
    /// There is none.
    #[default]
    None,
    /// A time since the epoch.
    Absolute,
    /// A time after the capture's first packet.
    Relative,
    /// A time after the first time that is read.
    Interval,
}

/// First and last time of what is read of a capture.
#[derive(Clone, Debug, Default)]
pub struct Window {
    first: Timestamp,
    last: Timestamp,
    has_first: bool,
    has_last: bool,
    first_is_relative: bool,
    last_is: Bound,
    is_settled: bool,
    /// First and last time as they were given.
    given: [Timestamp; 2],
}

impl Window {
    /// A window; a first time that is not given is that of the first packet.
    pub fn new(first: (Bound, Timestamp), last: (Bound, Timestamp)) -> Window {
        Window {
            first: first.1,
            last: last.1,
            has_first: first.0 != Bound::None,
            has_last: last.0 != Bound::None,
            first_is_relative: first.0 != Bound::Absolute,
            last_is: last.0,
            is_settled: false,
            given: [first.1, last.1],
        }
    }

    /// Whether it was made as another one was.
    pub fn is_like(&self, other: &Window) -> bool {
        let form = |of: &Window| (of.has_first, of.has_last, of.first_is_relative, of.last_is, of.given);
        form(self) == form(other)
    }

    /// Whether a last time was asked for.
    pub fn ends(&self) -> bool {
        self.has_last
    }

    /// Whether relative times were made absolute, which the first packet does.
    pub fn is_settled(&self) -> bool {
        self.is_settled
    }

    /// Makes relative times absolute, by the time of the first packet.
    pub fn settle(&mut self, time: Timestamp) {
        if self.first_is_relative {
            self.first += time;
        }
        match self.last_is {
            Bound::Relative => self.last += time,
            Bound::Interval => self.last += self.first,
            Bound::None | Bound::Absolute => {}
        }
        self.is_settled = true;
    }

    /// Where a time lies.
    #[inline]
    pub fn place(&mut self, time: Timestamp) -> Place {
        if self.has_first {
            if time < self.first {
                return Place::Before;
            }
            self.has_first = false;
        }
        if self.has_last && time >= self.last {
            self.has_last = false;
            return Place::After;
        }
        Place::Within
    }

    /// Moves the last time; `renews`: it shall be told again.
    pub fn extend(&mut self, interval: Timestamp, renews: bool) {
        self.last += interval;
        self.has_last |= renews;
    }

    /// Settles anew at the next packet, with the times as they are now.
    pub fn reset(&mut self) {
        self.first_is_relative = false;
        self.last_is = Bound::None;
        self.is_settled = false;
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(first: (Bound, i64), last: (Bound, i64), expect: Expect) {
        let seconds = |(bound, s): (Bound, i64)| (bound, Timestamp::new(s, 0));
        let mut window = Window::new(seconds(first), seconds(last));
        window.settle(Timestamp::new(100, 0));
        let places = (100..106).map(|s| match window.place(Timestamp::new(s, 0)) {
            Place::Before => '<',
            Place::Within => '=',
            Place::After => '>',
        });
        expect.assert_eq(&places.collect::<String>());
    }

    #[test]
    fn times_are_absolute_or_relative() {
        check((Bound::None, 0), (Bound::None, 0), expect!["======"]);
        check((Bound::Absolute, 102), (Bound::Absolute, 104), expect!["<<==>="]);
        check((Bound::Relative, 1), (Bound::Relative, 3), expect!["<==>=="]);
        check((Bound::Relative, 1), (Bound::Interval, 3), expect!["<===>="]);
        check((Bound::None, 0), (Bound::Interval, 3), expect!["===>=="]);
    }
}
