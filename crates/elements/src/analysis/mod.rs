//! Looking at traffic: flows, aggregates, summaries.

pub mod summary;

mod address_tree;
mod aggregate_counts;
mod aggregate_events;
mod aggregate_ranges;
mod aggregate_set;
mod aggregate_trigger;
mod aggregates_seen;
mod compressor;
mod flow_dump;
mod flow_file_name;
mod flow_hosts;
mod flow_key;
mod flow_numbers;
mod flow_options;
mod ip_field;
mod pair_numbers;
mod tcpdump_text;
mod text_source;
mod time_window;
mod turn;

element::elements![
    adjust_timestamp,
    aggregate_counter,
    aggregate_filter,
    aggregate_first,
    aggregate_ip,
    aggregate_ip_addr_pair,
    aggregate_ip_flows,
    aggregate_last,
    aggregate_length,
    aggregate_packet_counter,
    aggregate_paint,
    anonymize_ip_addr,
    from_cap_dump,
    from_ip_summary_dump,
    time_filter,
    time_range,
    timestamp_accum,
    from_net_flow_summary_dump,
    from_tcpdump,
    ip_flow_raw_sockets,
    store_udp_time_seq_record,
    to_ip_flow_dumps,
    to_ip_summary_dump,
];
