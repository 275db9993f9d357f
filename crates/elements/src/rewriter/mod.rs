//! Rewriting of addresses and ports: NAT and load balancing.

mod base;
mod choices;
mod consistent_hash;
mod flow;
pub(crate) mod flow_id;
mod flow_set;
mod handlers;
mod heap;
mod index;
mod input;
mod keep;
mod mappers;
mod mapping;
mod pattern;
mod rewriters;
mod sequence;
mod settings;
mod setup;
mod slab;
mod style;
#[cfg(test)]
mod tests;
mod timeouts;

element::elements![
    ftp_port_mapper,
    icmp_ping_rewriter,
    icmp_rewriter,
    ip_addr_pair_rewriter,
    ip_addr_rewriter,
    ip_rewriter,
    ip_rewriter_patterns,
    round_robin_ip_mapper,
    source_ip_hash_mapper,
    tcp_rewriter,
    udp_rewriter,
];
