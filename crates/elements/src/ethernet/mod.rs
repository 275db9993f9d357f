//! Ethernet frames, ARP and VLAN tags.

pub mod tag;

element::elements![set_vlan_anno, vlan_decap, vlan_encap,];
