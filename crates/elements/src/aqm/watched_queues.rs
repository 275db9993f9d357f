//! The queues whose lengths tell an element how much waits.

use element::{Configure, Ctx, ElementIdx};

use crate::standard::queue::Queue;

/// The queues whose lengths tell an element how much waits.
#[derive(Clone, Debug, Default)]
pub struct WatchedQueues(Vec<ElementIdx>);

impl WatchedQueues {
    /// Those of an argument that lists names; none yet if it is not given. Elements that do not exist are told.
    pub fn named(conf: &mut Configure<'_>, names: Option<args::Raw>) -> WatchedQueues {
        let mut queues = Vec::new();
        for name in args::split_words(&names.unwrap_or_default().0) {
            match conf.element_called(&name, &[]) {
                Ok(idx) => queues.push(idx),
                Err(message) => conf.args.fail(message),
            }
        }
        WatchedQueues(queues)
    }

    /// Looks for the nearest queues if none was named, and checks that all are queues.
    pub fn find(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.0.is_empty() {
            self.0 = nearest(ctx);
        }
        if self.0.is_empty() {
            return Err("no nearby Queues".to_string());
        }
        let others: Vec<_> = self.0.iter().copied().filter(|idx| len(ctx, *idx).is_none()).collect();
        let Some((last, others)) = others.split_last() else { return Ok(()) };
        let message = |ctx: &Ctx<'_>, idx| format!("'{}' is not a Storage element", ctx.name(idx));
        for idx in others {
            let text = message(ctx, *idx);
            ctx.tell(&text);
        }
        Err(message(ctx, *last))
    }

    /// Packets in the queues; one that is busy, which then is about to change, counts nothing.
    pub fn len(&self, ctx: &mut Ctx<'_>) -> usize {
        self.0.iter().filter_map(|idx| len(ctx, *idx)).sum()
    }

    /// Names of the queues.
    pub fn names(&self, ctx: &Ctx<'_>) -> Vec<String> {
        self.0.iter().map(|idx| ctx.name(*idx).to_string()).collect()
    }
}

/// Packets in a queue; `None` if it is none.
fn len(ctx: &mut Ctx<'_>, idx: ElementIdx) -> Option<usize> {
    ctx.with::<Queue, _>(idx, |queue, _| queue.len())
}

/// The queues that packets from here reach first or, with a pull output, came from last.
fn nearest(ctx: &mut Ctx<'_>) -> Vec<ElementIdx> {
    let goes_down = ctx.output_is_push(0);
    let mut frontier = vec![(ctx.element, 0)];
    let (mut seen, mut queues) = (Vec::new(), Vec::new());
    while let Some((element, port)) = frontier.pop() {
        let runtime = ctx.runtime();
        let ends = match goes_down {
            true => runtime.downstream(element, port),
            false => runtime.upstream(element, port),
        };
        for (end, _) in ends {
            if seen.contains(&end) || end == ctx.element {
                continue;
            }
            seen.push(end);
            if len(ctx, end).is_some() {
                queues.push(end);
                continue;
            }
            let (n_inputs, n_outputs) = ctx.runtime().n_ports(end);
            let n_ports = if goes_down { n_outputs } else { n_inputs };
            frontier.splice(0..0, (0..n_ports).rev().map(|port| (end, port)));
        }
    }
    queues
}
