//! Fields that transport protocols share, and that of UDP.

use wire::protocol;

use super::compose::Composer;
use super::describe::{Described, Part};
use super::{field, order, parse_u16, parse_u32, print_number, Binary, Field, Value};

pub(super) const FIELDS: &[Field] = &[
    field(
        "sport",
        Binary::Number(2),
        order::TRANSPORT,
        source_port,
        print_number,
        parse_u16,
        set_source_port,
    ),
    field(
        "dport",
        Binary::Number(2),
        order::TRANSPORT,
        destination_port,
        print_number,
        parse_u16,
        set_destination_port,
    ),
];

pub(super) const UDP_FIELDS: &[Field] =
    &[field("udp_len", Binary::Number(4), order::TRANSPORT, udp_len, print_number, parse_u32, set_udp_len)];

fn has_ports(protocol: u8) -> bool {
    matches!(protocol, protocol::TCP | protocol::UDP | protocol::DCCP | protocol::UDPLITE)
}

fn port<'p>(described: &mut Described<'p>, at: usize) -> Option<Value<'p>> {
    let is_here = described.transport_len() >= at + 2;
    if described.has_transport() && has_ports(described.ip_u8(9)) && is_here {
        return Some(Value::Number(described.transport_u16(at).into()));
    }
    described.miss(Part::Ports, at + 2);
    None
}

fn source_port<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    port(described, 0)
}

fn destination_port<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    port(described, 2)
}

fn udp_len<'p>(described: &mut Described<'p>) -> Option<Value<'p>> {
    described.has_protocol(protocol::UDP, 6).then(|| Value::Number(described.transport_u16(4).into()))
}

fn set_port(composer: &mut Composer, at: usize, port: u64) {
    if !composer.make_ip(0) || !composer.make_transport() {
        return;
    }
    let protocol = composer.ip_u8(9);
    if protocol == 0 || has_ports(protocol) {
        composer.set_transport(at, &(port as u16).to_be_bytes());
    }
}

fn set_source_port(composer: &mut Composer, value: Value<'_>) {
    set_port(composer, 0, value.number());
}

fn set_destination_port(composer: &mut Composer, value: Value<'_>) {
    set_port(composer, 2, value.number());
}

fn set_udp_len(composer: &mut Composer, value: Value<'_>) {
    if !composer.make_ip(0) || !composer.make_transport() {
        return;
    }
    if matches!(composer.ip_u8(9), 0 | protocol::UDP | protocol::UDPLITE) {
        composer.extend_transport(8);
        composer.set_transport(4, &(value.number() as u16).to_be_bytes());
    }
}
