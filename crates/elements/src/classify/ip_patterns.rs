//! What the classifiers of IP packets share.

use element::{Configure, Packet};
use filter::{Diagnostic, Headers};

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

/// The headers of a packet as filters see them; `has_mac` says whether any rule looks at the link-layer header.
#[inline(always)]
pub fn headers(packet: &Packet, has_mac: bool) -> Headers<'_> {
    let mac = if has_mac { packet.mac() } else { &[] };
    Headers { mac, network: packet.network(), transport: packet.network_header_len() }
}
