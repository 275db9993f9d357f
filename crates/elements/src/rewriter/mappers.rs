//! All mappers, for rewriters that name one.

use element::{Ctx, ElementIdx};

use super::choices::Chosen;
use super::flow_id::FlowId;
use super::round_robin_ip_mapper::RoundRobinIPMapper;
use super::source_ip_hash_mapper::SourceIPHashMapper;

/// Whether a class is a mapper's: one whose elements can stand as an input specification.
pub fn is_one(class: &str) -> bool {
    matches!(class, "RoundRobinIPMapper" | "SourceIPHashMapper")
}

/// The patterns of a mapper whose outputs a rewriter with so many outputs does not have.
pub fn out_of_range(ctx: &mut Ctx<'_>, idx: ElementIdx, n_outputs: usize) -> Vec<usize> {
    let found = match ctx.class(idx) {
        "RoundRobinIPMapper" => {
            ctx.with(idx, |mapper: &mut RoundRobinIPMapper, _| mapper.choices.out_of_range(n_outputs))
        }
        _ => ctx.with(idx, |mapper: &mut SourceIPHashMapper, _| mapper.choices.out_of_range(n_outputs)),
    };
    found.unwrap_or_default()
}

/// What a mapper chooses for a new flow; `None` if it has nothing to give.
pub fn choose(
    ctx: &mut Ctx<'_>,
    idx: ElementIdx,
    id: &FlowId,
    is_taken: &dyn Fn(&FlowId) -> bool,
) -> Option<Chosen> {
    match ctx.class(idx) {
        "RoundRobinIPMapper" => {
            ctx.with(idx, |mapper: &mut RoundRobinIPMapper, ctx| mapper.choose(id, ctx, is_taken))?
        }
        _ => ctx.with(idx, |mapper: &mut SourceIPHashMapper, ctx| mapper.choose(id, ctx, is_taken))?,
    }
}
