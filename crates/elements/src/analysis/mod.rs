//! Looking at traffic: flows, aggregates, summaries.

element::elements![];
