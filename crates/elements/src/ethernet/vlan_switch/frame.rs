//! Frames and the tags that they have at ports.

use element::Packet;

use super::super::tag::{self, ID_MASK};
use super::super::vlan_members::Membership;

/// Bytes of a header without a tag.
pub const ETHER_HEADER: usize = 14;

/// A frame in its VLAN.
#[derive(Clone)]
pub struct Frame {
    /// The frame.
    pub packet: Packet,
    /// The control information of its tag, or of that which it would have.
    pub tci: u16,
    /// Whether it has one.
    pub is_tagged: bool,
}

impl Frame {
    /// The frame with a tag, or without one, as the port has it.
    #[inline(always)]
    pub fn for_port(mut self, port: &Membership) -> Packet {
        match (self.is_tagged, is_tagged_at(port, self.tci & ID_MASK)) {
            (true, false) => remove_tag(&mut self.packet),
            (false, true) => {
                tag::insert(&mut self.packet, tag::ETHERTYPE, self.tci);
                self.packet.set_mac_header(0, ETHER_HEADER + tag::TAG);
            }
            _ => {}
        }
        self.packet
    }
}

/// Whether frames of a VLAN have tags at a port.
#[inline(always)]
pub fn is_tagged_at(port: &Membership, vlan: u16) -> bool {
    port.native() != Some(vlan)
}

/// Removes the tag of a frame that has one.
pub fn remove_tag(packet: &mut Packet) {
    tag::remove(packet);
    packet.set_mac_header(0, ETHER_HEADER);
}
