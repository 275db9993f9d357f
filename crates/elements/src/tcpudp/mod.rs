//! TCP and UDP headers.

mod copier;
pub mod fast_source;
pub mod fast_udp;
pub mod segment;
pub mod sequence;
mod tcp_packet;

element::elements![
    buffer_converter,
    check_tcp_header,
    check_udp_header,
    copy_flow_id,
    copy_tcp_seq,
    dynamic_udpip_encap,
    fast_tcp_flows,
    fast_udp_flows,
    fast_udp_source,
    fast_udp_source_ip6,
    force_tcp,
    force_udp,
    set_tcp_checksum,
    set_udp_checksum,
    tcp_ack,
    tcp_buffer,
    tcp_conn,
    tcp_demux,
    tcp_fragmenter,
    tcp_ip_send,
    tcp_reflector,
    toy_tcp,
    udp_ip_encap,
    web_gen,
];
