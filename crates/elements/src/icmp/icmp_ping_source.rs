//! Sends ICMP echo requests every so often, and judges the replies.
//!
//! Sequence numbers and IP identifications count from 1. A pull output gets a request for every pull, whatever INTERVAL says.
//!
//! Replies that come to the input, whose IPv4 header must be marked, are told as ping(1) does, and their times add up to the
//! `summary`, which is also told at the end unless VERBOSE is false. Other packets that come there are dropped, too.
//!
//! ```click
//! ping :: ICMPPingSource(10.0.0.1, 10.0.0.2, INTERVAL 0.1, LIMIT 5, STOP true)
//!     -> CheckIPHeader -> ICMPPingResponder -> ping;
//! ```

use std::net::Ipv4Addr;

use args::{Scope, Seconds};
use element::{
    same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, TimerId,
    BATCH_MAX,
};
use wire::{checksum, icmp_type, protocol};

use super::round_trips::RoundTrips;

/// The class.
pub const CLASS: Class = Class::new::<ICMPPingSource>("ICMPPingSource", "0-1/1", "h/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IP address", "The requests' source address."),
    Arg::required("DST", "IP address", "The requests' destination address."),
    Arg::keyword("INTERVAL", "seconds", "Time from request to request. Default 1."),
    Arg::keyword("IDENTIFIER", "unsigned", "The requests' ICMP identifier, its low byte first. Default 0."),
    Arg::keyword("DATA", "string", "What follows the requests' ICMP header. Default nothing."),
    Arg::keyword("LIMIT", "int", "Most requests to send; negative is no limit. Default -1."),
    Arg::keyword("ACTIVE", "bool", "Whether to send requests. Default true."),
    Arg::keyword("VERBOSE", "bool", "Whether to tell each reply, and the summary at the end. Default true."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver when LIMIT requests are sent. Default false."),
    Arg::keyword(
        "MIRROR",
        "bool",
        "Whether to turn each reply into the next request at once, beyond LIMIT; only with a push output. Default false.",
    ),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("active", "Whether requests are sent.").flags("checkbox"),
    Handler::read_write("src", "The requests' source address.").flags("calm"),
    Handler::read_write("dst", "The requests' destination address.").flags("calm"),
    Handler::read("count", "Requests sent."),
    Handler::write("limit", "Most requests to send; negative is no limit.").flags("calm"),
    Handler::write("interval", "Time from request to request."),
    Handler::write("reset_counts", "Forgets what was sent and received.").flags("button"),
    Handler::read("summary", "Requests, replies, losses and times, as ping(1) tells them; with an input."),
    Handler::read("rtt_min", "Shortest time from request to reply; with an input.").flags("least"),
    Handler::read("rtt_avg", "Mean time from request to reply; with an input.").flags("alike"),
    Handler::read("rtt_max", "Longest time from request to reply; with an input.").flags("most"),
];

const NO_REPLY: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("no-reply", "The packet is no reply to a request of this element.")];

/// Lengths of the IPv4 header and of both headers.
const IP: usize = 20;
const HEADERS: usize = IP + 8;
const TTL: u8 = 200;

/// See the page above.
pub struct ICMPPingSource {
    source: Ipv4Addr,
    destination: Ipv4Addr,
    identifier: [u8; 2],
    data: Vec<u8>,
    interval_ms: u32,
    count: i32,
    limit: i32,
    is_active: bool,
    is_verbose: bool,
    stops: bool,
    mirrors: bool,
    is_push: bool,
    timer: Option<TimerId>,
    /// With an input.
    trips: Option<RoundTrips>,
}

impl Element for ICMPPingSource {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPPingSource, Failed> {
        let source = conf.args.need("SRC");
        let destination = conf.args.need("DST");
        let interval: Option<Seconds<3>> = conf.args.get("INTERVAL");
        let identifier: u16 = conf.args.get_or("IDENTIFIER", 0);
        let data = conf.args.get("DATA").unwrap_or_default();
        let limit = conf.args.get_or("LIMIT", -1);
        let is_active = conf.args.get_or("ACTIVE", true);
        let is_verbose = conf.args.get_or("VERBOSE", true);
        let stops = conf.args.get_or("STOP", false);
        let mirrors = conf.args.get_or("MIRROR", false);
        conf.finish()?;
        let is_push = conf.environment.output_is_push(conf.element, 0);
        if interval.as_ref().is_some_and(|interval| interval.0 == 0) {
            conf.warning("INTERVAL so small that it is zero");
        }
        if !is_push && interval.is_some() {
            conf.warning("element is pull, INTERVAL parameter will be ignored");
        }
        if !is_push && mirrors {
            return Err("MIRROR invalid on pull element".into());
        }
        Ok(ICMPPingSource {
            source,
            destination,
            // Click keeps the number as the machine does; on all machines that matter the low byte comes first.
            identifier: identifier.to_le_bytes(),
            data,
            interval_ms: interval.map_or(1000, |interval| interval.0),
            count: 0,
            limit,
            is_active,
            is_verbose,
            stops,
            mirrors,
            is_push,
            timer: None,
            trips: (conf.n_inputs == 1).then(RoundTrips::default),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        if self.limit != 0 && self.is_active && self.is_push {
            ctx.schedule_after(timer, self.interval_ns());
        }
        self.timer = Some(timer);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if self.is_done() {
            if self.stops {
                ctx.stop();
            }
            return;
        }
        let packet = self.request(ctx);
        ctx.emit_packet(0, packet);
        if !ctx.go_on_noticed(Causes::NOTHING) {
            self.go_on(ctx);
        }
    }

    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        self.count = self.count.wrapping_add(1);
        if let Some(timer) = self.timer {
            ctx.reschedule_after(timer, self.interval_ns());
        }
        true
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max.min(BATCH_MAX) && !self.is_done() {
            let packet = self.request(ctx);
            batch.push(packet);
            self.count = self.count.wrapping_add(1);
        }
        if batch.len() < max && self.is_done() && std::mem::take(&mut self.stops) {
            ctx.stop();
        }
        batch
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            self.judge(ctx, packet);
        }
    }

    fn has_handler(&self, name: &str) -> bool {
        self.trips.is_some() || !matches!(name, "summary" | "rtt_min" | "rtt_avg" | "rtt_max")
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match (name, &self.trips) {
            ("active", _) => self.is_active.to_string(),
            ("src", _) => self.source.to_string(),
            ("dst", _) => self.destination.to_string(),
            ("count", _) => self.count.to_string(),
            ("summary", Some(trips)) => trips.summary(self.count),
            ("rtt_min", Some(trips)) => args::unparse_microseconds(trips.min_us()),
            ("rtt_avg", Some(trips)) => args::unparse_microseconds(trips.mean_us()),
            ("rtt_max", Some(trips)) => args::unparse_microseconds(trips.max_us()),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "type mismatch")?;
                match self.timer {
                    Some(timer) if !self.is_active => ctx.unschedule_timer(timer),
                    _ => self.start(ctx, 0),
                }
            }
            "src" => self.source = args::ip(value, &Scope::builtin()).map_err(|_| "syntax error")?,
            "dst" => self.destination = args::ip(value, &Scope::builtin()).map_err(|_| "syntax error")?,
            "limit" => {
                self.limit = args::integer(value).map_err(|_| "'limit' should be integer")?;
                if !self.is_done() {
                    self.start(ctx, self.interval_ns());
                }
            }
            "interval" => {
                let interval = args::saturating_seconds(value, 3);
                self.interval_ms = interval.map_err(|_| "'interval' should be an interval")?;
            }
            "reset_counts" => {
                self.count = 0;
                self.trips = self.trips.take().map(|_| RoundTrips::default());
                if self.limit > 0 {
                    self.start(ctx, self.interval_ns());
                }
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        let Some(trips) = self.trips.take().filter(|_| self.is_verbose) else { return };
        for line in trips.summary(self.count).lines() {
            ctx.chatter(&format!("{}: {line}", ctx.own_declaration()));
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ICMPPingSource>(ctx, old) else { return };
        if (old.source, old.destination, old.identifier) == (self.source, self.destination, self.identifier) {
            self.count = old.count;
            if self.trips.is_some() {
                self.trips = old.trips.take().or(self.trips.take());
            }
        }
        old.cleanup(ctx);
    }
}

impl ICMPPingSource {
    fn interval_ns(&self) -> i64 {
        i64::from(self.interval_ms) * 1_000_000
    }

    fn is_done(&self) -> bool {
        self.limit >= 0 && self.count >= self.limit
    }

    /// Sends the next request after a time, if none is due anyway.
    fn start(&mut self, ctx: &mut Ctx<'_>, after_ns: i64) {
        let timer = self.timer.filter(|_| self.is_active && self.is_push);
        if let Some(timer) = timer.filter(|timer| !ctx.timer_is_scheduled(*timer)) {
            ctx.schedule_after(timer, after_ns);
        }
    }

    fn request(&mut self, ctx: &mut Ctx<'_>) -> Packet {
        let mut packet = Packet::zeroed(HEADERS + self.data.len());
        if let Some(data) = packet.data_mut().get_mut(HEADERS..) {
            data.copy_from_slice(&self.data);
        }
        self.make(ctx, &mut packet);
        packet
    }

    /// Makes a packet that has room for the headers the next request.
    fn make(&mut self, ctx: &mut Ctx<'_>, packet: &mut Packet) {
        let number = self.count.rem_euclid(0xFFFF) as u16 + 1;
        let now_ns = ctx.now_ns();
        let bytes = packet.data_mut();
        let len = bytes.len() as u16;
        let n_checked = 8 + self.data.len();
        let Some((ip, icmp)) = bytes.split_first_chunk_mut::<IP>() else { return };
        *ip = [0; IP];
        [ip[0], ip[8], ip[9]] = [0x45, TTL, protocol::ICMP];
        ip[2..4].copy_from_slice(&len.to_be_bytes());
        ip[4..6].copy_from_slice(&number.to_be_bytes());
        ip[12..16].copy_from_slice(&self.source.octets());
        ip[16..20].copy_from_slice(&self.destination.octets());
        let sum = checksum::checksum(&ip[..]);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let checked = n_checked.min(icmp.len());
        if let Some(header) = icmp.first_chunk_mut::<8>() {
            *header = [icmp_type::ECHO, 0, 0, 0, self.identifier[0], self.identifier[1], 0, 0];
            header[6..8].copy_from_slice(&number.to_be_bytes());
        }
        let sum = checksum::checksum(icmp.get(..checked).unwrap_or(&[]));
        if let Some(field) = icmp.get_mut(2..4) {
            field.copy_from_slice(&sum.to_be_bytes());
        }
        packet.set_dst_ip(self.destination);
        packet.set_network_header(0, IP);
        packet.set_timestamp_ns(now_ns);
        if let Some(trips) = &mut self.trips {
            trips.send(number, now_ns);
            // The reply may come before anything else runs, and must not get the request's time.
            ctx.forget_times();
        }
    }

    /// Counts a reply, and turns it into the next request if MIRROR says so.
    fn judge(&mut self, ctx: &mut Ctx<'_>, mut packet: Packet) {
        let Some(reply) = Reply::of(&packet).filter(|reply| reply.identifier == self.identifier) else {
            return ctx.drop_packet(NO_REPLY, packet);
        };
        let trip = self.trips.as_mut().and_then(|trips| trips.receive(reply.number, packet.timestamp_ns()));
        if let Some(trip_us) = trip.filter(|_| self.is_verbose) {
            let Reply { len, source, number, ttl, .. } = reply;
            let (ms, us) = (trip_us / 1000, trip_us % 1000);
            let declaration = ctx.own_declaration();
            ctx.chatter(&format!(
                "{declaration}: {len} bytes from {source}: icmp_seq={number} ttl={ttl} time={ms}.{us:03} ms"
            ));
        }
        if !self.mirrors {
            return;
        }
        if let Some(offset) = packet.network_offset().and_then(|offset| usize::try_from(offset).ok()) {
            packet.strip(offset);
        }
        self.make(ctx, &mut packet);
        ctx.emit_packet(0, packet);
        self.count = self.count.wrapping_add(1);
    }
}

/// What an echo reply says.
struct Reply {
    identifier: [u8; 2],
    number: u16,
    /// Of what follows the ICMP header, as the IP header has it.
    len: i32,
    source: Ipv4Addr,
    ttl: u8,
}

impl Reply {
    fn of(packet: &Packet) -> Option<Reply> {
        let ip = packet.network().first_chunk::<IP>()?;
        let icmp = packet.transport().first_chunk::<8>()?;
        if ip[9] != protocol::ICMP || icmp[0] != icmp_type::ECHO_REPLY {
            return None;
        }
        let header_len = i32::from(ip[0] & 0x0F) * 4;
        Some(Reply {
            identifier: [icmp[4], icmp[5]],
            number: u16::from_be_bytes([icmp[6], icmp[7]]),
            len: i32::from(u16::from_be_bytes([ip[2], ip[3]])) - header_len - 8,
            source: Ipv4Addr::new(ip[12], ip[13], ip[14], ip[15]),
            ttl: ip[8],
        })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{run, run_in_real_time};
    use expect_test::expect;

    #[test]
    fn a_request_is_counted_when_all_that_comes_of_it_is_over() {
        let graph = "p :: ICMPPingSource(1.0.0.1, 2.0.0.2, LIMIT 1, STOP true) -> Counter(COUNT_CALL 1 r.run) -> Discard;
            r :: Script(TYPE PASSIVE, read p.count)";
        expect![[r#"
            p.count:
            0
            p.count: 1
        "#]]
        .assert_eq(&run(graph, &["p.count"]));
    }

    #[test]
    fn requests_are_numbered_and_summed() {
        let graph = "ICMPPingSource(1.0.0.1, 2.0.0.2, IDENTIFIER 258, DATA abc, LIMIT 2, STOP true)
            -> Print(ping, -1) -> CheckIPHeader -> CheckICMPHeader -> Discard";
        expect![[r#"
            ping:   31 | 4500001f 00010000 c801efda 01000001 02000002 0800319b 02010001 616263
            ping:   31 | 4500001f 00020000 c801efd9 01000001 02000002 0800319a 02010002 616263
        "#]]
        .assert_eq(&run(graph, &[]));
    }

    #[test]
    fn replies_are_told_and_summed_up() {
        let graph = "ping :: ICMPPingSource(1.0.0.1, 2.0.0.2, INTERVAL 0.1, LIMIT 3, STOP true)
            -> Queue -> DelayUnqueue(0.0015s) -> SetTimestamp -> ICMPPingResponder -> ping";
        expect![[r#"
            ping :: ICMPPingSource: 0 bytes from 2.0.0.2: icmp_seq=1 ttl=255 time=1.500 ms
            ping :: ICMPPingSource: 0 bytes from 2.0.0.2: icmp_seq=2 ttl=255 time=1.500 ms
            ping :: ICMPPingSource: 0 bytes from 2.0.0.2: icmp_seq=3 ttl=255 time=1.500 ms
            ping.rtt_min: 0.0015s
            ping.rtt_avg: 0.0015s
            ping.rtt_max: 0.0015s
        "#]]
        .assert_eq(&run(graph, &["ping.rtt_min", "ping.rtt_avg", "ping.rtt_max"]));
    }

    #[test]
    fn a_reply_within_the_same_run_takes_time() {
        let graph = format!(
            "ping :: ICMPPingSource(1.0.0.1, 2.0.0.2, INTERVAL 0.001, LIMIT 2, STOP true, VERBOSE false, DATA {})
                -> CheckIPHeader {} -> ICMPPingResponder -> ping",
            "x".repeat(60_000),
            "-> CheckICMPHeader".repeat(50),
        );
        let values = run_in_real_time(&graph, &["ping.rtt_min", "ping.summary"]);
        assert!(values.contains("2 packets transmitted, 2 received, 0% packet loss"), "{values}");
        // Adding up three million bytes takes any machine more than a microsecond.
        assert!(!values.contains("ping.rtt_min: 0s"), "{values}");
    }

    #[test]
    fn a_reply_becomes_the_next_request() {
        let graph = "ping :: ICMPPingSource(1.0.0.1, 2.0.0.2, MIRROR true, VERBOSE false)
            -> c :: Counter(COUNT_CALL 5 stop) -> ICMPPingResponder -> Queue -> Unqueue -> ping";
        expect![[r#"
            ping.count: 5
            ping.summary: 5 packets transmitted, 4 received, 20% packet loss
            rtt min/avg/max/mdev = 0.000/0.000/0.000/0.000

        "#]]
        .assert_eq(&run(graph, &["ping.count", "ping.summary"]));
    }

    #[test]
    fn a_pull_output_gets_requests_until_the_limit() {
        let graph = "ping :: ICMPPingSource(1.0.0.1, 2.0.0.2, LIMIT 3, INTERVAL 0, STOP true) -> c :: Counter -> Discard";
        expect![[r#"
            config:1: While configuring 'ping :: ICMPPingSource':
              warning: INTERVAL so small that it is zero
            c.count: 3
            ping.handlers: reset_counts	wb
            interval	w
            limit	w.
            count	r
            dst	rw.
            src	rw.
            active	rwc
            handlers	r.
            ports	r.
            config	r.
            class	r.
            name	r.

        "#]]
        .assert_eq(&run(graph, &["c.count", "ping.handlers"]));
    }

    #[test]
    fn what_does_not_fit_together_is_told() {
        crate::ip::tests::check_mistake(
            "ICMPPingSource(a, 2.0.0.2, LIMIT x)",
            expect!["SRC: parse error; LIMIT: invalid number"],
        );
    }
}
