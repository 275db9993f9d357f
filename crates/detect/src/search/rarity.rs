//! Which bytes of a pattern are the least to be expected in what networks carry.

use super::scanner::WINDOW;

/// Among so many of a pattern's last bytes the choice is made.
const CHOICE: usize = 24;

/// Where as many windows as a stride has begin, one byte after the other, that are the least to be expected.
pub fn rarest_windows(bytes: &[u8], stride: usize) -> usize {
    let last = bytes.len().saturating_sub(WINDOW + stride - 1);
    let first = bytes.len().saturating_sub(CHOICE).min(last);
    let cost = |at: &usize| -> u32 {
        let group = bytes.get(*at..*at + WINDOW + stride - 1).unwrap_or_default();
        group.windows(WINDOW).map(cost).sum()
    };
    (first..=last).min_by_key(cost).unwrap_or(0)
}

fn cost(four: &[u8]) -> u32 {
    let repeated = four.windows(2).filter(|pair| pair.first() == pair.last()).count() as u32;
    let is_common = COMMON.iter().any(|common| common.eq_ignore_ascii_case(four));
    four.iter().map(|byte| commonness(*byte)).sum::<u32>() + repeated * 4 + u32::from(is_common) * 40
}

/// Four bytes that are in nearly every message of HTTP.
const COMMON: &[&[u8]] = &[
    b"http",
    b"ttp/",
    b"tp/1",
    b"p/1.",
    b"/1.1",
    b"\r\n\r\n",
    b"www.",
    b".com",
    b"cont",
    b"onte",
    b"nten",
    b"tent",
    b"-typ",
    b"host",
    b"acce",
    b"cept",
    b"agen",
    b"user",
    b"text",
    b"html",
    b"ion:",
    b"tion",
    b"\0\0\0\0",
];

/// How often a byte is to be expected.
fn commonness(byte: u8) -> u32 {
    match byte.to_ascii_lowercase() {
        b'e' | b't' | b'a' | b'o' | b'i' | b'n' | b's' | b'r' | b' ' | 0 => 10,
        b'h' | b'l' | b'd' | b'c' | b'u' | b'm' | b'p' | b'/' | b'.' | b'\r' | b'\n' => 7,
        b'a'..=b'z' | b'0'..=b'9' | b'-' | b'=' | b':' | b'"' | 0xFF => 4,
        b'<' | b'>' | b'&' | b'_' | b',' | b';' | b'(' | b')' => 3,
        _ => 1,
    }
}
