//! Timestamps and intervals with nanosecond precision.

use std::fmt;
use std::ops::{Add, AddAssign, Neg, Sub, SubAssign};

use crate::decimal::Decimal;
use crate::parse_error;
use crate::unit::measure_seconds;

const NS_PER_S: i64 = 1_000_000_000;

/// A point in time since the epoch, or an interval, in nanoseconds; arithmetic saturates.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Timestamp(i64);

impl Timestamp {
    /// From nanoseconds.
    pub const fn from_nanos(ns: i64) -> Timestamp {
        Timestamp(ns)
    }

    /// From microseconds.
    pub const fn from_micros(us: i64) -> Timestamp {
        Timestamp(us.saturating_mul(1000))
    }

    /// From milliseconds.
    pub const fn from_millis(ms: i64) -> Timestamp {
        Timestamp(ms.saturating_mul(1_000_000))
    }

    /// From seconds and the nanoseconds after them.
    pub const fn new(sec: i64, nsec: u32) -> Timestamp {
        Timestamp(sec.saturating_mul(NS_PER_S).saturating_add(nsec as i64))
    }

    /// From seconds as a floating-point number.
    pub fn from_secs_f64(sec: f64) -> Timestamp {
        Timestamp((sec * NS_PER_S as f64).round() as i64)
    }

    /// All of it in nanoseconds.
    pub const fn as_nanos(self) -> i64 {
        self.0
    }

    /// All of it in microseconds, rounded down.
    pub const fn as_micros(self) -> i64 {
        self.0.div_euclid(1000)
    }

    /// All of it in milliseconds, rounded down.
    pub const fn as_millis(self) -> i64 {
        self.0.div_euclid(1_000_000)
    }

    /// All of it in seconds.
    pub fn as_secs_f64(self) -> f64 {
        self.sec() as f64 + f64::from(self.nsec()) / NS_PER_S as f64
    }

    /// Seconds, rounded down.
    pub const fn sec(self) -> i64 {
        self.0.div_euclid(NS_PER_S)
    }

    /// Nanoseconds after [`Timestamp::sec`].
    pub const fn nsec(self) -> u32 {
        self.0.rem_euclid(NS_PER_S) as u32
    }

    /// Microseconds after [`Timestamp::sec`].
    pub const fn usec(self) -> u32 {
        self.nsec() / 1000
    }

    /// Whether it is zero.
    pub const fn is_zero(self) -> bool {
        self.0 == 0
    }

    /// Whether it is less than zero.
    pub const fn is_negative(self) -> bool {
        self.0 < 0
    }

    /// The text of an interval: `10ms`, `1500us`, `3.500000s`.
    pub fn unparse_interval(self) -> String {
        let ns = self.nsec();
        match self.sec() {
            0 if ns.is_multiple_of(1_000_000) => format!("{}ms", ns / 1_000_000),
            0 if ns.is_multiple_of(1000) => format!("{}us", ns / 1000),
            0 => format!("{ns}ns"),
            _ => format!("{self}s"),
        }
    }
}

/// Six digits of fraction, or nine if six do not suffice.
impl fmt::Display for Timestamp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let ns = self.0.unsigned_abs();
        let (sec, nsec) = (ns / NS_PER_S as u64, ns % NS_PER_S as u64);
        let sign = if self.is_negative() { "-" } else { "" };
        if nsec % 1000 == 0 {
            write!(f, "{sign}{sec}.{:06}", nsec / 1000)
        } else {
            write!(f, "{sign}{sec}.{nsec:09}")
        }
    }
}

impl Add for Timestamp {
    type Output = Timestamp;
    fn add(self, other: Timestamp) -> Timestamp {
        Timestamp(self.0.saturating_add(other.0))
    }
}

impl Sub for Timestamp {
    type Output = Timestamp;
    fn sub(self, other: Timestamp) -> Timestamp {
        Timestamp(self.0.saturating_sub(other.0))
    }
}

impl Neg for Timestamp {
    type Output = Timestamp;
    fn neg(self) -> Timestamp {
        Timestamp(self.0.saturating_neg())
    }
}

impl AddAssign for Timestamp {
    fn add_assign(&mut self, other: Timestamp) {
        *self = *self + other;
    }
}

impl SubAssign for Timestamp {
    fn sub_assign(&mut self, other: Timestamp) {
        *self = *self - other;
    }
}

/// Parses a time in seconds, or with a unit as `20ms`.
pub fn timestamp(text: &str) -> Result<Timestamp, String> {
    parse(text, false)
}

/// Parses a time as [`timestamp`], which may be negative.
pub fn signed_timestamp(text: &str) -> Result<Timestamp, String> {
    parse(text, true)
}

fn parse(text: &str, is_signed: bool) -> Result<Timestamp, String> {
    let measured = measure_seconds(text);
    let decimal = Decimal::parse(measured.number, is_signed).ok_or_else(parse_error)?;
    let negative = decimal.negative;
    let split = decimal.scale(i64::from(measured.power)).split10(9);
    let whole = i64::try_from(split.whole).unwrap_or(i64::MAX);
    let ns = whole.saturating_mul(NS_PER_S).saturating_add(i64::from(split.fraction));
    let ns = ns.saturating_mul(i64::from(measured.factor));
    Ok(Timestamp(if negative { -ns } else { ns }))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn six_digits_unless_nine_are_needed() {
        assert_eq!(Timestamp::from_millis(-1001).to_string(), "-1.001000");
        assert_eq!(Timestamp::new(-10, 0).to_string(), "-10.000000");
        assert_eq!(Timestamp::new(1, 5).to_string(), "1.000000005");
        assert_eq!(Timestamp::new(1, 5000).to_string(), "1.000005");
        assert_eq!(
            (Timestamp::from_millis(-1001).sec(), Timestamp::from_millis(-1001).usec()),
            (-2, 999_000)
        );
        assert_eq!(Timestamp::from_millis(20).unparse_interval(), "20ms");
        assert_eq!(Timestamp::from_micros(1500).unparse_interval(), "1500us");
        assert_eq!(Timestamp::from_nanos(1).unparse_interval(), "1ns");
        assert_eq!(Timestamp::from_millis(3500).unparse_interval(), "3.500000s");
    }

    #[test]
    fn units_scale_the_time() {
        assert_eq!(timestamp("1.123456789"), Ok(Timestamp::from_nanos(1_123_456_789)));
        assert_eq!(timestamp("20 ms"), Ok(Timestamp::from_millis(20)));
        assert_eq!(timestamp("1.5m"), Ok(Timestamp::new(90, 0)));
        assert_eq!(timestamp("0.001d"), Ok(Timestamp::from_millis(86_400)));
        assert_eq!(signed_timestamp("-1.5"), Ok(Timestamp::from_millis(-1500)));
        assert_eq!(timestamp("-1.5"), Err("parse error".into()));
        assert_eq!(signed_timestamp("-+1"), Err("parse error".into()));
    }

    proptest! {
        #[test]
        fn printed_timestamps_parse(ns in i64::MIN + 1..) {
            let value = Timestamp::from_nanos(ns);
            prop_assert_eq!(signed_timestamp(&value.to_string()), Ok(value));
            prop_assert_eq!(Timestamp::new(value.sec(), value.nsec()), value);
        }

        #[test]
        fn any_text_is_a_time_or_not(text in "[-+0-9.e mnushrdayé]{0,16}") {
            let _ = signed_timestamp(&text);
        }
    }
}
