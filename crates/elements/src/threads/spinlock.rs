//! Locks by name, as `SpinlockInfo` defines them.
//!
//! A lock keeps the paths between its elements to one thread at a time. Here elements of one lock are on one thread, and each
//! replica of a graph on several cores has locks of its own, so that nobody ever has to wait.

use args::{Scope, Value};
use element::{Arg, Batch, Class, Configure, Ctx, Element, Environment, Failed};

const ARGS: &[Arg] = &[Arg::required("LOCK", "string", "The lock's name.")];

/// A class of elements of locks.
pub const fn class(name: &'static str, processing: &'static str) -> Class {
    Class::new::<Member>(name, "1/1", processing, "x/x").args(ARGS).locks()
}

/// The class whose elements define locks.
pub const DEFINING: &str = "SpinlockInfo";

/// The locks that a configuration defines, in the order written; `None` for an argument that is no name.
pub fn names(config: &[String], scope: &Scope<'_>) -> Vec<Option<String>> {
    config.iter().map(|argument| String::parse(argument, scope).ok()).collect()
}

/// Whether an element in the same compound as `element`, or in one around it, defines the lock.
fn is_defined(environment: &dyn Environment, element: &str, lock: &str, scope: &Scope<'_>) -> bool {
    (0..environment.n_elements()).filter(|idx| environment.class(*idx) == DEFINING).any(|idx| {
        let compound = environment.name(idx).rsplit_once('/').map_or("", |(compound, _)| compound);
        let is_seen =
            compound.is_empty() || element.strip_prefix(compound).is_some_and(|rest| rest.starts_with('/'));
        is_seen
            && names(&args::split_args(environment.config(idx)), scope)
                .iter()
                .flatten()
                .any(|name| name == lock)
    })
}

/// An element of a lock: its packets pass.
pub struct Member;

impl Element for Member {
    fn configure(conf: &mut Configure<'_>) -> Result<Member, Failed> {
        let lock: String = conf.args.need("LOCK");
        conf.finish()?;
        let own_name = conf.environment.name(conf.element);
        if !is_defined(conf.environment, own_name, &lock, conf.scope) {
            return Err(format!("cannot locate spinlock {lock}").into());
        }
        Ok(Member)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        ctx.pull(0, max)
    }

    fn take_state(&mut self, _ctx: &mut Ctx<'_>, _old: Box<dyn Element>) {}
}
