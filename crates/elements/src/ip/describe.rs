//! One line of text about an IPv4 packet, in the words of tcpdump's older cousins.

use std::fmt::Write;
use std::net::Ipv4Addr;

use args::{NameKind, Scope};
use element::Packet;
use wire::icmp_type;
use wire::ip_flag;
use wire::protocol;
use wire::word;

/// The fixed part of a packet's IPv4 header.
pub struct Header<'p>(&'p [u8; 20]);

impl<'p> Header<'p> {
    /// The marked header; `None` if it is cut off.
    pub fn of(packet: &'p Packet) -> Option<Header<'p>> {
        packet.network().first_chunk::<20>().map(Header)
    }

    fn u16(&self, at: usize) -> u16 {
        u16_at(self.0, at)
    }

    fn address(&self, at: usize) -> Ipv4Addr {
        address_at(self.0, at)
    }

    /// Type of service.
    pub fn tos(&self) -> u8 {
        self.0[1]
    }

    /// Total length.
    pub fn total_len(&self) -> i32 {
        i32::from(self.u16(2))
    }

    /// Identification.
    pub fn id(&self) -> u16 {
        self.u16(4)
    }

    /// Time to live.
    pub fn ttl(&self) -> u8 {
        self.0[8]
    }

    /// Protocol.
    pub fn protocol(&self) -> u8 {
        self.0[9]
    }

    /// Whether the transport header is here.
    pub fn is_first_fragment(&self) -> bool {
        self.u16(6) & ip_flag::OFFSET_MASK == 0
    }

    fn header_len(&self) -> i32 {
        i32::from(self.0[0] & 0x0f) * 4
    }

    /// Bytes behind the header by the total length; negative if that is shorter than the header.
    fn payload_len(&self) -> i32 {
        self.total_len() - self.header_len()
    }

    fn addresses(&self) -> String {
        format!("{} > {}", self.address(12), self.address(16))
    }
}

/// Adds what a packet is: addresses, transport, fragment.
pub fn describe(line: &mut String, packet: &Packet, header: &Header<'_>, swaps: bool) {
    let transport = packet.transport();
    // What is cut off in the packet or lies behind the total length is not looked at.
    let len = transport.len().min(usize::try_from(header.payload_len()).unwrap_or(0));
    let segment = transport.get(..len).unwrap_or_default();
    match header.protocol() {
        protocol::TCP => tcp(line, packet.len(), header, segment),
        protocol::UDP => udp(line, header, segment),
        protocol::ICMP => icmp(line, header, segment, swaps),
        number => add(line, format_args!("{}: ip-proto-{number}", header.addresses())),
    }
    let fragment = header.u16(6);
    if fragment & (ip_flag::MF | ip_flag::OFFSET_MASK) != 0 {
        let offset = u32::from(fragment & ip_flag::OFFSET_MASK) * 8;
        let more = if fragment & ip_flag::MF != 0 { "+" } else { "" };
        add(line, format_args!(" (frag {}:{}@{offset}{more})", header.id(), header.payload_len()));
    }
}

/// Adds both ends of a connection; false, with a word on the protocol, if the ports are not there.
fn ends(line: &mut String, header: &Header<'_>, segment: &[u8], name: &str) -> bool {
    let is_first = header.is_first_fragment();
    if !is_first || segment.len() < 4 {
        let truncated = if is_first { "truncated-" } else { "" };
        add(line, format_args!("{}: {truncated}{name}", header.addresses()));
        return false;
    }
    let (source, destination) = (header.address(12), header.address(16));
    add(line, format_args!("{source}.{} > {destination}.{}: ", u16_at(segment, 0), u16_at(segment, 2)));
    true
}

fn tcp(line: &mut String, packet_len: usize, header: &Header<'_>, segment: &[u8]) {
    if !ends(line, header, segment, "tcp") {
        return;
    }
    let Some(&[.., data_offset, flags]) = segment.first_chunk::<14>() else {
        return line.push_str("truncated-tcp");
    };
    let (fin, syn, rst, psh, ack) =
        (flags & 1, flags >> 1 & 1, flags >> 2 & 1, flags >> 3 & 1, flags >> 4 & 1);
    let sequence_len =
        header.payload_len() - i32::from(data_offset >> 4) * 4 + i32::from(syn) + i32::from(fin);
    for (flag, letter) in [(syn, 'S'), (fin, 'F'), (rst, 'R'), (psh, 'P')] {
        line.extend((flag != 0).then_some(letter));
    }
    line.extend((syn | fin | rst | psh == 0).then_some('.'));
    let sequence = u32_at(segment, 4);
    let next = sequence.wrapping_add_signed(sequence_len);
    add(line, format_args!(" {sequence}:{next}({sequence_len},{packet_len},{})", header.total_len()));
    if ack != 0 {
        add(line, format_args!(" ack {}", u32_at(segment, 8)));
    }
    if segment.len() < 16 {
        return line.push_str("truncated-tcp");
    }
    add(line, format_args!(" win {}", u16_at(segment, 14)));
}

fn udp(line: &mut String, header: &Header<'_>, segment: &[u8]) {
    if !ends(line, header, segment, "udp") {
        return;
    }
    if segment.len() < 8 {
        return line.push_str("truncated-udp");
    }
    add(line, format_args!("udp {}", u16_at(segment, 4)));
}

fn icmp(line: &mut String, header: &Header<'_>, message: &[u8], swaps: bool) {
    add(line, format_args!("{}: ", header.addresses()));
    if !header.is_first_fragment() {
        return line.push_str("icmp");
    }
    let [kind, code, ..] = *message else { return line.push_str("truncated-icmp") };
    let is_whole = match kind {
        icmp_type::ECHO_REPLY => echo(line, "echo-reply", message, swaps),
        icmp_type::ECHO => echo(line, "echo", message, swaps),
        icmp_type::UNREACHABLE => unreachable_message(line, code, message),
        _ => {
            other_icmp(line, kind, code);
            true
        }
    };
    if !is_whole {
        line.push_str("truncated-icmp");
    }
}

fn echo(line: &mut String, name: &str, message: &[u8], swaps: bool) -> bool {
    add(line, format_args!("icmp {name} "));
    let Some(&[.., a, b, c, d]) = message.first_chunk::<8>() else { return false };
    let word = if swaps { u16::from_be_bytes } else { u16::from_le_bytes };
    add(line, format_args!("({}, {})", word([a, b]), word([c, d])));
    true
}

/// Adds what was unreachable: RFC 792 sends the header of the packet in question along.
fn unreachable_message(line: &mut String, code: u8, message: &[u8]) -> bool {
    let name = Scope::builtin().name_of(NameKind::IcmpCode(icmp_type::UNREACHABLE), code.into());
    let name = name.unwrap_or_else(|| format!("code {code}"));
    let inner = message.get(8..).unwrap_or_default();
    let Some(header) = inner.first_chunk::<20>().map(Header) else {
        add(line, format_args!("icmp unreachable {name} "));
        return false;
    };
    add(line, format_args!("icmp {} unreachable {name}", header.address(16)));
    let protocol = Scope::builtin().name_of(NameKind::Protocol, header.protocol().into());
    match code {
        2 => add(line, format_args!(" {}", protocol.unwrap_or_else(|| header.protocol().to_string()))),
        3 => {
            let protocol = protocol.unwrap_or_else(|| format!("protocol {}", header.protocol()));
            add(line, format_args!(" {protocol}"));
            let segment = inner.get(header.header_len() as usize..).unwrap_or_default();
            if segment.len() < 4 {
                return false;
            }
            add(line, format_args!("/{}", u16_at(segment, 2)));
        }
        4 if u16_at(message, 6) != 0 => add(line, format_args!(" (mtu {})", u16_at(message, 6))),
        _ => {}
    }
    true
}

fn other_icmp(line: &mut String, kind: u8, code: u8) {
    match Scope::builtin().name_of(NameKind::IcmpType, kind.into()) {
        Some(name) => add(line, format_args!("icmp {name}")),
        None => add(line, format_args!("icmp type {kind}")),
    }
    match Scope::builtin().name_of(NameKind::IcmpCode(kind), code.into()) {
        Some(name) => add(line, format_args!(" {name}")),
        None if code != 0 => add(line, format_args!(" code {code}")),
        None => {}
    }
}

/// Adds formatted text.
pub fn add(line: &mut String, text: std::fmt::Arguments<'_>) {
    // Writing to a string cannot fail.
    let _ = line.write_fmt(text);
}

/// The number at an offset; 0 if it does not lie within the bytes.
fn u16_at(bytes: &[u8], at: usize) -> u16 {
    word::u16_at(bytes, at).unwrap_or(0)
}

/// As [`u16_at`].
fn u32_at(bytes: &[u8], at: usize) -> u32 {
    word::u32_at(bytes, at).unwrap_or(0)
}

fn address_at(bytes: &[u8], at: usize) -> Ipv4Addr {
    Ipv4Addr::from(u32_at(bytes, at))
}
