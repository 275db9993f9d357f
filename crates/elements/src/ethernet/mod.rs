//! Ethernet frames, ARP and VLAN tags.

pub mod arp_cache;
pub mod stations;
pub mod tag;

element::elements![
    arp_print,
    arp_querier,
    arp_responder,
    arp_table,
    ether_encap,
    ether_mirror,
    ether_rewrite,
    ether_switch,
    host_ether_filter,
    set_vlan_anno,
    vlan_decap,
    vlan_encap,
];
