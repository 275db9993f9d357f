//! Integers, Booleans and floating-point numbers.

/// The largest magnitude that matters: anything above is out of range for every type.
const HUGE: u128 = 1 << 100;

/// An integer type that an argument can have.
pub trait Integer: Copy {
    /// Smallest value.
    const LOW: i128;
    /// Largest value.
    const HIGH: i128;
    /// Takes a value that is known to be in range.
    fn from_wide(value: i128) -> Self;
    /// The value.
    fn to_wide(self) -> i128;
}

macro_rules! integers {
    ($($ty:ty),*) => {$(
        impl Integer for $ty {
            const LOW: i128 = <$ty>::MIN as i128;
            const HIGH: i128 = <$ty>::MAX as i128;
            fn from_wide(value: i128) -> Self {
                value as $ty
            }
            fn to_wide(self) -> i128 {
                self as i128
            }
        }
    )*};
}
integers!(u8, u16, u32, u64, usize, i8, i16, i32, i64, isize);

/// Parses an integer: decimal, `0x` hexadecimal, `0` octal or `0b` binary, `_` allowed between digits.
pub fn integer<T: Integer>(text: &str) -> Result<T, String> {
    integer_in_base(text, 0)
}

/// Parses an integer in base 2 to 36, or by its prefix if the base is 0.
pub fn integer_in_base<T: Integer>(text: &str, base: u32) -> Result<T, String> {
    let value = whole::<T>(text, base).ok_or("invalid number")?;
    in_range(value, T::LOW, T::HIGH).map(T::from_wide)
}

/// Parses an integer as [`integer`]; a value out of range becomes the nearest one in range.
pub fn saturating_integer<T: Integer>(text: &str) -> Result<T, String> {
    let value = whole::<T>(text, 0).ok_or("invalid number")?;
    Ok(T::from_wide(value.clamp(T::LOW, T::HIGH)))
}

/// Parses an integer that must lie in `low..=high`.
pub fn bounded_integer<T: Integer>(text: &str, low: T, high: T) -> Result<T, String> {
    let value = integer::<T>(text)?;
    in_range(value.to_wide(), low.to_wide(), high.to_wide()).map(T::from_wide)
}

/// Parses as much of a text as is an unsigned integer; gives the value, saturated, and what follows.
pub fn integer_prefix(text: &str) -> Option<(u64, &str)> {
    let span = Span::of(text.as_bytes(), 0, false)?;
    let value = span.magnitude(text.as_bytes()).min(u128::from(u64::MAX));
    Some((u64::try_from(value).unwrap_or(u64::MAX), text.get(span.end..).unwrap_or("")))
}

/// Parses `true`, `yes`, `t`, `y`, `1` and their opposites.
pub fn boolean(text: &str) -> Result<bool, String> {
    match text {
        "1" | "t" | "true" | "y" | "yes" => Ok(true),
        "0" | "f" | "false" | "n" | "no" => Ok(false),
        _ => Err(crate::parse_error()),
    }
}

/// Parses a floating-point number in C's notation.
pub fn double(text: &str) -> Result<f64, String> {
    if text.bytes().any(crate::split::is_space) {
        return Err(crate::parse_error());
    }
    let value = match hexadecimal(text) {
        Some(value) => value,
        None => text.parse().map_err(|_| crate::parse_error())?,
    };
    let is_hexadecimal = text.contains(['x', 'X']);
    let exponent = if is_hexadecimal { ['p', 'P'] } else { ['e', 'E'] };
    let mantissa = text.split(exponent).next().unwrap_or("");
    if value.is_infinite() && mantissa.bytes().any(|b| b.is_ascii_digit()) {
        return Err(format!("out of range, bound {}inf", if value < 0.0 { "-" } else { "" }));
    }
    if value == 0.0 && mantissa.bytes().any(|b| b.is_ascii_hexdigit() && b != b'0') {
        return Err(format!("underflow, rounded to {}0", if value.is_sign_negative() { "-" } else { "" }));
    }
    Ok(value)
}

/// A floating-point number in C's hexadecimal notation, such as `-0x1.8p3`.
fn hexadecimal(text: &str) -> Option<f64> {
    let (sign, digits) = match text.as_bytes().first()? {
        b'-' => (-1.0, text.get(1..)?),
        b'+' => (1.0, text.get(1..)?),
        _ => (1.0, text),
    };
    let digits = digits.strip_prefix("0x").or_else(|| digits.strip_prefix("0X"))?;
    let (mantissa, exponent) = match digits.split_once(['p', 'P']) {
        Some((mantissa, exponent)) => (mantissa, exponent.parse::<i64>().ok()?),
        None => (digits, 0),
    };
    let (whole, fraction) = mantissa.split_once('.').unwrap_or((mantissa, ""));
    let is_digits = |part: &str| part.bytes().all(|b| b.is_ascii_hexdigit());
    if whole.len() + fraction.len() == 0 || !is_digits(whole) || !is_digits(fraction) {
        return None;
    }
    // More digits than fit only tell that the number is not the one between two others.
    let (mut bits, mut n_more) = (0u128, 0i64);
    for digit in whole.chars().chain(fraction.chars()).filter_map(|c| c.to_digit(16)) {
        if bits >> 100 == 0 {
            bits = bits << 4 | u128::from(digit);
        } else {
            bits |= u128::from(digit != 0);
            n_more += 1;
        }
    }
    let exponent = exponent.saturating_add(4 * (n_more - fraction.len() as i64)).clamp(-4000, 4000) as i32;
    // In two steps, of which neither leaves the range before the result does.
    Some(sign * bits as f64 * 2f64.powi(exponent / 2) * 2f64.powi(exponent - exponent / 2))
}

fn in_range(value: i128, low: i128, high: i128) -> Result<i128, String> {
    match value {
        value if value < low => Err(format!("out of range, bound {low}")),
        value if value > high => Err(format!("out of range, bound {high}")),
        value => Ok(value),
    }
}

/// The value of a text that is an integer as a whole, saturated far beyond every type's range.
fn whole<T: Integer>(text: &str, base: u32) -> Option<i128> {
    let bytes = text.as_bytes();
    let span = Span::of(bytes, base, T::LOW < 0)?;
    if span.end != bytes.len() {
        return None;
    }
    let magnitude = i128::try_from(span.magnitude(bytes)).ok()?;
    Some(if T::LOW < 0 && bytes.first() == Some(&b'-') { -magnitude } else { magnitude })
}

/// Where the digits of an integer are.
struct Span {
    start: usize,
    end: usize,
    base: u32,
}

impl Span {
    fn of(bytes: &[u8], base: u32, is_signed: bool) -> Option<Span> {
        let sign = usize::from(match bytes.first() {
            Some(b'+') => true,
            Some(b'-') => is_signed,
            _ => false,
        });
        let (prefix, base) = Self::prefix(bytes.get(sign..)?, base);
        if !(2..=36).contains(&base) {
            return None;
        }
        let start = sign + prefix;
        let (mut end, mut after_digit) = (start, false);
        for (idx, &byte) in bytes.iter().enumerate().skip(start) {
            if char::from(byte).is_digit(base) {
                (end, after_digit) = (idx + 1, true);
            } else if byte == b'_' && after_digit {
                after_digit = false;
            } else {
                break;
            }
        }
        match (end > start, prefix) {
            (true, _) => Some(Span { start, end, base }),
            // `0x` without digits is a zero with something after it.
            (false, 2) => Some(Span { start: sign, end: sign + 1, base }),
            (false, _) => None,
        }
    }

    /// The length of the base prefix at the start of `bytes`, and the base.
    fn prefix(bytes: &[u8], base: u32) -> (usize, u32) {
        match (bytes, base) {
            ([b'0', b'x' | b'X', _, ..], 0 | 16) => (2, 16),
            ([b'0', b'b' | b'B', _, ..], 0) => (2, 2),
            ([b'0', ..], 0) => (0, 8),
            (_, 0) => (0, 10),
            (_, base) => (0, base),
        }
    }

    fn magnitude(&self, bytes: &[u8]) -> u128 {
        let digits = bytes.get(self.start..self.end).unwrap_or(&[]).iter();
        digits
            .filter_map(|&b| char::from(b).to_digit(self.base))
            .fold(0, |value: u128, digit| (value * u128::from(self.base) + u128::from(digit)).min(HUGE))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check<T: Integer + std::fmt::Display>(text: &str, expect: Expect) {
        expect.assert_eq(&integer::<T>(text).map_or_else(|e| e, |v| v.to_string()));
    }

    #[test]
    fn prefixes_choose_the_base() {
        check::<u32>("0", expect!["0"]);
        check::<u32>("0x1F", expect!["31"]);
        check::<u32>("017", expect!["15"]);
        check::<u32>("0b101", expect!["5"]);
        check::<u32>("1_000_000", expect!["1000000"]);
        check::<u32>("+5", expect!["5"]);
        check::<i32>("-0x10", expect!["-16"]);
        assert_eq!(integer_in_base::<u32>("ff", 16), Ok(255));
    }

    #[test]
    fn what_is_no_integer_is_an_invalid_number() {
        for text in [
            "", "x", "08", "0x", "0xg", "0b", "0b2", "-5", "1_", "_1", "1__2", "0x_1", "1.5", " 1", "1 ",
            "+", "\"\"",
        ] {
            assert_eq!(integer::<u32>(text), Err("invalid number".into()), "{text}");
        }
        assert_eq!(integer::<i32>("-"), Err("invalid number".into()));
        assert_eq!(integer::<i32>("+-5"), Err("invalid number".into()));
    }

    #[test]
    fn values_out_of_range_name_the_bound() {
        check::<u8>("256", expect!["out of range, bound 255"]);
        check::<u32>("4294967295", expect!["4294967295"]);
        check::<u32>("42949672961939", expect!["out of range, bound 4294967295"]);
        check::<i32>("-2147483648", expect!["-2147483648"]);
        check::<i32>("-2147483649", expect!["out of range, bound -2147483648"]);
        check::<i8>("128", expect!["out of range, bound 127"]);
        check::<i64>("9223372036854775807", expect!["9223372036854775807"]);
        check::<u64>("18446744073709551616", expect!["out of range, bound 18446744073709551615"]);
        check::<u64>(&"9".repeat(200), expect!["out of range, bound 18446744073709551615"]);
        assert_eq!(saturating_integer::<i32>("-4294967296"), Ok(i32::MIN));
        assert_eq!(saturating_integer::<u32>("0xFFFFFFFFF"), Ok(u32::MAX));
    }

    #[test]
    fn bounds_are_checked_after_the_type() {
        assert_eq!(bounded_integer(("10", 0).0, 0, 10), Ok(10));
        assert_eq!(bounded_integer("10", 0, 9), Err("out of range, bound 9".into()));
        assert_eq!(bounded_integer("-10", -1, 9), Err("out of range, bound -1".into()));
        assert_eq!(bounded_integer("-1", 0u32, 100), Err("invalid number".into()));
        assert_eq!(bounded_integer("aoeu", -1, 9), Err("invalid number".into()));
    }

    #[test]
    fn a_prefix_may_be_an_integer() {
        assert_eq!(integer_prefix("80/tcp"), Some((80, "/tcp")));
        assert_eq!(integer_prefix("0x!"), Some((0, "x!")));
        assert_eq!(integer_prefix("tcp"), None);
    }

    #[test]
    fn booleans_have_five_spellings_each() {
        assert!(["1", "t", "true", "y", "yes"].iter().all(|text| boolean(text) == Ok(true)));
        assert!(["0", "f", "false", "n", "no"].iter().all(|text| boolean(text) == Ok(false)));
        assert_eq!(boolean("TRUE"), Err("parse error".into()));
    }

    #[test]
    fn floating_point_numbers_have_cs_range() {
        assert_eq!(double("1.5e3"), Ok(1500.0));
        assert_eq!(double("1e999"), Err("out of range, bound inf".into()));
        assert_eq!(double("-1e-999"), Err("underflow, rounded to -0".into()));
        assert_eq!(double("x"), Err("parse error".into()));
        for (text, value) in
            [("0x1p3", 8.0), ("-0X.8", -0.5), ("0xFFFFFFFFFFFFFFFF", 2f64.powi(64)), ("0x0", 0.0)]
        {
            assert_eq!(double(text), Ok(value), "{text}");
        }
        assert_eq!(double("0x1p-1074"), Ok(f64::from_bits(1)));
        assert_eq!(double("0x1p9999"), Err("out of range, bound inf".into()));
        assert!(double("0x").is_err() && double("0xg").is_err() && double("0x1p").is_err());
    }

    proptest! {
        #[test]
        fn printed_integers_parse(value: i64) {
            prop_assert_eq!(integer::<i64>(&value.to_string()), Ok(value));
            if let Ok(value) = u64::try_from(value) {
                prop_assert_eq!(integer::<u64>(&format!("{value:#x}")), Ok(value));
                prop_assert_eq!(integer::<u64>(&format!("{value:#b}")), Ok(value));
                prop_assert_eq!(integer::<u64>(&format!("0{value:o}")), Ok(value));
            }
        }

        #[test]
        fn any_text_is_a_number_or_not(text in "[-+0-9a-fxXbB_.eé ]{0,20}") {
            let _ = (integer::<u8>(&text), integer::<i64>(&text), integer_prefix(&text), double(&text));
        }
    }
}
