//! Looking at traffic: flows, aggregates, summaries.

pub mod summary;

mod aggregate_counts;
mod aggregate_trigger;
mod flow_hosts;
mod flow_key;
mod flow_numbers;
mod ip_field;
mod time_window;

element::elements![
    adjust_timestamp,
    aggregate_counter,
    aggregate_ip,
    aggregate_ip_flows,
    from_ip_summary_dump,
    time_filter,
    time_range,
    timestamp_accum,
    to_ip_summary_dump,
];
