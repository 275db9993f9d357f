//! Whether packets of aggregates have come, for elements that are of no use without.

use element::Ctx;

/// Which packets have come.
#[derive(Default)]
pub struct AggregatesSeen {
    has_aggregates: bool,
    has_others: bool,
}

impl AggregatesSeen {
    /// Notes a packet with this aggregate annotation.
    #[inline]
    pub fn note(&mut self, aggregate: u32) {
        match aggregate {
            0 => self.has_others = true,
            _ => self.has_aggregates = true,
        }
    }

    /// Goes on from another one, which then has nothing to warn of.
    pub fn take_over(&mut self, old: &mut AggregatesSeen) {
        *self = std::mem::take(old);
    }

    /// Warns if packets came, but none of an aggregate.
    pub fn warn(&self, ctx: &mut Ctx<'_>) {
        if self.has_others && !self.has_aggregates {
            let declaration = ctx.own_declaration();
            ctx.chatter(&format!("{declaration}: warning: saw no packets with aggregate annotations"));
        }
    }
}
