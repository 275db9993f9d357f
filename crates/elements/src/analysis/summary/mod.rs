//! Packets in words: the fields of IP summary dumps, how they are printed, read and put into packets.
//!
//! A dump has a line for each packet, with a word for each field. All that is known of a field is one row of a table;
//! each file beside this one has the rows of a protocol layer.

mod annotations;
pub mod compose;
pub mod describe;
pub mod dump;
mod icmp;
pub mod input;
mod ip;
mod ip_options;
mod link;
pub mod multipacket;
pub mod option_text;
mod payload;
mod tcp;
pub use tcp::FLAGS;
pub mod tcp_options;
#[cfg(test)]
mod tests;
mod transport;

use std::borrow::Cow;

use args::Timestamp;

use compose::Composer;
use describe::Described;

/// Version of the format: major and minor number.
pub const VERSION: (u32, u32) = (1, 3);

/// What a field says of a packet.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Value<'p> {
    /// A number, or an address, in the host's order.
    Number(u64),
    /// A point in time.
    Time(Timestamp),
    /// An Ethernet address.
    Ether([u8; 6]),
    /// Header options or payload.
    Bytes(Cow<'p, [u8]>),
}

/// How a field stands in a binary dump.
#[derive(Clone, Copy)]
pub enum Binary {
    /// As a number of so many bytes, in network order.
    Number(usize),
    /// As 6 bytes.
    Ether,
    /// As seconds and microseconds, 4 bytes each.
    Micro,
    /// As nanoseconds and seconds, 4 bytes each.
    Nano,
    /// As this function writes it. It is read as a byte that says how many follow.
    Special(fn(&[u8], &mut Vec<u8>)),
    /// Not at all.
    Never,
}

type Extract = for<'p> fn(&mut Described<'p>) -> Option<Value<'p>>;
type Print = fn(&Value<'_>, &Described<'_>, &mut Vec<u8>);
type Parse = fn(&[u8], &Composer) -> Option<Value<'static>>;
type Inject = fn(&mut Composer, Value<'_>);

/// A field of a dump: a row of the table.
pub struct Field {
    /// Its name.
    pub name: &'static str,
    /// How it stands in a binary dump.
    pub binary: Binary,
    /// When it is put into a packet, relative to others; lower comes first.
    pub order: u16,
    /// What it says of a packet; `None` if it does not apply.
    pub extract: Extract,
    /// Prints what it says.
    pub print: Print,
    /// Reads what was printed.
    pub parse: Parse,
    /// Puts what was read into a packet; `None` if the field cannot be read.
    pub inject: Option<Inject>,
}

/// A field that can be read.
const fn field(
    name: &'static str,
    binary: Binary,
    order: u16,
    extract: Extract,
    print: Print,
    parse: Parse,
    inject: Inject,
) -> Field {
    Field { name, binary, order, extract, print, parse, inject: Some(inject) }
}

/// Annotations, then the layers from the bottom up: [`Field::order`].
mod order {
    pub const ANNOTATION: u16 = 100;
    pub const LINK: u16 = 200;
    pub const NETWORK: u16 = 300;
    pub const TRANSPORT: u16 = 400;
    pub const PAYLOAD: u16 = 500;
}

const TABLES: [&[Field]; 8] = [
    annotations::FIELDS,
    link::FIELDS,
    ip::FIELDS,
    transport::FIELDS,
    tcp::FIELDS,
    transport::UDP_FIELDS,
    icmp::FIELDS,
    payload::FIELDS,
];

const SYNONYMS: [&[(&str, &str)]; 5] =
    [annotations::SYNONYMS, link::SYNONYMS, ip::SYNONYMS, tcp::SYNONYMS, payload::SYNONYMS];

/// The field with this name. Spaces may stand for underscores, and `ip_` may be left out.
pub fn find(name: &str) -> Option<&'static Field> {
    if let Some((_, meant)) = SYNONYMS.iter().copied().flatten().find(|(synonym, _)| *synonym == name) {
        return find(meant);
    }
    if let Some(field) = TABLES.iter().copied().flatten().find(|field| field.name == name) {
        return Some(field);
    }
    if name.contains(' ') {
        return find(&name.replacen(' ', "_", 1));
    }
    (!name.contains('_')).then(|| find(&format!("ip_{name}"))).flatten()
}

impl Value<'_> {
    /// The number; 0 if it is none.
    pub fn number(&self) -> u64 {
        match self {
            Value::Number(number) => *number,
            _ => 0,
        }
    }

    /// The bytes; empty if it has none.
    pub fn bytes(&self) -> &[u8] {
        match self {
            Value::Bytes(bytes) => bytes,
            Value::Ether(address) => address,
            _ => &[],
        }
    }

    fn time(&self) -> Timestamp {
        match self {
            Value::Time(time) => *time,
            _ => Timestamp::default(),
        }
    }
}

impl Field {
    /// Whether it concerns the IP header or what is behind it.
    pub fn is_ip(&self) -> bool {
        self.order > order::LINK
    }

    /// Appends what the field says in binary; zeros if it does not apply.
    pub fn write_binary(&self, value: Option<&Value<'_>>, out: &mut Vec<u8>) {
        let time = value.map(Value::time).unwrap_or_default();
        // A dump has 32 bits for the seconds.
        let sec = time.sec() as u32;
        match self.binary {
            Binary::Number(len) => {
                let bytes = value.map_or(0, Value::number).to_be_bytes();
                out.extend_from_slice(bytes.get(8usize.saturating_sub(len)..).unwrap_or(&[]));
            }
            Binary::Ether => out.extend_from_slice(value.map_or(&[0; 6], |value| value.bytes())),
            Binary::Micro => out.extend([sec, time.usec()].into_iter().flat_map(u32::to_be_bytes)),
            Binary::Nano => out.extend([time.nsec(), sec].into_iter().flat_map(u32::to_be_bytes)),
            Binary::Special(write) => write(value.map_or(&[], |value| value.bytes()), out),
            Binary::Never => {}
        }
    }

    /// Takes what the field says from the front of a binary record; takes all, for nothing, if it is too short.
    pub fn read_binary<'r>(&self, record: &mut &'r [u8]) -> Option<Value<'r>> {
        let len = match self.binary {
            Binary::Number(len) => len,
            Binary::Ether => 6,
            Binary::Micro | Binary::Nano => 8,
            Binary::Special(_) => usize::from(*record.first()?) + 1,
            Binary::Never => usize::MAX,
        };
        let Some((bytes, rest)) = record.split_at_checked(len) else {
            *record = &[];
            // Options that do not fit count as read, and as none.
            return matches!(self.binary, Binary::Special(_)).then(|| Value::Bytes(Cow::Borrowed(&[])));
        };
        *record = rest;
        let halves = || {
            let (first, second) = bytes.split_at_checked(4)?;
            Some((number(first), number(second)))
        };
        match self.binary {
            Binary::Number(_) => Some(Value::Number(number(bytes))),
            Binary::Ether => bytes.first_chunk().map(|address| Value::Ether(*address)),
            Binary::Micro => halves().map(|(sec, usec)| time_value(sec, (usec as u32).wrapping_mul(1000))),
            Binary::Nano => halves().map(|(nsec, sec)| time_value(sec, nsec as u32)),
            _ => bytes.get(1..).map(|options| Value::Bytes(Cow::Borrowed(options))),
        }
    }
}

fn time_value(sec: u64, nsec: u32) -> Value<'static> {
    Value::Time(Timestamp::new(i64::try_from(sec).unwrap_or(i64::MAX), nsec))
}

fn number(bytes: &[u8]) -> u64 {
    bytes.iter().fold(0, |number, byte| number << 8 | u64::from(*byte))
}

/// [`Field::print`] of numbers.
fn print_number(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    append(out, format_args!("{}", value.number()));
}

/// [`Field::parse`] of numbers of 1, 2, 4 and 8 bytes.
fn parse_u8(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_below(text, 1 << 8)
}

fn parse_u16(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_below(text, 1 << 16)
}

fn parse_u32(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    parse_below(text, 1 << 32)
}

fn parse_u64(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    args::integer(word(text)?).ok().map(Value::Number)
}

fn parse_below(text: &[u8], limit: u64) -> Option<Value<'static>> {
    let number = args::integer::<u32>(word(text)?).ok().map(u64::from)?;
    (number < limit).then_some(Value::Number(number))
}

/// [`Field::parse`] of what cannot be read.
fn parse_nothing(_: &[u8], _: &Composer) -> Option<Value<'static>> {
    None
}

fn word(text: &[u8]) -> Option<&str> {
    std::str::from_utf8(text).ok()
}

/// Appends text.
pub fn append(out: &mut Vec<u8>, text: std::fmt::Arguments<'_>) {
    use std::io::Write;
    // Writing to a Vec cannot fail.
    let _ = out.write_fmt(text);
}
