//! Intrusion detection.

mod eve;
mod rule_files;

element::elements![intrusion_detector];
