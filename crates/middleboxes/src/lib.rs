//! Elements of whole middleboxes that Click does not have, one file an element.
#![forbid(unsafe_code)]

mod accounting;
mod eve;
mod gre;
mod pppoe;
mod rule_files;
#[cfg(test)]
mod testing;

element::elements![gre_decap, gre_encap, gre_tunnels, intrusion_detector, pppoe_server,];
