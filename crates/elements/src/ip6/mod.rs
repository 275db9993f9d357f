//! IPv6: checking, changing, making, routing and translating packets.

mod address_map;
mod advertisement;
mod at_offset;
mod discovery;
mod icmp_message;
mod neighbor;
mod neighbor_cache;
mod own_addresses;
mod port_map;
mod routes;
pub mod segment;
mod translation;

element::elements![
    address_translator,
    check_ip6_header,
    dec_ip6_hlim,
    get_ip6_address,
    icmp6_error,
    icmp6_errors,
    icmp6_ping_responder,
    ip6_encap,
    ip6_fragmenter,
    ip6_mirror,
    ip6_nd_advertiser,
    ip6_nd_solicitor,
    ip6_neighbors,
    ip6_print,
    ip6_router_advertiser,
    ip6_scope_classifier,
    lookup_ip6_route,
    mark_ip6_header,
    protocol_translator46,
    protocol_translator64,
    set_ip6_address,
    set_ip6_dscp,
    udp_ip6_encap,
];
