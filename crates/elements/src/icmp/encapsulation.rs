//! The headers of ICMP messages that are put in front of packets.

use std::net::Ipv4Addr;

use args::Scope;
use element::{offload, Handler, Packet, Verdict};
use wire::{checksum, icmp_type, protocol, Icmp};

const IP: usize = 20;
const TTL: u8 = 255;

/// The handlers of an element that puts ICMP headers in front of packets.
pub const HANDLERS: &[Handler] = &[
    Handler::read_write("src", "Source address.").flags("calm"),
    Handler::read_write("dst", "Destination address.").flags("calm"),
];

/// What the headers say.
pub struct Encapsulation {
    /// Source address.
    pub source: Ipv4Addr,
    /// Destination address.
    pub destination: Ipv4Addr,
    /// Type of the message.
    pub kind: u8,
    /// Code of the message.
    pub code: u8,
    /// Identifier of messages that have one.
    pub identifier: u16,
    /// Identification of the next packet and, if it has one, its sequence number; never 0.
    pub next_id: u16,
}

impl Encapsulation {
    /// Puts the headers in front of a packet, marks them and sets the destination annotation.
    #[inline(always)]
    pub fn process(&mut self, packet: &mut Packet) -> Verdict {
        // The checksum covers the inner packet, which must not change any more.
        offload::settle(packet);
        let id = self.next_id;
        self.next_id = id.checked_add(1).unwrap_or(1);
        let bytes = packet.prepend(IP + Icmp::header_len(self.kind));
        let len = bytes.len() as u16;
        if let Some((ip, icmp)) = bytes.split_first_chunk_mut::<IP>() {
            self.write_ip(ip, len, id);
            self.write_icmp(icmp, id);
        }
        packet.set_dst_ip(self.destination);
        packet.set_network_header(0, IP);
        Verdict::PASS
    }

    #[inline(always)]
    fn write_ip(&self, ip: &mut [u8; IP], len: u16, id: u16) {
        *ip = [0; IP];
        [ip[0], ip[8], ip[9]] = [0x45, TTL, protocol::ICMP];
        ip[2..4].copy_from_slice(&len.to_be_bytes());
        ip[4..6].copy_from_slice(&id.to_be_bytes());
        ip[12..16].copy_from_slice(&self.source.octets());
        ip[16..20].copy_from_slice(&self.destination.octets());
        let sum = !checksum::sum_20(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
    }

    #[inline(always)]
    fn write_icmp(&self, message: &mut [u8], id: u16) {
        if let Some(header) = message.get_mut(..Icmp::header_len(self.kind)) {
            header.fill(0);
            [header[0], header[1]] = [self.kind, self.code];
            if has_sequence(self.kind) {
                header[4..6].copy_from_slice(&self.identifier.to_be_bytes());
                header[6..8].copy_from_slice(&id.to_be_bytes());
            }
        }
        let sum = checksum::checksum(message);
        if let Some(field) = message.get_mut(2..4) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
    }

    /// Reads `src` or `dst`.
    pub fn read(&self, name: &str) -> Result<String, String> {
        match name {
            "src" => Ok(self.source.to_string()),
            "dst" => Ok(self.destination.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    /// Writes `src` or `dst`.
    pub fn write(&mut self, name: &str, value: &str) -> Result<(), String> {
        // As Click: names that the graph defines are not known here.
        let address = || args::ip(value, &Scope::builtin()).map_err(|_| "syntax error");
        match name {
            "src" => self.source = address()?,
            "dst" => self.destination = address()?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

/// Whether messages of a type have an identifier and a sequence number.
#[inline(always)]
fn has_sequence(kind: u8) -> bool {
    use icmp_type::{ECHO, ECHO_REPLY, INFORMATION, INFORMATION_REPLY, TIMESTAMP, TIMESTAMP_REPLY};
    matches!(kind, ECHO | ECHO_REPLY | TIMESTAMP | TIMESTAMP_REPLY | INFORMATION | INFORMATION_REPLY)
}
