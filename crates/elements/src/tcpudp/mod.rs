//! TCP and UDP headers.

pub mod segment;

element::elements![check_tcp_header, check_udp_header, set_tcp_checksum, set_udp_checksum, udp_ip_encap];
