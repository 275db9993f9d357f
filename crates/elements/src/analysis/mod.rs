//! Looking at traffic: flows, aggregates, summaries.

pub mod summary;

mod aggregate_counts;
mod ip_field;

element::elements![
    aggregate_counter,
    aggregate_ip,
    from_ip_summary_dump,
    to_ip_summary_dump,
];
