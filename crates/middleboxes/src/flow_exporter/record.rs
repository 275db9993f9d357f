//! Flow records: which fields they have, by kind of flow, and how an ended flow fills them.

use std::net::IpAddr;

use super::cache::{Ended, Flow};
use super::ipfix::{Field, Message};
use super::key::{FlowKey, Part, PARTS};

/// Number of the first template; RFC 7011, section 3.4.1, leaves those from 256 on to the exporter.
const FIRST_TEMPLATE: u16 = 256;
/// Kinds of flow records: by IP version, ports or ICMP, one direction or two.
pub const N_KINDS: u16 = 8;

/// A field's meaning, with its element's name, number and length in IANA's registry of RFC 7012.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Meaning {
    Key(Part),
    Octets,
    Packets,
    Start,
    End,
    TcpFlags,
    Egress,
    Reason,
    /// Which host began a flow of two directions (RFC 5103, section 6.3).
    Direction,
    BackOctets,
    BackPackets,
    BackStart,
    BackEnd,
    BackTcpFlags,
}

const FORWARD: [Meaning; 5] =
    [Meaning::Octets, Meaning::Packets, Meaning::Start, Meaning::End, Meaning::TcpFlags];
const BACKWARD: [Meaning; 5] =
    [Meaning::BackOctets, Meaning::BackPackets, Meaning::BackStart, Meaning::BackEnd, Meaning::BackTcpFlags];

/// The fields of one kind of flow record.
#[derive(Clone, Debug)]
pub struct Template {
    pub id: u16,
    meanings: Vec<Meaning>,
    pub names: Vec<&'static str>,
    pub fields: Vec<Field>,
    pub record_len: usize,
}

/// The kind of record that a flow makes: its template's place.
pub fn kind(ended: &Ended) -> usize {
    let version = usize::from(matches!(ended.key, FlowKey::V6(_)));
    let icmp = usize::from(ended.key.rest().is_icmp());
    version * 2 + icmp + usize::from(ended.back.is_some()) * 4
}

/// The templates of all kinds that there are, at the places that [`kind`] tells.
pub fn templates(parts: &[Part], has_egress: bool, is_biflow: bool) -> Vec<Template> {
    let n_kinds = if is_biflow { N_KINDS } else { N_KINDS / 2 };
    (0..n_kinds).map(|kind| Template::new(kind, parts, has_egress)).collect()
}

impl Template {
    fn new(kind: u16, parts: &[Part], has_egress: bool) -> Template {
        let (is_v6, is_icmp, is_biflow) = (kind & 2 != 0, kind & 1 != 0, kind & 4 != 0);
        // ICMP's type and code stand where the destination port does, and there is no source port.
        let keys = PARTS.iter().map(|(_, part)| *part).filter(|part| parts.contains(part));
        let keys = keys.filter(|part| !is_icmp || *part != Part::SourcePort);
        let mut meanings: Vec<Meaning> = keys.map(Meaning::Key).chain(FORWARD).collect();
        if has_egress {
            meanings.push(Meaning::Egress);
        }
        meanings.push(Meaning::Reason);
        if is_biflow {
            meanings.push(Meaning::Direction);
            meanings.extend(BACKWARD);
        }
        let elements = meanings.iter().map(|meaning| meaning.element(is_v6, is_icmp));
        let (names, fields): (Vec<_>, Vec<Field>) = elements.unzip();
        let record_len = fields.iter().map(|field| usize::from(field.len)).sum();
        Template { id: FIRST_TEMPLATE + kind, meanings, names, fields, record_len }
    }

    /// Writes an ended flow's fields.
    pub fn write(&self, ended: &Ended, message: &mut Message) {
        for meaning in &self.meanings {
            meaning.write(ended, message);
        }
    }
}

impl Meaning {
    fn element(self, is_v6: bool, is_icmp: bool) -> (&'static str, Field) {
        let of = |name, id, len| (name, Field::new(id, len));
        match self {
            Meaning::Key(Part::Source) if is_v6 => of("sourceIPv6Address", 27, 16),
            Meaning::Key(Part::Source) => of("sourceIPv4Address", 8, 4),
            Meaning::Key(Part::Destination) if is_v6 => of("destinationIPv6Address", 28, 16),
            Meaning::Key(Part::Destination) => of("destinationIPv4Address", 12, 4),
            Meaning::Key(Part::SourcePort) => of("sourceTransportPort", 7, 2),
            Meaning::Key(Part::DestinationPort) if is_icmp && is_v6 => of("icmpTypeCodeIPv6", 139, 2),
            Meaning::Key(Part::DestinationPort) if is_icmp => of("icmpTypeCodeIPv4", 32, 2),
            Meaning::Key(Part::DestinationPort) => of("destinationTransportPort", 11, 2),
            Meaning::Key(Part::Protocol) => of("protocolIdentifier", 4, 1),
            Meaning::Key(Part::Tos) => of("ipClassOfService", 5, 1),
            Meaning::Key(Part::Interface) => of("ingressInterface", 10, 4),
            Meaning::Key(Part::Vlan) => of("vlanId", 58, 2),
            Meaning::Octets => of("octetDeltaCount", 1, 8),
            Meaning::Packets => of("packetDeltaCount", 2, 8),
            Meaning::Start => of("flowStartMilliseconds", 152, 8),
            Meaning::End => of("flowEndMilliseconds", 153, 8),
            Meaning::TcpFlags => of("tcpControlBits", 6, 2),
            Meaning::Egress => of("egressInterface", 14, 4),
            Meaning::Reason => of("flowEndReason", 136, 1),
            Meaning::Direction => of("biflowDirection", 239, 1),
            Meaning::BackOctets => reverse("reverseOctetDeltaCount", Meaning::Octets),
            Meaning::BackPackets => reverse("reversePacketDeltaCount", Meaning::Packets),
            Meaning::BackStart => reverse("reverseFlowStartMilliseconds", Meaning::Start),
            Meaning::BackEnd => reverse("reverseFlowEndMilliseconds", Meaning::End),
            Meaning::BackTcpFlags => reverse("reverseTcpControlBits", Meaning::TcpFlags),
        }
    }

    fn write(self, ended: &Ended, message: &mut Message) {
        const INITIATOR: u8 = 1;
        let (flow, back) = (&ended.flow, ended.back.as_ref());
        match self {
            Meaning::Key(part) => write_key(part, &ended.key, message),
            Meaning::Octets => message.write(&flow.n_octets.to_be_bytes()),
            Meaning::Packets => message.write(&u64::from(flow.n_packets).to_be_bytes()),
            Meaning::Start => message.write(&milliseconds(flow.first_ns)),
            Meaning::End => message.write(&milliseconds(flow.last_ns)),
            Meaning::TcpFlags => message.write(&u16::from(flow.tcp_flags).to_be_bytes()),
            Meaning::Egress => message.write(&u32::from(flow.egress).to_be_bytes()),
            Meaning::Reason => message.write(&[ended.reason as u8]),
            Meaning::Direction => message.write(&[INITIATOR]),
            Meaning::BackOctets => message.write(&back.map_or(0, |back| back.n_octets).to_be_bytes()),
            Meaning::BackPackets => {
                message.write(&back.map_or(0, |back| u64::from(back.n_packets)).to_be_bytes());
            }
            Meaning::BackStart => message.write(&milliseconds(back.map_or(0, |back| back.first_ns))),
            Meaning::BackEnd => message.write(&milliseconds(back.map_or(0, |back| back.last_ns))),
            Meaning::BackTcpFlags => {
                message.write(&back.map_or(0, |back| u16::from(back.tcp_flags)).to_be_bytes());
            }
        }
    }
}

fn reverse(name: &'static str, of: Meaning) -> (&'static str, Field) {
    (name, of.element(false, false).1.reverse())
}

fn write_key(part: Part, key: &FlowKey, message: &mut Message) {
    let rest = key.rest();
    match part {
        Part::Source => write_address(key.addresses().0, message),
        Part::Destination => write_address(key.addresses().1, message),
        Part::SourcePort => message.write(&rest.source_port.to_be_bytes()),
        Part::DestinationPort => message.write(&rest.destination_port.to_be_bytes()),
        Part::Protocol => message.write(&[rest.protocol]),
        Part::Tos => message.write(&[rest.tos]),
        Part::Interface => message.write(&rest.interface.to_be_bytes()),
        Part::Vlan => message.write(&rest.vlan.to_be_bytes()),
    }
}

fn write_address(address: IpAddr, message: &mut Message) {
    match address {
        IpAddr::V4(address) => message.write(&address.octets()),
        IpAddr::V6(address) => message.write(&address.octets()),
    }
}

/// Milliseconds since the epoch (RFC 7011, section 6.1.8).
fn milliseconds(ns: i64) -> [u8; 8] {
    (ns.max(0) as u64 / 1_000_000).to_be_bytes()
}

/// A flow as a line of text.
pub fn describe(key: &FlowKey, flow: &Flow) -> String {
    let ((source, destination), rest) = (key.addresses(), key.rest());
    let end = |address: IpAddr, port: u16| match address {
        _ if rest.is_icmp() => address.to_string(),
        IpAddr::V4(address) => format!("{address}:{port}"),
        IpAddr::V6(address) => format!("[{address}]:{port}"),
    };
    let icmp = if rest.is_icmp() {
        let [kind, code] = rest.destination_port.to_be_bytes();
        format!(" icmp {kind}/{code}")
    } else {
        String::new()
    };
    format!(
        "{} {} > {}{icmp} tos {} vlan {} interface {} packets {} octets {} flags {:#04x} first {} last {}\n",
        rest.protocol,
        end(source, rest.source_port),
        end(destination, rest.destination_port),
        rest.tos,
        rest.vlan,
        rest.interface,
        flow.n_packets,
        flow.n_octets,
        flow.tcp_flags,
        seconds(flow.first_ns),
        seconds(flow.last_ns),
    )
}

fn seconds(ns: i64) -> String {
    format!("{}.{:03}", ns.div_euclid(1_000_000_000), ns.rem_euclid(1_000_000_000) / 1_000_000)
}
