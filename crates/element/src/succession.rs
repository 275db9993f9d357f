//! What a new element learns of the one that it replaces in a graph that is being changed.

use std::any::Any;

use crate::{Ctx, Element};

/// The old element if it is an `X`; of another one nothing goes on, and it is ended.
pub fn same<X: Element>(ctx: &mut Ctx<'_>, mut old: Box<dyn Element>) -> Option<Box<X>> {
    if same_ref::<X>(&*old).is_none() {
        old.cleanup(ctx);
        return None;
    }
    let old: Box<dyn Any> = old;
    old.downcast().ok()
}

/// The old element, which still runs, if it is an `X`.
pub fn same_ref<X: Element>(old: &dyn Element) -> Option<&X> {
    let old: &dyn Any = old;
    old.downcast_ref()
}
