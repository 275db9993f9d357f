//! Fields of what the headers carry.

use std::borrow::Cow;

use md5::{Digest, Md5};
use wire::protocol;

use super::compose::{Composer, IP_HEADER, TCP_HEADER};
use super::describe::Described;
use super::{append, field, order, parse_nothing, parse_u32, print_number, Binary, Field, Print, Value};

/// Most bytes of payload that a packet is made with.
const MAX_LEN: usize = 1 << 24;
/// Bytes of the longest IP or TCP header.
const LONGEST_HEADER: usize = 60;

pub(super) const FIELDS: &[Field] = &[
    field("payload_len", Binary::Number(4), order::PAYLOAD + 1, len, print_number, parse_u32, set_len),
    field("payload", Binary::Never, order::PAYLOAD, payload, print_payload, parse_payload, set_payload),
    digest("payload_md5", print_md5),
    digest("payload_md5_hex", print_md5_hex),
];

pub(super) const SYNONYMS: &[(&str, &str)] = &[("payload_length", "payload_len")];

const fn digest(name: &'static str, print: Print) -> Field {
    Field {
        name,
        binary: Binary::Special(write_md5),
        order: order::PAYLOAD,
        extract: payload,
        print,
        parse: parse_nothing,
        inject: None,
    }
}

/// Offset of the payload from the start of the data, which may be beyond the end, and the length it should have.
fn place(described: &Described<'_>) -> (usize, u32) {
    let Some(ip) = described.ip else { return (0, described.bytes().len() as u32) };
    let mut start = described.transport_start();
    if described.is_first_fragment() {
        let header_len = usize::from(described.transport_u8(12) >> 4) * 4;
        start += match described.ip_u8(9) {
            protocol::TCP if described.transport_len() >= 13 && header_len >= TCP_HEADER => header_len,
            protocol::TCP => TCP_HEADER,
            protocol::UDP | protocol::UDPLITE => 8,
            _ => 0,
        };
    }
    (start, u32::from(described.ip_u16(2)).wrapping_sub(start.wrapping_sub(ip) as u32))
}

fn len<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let (_, len) = place(described);
    let counts = described.ip.is_none() || described.counts_extra_length;
    let extra = if counts { described.extra_len() } else { 0 };
    Some(Value::Number(len.wrapping_add(extra).into()))
}

fn payload<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let (start, len) = place(described);
    if len > 0 && start >= described.packet.len() {
        return None;
    }
    let rest = described.bytes().get(start..).unwrap_or(&[]);
    Some(Value::Bytes(Cow::Borrowed(rest.get(..len as usize).unwrap_or(rest))))
}

fn print_payload(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    append(out, format_args!("{}", args::Quoted(value.bytes())));
}

/// Six bits a character, the lowest first.
fn print_md5(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    const LETTERS: &[u8; 64] = b"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_@";
    let bits = u128::from_le_bytes(Md5::digest(value.bytes()).into());
    out.extend((0..22).filter_map(|idx| LETTERS.get((bits >> (idx * 6)) as usize & 63)));
}

fn print_md5_hex(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    for byte in Md5::digest(value.bytes()) {
        append(out, format_args!("{byte:02x}"));
    }
}

fn write_md5(payload: &[u8], out: &mut Vec<u8>) {
    out.extend(Md5::digest(payload));
}

fn parse_payload(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    let text = match std::str::from_utf8(text) {
        Ok(text) => Cow::Borrowed(text),
        // Bytes that are no text are as good as their escapes.
        Err(_) => Cow::Owned(text.iter().fold(String::new(), |mut escaped, byte| {
            match byte {
                0..=127 => escaped.push(char::from(*byte)),
                _ => escaped += &format!("\\{byte:03o}"),
            }
            escaped
        })),
    };
    let bytes = args::bytes(&text).ok().filter(|bytes| bytes.len() <= MAX_LEN)?;
    Some(Value::Bytes(Cow::Owned(bytes)))
}

/// Offset at which the payload of a packet begins that is being made.
fn start_of(composer: &mut Composer) -> usize {
    if composer.make_ip(0) {
        composer.make_transport();
    }
    if !composer.is_ip {
        return 0;
    }
    let mut start = composer.transport_start();
    if composer.is_first_fragment() {
        start += match composer.ip_u8(9) {
            protocol::TCP if composer.transport_len() >= 13 => composer.tcp_header_len().max(TCP_HEADER),
            protocol::TCP => TCP_HEADER,
            protocol::UDP | protocol::UDPLITE => 8,
            _ => 0,
        };
    }
    start
}

/// Makes the headers and the packet agree with a payload of `len` bytes. Where the packet's length is given already, what
/// is too much of it becomes options.
fn account(composer: &mut Composer, start: usize, len: usize) {
    let own = composer.ip_u16(2);
    if !composer.is_ip || (own == 0 && composer.want_len == 0) {
        composer.want_len = (start as u32).wrapping_add(len as u32);
        return;
    }
    let total = if own > 0 { u32::from(own) } else { composer.want_len };
    let total = total.wrapping_add(composer.ip_start() as u32);
    // In 32 bits with a sign, as in Click: an excess of 2^31 and more is none.
    let excess = total.wrapping_sub(start as u32).wrapping_sub(len as u32) as i32;
    let Ok(mut excess) = usize::try_from(excess) else { return };
    let has_tcp = composer.is_first_fragment() && composer.ip_u8(9) == protocol::TCP;
    if excess > 0 && has_tcp && !composer.has_tcp_header_len && composer.tcp_header_len() == TCP_HEADER {
        let n = (excess & !3).min(LONGEST_HEADER - TCP_HEADER);
        composer.insert(composer.transport_start() + TCP_HEADER, n);
        composer.set_tcp_header_len(TCP_HEADER + n);
        excess -= n;
    }
    if excess > 0 && !composer.has_ip_header_len && composer.ip_header_len() == IP_HEADER {
        let n = (excess & !3).min(LONGEST_HEADER - IP_HEADER);
        composer.insert(composer.ip_start() + IP_HEADER, n);
        composer.set_ip_header_len(IP_HEADER + n);
        composer.packet.set_network_header(composer.ip_start(), IP_HEADER + n);
    }
}

fn set_len(composer: &mut Composer, value: Value<'_>) {
    let start = start_of(composer);
    account(composer, start, value.number() as usize);
}

fn set_payload(composer: &mut Composer, value: Value<'_>) {
    let start = start_of(composer);
    let payload = value.bytes();
    if payload.is_empty() {
        return;
    }
    account(composer, start, payload.len());
    if composer.packet.len() < start {
        // The length that was given leaves no room for the headers.
        return;
    }
    let end = start + payload.len();
    if composer.packet.len() < end {
        composer.append(end - composer.packet.len());
    }
    composer.set(start, payload);
}
