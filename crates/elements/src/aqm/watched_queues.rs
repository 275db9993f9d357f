//! The queues whose lengths tell an element how much waits.

use element::{Configure, Ctx, ElementIdx};

use crate::standard::neighbours::{self, Towards};
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

    /// Whether each packet that comes to them leaves them before the next comes.
    pub fn are_drained(&self, ctx: &Ctx<'_>) -> bool {
        self.0.iter().all(|idx| ctx.is_drained(*idx))
    }

    /// Whether it is one queue, into which what the element pushes goes straight.
    pub fn are_filled_by(&self, ctx: &mut Ctx<'_>) -> bool {
        let element = ctx.element;
        if !ctx.output_is_push(0) {
            return false;
        }
        let ends = ctx.runtime().downstream(element, 0);
        matches!((&self.0[..], &ends[..]), ([queue], [(end, _)]) if queue == end)
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
    let towards = if ctx.output_is_push(0) { Towards::Outputs } else { Towards::Inputs };
    neighbours::nearest(ctx, towards, 0, |ctx, idx| len(ctx, idx).is_some())
}
