//! ICMP messages.

pub mod round_trips;
pub mod source_route;

element::elements![check_icmp_header, icmp_error, icmp_ping_responder, icmp_ping_source];
