//! Sets the source address where the packet asks for it.
//!
//! Packets whose "fix source" annotation is set, such as errors made by `ICMPError`, get IPADDR as source and a new header
//! checksum; the annotation is cleared. Put it where the outgoing interface is known (RFC 1812, section 4.3.2.4). If the interface
//! has several addresses, NETWORKS names them: the one in whose network the destination annotation is becomes the source.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> FixIPSrc(18.26.4.24) -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{annotation, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

use super::own_networks::OwnNetworks;
use super::set_ip_checksum;

/// The class.
pub const CLASS: Class = Class::new::<FixIPSrc>("FixIPSrc", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .fast_path::<FixIPSrc>();

const ARGS: &[Arg] = &[
    Arg::required("IPADDR", "IP address", "The source address to set."),
    Arg::keyword(
        "NETWORKS",
        "list of prefixes",
        "Source addresses to set instead in their networks. Default none.",
    ),
];

/// See the page above.
pub struct FixIPSrc {
    address: Ipv4Addr,
    networks: OwnNetworks,
}

impl Element for FixIPSrc {
    fn configure(conf: &mut Configure<'_>) -> Result<FixIPSrc, Failed> {
        let address = conf.args.need("IPADDR");
        let networks = conf.args.get_with("NETWORKS", OwnNetworks::parse).unwrap_or_default();
        conf.finish()?;
        Ok(FixIPSrc { address, networks })
    }

    per_packet!();
}

impl HasFastPath for FixIPSrc {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::with_own_source()))
    }
}

impl FixIPSrc {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if is_wanted(packet) {
            fix(packet, self.networks.source_towards(packet.dst_ip()).unwrap_or(self.address));
        }
        Verdict::PASS
    }
}

/// Whether the packet asks for another source address.
#[inline(always)]
pub(super) fn is_wanted(packet: &Packet) -> bool {
    packet.anno_u8(annotation::FIX_IP_SRC) != 0 && packet.network_offset().is_some()
}

/// Sets the source address and the checksum, and clears the annotation.
#[inline(never)]
pub(super) fn fix(packet: &mut Packet, address: Ipv4Addr) {
    packet.set_anno_u8(annotation::FIX_IP_SRC, 0);
    let bytes = packet.network_mut();
    if let Some(header) = bytes.first_chunk_mut::<20>() {
        header[12..16].copy_from_slice(&address.octets());
        set_ip_checksum::set(bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_packets_that_ask_are_changed() {
        let mut packet = Packet::from_bytes(&[0x45; 24]);
        packet.set_network_header(0, 20);
        let networks = OwnNetworks::parse("1.2.3.4/24 1.2.5.4/24", &args::Scope::builtin()).unwrap();
        let mut element = FixIPSrc { address: Ipv4Addr::new(1, 2, 3, 4), networks };
        element.process(&mut packet);
        assert_eq!(packet.data(), &[0x45; 24]);
        packet.set_anno_u8(annotation::FIX_IP_SRC, 1);
        element.process(&mut packet);
        assert_eq!(packet.data()[12..16], [1, 2, 3, 4]);
        assert!(wire::checksum::is_valid(&packet.data()[..20]));
        assert_eq!(packet.anno_u8(annotation::FIX_IP_SRC), 0);
        packet.set_anno_u8(annotation::FIX_IP_SRC, 1);
        packet.set_dst_ip(Ipv4Addr::new(1, 2, 5, 9));
        element.process(&mut packet);
        assert_eq!(packet.data()[12..16], [1, 2, 5, 4]);
    }
}
