//! Evenly spaced rates: whether the next of so many events per second is due.

/// Bits of fraction of a gap in microseconds.
const GAP_SHIFT: u32 = 12;

/// Highest rate.
pub const MAX_RATE: u32 = 1_000_000 << GAP_SHIFT;

const NS_PER_S: i64 = 1_000_000_000;

/// A rate in events per second, and how many events there have been in this second.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct GapRate {
    rate: u32,
    /// Microseconds between events, with fraction.
    gap: u32,
    /// Events in this second; negative when the second before fell short.
    count: i64,
    second: Option<i64>,
}

impl GapRate {
    /// A rate that begins with the first [`GapRate::is_due`]; higher rates than [`MAX_RATE`] are lowered to it.
    pub fn new(rate: u32) -> GapRate {
        let rate = rate.min(MAX_RATE);
        GapRate { rate, gap: gap(rate), count: 0, second: None }
    }

    /// The rate.
    pub fn rate(&self) -> u32 {
        self.rate
    }

    /// Sets the rate; the events of this second are set to what the new rate asks for.
    pub fn set_rate(&mut self, rate: u32, now_ns: i64) {
        let rate = rate.min(MAX_RATE);
        if rate == self.rate {
            return;
        }
        self.rate = rate;
        self.gap = gap(rate);
        if self.second.is_some() && rate != 0 {
            self.count = i64::from(shifted_usec(now_ns) / self.gap);
        }
    }

    /// Forgets the past.
    pub fn reset(&mut self) {
        self.second = None;
    }

    /// How many events are due: more than one if the past fell short.
    #[inline]
    pub fn n_due(&mut self, now_ns: i64) -> u64 {
        let usec = shifted_usec(now_ns);
        let second = now_ns.div_euclid(NS_PER_S);
        let wanted = usec / self.gap;
        match self.second {
            None => {
                // Often an event is due at once.
                self.second = Some(second);
                self.count = i64::from(wanted) + i64::from(usec - wanted * self.gap > self.gap / 2);
            }
            Some(current) if second > current => {
                self.second = Some(second);
                if self.count > 0 {
                    self.count -= i64::from(self.rate);
                }
            }
            Some(_) => {}
        }
        u64::try_from(i64::from(wanted) - self.count + 1).unwrap_or(0)
    }

    /// Whether an event is due.
    #[inline]
    pub fn is_due(&mut self, now_ns: i64) -> bool {
        self.n_due(now_ns) > 0
    }

    /// Counts `n` events.
    #[inline]
    pub fn count(&mut self, n: u64) {
        self.count = self.count.saturating_add_unsigned(n);
    }
}

fn gap(rate: u32) -> u32 {
    MAX_RATE.checked_div(rate).unwrap_or(MAX_RATE + 1)
}

/// Microseconds after the second, shifted as a gap is.
fn shifted_usec(now_ns: i64) -> u32 {
    ((now_ns.rem_euclid(NS_PER_S) / 1000) as u32) << GAP_SHIFT
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const START: i64 = 1_000_000_000 * NS_PER_S;

    /// Asks every `step_us`; says at which microseconds an event was due.
    fn due(rate: u32, from_us: i64, step_us: usize, n: i64) -> Vec<i64> {
        let mut gap = GapRate::new(rate);
        let due = (from_us..from_us + n * step_us as i64).step_by(step_us).filter(|us| {
            let is_due = gap.is_due(START + us * 1000);
            gap.count(u64::from(is_due));
            is_due
        });
        due.collect()
    }

    #[test]
    fn events_are_spaced_evenly() {
        assert_eq!(due(1000, 0, 100, 35), [0, 1000, 2000, 3000]);
        assert_eq!(due(1000, 600, 100, 20), [1000, 2000]);
        assert_eq!(due(4, 900_000, 50_000, 10), [1_000_000, 1_250_000]);
    }

    #[test]
    fn a_rate_of_zero_lets_at_most_one_through() {
        assert!(due(0, 0, 1000, 3000).len() <= 1);
    }

    #[test]
    fn what_was_missed_is_made_up() {
        let mut gap = GapRate::new(1000);
        assert_eq!(gap.n_due(START), 1);
        gap.count(1);
        assert_eq!(gap.n_due(START + 5_000_000), 5);
    }

    proptest! {
        #[test]
        fn nothing_overflows(rate: u32, other: u32, times in prop::collection::vec(any::<i64>(), 1..20), n: u64) {
            let mut gap = GapRate::new(rate);
            for time in times {
                gap.n_due(time);
                gap.count(n);
                gap.set_rate(other, time);
            }
        }
    }
}
