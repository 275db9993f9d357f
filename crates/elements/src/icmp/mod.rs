//! ICMP messages.

pub mod encapsulation;
pub mod round_trips;
pub mod source_route;

element::elements![
    check_icmp_header,
    force_icmp,
    icmp_error,
    icmp_ping_encap,
    icmp_ping_responder,
    icmp_ping_source,
    icmp_send_pings,
    icmpip_encap,
];
