//! The text of IPv4 options.

use std::borrow::Cow;

use super::compose::Composer;
use super::describe::u8_at;
use super::option_text::{parse_list, parse_unknown, print_list, print_unknown, Text};
use super::{append, Value};

const RECORD_ROUTE: u8 = 7;
const TIMESTAMP: u8 = 68;
const LOOSE_ROUTE: u8 = 131;
const STRICT_ROUTE: u8 = 137;

/// Flags of the timestamp option: each timestamp has its address, or those of given addresses are wanted (RFC 791).
const WITH_ADDRESS: u8 = 1;
const PRESPECIFIED: u8 = 3;

/// Prints options; `?` if one is wrong, `.` if there are none but fillers.
pub fn print(options: &[u8], out: &mut Vec<u8>) {
    print_list(options, is_right, out, |option, is_first, out| {
        if !is_first {
            out.push(b';');
        }
        match u8_at(option, 0) {
            RECORD_ROUTE | LOOSE_ROUTE | STRICT_ROUTE => print_route(option, out),
            TIMESTAMP => print_timestamps(option, out),
            _ => print_unknown(option, out),
        }
    });
}

/// Whether length and pointer can be right.
fn is_right(option: &[u8]) -> bool {
    match u8_at(option, 0) {
        RECORD_ROUTE | LOOSE_ROUTE | STRICT_ROUTE => option.len() >= 3 && u8_at(option, 2) >= 4,
        TIMESTAMP => option.len() >= 4 && u8_at(option, 2) >= 5,
        _ => option.len() > 1,
    }
}

fn print_address(option: &[u8], at: usize, out: &mut Vec<u8>) {
    let byte = |idx| u8_at(option, at + idx);
    append(out, format_args!("{}.{}.{}.{}", byte(0), byte(1), byte(2), byte(3)));
}

fn print_route(option: &[u8], out: &mut Vec<u8>) {
    let is_record = u8_at(option, 0) == RECORD_ROUTE;
    let name: &[u8] = match u8_at(option, 0) {
        RECORD_ROUTE => b"rr{",
        LOOSE_ROUTE => b"lsrr{",
        _ => b"ssrr{",
    };
    out.extend_from_slice(name);
    let pointer = usize::from(u8_at(option, 2)) - 1;
    let mut at = 3;
    let mut separator: &[u8] = b"";
    while at + 4 <= option.len() {
        if at == pointer {
            if is_record {
                break;
            }
            separator = b"^";
        }
        out.extend_from_slice(separator);
        print_address(option, at, out);
        separator = b",";
        at += 4;
    }
    if at == option.len() && at == pointer && !is_record {
        out.push(b'^');
    }
    out.push(b'}');
    if at + 4 <= option.len() && at == pointer && is_record {
        append(out, format_args!("+{}", (option.len() - at) / 4));
    }
}

fn print_timestamps(option: &[u8], out: &mut Vec<u8>) {
    let flag = u8_at(option, 3) & 15;
    let overflow = u8_at(option, 3) >> 4;
    let size = if (1..=3).contains(&flag) { 8 } else { 4 };
    let pointer = usize::from(u8_at(option, 2)) - 1;
    match flag {
        0 => out.extend_from_slice(b"ts{"),
        WITH_ADDRESS => out.extend_from_slice(b"ts.ip{"),
        PRESPECIFIED => out.extend_from_slice(b"ts.preip{"),
        _ => append(out, format_args!("ts.{flag}{{")),
    }
    let mut at = 4;
    let mut separator: &[u8] = b"";
    while at + size <= option.len() {
        if at == pointer {
            if flag != PRESPECIFIED {
                break;
            }
            separator = b"^";
        }
        out.extend_from_slice(separator);
        separator = b",";
        if flag != 0 {
            print_address(option, at, out);
            at += 4;
        }
        // An address whose timestamp is still to come stands alone.
        if flag != PRESPECIFIED || at <= pointer {
            print_timestamp(option, at, flag != 0, out);
        }
        at += 4;
    }
    if at == option.len() && at == pointer {
        out.push(b'^');
    }
    out.push(b'}');
    if at + size <= option.len() && at == pointer {
        append(out, format_args!("+{}", (option.len() - at) / size));
    }
    if overflow > 0 {
        append(out, format_args!("++{overflow}"));
    }
}

/// RFC 791: the highest bit marks a time that is not in milliseconds since midnight UT.
fn print_timestamp(option: &[u8], at: usize, has_address: bool, out: &mut Vec<u8>) {
    let time = (0..4).fold(0, |time, idx| time << 8 | u32::from(u8_at(option, at + idx)));
    let equals = if has_address { "=" } else { "" };
    let mark = if time >> 31 != 0 { "!" } else { "" };
    append(out, format_args!("{equals}{mark}{}", time & 0x7FFF_FFFF));
}

/// Reads options.
pub fn parse(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_list(text, parse_one).map(|options| Value::Bytes(Cow::Owned(options)))
}

fn parse_one(text: &mut Text<'_>, out: &mut Vec<u8>) -> Option<()> {
    if text.eat(b"rr{") {
        parse_route(text, RECORD_ROUTE, out)
    } else if text.eat(b"ssrr{") {
        parse_route(text, STRICT_ROUTE, out)
    } else if text.eat(b"lsrr{") {
        parse_route(text, LOOSE_ROUTE, out)
    } else if text.0.starts_with(b"ts{") || text.0.starts_with(b"ts.") {
        parse_timestamps(text, out)
    } else if text.has_digit() {
        parse_unknown(text, out)
    } else {
        None
    }
}

fn parse_route(text: &mut Text<'_>, kind: u8, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.extend([kind, 0, 0]);
    let mut pointer = None;
    loop {
        if pointer.is_none() && text.eat(b"^") {
            pointer = Some(out.len() - start + 1);
        }
        if !text.has_digit() {
            break;
        }
        text.address(out)?;
        text.eat(b",");
    }
    if !text.eat(b"}") {
        return None;
    }
    let pointer = pointer.unwrap_or(out.len() - start + 1);
    if matches!(text.0, [b'+', digit, ..] if digit.is_ascii_digit()) {
        text.eat(b"+");
        let room = text.decimal()?;
        if room < 64 {
            out.resize(out.len() + room as usize * 4, 0);
        }
    }
    set_lengths(out, start, pointer)
}

/// Sets the length and the pointer of the option that begins at `start`.
fn set_lengths(out: &mut [u8], start: usize, pointer: usize) -> Option<()> {
    let len = u8::try_from(out.len() - start).ok()?;
    *out.get_mut(start + 1)? = len;
    *out.get_mut(start + 2)? = pointer as u8;
    Some(())
}

/// What entries of a timestamp option look like, as far as it is known.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entries {
    Unknown,
    /// With addresses; the option does not say of which kind.
    Addressed,
    Flag(u8),
}

fn parse_timestamps(text: &mut Text<'_>, out: &mut Vec<u8>) -> Option<()> {
    let start = out.len();
    out.extend([TIMESTAMP, 0, 0, 0]);
    let mut entries = parse_timestamp_kind(text)?;
    let mut pointer = None;
    loop {
        if pointer.is_none() && text.eat(b"^") {
            pointer = Some(out.len() - start + 1);
        }
        if !text.has_digit() && text.0.first() != Some(&b'!') {
            break;
        }
        parse_entry(text, &mut entries, pointer.is_some(), out)?;
        text.eat(b",");
    }
    if !text.0.is_empty() && !text.eat(b"}") {
        return None;
    }
    let flag = match entries {
        // Nothing tells: Click stores all bits.
        Entries::Unknown => 0xFF,
        Entries::Addressed => WITH_ADDRESS,
        Entries::Flag(flag) => flag,
    };
    let pointer = pointer.unwrap_or(out.len() - start + 1);
    if matches!(text.0, [b'+', digit, ..] if digit.is_ascii_digit()) {
        text.eat(b"+");
        let room = text.number()?;
        let size = if matches!(flag, WITH_ADDRESS | PRESPECIFIED) { 8 } else { 4 };
        if room < 64 {
            out.resize(out.len() + room as usize * size, 0);
        }
    }
    let mut overflow = 0;
    if matches!(text.0, [b'+', b'+', digit, ..] if digit.is_ascii_digit()) {
        text.eat(b"++");
        overflow = text.number().filter(|number| *number < 16)? as u8;
    }
    *out.get_mut(start + 3)? = overflow << 4 | flag;
    set_lengths(out, start, pointer)
}

fn parse_timestamp_kind(text: &mut Text<'_>) -> Option<Entries> {
    if text.eat(b"ts{") {
        Some(Entries::Unknown)
    } else if text.eat(b"ts.ip{") {
        Some(Entries::Flag(WITH_ADDRESS))
    } else if text.eat(b"ts.preip{") {
        Some(Entries::Flag(PRESPECIFIED))
    } else {
        text.eat(b"ts.");
        let flag = text.number().filter(|flag| *flag <= 15)?;
        text.eat(b"{").then_some(Entries::Flag(flag as u8))
    }
}

fn parse_entry(
    text: &mut Text<'_>,
    entries: &mut Entries,
    is_past_pointer: bool,
    out: &mut Vec<u8>,
) -> Option<()> {
    // The first entry tells whether there are addresses.
    let is_address = || {
        let n_digits = text.0.iter().take_while(|byte| byte.is_ascii_digit()).count();
        text.0.get(n_digits) == Some(&b'.')
    };
    if *entries == Entries::Unknown {
        *entries = if is_address() { Entries::Addressed } else { Entries::Flag(0) };
    }
    if !matches!(*entries, Entries::Flag(flag) if flag != WITH_ADDRESS && flag != PRESPECIFIED) {
        text.address(out)?;
        if is_past_pointer && *entries == Entries::Addressed {
            *entries = Entries::Flag(PRESPECIFIED);
        }
        let has_time = matches!(text.0, [b'=', next, ..] if next.is_ascii_digit() || *next == b'!');
        if has_time {
            text.eat(b"=");
        } else if is_past_pointer && (text.eat(b"=?") || text.0.first() != Some(&b'=')) {
            out.extend([0; 4]);
            return Some(());
        } else {
            return None;
        }
    }
    let mark = if text.eat(b"!") { 1 << 31 } else { 0 };
    if !text.has_digit() {
        return None;
    }
    out.extend((text.number()? | mark).to_be_bytes());
    Some(())
}
