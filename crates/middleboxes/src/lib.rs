//! Elements of whole middleboxes that Click does not have, one file an element.
#![forbid(unsafe_code)]

mod cgnat;
mod eve;
mod rule_files;
#[cfg(test)]
mod testing;

element::elements![carrier_nat, flow_source, intrusion_detector];
