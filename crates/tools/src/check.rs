//! Whether a router's ports fit together.

use std::collections::BTreeSet;

use graph::{Diagnostics, Place};
use lang::{Kind, Outline};

use crate::router::Router;
use crate::wiring::{traits, Wiring};
use crate::Facts;

/// Tells classes that are unknown, ports that are missing or too many, and push that meets pull.
pub fn check(router: &Router, facts: Facts, diagnostics: &mut Diagnostics) {
    for class in crate::classes(router) {
        if traits(&class, facts).is_none() {
            diagnostics.error(&Place::default(), format!("unknown element class '{class}'"));
        }
    }
    Wiring::new(router, facts, diagnostics);
}

/// Tells what is wrong with a router whose compound elements are not expanded, and classes inside these that are unknown.
pub fn check_outline(router: &Router, outline: &Outline, facts: Facts, diagnostics: &mut Diagnostics) {
    let mut unknown: BTreeSet<&str> = BTreeSet::new();
    for part in outline.compounds.iter().flat_map(|compound| &compound.body.parts) {
        if let Kind::Class(class) = &part.kind {
            if traits(class, facts).is_none() {
                unknown.insert(class);
            }
        }
    }
    let top = crate::classes(router);
    for class in unknown.into_iter().filter(|class| !top.contains(*class)) {
        diagnostics.error(&Place::default(), format!("unknown element class '{class}'"));
    }
    check(router, facts, diagnostics);
}
