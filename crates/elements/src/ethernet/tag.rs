//! What the VLAN elements share: the tag's fields (IEEE 802.1Q, clause 9.6) and where it is in a frame.

use element::Packet;

/// Bytes of the two addresses at the start of a frame.
pub const ADDRESSES: usize = 12;
/// Bytes of a tag: type and control information.
pub const TAG: usize = 4;
/// Type of a tagged frame.
pub const ETHERTYPE: u16 = 0x8100;
/// The bits of the control information that name the VLAN.
pub const ID_MASK: u16 = 0x0FFF;

/// The control information of a VLAN and a priority.
pub fn control_information(tci_or_id: u16, priority: u16) -> u16 {
    tci_or_id | priority << 13
}

/// The configuration that means this control information.
pub fn config(tci: u16) -> String {
    format!("VLAN_ID {}, VLAN_PCP {}", tci & ID_MASK, tci >> 13)
}

/// The control information of a frame, if it has a tag of this type.
#[inline]
pub fn read(packet: &Packet, ethertype: u16) -> Option<u16> {
    let tag: &[u8; TAG] = packet.data().get(ADDRESSES..)?.first_chunk()?;
    let [t0, t1, c0, c1] = *tag;
    (u16::from_be_bytes([t0, t1]) == ethertype).then(|| u16::from_be_bytes([c0, c1]))
}

/// Removes the tag of a frame that has one.
#[inline]
pub fn remove(packet: &mut Packet) {
    if let Some(head) = packet.data_mut().get_mut(..ADDRESSES + TAG) {
        head.copy_within(..ADDRESSES, TAG);
    }
    packet.strip(TAG);
}

/// Inserts a tag behind the addresses; of a frame that is too short, what there is of it moves to the front.
#[inline]
pub fn insert(packet: &mut Packet, ethertype: u16, tci: u16) {
    let data = packet.prepend(TAG);
    let n = data.len().min(ADDRESSES + TAG);
    data.copy_within(TAG.min(n)..n, 0);
    let [t0, t1] = ethertype.to_be_bytes();
    let [c0, c1] = tci.to_be_bytes();
    if let Some(tag) = data.get_mut(ADDRESSES..).and_then(|tail| tail.first_chunk_mut()) {
        *tag = [t0, t1, c0, c1];
    }
}
