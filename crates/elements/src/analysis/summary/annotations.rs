//! Fields that stand for a packet's annotations and its length.

use args::Timestamp;
use element::annotation;

use super::compose::Composer;
use super::describe::Described;
use super::{append, order, parse_u32, parse_u64, print_number, word, Binary, Field, Value};
use super::{Extract, Inject, Parse, Print};

pub(super) const FIELDS: &[Field] = &[
    field("timestamp", Binary::Micro, timestamp, print_time, parse_time, set_timestamp),
    field("ntimestamp", Binary::Nano, timestamp, print_time, parse_time, set_timestamp),
    field("ts_sec", Binary::Number(4), seconds, print_number, parse_u32, set_seconds),
    field("ts_usec", Binary::Number(4), microseconds, print_number, parse_u32, set_microseconds),
    field("ts_usec1", Binary::Number(8), all_microseconds, print_number, parse_u64, set_all_microseconds),
    field("first_timestamp", Binary::Micro, first_timestamp, print_time, parse_time, set_first_timestamp),
    field("first_ntimestamp", Binary::Nano, first_timestamp, print_time, parse_time, set_first_timestamp),
    field("count", Binary::Number(4), count, print_number, parse_u32, set_count),
    field("link", Binary::Number(1), paint, print_number, parse_direction, set_paint),
    field("paint", Binary::Number(1), paint, print_number, parse_direction, set_paint),
    field("direction", Binary::Number(1), paint, print_direction, parse_direction, set_paint),
    field("aggregate", Binary::Number(4), aggregate, print_number, parse_u32, set_aggregate),
    field("wire_len", Binary::Number(4), length, print_number, parse_u32, set_length),
];

pub(super) const SYNONYMS: &[(&str, &str)] = &[
    ("utimestamp", "timestamp"),
    ("ts", "timestamp"),
    ("sec", "ts_sec"),
    ("usec", "ts_usec"),
    ("usec1", "ts_usec1"),
    ("first_utimestamp", "first_timestamp"),
    ("first_ts", "first_timestamp"),
    ("pkt_count", "count"),
    ("packet_count", "count"),
    ("agg", "aggregate"),
    ("wire_length", "wire_len"),
];

const fn field(
    name: &'static str,
    binary: Binary,
    extract: Extract,
    print: Print,
    parse: Parse,
    inject: Inject,
) -> Field {
    super::field(name, binary, order::ANNOTATION, extract, print, parse, inject)
}

fn time_of(described: &Described<'_>) -> Timestamp {
    Timestamp::from_nanos(described.packet.timestamp_ns())
}

fn number(number: impl Into<u64>) -> Option<Value<'static>> {
    Some(Value::Number(number.into()))
}

fn timestamp<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    Some(Value::Time(time_of(described)))
}

fn seconds<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number(time_of(described).sec() as u32)
}

fn microseconds<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number(time_of(described).usec())
}

/// Click swaps the halves when it prints this field, but not when it reads it: dumps are the same, byte for byte.
fn all_microseconds<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number((time_of(described).as_micros() as u64).rotate_left(32))
}

fn first_timestamp<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    let ns = i64::from_ne_bytes(described.packet.anno(annotation::FIRST_TIMESTAMP));
    Some(Value::Time(Timestamp::from_nanos(ns)))
}

fn count<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number(described.packet.anno_u32(annotation::EXTRA_PACKETS).wrapping_add(1))
}

fn paint<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number(described.packet.paint())
}

fn aggregate<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number(described.packet.anno_u32(annotation::AGGREGATE))
}

fn length<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    number(described.packet_len() as u32)
}

fn print_time(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    append(out, format_args!("{}", value.time()));
}

fn print_direction(value: &Value<'_>, described: &Described<'_>, out: &mut Vec<u8>) {
    match value.number() {
        0 => out.push(b'>'),
        1 => out.push(b'<'),
        _ => print_number(value, described, out),
    }
}

fn parse_time(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    args::timestamp(word(text)?).ok().map(Value::Time)
}

fn parse_direction(text: &[u8], composer: &Composer) -> Option<Value<'static>> {
    match text {
        b">" => number(0u32),
        b"<" => number(1u32),
        _ => parse_u32(text, composer),
    }
}

fn set_time(composer: &mut Composer, time: Timestamp) {
    composer.packet.set_timestamp_ns(time.as_nanos());
}

fn set_timestamp(composer: &mut Composer, value: Value<'_>) {
    set_time(composer, value.time());
}

fn set_seconds(composer: &mut Composer, value: Value<'_>) {
    let old = Timestamp::from_nanos(composer.packet.timestamp_ns());
    set_time(composer, Timestamp::new(value.number() as i64, old.nsec()));
}

fn set_microseconds(composer: &mut Composer, value: Value<'_>) {
    let old = Timestamp::from_nanos(composer.packet.timestamp_ns());
    // In nanoseconds with 32 bits, as in Click.
    let nanoseconds = (value.number() as u32).wrapping_mul(1000);
    set_time(composer, Timestamp::new(old.sec(), 0) + Timestamp::from_nanos(nanoseconds.into()));
}

fn set_all_microseconds(composer: &mut Composer, value: Value<'_>) {
    set_time(composer, Timestamp::from_micros(i64::try_from(value.number()).unwrap_or(i64::MAX)));
}

fn set_first_timestamp(composer: &mut Composer, value: Value<'_>) {
    let ns = value.time().as_nanos();
    composer.packet.set_anno(annotation::FIRST_TIMESTAMP, ns.to_ne_bytes());
}

fn set_count(composer: &mut Composer, value: Value<'_>) {
    composer.packet.set_anno_u32(annotation::EXTRA_PACKETS, (value.number() as u32).saturating_sub(1));
}

fn set_paint(composer: &mut Composer, value: Value<'_>) {
    composer.packet.set_paint(value.number() as u8);
}

fn set_aggregate(composer: &mut Composer, value: Value<'_>) {
    composer.packet.set_anno_u32(annotation::AGGREGATE, value.number() as u32);
}

fn set_length(composer: &mut Composer, value: Value<'_>) {
    composer.want_len = value.number() as u32;
}
