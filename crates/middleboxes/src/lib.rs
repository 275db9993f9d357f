//! Elements of whole middleboxes that Click does not have, one file an element.
#![forbid(unsafe_code)]

mod eve;
mod rule_files;
#[cfg(test)]
mod testing;

element::elements![
    flow_exporter,
    intrusion_detector,
];
