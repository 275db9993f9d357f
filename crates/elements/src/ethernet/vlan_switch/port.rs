//! Ports of a switch with VLANs.

use element::{Batch, Configure};

use super::super::vlan_members::Membership;

/// A port, and what it has refused.
#[derive(Default)]
pub struct Port {
    /// Its VLANs.
    pub membership: Membership,
    /// Frames of VLANs that it is no member of.
    pub n_not_member: u64,
    /// Frames without a tag by a trunk without a native VLAN.
    pub n_untagged: u64,
    /// Frames of the batch that is being worked on.
    pub outgoing: Batch,
}

/// The ports as the arguments have them.
pub fn ports(conf: &mut Configure<'_>) -> Vec<Port> {
    let texts = conf.args.rest();
    let mut ports: Vec<Port> = (0..conf.n_outputs).map(|_| Port::default()).collect();
    if texts.len() > ports.len() {
        conf.args.fail(format!("there are VLANs for {} ports, but only {}", texts.len(), ports.len()));
    }
    for (idx, (text, port)) in texts.iter().zip(&mut ports).enumerate() {
        match Membership::parse(&args::unquote_text(text)) {
            Ok(membership) => port.membership = membership,
            Err(message) => conf.args.error("PORTS", format!("port {idx}: {message}")),
        }
    }
    ports
}
