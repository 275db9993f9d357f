//! What the tests of this crate share.

use graph::{ClassFacts, Diagnostics};
use lang::{NoLibraries, Outline, Source};

use crate::{flatten, router, Router};

/// A few classes.
const CLASSES: &[(&str, &str, &str, &str)] = &[
    ("Idle", "-/-", "a/a", "x/y"),
    ("InfiniteSource", "0/1", "a/a", "x/x"),
    ("Discard", "1/0", "a/a", "x/x"),
    ("Queue", "1/1", "h/l", "x/x"),
    ("Counter", "1/1", "a/a", "x/x"),
    ("Null", "1/1", "a/a", "x/x"),
    ("Tee", "1/1-", "h/h", "x/x"),
    ("StaticSwitch", "1/-", "h/h", "x/x"),
    ("RoundRobinSched", "-/1", "l/l", "x/x"),
    ("FromDevice", "0/1", "h/h", "x/x"),
    ("ToDevice", "1/0", "l/l", "x/x"),
];

/// What is known of the few classes.
pub fn facts(name: &str) -> Option<&'static ClassFacts> {
    let (name, ports, processing, flow) = *CLASSES.iter().find(|(known, ..)| *known == name)?;
    let facts = ClassFacts { name, ports, processing, flow, args: &[], handlers: &[], drops: &[], page: "" };
    Some(Box::leak(Box::new(facts)))
}

/// A text as it was written.
pub fn outline(text: &str, diagnostics: &mut Diagnostics) -> Outline {
    lang::outline(&Source { name: "f", text }, &[], &NoLibraries, diagnostics)
}

/// A flat router, and what was wrong with it.
pub fn flat(text: &str) -> (Router, String) {
    let mut diagnostics = Diagnostics::default();
    let outline = outline(text, &mut diagnostics);
    let mut router = router(&outline);
    flatten(&mut router, &outline, false, &mut diagnostics);
    (router, lang::click_texts(&diagnostics.list))
}

/// The text of a router without the lines that tell where it comes from.
pub fn unparse(router: &Router) -> String {
    let text = crate::unparse(router);
    text.lines().filter(|line| !line.starts_with('#')).map(|line| format!("{line}\n")).collect()
}
