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

/// What finds the output for a packet whose headers are marked.
#[inline(always)]
pub fn classifier(rules: &IpFilter) -> impl Fn(&Packet) -> Option<usize> + '_ {
    let (quick, looks_at_mac) = (rules.quick(), rules.looks_at_mac());
    move |packet| {
        let mac = if looks_at_mac { packet.mac() } else { &[] };
        quick(&Headers { mac, network: packet.network(), transport: packet.network_header_len() })
    }
}
