//! Numbers and addresses as they are written in filter expressions.

use std::net::Ipv4Addr;

/// A signed number in base 10, or after `0x`, `0b` or `0` in base 16, 2 or 8.
pub fn int(text: &str) -> Option<i32> {
    let negative = text.starts_with('-');
    let magnitude = magnitude(text.strip_prefix(['-', '+']).unwrap_or(text), None)?;
    let value = if negative { -i64::from(magnitude?) } else { i64::from(magnitude?) };
    i32::try_from(value).ok()
}

/// An unsigned number, written like a signed one.
pub fn uint(text: &str) -> Option<u32> {
    magnitude(text.strip_prefix('+').unwrap_or(text), None)?
}

/// A signed number; one that does not fit becomes the nearest that does.
pub fn saturating_int(text: &str) -> Option<i32> {
    let negative = text.starts_with('-');
    let magnitude = magnitude(text.strip_prefix(['-', '+']).unwrap_or(text), None)?;
    let value = i64::from(magnitude.unwrap_or(u32::MAX));
    let value = if negative { -value } else { value };
    Some(value.clamp(i32::MIN.into(), i32::MAX.into()) as i32)
}

/// Digits, with underscores between them: `None` if malformed, `Some(None)` if too large.
fn magnitude(text: &str, base: Option<u32>) -> Option<Option<u32>> {
    let after = |prefixes: [&str; 2]| {
        prefixes.iter().find_map(|prefix| text.strip_prefix(prefix)).filter(|rest| !rest.is_empty())
    };
    let (base, digits) = match base {
        Some(base) => (base, text),
        None => match (after(["0x", "0X"]), after(["0b", "0B"])) {
            (Some(digits), _) => (16, digits),
            (None, Some(digits)) => (2, digits),
            (None, None) => (if text.starts_with('0') { 8 } else { 10 }, text),
        },
    };
    let mut value = Some(0u32);
    let mut is_after_digit = false;
    for byte in digits.bytes() {
        if byte == b'_' {
            if !std::mem::replace(&mut is_after_digit, false) {
                return None;
            }
            continue;
        }
        let digit = char::from(byte).to_digit(base)?;
        value = value.and_then(|value| value.checked_mul(base)?.checked_add(digit));
        is_after_digit = true;
    }
    is_after_digit.then_some(value)
}

/// The leading bytes of a dotted address: the bytes, how many there are, what follows.
fn dotted(text: &str) -> ([u8; 4], usize, &str) {
    let mut bytes = [0; 4];
    let mut rest = text;
    for n in 0..4 {
        let from = if n == 0 { Some(rest) } else { rest.strip_prefix('.') };
        let Some((byte, after)) = from.and_then(leading_byte) else { return (bytes, n, rest) };
        bytes[n] = byte;
        rest = after;
    }
    (bytes, 4, rest)
}

/// The number that a text starts with, if it fits, and what follows.
fn leading_byte(text: &str) -> Option<(u8, &str)> {
    let mut value = 0u8;
    let mut len = 0;
    for byte in text.bytes().take_while(u8::is_ascii_digit) {
        value = value.checked_mul(10)?.checked_add(byte - b'0')?;
        len += 1;
    }
    (len > 0).then(|| (value, &text[len..]))
}

/// `1.2.3.4`.
pub fn ipv4(text: &str) -> Option<Ipv4Addr> {
    match dotted(text) {
        (bytes, 4, "") => Some(bytes.into()),
        _ => None,
    }
}

/// `10/8`, `10.0.0.0/8` or `10.0.0.0/255.0.0.0`: address and mask. Names are looked up with `by_name`.
pub fn prefix<'a>(
    text: &'a str,
    mut by_name: impl FnMut(&'a str) -> Option<Ipv4Addr>,
) -> Option<(Ipv4Addr, Ipv4Addr)> {
    let (address, mask) = text.rsplit_once('/').filter(|(a, m)| !a.is_empty() && !m.is_empty())?;
    let (bytes, n_bytes) = match dotted(address) {
        (bytes, n, "") => (Ipv4Addr::from(bytes), n),
        _ => (by_name(address)?, 4),
    };
    let length = magnitude(mask.strip_prefix('+').unwrap_or(mask), Some(10)).flatten();
    let mask = match length.filter(|&length| length <= 32) {
        Some(length) => Ipv4Addr::from(prefix_mask(length)),
        None => ipv4(mask).or_else(|| by_name(mask))?,
    };
    let defined = prefix_mask(n_bytes as u32 * 8);
    (u32::from(mask) & !defined == 0).then_some((bytes, mask))
}

fn prefix_mask(length: u32) -> u32 {
    u32::MAX.checked_shl(32 - length).unwrap_or(0)
}

/// `0:1:2:3:4:5` or `00-01-02-03-04-05`.
pub fn ethernet(text: &str) -> Option<[u8; 6]> {
    let separator = text.chars().find(|c| matches!(c, ':' | '-'))?;
    let mut parts = text.split(separator);
    let mut bytes = [0; 6];
    for byte in &mut bytes {
        let part = parts.next().filter(|part| (1..=2).contains(&part.len()))?;
        *byte = part.chars().try_fold(0, |value, c| Some(value << 4 | c.to_digit(16)? as u8))?;
    }
    parts.next().is_none().then_some(bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_have_bases_and_underscores() {
        assert_eq!(
            ["10", "0x1F", "0b101", "017", "1_000", "+5", "-5"].map(int),
            [Some(10), Some(31), Some(5), Some(15), Some(1000), Some(5), Some(-5)]
        );
        assert_eq!(["", "08", "1_", "_1", "0x", "x", "--1", "2147483648", "é"].map(int), [None; 9]);
        assert_eq!(uint("0xFFFFFFFF"), Some(u32::MAX));
        assert_eq!(uint("-1"), None);
        assert_eq!(saturating_int("99999999999"), Some(i32::MAX));
    }

    #[test]
    fn prefixes_may_leave_out_trailing_bytes() {
        let none = |_: &str| None;
        assert_eq!(prefix("10/8", none), Some(([10, 0, 0, 0].into(), [255, 0, 0, 0].into())));
        assert_eq!(prefix("10.1/24", none), None);
        assert_eq!(
            prefix("10.1.2.3/255.255.0.0", none),
            Some(([10, 1, 2, 3].into(), [255, 255, 0, 0].into()))
        );
        assert_eq!(["10.1.2.3/33", "/8", "10.1.2.3/", "1.2.3.4.5/8"].map(|t| prefix(t, none)), [None; 4]);
    }

    #[test]
    fn addresses() {
        assert_eq!(ipv4("1.2.3.4"), Some([1, 2, 3, 4].into()));
        assert_eq!(["1.2.3", "1.2.3.256", "1.2.3.4.", "a.2.3.4", ""].map(ipv4), [None; 5]);
        assert_eq!(ethernet("0:1:2:a:B:cc"), Some([0, 1, 2, 10, 11, 0xcc]));
        assert_eq!(
            ["0:1:2:3:4", "0:1:2:3:4:5:6", "0:1:2:3:4:", "0:1-2:3:4:5", "000:1:2:3:4:5"].map(ethernet),
            [None; 5]
        );
    }
}
