//! Exponentially weighted moving averages, in fixed point.

use super::jiffies;

/// Steps after which an average is taken to have reached what is observed all the time.
const SETTLED: u32 = 100;

/// An average that moves by 1/2^`stability` of the difference with every observation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Ewma {
    scaled: u64,
    stability: u32,
    /// Bits of fraction.
    scale: u32,
}

/// A rate: events per jiffy, averaged.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateEwma {
    average: Ewma,
    jiffy: u32,
    /// Events in this jiffy so far.
    current: u64,
}

impl Ewma {
    /// An average of 0. `stability` is at most 16, `scale` at most 28.
    pub const fn new(stability: u32, scale: u32) -> Ewma {
        Ewma { scaled: 0, stability, scale }
    }

    /// The stability shift.
    pub fn stability(&self) -> u32 {
        self.stability
    }

    /// Sets the stability shift, at most 16; the average stays.
    pub fn set_stability(&mut self, stability: u32) {
        self.stability = stability.min(16);
    }

    /// Takes over another average.
    pub fn assign(&mut self, other: &Ewma) {
        self.scaled = other.scaled;
    }

    /// The average with its bits of fraction.
    #[inline]
    pub fn scaled(&self) -> u64 {
        self.scaled
    }

    /// The average, rounded.
    #[inline]
    pub fn rounded(&self) -> u64 {
        self.scaled.wrapping_add((1 << self.scale) >> 1) >> self.scale
    }

    /// Takes an observation into account.
    #[inline]
    pub fn update(&mut self, value: u64) {
        // Half of the last bit that counts, so that the average rises as far as it falls.
        let compensation = (1u64 << self.stability) >> 1;
        let target = (value << self.scale).wrapping_add(compensation);
        let step = target.wrapping_sub(self.scaled) as i64 >> self.stability;
        self.scaled = self.scaled.wrapping_add_signed(step);
    }

    /// Takes the same observation into account `n` times.
    pub fn update_n(&mut self, value: u64, n: u32) {
        if n >= SETTLED {
            self.scaled = value << self.scale;
        } else {
            (0..n).for_each(|_| self.update(value));
        }
    }

    /// The average as text.
    pub fn unparse(&self) -> String {
        unparse_scaled(self.scaled, self.scale)
    }
}

impl RateEwma {
    /// A rate of 0 as of a jiffy, with 1/2^`stability` and `scale` bits of fraction.
    pub const fn new(stability: u32, scale: u32) -> RateEwma {
        RateEwma { average: Ewma::new(stability, scale), jiffy: 0, current: 0 }
    }

    /// Counts events at a jiffy.
    #[inline]
    pub fn update(&mut self, n_events: u64, jiffy: u32) {
        if jiffy != self.jiffy {
            self.advance(jiffy);
        }
        self.current = self.current.wrapping_add(n_events);
    }

    /// Ends the jiffy that was counted and all up to `jiffy`.
    #[cold]
    fn advance(&mut self, jiffy: u32) {
        self.average.update(self.current);
        self.average.update_n(0, jiffy.wrapping_sub(self.jiffy).wrapping_sub(1));
        self.current = 0;
        self.jiffy = jiffy;
    }

    /// The jiffy that it counts events of.
    pub fn jiffy(&self) -> u32 {
        self.jiffy
    }

    /// Events per jiffy, with the bits of fraction.
    #[inline]
    pub fn scaled(&self) -> u64 {
        self.average.scaled
    }

    /// Whole events per second.
    pub fn per_second(&self) -> u64 {
        self.average.scaled.wrapping_mul(u64::from(jiffies::PER_SECOND)) >> self.average.scale
    }

    /// Events per second as text, each counted `1 << shift` times.
    pub fn unparse_shifted(&self, shift: u32) -> String {
        let per_second = self.average.scaled.wrapping_mul(u64::from(jiffies::PER_SECOND));
        match self.average.scale.checked_sub(shift) {
            Some(scale) => unparse_scaled(per_second, scale),
            None => unparse_scaled(per_second << shift, self.average.scale),
        }
    }

    /// Events per second as text.
    pub fn unparse(&self) -> String {
        self.unparse_shifted(0)
    }
}

/// A fixed-point number with `scale` bits of fraction (at most 28) as text.
pub fn unparse_scaled(scaled: u64, scale: u32) -> String {
    let fraction = args::unparse_binary((scaled & ((1 << scale) - 1)) as u32, scale);
    let digits = fraction.strip_prefix('0').unwrap_or(&fraction);
    format!("{}{digits}", scaled >> scale)
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    #[test]
    fn an_average_follows_what_is_observed() {
        let mut average = Ewma::new(4, 10);
        let mut seen = Vec::new();
        for value in [0, 16, 16, 0, 100] {
            average.update(value);
            seen.push(average.unparse());
        }
        expect!["0 1 1.9375 1.816 7.953"].assert_eq(&seen.join(" "));
        average.update_n(5, 99);
        assert_eq!(average.rounded(), 5);
        average.update_n(3, 100);
        assert_eq!(average.unparse(), "3");
    }

    fn check_rate(events: &[(u64, u32)], expect: Expect) {
        let mut rate = RateEwma::new(4, 10);
        let texts: Vec<String> = events
            .iter()
            .map(|(n, jiffy)| {
                rate.update(*n, *jiffy);
                rate.unparse()
            })
            .collect();
        expect.assert_eq(&texts.join(" "));
    }

    #[test]
    fn a_rate_counts_whole_jiffies() {
        check_rate(&[(1, 1000), (1, 1000), (0, 1001)], expect!["0 0 125"]);
        check_rate(&[(16, 1000), (0, 1010), (0, 1200)], expect!["0 560.547 0"]);
        check_rate(&[(16, u32::MAX), (0, 0)], expect!["0 1000"]);
    }

    #[test]
    fn bytes_can_be_told_in_bits() {
        let mut rate = RateEwma::new(4, 4);
        rate.update(1000, 1);
        rate.update(0, 2);
        assert_eq!((rate.unparse(), rate.unparse_shifted(3)), ("62500".into(), "500000".into()));
    }

    #[test]
    fn large_numbers_have_no_end() {
        assert_eq!(unparse_scaled(u64::MAX, 4), "1152921504606846975.94");
        assert_eq!(unparse_scaled(5 << 10 | 512, 10), "5.5");
        assert_eq!(unparse_scaled(7, 0), "7");
    }
}
