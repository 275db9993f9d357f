//! Fields of the ICMP header.

use args::{NameKind, Scope};
use wire::protocol;

use super::compose::Composer;
use super::describe::Described;
use super::{append, field, order, parse_u16, print_number, word, Binary, Field, Value};

const ICMP: u16 = order::TRANSPORT;

/// Types of RFC 792.
const ECHO_REPLY: u8 = 0;
const UNREACHABLE: u8 = 3;
const ECHO: u8 = 8;
const TIMESTAMP: u8 = 13;
const TIMESTAMP_REPLY: u8 = 14;
const INFORMATION: u8 = 15;
const INFORMATION_REPLY: u8 = 16;
/// The code of RFC 1191's message that tells the next hop's MTU.
const FRAGMENTATION_NEEDED: u8 = 4;

pub(super) const FIELDS: &[Field] = &[
    field("icmp_type", Binary::Number(1), ICMP, kind, print_number, parse_kind, set_kind),
    field("icmp_code", Binary::Number(1), ICMP + 1, code, print_number, parse_code, set_code),
    field("icmp_type_name", Binary::Number(1), ICMP, kind, print_kind, parse_kind, set_kind),
    field("icmp_code_name", Binary::Number(1), ICMP + 1, code, print_code, parse_code, set_code),
    field("icmp_flowid", Binary::Number(2), ICMP + 2, identifier, print_number, parse_u16, set_identifier),
    field("icmp_seq", Binary::Number(2), ICMP + 2, sequence, print_number, parse_u16, set_sequence),
    field("icmp_nextmtu", Binary::Number(2), ICMP + 2, next_mtu, print_number, parse_u16, set_next_mtu),
];

fn is_sequenced(kind: u8) -> bool {
    matches!(kind, ECHO | ECHO_REPLY | TIMESTAMP | TIMESTAMP_REPLY | INFORMATION | INFORMATION_REPLY)
}

fn has(described: &mut Described<'_>, len: usize) -> bool {
    described.has_protocol(protocol::ICMP, len)
}

fn kind<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    has(described, 1).then(|| Value::Number(described.transport_u8(0).into()))
}

fn code<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    has(described, 2).then(|| Value::Number(described.transport_u8(1).into()))
}

fn sequenced<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    let applies = has(described, 1) && is_sequenced(described.transport_u8(0));
    (applies && has(described, at + 2)).then(|| Value::Number(described.transport_u16(at).into()))
}

fn identifier<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    sequenced(described, 4)
}

fn sequence<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    sequenced(described, 6)
}

fn next_mtu<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let applies = has(described, 2)
        && described.transport_u8(0) == UNREACHABLE
        && described.transport_u8(1) == FRAGMENTATION_NEEDED;
    (applies && has(described, 8)).then(|| Value::Number(described.transport_u16(6).into()))
}

fn print_name(value: &Value<'_>, names: NameKind, out: &mut Vec<u8>) {
    match args::builtin_name_of(names, value.number() as u32) {
        Some(name) => out.extend_from_slice(name.as_bytes()),
        None => append(out, format_args!("{}", value.number())),
    }
}

fn print_kind(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    print_name(value, NameKind::IcmpType, out);
}

fn print_code(value: &Value<'_>, described: &Described<'_>, out: &mut Vec<u8>) {
    print_name(value, NameKind::IcmpCode(described.transport_u8(0)), out);
}

fn parse_name(text: &[u8], names: NameKind) -> Option<Value<'static>> {
    let number = Scope::builtin().integer_or_number(names, word(text)?)?;
    (number < 256).then_some(Value::Number(number.into()))
}

fn parse_kind(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_name(text, NameKind::IcmpType)
}

fn parse_code(text: &[u8], composer: &Composer) -> Option<Value<'static>> {
    if composer.has_icmp_type {
        return parse_name(text, NameKind::IcmpCode(composer.transport_u8(0)));
    }
    super::parse_u8(text, composer)
}

fn make_icmp(composer: &mut Composer) -> bool {
    if !composer.make_ip(protocol::ICMP) || !composer.make_transport() {
        return false;
    }
    composer.extend_transport(8);
    true
}

fn set_kind(composer: &mut Composer, value: Value<'_>) {
    if make_icmp(composer) {
        let kind = value.number() as u8;
        composer.set_transport(0, &[kind]);
        composer.has_icmp_type = true;
        if matches!(kind, TIMESTAMP | TIMESTAMP_REPLY) {
            composer.extend_transport(20);
        }
    }
}

fn set_code(composer: &mut Composer, value: Value<'_>) {
    if make_icmp(composer) {
        composer.set_transport(1, &[value.number() as u8]);
        composer.has_icmp_code = true;
    }
}

fn set_sequenced(composer: &mut Composer, at: usize, number: u64) {
    if make_icmp(composer) && (!composer.has_icmp_type || is_sequenced(composer.transport_u8(0))) {
        composer.set_transport(at, &(number as u16).to_be_bytes());
    }
}

fn set_identifier(composer: &mut Composer, value: Value<'_>) {
    set_sequenced(composer, 4, value.number());
}

fn set_sequence(composer: &mut Composer, value: Value<'_>) {
    set_sequenced(composer, 6, value.number());
}

fn set_next_mtu(composer: &mut Composer, value: Value<'_>) {
    if make_icmp(composer)
        && (!composer.has_icmp_type || composer.transport_u8(0) == UNREACHABLE)
        && (!composer.has_icmp_code || composer.transport_u8(1) == FRAGMENTATION_NEEDED)
    {
        composer.set_transport(6, &(value.number() as u16).to_be_bytes());
    }
}
