//! Elements of whole middleboxes that Click does not have, one file an element.
#![forbid(unsafe_code)]

mod eve;
mod rule_files;
#[cfg(test)]
mod testing;

#[rustfmt::skip] // A line each, so that changes do not meet.
element::elements![
    intrusion_detector,
    load_balancer,
];
