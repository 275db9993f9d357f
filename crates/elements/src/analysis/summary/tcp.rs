//! Fields of the TCP header.

use std::borrow::Cow;

use wire::protocol;

use super::compose::{Composer, TCP_HEADER};
use super::describe::{Described, Part};
use super::tcp_options::{self, Shown};
use super::{field, order, parse_u16, parse_u32, parse_u8, print_number, word, Binary, Field, Value};

const TCP: u16 = order::TRANSPORT;

pub(super) const FIELDS: &[Field] = &[
    field("tcp_seq", Binary::Number(4), TCP, sequence, print_number, parse_u32, set_sequence),
    field("tcp_ack", Binary::Number(4), TCP, acknowledgement, print_number, parse_u32, set_acknowledgement),
    field("tcp_off", Binary::Number(1), TCP - 1, header_len, print_number, parse_u8, set_header_len),
    field("tcp_flags", Binary::Number(1), TCP, flags, print_flags, parse_flags, set_flags),
    field("tcp_window", Binary::Number(2), TCP, window, print_number, parse_u16, set_window),
    field("tcp_urp", Binary::Number(2), TCP, urgent, print_number, parse_u16, set_urgent),
    field("tcp_opt", Binary::Special(write_all), TCP + 3, options, print_all, parse_all, set_options),
    field(
        "tcp_ntopt",
        Binary::Special(write_some),
        TCP + 2,
        some_options,
        print_some,
        parse_some,
        set_options,
    ),
    field(
        "tcp_sack",
        Binary::Special(write_sack),
        TCP + 1,
        some_options,
        print_sack,
        parse_sack,
        set_options,
    ),
];

pub(super) const SYNONYMS: &[(&str, &str)] =
    &[("tcp_seqno", "tcp_seq"), ("tcp_ackno", "tcp_ack"), ("tcp_win", "tcp_window")];

/// RFC 7323, appendix A: two fillers and a timestamp option, the usual options of a segment.
const TIMESTAMP_ALONE: u32 = 0x0101_080A;

/// Letters of the flags, from the lowest bit.
pub const FLAGS: &[u8; 9] = b"FSRPAUECN";

fn tcp_u16<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    let is_here = described.has_protocol(protocol::TCP, at + 2);
    is_here.then(|| Value::Number(described.transport_u16(at).into()))
}

fn tcp_u32<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    let is_here = described.has_protocol(protocol::TCP, at + 4);
    is_here.then(|| Value::Number(described.transport_u32(at).into()))
}

fn sequence<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tcp_u32(described, 4)
}

fn acknowledgement<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tcp_u32(described, 8)
}

/// Twelve bits: RFC 3540's nonce sum is the lowest bit of the byte before the others, and three above it have no letter.
fn flags<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tcp_u16(described, 12).map(|word| Value::Number(word.number() & 0xFFF))
}

fn header_len<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let is_here = described.has_protocol(protocol::TCP, 13);
    is_here.then(|| Value::Number(u64::from(described.transport_u8(12) >> 4) * 4))
}

fn window<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tcp_u16(described, 14)
}

fn urgent<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tcp_u16(described, 18)
}

fn options<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let wanted = described.transport_len() + 1;
    // The header may have been cut off before the byte that tells how long it is.
    let is_here = described.transport_len() >= 13;
    if !described.has_protocol(protocol::TCP, if is_here { 13 } else { wanted }) {
        return None;
    }
    let len = usize::from(described.transport_u8(12) >> 4) * 4;
    if len > TCP_HEADER && described.transport_len() < len {
        described.miss(Part::Transport(protocol::TCP), wanted);
        return None;
    }
    let start = described.transport_start();
    let options = described.bytes().get(start + TCP_HEADER..start + len).unwrap_or(&[]);
    Some(Value::Bytes(Cow::Borrowed(options)))
}

fn some_options<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let len = described.transport_u8(12) >> 4;
    let is_usual =
        len == 8 && described.transport_len() >= 24 && described.transport_u32(TCP_HEADER) == TIMESTAMP_ALONE;
    if is_usual && described.has_protocol(protocol::TCP, 13) {
        return Some(Value::Bytes(Cow::Borrowed(&[])));
    }
    options(described)
}

fn print_flags(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    let flags = value.number();
    if flags == 0 {
        return out.push(b'.');
    }
    out.extend(FLAGS.iter().enumerate().filter(|(bit, _)| flags >> bit & 1 != 0).map(|(_, letter)| *letter));
}

fn print_options(value: &Value<'_>, shown: Shown, out: &mut Vec<u8>) {
    match value.bytes() {
        [] => out.push(b'.'),
        options => tcp_options::print(options, shown, out),
    }
}

fn print_all(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    print_options(value, Shown::All, out);
}

fn print_some(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    print_options(value, Shown::NoTimestamp, out);
}

fn print_sack(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    print_options(value, Shown::Sack, out);
}

fn write_all(options: &[u8], out: &mut Vec<u8>) {
    tcp_options::write(options, Shown::All, out);
}

fn write_some(options: &[u8], out: &mut Vec<u8>) {
    tcp_options::write(options, Shown::NoTimestamp, out);
}

fn write_sack(options: &[u8], out: &mut Vec<u8>) {
    tcp_options::write(options, Shown::Sack, out);
}

fn parse_flags(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    match text {
        b"." => return Some(Value::Number(0)),
        [] => return None,
        [digit, ..] if digit.is_ascii_digit() => {
            let number = args::integer::<u32>(word(text)?).ok()?;
            return (number < 0x1000).then_some(Value::Number(number.into()));
        }
        _ => {}
    }
    let flags = text.iter().try_fold(0, |flags, letter| {
        // Old dumps have X and Y for the flags of RFC 3168, and W is the usual letter for CWR.
        let bit = match letter {
            b'X' => 6,
            b'Y' | b'W' => 7,
            _ => FLAGS.iter().position(|known| known == letter)?,
        };
        Some(flags | 1u64 << bit)
    })?;
    Some(Value::Number(flags))
}

fn parse_options(text: &[u8], shown: Shown) -> Option<Value<'static>> {
    tcp_options::parse(text, shown).map(|options| Value::Bytes(Cow::Owned(options)))
}

fn parse_all(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_options(text, Shown::All)
}

fn parse_some(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_options(text, Shown::NoTimestamp)
}

fn parse_sack(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_options(text, Shown::Sack)
}

fn make_tcp(composer: &mut Composer) -> bool {
    composer.make_ip(protocol::TCP) && composer.make_transport()
}

fn set_sequence(composer: &mut Composer, value: Value<'_>) {
    if make_tcp(composer) {
        composer.set_transport(4, &(value.number() as u32).to_be_bytes());
    }
}

fn set_acknowledgement(composer: &mut Composer, value: Value<'_>) {
    if make_tcp(composer) {
        composer.set_transport(8, &(value.number() as u32).to_be_bytes());
    }
}

fn set_flags(composer: &mut Composer, value: Value<'_>) {
    if make_tcp(composer) {
        let above = composer.transport_u8(12) & 0xF0;
        let flags = value.number();
        composer.set_transport(12, &[above | (flags >> 8) as u8 & 15, flags as u8]);
    }
}

fn set_window(composer: &mut Composer, value: Value<'_>) {
    if make_tcp(composer) {
        composer.set_transport(14, &(value.number() as u16).to_be_bytes());
    }
}

fn set_urgent(composer: &mut Composer, value: Value<'_>) {
    if make_tcp(composer) {
        composer.set_transport(18, &(value.number() as u16).to_be_bytes());
    }
}

fn set_header_len(composer: &mut Composer, value: Value<'_>) {
    if !make_tcp(composer) {
        return;
    }
    let len = (value.number() as usize).next_multiple_of(4);
    let old = composer.tcp_header_len();
    if len > old {
        composer.append(len - old);
        let zeros = [0; 256];
        composer.set_transport(old, zeros.get(..len - old).unwrap_or(&zeros));
    }
    composer.set_tcp_header_len(len);
}

fn set_options(composer: &mut Composer, value: Value<'_>) {
    if !make_tcp(composer) {
        return;
    }
    composer.has_tcp_header_len = true;
    let options = value.bytes();
    if options.is_empty() {
        return;
    }
    let len = (TCP_HEADER + options.len()).next_multiple_of(4);
    composer.extend_transport(len);
    if len > composer.tcp_header_len() {
        composer.set_tcp_header_len(len);
    }
    composer.set_transport(TCP_HEADER, options);
    // Click's padding is longer than the header, as far as other options have made the packet so.
    let end = TCP_HEADER + options.len();
    let padding = (len - options.len()).min(composer.transport_len().saturating_sub(end));
    composer.set_transport(end, &vec![0; padding]);
}
