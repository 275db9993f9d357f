//! A packet that is being made from the fields of a dump.
//!
//! Headers appear when a field needs them, with defaults for what no field says: IPv4 without options, a time to live of
//! 100, TCP or what the dump's protocol is.

use std::net::Ipv4Addr;

use element::{annotation, Packet};
use wire::{checksum, protocol, Ipv4};

use super::describe::{u16_at, u8_at};

/// Bytes of room in front of a packet's data.
const HEADROOM: usize = 128;
/// Bytes of room behind it: more than most packets need.
const TAILROOM: usize = 1000;
/// Bytes of an IPv4 header without options.
pub const IP_HEADER: usize = 20;
/// Bytes of a TCP header without options.
pub const TCP_HEADER: usize = 20;

/// What is known of a packet besides its fields.
#[derive(Clone, Copy)]
pub struct Defaults {
    /// IP protocol.
    pub protocol: u8,
    /// Whether there is a flow identifier, so that every packet has an IP header and ports.
    pub has_flow: bool,
    /// Minor version of the dump.
    pub minor_version: u32,
    /// Whether bytes that no field sets are zero.
    pub zeroes: bool,
}

/// A packet that is being made.
pub struct Composer {
    /// The packet so far.
    pub packet: Packet,
    /// Whether it is, or can become, an IP packet.
    pub is_ip: bool,
    /// Whether a field has set the ICMP type.
    pub has_icmp_type: bool,
    /// Whether a field has set the ICMP code.
    pub has_icmp_code: bool,
    /// Whether a field has set the length of the IP header.
    pub has_ip_header_len: bool,
    /// Whether a field has set the length of the TCP header.
    pub has_tcp_header_len: bool,
    /// Length that the packet shall claim, in bytes from the start of the data; 0 is its own.
    pub want_len: u32,
    /// What is known besides.
    pub defaults: Defaults,
}

impl Composer {
    /// An empty packet.
    pub fn new(defaults: Defaults) -> Composer {
        Composer {
            packet: Packet::uninit(HEADROOM, 0, TAILROOM),
            is_ip: true,
            has_icmp_type: false,
            has_icmp_code: false,
            has_ip_header_len: false,
            has_tcp_header_len: false,
            want_len: 0,
            defaults,
        }
    }

    /// Appends `n` bytes.
    pub fn append(&mut self, n: usize) {
        let len = self.packet.len();
        let data = self.packet.append(n);
        if self.defaults.zeroes {
            data.get_mut(len..).unwrap_or(&mut []).fill(0);
        }
    }

    /// Makes sure of an Ethernet header.
    pub fn make_ethernet(&mut self) {
        if self.packet.mac_offset().is_some() {
            return;
        }
        let data = self.packet.prepend(14);
        if self.defaults.zeroes {
            data.get_mut(..14).unwrap_or(&mut []).fill(0);
        }
        self.packet.set_mac_header(0, 14);
        self.set(12, &[8, 0]);
    }

    /// Makes sure of an IP header; tells whether there is one now that is for `protocol`, or for none yet. Protocol 0 is
    /// any.
    pub fn make_ip(&mut self, protocol: u8) -> bool {
        let is_ready = self.packet.network_offset().is_some() && self.network_len() >= IP_HEADER;
        if !self.is_ip || (!is_ready && !self.add_ip()) {
            return false;
        }
        let own = self.ip_u8(9);
        protocol == 0 || own == 0 || own == protocol
    }

    fn add_ip(&mut self) -> bool {
        if self.packet.network_offset().is_none() {
            self.packet.set_network_header(0, 0);
        }
        let start = self.ip_start();
        if self.network_len() < IP_HEADER {
            self.append(IP_HEADER - self.network_len());
            self.packet.set_network_header(start, IP_HEADER);
            self.set_ip(0, &[0x45]);
            self.set_ip(2, &[0; 2]);
            self.set_ip(6, &[0, 0, 100, self.defaults.protocol]);
            if self.defaults.has_flow {
                self.set_ip(12, &[0; 8]);
            }
        }
        true
    }

    /// Makes sure of a transport header behind the IP header, if the packet is not a later fragment.
    pub fn make_transport(&mut self) -> bool {
        if !self.is_first_fragment() {
            return false;
        }
        if self.transport_len() < 8 {
            self.add_transport();
        }
        true
    }

    fn add_transport(&mut self) {
        let protocol = self.ip_u8(9);
        let mut len: usize = match protocol {
            protocol::TCP => TCP_HEADER,
            protocol::UDP | protocol::UDPLITE | protocol::ICMP => 8,
            protocol::DCCP => 12,
            _ => return,
        };
        let start = self.transport_start();
        let want = self.want_len as usize;
        if want > 0 && want < start + len {
            len = want.saturating_sub(start);
        }
        if self.transport_len() >= len {
            return;
        }
        // Ports are set even if they are to be cut off again.
        let full = len.max(4);
        self.append(full - self.transport_len());
        if protocol == protocol::TCP && len >= 13 {
            let flags = self.transport_u8(12) & 15;
            self.set_transport(12, &[5 << 4 | flags]);
        }
        if self.defaults.has_flow {
            self.set_transport(0, &[0; 4]);
        }
        self.packet.take(full - len);
    }

    /// Makes the transport header at least `len` bytes long.
    pub fn extend_transport(&mut self, len: usize) {
        if self.transport_len() < len {
            self.append(len - self.transport_len());
        }
    }

    /// Offset of the IP header from the start of the data; 0 if there is none.
    pub fn ip_start(&self) -> usize {
        self.packet.network_offset().and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0)
    }

    /// Offset of the transport header from the start of the data; 0 if there is none.
    pub fn transport_start(&self) -> usize {
        self.packet.transport_offset().and_then(|offset| usize::try_from(offset).ok()).unwrap_or(0)
    }

    /// Bytes from the IP header to the end.
    pub fn network_len(&self) -> usize {
        self.packet.len().saturating_sub(self.ip_start())
    }

    /// Bytes from the transport header to the end.
    pub fn transport_len(&self) -> usize {
        self.packet.len().saturating_sub(self.transport_start())
    }

    /// Whether there is an IP header.
    pub fn has_ip(&self) -> bool {
        self.is_ip && self.packet.network_offset().is_some() && self.network_len() >= IP_HEADER
    }

    /// The byte at `at` of the IP header.
    pub fn ip_u8(&self, at: usize) -> u8 {
        u8_at(self.packet.data(), self.ip_start() + at)
    }

    /// The 16-bit word at `at` of the IP header.
    pub fn ip_u16(&self, at: usize) -> u16 {
        u16_at(self.packet.data(), self.ip_start() + at)
    }

    /// Bytes of the IP header, as it says.
    pub fn ip_header_len(&self) -> usize {
        usize::from(self.ip_u8(0) & 15) * 4
    }

    /// Whether the packet is no fragment, or the first.
    pub fn is_first_fragment(&self) -> bool {
        self.ip_u16(6) & 0x1FFF == 0
    }

    /// The byte at `at` of the transport header.
    pub fn transport_u8(&self, at: usize) -> u8 {
        u8_at(self.packet.data(), self.transport_start() + at)
    }

    /// Bytes of the TCP header, as it says.
    pub fn tcp_header_len(&self) -> usize {
        usize::from(self.transport_u8(12) >> 4) * 4
    }

    /// Sets bytes from `at` on, as far as they are there.
    pub fn set(&mut self, at: usize, bytes: &[u8]) {
        for (old, new) in self.packet.data_mut().iter_mut().skip(at).zip(bytes) {
            *old = *new;
        }
    }

    /// Sets bytes of the IP header.
    pub fn set_ip(&mut self, at: usize, bytes: &[u8]) {
        self.set(self.ip_start() + at, bytes);
    }

    /// Sets bytes of the transport header.
    pub fn set_transport(&mut self, at: usize, bytes: &[u8]) {
        self.set(self.transport_start() + at, bytes);
    }

    /// Sets the length of the IP header that it says, in bytes; what its 4 bits cannot hold is lost.
    pub fn set_ip_header_len(&mut self, len: usize) {
        let version = self.ip_u8(0) & 0xF0;
        self.set_ip(0, &[version | (len / 4) as u8 & 15]);
    }

    /// Sets the length of the TCP header that it says, in bytes; what its 4 bits cannot hold is lost.
    pub fn set_tcp_header_len(&mut self, len: usize) {
        let flags = self.transport_u8(12) & 15;
        self.set_transport(12, &[((len / 4) as u8) << 4 | flags]);
    }

    /// Sets the bytes from `at` to the end of the data to zero, if bytes that no field sets are zero.
    fn clear(&mut self, at: usize) {
        if self.defaults.zeroes {
            self.packet.data_mut().get_mut(at..).unwrap_or(&mut []).fill(0);
        }
    }

    /// Makes room for `n` zero bytes at `at`.
    pub fn insert(&mut self, at: usize, n: usize) {
        self.append(n);
        let data = self.packet.data_mut();
        let len = data.len();
        if let Some(tail) = data.get_mut(at..).filter(|tail| tail.len() >= n) {
            tail.copy_within(..len - at - n, n);
            tail.get_mut(..n).unwrap_or(&mut []).fill(0);
        }
    }

    /// Ends the packet: lengths, annotations and, if asked for, checksums that no field has set.
    pub fn finish(mut self, checksums: bool) -> Packet {
        if self.defaults.has_flow {
            self.make_ip(0);
        }
        if self.has_ip() {
            self.make_transport();
            self.finish_ip(checksums);
        }
        let len = self.packet.len() as u32;
        if self.want_len > len {
            self.packet.set_anno_u32(annotation::EXTRA_LENGTH, self.want_len - len);
        }
        self.packet
    }

    fn finish_ip(&mut self, checksums: bool) {
        if self.ip_u16(2) == 0 {
            let start = self.ip_start() as u32;
            let want = if self.want_len >= start { self.want_len - start } else { self.want_len };
            let len = if want == 0 { self.network_len() as u32 } else { want.min(0xFFFF) };
            self.set_ip(2, &(len as u16).to_be_bytes());
        }
        let ip_len = usize::from(self.ip_u16(2));
        let has_udp = self.ip_u8(9) == protocol::UDP && self.is_first_fragment();
        if has_udp && u16_at(self.packet.data(), self.transport_start() + 4) == 0 {
            let header_len = self.transport_start().saturating_sub(self.ip_start());
            self.set_transport(4, &(ip_len.wrapping_sub(header_len) as u16).to_be_bytes());
        }
        let destination = self.packet.network().get(16..).and_then(|tail| tail.first_chunk::<4>());
        let destination = destination.copied().unwrap_or_default();
        self.packet.set_dst_ip(Ipv4Addr::from(destination));
        if checksums {
            let len = self.packet.len();
            self.append(ip_len.saturating_sub(self.network_len()));
            self.clear(len);
            self.set_checksums();
        }
    }

    fn set_checksums(&mut self) {
        self.set_ip(10, &[0; 2]);
        let header = self.packet.network();
        let sum = checksum::checksum(header.get(..self.ip_header_len()).unwrap_or(header));
        self.set_ip(10, &sum.to_be_bytes());
        let protocol = self.ip_u8(9);
        let at = match protocol {
            _ if self.ip_u16(6) & 0x3FFF != 0 => return,
            protocol::TCP => 16,
            protocol::UDP => 6,
            protocol::ICMP => 2,
            _ => return,
        };
        self.set_transport(at, &[0; 2]);
        let segment = self.packet.transport();
        let sum = if protocol == protocol::ICMP {
            checksum::checksum(segment)
        } else {
            let header = self.packet.network();
            let pseudo = Ipv4::new(header).map_or(0, |ip| ip.pseudo_header_sum(segment.len() as u16));
            checksum::transport(pseudo, segment)
        };
        self.set_transport(at, &sum.to_be_bytes());
    }
}
