//! Elements of whole middleboxes that Click does not have, one file an element.
#![forbid(unsafe_code)]

#[cfg(test)]
mod testing;

element::elements![load_balancer,];
