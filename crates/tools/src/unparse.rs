//! Routers as text, in the format of Click's tools.

use std::collections::BTreeSet;
use std::fmt::Write;

use graph::{Endpoint, Place};
use lang::Member;

use crate::router::{Port, Router};

/// The configuration as text: requirements, variables, elements with the lines they come from, connections in chains.
pub fn unparse(router: &Router) -> String {
    let mut text = String::new();
    lang::require_statement(&router.requirements, &mut text);
    if !router.definitions.is_empty() {
        let list = router.definitions.iter().map(|(name, value)| format!("${name} {value}"));
        // Writing to a String cannot fail.
        let _ = write!(text, "define({});\n\n", list.collect::<Vec<_>>().join(", "));
    }
    for element in router.live().map(|idx| &router.elements[idx]).filter(|element| !element.is_tunnel()) {
        line_directive(&element.place, &mut text);
        let _ = match element.config.as_str() {
            "" => writeln!(text, "{} :: {};", element.name, element.class()),
            config => writeln!(text, "{} :: {}({config});", element.name, element.class()),
        };
    }
    let end = |port: Port| Endpoint { element: port.element, port: port.port };
    let connections: Vec<_> = router.wires().map(|wire| (end(wire.from), end(wire.to))).collect();
    if !connections.is_empty() {
        let n_lines = text.matches('\n').count();
        let _ = writeln!(text, "# {} \"\"", n_lines + 2);
    }
    lang::chains(connections, &|idx| router.elements[idx].name.as_str(), &mut text);
    text
}

fn line_directive(place: &Place, text: &mut String) {
    if let (Some(file), 1..) = (&place.file, place.line) {
        let _ = writeln!(text, "# {} \"{file}\"", place.line);
        return;
    }
    let landmark = match place.landmark() {
        landmark if landmark.is_empty() => "<unknown>".to_string(),
        landmark => landmark,
    };
    let _ = match landmark.rsplit_once(':') {
        Some((file, line)) => writeln!(text, "# {line} \"{file}\""),
        None => writeln!(text, "# 0 \"{landmark}\""),
    };
}

/// What a tool writes: the configuration, or an archive of it and the files beside it.
///
/// `stamp` is the member `config` without its name and data.
pub fn write(router: &Router, stamp: &Member) -> Vec<u8> {
    let text = unparse(router).into_bytes();
    let beside: Vec<Member> =
        router.archive.iter().filter(|member| member.name != b"config").cloned().collect();
    if beside.is_empty() {
        return text;
    }
    let config = Member { name: b"config".to_vec(), data: text, ..stamp.clone() };
    lang::archive(&[vec![config], beside].concat())
}

/// The names of the classes of all elements, sorted, each once.
pub fn classes(router: &Router) -> BTreeSet<String> {
    router
        .live()
        .map(|idx| router.elements[idx].class().to_string())
        .filter(|name| !name.is_empty())
        .collect()
}
