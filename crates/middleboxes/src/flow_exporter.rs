//! Measures flows and exports them as IPFIX.
//!
//! Packets pass as they are; those that have an IPv4 or IPv6 header are counted in their flows. A flow ends when it was
//! silent for IDLE, has lasted for ACTIVE (what follows is another record), TCP_END after a FIN or RST, or when CAPACITY
//! flows are there and another comes. The records of ended flows gather in IPFIX messages (RFC 7011) that leave by output 1
//! as payloads for UDP, at the latest a second later, and go to FILE (RFC 5655). Messages with templates tell in options
//! what was exported so far. Writing `flush` ends all flows.
//!
//! Time is that of the packets' timestamps, and goes on while none come; it never goes back. Later fragments have no
//! ports. Numbers of interfaces are annotations, such as the paint. With BIFLOW a flow and the one that answers it end
//! together and make one record (RFC 5103). Where the graph is replicated over cores, each core is an observation domain of
//! its own: DOMAIN, DOMAIN + 1, ...
//!
//! ```click
//! FromDump(trace.pcap, STOP true) -> fx :: FlowExporter(ETHER true) -> Discard;
//! fx [1] -> UDPIPEncap(10.0.0.1, 4739, 10.0.0.2, 4739) -> EtherEncap(0x0800, 2:0:0:0:0:1, 2:0:0:0:0:2) -> ToDump(export.pcap);
//! DriverManager(wait, write fx.flush, stop);
//! ```

mod cache;
mod export;
mod flows;
mod ipfix;
mod key;
mod record;
mod sight;
#[cfg(test)]
mod tests;

use args::{Anno, Filename, Scope, Seconds};
use element::{
    annotation, same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, TimerId, BATCH_MAX,
};

use cache::{Ended, Rules};
use export::{Collector, Exporter, MessageFile, Settings};
use flows::Flows;
use key::{Mask, Part, PARTS};
use sight::{Sight, Sighting};
use table::flow::NO_ENTRY;

/// The class.
pub const CLASS: Class =
    Class::new::<FlowExporter>("FlowExporter", "1/1-2", "a/ah", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::keyword(
        "KEYS",
        "words",
        "What tells flows apart, of source, destination, source_port, destination_port, protocol, tos, interface and vlan. \
         Default all but vlan; with BIFLOW, all but vlan, tos and interface.",
    ),
    Arg::keyword("ACTIVE", "seconds", "How long a flow lasts at most; 0 is for ever. Default 60."),
    Arg::keyword("IDLE", "seconds", "How long a flow is silent at most; 0 is for ever. Default 15."),
    Arg::keyword(
        "TCP_END",
        "seconds",
        "How long a TCP flow is silent at most after a FIN or RST; 0 ends it at once. Default IDLE.",
    ),
    Arg::keyword("CAPACITY", "unsigned", "Most flows at a time. Default 65536."),
    Arg::keyword("BIFLOW", "bool", "Whether both directions make one record. Default false."),
    Arg::keyword("ETHER", "bool", "Whether packets begin with Ethernet headers, of which VLANs are taken. Default false."),
    Arg::keyword("INTERFACE_ANNO", "annotation", "The interface that a packet came from. Default PAINT."),
    Arg::keyword("EGRESS_ANNO", "annotation", "The interface that a packet leaves by, if records shall have it."),
    Arg::keyword("SAMPLING", "unsigned", "One packet in so many is counted. Default 1."),
    Arg::keyword("DOMAIN", "unsigned", "The observation domain. Default 1."),
    Arg::keyword("MTU", "unsigned", "Bytes of the longest IP packet to the collector. Default 1500."),
    Arg::keyword("TEMPLATE_INTERVAL", "seconds", "How often templates are sent. Default 60."),
    Arg::keyword("TEMPLATE_MESSAGES", "unsigned", "After how many messages at the latest; 0 is any number. Default 100."),
    Arg::keyword("FILE", "filename", "Where to write messages; `-` is standard output."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("flows", "Flows that have not ended."),
    Handler::read("table", "These flows, a line each."),
    Handler::read("count", "Packets counted in flows."),
    Handler::read("ignored", "Packets without an IP header."),
    Handler::read("evicted", "Flows that ended to make room for others."),
    Handler::read("exported", "Flow records exported."),
    Handler::read("messages", "Messages exported."),
    Handler::read(
        "dropped",
        "Flow records that went nowhere: there is neither output 1 nor a file that can be written.",
    ),
    Handler::read(
        "templates",
        "The templates, a line each: number, and information elements with numbers and lengths.",
    )
    .flags("alike"),
    Handler::write("flush", "Ends and exports all flows.").flags("button"),
];

/// How long a record waits for others to share a message.
const EXPORT_NS: i64 = 1_000_000_000;
/// The same where there is more to do than is done at once.
const SOON_NS: i64 = 10_000_000;
/// Flows looked at by the timer at once.
const N_VISITS: usize = 4096;
/// Headers of IPv6 and UDP in front of a message.
const ENCAPSULATION: u32 = 48;
const NS_PER_MS: i64 = 1_000_000;

/// See the page above.
pub struct FlowExporter {
    sight: Sight,
    rules: Rules,
    flows: Flows,
    exporter: Exporter,
    outlet: Outlet,
    /// What a batch's packets tell; empty between batches.
    seen: Vec<Seen>,
    sampling: u32,
    /// Packets to let pass before the next one is counted.
    n_skip: u32,
    n_counted: u64,
    filename: String,
    timer: Option<TimerId>,
    is_timer_set: bool,
}

/// What a packet tells, and where its flow is found.
struct Seen {
    sighting: Sighting,
    hash: u64,
    near: u32,
}

/// Where messages go: to a file, and to packets that leave as soon as nothing else is being done.
struct Outlet {
    file: Option<MessageFile>,
    has_output: bool,
    packets: Vec<Packet>,
    error: Option<String>,
}

impl Collector for Outlet {
    fn take(&mut self, message: &[u8]) -> bool {
        let mut is_taken = self.has_output;
        if self.has_output {
            self.packets.push(Packet::from_bytes(message));
        }
        if let Some(file) = &mut self.file {
            match file.write(message) {
                Ok(()) => is_taken = true,
                Err(error) => self.give_up(&error),
            }
        }
        is_taken
    }
}

impl Outlet {
    /// A file that cannot be written is left alone from then on.
    fn give_up(&mut self, error: &std::io::Error) {
        self.error = Some(element::output::reason(error));
        self.file = None;
    }
}

impl Element for FlowExporter {
    fn configure(conf: &mut Configure<'_>) -> Result<FlowExporter, Failed> {
        let is_biflow = conf.args.get_or("BIFLOW", false);
        let parts = conf.args.get_with("KEYS", parse_parts).unwrap_or_else(|| default_parts(is_biflow));
        let rules = configure_rules(conf, is_biflow);
        let sight = configure_sight(conf, &parts);
        let capacity: u32 = conf.args.get_or("CAPACITY", 1 << 16);
        if capacity == 0 {
            conf.args.error("CAPACITY", "must be at least 1");
        }
        let (replica, _) = conf.environment.replica();
        let settings = configure_export(conf, &parts, &sight, is_biflow, replica as u32);
        let Filename(filename) = conf.args.get_or("FILE", Filename::default());
        let filename = conf.file_of_replica(filename);
        if filename.is_empty() && conf.n_outputs < 2 {
            conf.warning("flows are counted but not exported: there is neither output 1 nor FILE");
        }
        conf.finish()?;
        Ok(FlowExporter {
            sight,
            rules,
            flows: Flows::new(rules, capacity),
            sampling: settings.sampling,
            exporter: Exporter::new(settings),
            outlet: Outlet { file: None, has_output: conf.n_outputs > 1, packets: Vec::new(), error: None },
            seen: Vec::with_capacity(BATCH_MAX),
            n_skip: 0,
            n_counted: 0,
            filename,
            timer: None,
            is_timer_set: false,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.filename.is_empty() {
            self.outlet.file = Some(MessageFile::open(&self.filename)?);
        }
        self.timer = Some(ctx.new_timer());
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.observe(ctx, &batch);
        ctx.emit(0, batch);
        self.deliver(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        if !batch.is_empty() {
            self.observe(ctx, &batch);
            self.deliver(ctx);
        }
        batch
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.flows.pass(ctx.recent_steady_ns());
        let now_ns = self.flows.now_ns();
        let FlowExporter { flows, exporter, outlet, .. } = self;
        let is_done = flows.advance(N_VISITS, &mut |ended: Ended| exporter.add(&ended, now_ns, outlet));
        if is_done {
            exporter.send(now_ns, outlet);
        }
        self.is_timer_set = self.flows.len() > 0 || !is_done;
        if self.is_timer_set {
            ctx.schedule_after(timer, if is_done { EXPORT_NS } else { SOON_NS });
        }
        self.deliver(ctx);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let totals = &self.exporter.totals;
        Ok(match name {
            "flows" => self.flows.len().to_string(),
            "table" => self.flows.iter().map(|(key, flow)| record::describe(&key, flow)).collect(),
            "count" => self.n_counted.to_string(),
            "ignored" => totals.n_ignored.to_string(),
            "evicted" => self.flows.n_evicted.to_string(),
            "exported" => totals.n_flows.to_string(),
            "messages" => totals.n_messages.to_string(),
            "dropped" => totals.n_lost.to_string(),
            "templates" => self.exporter.describe_templates(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "flush" {
            return Err(format!("no {name} write handler"));
        }
        self.flows.pass(ctx.recent_steady_ns());
        while self.end_some() {
            self.deliver(ctx);
        }
        self.finish_message(ctx);
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        // Packets go nowhere any more: flows that nobody flushed are left for the file.
        self.outlet.has_output = false;
        if self.outlet.file.is_none() {
            return;
        }
        while self.end_some() {}
        self.finish_message(ctx);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<FlowExporter>(ctx, old) else { return };
        if self.outlet.file.is_some() && old.filename == self.filename {
            self.outlet.file = old.outlet.file.take();
        }
        old.outlet.has_output = self.outlet.has_output;
        let can_go_on = old.rules == self.rules && old.sight.mask == self.sight.mask;
        if can_go_on && old.flows.capacity() == self.flows.capacity() {
            std::mem::swap(&mut self.flows, &mut old.flows);
        }
        // Flows that cannot go on by the new element's rules leave in the old one's way.
        std::mem::swap(&mut self.outlet.file, &mut old.outlet.file);
        while old.end_some() {}
        let now_ns = old.flows.now_ns();
        old.exporter.send(now_ns, &mut old.outlet);
        std::mem::swap(&mut self.outlet.file, &mut old.outlet.file);
        self.outlet.packets.append(&mut old.outlet.packets);
        self.exporter.continue_from(&old.exporter);
        (self.n_counted, self.n_skip) = (old.n_counted, old.n_skip.min(self.sampling.saturating_sub(1)));
        self.set_timer(ctx);
    }
}

impl FlowExporter {
    /// Counts a batch's packets: first all are looked at, while what is known of their flows comes near.
    fn observe(&mut self, ctx: &mut Ctx<'_>, batch: &Batch) {
        self.flows.pass(ctx.recent_steady_ns());
        let mut wall_ns = None;
        for packet in batch.iter() {
            if self.n_skip > 0 {
                self.n_skip -= 1;
                continue;
            }
            self.n_skip = self.sampling - 1;
            let Some(mut sighting) = self.sight.look(packet) else {
                self.exporter.totals.n_ignored += 1;
                continue;
            };
            sighting.time_ns = match packet.timestamp_ns() {
                0 => *wall_ns.get_or_insert_with(|| ctx.now_ns()),
                time_ns => time_ns,
            };
            let hash = self.flows.prefetch(&sighting.key);
            self.seen.push(Seen { sighting, hash, near: NO_ENTRY });
        }
        let FlowExporter { flows, exporter, outlet, seen, n_counted, .. } = self;
        *n_counted += seen.len() as u64;
        seen.iter_mut().for_each(|seen| seen.near = flows.prefetch_flow(&seen.sighting.key, seen.hash));
        for Seen { sighting, near, .. } in seen.iter() {
            flows.add(sighting, *near, &mut |ended| exporter.add(&ended, sighting.time_ns, outlet));
        }
        seen.clear();
        let now_ns = flows.now_ns();
        flows.search(&mut |ended| exporter.add(&ended, now_ns, outlet));
        exporter.send_if_old(now_ns, EXPORT_NS, outlet);
        if !self.is_timer_set {
            self.set_timer(ctx);
        }
    }

    /// While there are flows, or records that wait for others, the timer runs.
    fn set_timer(&mut self, ctx: &mut Ctx<'_>) {
        let has_work = self.flows.len() > 0 || self.exporter.is_pending() || !self.outlet.packets.is_empty();
        if let Some(timer) = self.timer.filter(|_| has_work) {
            self.is_timer_set = true;
            ctx.schedule_after(timer, EXPORT_NS);
        }
    }

    /// Ends some flows; `false` once there are no more.
    fn end_some(&mut self) -> bool {
        let now_ns = self.flows.now_ns();
        let FlowExporter { flows, exporter, outlet, .. } = self;
        flows.end_some(&mut |ended: Ended| exporter.add(&ended, now_ns, outlet))
    }

    /// Exports what was gathered.
    fn finish_message(&mut self, ctx: &mut Ctx<'_>) {
        let now_ns = self.flows.now_ns();
        self.exporter.send(now_ns, &mut self.outlet);
        let flushed = self.outlet.file.as_mut().map_or(Ok(()), MessageFile::flush);
        if let Err(error) = flushed {
            self.outlet.give_up(&error);
        }
        self.deliver(ctx);
    }

    /// Emits the messages that were made, and tells of a file that cannot be written.
    #[inline]
    fn deliver(&mut self, ctx: &mut Ctx<'_>) {
        if self.outlet.packets.is_empty() && self.outlet.error.is_none() {
            return;
        }
        for packet in self.outlet.packets.drain(..) {
            ctx.emit_packet(1, packet);
        }
        if let Some(error) = self.outlet.error.take() {
            ctx.complain(&format!("FlowExporter({}): {error}", self.filename));
            element::failure::note();
        }
    }
}

fn default_parts(is_biflow: bool) -> Vec<Part> {
    let parts = PARTS.iter().map(|(_, part)| *part);
    let is_default = |part: &Part| match part {
        Part::Vlan => false,
        Part::Tos | Part::Interface => !is_biflow,
        _ => true,
    };
    parts.filter(is_default).collect()
}

fn parse_parts(text: &str, _scope: &Scope<'_>) -> Result<Vec<Part>, String> {
    let part = |word: String| {
        let found = PARTS.iter().find(|(name, _)| *name == word);
        found.map(|(_, part)| *part).ok_or_else(|| format!("'{word}' is no part of a key"))
    };
    args::split_words(text).into_iter().map(part).collect()
}

fn configure_rules(conf: &mut Configure<'_>, is_biflow: bool) -> Rules {
    let for_ever = |ms: u32| if ms == 0 { i64::MAX } else { i64::from(ms) * NS_PER_MS };
    let Seconds(active_ms) = conf.args.get_or::<Seconds<3>>("ACTIVE", Seconds(60_000));
    let Seconds(idle_ms) = conf.args.get_or::<Seconds<3>>("IDLE", Seconds(15_000));
    let tcp_end = conf.args.get::<Seconds<3>>("TCP_END");
    Rules {
        active_ns: for_ever(active_ms),
        idle_ns: for_ever(idle_ms),
        tcp_end_ns: tcp_end.map(|Seconds(ms)| i64::from(ms) * NS_PER_MS),
        is_biflow,
    }
}

fn configure_sight(conf: &mut Configure<'_>, parts: &[Part]) -> Sight {
    const PAINT: Anno = Anno { offset: annotation::PAINT as u8, size: 1 };
    let interface = conf.args.get_or("INTERFACE_ANNO", PAINT);
    let egress: Option<Anno> = conf.args.get("EGRESS_ANNO");
    for (name, anno) in [("INTERFACE_ANNO", Some(interface)), ("EGRESS_ANNO", egress)] {
        if anno.is_some_and(|anno| ![0, 1, 2, 4].contains(&anno.size)) {
            conf.args.error(name, "must have 1, 2 or 4 bytes");
        }
    }
    Sight { mask: Mask::new(parts), is_ethernet: conf.args.get_or("ETHER", false), interface, egress }
}

fn configure_export(
    conf: &mut Configure<'_>,
    parts: &[Part],
    sight: &Sight,
    is_biflow: bool,
    replica: u32,
) -> Settings {
    let mtu = conf.args.get_with("MTU", args::bounded(576u32, 65535)).unwrap_or(1500);
    let Seconds(interval_ms) = conf.args.get_or::<Seconds<3>>("TEMPLATE_INTERVAL", Seconds(60_000));
    Settings {
        templates: record::templates(parts, sight.egress.is_some(), is_biflow),
        domain: conf.args.get_or("DOMAIN", 1u32).wrapping_add(replica),
        message_len: (mtu - ENCAPSULATION) as usize,
        sampling: conf.args.get_with("SAMPLING", args::bounded(1u32, u32::MAX)).unwrap_or(1),
        templates_after_ns: i64::from(interval_ms) * NS_PER_MS,
        templates_after: conf.args.get_or("TEMPLATE_MESSAGES", 100u32).into(),
    }
}
