//! The elements of some kind that are nearest in the graph.

use element::{Ctx, ElementIdx};

/// Which way to look.
#[derive(Clone, Copy, PartialEq, Eq)]
pub enum Towards {
    /// Where packets come from.
    Inputs,
    /// Where packets go.
    Outputs,
}

/// The elements that packets through `port` of this one reach first, or came from last, of those that are wanted.
pub fn nearest(
    ctx: &mut Ctx<'_>,
    towards: Towards,
    port: usize,
    mut is_wanted: impl FnMut(&mut Ctx<'_>, ElementIdx) -> bool,
) -> Vec<ElementIdx> {
    let mut frontier = vec![(ctx.element, port)];
    let (mut seen, mut found) = (Vec::new(), Vec::new());
    while let Some((element, port)) = frontier.pop() {
        let runtime = ctx.runtime();
        let ends = match towards {
            Towards::Outputs => runtime.downstream(element, port),
            Towards::Inputs => runtime.upstream(element, port),
        };
        for (end, _) in ends {
            if seen.contains(&end) || end == ctx.element {
                continue;
            }
            seen.push(end);
            if is_wanted(ctx, end) {
                found.push(end);
                continue;
            }
            let (n_inputs, n_outputs) = ctx.runtime().n_ports(end);
            let n_ports = if towards == Towards::Outputs { n_outputs } else { n_inputs };
            frontier.splice(0..0, (0..n_ports).rev().map(|port| (end, port)));
        }
    }
    found
}
