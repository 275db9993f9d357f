//! What leaves an element that asks hosts for their addresses.

use element::{Batch, Ctx, Packet};

/// Packets that leave by the first output, and queries that leave by the last.
pub struct Leaving {
    ready: Batch,
    queries: Batch,
    /// Whether there is but one output.
    is_single: bool,
    /// Whether packets go one by one, as in Click.
    one_by_one: bool,
}

impl Leaving {
    /// Nothing yet.
    #[inline]
    pub fn new(ctx: &Ctx<'_>, one_by_one: bool) -> Leaving {
        Leaving { ready: Batch::new(), queries: Batch::new(), is_single: ctx.n_outputs() == 1, one_by_one }
    }

    /// Adds a packet that has its header.
    #[inline]
    pub fn send(&mut self, packet: Packet) {
        self.ready.push(packet);
    }

    /// Adds a query. Where packets go one by one, it goes all its way before the packet that it is for.
    pub fn ask(&mut self, ctx: &mut Ctx<'_>, query: Packet) {
        if self.is_single { &mut self.ready } else { &mut self.queries }.push(query);
        if self.one_by_one {
            self.emit(ctx);
        }
    }

    /// Emits all if it is time to: if there may be no room for another packet and its query, or packets go one by one.
    #[inline]
    pub fn emit_if_due(&mut self, ctx: &mut Ctx<'_>) {
        if self.one_by_one || self.queries.room() < 2 || self.ready.room() < 2 {
            self.emit(ctx);
        }
    }

    /// Emits all.
    pub fn emit(&mut self, ctx: &mut Ctx<'_>) {
        ctx.emit(1, std::mem::take(&mut self.queries));
        ctx.emit(0, std::mem::take(&mut self.ready));
    }
}
