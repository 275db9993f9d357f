//! Looking at traffic: flows, aggregates, summaries.

mod aggregate_counts;
mod flow_numbers;
mod ip_field;

element::elements![aggregate_counter, aggregate_ip, aggregate_ip_flows,];
