//! The filter of a trace, and where the IP packet in a packet is.

use element::Packet;
use sys::bpf::Program;

const ETHERNET: i32 = 1;
/// Raw IP for libpcap's compiler.
const RAW_IP: i32 = 12;

/// A tcpdump filter for packets of which some are frames and some begin with an IP header.
pub struct Filter(Option<FramesAndIp>);

struct FramesAndIp {
    frames: Program,
    ip: Program,
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
            _ => Some(FramesAndIp { frames: compile(ETHERNET)?, ip: compile(RAW_IP)? }),
        }))
    }

    /// Whether a packet passes.
    pub fn matches(&self, packet: &Packet) -> bool {
        let Some(FramesAndIp { frames, ip }) = &self.0 else { return true };
        let network = ip_of(packet);
        match network.is_empty() {
            true => frames.matches(packet.data(), packet.len() as u32),
            false => ip.matches(network, network.len() as u32),
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
