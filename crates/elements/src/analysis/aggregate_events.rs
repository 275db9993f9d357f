//! Telling elements that aggregates have ended: those that number aggregates tell those that listen to them.

use element::{Arg, Configure, Ctx, Element, ElementIdx, TimerId};

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

/// For so long an aggregate that has ended waits for packets that are on their way.
const GRACE_MS: i64 = 250;
const NS_PER_MS: i64 = 1_000_000;

/// Aggregates that have ended, until no packet of theirs is on its way.
#[derive(Default)]
pub struct Ended {
    /// With the millisecond of their end, in that order.
    waiting: Vec<(u32, i64)>,
    timer: Option<TimerId>,
}

impl Ended {
    /// Makes the timer whose expiry asks for [`Ended::take_due`]; in [`Element::initialize`].
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) {
        self.timer = Some(ctx.new_timer());
    }

    /// Adds one that ends now.
    pub fn add(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        self.waiting.push((aggregate, ctx.now_ns().div_euclid(NS_PER_MS)));
        self.set_timer(ctx);
    }

    /// Those that have waited long enough.
    pub fn take_due(&mut self, ctx: &mut Ctx<'_>) -> Vec<u32> {
        let until = ctx.now_ns().div_euclid(NS_PER_MS) - GRACE_MS;
        let n_due = self.waiting.iter().take_while(|(_, ended_ms)| *ended_ms <= until).count();
        let due = self.waiting.drain(..n_due).map(|(aggregate, _)| aggregate).collect();
        self.set_timer(ctx);
        due
    }

    /// Takes those of another one.
    pub fn take_over(&mut self, ctx: &mut Ctx<'_>, old: &mut Ended) {
        self.waiting = std::mem::take(&mut old.waiting);
        self.set_timer(ctx);
    }

    fn set_timer(&self, ctx: &mut Ctx<'_>) {
        let timer = self.timer.filter(|timer| !self.waiting.is_empty() && !ctx.timer_is_scheduled(*timer));
        if let Some(timer) = timer {
            ctx.schedule_after(timer, GRACE_MS * NS_PER_MS);
        }
    }
}

/// Calls [`Listener::ended`] of an element; false if that is busy.
type Tell = fn(&mut Ctx<'_>, ElementIdx, u32) -> bool;

/// Who listens to an element.
#[derive(Default)]
pub struct Listeners {
    list: Vec<(ElementIdx, Tell)>,
    /// What listeners were too busy to hear: those that are just pulling.
    untold: Vec<(ElementIdx, Tell, u32)>,
    timer: Option<TimerId>,
}

impl Listeners {
    /// Makes the timer whose expiry asks for [`Listeners::tell_rest`]; in [`Element::initialize`].
    pub fn initialize(&mut self, ctx: &mut Ctx<'_>) {
        self.timer = Some(ctx.new_timer());
    }

    /// Whether nobody listens.
    pub fn is_empty(&self) -> bool {
        self.list.is_empty()
    }

    /// Tells all, in the order in which they came, that an aggregate has ended; who is busy hears it soon.
    pub fn tell(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        for (listener, tell) in &self.list {
            if !tell(ctx, *listener, aggregate) {
                self.untold.push((*listener, *tell, aggregate));
            }
        }
        if let Some(timer) = self.timer.filter(|_| !self.untold.is_empty()) {
            ctx.schedule_now(timer);
        }
    }

    /// Tells what listeners were too busy to hear.
    pub fn tell_rest(&mut self, ctx: &mut Ctx<'_>) {
        for (listener, tell, aggregate) in std::mem::take(&mut self.untold) {
            tell(ctx, listener, aggregate);
        }
    }

    fn add(&mut self, listener: ElementIdx, tell: Tell) {
        if self.list.iter().all(|(known, _)| *known != listener) {
            self.list.push((listener, tell));
        }
    }
}

/// Reads NOTIFIER, and fails if it does not tell.
pub fn notifier(conf: &mut Configure<'_>) -> Option<ElementIdx> {
    let notifier = conf.element("NOTIFIER", &[]);
    if let Err(message) = check(conf, notifier) {
        conf.args.fail(message);
    }
    notifier
}

/// Fails if the element that NOTIFIER names does not tell.
pub fn check(conf: &Configure<'_>, notifier: Option<ElementIdx>) -> Result<(), String> {
    match notifier.filter(|idx| !CLASSES.contains(&conf.environment.class(*idx))) {
        Some(idx) => Err(format!("{} is not an AggregateNotifier", conf.environment.name(idx))),
        None => Ok(()),
    }
}

/// Lets the calling element listen to `notifier`; in [`Element::initialize`].
pub fn listen<T: Listener>(ctx: &mut Ctx<'_>, notifier: Option<ElementIdx>) {
    let (Some(notifier), listener) = (notifier, ctx.element) else { return };
    let tell: Tell =
        |ctx, idx, aggregate| ctx.with(idx, |listener: &mut T, ctx| listener.ended(ctx, aggregate)).is_some();
    ctx.with(notifier, |element: &mut AggregateIPFlows, _| element.listeners().add(listener, tell));
    ctx.with(notifier, |element: &mut AggregateIpAddrPair, _| element.listeners().add(listener, tell));
}
