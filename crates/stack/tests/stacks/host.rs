//! A host at the outer end of a port, just able to speak ARP and ICMP over IPv4.

use std::net::Ipv4Addr;

use sys::vnet::VnetHeader;

use crate::wire::Wire;

pub struct Host {
    pub mac: [u8; 6],
    pub ip: Ipv4Addr,
}

/// An ICMP message as it arrived.
#[derive(Debug, PartialEq, Eq)]
pub struct Message {
    pub from: Ipv4Addr,
    pub to: Ipv4Addr,
    pub ttl: u8,
    pub kind: u8,
    pub payload: Vec<u8>,
}

const ARP: [u8; 2] = [8, 6];
const IPV4: [u8; 2] = [8, 0];
pub const ECHO_REPLY: u8 = 0;
pub const ECHO: u8 = 8;

impl Host {
    pub fn new(number: u8, ip: &str) -> Self {
        Self { mac: [2, 0, 0, 0, 9, number], ip: ip.parse().unwrap() }
    }

    /// The Ethernet address of `ip`, asked for on the wire.
    pub fn resolve(&self, wire: &mut Wire, ip: Ipv4Addr) -> [u8; 6] {
        wire.send(VnetHeader::default(), &self.arp(1, [0xff; 6], ip));
        loop {
            let frame = wire.wait();
            if frame[12..14] == ARP && frame[21] == 2 && frame[28..32] == ip.octets() {
                return frame[22..28].try_into().unwrap();
            }
        }
    }

    /// Sends an ICMP message to `to` by way of the station `mac`.
    pub fn send(&self, wire: &mut Wire, mac: [u8; 6], to: Ipv4Addr, kind: u8, payload: &[u8]) {
        let mut icmp = [&[kind, 0, 0, 0][..], payload].concat();
        let sum = checksum(&icmp).to_be_bytes();
        icmp[2..4].copy_from_slice(&sum);
        let len = (20 + icmp.len()) as u16;
        let mut ip = [&[0x45, 0][..], &len.to_be_bytes(), &[0, 1, 0, 0, 64, 1, 0, 0]].concat();
        ip.extend(self.ip.octets());
        ip.extend(to.octets());
        let sum = checksum(&ip).to_be_bytes();
        ip[10..12].copy_from_slice(&sum);
        wire.send(VnetHeader::default(), &[&mac[..], &self.mac, &IPV4, &ip, &icmp].concat());
    }

    /// The next ICMP message for this host; answers who asks for its address meanwhile.
    pub fn wait(&self, wire: &mut Wire) -> Message {
        loop {
            let frame = wire.wait();
            if frame[12..14] == ARP && frame[21] == 1 && frame[38..42] == self.ip.octets() {
                let asking = Ipv4Addr::from(<[u8; 4]>::try_from(&frame[28..32]).unwrap());
                let reply = self.arp(2, frame[6..12].try_into().unwrap(), asking);
                wire.send(VnetHeader::default(), &reply);
            }
            if frame[12..14] == IPV4 && frame[23] == 1 && frame[30..34] == self.ip.octets() {
                let address =
                    |start: usize| Ipv4Addr::from(<[u8; 4]>::try_from(&frame[start..start + 4]).unwrap());
                let len = usize::from(u16::from_be_bytes([frame[16], frame[17]]));
                let payload = frame[38..14 + len].to_vec();
                return Message {
                    from: address(26),
                    to: address(30),
                    ttl: frame[22],
                    kind: frame[34],
                    payload,
                };
            }
        }
    }

    /// Sends an echo request to the stack's address `ip` and waits for the answer.
    pub fn ping(&self, wire: &mut Wire, ip: Ipv4Addr) {
        let mac = self.resolve(wire, ip);
        let payload = b"\0\x07\0\x01are you there?";
        self.send(wire, mac, ip, ECHO, payload);
        let expected =
            Message { from: ip, to: self.ip, ttl: 64, kind: ECHO_REPLY, payload: payload.to_vec() };
        assert_eq!(self.wait(wire), expected);
    }

    fn arp(&self, operation: u8, mac: [u8; 6], ip: Ipv4Addr) -> Vec<u8> {
        let mut frame = [&mac[..], &self.mac, &ARP, &[0, 1, 8, 0, 6, 4, 0, operation]].concat();
        frame.extend(self.mac);
        frame.extend(self.ip.octets());
        frame.extend(if operation == 1 { [0; 6] } else { mac });
        frame.extend(ip.octets());
        frame
    }
}

/// RFC 1071.
fn checksum(bytes: &[u8]) -> u16 {
    let words = bytes.chunks(2).map(|pair| u32::from(pair[0]) << 8 | u32::from(*pair.get(1).unwrap_or(&0)));
    let sum: u32 = words.sum();
    let folded = (sum & 0xffff) + (sum >> 16);
    !((folded & 0xffff) + (folded >> 16)) as u16
}
