//! Packets as lines of text: `DST_MAC SRC_MAC ETHERTYPE xx xx ...`, for grep, sed and awk.
//!
//! Addresses are twelve hexadecimal digits, the type four, each byte of the payload two. Read are also `[..]` around the first
//! three words and `:` or `-` within addresses.

use std::fmt::Write;

use crate::capture::MAX_CAPTURED_LEN;

/// Bytes of the header that the first three words hold.
const HEADER: usize = 14;
/// Longest line to be read: the longest packet that a capture holds.
pub const MAX_LINE: usize = 3 * (MAX_CAPTURED_LEN as usize + 256) + 64;

/// Appends a packet's line; false, and nothing appended, if it has no whole Ethernet header.
pub fn write_line(out: &mut Vec<u8>, packet: &[u8]) -> bool {
    let Some((header, payload)) = packet.split_at_checked(HEADER) else { return false };
    for (i, byte) in header.iter().enumerate() {
        if i == 6 || i == 12 {
            out.push(b' ');
        }
        push_byte(out, *byte);
    }
    for byte in payload {
        out.push(b' ');
        push_byte(out, *byte);
    }
    out.push(b'\n');
    true
}

fn push_byte(out: &mut Vec<u8>, byte: u8) {
    const DIGITS: &[u8; 16] = b"0123456789abcdef";
    out.push(DIGITS[usize::from(byte >> 4)]);
    out.push(DIGITS[usize::from(byte & 15)]);
}

/// The packet that a line says, into `packet`; or why there is none. A blank line is no packet and no error.
pub fn read_line(line: &[u8], packet: &mut Vec<u8>) -> Result<bool, String> {
    packet.clear();
    let mut words = line.split(|byte| byte.is_ascii_whitespace()).filter(|word| !word.is_empty());
    let Some(destination) = words.next() else { return Ok(false) };
    address(destination, "destination address", packet)?;
    address(words.next().unwrap_or_default(), "source address", packet)?;
    let kind = words.next().unwrap_or_default();
    let digits: Vec<u8> = plain(kind).collect();
    if digits.len() != 4 || !hex(&digits, packet) {
        return Err(format!("`{}` is no Ethernet type of 4 hexadecimal digits", shown(kind)));
    }
    for word in words {
        if word.len() != 2 || !hex(word, packet) {
            return Err(format!("`{}` is no byte of 2 hexadecimal digits", shown(word)));
        }
    }
    Ok(true)
}

fn address(word: &[u8], what: &str, packet: &mut Vec<u8>) -> Result<(), String> {
    let digits: Vec<u8> = plain(word).filter(|byte| !b":-".contains(byte)).collect();
    if digits.len() != 12 || !hex(&digits, packet) {
        return Err(format!("`{}` is no {what} of 12 hexadecimal digits", shown(word)));
    }
    Ok(())
}

/// A word without the brackets around it.
fn plain(word: &[u8]) -> impl Iterator<Item = u8> + '_ {
    let word = word.strip_prefix(b"[").and_then(|word| word.strip_suffix(b"]")).unwrap_or(word);
    word.iter().copied()
}

/// Appends the bytes that pairs of digits say; false if one is no digit.
fn hex(digits: &[u8], packet: &mut Vec<u8>) -> bool {
    digits.chunks(2).all(|pair| {
        let value = |digit: &u8| char::from(*digit).to_digit(16);
        match pair {
            [high, low] => match (value(high), value(low)) {
                (Some(high), Some(low)) => {
                    packet.push((high << 4 | low) as u8);
                    true
                }
                _ => false,
            },
            _ => false,
        }
    })
}

/// A word as a message shows it: its first characters, printable.
fn shown(word: &[u8]) -> String {
    let mut text = String::new();
    for byte in word.iter().take(24) {
        let _ = write!(text, "{}", byte.escape_ascii());
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(line: &str, expect: Expect) {
        let mut packet = Vec::new();
        expect.assert_eq(&match read_line(line.as_bytes(), &mut packet) {
            Ok(true) => format!("{packet:02x?}"),
            Ok(false) => "nothing".to_string(),
            Err(message) => message,
        });
    }

    #[test]
    fn lines_are_read_in_all_their_spellings() {
        check(
            "001122334455 66778899aabb 0800 45 00",
            expect!["[00, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, 08, 00, 45, 00]"],
        );
        check(
            "[00:11:22:33:44:55] [66-77-88-99-AA-BB] [0806]",
            expect!["[00, 11, 22, 33, 44, 55, 66, 77, 88, 99, aa, bb, 08, 06]"],
        );
        check("  ", expect!["nothing"]);
    }

    #[test]
    fn what_is_wrong_with_a_line_is_told() {
        check("0011", expect!["`0011` is no destination address of 12 hexadecimal digits"]);
        check("001122334455", expect!["`` is no source address of 12 hexadecimal digits"]);
        check("001122334455 66778899aabb 800", expect!["`800` is no Ethernet type of 4 hexadecimal digits"]);
        check("001122334455 66778899aabb 0800 4", expect!["`4` is no byte of 2 hexadecimal digits"]);
        check("001122334455 66778899aabb 0800 4500", expect!["`4500` is no byte of 2 hexadecimal digits"]);
    }

    proptest! {
        #[test]
        fn what_is_written_is_read_back(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let mut line = Vec::new();
            prop_assert_eq!(write_line(&mut line, &bytes), bytes.len() >= HEADER);
            if bytes.len() >= HEADER {
                let mut back = Vec::new();
                prop_assert_eq!(read_line(&line, &mut back), Ok(true));
                prop_assert_eq!(back, bytes);
            }
        }

        #[test]
        fn any_line_is_read_or_refused(bytes in proptest::collection::vec(any::<u8>(), 0..100)) {
            let _ = read_line(&bytes, &mut Vec::new());
        }
    }
}
