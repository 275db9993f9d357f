//! The text of TCP options.

use super::append;
use super::describe::u8_at;
use super::option_text::{parse_list, parse_unknown, print_list, print_unknown, Text};

/// Kinds of options: RFC 9293, RFC 7323 and RFC 2018.
pub const MSS: u8 = 2;
pub const WINDOW_SCALE: u8 = 3;
pub const SACK_PERMITTED: u8 = 4;
pub const SACK: u8 = 5;
pub const TIMESTAMP: u8 = 8;

/// Which options a field shows.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Shown {
    /// All but fillers.
    All,
    /// All but fillers and timestamps.
    NoTimestamp,
    /// Selective acknowledgements.
    Sack,
}

impl Shown {
    fn shows(self, kind: u8) -> bool {
        match self {
            Shown::All => true,
            Shown::NoTimestamp => kind != TIMESTAMP,
            Shown::Sack => kind == SACK || kind == SACK_PERMITTED,
        }
    }
}

/// Prints options; `?` if one is wrong, `.` if there are none to show.
pub fn print(options: &[u8], shown: Shown, out: &mut Vec<u8>) {
    print_list(options, is_right, out, |option, is_first, out| {
        if !shown.shows(u8_at(option, 0)) {
            return;
        }
        let is_empty = u8_at(option, 0) == SACK && option.len() == 2;
        if !is_first && !is_empty {
            out.push(b';');
        }
        print_one(option, out);
    });
}

/// Whether an option has a length, the right one if its kind is known.
fn is_right(option: &[u8]) -> bool {
    option.len() > 1 && fits_kind(option)
}

/// Whether an option of a known kind has the right length.
pub fn fits_kind(option: &[u8]) -> bool {
    match u8_at(option, 0) {
        MSS => option.len() == 4,
        WINDOW_SCALE => option.len() == 3,
        SACK_PERMITTED => option.len() == 2,
        SACK => option.len() % 8 == 2,
        TIMESTAMP => option.len() == 10,
        _ => true,
    }
}

fn print_one(option: &[u8], out: &mut Vec<u8>) {
    let number = |at: usize, len: usize| {
        (at..at + len).fold(0u32, |number, at| number << 8 | u32::from(u8_at(option, at)))
    };
    match u8_at(option, 0) {
        MSS => append(out, format_args!("mss{}", number(2, 2))),
        WINDOW_SCALE => append(out, format_args!("wscale{}", number(2, 1))),
        SACK_PERMITTED => out.extend_from_slice(b"sackok"),
        SACK => {
            for at in (2..option.len()).step_by(8) {
                let separator = if at > 2 { ";" } else { "" };
                append(out, format_args!("{separator}sack{}-{}", number(at, 4), number(at + 4, 4)));
            }
        }
        TIMESTAMP => append(out, format_args!("ts{}:{}", number(2, 4), number(6, 4))),
        _ => print_unknown(option, out),
    }
}

/// Writes the options in binary, fillers included where the field shows all, up to the first that is wrong.
pub fn write(options: &[u8], shown: Shown, out: &mut Vec<u8>) {
    if options.is_empty() {
        return out.push(0);
    }
    if shown == Shown::All {
        // Click writes them twice, as they are and again: dumps are the same, byte for byte.
        out.push(options.len() as u8);
        out.extend_from_slice(options);
    }
    super::option_text::write_known(
        options,
        |kind| kind > 1 && shown.shows(kind) || shown == Shown::All,
        out,
    );
}

/// Reads options of a field.
pub fn parse(text: &[u8], shown: Shown) -> Option<Vec<u8>> {
    let end = text.iter().position(u8::is_ascii_whitespace).unwrap_or(text.len());
    let fillers = shown == Shown::All;
    let text = text.get(..end)?;
    let is_filler = |option: &[u8]| option.starts_with(b"nop") || option.starts_with(b"eol");
    if !fillers && text.split(|byte| matches!(byte, b',' | b';')).any(is_filler) {
        return None;
    }
    parse_list(text, |text, out| parse_one(text, shown, out))
}

fn parse_one(text: &mut Text<'_>, shown: Shown, out: &mut Vec<u8>) -> Option<()> {
    let shows = |kind| shown.shows(kind);
    if shows(MSS) && text.eat(b"mss") {
        out.extend([MSS, 4]);
        out.extend(u16::try_from(text.number()?).ok()?.to_be_bytes());
    } else if shows(WINDOW_SCALE) && text.eat(b"wscale") {
        out.extend([WINDOW_SCALE, 3, u8::try_from(text.number()?).ok()?]);
    } else if shows(SACK) && text.eat(b"sackok") {
        out.extend([SACK_PERMITTED, 2]);
    } else if shows(SACK) && text.eat(b"sack") {
        parse_sack(text, out)?;
    } else if shows(TIMESTAMP) && text.eat(b"ts") {
        let first = text.number()?;
        if !text.eat(b":") {
            return None;
        }
        let second = text.number()?;
        if out.is_empty() {
            // RFC 7323, appendix A: fillers align the timestamps.
            out.extend([1, 1]);
        }
        out.extend([TIMESTAMP, 10]);
        out.extend([first.to_be_bytes(), second.to_be_bytes()].concat());
    } else if shows(6) && text.has_digit() {
        parse_unknown(text, out)?;
    } else {
        return None;
    }
    Some(())
}

/// Blocks that follow each other, separated by commas, are one option.
fn parse_sack(text: &mut Text<'_>, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.extend([SACK, 0]);
    loop {
        let first = text.number()?;
        if !text.eat(b":") && !text.eat(b"-") {
            return None;
        }
        let second = text.number()?;
        out.extend([first.to_be_bytes(), second.to_be_bytes()].concat());
        if text.0.len() < 6 || !text.eat(b",sack") {
            break;
        }
    }
    let len = u8::try_from(out.len() - start).ok()?;
    *out.get_mut(start + 1)? = len;
    Some(())
}
