//! Classification by contents.

mod ip_patterns;
mod scope_names;

element::elements![classifier, ip_classifier, ip_filter];
