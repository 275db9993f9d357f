//! The lines of `cap` that are about segments.

use super::sequence::Numbers;

const NOP: u8 = 1;
const SACK: u8 = 5;
/// Bytes of TCP options, at most; one block takes 8.
const MAX_OPTIONS: usize = 40;
const NS_PER_S: i64 = 1_000_000_000;
/// Digits of a time that count.
const TIME_DIGITS: usize = 6;

/// What a segment is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Kind {
    Begin,
    Data,
    Answer,
}

/// Packets that have arrived out of order, as an annotation of the line tells.
enum Received {
    /// `DSACK`: one.
    Twice(u32),
    /// `SACK`: from one to another.
    Ranges(Vec<(u32, u32)>),
}

/// A line about a segment.
pub(super) struct Segment {
    pub kind: Kind,
    /// Whether the direction is `>`.
    pub is_sent: bool,
    pub time_ns: i64,
    pub number: u32,
    /// The number of the packet in the sequence.
    pub place: u32,
    pub payload_len: u32,
    pub is_end: bool,
    received: Vec<Received>,
}

impl Segment {
    /// The segment of a line, if it is about one.
    pub fn read(line: &[u8]) -> Option<Segment> {
        let kind = match line.first_chunk::<3>()? {
            b"SYN" => Kind::Begin,
            b"DAT" => Kind::Data,
            b"ACK" => Kind::Answer,
            _ => return None,
        };
        let mut rest = line.get(3..).filter(|rest| rest.first().is_some_and(u8::is_ascii_whitespace))?;
        skip_space(&mut rest);
        let (direction, behind) = rest.split_first().filter(|(first, _)| matches!(first, b'<' | b'>'))?;
        let is_sent = *direction == b'>';
        rest = behind;
        skip_space(&mut rest);
        let time_ns = time(&mut rest)?;
        let mut number = || {
            skip_space(&mut rest);
            integer(&mut rest)
        };
        let (number, place, _ip_len, payload_len) = (number()?, number()?, number()?, number()?);
        let received = Vec::new();
        let mut segment =
            Segment { kind, is_sent, time_ns, number, place, payload_len, is_end: false, received };
        while segment.read_annotation(&mut rest) {}
        Some(segment)
    }

    /// Reads what else is told of the segment; false if nothing that is known.
    fn read_annotation(&mut self, rest: &mut &[u8]) -> bool {
        skip_space(rest);
        if take(rest, b"DSACK:") {
            let Some(number) = integer(rest) else { return false };
            self.received.push(Received::Twice(number));
        } else if take(rest, b"FIN") {
            self.is_end = true;
        } else if rest.starts_with(b"SACK:") {
            *rest = rest.get(4..).unwrap_or_default();
            self.received.push(Received::Ranges(ranges(rest)));
        } else {
            return [&b"FR"[..], b"RTO", b"SACK_NEW", b"SACK_REXMT", b"TIM"]
                .iter()
                .any(|word| take(rest, word));
        }
        true
    }

    /// The TCP options that tell what has been received.
    pub fn options(&self, numbers: &mut Numbers) -> Result<Vec<u8>, String> {
        let mut options = Vec::new();
        for received in &self.received {
            let (blocks, room) = match received {
                Received::Twice(number) => (vec![(*number, *number)], 12),
                Received::Ranges(ranges) => (ranges.clone(), MAX_OPTIONS),
            };
            let is_cut = matches!(received, Received::Ranges(_));
            let mut own = vec![NOP, NOP, SACK, 2 + 8 * blocks.len() as u8];
            for (first, last) in blocks {
                own.extend(numbers.at(first)?.to_be_bytes());
                own.extend(numbers.at(last.wrapping_add(1))?.to_be_bytes());
            }
            // As in Click, each annotation begins where the options begin, and those of DSACK keep what is behind.
            let len = (options.len() + room).min(MAX_OPTIONS);
            options.resize(if is_cut { own.len() } else { len }, 0);
            options.iter_mut().zip(own).for_each(|(place, byte)| *place = byte);
        }
        Ok(options)
    }
}

/// Ranges such as `:6-7:9-9`, as many as fit in TCP options.
fn ranges(rest: &mut &[u8]) -> Vec<(u32, u32)> {
    let mut ranges = Vec::new();
    while 4 + 8 * (ranges.len() + 1) <= MAX_OPTIONS {
        let mut at = *rest;
        let range = (take(&mut at, b":"), integer(&mut at), take(&mut at, b"-"), integer(&mut at));
        let (true, Some(first), true, Some(last)) = range else { break };
        *rest = at;
        ranges.push((first, last));
    }
    ranges
}

fn skip_space(rest: &mut &[u8]) {
    *rest = rest.trim_ascii_start();
}

/// Takes a word from the beginning, if it is there.
fn take(rest: &mut &[u8], word: &[u8]) -> bool {
    match rest.strip_prefix(word) {
        Some(behind) => {
            *rest = behind;
            true
        }
        None => false,
    }
}

/// Takes digits from the beginning. Numbers that are too large are the largest.
fn integer(rest: &mut &[u8]) -> Option<u32> {
    let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, behind) = rest.split_at_checked(n_digits).filter(|_| n_digits > 0)?;
    *rest = behind;
    let digit = |byte: &u8| u32::from(byte - b'0');
    Some(digits.iter().fold(0, |number: u32, byte| number.saturating_mul(10).saturating_add(digit(byte))))
}

/// Takes a time. Its seconds are a signed number of 32 bits, and the digits after the point count nanoseconds, as in Click.
fn time(rest: &mut &[u8]) -> Option<i64> {
    let seconds = integer(rest)? as i32;
    let mut nanoseconds = 0;
    if rest.len() > 1 && take(rest, b".") {
        let n_digits = rest.iter().take_while(|byte| byte.is_ascii_digit()).count();
        let (digits, behind) = rest.split_at_checked(n_digits).unwrap_or((rest, &[]));
        let padded = digits.iter().chain(std::iter::repeat(&b'0')).take(TIME_DIGITS);
        nanoseconds = padded.fold(0, |number, byte| number * 10 + i64::from(byte - b'0'));
        *rest = behind;
    }
    Some(i64::from(seconds) * NS_PER_S + nanoseconds)
}
