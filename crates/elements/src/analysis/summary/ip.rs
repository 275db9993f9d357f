//! Fields of the IPv4 header.

use std::borrow::Cow;
use std::net::Ipv4Addr;

use wire::protocol;

use super::compose::{Composer, IP_HEADER};
use super::describe::{Described, Part};
use super::{
    append, field, ip_options, order, parse_u16, parse_u32, parse_u8, print_number, word, Binary, Field,
    Value,
};

const NET: u16 = order::NETWORK;
const DONT_FRAGMENT: u64 = 0x4000;
const MORE_FRAGMENTS: u64 = 0x2000;

pub(super) const SYNONYMS: &[(&str, &str)] = &[("length", "ip_len"), ("ip_p", "ip_proto")];

pub(super) const FIELDS: &[Field] = &[
    field("ip_src", Binary::Number(4), NET, source, print_address, parse_address, set_source),
    field("ip_dst", Binary::Number(4), NET, destination, print_address, parse_address, set_destination),
    field("ip_tos", Binary::Number(1), NET, tos, print_number, parse_u8, set_tos),
    field("ip_dscp", Binary::Number(1), NET, dscp, print_number, parse_u8, set_dscp),
    field("ip_ecn", Binary::Number(1), NET, ecn, print_ecn, parse_ecn, set_ecn),
    field("ip_ttl", Binary::Number(1), NET, ttl, print_number, parse_u8, set_ttl),
    field("ip_frag", Binary::Number(1), NET - 2, fragment, print_fragment, parse_offset, set_offset),
    field("ip_fragoff", Binary::Number(2), NET - 1, offset, print_offset, parse_offset, set_offset),
    field("ip_id", Binary::Number(2), NET, id, print_number, parse_u16, set_id),
    field("ip_sum", Binary::Number(2), NET + 2, sum, print_number, parse_u16, set_sum),
    field("ip_proto", Binary::Number(1), NET, proto, print_proto, parse_proto, set_proto),
    field("ip_hl", Binary::Number(1), NET - 1, header_len, print_number, parse_u8, set_header_len),
    field("ip_len", Binary::Number(4), NET + 1, len, print_number, parse_u32, set_len),
    field(
        "ip_capture_len",
        Binary::Number(4),
        order::PAYLOAD + 2,
        capture_len,
        print_number,
        parse_u32,
        ignore,
    ),
    field(
        "ip_opt",
        Binary::Special(write_options),
        NET,
        options,
        print_options,
        ip_options::parse,
        set_options,
    ),
];

fn ip_u8<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    described.has_ip(at + 1).then(|| Value::Number(described.ip_u8(at).into()))
}

fn ip_u16<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    described.has_ip(at + 2).then(|| Value::Number(described.ip_u16(at).into()))
}

fn ip_u32<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    described.has_ip(at + 4).then(|| {
        let number = u32::from(described.ip_u16(at)) << 16 | u32::from(described.ip_u16(at + 2));
        Value::Number(number.into())
    })
}

fn source<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u32(described, 12)
}

fn destination<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u32(described, 16)
}

fn tos<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u8(described, 1)
}

fn dscp<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tos(described).map(|tos| Value::Number(tos.number() >> 2))
}

fn ecn<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    tos(described).map(|tos| Value::Number(tos.number() & 3))
}

fn ttl<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u8(described, 8)
}

fn fragment<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let word = offset(described)?.number();
    let letter = match (word & 0x1FFF, word & MORE_FRAGMENTS) {
        (0, 0) if word & DONT_FRAGMENT != 0 => b'!',
        (0, 0) => b'.',
        (0, _) => b'F',
        _ => b'f',
    };
    Some(Value::Number(letter.into()))
}

fn offset<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u16(described, 6)
}

fn id<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u16(described, 4)
}

fn sum<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u16(described, 10)
}

fn proto<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    ip_u8(described, 9)
}

fn header_len<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    described.has_ip(1).then(|| Value::Number(described.ip_header_len() as u64))
}

fn len<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let len = match described.ip {
        Some(_) => u32::from(described.ip_u16(2)),
        None => described.len() as u32,
    };
    let extra = if described.counts_extra_length { described.extra_len() } else { 0 };
    Some(Value::Number(len.wrapping_add(extra).into()))
}

fn capture_len<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let len = match described.ip {
        Some(_) => described.network_len().min(described.ip_u16(2).into()),
        None => described.len(),
    };
    Some(Value::Number(len as u64))
}

fn options<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let len = described.ip_header_len();
    if described.ip.is_none() || (len > IP_HEADER && described.network_len() < len) {
        described.miss(Part::Ip, len);
        return None;
    }
    let start = described.ip.unwrap_or(0);
    let options = described.bytes().get(start + IP_HEADER..start + len).unwrap_or(&[]);
    Some(Value::Bytes(Cow::Borrowed(options)))
}

fn print_address(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    append(out, format_args!("{}", Ipv4Addr::from(value.number() as u32)));
}

fn print_fragment(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    out.push(value.number() as u8);
}

fn print_offset(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    let word = value.number();
    let more = if word & MORE_FRAGMENTS != 0 { "+" } else { "" };
    let dont = if word & DONT_FRAGMENT != 0 { "!" } else { "" };
    append(out, format_args!("{}{more}{dont}", (word & 0x1FFF) << 3));
}

fn print_proto(value: &Value<'_>, described: &Described<'_>, out: &mut Vec<u8>) {
    match value.number() as u8 {
        protocol::TCP => out.push(b'T'),
        protocol::UDP => out.push(b'U'),
        protocol::ICMP => out.push(b'I'),
        _ => print_number(value, described, out),
    }
}

/// RFC 3168 numbers the codepoints 01 and 10 as ECT(1) and ECT(0); dumps call them `ect1` and `ect2`.
fn print_ecn(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    let name: &[u8] = match value.number() {
        0 => b"no",
        1 => b"ect1",
        2 => b"ect2",
        _ => b"ce",
    };
    out.extend_from_slice(name);
}

fn print_options(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    match value.bytes() {
        [] => out.push(b'.'),
        options => ip_options::print(options, out),
    }
}

/// Click writes the options twice: as they are, and again up to the first that is wrong. Dumps are the same, byte for byte.
fn write_options(options: &[u8], out: &mut Vec<u8>) {
    if options.is_empty() {
        return out.push(0);
    }
    out.push(options.len() as u8);
    out.extend_from_slice(options);
    super::option_text::write_known(options, |_| true, out);
}

fn parse_address(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    let address = args::ip(word(text)?, &args::Scope::builtin()).ok()?;
    Some(Value::Number(address.to_bits().into()))
}

fn parse_offset(text: &[u8], composer: &Composer) -> Option<Value<'static>> {
    let number = match text {
        b"." => 0,
        b"!" => DONT_FRAGMENT,
        b"F" => MORE_FRAGMENTS,
        // Some offset: which one is not known.
        b"f" => 100,
        _ => {
            let text = word(text)?;
            let (number, flags) = args::integer_prefix(text).unwrap_or((0, text));
            // Version 1.0 of the format counts in units of 8 bytes.
            let shift = if composer.defaults.minor_version > 0 { 3 } else { 0 };
            let number = number.min(u32::MAX.into()) >> shift;
            flags.bytes().try_fold(number, |number, flag| match flag {
                b'!' => Some(number | DONT_FRAGMENT),
                b'+' => Some(number | MORE_FRAGMENTS),
                _ => None,
            })?
        }
    };
    (!text.is_empty()).then_some(Value::Number(number))
}

fn parse_proto(text: &[u8], composer: &Composer) -> Option<Value<'static>> {
    match text {
        b"T" => Some(Value::Number(protocol::TCP.into())),
        b"U" => Some(Value::Number(protocol::UDP.into())),
        b"I" => Some(Value::Number(protocol::ICMP.into())),
        _ => parse_u8(text, composer),
    }
}

fn parse_ecn(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    let number = match text {
        b"0" | b"no" | b"-" => 0,
        b"1" | b"ect1" | b"ECT(1)" => 1,
        b"2" | b"ect2" | b"ECT(0)" => 2,
        b"3" | b"ce" | b"CE" => 3,
        _ => return None,
    };
    Some(Value::Number(number))
}

fn set_u8(composer: &mut Composer, at: usize, number: u64) {
    if composer.make_ip(0) {
        composer.set_ip(at, &[number as u8]);
    }
}

fn set_u16(composer: &mut Composer, at: usize, number: u64) {
    if composer.make_ip(0) {
        composer.set_ip(at, &(number as u16).to_be_bytes());
    }
}

fn set_u32(composer: &mut Composer, at: usize, number: u64) {
    if composer.make_ip(0) {
        composer.set_ip(at, &(number as u32).to_be_bytes());
    }
}

fn set_source(composer: &mut Composer, value: Value<'_>) {
    set_u32(composer, 12, value.number());
}

fn set_destination(composer: &mut Composer, value: Value<'_>) {
    set_u32(composer, 16, value.number());
}

fn set_tos(composer: &mut Composer, value: Value<'_>) {
    set_u8(composer, 1, value.number());
}

fn set_dscp(composer: &mut Composer, value: Value<'_>) {
    if composer.make_ip(0) {
        set_u8(composer, 1, u64::from(composer.ip_u8(1) & 3) | value.number() << 2);
    }
}

fn set_ecn(composer: &mut Composer, value: Value<'_>) {
    if composer.make_ip(0) {
        set_u8(composer, 1, u64::from(composer.ip_u8(1) & !3) | value.number() & 3);
    }
}

fn set_ttl(composer: &mut Composer, value: Value<'_>) {
    set_u8(composer, 8, value.number());
}

fn set_offset(composer: &mut Composer, value: Value<'_>) {
    set_u16(composer, 6, value.number());
}

fn set_id(composer: &mut Composer, value: Value<'_>) {
    set_u16(composer, 4, value.number());
}

fn set_sum(composer: &mut Composer, value: Value<'_>) {
    set_u16(composer, 10, value.number());
}

fn set_proto(composer: &mut Composer, value: Value<'_>) {
    set_u8(composer, 9, value.number());
}

fn set_len(composer: &mut Composer, value: Value<'_>) {
    if composer.make_ip(0) {
        composer.want_len = (composer.ip_start() as u32).wrapping_add(value.number() as u32);
    }
}

/// What was captured follows from the other fields.
fn ignore(composer: &mut Composer, _: Value<'_>) {
    composer.make_ip(0);
}

fn set_header_len(composer: &mut Composer, value: Value<'_>) {
    if !composer.make_ip(0) {
        return;
    }
    composer.has_ip_header_len = true;
    let len = (value.number() as usize).next_multiple_of(4);
    let old = composer.ip_header_len();
    if len > old {
        let start = composer.ip_start();
        composer.append(len - old);
        composer.packet.set_network_header(start, len);
        composer.set_ip(old, &[0; 256][..(len - old).min(256)]);
    }
    composer.set_ip_header_len(len);
}

fn set_options(composer: &mut Composer, value: Value<'_>) {
    if !composer.make_ip(0) {
        return;
    }
    composer.has_ip_header_len = true;
    let options = value.bytes();
    if options.is_empty() {
        return;
    }
    let len = (IP_HEADER + options.len()).next_multiple_of(4);
    if composer.network_len() < len {
        composer.append(len - composer.network_len());
    }
    if len > composer.ip_header_len() {
        composer.packet.set_network_header(composer.ip_start(), len);
        composer.set_ip_header_len(len);
    }
    composer.set_ip(IP_HEADER, options);
    composer.set_ip(IP_HEADER + options.len(), &[0; 3][..len - IP_HEADER - options.len()]);
}
