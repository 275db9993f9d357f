//! IPv4 headers: checking, changing, making.

pub mod describe;
pub mod failures;
pub mod fragments;
pub mod gateway_options;
pub mod header_check;
pub mod offload;

element::elements![
    check_ip_header,
    check_ip_header2,
    dec_ip_ttl,
    drop_broadcasts,
    fix_ip_src,
    get_ip_address,
    ip_encap,
    ip_fragmenter,
    ip_gw_options,
    ip_input_combo,
    ip_mirror,
    ip_output_combo,
    ip_print,
    ip_reassembler,
    mark_ip_header,
    set_ip_address,
    set_ip_checksum,
    set_ip_dscp,
    store_ip_address,
    strip_ip_header,
    strip_to_network_header,
];
