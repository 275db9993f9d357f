//! Stands in for an element that is in another world, and hands over what comes in.

use std::sync::Arc;

use element::{
    Batch, Class, Configure, Ctx, Delivery, Element, Failed, Notifies, Role, SearchOp, Signal, TaskId, Wake,
    BATCH_MAX,
};

use super::post::Door;

/// Stands in for an element that only the first replica of a graph has.
pub(super) struct Handover {
    /// Whether packets go on in this replica, their copies being handed over.
    passes: bool,
    puller: Option<(TaskId, Signal)>,
}

impl Element for Handover {
    fn configure(_conf: &mut Configure<'_>) -> Result<Handover, Failed> {
        Err("only the engine makes this".into())
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let is_pulled = ctx.n_outputs() > 0 && !ctx.output_is_push(0);
        if ctx.n_inputs() > 0 && !ctx.input_is_push(0) && !is_pulled {
            let task = ctx.new_task();
            ctx.schedule(task);
            self.puller = Some((task, ctx.upstream_empty_signal(0, Wake::Task(task))));
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        self.hand_over(ctx, port, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        if !batch.is_empty() {
            let to = (ctx.element, 0);
            ctx.runtime().hand_over(0, to, Delivery::Copy, copy(&batch));
        }
        batch
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        let batch = ctx.pull(0, ctx.default_burst().clamp(1, BATCH_MAX));
        let worked = !batch.is_empty();
        if worked {
            self.hand_over(ctx, 0, batch);
        } else if !self.puller.as_ref().is_some_and(|(_, signal)| ctx.is_active(signal)) {
            return false;
        }
        ctx.schedule(task);
        worked
    }
}

impl Handover {
    /// A stand-in for an element of this class. What it sends goes on in each replica.
    pub fn new(class: &Class) -> Handover {
        Handover { passes: class.role == Role::Output, puller: None }
    }

    fn hand_over(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let to = (ctx.element, port);
        if self.passes && ctx.n_outputs() > 0 {
            ctx.runtime().hand_over(0, to, Delivery::Copy, copy(&batch));
            ctx.emit(0, batch);
        } else {
            ctx.runtime().hand_over(0, to, Delivery::Push, batch);
        }
    }
}

fn copy(batch: &Batch) -> Batch {
    let mut copies = Batch::new();
    for packet in batch.iter() {
        copies.push(packet.clone());
    }
    copies
}

/// Stands in for a storage element that another thread's world has.
pub(super) struct Entrance {
    pub thread: usize,
    pub door: Arc<Door>,
    pub tells_full: bool,
}

impl Element for Entrance {
    fn configure(_conf: &mut Configure<'_>) -> Result<Entrance, Failed> {
        Err("only the engine makes this".into())
    }

    fn notifies(&self) -> Notifies {
        Notifies { full: self.tells_full.then_some(SearchOp::Stop), ..Notifies::default() }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let (n, to) = (batch.len(), (ctx.element, port));
        ctx.runtime().hand_over(self.thread, to, Delivery::Push, batch);
        if !self.door.send(n) && self.tells_full {
            ctx.set_full_signal(false);
        }
    }
}
