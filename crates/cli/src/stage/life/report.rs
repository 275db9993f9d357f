//! What a stage tells in the end.

use std::fmt;

use engine::world::World;
use interfaces::stage::table::{self, lock, told};

use crate::drops;
use crate::stage::options::{LEFT, RIGHT};
use crate::stage::status;

/// Why queues drop packets.
const FULL: &str = "queue-full";

/// Tells what was dropped if nothing at all went out: to drop some packets is what many stages are for. What full queues cost is told
/// in any case.
pub(super) fn tell_drops(world: &World) {
    let sent = table::opened()
        .iter()
        .filter_map(|shared| {
            let interface = lock(shared);
            interface.is_written().then(|| interface.report().sent.packets)
        })
        .collect::<Vec<u64>>();
    let mut all = drops::of(world);
    let dropped = drops::line(&all);
    if !sent.is_empty() && sent.iter().all(|n| *n == 0) && !dropped.is_empty() {
        eprintln!("{}", told(format_args!("nothing went out; dropped: {dropped}")));
        return;
    }
    // That a queue was full was said when it happened; now it is known what that cost.
    all.retain(|dropped| dropped.reason == FULL);
    let dropped = drops::line(&all);
    if !dropped.is_empty() {
        eprintln!("{}", told(format_args!("dropped because a queue was full: {dropped}")));
    }
}

/// Tells what was sent to interfaces that can only be read or are read no more, what devices did not keep until it was received, and what others did not
/// take. A stack's devices come and go as its joints do; `weir status` has their drops.
pub(super) fn tell_lost() {
    let tell = |n: u64, lost: fmt::Arguments<'_>| {
        if n > 0 {
            eprintln!("{}", told(lost));
        }
    };
    for shared in table::opened() {
        let interface = lock(&shared);
        let name = interface.name();
        let n = interface.n_lost();
        tell(n, format_args!("interface {name} can only be read; packets sent to it and lost: {n}"));
        let n = interface.n_turned_away();
        tell(n, format_args!("interface {name}: as many packets as may wait did so already; lost: {n}"));
        if name.starts_with(status::STACK) {
            continue;
        }
        // That the neighbours in the pipeline read no more is their affair, as in any pipeline.
        let n = if [LEFT, RIGHT].contains(&name) { 0 } else { interface.n_unread() };
        tell(n, format_args!("interface {name}: its reader has gone; packets sent to it and lost: {n}"));
        let n = interface.n_missed();
        tell(n, format_args!("interface {name}: packets came faster than they were received; lost: {n}"));
        let (n, why) = interface.not_taken();
        let why = why.map(|why| format!(" ({why})")).unwrap_or_default();
        tell(n, format_args!("interface {name} did not take all packets{why}; lost: {n}"));
    }
}

/// Tells how many packets a stage still held, and why it ended even so.
pub(super) fn tell_left(why: &str, n: u64) {
    if n > 0 {
        eprintln!("{}", told(format_args!("{why}; packets that it still held are lost, {n} at least")));
    }
}

/// Tells what no element told.
pub(super) fn tell_faults() {
    for fault in table::opened().iter().flat_map(|shared| lock(shared).take_faults()) {
        eprintln!("{}", told(fault));
    }
}
