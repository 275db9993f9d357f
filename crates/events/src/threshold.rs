//! Thresholds with hysteresis, as alarms of RMON have them (RFC 2819, `alarmTable`).

use serde::{Deserialize, Serialize};

/// Which way a value went.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Crossing {
    /// Up to the rising bound, or above.
    Rising,
    /// Down to the falling bound, or below.
    Falling,
}

/// What is compared (`alarmSampleType`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Sample {
    /// The value.
    #[default]
    Absolute,
    /// What was added to it since the last look.
    Delta,
}

/// What the first value may cause (`alarmStartupAlarm`).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "lowercase")]
pub enum Startup {
    /// An event if it is too high.
    #[default]
    Rising,
    /// An event if it is too low.
    Falling,
    /// Either.
    Both,
}

/// When a value is worth an event.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Threshold {
    /// At this value or above there is an event, but not again before the value was down at `falling`, or below this one if there is
    /// no such bound.
    pub rising: Option<f64>,
    /// The same the other way.
    pub falling: Option<f64>,
    /// What is compared.
    #[serde(default)]
    pub sample: Sample,
    /// What the first value may cause.
    #[serde(default)]
    pub startup: Startup,
    /// Milliseconds between two looks.
    pub every_ms: u32,
}

impl Crossing {
    /// As events write it.
    pub fn name(self) -> &'static str {
        match self {
            Crossing::Rising => "rising",
            Crossing::Falling => "falling",
        }
    }
}

impl Startup {
    /// The words for all of them.
    pub const WORDS: [&'static str; 3] = ["rising", "falling", "both"];

    /// The one that such a word means.
    pub fn named(word: &str) -> Option<Startup> {
        match word {
            "rising" => Some(Startup::Rising),
            "falling" => Some(Startup::Falling),
            "both" => Some(Startup::Both),
            _ => None,
        }
    }

    fn allows(self, crossing: Crossing) -> bool {
        match self {
            Startup::Rising => crossing == Crossing::Rising,
            Startup::Falling => crossing == Crossing::Falling,
            Startup::Both => true,
        }
    }
}

impl Threshold {
    /// Fewest milliseconds between two looks: a look asks the graph's thread.
    pub const MIN_EVERY_MS: u32 = 10;
    /// Most milliseconds between two looks: a day.
    pub const MAX_EVERY_MS: u32 = 86_400_000;

    /// Why it cannot be.
    pub fn check(&self) -> Result<(), String> {
        match (self.rising, self.falling) {
            (None, None) => return Err("give a rising bound, a falling one, or both".to_string()),
            (Some(rising), Some(falling)) if falling >= rising => {
                return Err(format!("the falling bound {falling} must be below the rising one {rising}"));
            }
            _ => {}
        }
        if ![self.rising, self.falling].iter().flatten().all(|bound| bound.is_finite()) {
            return Err("a bound is a number".to_string());
        }
        let range = Threshold::MIN_EVERY_MS..=Threshold::MAX_EVERY_MS;
        match range.contains(&self.every_ms) {
            true => Ok(()),
            false => Err("the time between two looks is from 10ms to 24h".to_string()),
        }
    }
}

/// Compares values with a threshold, one after the other.
#[derive(Clone, Debug)]
pub(crate) struct Monitor {
    threshold: Threshold,
    /// What the next difference is from.
    before: Option<f64>,
    is_first: bool,
    can_rise: bool,
    can_fall: bool,
}

impl Monitor {
    pub fn new(threshold: Threshold) -> Monitor {
        Monitor { threshold, before: None, is_first: true, can_rise: true, can_fall: true }
    }

    pub fn threshold(&self) -> &Threshold {
        &self.threshold
    }

    /// There was no value: the next difference is not from one before that.
    pub fn miss(&mut self) {
        self.before = None;
    }

    /// What is compared for this value, if there is something, and what of it is worth an event.
    pub fn look(&mut self, value: f64) -> (Option<f64>, Option<Crossing>) {
        let value = match self.threshold.sample {
            Sample::Absolute => value,
            Sample::Delta => match self.before.replace(value) {
                Some(before) => value - before,
                None => return (None, None),
            },
        };
        let crossing = self.crossing(value);
        let is_first = std::mem::replace(&mut self.is_first, false);
        let allowed = |crossing: &Crossing| !is_first || self.threshold.startup.allows(*crossing);
        (Some(value), crossing.filter(allowed))
    }

    /// The bound of a crossing.
    pub fn bound(&self, crossing: Crossing) -> f64 {
        let bound = match crossing {
            Crossing::Rising => self.threshold.rising,
            Crossing::Falling => self.threshold.falling,
        };
        bound.unwrap_or_default()
    }

    fn crossing(&mut self, value: f64) -> Option<Crossing> {
        let (rising, falling) = (self.threshold.rising, self.threshold.falling);
        let is_high = rising.is_some_and(|bound| value >= bound);
        let is_low = falling.is_some_and(|bound| value <= bound);
        let crossing = match () {
            () if is_high && self.can_rise => Some(Crossing::Rising),
            () if is_low && self.can_fall => Some(Crossing::Falling),
            () => None,
        };
        // Without a bound on the other side, leaving this side is enough.
        self.can_rise = !is_high && (self.can_rise || is_low || falling.is_none());
        self.can_fall = !is_low && (self.can_fall || is_high || rising.is_none());
        crossing
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn threshold(rising: Option<f64>, falling: Option<f64>) -> Threshold {
        let (sample, startup) = Default::default();
        Threshold { rising, falling, sample, startup, every_ms: 1000 }
    }

    /// What each value causes: `^`, `v`, or `-`.
    fn told(threshold: Threshold, values: &[f64]) -> String {
        let mut monitor = Monitor::new(threshold);
        let mark = |value: &f64| match monitor.look(*value).1 {
            Some(Crossing::Rising) => '^',
            Some(Crossing::Falling) => 'v',
            None => '-',
        };
        values.iter().map(mark).collect()
    }

    #[test]
    fn an_event_does_not_come_again_before_the_value_was_at_the_other_bound() {
        let values = [5.0, 8.0, 9.0, 6.0, 8.0, 2.0, 3.0, 1.0, 8.0, 0.0];
        assert_eq!(told(threshold(Some(8.0), Some(2.0)), &values), "-^---v--^v");
        assert_eq!(told(threshold(Some(8.0), None), &values), "-^--^---^-");
        assert_eq!(told(threshold(None, Some(2.0)), &values), "-----v-v-v");
    }

    #[test]
    fn the_first_value_causes_what_it_may() {
        for (startup, high, low) in
            [(Startup::Rising, "^v^", "-^v"), (Startup::Falling, "-v^", "v^v"), (Startup::Both, "^v^", "v^v")]
        {
            let threshold = Threshold { startup, ..threshold(Some(8.0), Some(2.0)) };
            assert_eq!(told(threshold.clone(), &[9.0, 1.0, 9.0]), high);
            assert_eq!(told(threshold, &[1.0, 9.0, 1.0]), low);
        }
    }

    #[test]
    fn words_mean_what_is_written_in_json() {
        for word in Startup::WORDS {
            let startup = Startup::named(word).unwrap();
            assert_eq!(serde_json::to_value(startup).unwrap(), word);
        }
        assert_eq!(Startup::named("neither"), None);
    }

    #[test]
    fn differences_begin_anew_where_a_value_is_missing() {
        let mut monitor =
            Monitor::new(Threshold { sample: Sample::Delta, ..threshold(Some(100.0), Some(10.0)) });
        assert_eq!(monitor.look(1000.0), (None, None));
        assert_eq!(monitor.look(1150.0), (Some(150.0), Some(Crossing::Rising)));
        monitor.miss();
        assert_eq!(monitor.look(2000.0), (None, None));
        assert_eq!(monitor.look(2005.0), (Some(5.0), Some(Crossing::Falling)));
    }

    #[test]
    fn thresholds_that_cannot_be_are_told() {
        for (rising, falling) in [
            (None, None),
            (Some(1.0), Some(1.0)),
            (Some(1.0), Some(2.0)),
            (Some(f64::NAN), None),
            (None, Some(f64::INFINITY)),
        ] {
            assert!(threshold(rising, falling).check().is_err(), "{rising:?} {falling:?}");
        }
        assert!(Threshold { every_ms: 9, ..threshold(Some(1.0), None) }.check().is_err());
        assert!(threshold(Some(1.0), Some(0.5)).check().is_ok());
    }

    proptest! {
        #[test]
        fn rising_and_falling_take_turns(values in proptest::collection::vec(-10.0..10.0f64, 0..200)) {
            let marks = told(Threshold { startup: Startup::Both, ..threshold(Some(3.0), Some(-3.0)) }, &values);
            let marks = marks.replace('-', "");
            prop_assert!(!marks.contains("^^") && !marks.contains("vv"), "{marks}");
        }
    }
}
