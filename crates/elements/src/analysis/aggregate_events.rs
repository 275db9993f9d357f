//! Telling elements that aggregates have ended: those that number aggregates tell those that listen to them.

use element::{Arg, Configure, Ctx, Element, ElementIdx};

use super::aggregate_ip_addr_pair::AggregateIpAddrPair;
use super::aggregate_ip_flows::AggregateIPFlows;

/// The argument NOTIFIER.
pub const NOTIFIER: Arg = Arg::keyword(
    "NOTIFIER",
    "element",
    "The AggregateIPFlows or AggregateIPAddrPair that tells which aggregates have ended.",
);

/// The classes that tell.
const CLASSES: &[&str] = &["AggregateIPFlows", "AggregateIPAddrPair"];

/// An element that wants to know that aggregates have ended.
pub trait Listener: Element {
    /// An aggregate has ended: no packet that comes will have this number, unless the numbers begin anew.
    fn ended(&mut self, ctx: &mut Ctx<'_>, aggregate: u32);
}

/// Calls [`Listener::ended`] of an element.
type Tell = fn(&mut Ctx<'_>, ElementIdx, u32);

/// Who listens to an element.
#[derive(Default)]
pub struct Listeners(Vec<(ElementIdx, Tell)>);

impl Listeners {
    /// Whether nobody does.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Tells all, in the order in which they came, that an aggregate has ended.
    pub fn tell(&self, ctx: &mut Ctx<'_>, aggregate: u32) {
        for (listener, tell) in &self.0 {
            tell(ctx, *listener, aggregate);
        }
    }

    fn add(&mut self, listener: ElementIdx, tell: Tell) {
        if self.0.iter().all(|(known, _)| *known != listener) {
            self.0.push((listener, tell));
        }
    }
}

/// Reads NOTIFIER.
pub fn notifier(conf: &mut Configure<'_>) -> Option<ElementIdx> {
    let notifier = conf.element("NOTIFIER", &[]);
    if let Some(idx) = notifier.filter(|idx| !CLASSES.contains(&conf.environment.class(*idx))) {
        conf.args.fail(format!("{} is not an AggregateNotifier", conf.environment.name(idx)));
    }
    notifier
}

/// Lets the calling element listen to `notifier`; in [`Element::initialize`].
pub fn listen<T: Listener>(ctx: &mut Ctx<'_>, notifier: Option<ElementIdx>) {
    let (Some(notifier), listener) = (notifier, ctx.element) else { return };
    let tell: Tell = |ctx, idx, aggregate| {
        ctx.with(idx, |listener: &mut T, ctx| listener.ended(ctx, aggregate));
    };
    ctx.with(notifier, |element: &mut AggregateIPFlows, _| element.listeners().add(listener, tell));
    ctx.with(notifier, |element: &mut AggregateIpAddrPair, _| element.listeners().add(listener, tell));
}
