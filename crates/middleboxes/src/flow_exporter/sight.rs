//! What a packet tells of its flow.

use args::Anno;
use element::{annotation, Packet};
use wire::{protocol, upper_layer, Ipv4, Ipv6};

use super::key::{FlowKey, Mask, Rest};

/// Ethernet types of VLAN tags.
const TAGS: [u16; 3] = [0x8100, 0x88a8, 0x9100];
/// VLAN tags looked behind for the IP header.
const MOST_TAGS: usize = 2;

/// A packet's part in its flow.
#[derive(Clone, Copy, Debug)]
pub struct Sighting {
    pub key: FlowKey,
    pub time_ns: i64,
    /// From the IP header on (RFC 5102, `octetDeltaCount`).
    pub n_octets: u32,
    pub egress: u16,
    pub tcp_flags: u8,
}

/// How packets are looked at.
#[derive(Clone, Copy, Debug)]
pub struct Sight {
    pub mask: Mask,
    pub is_ethernet: bool,
    pub interface: Anno,
    pub egress: Option<Anno>,
}

/// Where the ports of a packet are, and what they belong to.
struct Transport<'p> {
    protocol: u8,
    /// Empty for later fragments, which have no ports.
    header: &'p [u8],
}

impl Sight {
    /// What a packet tells, but for its time; `None` if it has no IP header.
    #[inline]
    pub fn look(&self, packet: &Packet) -> Option<Sighting> {
        let (vlan, ip) = if self.is_ethernet {
            ip_of_frame(packet.data())?
        } else {
            let tag: [u8; 2] = packet.anno(annotation::VLAN_TCI);
            (u16::from_be_bytes(tag) & 0xFFF, packet.network())
        };
        let rest = Rest { vlan, interface: value(packet, self.interface), ..Rest::default() };
        let mut sighting = match ip.first()? >> 4 {
            4 => self.look_v4(ip, rest)?,
            6 => self.look_v6(ip, rest)?,
            _ => return None,
        };
        if let Some(anno) = self.egress {
            sighting.egress = value(packet, anno) as u16;
        }
        Some(sighting)
    }

    #[inline(always)]
    fn look_v4(&self, bytes: &[u8], rest: Rest) -> Option<Sighting> {
        let ip = Ipv4::new(bytes)?;
        let header_len = ip.header_len();
        let header = if ip.fragment_offset() == 0 { bytes.get(header_len..) } else { None };
        let transport = Transport { protocol: ip.protocol(), header: header.unwrap_or(&[]) };
        let rest = transport.fill(Rest { tos: ip.tos(), ..rest });
        let key = self.mask.v4(ip.source().into(), ip.destination().into(), rest);
        // A packet that is still to be segmented may be too long for the field.
        let told_len = usize::from(ip.total_len());
        let n_octets = if told_len < header_len { bytes.len() } else { told_len } as u32;
        Some(Sighting { key, time_ns: 0, n_octets, egress: 0, tcp_flags: transport.tcp_flags() })
    }

    fn look_v6(&self, bytes: &[u8], rest: Rest) -> Option<Sighting> {
        let ip = Ipv6::new(bytes)?;
        let upper = upper_layer(bytes)?;
        let header = bytes.get(upper.offset..).filter(|_| !upper.is_later_fragment);
        let transport = Transport { protocol: upper.protocol, header: header.unwrap_or(&[]) };
        let rest = transport.fill(Rest { tos: ip.traffic_class(), ..rest });
        let key = self.mask.v6(ip.source().into(), ip.destination().into(), rest);
        // RFC 2675: a jumbogram has 0 there.
        let n_octets = match usize::from(ip.payload_len()) {
            0 => bytes.len(),
            payload_len => Ipv6::LEN + payload_len,
        } as u32;
        Some(Sighting { key, time_ns: 0, n_octets, egress: 0, tcp_flags: transport.tcp_flags() })
    }
}

impl Transport<'_> {
    #[inline(always)]
    fn fill(&self, mut rest: Rest) -> Rest {
        rest.protocol = self.protocol;
        let Some(&[a, b, c, d]) = self.header.first_chunk() else { return rest };
        match self.protocol {
            protocol::TCP | protocol::UDP | protocol::SCTP | protocol::DCCP | protocol::UDPLITE => {
                rest.source_port = u16::from_be_bytes([a, b]);
                rest.destination_port = u16::from_be_bytes([c, d]);
            }
            protocol::ICMP | protocol::ICMPV6 => rest.destination_port = u16::from_be_bytes([a, b]),
            _ => {}
        }
        rest
    }

    #[inline(always)]
    fn tcp_flags(&self) -> u8 {
        if self.protocol == protocol::TCP {
            self.header.get(13).copied().unwrap_or(0)
        } else {
            0
        }
    }
}

fn value(packet: &Packet, anno: Anno) -> u32 {
    let offset = usize::from(anno.offset);
    match anno.size {
        2 => packet.anno_u16(offset).into(),
        4 => packet.anno_u32(offset),
        _ => packet.anno_u8(offset).into(),
    }
}

/// The outer VLAN and the bytes from the IP header on of an Ethernet frame.
fn ip_of_frame(frame: &[u8]) -> Option<(u16, &[u8])> {
    let word =
        |at: usize| frame.get(at..).and_then(|rest| rest.first_chunk()).map(|two| u16::from_be_bytes(*two));
    let (mut at, mut vlan) = (12, 0);
    for n_tags in 0..=MOST_TAGS {
        let kind = word(at)?;
        if !TAGS.contains(&kind) {
            return frame.get(at + 2..).filter(|_| matches!(kind, 0x0800 | 0x86dd)).map(|ip| (vlan, ip));
        }
        if n_tags == 0 {
            vlan = word(at + 2)? & 0xFFF;
        }
        at += 4;
    }
    None
}
