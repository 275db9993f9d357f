//! Ethernet frames, ARP and VLAN tags.

pub mod address_place;
pub mod arp_cache;
mod arp_frame;
pub mod bridge_message;
pub mod leaving;
pub mod stations;
pub mod tag;
mod vlan_members;

element::elements![
    arp_faker,
    arp_print,
    arp_querier,
    arp_responder,
    arp_table,
    check_arp_header,
    debug_bridge,
    ensure_ether,
    ether_encap,
    ether_mirror,
    ether_pause_source,
    ether_rewrite,
    ether_span_tree,
    ether_switch,
    ether_vlan_encap,
    ether_vlan_encap_alias,
    get_ether_address,
    host_ether_filter,
    listen_ether_switch,
    set_ether_address,
    set_vlan_anno,
    set_vlan_anno_alias,
    store_ether_address,
    strip_ether_vlan_header,
    strip_ether_vlan_header_alias,
    vlan_decap,
    vlan_encap,
    vlan_switch,
];
