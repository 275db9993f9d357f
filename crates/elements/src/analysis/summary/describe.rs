//! A packet as the fields look at it: which of its headers can be trusted, and how long it claims to be.

use std::fmt;

use element::{annotation, Packet};
use wire::protocol;

/// A packet that is being described. A header that was stripped must have been put back.
pub struct Described<'p> {
    /// The packet.
    pub packet: &'p Packet,
    /// Offset of a plausible IPv4 header from the start of the data.
    pub ip: Option<usize>,
    /// Offset of the transport header, if the IPv4 header says that there should be one here.
    transport: Option<usize>,
    /// What kind of transport header may be read.
    readable: Readable,
    /// Bytes at the end of the packet that are not part of the IP packet.
    padding: usize,
    /// Bytes at the start that were put back.
    restored: usize,
    /// Whether lengths count bytes that were not captured.
    pub counts_extra_length: bool,
    /// What is wrong with the packet, if that is to be known.
    pub complaint: Option<String>,
}

#[derive(Clone, Copy, Default)]
struct Readable {
    tcp: bool,
    udp: bool,
    icmp: bool,
}

/// What [`Described::new`] is to do.
#[derive(Clone, Copy)]
pub struct Wishes {
    /// Say what is wrong with packets.
    pub complains: bool,
    /// Packets shorter than their IP length are wrong.
    pub is_careful: bool,
    /// Lengths count bytes that were not captured.
    pub counts_extra_length: bool,
    /// Bytes at the start that were put back.
    pub restored: usize,
}

/// What a missing field belongs to.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Part {
    /// The Ethernet header.
    Ethernet,
    /// The IP header.
    Ip,
    /// The header of this transport protocol.
    Transport(u8),
    /// A TCP or UDP header.
    Ports,
}

/// What a look at the IP header has found.
#[derive(Clone, Copy, Default)]
pub struct Lengths {
    /// Bytes behind the IP packet.
    padding: usize,
    /// Bytes that are missing of it.
    missing: Option<usize>,
}

/// Looks at the IP header, and takes the extra length annotation for granted as far as the IP length agrees with it.
pub fn prepare(packet: &mut Packet, is_careful: bool) -> Lengths {
    let mut lengths = Lengths::default();
    let Ok(Some(start)) = plausible_ip(packet) else { return lengths };
    let len = packet.len().saturating_sub(start);
    let ip_len = usize::from(u16_at(packet.data(), start + 2));
    let mut extra = packet.anno_u32(annotation::EXTRA_LENGTH);
    if len > ip_len {
        lengths.padding = len - ip_len;
        extra = extra.wrapping_add(lengths.padding as u32);
        packet.set_anno_u32(annotation::EXTRA_LENGTH, extra);
    } else if is_careful && (len as u32).wrapping_add(extra) < ip_len as u32 {
        lengths.missing = Some((ip_len as u32).wrapping_sub(len as u32).wrapping_sub(extra) as usize);
    }
    if extra > 0 {
        let full = ((len - lengths.padding) as u32).wrapping_add(extra);
        let is_full = ip_len == 0xFFFF && full > 0xFFFF;
        packet.set_anno_u32(annotation::EXTRA_LENGTH, if is_full { full - 0xFFFF } else { 0 });
    }
    lengths
}

/// Why there is no IP header where one is marked.
enum Implausible {
    Short,
    Version(u8),
    HeaderLength(u8),
    Length(u16),
}

impl fmt::Display for Implausible {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Implausible::Short => f.write_str("truncated IP header"),
            Implausible::Version(version) => write!(f, "IP version {version}"),
            Implausible::HeaderLength(header_len) => write!(f, "IP header length {header_len}"),
            Implausible::Length(ip_len) => write!(f, "IP length {ip_len}"),
        }
    }
}

/// The offset of the IP header, `None` if there is none; an error says why it cannot be one.
fn plausible_ip(packet: &Packet) -> Result<Option<usize>, Implausible> {
    let Some(start) = packet.network_offset() else { return Ok(None) };
    let Ok(start) = usize::try_from(start) else { return Ok(None) };
    let header = packet.data().get(start..).unwrap_or(&[]);
    if header.len() < 4 {
        return Err(Implausible::Short);
    }
    let (version, header_len) = (u8_at(header, 0) >> 4, u8_at(header, 0) & 15);
    let ip_len = u16_at(header, 2);
    if version != 4 {
        Err(Implausible::Version(version))
    } else if header_len < 5 {
        Err(Implausible::HeaderLength(header_len))
    } else if ip_len < u16::from(header_len) * 4 {
        Err(Implausible::Length(ip_len))
    } else {
        Ok(Some(start))
    }
}

impl<'p> Described<'p> {
    /// Begins to describe a packet, whose IP header is of interest if `lengths` are those that [`prepare`] gave.
    pub fn new(packet: &'p Packet, wishes: Wishes, lengths: Option<Lengths>) -> Described<'p> {
        let mut described = Described {
            packet,
            ip: None,
            transport: None,
            readable: Readable::default(),
            padding: 0,
            restored: wishes.restored,
            counts_extra_length: wishes.counts_extra_length,
            complaint: wishes.complains.then(String::new),
        };
        if let Some(lengths) = lengths {
            described.look(lengths);
        }
        described
    }

    fn look(&mut self, lengths: Lengths) {
        match plausible_ip(self.packet) {
            Ok(ip) => self.ip = ip,
            Err(reason) => self.complain(reason),
        }
        self.padding = lengths.padding;
        if let Some(missing) = lengths.missing {
            self.complain(format_args!("truncated IP missing {missing}"));
        }
        self.transport = self.packet.transport_offset().and_then(|offset| usize::try_from(offset).ok());
        if self.transport.is_none() || self.ip.is_none() || !self.has_transport() {
            return;
        }
        let header_len = self.transport_u8(12) >> 4;
        match self.ip_u8(9) {
            protocol::TCP if self.transport_len() > 12 && header_len < 5 => {
                self.complain(format_args!("TCP header length {header_len}"));
            }
            protocol::TCP => self.readable.tcp = true,
            protocol::UDP => self.readable.udp = true,
            protocol::ICMP => self.readable.icmp = true,
            _ => {}
        }
    }

    /// Length of the packet as it is, in bytes.
    pub fn packet_len(&self) -> usize {
        self.packet.len().saturating_sub(self.restored)
    }

    /// Length of the packet without what is behind the IP packet.
    #[allow(clippy::len_without_is_empty)]
    pub fn len(&self) -> usize {
        self.packet_len().saturating_sub(self.padding)
    }

    /// Extra length annotation.
    pub fn extra_len(&self) -> u32 {
        self.packet.anno_u32(annotation::EXTRA_LENGTH)
    }

    /// The bytes from the start of the data, those that were put back included, to the end of the IP packet.
    pub fn bytes(&self) -> &'p [u8] {
        let data = self.packet.data();
        data.get(..data.len().saturating_sub(self.padding)).unwrap_or(data)
    }

    /// Bytes of the IP packet that are here.
    pub fn network_len(&self) -> usize {
        self.ip.map_or(0, |start| self.bytes().len().saturating_sub(start))
    }

    /// Bytes from the transport header to the end of the IP packet that are here.
    pub fn transport_len(&self) -> usize {
        self.transport.map_or(0, |start| self.bytes().len().saturating_sub(start))
    }

    /// Offset of the transport header, set or not.
    pub fn transport_start(&self) -> usize {
        self.transport.unwrap_or(0)
    }

    /// The byte at `at` of the IP header; 0 if it is not here.
    pub fn ip_u8(&self, at: usize) -> u8 {
        u8_at(self.packet.data(), self.ip.unwrap_or(usize::MAX).saturating_add(at))
    }

    /// The 16-bit word at `at` of the IP header.
    pub fn ip_u16(&self, at: usize) -> u16 {
        u16_at(self.packet.data(), self.ip.unwrap_or(usize::MAX).saturating_add(at))
    }

    /// Bytes of the IP header, as it says.
    pub fn ip_header_len(&self) -> usize {
        usize::from(self.ip_u8(0) & 15) * 4
    }

    /// Whether the packet is no fragment, or the first.
    pub fn is_first_fragment(&self) -> bool {
        self.ip_u16(6) & 0x1FFF == 0
    }

    /// Whether there are bytes behind the IP header, and they begin with a transport header.
    pub fn has_transport(&self) -> bool {
        self.ip.is_some() && self.network_len() > self.ip_header_len() && self.is_first_fragment()
    }

    /// The byte at `at` of the transport header; 0 if it is not here.
    pub fn transport_u8(&self, at: usize) -> u8 {
        u8_at(self.packet.data(), self.transport.unwrap_or(usize::MAX).saturating_add(at))
    }

    /// The 16-bit word at `at` of the transport header.
    pub fn transport_u16(&self, at: usize) -> u16 {
        u16::from(self.transport_u8(at)) << 8 | u16::from(self.transport_u8(at + 1))
    }

    /// The 32-bit word at `at` of the transport header.
    pub fn transport_u32(&self, at: usize) -> u32 {
        u32::from(self.transport_u16(at)) << 16 | u32::from(self.transport_u16(at + 2))
    }

    /// Whether the first `len` bytes of the IP header are here; a complaint if not.
    pub fn has_ip(&mut self, len: usize) -> bool {
        (self.ip.is_some() && self.network_len() >= len) || self.miss(Part::Ip, len)
    }

    /// Whether there is a header of this protocol and its first `len` bytes are here; a complaint if not.
    pub fn has_protocol(&mut self, protocol: u8, len: usize) -> bool {
        let is_readable = match protocol {
            protocol::TCP => self.readable.tcp,
            protocol::UDP => self.readable.udp,
            _ => self.readable.icmp,
        };
        (is_readable && self.transport_len() >= len) || self.miss(Part::Transport(protocol), len)
    }

    /// Complains that `len` bytes of a header are not here, unless something else is wrong already; always false.
    pub fn miss(&mut self, part: Part, len: usize) -> bool {
        if !self.complaint.as_deref().is_some_and(str::is_empty) {
            return false;
        }
        let name = match part {
            Part::Ethernet => {
                self.complain("Ethernet header");
                return false;
            }
            Part::Ip | Part::Transport(_) | Part::Ports if self.ip.is_none() => {
                self.complain("no IP header");
                return false;
            }
            Part::Ip => {
                self.complain("truncated IP header capture");
                return false;
            }
            Part::Transport(protocol::TCP) => "TCP",
            Part::Transport(protocol::UDP) => "UDP",
            Part::Transport(_) => "ICMP",
            Part::Ports => "TCP/UDP",
        };
        if self.network_len() > 9 && !self.is_protocol(part) {
            // Another protocol: nothing is wrong.
            return false;
        }
        let here = (self.transport_len() as u32).wrapping_add(self.extra_len());
        if !self.is_first_fragment() {
            self.complain(format_args!("fragmented {name} header"));
        } else if here as usize >= len {
            self.complain(format_args!("truncated {name} header capture"));
        } else {
            self.complain(format_args!("truncated {name} header"));
        }
        false
    }

    fn is_protocol(&self, part: Part) -> bool {
        let protocol = self.ip_u8(9);
        match part {
            Part::Transport(wanted) => protocol == wanted,
            _ => matches!(protocol, protocol::TCP | protocol::UDP),
        }
    }

    fn complain(&mut self, reason: impl fmt::Display) {
        if let Some(complaint) = self.complaint.as_mut().filter(|complaint| complaint.is_empty()) {
            *complaint = format!("!bad {reason}\n");
        }
    }
}

/// The byte at `at`; 0 if it is not there.
pub fn u8_at(bytes: &[u8], at: usize) -> u8 {
    bytes.get(at).copied().unwrap_or(0)
}

/// The 16-bit word at `at`.
pub fn u16_at(bytes: &[u8], at: usize) -> u16 {
    u16::from(u8_at(bytes, at)) << 8 | u16::from(u8_at(bytes, at.saturating_add(1)))
}
