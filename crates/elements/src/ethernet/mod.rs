//! Ethernet frames, ARP and VLAN tags.

pub mod stations;
pub mod tag;

element::elements![ether_encap, ether_mirror, ether_switch, set_vlan_anno, vlan_decap, vlan_encap,];
