//! TCP and UDP headers.

pub mod fast_source;
pub mod segment;
pub mod sequence;

element::elements![
    check_tcp_header,
    check_udp_header,
    dynamic_udpip_encap,
    fast_tcp_flows,
    fast_udp_flows,
    fast_udp_source,
    force_tcp,
    force_udp,
    set_tcp_checksum,
    set_udp_checksum,
    tcp_ack,
    tcp_buffer,
    tcp_fragmenter,
    tcp_reflector,
    udp_ip_encap,
];
