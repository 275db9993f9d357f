//! Whole numbers as Click writes them: decimal, `0x` hexadecimal, `0b` binary, `0` octal, `_` between digits.

/// Parses a number without a sign.
pub(crate) fn integer(text: &str) -> Option<u64> {
    let (digits, radix) = match text.as_bytes() {
        [b'0', b'x' | b'X', _, ..] => (&text[2..], 16),
        [b'0', b'b' | b'B', _, ..] => (&text[2..], 2),
        [b'0', _, ..] => (text, 8),
        _ => (text, 10),
    };
    let separated = digits.starts_with('_') || digits.ends_with('_') || digits.contains("__");
    if digits.is_empty() || separated || digits.starts_with('+') {
        return None;
    }
    u64::from_str_radix(&digits.replace('_', ""), radix).ok()
}

#[cfg(test)]
mod tests {
    use super::integer;

    #[test]
    fn numbers_in_all_bases() {
        assert_eq!(["0", "10", "010", "0x1F", "0b11", "1_0"].map(integer), [0, 10, 8, 31, 3, 10].map(Some));
        assert_eq!(["", "x", "08", "0x", "_1", "1__0", "+1", "99999999999999999999"].map(integer), [None; 8]);
    }
}
