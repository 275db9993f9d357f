//! Spreads the flows of virtual services over backends: a layer-4 load balancer.
//!
//! A service is an address, a port and TCP or UDP; its backends have weights. The first packet of a flow to a service
//! chooses a backend, and the flow stays there whatever becomes of the other backends. Packets come with marked IP headers,
//! from clients on input 0 and from backends on input 1; they leave to backends by output 0, to clients by output 1, and by
//! output 2 if they belong to no service (without an output 2 they are dropped).
//!
//! SCHEDULER says who gets a new flow. `maglev` hashes it with Google's Maglev: all balancers with the same backends choose
//! the same one, and few flows move when a backend comes or goes. `rr` goes round by weight, `lc` chooses the backend with the
//! fewest flows for its weight. With AFFINITY the new flows of a client follow its earlier ones for that time.
//!
//! MODE says how packets get there. `nat` rewrites the destination, and the source of replies on input 1. `dsr` leaves the
//! packet alone and sets the destination annotation to the backend, which has the service's address too and answers
//! directly. `ipip` wraps the packet in another one from LOCAL to the backend (RFC 2003). In the modes without NAT a flow
//! beyond CAPACITY goes where SCHEDULER says, packet for packet, which `maglev` says alike each time.
//!
//! ICMP errors about a flow go where the flow goes and are about the packet that their receiver knows. Fragments go with the
//! first one of their packet; those that come before it are dropped. Flows end by time-outs that depend on the state of TCP.
//!
//! ```click
//! lb :: LoadBalancer(203.0.113.10:80/tcp 10.1.0.1:8080 10.1.0.2:8080*2, 203.0.113.10:53/udp 10.1.0.3,
//!     AFFINITY 60s, SCHEDULER maglev);
//! clients :: Idle -> [0]lb;    servers :: Idle -> [1]lb;
//! lb[0] -> to_servers :: Discard;    lb[1] -> to_clients :: Discard;    lb[2] -> others :: Discard;
//! ```

mod affinity;
mod backends;
mod choice;
mod connections;
mod entry;
mod fragments;
mod keep;
pub(crate) mod maglev;
mod reports;
mod rewrite;
mod seen;
mod settings;
mod way;
mod writes;

use element::{
    same, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Saved, TimerId, Verdict,
};

use affinity::Affinity;
use backends::Pool;
use connections::Connections;
use fragments::Fragments;
use seen::Seen;
use settings::{Mode, Settings, ARGS};

/// The class.
pub const CLASS: Class = Class::new::<LoadBalancer>("LoadBalancer", "1-2/1-3", "h/h", "xy/[xy][xy][xy]")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const HANDLERS: &[Handler] = &[
    Handler::read("services", "A line for each service: its backends that take flows, and its flows."),
    Handler::read(
        "backends",
        "A line for each backend: weight, health, flows, and packets and bytes to it and back.",
    ),
    Handler::read(
        "table",
        "A line for each backend that takes flows: its places in the Maglev table, or its weight.",
    ),
    Handler::read("connections", "A line for each connection: flow, backend, state, counts, seconds left.")
        .flags("expensive"),
    Handler::read("n_connections", "Number of connections."),
    Handler::read("capacity", "Most connections at a time.").flags("alike"),
    Handler::read("n_clients", "Number of clients that AFFINITY remembers."),
    Handler::read(
        "n_untracked",
        "Packets that went to a backend without a connection, the table being full.",
    ),
    Handler::read_param(
        "lookup",
        "The backend of the flow `tcp|udp SOURCE PORT DESTINATION PORT`, with `new` if it has none yet.",
    ),
    Handler::write(
        "health",
        "`[SERVICE] BACKEND up|down|drain`: what may go to a backend; drain keeps its flows.",
    ),
    Handler::write("weight", "`[SERVICE] BACKEND N`: its share of new flows."),
    Handler::write(
        "add",
        "`SERVICE BACKEND...`: adds backends, all or none, `ADDRESS[:PORT][*WEIGHT][/HEALTH]`, and the service if need be.",
    ),
    Handler::write(
        "remove",
        "`[SERVICE] BACKEND`: gives it no new flows, and forgets it when the last one has ended.",
    ),
    Handler::write("flush", "Ends all connections.").flags("button"),
    Handler::write("reset_counts", "Sets the backends' counts to 0.").flags("button"),
];

const DROPS: &[DropReason] = &[
    DropReason::new("no-service", "The packet belongs to no service and no connection."),
    DropReason::new("no-header", "The packet has no marked IPv4 header."),
    DropReason::new("no-backend", "No backend of the service takes flows."),
    DropReason::new("table-full", "There are CAPACITY connections already."),
    DropReason::new("ambiguous", "The replies of the flow could not be told from those of another one."),
    DropReason::new("no-connection", "A TCP packet that resets a connection belongs to none."),
    DropReason::new("stray-fragment", "The first fragment of the packet was not seen."),
    DropReason::new("too-long", "The packet has no room for a header around it."),
];
const NO_SERVICE: usize = 0;
const NO_HEADER: usize = 1;
const NO_BACKEND: usize = 2;
const TABLE_FULL: usize = 3;
const AMBIGUOUS: usize = 4;
const NO_CONNECTION: usize = 5;
const STRAY_FRAGMENT: usize = 6;
const TOO_LONG: usize = 7;

/// Packets that are looked up together.
const CHUNK: usize = 64;

/// See the page above.
pub struct LoadBalancer {
    mode: Mode,
    pool: Pool,
    connections: Connections,
    affinity: Affinity,
    fragments: Fragments,
    timer: Option<TimerId>,
    seen: Vec<Seen>,
    verdicts: Vec<Verdict>,
    next_id: u16,
    n_untracked: u64,
}

impl Element for LoadBalancer {
    fn configure(conf: &mut Configure<'_>) -> Result<LoadBalancer, Failed> {
        let Settings { mode, mut pool, connections, affinity, fragments } = settings::read(conf);
        conf.finish()?;
        pool.refresh();
        Ok(LoadBalancer {
            mode,
            pool,
            connections,
            affinity,
            fragments,
            timer: None,
            seen: Vec::with_capacity(CHUNK),
            verdicts: Vec::new(),
            next_id: 0,
            n_untracked: 0,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.timer = Some(ctx.new_timer());
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let now_ns = now_ns(ctx);
        let (mut seen, mut verdicts) = (std::mem::take(&mut self.seen), std::mem::take(&mut self.verdicts));
        verdicts.clear();
        for chunk in batch.chunks_mut(CHUNK) {
            self.look(chunk, &mut seen);
            for (packet, seen) in chunk.iter_mut().zip(&seen) {
                verdicts.push(self.balance(packet, seen, port, now_ns));
            }
        }
        let mut each = verdicts.iter();
        ctx.spread(batch, |_, _| each.next().copied().unwrap_or(Verdict::drop(NO_SERVICE)));
        (self.seen, self.verdicts) = (seen, verdicts);
        self.set_timer(ctx);
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        let (now_ns, pool) = (now_ns(ctx), &mut self.pool);
        self.connections.expire(now_ns, |backend| pool.release(backend));
        self.affinity.expire(now_ns);
        self.set_timer(ctx);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        match name {
            "services" => Ok(reports::services(&self.pool)),
            "backends" => Ok(reports::backends(&self.pool)),
            "table" => Ok(reports::table(&self.pool)),
            "connections" => Ok(reports::connections(&self.connections, &self.pool, now_ns(ctx))),
            "n_connections" => Ok(self.connections.len().to_string()),
            "capacity" => Ok(self.connections.capacity().to_string()),
            "n_clients" => Ok(self.affinity.len().to_string()),
            "n_untracked" => Ok(self.n_untracked.to_string()),
            "lookup" => self.look_up(&reports::flow(param, &ctx.scope())?),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "add" => self.add(ctx, value)?,
            "flush" => self.flush(),
            "reset_counts" => self.reset_counts(),
            "health" | "weight" | "remove" => self.change(ctx, name, value)?,
            _ => return Err(format!("no {name} write handler")),
        }
        self.pool.refresh();
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<LoadBalancer>(ctx, old) else { return };
        self.timer = self.timer.or(old.timer);
        if std::mem::discriminant(&old.mode) != std::mem::discriminant(&self.mode) {
            return;
        }
        let LoadBalancer { pool, connections, affinity, fragments, next_id, n_untracked, .. } = *old;
        if let Err(message) = self.pool.take_over(pool) {
            return ctx.warn(&format!("{message}, all flows begin anew"));
        }
        self.connections.take_over(connections);
        self.affinity.take_over(affinity);
        (self.fragments, self.next_id, self.n_untracked) = (fragments, next_id, n_untracked);
        self.set_timer(ctx);
    }

    fn save_state(&mut self, ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        Some(self.save(now_ns(ctx), from))
    }

    fn restore_state(&mut self, ctx: &mut Ctx<'_>, line: &str, passed_ms: i64) -> Result<(), String> {
        let restored = self.restore(line, passed_ms, now_ns(ctx));
        self.set_timer(ctx);
        restored
    }
}

impl LoadBalancer {
    /// Reads the packets of a chunk and lets what they need come near.
    #[inline(always)]
    fn look(&self, packets: &[Packet], seen: &mut Vec<Seen>) {
        seen.clear();
        for packet in packets {
            let mut look = seen::look(packet);
            look.hash = self.connections.prefetch(&look.key);
            seen.push(look);
        }
        seen.iter_mut().for_each(|seen| seen.near = self.connections.prefetch_entry(seen.hash));
    }

    /// Lets the timer run when something may end.
    fn set_timer(&mut self, ctx: &mut Ctx<'_>) {
        let Some(timer) = self.timer else { return };
        let next = [self.connections.next_ns(), self.affinity.next_ns()].into_iter().flatten().min();
        let Some(next) = next.and_then(|next| i64::try_from(next).ok()) else { return };
        if !ctx.timer_is_scheduled(timer) || ctx.timer_expiry(timer) > next {
            ctx.schedule_at(timer, next);
        }
    }
}

fn now_ns(ctx: &mut Ctx<'_>) -> u64 {
    ctx.recent_steady_ns().max(0) as u64
}

#[cfg(test)]
mod tests;
