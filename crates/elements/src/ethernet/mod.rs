//! Ethernet frames, ARP and VLAN tags.

pub mod stations;
pub mod tag;

element::elements![
    arp_print,
    arp_responder,
    ether_encap,
    ether_mirror,
    ether_rewrite,
    ether_switch,
    host_ether_filter,
    set_vlan_anno,
    vlan_decap,
    vlan_encap,
];
element::elements![ether_encap, ether_mirror, ether_switch, set_vlan_anno, vlan_decap, vlan_encap,];
