//! Holds Ethernet addresses of IPv4 hosts for several `ARPQuerier` elements.
//!
//! It has no ports: `ARPQuerier` elements name it in their argument TABLE and share what it knows, and the packets that wait.
//!
//! ```click
//! arp :: ARPTable(TIMEOUT 60);
//! Idle -> [0]q :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1, TABLE arp) -> Discard;
//! Idle -> [1]q;
//! ```

use std::sync::{Arc, Mutex};

use element::{
    same, same_ref, Arg, Class, Configure, Ctx, Element, Failed, Handler, Refusal, Saved, TimerId,
};

use super::arp_cache::limits::{self, Limits, NamedLimits, NO_SLIM_FACTOR};
use super::arp_cache::shared::{locked, now_ms, run_timer, schedule, Shared};
use super::arp_cache::ArpCache;

/// The class.
pub const CLASS: Class = Class::new::<ARPTable>("ARPTable", "0/0", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread), ("insert", Refusal::Failed), ("delete", Refusal::Failed)])
    .live();

const ARGS: &[Arg] = &[
    limits::CAPACITY,
    limits::ENTRY_CAPACITY,
    limits::ENTRY_PACKET_CAPACITY,
    limits::CAPACITY_SLIM_FACTOR,
    limits::TIMEOUT,
];

const HANDLERS: &[Handler] = &[
    Handler::read(
        "table",
        "The entries: host, 1 if its address is good, address, seconds since it was noted.",
    ),
    Handler::read("drops", "Packets dropped for limits and timeouts."),
    Handler::read("count", "Number of entries."),
    Handler::read("length", "Packets that wait."),
    Handler::write("insert", "Adds an entry: host and Ethernet address."),
    Handler::write("delete", "Forgets the address of a host."),
    Handler::write("clear", "Drops all entries."),
];

/// See the page above.
pub struct ARPTable {
    /// What it holds.
    pub cache: Shared,
    limits: NamedLimits,
    /// Whether its handler `config` was written: what that does not name stays as it is.
    is_rewritten: bool,
    /// Looks for expired entries; made when the element is initialised.
    timer: Option<TimerId>,
}

impl Element for ARPTable {
    fn configure(conf: &mut Configure<'_>) -> Result<ARPTable, Failed> {
        let mut limits = NamedLimits::read(conf);
        if limits.slim_factor == Some(0) {
            conf.args.fail(NO_SLIM_FACTOR);
        }
        conf.finish()?;
        // As in Click, `config` sets the timeout even if it does not name it.
        limits.timeout_ms.get_or_insert(Limits::default().timeout_ms);
        let cache = Arc::new(Mutex::new(ArpCache::new(limits.or(Limits::default()))));
        let is_rewritten = conf.environment.is_alone();
        Ok(ARPTable { cache, limits, is_rewritten, timer: None })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        self.timer = Some(timer);
        schedule(timer, self.limits.or(Limits::default()), ctx);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        run_timer(&self.cache, ctx, timer);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let cache = locked(&self.cache);
        Ok(match name {
            "table" => cache.table(now_ms(ctx)),
            "drops" => cache.n_drops.to_string(),
            "count" => cache.n_entries().to_string(),
            "length" => cache.n_packets.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        locked(&self.cache).write(ctx, name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ARPTable>(ctx, old) else { return };
        self.cache = old.cache;
        let limits = self.limits.set(&mut locked(&self.cache), self.is_rewritten);
        if self.timer.is_none() {
            self.timer = old.timer;
            old.timer.into_iter().for_each(|timer| schedule(timer, limits, ctx));
        }
    }

    fn save_state(&mut self, ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        Some(locked(&self.cache).save_state(now_ms(ctx), from))
    }

    fn restore_state(&mut self, ctx: &mut Ctx<'_>, line: &str, passed_ms: i64) -> Result<(), String> {
        locked(&self.cache).restore_state(line, now_ms(ctx), passed_ms)
    }

    fn foresee(&mut self, old: &dyn Element) {
        // Who uses this one from now on finds the cache that will be its.
        if let Some(old) = same_ref::<ARPTable>(old) {
            self.cache = old.cache.clone();
        }
    }
}
