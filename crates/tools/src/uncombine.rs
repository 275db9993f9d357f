//! One part taken out of a combined router.

use graph::{Diagnostics, Place};
use lang::{Kind, Outline};

use crate::combine::LINK;
use crate::expand::flatten;
use crate::router::{port, Element, Router, Side};

/// Takes the part called `name`, such as `a` or `a/b`, out of a flat combined router; all else goes.
///
/// False if it cannot be taken out. `file` is where the router comes from.
pub fn uncombine(router: &mut Router, name: &str, file: &str, diagnostics: &mut Diagnostics) -> bool {
    let nowhere = Place::default();
    if router.member("componentmap").is_none() {
        let message = format!("{file}: not created by 'click-combine' (no 'componentmap')");
        diagnostics.error(&nowhere, message);
        return false;
    }
    let mut prefix = String::new();
    let mut left = name;
    while !left.is_empty() {
        let (top, rest) = left.split_once('/').unwrap_or((left, ""));
        let map = router.member("componentmap").map(|map| String::from_utf8_lossy(&map.data).into_owned());
        let parts = args::split_words(&map.unwrap_or_default());
        if !parts.iter().any(|part| part == top) {
            diagnostics.error(&nowhere, format!("{file}: no '{prefix}{top}' component"));
            return false;
        }
        take_part(router, top, &parts, diagnostics);
        if diagnostics.has_errors() {
            return false;
        }
        left = rest;
        prefix += &format!("{left}/");
    }
    true
}

fn take_part(router: &mut Router, name: &str, parts: &[String], diagnostics: &mut Diagnostics) {
    let ends = cut_links(router, name, diagnostics);
    let prefix = format!("{name}/");
    let is_live = reached(router, &prefix, &ends);
    for idx in router.live().collect::<Vec<_>>() {
        if !is_live[idx] {
            router.kill(idx);
        }
    }
    router.free_dead();
    for idx in router.live().collect::<Vec<_>>() {
        let short = router.elements[idx].name.strip_prefix(&prefix).map(str::to_string);
        if let Some(short) = short.filter(|short| router.find(short).is_none()) {
            router.rename(idx, short);
        }
    }
    for idx in router.of_class(LINK).collect::<Vec<_>>() {
        let mut words = args::split_args(&router.elements[idx].config);
        for word in words.iter_mut().step_by(2) {
            if let Some(short) = word.strip_prefix(&prefix) {
                *word = short.to_string();
            }
        }
        router.elements[idx].config = args::join_args(&words);
    }
    flatten(router, &Outline::default(), false, diagnostics);
    let inner: String =
        parts.iter().filter_map(|part| Some(format!("{}\n", part.strip_prefix(&prefix)?))).collect();
    router.archive.retain(|member| member.name != b"componentmap" || !inner.is_empty());
    if let Some(map) = router.archive.iter_mut().find(|member| member.name == b"componentmap") {
        map.data = inner.into_bytes();
    }
}

/// Puts devices where links were; returns those of the part, and links inside it.
fn cut_links(router: &mut Router, part: &str, diagnostics: &mut Diagnostics) -> Vec<usize> {
    let mut ends = Vec::new();
    for link in router.of_class(LINK).collect::<Vec<_>>() {
        let element = &router.elements[link];
        let (name, n_inputs, n_outputs) = (element.name.clone(), element.n_inputs, element.n_outputs);
        let words = args::split_args(&element.config);
        let clauses: Vec<Vec<String>> = words.iter().step_by(2).map(|word| args::split_words(word)).collect();
        let is_counted = words.len() == 2 * (n_inputs + n_outputs) && n_inputs > 0 && n_outputs > 0;
        if !is_counted || clauses.iter().any(|clause| clause.len() != 3) {
            let message = format!("RouterLink '{name}' has strange configuration");
            diagnostics.error(&Place::default(), message);
            continue;
        }
        if !clauses.iter().any(|clause| clause[0] == part) {
            if clauses.iter().any(|clause| clause[0].starts_with(&format!("{part}/"))) {
                ends.push(link);
            }
            continue;
        }
        let configs = words.iter().skip(1).step_by(2);
        for (number, (clause, config)) in clauses.iter().zip(configs).enumerate() {
            let inside = format!("{}/{}", clause[0], clause[1]);
            if let Some(old) = router.find(&inside) {
                let place = &router.elements[link].place;
                diagnostics.error(place, format!("RouterLink '{name}' element '{inside}' already exists"));
                diagnostics.error(&router.elements[old].place, "(previous definition was here)");
            } else if clause[0] == part {
                let place = Place { file: Some("<click-uncombine>".into()), line: 0, column: 0 };
                let device =
                    Element::new(clause[1].clone(), Kind::Class(clause[2].clone()), config.clone(), place);
                let device = router.get_or_add(device);
                match number.checked_sub(n_inputs) {
                    None => router.insert(port(device, 0), port(link, number), Side::Input),
                    Some(number) => router.insert(port(device, 0), port(link, number), Side::Output),
                }
                ends.push(device);
            }
        }
        router.remove(link);
    }
    ends
}

/// For each element, whether it is one of `ends`, has a name below `prefix`, or is connected with one that does.
fn reached(router: &Router, prefix: &str, ends: &[usize]) -> Vec<bool> {
    let mut is_reached = vec![false; router.elements.len()];
    let named = router.live().filter(|idx| router.elements[*idx].name.starts_with(prefix));
    let mut left: Vec<usize> = named.chain(ends.iter().copied()).collect();
    while let Some(idx) = left.pop() {
        if std::mem::replace(&mut is_reached[idx], true) {
            continue;
        }
        for side in [Side::Input, Side::Output] {
            let connections = router.touching(idx, side).into_iter();
            left.extend(connections.map(|connection| router.end(connection, side.other()).element));
        }
    }
    is_reached
}
