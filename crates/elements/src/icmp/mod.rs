//! ICMP messages.

pub mod source_route;

element::elements![check_icmp_header, icmp_error, icmp_ping_responder,];
