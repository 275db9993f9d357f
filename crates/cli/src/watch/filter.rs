//! The filter of a trace, and where the IP packet in a packet is.

use element::Packet;
use interfaces::stage::framing::wire_len;
use sys::bpf::Program;

const ETHERNET: i32 = 1;
/// Raw IP for libpcap's compiler.
const RAW_IP: i32 = 12;

/// A tcpdump filter for packets of which some are frames and some begin with an IP header.
pub struct Filter(Option<FramesAndIp>);

struct FramesAndIp {
    frames: Program,
    /// None of an expression that asks for what only frames have, such as `arp`.
    ip: Option<Program>,
}

impl Filter {
    /// Reads one; an empty one lets every packet pass.
    pub fn new(text: &str) -> Result<Filter, String> {
        let compile = |link_type| {
            sys::bpf::compile(text, link_type, 262_144).map_err(|error| {
                let help = error.remedy().map(|remedy| format!("\n  help: {remedy}"));
                format!("{error}{}", help.unwrap_or_default())
            })
        };
        Ok(Filter(match text.trim() {
            "" => None,
            _ => Some(FramesAndIp { frames: compile(ETHERNET)?, ip: compile(RAW_IP).ok() }),
        }))
    }

    /// Whether a packet passes.
    pub fn matches(&self, packet: &Packet) -> bool {
        let Some(FramesAndIp { frames, ip }) = &self.0 else { return true };
        let (data, network) = (packet.data(), ip_of(packet));
        let n_before = data.len().saturating_sub(network.len()) as u32;
        match ip {
            Some(ip) if !network.is_empty() => ip.matches(network, wire_len(packet) - n_before),
            None if n_before == 0 => false,
            _ => frames.matches(data, wire_len(packet)),
        }
    }
}

/// The packet from its IP header on: the network header if it is set, else where Ethernet or plain IP puts it.
pub fn ip_of(packet: &Packet) -> &[u8] {
    let network = packet.network();
    if !network.is_empty() {
        return network;
    }
    let data = packet.data();
    match (data.get(12..14), data.first()) {
        (Some([0x08, 0x00]), _) => data.get(14..).unwrap_or(&[]),
        (_, Some(0x45)) => data,
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_are_asked_for_what_ip_does_not_have() {
        let header = [0x45, 0, 0, 20, 0, 0, 0, 0, 64, 6, 0, 0, 10, 0, 0, 1, 10, 0, 0, 2];
        let frame = |ethertype: [u8; 2], rest: &[u8]| {
            Packet::from_bytes(&[&[2, 0, 0, 0, 0, 2, 2, 0, 0, 0, 0, 1], &ethertype[..], rest].concat())
        };
        let packets = [
            frame([8, 6], &[0, 1]),
            frame([8, 0], &header),
            frame([0x81, 0], &[&[0, 5, 8, 0], &header[..]].concat()),
            Packet::from_bytes(&header),
        ];
        for (expression, expected) in [
            ("arp", [true, false, false, false]),
            ("tcp", [false, true, false, true]),
            ("ether src 02:00:00:00:00:01 and tcp", [false, true, false, false]),
            ("vlan 5 and tcp", [false, false, true, false]),
            ("not ip", [true, false, true, false]),
        ] {
            let filter = match Filter::new(expression) {
                Err(error) if error.contains("no filter compiler") => return testing::cannot_run(error),
                other => other.unwrap(),
            };
            assert_eq!(packets.each_ref().map(|packet| filter.matches(packet)), expected, "{expression}");
        }
        assert!(Filter::new("tcp prt 80").is_err());
    }
}
