//! Decimal numbers with a fraction, taken apart into digits and printed.

/// A decimal number in digits: `0.DIGITS * 10^point`, with a sign.
pub(crate) struct Decimal {
    pub negative: bool,
    digits: Vec<u8>,
    point: i64,
}

/// An integer part with a fraction.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Split<F> {
    /// Integer part, saturated.
    pub whole: u64,
    /// Fraction, in the unit that was asked for.
    pub fraction: F,
}

impl Decimal {
    /// Takes a number such as `-1_000.5e-3` apart, if the whole text is one.
    pub fn parse(text: &str, is_signed: bool) -> Option<Decimal> {
        let bytes = text.as_bytes();
        let negative = is_signed && bytes.first() == Some(&b'-');
        let start = usize::from(negative || bytes.first() == Some(&b'+'));
        let mantissa_len = bytes.iter().skip(start).take_while(|b| !matches!(b, b'e' | b'E')).count();
        let mantissa = text.get(start..start + mantissa_len)?;
        let exponent = match text.get(start + mantissa_len + 1..) {
            None => 0,
            Some(exponent) => parse_exponent(exponent)?,
        };
        let (digits, n_whole) = parse_mantissa(mantissa)?;
        Some(Decimal { negative, digits, point: n_whole.saturating_add(exponent) })
    }

    /// The number times ten to the `power`.
    pub fn scale(mut self, power: i64) -> Decimal {
        self.point = self.point.saturating_add(power);
        self
    }

    /// Integer part, and the fraction in units of `10^-n_digits` (at most 9), rounded half up.
    pub fn split10(&self, n_digits: u32) -> Split<u32> {
        let n_digits = i64::from(n_digits.min(9));
        let one = 10u32.pow(n_digits as u32);
        let mut fraction = (0..n_digits)
            .fold(0, |value, at| value * 10 + u32::from(self.digit(self.point.saturating_add(at))));
        let mut whole = self.whole();
        if self.digit(self.point.saturating_add(n_digits)) >= 5 {
            fraction += 1;
            if fraction == one {
                (whole, fraction) = (whole.saturating_add(1), 0);
            }
        }
        Split { whole, fraction }
    }

    /// Integer part, and the fraction in units of `2^-32`, rounded half up.
    pub fn split2(&self) -> Split<u32> {
        let first = usize::try_from(self.point.max(0)).unwrap_or(usize::MAX);
        let mut digits = self.digits.iter().skip(first).rev();
        // One bit more than needed, to round by; from the last digit on, so that each step divides what is below it.
        let mut bits =
            digits.try_fold(0u64, |bits, &digit| Some((bits + (u64::from(digit) << 33)) / 10)).unwrap_or(0);
        let mut n_zeros = self.point.min(0).unsigned_abs();
        while n_zeros > 0 && bits > 0 {
            bits /= 10;
            n_zeros -= 1;
        }
        let rounded = (bits + 1) >> 1;
        Split { whole: self.whole().saturating_add(rounded >> 32), fraction: rounded as u32 }
    }

    /// The digit at a place, counted from the first one.
    fn digit(&self, at: i64) -> u8 {
        usize::try_from(at).ok().and_then(|at| self.digits.get(at)).copied().unwrap_or(0)
    }

    fn whole(&self) -> u64 {
        let n_digits = usize::try_from(self.point.max(0)).unwrap_or(usize::MAX);
        let written = self.digits.iter().take(n_digits);
        let value =
            written.fold(0u64, |value, &digit| value.saturating_mul(10).saturating_add(u64::from(digit)));
        // 20 zeros more exceed any value but zero.
        (0..n_digits.saturating_sub(self.digits.len()).min(20))
            .fold(value, |value, _| value.saturating_mul(10))
    }
}

/// The digits of a mantissa, and how many of them stand before the point.
fn parse_mantissa(text: &str) -> Option<(Vec<u8>, i64)> {
    let mut digits = Vec::with_capacity(text.len());
    let mut n_whole = None;
    let mut after_digit = false;
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => digits.push(byte - b'0'),
            b'_' if after_digit => {}
            b'.' if n_whole.is_none() && (after_digit || digits.is_empty()) => n_whole = Some(digits.len()),
            _ => return None,
        }
        after_digit = byte.is_ascii_digit();
    }
    let n_whole = i64::try_from(n_whole.unwrap_or(digits.len())).ok()?;
    (!digits.is_empty()).then_some((digits, n_whole))
}

fn parse_exponent(text: &str) -> Option<i64> {
    let digits = text.strip_prefix(['-', '+']).unwrap_or(text);
    if digits.is_empty() || !digits.bytes().all(|b| b.is_ascii_digit()) {
        return None;
    }
    let value = digits.bytes().fold(0i64, |value, b| (value * 10 + i64::from(b - b'0')).min(1 << 40));
    Some(if text.starts_with('-') { -value } else { value })
}

/// Prints a fixed-point number with `n_digits` decimal digits of fraction (at most 9), without final zeros.
pub fn unparse_decimal(value: u32, n_digits: u32) -> String {
    let one = 10u32.pow(n_digits.min(9));
    let (whole, fraction) = (value / one, value % one);
    if fraction == 0 {
        return whole.to_string();
    }
    let digits = format!("{fraction:0width$}", width = n_digits.min(9) as usize);
    format!("{whole}.{}", digits.trim_end_matches('0'))
}

/// Prints a fixed-point number with `n_bits` bits of fraction (at most 28), as shortly as it parses back.
///
/// Knuth's method from TeX, section 103 of "TeX: The Program". Beyond 24 bits the bound on the error wraps and a digit
/// more may be printed; that is kept, because scripts compare the text.
pub fn unparse_binary(value: u32, n_bits: u32) -> String {
    let n_bits = n_bits.min(28);
    let one = 1u32 << n_bits;
    let mut text = (value >> n_bits).to_string();
    let mut rest = value & (one - 1);
    if rest == 0 {
        return text;
    }
    text.push('.');
    rest = 10 * rest + 5;
    let mut allowed = 10u32;
    let mut rounder = 5u32;
    while rounder < one >> 1 {
        rounder *= 10;
    }
    loop {
        if allowed > one {
            rest = rest.wrapping_add(one >> 1).wrapping_sub(rounder);
        }
        text.push(char::from(b'0'.wrapping_add((rest >> n_bits) as u8)));
        rest = 10 * (rest & (one - 1));
        allowed = allowed.wrapping_mul(10);
        if rest <= allowed {
            return text;
        }
    }
}

/// Prints a floating-point number with 12 significant digits, as C's `%.12g` does.
pub fn unparse_double(value: f64) -> String {
    const DIGITS: i32 = 12;
    if value.is_nan() {
        return if value.is_sign_negative() { "-nan" } else { "nan" }.to_string();
    }
    if value.is_infinite() {
        return if value < 0.0 { "-inf" } else { "inf" }.to_string();
    }
    let scientific = format!("{value:.*e}", DIGITS as usize - 1);
    let Some((mantissa, exponent)) = scientific.split_once('e') else { return scientific };
    let exponent: i32 = exponent.parse().unwrap_or(0);
    if (-4..DIGITS).contains(&exponent) {
        let n_decimals = (DIGITS - 1 - exponent).max(0) as usize;
        return without_zeros(&format!("{value:.n_decimals$}")).to_string();
    }
    let sign = if exponent < 0 { '-' } else { '+' };
    format!("{}e{sign}{:02}", without_zeros(mantissa), exponent.unsigned_abs())
}

fn without_zeros(text: &str) -> &str {
    match text.contains('.') {
        true => text.trim_end_matches('0').trim_end_matches('.'),
        false => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn split10(text: &str, n_digits: u32) -> Option<(u64, u32)> {
        Decimal::parse(text, false).map(|d| d.split10(n_digits)).map(|s| (s.whole, s.fraction))
    }

    #[test]
    fn floating_point_numbers_have_twelve_digits() {
        let shown: Vec<_> =
            [0.0, -0.0, 1.0 / 3.0, 1e12, 123456789012.5, 1e-5, 0.0001, 2e300, 6.0, f64::INFINITY]
                .map(unparse_double)
                .to_vec();
        expect_test::expect!["0 -0 0.333333333333 1e+12 123456789012 1e-05 0.0001 2e+300 6 inf"]
            .assert_eq(&shown.join(" "));
    }

    #[test]
    fn decimals_round_half_up() {
        assert_eq!(split10("1.2345", 3), Some((1, 235)));
        assert_eq!(split10("1.2344", 3), Some((1, 234)));
        assert_eq!(split10("0.9995", 3), Some((1, 0)));
        assert_eq!(split10(".5", 0), Some((1, 0)));
        assert_eq!(split10("5.", 1), Some((5, 0)));
        assert_eq!(split10("12e-3", 3), Some((0, 12)));
        assert_eq!(split10("5e-30", 3), Some((0, 0)));
        assert_eq!(split10("1_", 1), Some((1, 0)));
        assert_eq!(split10("1_000.5e3", 1), Some((1_000_500, 0)));
        assert_eq!(split10("1e999999999999", 3), Some((u64::MAX, 0)));
        assert_eq!(split10("0e999999999999", 3), Some((0, 0)));
    }

    #[test]
    fn what_is_no_decimal_is_refused() {
        for text in ["", ".", "-1", "1..2", "1e", "1e+", "_1", "1__", "1_.5", "e5", "1 ", "0x10", "1e1.5"] {
            assert_eq!(split10(text, 3), None, "{text}");
        }
    }

    #[test]
    fn fractions_become_binary() {
        let split2 = |text| Decimal::parse(text, false).map(|d| d.split2()).map(|s| (s.whole, s.fraction));
        assert_eq!(split2("1.5"), Some((1, 1 << 31)));
        assert_eq!(split2("0.25"), Some((0, 1 << 30)));
        assert_eq!(split2("25e-2"), Some((0, 1 << 30)));
        assert_eq!(split2("2500e-4"), Some((0, 1 << 30)));
        assert_eq!(split2("0.99999999999999"), Some((1, 0)));
    }

    proptest! {
        #[test]
        fn printed_decimals_parse(value: u32, n_digits in 0u32..=9) {
            let got = split10(&unparse_decimal(value, n_digits), n_digits);
            let one = 10u32.pow(n_digits);
            prop_assert_eq!(got, Some((u64::from(value / one), value % one)));
        }

        #[test]
        fn any_text_is_a_decimal_or_not(text in "[-+0-9._eE é]{0,20}", power: i64) {
            if let Some(decimal) = Decimal::parse(&text, true) {
                let decimal = decimal.scale(power);
                let _ = (decimal.split10(9), decimal.split2());
            }
        }

        #[test]
        fn any_value_prints(value: u32, n_bits in 0u32..40) {
            unparse_binary(value, n_bits);
        }
    }
}
