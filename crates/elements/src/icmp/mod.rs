//! ICMP messages.

pub mod source_route;

element::elements![icmp_error,];
