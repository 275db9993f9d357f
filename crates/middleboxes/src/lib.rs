//! Elements of whole middleboxes that Click does not have, one file an element.
#![forbid(unsafe_code)]

mod accounting;
mod cgnat;
mod eve;
mod gre;
mod pppoe;
mod rule_files;
#[cfg(test)]
mod succession;
#[cfg(test)]
mod testing;

element::elements![
    carrier_nat,
    flow_exporter,
    flow_source,
    gre_decap,
    gre_encap,
    gre_tunnels,
    intrusion_detector,
    load_balancer,
    next_hop_switch,
    next_hop_switch6,
    policer,
    pppoe_server,
];
