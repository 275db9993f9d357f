//! Fields of the Ethernet header.

use wire::ethertype;

use super::compose::Composer;
use super::describe::{u16_at, Described, Part};
use super::{append, order, word, Binary, Field, Value};
use super::{Extract, Inject, Parse, Print};

pub(super) const FIELDS: &[Field] = &[
    field("eth_src", Binary::Ether, source, print_address, parse_address, set_source),
    field("eth_dst", Binary::Ether, destination, print_address, parse_address, set_destination),
    field("eth_type", Binary::Number(2), ether_type, print_type, parse_type, set_type),
];

pub(super) const SYNONYMS: &[(&str, &str)] =
    &[("ether_src", "eth_src"), ("ether_dst", "eth_dst"), ("ether_type", "eth_type")];

const fn field(
    name: &'static str,
    binary: Binary,
    extract: Extract,
    print: Print,
    parse: Parse,
    inject: Inject,
) -> Field {
    super::field(name, binary, order::LINK, extract, print, parse, inject)
}

/// The header, if it ends where the network header begins, or the packet ends.
fn header<'p>(described: &mut Described<'p>) -> Option<&'p [u8; 14]> {
    let packet = described.packet;
    let network = packet.network_offset();
    let mac = match (packet.mac_offset(), network) {
        (Some(mac), _) => Some(mac),
        (None, Some(network)) if network <= 0 => None,
        (None, _) => Some(0),
    };
    let end = network.unwrap_or(packet.len() as isize);
    let header = match mac {
        // What was stripped can be seen from the link-layer header on.
        Some(mac) if mac + 14 == end && packet.mac_offset().is_some() => packet.mac().first_chunk(),
        Some(mac) if mac + 14 == end => packet.data().first_chunk(),
        _ => None,
    };
    if header.is_none() {
        described.miss(Part::Ethernet, 0);
    }
    header
}

fn address<'p>(header: &[u8; 14], at: usize) -> Option<Value<'p>> {
    header.get(at..)?.first_chunk().map(|address| Value::Ether(*address))
}

fn source<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    address(header(described)?, 6)
}

fn destination<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    address(header(described)?, 0)
}

fn ether_type<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    Some(Value::Number(u16_at(header(described)?, 12).into()))
}

fn print_address(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    for (idx, byte) in value.bytes().iter().enumerate() {
        let dash = if idx > 0 { "-" } else { "" };
        append(out, format_args!("{dash}{byte:02X}"));
    }
}

fn print_type(value: &Value<'_>, _: &Described<'_>, out: &mut Vec<u8>) {
    append(out, format_args!("{:04X}", value.number()));
}

fn parse_address(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    args::ether(word(text)?, &args::Scope::builtin()).ok().map(|address| Value::Ether(address.0))
}

fn parse_type(text: &[u8], _: &Composer) -> Option<Value<'static>> {
    let number = args::integer_in_base::<u32>(word(text)?, 16).ok()?;
    (number < 1 << 16).then_some(Value::Number(number.into()))
}

fn set_source(composer: &mut Composer, value: Value<'_>) {
    composer.make_ethernet();
    composer.set(6, value.bytes());
}

fn set_destination(composer: &mut Composer, value: Value<'_>) {
    composer.make_ethernet();
    composer.set(0, value.bytes());
}

fn set_type(composer: &mut Composer, value: Value<'_>) {
    composer.make_ethernet();
    let number = value.number() as u16;
    composer.set(12, &number.to_be_bytes());
    if number != ethertype::IPV4 && number != ethertype::IPV6 {
        composer.is_ip = false;
    }
}
