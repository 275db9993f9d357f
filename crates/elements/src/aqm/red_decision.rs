//! Whether random early detection drops a packet (Floyd and Jacobson, "Random Early Detection Gateways for Congestion
//! Avoidance", 1993; the gentle variant is Floyd's of 1997).

use crate::standard::ewma::Ewma;
use crate::standard::jiffies;

/// Bits of fraction of average lengths.
const SCALE: u32 = 10;

/// 1 as a probability.
pub const CERTAIN: u32 = 0x1_0000;

/// Jiffies that an empty queue counts as one observation.
const JIFFIES_PER_OBSERVATION: u32 = jiffies::PER_SECOND / 50;

/// The parameters.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Parameters {
    /// Up to this average length nothing is dropped.
    pub min_thresh: u32,
    /// At this average length `max_p` of all packets are dropped.
    pub max_thresh: u32,
    /// Probability in 65536ths.
    pub max_p: u32,
    /// How slowly the average follows; 0: not averaged.
    pub stability: u32,
    /// Whether the probability rises steadily from `max_thresh` to twice that, rather than at once to 1.
    pub is_gentle: bool,
}

/// The average length of a queue and what follows from it.
#[derive(Clone, Debug)]
pub struct Decision {
    average: Ewma,
    /// Packets since the last drop; `None` while none is to be dropped at random.
    n_since_drop: Option<u32>,
    random: u32,
    /// When the queue was last seen empty, in observations, if it still was then.
    empty_at: Option<u32>,
}

impl Parameters {
    /// What is wrong with them, if anything.
    pub fn check(&self) -> Result<(), String> {
        let mistake = if self.max_thresh > 0xFFFF {
            "MAX_THRESH must be <= 65535"
        } else if self.min_thresh > self.max_thresh {
            "MIN_THRESH must be <= MAX_THRESH"
        } else if self.max_p > CERTAIN {
            "MAX_P must be between 0 and 1"
        } else if self.stability > 16 {
            "STABILITY must be between 0 and 16"
        } else {
            return Ok(());
        };
        Err(mistake.to_string())
    }

    /// What they mean for each average length.
    pub fn curve(&self) -> Curve {
        let (min_thresh, max_thresh) = (i64::from(self.min_thresh), i64::from(self.max_thresh));
        let (max_p, range) = (i64::from(self.max_p), max_thresh - min_thresh);
        let factor = if self.is_gentle && self.max_p != CERTAIN { 2 } else { 1 };
        Curve {
            min_thresh: u64::from(self.min_thresh),
            max_thresh: u64::from(self.max_thresh),
            kill_thresh: u64::from(self.max_thresh) * factor,
            rise: Line {
                slope: max_p.checked_div(range).unwrap_or(0),
                offset: (max_p * min_thresh).checked_div(range).unwrap_or(1),
            },
            steep_rise: Line {
                slope: (i64::from(CERTAIN) - max_p).checked_div(max_thresh).unwrap_or(0),
                offset: i64::from(CERTAIN) - 2 * max_p,
            },
        }
    }
}

/// The probability of a drop over the average length: 0 up to a threshold, then two straight lines, then 1.
#[derive(Clone, Copy, Debug)]
pub struct Curve {
    min_thresh: u64,
    max_thresh: u64,
    /// Above this average length everything is dropped.
    kill_thresh: u64,
    /// Up to `max_thresh`.
    rise: Line,
    /// Above it.
    steep_rise: Line,
}

/// A straight line in whole numbers.
#[derive(Clone, Copy, Debug)]
struct Line {
    slope: i64,
    offset: i64,
}

impl Curve {
    /// The probability of a drop in 65536ths between the thresholds.
    fn probability(&self, average: &Ewma) -> i64 {
        let is_steep = average.rounded() > self.max_thresh;
        let Line { slope, offset } = if is_steep { self.steep_rise } else { self.rise };
        let scaled = i64::try_from(average.scaled()).unwrap_or(i64::MAX);
        (slope.saturating_mul(scaled) >> SCALE) - offset
    }
}

impl Decision {
    /// With an average of 0.
    pub fn new(stability: u32) -> Decision {
        Decision { average: Ewma::new(stability, SCALE), n_since_drop: None, random: 0, empty_at: None }
    }

    /// The average length.
    pub fn average(&self) -> &Ewma {
        &self.average
    }

    /// Goes on from another average.
    pub fn take_over(&mut self, old: &Decision, stability: u32) {
        *self = old.clone();
        self.average.set_stability(stability);
    }

    /// Whether [`Decision::drops`] looks at the time if the queue has this length.
    #[inline]
    pub fn needs_time(&self, len: usize) -> bool {
        len == 0 && self.average.stability() != 0
    }

    /// Whether a packet that finds `len` packets in the queue is to be dropped.
    #[inline]
    pub fn drops(&mut self, curve: &Curve, len: usize, now_ns: i64, random: impl FnOnce() -> u32) -> bool {
        let average = self.observe(len as u64, now_ns);
        if average <= curve.min_thresh {
            self.n_since_drop = None;
            return false;
        }
        if average > curve.kill_thresh {
            self.n_since_drop = None;
            return true;
        }
        let probability = curve.probability(&self.average);
        let n = self.n_since_drop.map_or(0, |n| n.saturating_add(1));
        // Drops are spread evenly: the more packets have passed, the likelier is the next drop.
        let drops = n > 0 && probability > 0 && i64::from(n) > i64::from(self.random) / probability;
        if drops || n == 0 {
            self.random = random() >> 5 & 0xFFFF;
        }
        self.n_since_drop = Some(if drops { 0 } else { n });
        drops
    }

    /// Takes a length into account and yields the average.
    fn observe(&mut self, len: u64, now_ns: i64) -> u64 {
        if self.average.stability() == 0 {
            return len;
        }
        if len > 0 {
            self.average.update(len);
            self.empty_at = None;
        } else {
            // While the queue was empty nobody asked.
            let now = jiffies::at(now_ns) / JIFFIES_PER_OBSERVATION;
            let n = self.empty_at.map_or(1, |since| now.wrapping_sub(since));
            self.average.update_n(0, n);
            self.empty_at = Some(now);
        }
        self.average.rounded()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn parameters(stability: u32, is_gentle: bool) -> Parameters {
        Parameters { min_thresh: 5, max_thresh: 50, max_p: CERTAIN / 50, stability, is_gentle }
    }

    /// How many of 10000 packets are dropped at a steady length.
    fn n_dropped(parameters: &Parameters, len: usize) -> usize {
        let (mut decision, curve) = (Decision::new(parameters.stability), parameters.curve());
        let mut random = 12345u32;
        let mut drops = |_: &usize| {
            decision.drops(&curve, len, 0, || {
                random = random.wrapping_mul(1_103_515_245).wrapping_add(12345);
                random >> 8
            })
        };
        for i in 0..100 {
            // Until the average is steady.
            let _ = drops(&i);
        }
        (0..10_000).filter(drops).count()
    }

    #[test]
    fn the_longer_the_queue_the_more_is_dropped() {
        let counts = [0, 5, 10, 30, 50, 75, 100, 101].map(|len| n_dropped(&parameters(4, true), len));
        expect_test::expect!["[0, 0, 42, 208, 392, 6692, 9985, 10000]"].assert_eq(&format!("{counts:?}"));
        let counts = [50, 51].map(|len| n_dropped(&parameters(4, false), len));
        assert_eq!(counts[1], 10_000);
    }

    #[test]
    fn parameters_are_checked() {
        let check = |change: fn(&mut Parameters)| {
            let mut parameters = parameters(4, true);
            change(&mut parameters);
            parameters.check().err().unwrap_or_default()
        };
        assert_eq!(check(|_| ()), "");
        assert_eq!(check(|p| p.max_thresh = 1), "MIN_THRESH must be <= MAX_THRESH");
        assert_eq!(check(|p| p.max_p = CERTAIN + 1), "MAX_P must be between 0 and 1");
        assert_eq!(check(|p| p.stability = 17), "STABILITY must be between 0 and 16");
    }

    proptest! {
        #[test]
        fn nothing_overflows(
            a in 0u32..=0xFFFF, b in 0u32..=0xFFFF, max_p in 0u32..=CERTAIN, stability in 0u32..=16, is_gentle: bool,
            lens in prop::collection::vec((any::<u32>(), any::<i64>(), any::<u32>()), 0..30),
        ) {
            let (min_thresh, max_thresh) = (a.min(b), a.max(b));
            let parameters = Parameters { min_thresh, max_thresh, max_p, stability, is_gentle };
            prop_assert_eq!(parameters.check(), Ok(()));
            let mut decision = Decision::new(stability);
            for (len, now, random) in lens {
                decision.drops(&parameters.curve(), len as usize, now, || random);
            }
        }
    }
}
