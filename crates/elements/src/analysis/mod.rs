//! Looking at traffic: flows, aggregates, summaries.

mod aggregate_counts;
mod ip_field;

element::elements![aggregate_counter, aggregate_ip,];
