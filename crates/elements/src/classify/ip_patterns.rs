//! What the classifiers of IP packets share.

use element::{Configure, Packet};
use filter::{Diagnostic, Headers, IpFilter};

/// Tells what is wrong with patterns.
pub fn report(conf: &mut Configure<'_>, diagnostics: &[Diagnostic]) {
    for diagnostic in diagnostics {
        if diagnostic.is_error() {
            conf.error(diagnostic.text());
        } else {
            // The word `warning` comes behind the pattern's number.
            conf.note(diagnostic.to_string());
        }
    }
}

/// The output for a packet whose headers are marked.
#[inline(always)]
pub fn classify(rules: &IpFilter, packet: &Packet) -> Option<usize> {
    let transport = packet.network_header_len();
    let mac = if rules.looks_at_mac() { packet.mac() } else { &[] };
    rules.classify(&Headers { mac, network: packet.network(), transport })
}
