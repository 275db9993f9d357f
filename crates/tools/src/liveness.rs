//! Which elements matter: those that packets reach from a source and from which they reach a sink.

use std::collections::HashSet;

use graph::{Diagnostics, Place};

use crate::router::{Port, Router, Side};
use crate::wiring::Wiring;
use crate::Facts;

/// Classes that are sources or sinks though their ports do not tell, or are none though their ports look like it: bit 0 for a
/// source, bit 1 for a sink.
const ENDS: &[(&str, u8)] = &[
    ("Clipboard", 0),
    ("DRRSched", 0),
    ("FromRawSocket", 3),
    ("FromSocket", 3),
    ("Idle", 0),
    ("InfiniteSource", 1),
    ("KernelTap", 3),
    ("KernelTun", 3),
    ("McastSocket", 3),
    ("PrioSched", 0),
    ("RandomSource", 1),
    ("RawSocket", 3),
    ("Resize", 0),
    ("RoundRobinSched", 0),
    ("RouterLink", 3),
    ("SimplePrioSched", 0),
    ("SimpleRoundRobinSched", 0),
    ("Socket", 3),
    ("StrideSched", 0),
    ("StrideSwitch", 0),
    ("TimeSortedSched", 0),
    ("ToDevice", 2),
    ("ToDump", 2),
    ("ToIPSummaryDump", 2),
    ("ToRawSocket", 3),
    ("ToSocket", 3),
    ("UMLSwitch", 3),
];

/// For each element of a router without dead elements, whether it matters. With `verbose`, what is thought of each is told.
pub(crate) fn live(router: &Router, facts: Facts, verbose: bool, diagnostics: &mut Diagnostics) -> Vec<bool> {
    let mut wiring = Wiring::new(router, facts, diagnostics);
    // An answer to an ARP query makes packets leave that came in elsewhere.
    wiring.flow_freely("ARPQuerier");
    let n_elements = router.elements.len();
    let (mut sources, mut sinks) = (vec![false; n_elements], vec![false; n_elements]);
    let (mut fed, mut drained) = (Vec::new(), Vec::new());
    for (idx, element) in router.elements.iter().enumerate() {
        let known = ENDS.iter().find(|(class, _)| *class == element.class()).map(|(_, ends)| *ends);
        let guess = u8::from(element.n_inputs == 0) | u8::from(element.n_outputs == 0) << 1;
        let ends = known.unwrap_or(guess);
        (sources[idx], sinks[idx]) = (ends & 1 != 0, ends & 2 != 0);
        if sources[idx] {
            fed.extend(touched(router, idx, Side::Output));
        }
        if sinks[idx] {
            drained.extend(touched(router, idx, Side::Input));
        }
        if verbose && ends != 0 {
            let what = ["", "source", "sink", "source and sink"][usize::from(ends)];
            let assuming = if known.is_none() { "assuming " } else { "" };
            diagnostics.message(&element.place, format!("{assuming}'{}' is {what}", element.declaration()));
        }
    }
    let (fed, drained) = (wiring.follow(fed, Side::Input), wiring.follow(drained, Side::Output));
    let reached = |ends: &HashSet<Port>| ends.iter().map(|end| end.element).collect::<HashSet<_>>();
    let (fed, drained) = (reached(&fed), reached(&drained));
    let is_live = router.elements.iter().enumerate().map(|(idx, element)| {
        let is_idle = element.class() == "Idle";
        let is_fed = sources[idx] || (!is_idle && fed.contains(&idx));
        let is_drained = sinks[idx] || (!is_idle && drained.contains(&idx));
        (is_fed && is_drained) || is_alone(idx, router, verbose, diagnostics)
    });
    is_live.collect()
}

/// The ports at the other ends of an element's connections.
fn touched(router: &Router, element: usize, side: Side) -> impl Iterator<Item = Port> + '_ {
    router.touching(element, side).into_iter().map(move |connection| router.end(connection, side.other()))
}

/// Elements without any connections are there for their own sake.
fn is_alone(idx: usize, router: &Router, verbose: bool, diagnostics: &mut Diagnostics) -> bool {
    let element = &router.elements[idx];
    let is_alone = element.n_inputs == 0 && element.n_outputs == 0;
    if is_alone && verbose {
        let place: &Place = &element.place;
        diagnostics.message(place, format!("assuming '{}' is live", element.declaration()));
    }
    is_alone
}
