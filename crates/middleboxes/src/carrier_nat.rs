//! Carrier-grade NAT: many subscribers share external addresses, each having blocks of ports.
//!
//! Packets from inside come in by input 0, packets from outside by input 1; they leave to outside by output 0 and to inside by
//! output 1, so also packets from one subscriber to an external endpoint of another (hairpinning). Packets that are not
//! translated leave, unchanged, by output 2, or are dropped if there is none. The IP header must be marked, as CheckIPHeader
//! does; the time to live is left to routers.
//!
//! POOL lists addresses, prefixes and ranges. The PORTS of each address are cut into blocks of BLOCK_SIZE. A subscriber, which
//! is an address of INSIDE, gets a block when it has its first mapping and up to BLOCKS of them as it needs them, all of one
//! address unless POOLING is `arbitrary`; a block of which nothing is in use is free again. Mappings are
//! endpoint-independent; FILTERING says who may send to them. With DETERMINISTIC the first address of INSIDE has the first block
//! of the first external address, the second one the next block, and so on; what is left is assigned as needed.
//!
//! TCP connections are followed, so that mappings live as long as they do. One from outside passes as FILTERING says, but is
//! followed, and counts as a session, only when the subscriber answers its SYN; at most half of SESSIONS may be in use then, so
//! that the rest is left for the subscriber's own connections. What is received never puts the end of a session or a mapping
//! off, but for the ACK that completes a connection from outside: nobody outside can keep them. ICMP queries are translated by their identifiers,
//! ICMP errors together with the packet they are about. Later fragments are translated as their first one was; those that
//! come before it are refused, unless an IPReassembler stands in front.
//!
//! Lines of the LOG are `TIME assigned SUBSCRIBER ADDRESS FIRST-LAST`, likewise with `released`, and with LOG_SESSIONS
//! `TIME mapped PROTOCOL INSIDE EXTERNAL`, likewise with `unmapped`. If it cannot be written packets flow on; that is told, and
//! `log_lost` counts the records that were lost.
//!
//! Follows RFC 4787, 5382, 5508, 6888, 7422 and 7857. With several cores it runs on the first one.
//!
//! ```click
//! nat :: CarrierNAT(203.0.113.0/28, INSIDE 100.64.0.0/10, BLOCK_SIZE 256, LOG -);
//! FromDump(inside.pcap, FORCE_IP true) -> [0]nat;    nat[0] -> ToDump(to-outside.pcap, ENCAP IP);
//! FromDump(outside.pcap, FORCE_IP true) -> [1]nat;   nat[1] -> ToDump(to-inside.pcap, ENCAP IP);
//! ```

use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Role,
    TimerId, Verdict,
};

use crate::cgnat::listing;
use crate::cgnat::log::{Journal, Log};
use crate::cgnat::look::{look, Seen};
use crate::cgnat::nat::{Nat, TICK_NS};
use crate::cgnat::plan::CHUNK;
use crate::cgnat::rewrite;
use crate::cgnat::settings::{LogSettings, Settings};
use crate::cgnat::N_REFUSALS;

/// The class.
pub const CLASS: Class = Class::new::<CarrierNAT>("CarrierNAT", "2/2-3", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::required("POOL", "addresses, prefixes and ranges", "The external addresses, separated by spaces."),
    Arg::keyword("INSIDE", "prefixes", "Who is a subscriber, separated by spaces. Default: everybody."),
    Arg::keyword("PORTS", "LOW-HIGH", "External ports and identifiers in use. Default 1024-65535."),
    Arg::keyword("BLOCK_SIZE", "unsigned", "Ports of a block. Default 512."),
    Arg::keyword("BLOCKS", "unsigned", "Most blocks of a subscriber. Default 4."),
    Arg::keyword(
        "DETERMINISTIC",
        "bool",
        "Whether each address of INSIDE has a block of its own from the start, which is not logged. Default false.",
    ),
    Arg::keyword("SESSIONS", "unsigned", "Most sessions of a subscriber; connections from outside are accepted up to half of them. Default 8192."),
    Arg::keyword("CAPACITY", "unsigned", "Most mappings, and most sessions. Default 4194304."),
    Arg::keyword(
        "FILTERING",
        "word",
        "Who may send to a mapping: `endpoint-independent`, the default, is anybody; `address` and `address-port` are \
         those whom the subscriber has sent to.",
    ),
    Arg::keyword("POOLING", "word", "`paired`, the default, or `arbitrary`: blocks of other addresses too."),
    Arg::keyword("PARITY", "bool", "Whether external ports are odd or even like inside ones. Default false."),
    Arg::keyword("RANDOM", "bool", "Whether ports of a block are used in random order. Default true."),
    Arg::keyword("TCP_TIMEOUT", "time", "Time-out of established TCP sessions, which only packets from inside renew. Default 2 hours 4 minutes."),
    Arg::keyword("TCP_TRANSITORY_TIMEOUT", "time", "Of TCP sessions that begin or end. Default 4 minutes."),
    Arg::keyword("UDP_TIMEOUT", "time", "Of UDP, which only packets from inside renew. Default 5 minutes."),
    Arg::keyword("ICMP_TIMEOUT", "time", "Of ICMP queries. Default 60 seconds."),
    Arg::keyword("QUARANTINE", "seconds", "How long released ports and blocks are not used. Default 120."),
    Arg::keyword("FRAGMENT_TIMEOUT", "time", "How long later fragments are awaited. Default 30 seconds."),
    Arg::keyword("FRAGMENTS", "unsigned", "Most packets whose later fragments are awaited. Default 8192."),
    Arg::keyword("LOG", "filename", "Where blocks are logged, `-` for standard output. Default: nowhere."),
    Arg::keyword("LOG_SESSIONS", "bool", "Whether each mapping is logged too. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("nmappings", "Number of mappings."),
    Handler::read("nsessions", "Number of sessions: TCP connections, and what the filter lets in."),
    Handler::read("nsubscribers", "Number of subscribers that have a block."),
    Handler::read("nblocks", "Number of blocks that subscribers have."),
    Handler::read("nfragments", "Number of packets whose later fragments are awaited."),
    Handler::read("capacity", "Most mappings.").flags("alike"),
    Handler::read("mappings", "All mappings: protocol, inside, outside, and when they end.")
        .flags("expensive"),
    Handler::read("subscribers", "All subscribers: address, external address, and how much they have.")
        .flags("expensive"),
    Handler::read("blocks", "All blocks in use: subscriber, address, ports and number of mappings.")
        .flags("expensive"),
    Handler::read("utilisation", "How many blocks and ports of each external address are in use.")
        .flags("expensive"),
    Handler::read("failures", "Packets that were not translated, by reason."),
    Handler::read("log_lost", "Records that could not be written to the LOG."),
    Handler::read_param("table", "Mappings of a subscriber, or at an external ADDRESS:PORT."),
    Handler::read_param("lookup", "The block that an external ADDRESS:PORT is in, or a subscriber's blocks."),
    Handler::write("flush", "Ends all mappings, or those of the subscriber written.").flags("button"),
];

/// In the order of `Refusal`.
const DROPS: &[DropReason; N_REFUSALS] = &[
    DropReason::new("no-header", "No IPv4 header, or one of its or of what follows is cut off."),
    DropReason::new("not-subscriber", "From inside, but from an address that is not of INSIDE."),
    DropReason::new("not-external", "From outside to an address that is not of the POOL."),
    DropReason::new("protocol", "Neither TCP nor UDP nor an ICMP query or error."),
    DropReason::new("no-mapping", "To an external port that is nobody's, or about such a packet."),
    DropReason::new("filtered", "From an endpoint to which the subscriber has not sent."),
    DropReason::new(
        "out-of-state",
        "TCP without SYN that belongs to no connection, but for a RST from inside, which refuses one.",
    ),
    DropReason::new("port-limit", "The subscriber has no port left and may have no further block."),
    DropReason::new("no-block", "No block is free for the subscriber."),
    DropReason::new("capacity", "There are as many mappings or sessions as CAPACITY allows."),
    DropReason::new("session-limit", "The subscriber has as many sessions as SESSIONS allows."),
    DropReason::new("lost-fragment", "A later fragment whose first one has not come."),
];

/// The output of packets that are not translated.
const REFUSED: usize = 2;
/// Timer and list entries that are looked at before packets have their turn again.
const N_VISITS: usize = 4096;
/// How long what has ended may stay.
const LONGEST_PAUSE_NS: u64 = 1_000_000_000;
/// Pause after [`N_VISITS`] were not enough.
const SHORT_PAUSE_NS: u64 = 1_000_000;

/// See the page above.
pub struct CarrierNAT {
    nat: Nat,
    log_name: String,
    log: Option<Log>,
    /// Whether the log is one that another element has begun.
    goes_on: bool,
    timer: Option<TimerId>,
    is_ticking: bool,
    failures: [u64; N_REFUSALS],
    /// Storage for what a batch's headers say and what becomes of it.
    seen: Vec<Seen>,
    verdicts: Vec<Verdict>,
}

impl Element for CarrierNAT {
    fn configure(conf: &mut Configure<'_>) -> Result<CarrierNAT, Failed> {
        let settings = Settings::configure(conf);
        let log = LogSettings::configure(conf);
        conf.finish()?;
        let has_log = !log.name.is_empty();
        let journal = Journal::new(has_log, has_log && log.tells_mappings);
        Ok(CarrierNAT {
            nat: Nat::new(settings, journal),
            log_name: log.name,
            log: None,
            goes_on: false,
            timer: None,
            is_ticking: false,
            failures: [0; N_REFUSALS],
            seen: Vec::new(),
            verdicts: Vec::new(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.log_name.is_empty() && !self.goes_on {
            self.log = Some(Log::create(&self.log_name)?);
        }
        if self.nat.settings.is_random {
            // RFC 6056: ports that nobody can foretell are hard to hit. A seed of 0 would be none.
            let seed = u64::from(ctx.random()) << 32 | u64::from(ctx.random()) << 1 | 1;
            self.nat.pool.set_seed(seed);
        }
        self.timer = Some(ctx.new_timer());
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let now_ns = now_ns(ctx);
        self.verdicts.clear();
        for chunk in batch.chunks_mut(CHUNK) {
            self.translate(port, chunk, now_ns);
        }
        self.write_log(ctx);
        self.tick(ctx, now_ns);
        // Most batches go one way as a whole.
        let first = self.verdicts.first().copied().unwrap_or(Verdict::PASS);
        let output = (0..REFUSED).find(|output| first == Verdict::port(*output));
        if let Some(output) = output.filter(|_| self.verdicts.iter().all(|verdict| *verdict == first)) {
            return ctx.emit(output, batch);
        }
        let mut verdicts = self.verdicts.iter();
        ctx.push_each(batch, |_| verdicts.next().copied().unwrap_or(Verdict::drop(0)));
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        let now_ns = now_ns(ctx);
        self.is_ticking = false;
        let is_done = self.nat.expire(now_ns, N_VISITS);
        self.write_log(ctx);
        self.flush_log(ctx);
        if is_done {
            self.tick(ctx, now_ns);
        } else {
            self.tick_after(ctx, SHORT_PAUSE_NS);
        }
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        let (nat, now_ns) = (&self.nat, now_ns(ctx));
        Ok(match name {
            "nmappings" => nat.mappings.len().to_string(),
            "nsessions" => nat.sessions.len().to_string(),
            "nsubscribers" => nat.subscribers.len().to_string(),
            "nblocks" => nat.pool.n_assigned().to_string(),
            "nfragments" => nat.fragments.len().to_string(),
            "capacity" => nat.settings.capacity.to_string(),
            "mappings" => listing::mappings(nat, now_ns),
            "subscribers" => listing::subscribers(nat),
            "blocks" => listing::blocks(nat),
            "utilisation" => listing::utilisation(nat),
            "failures" => self.failures(),
            "log_lost" => self.log.as_ref().map_or(0, Log::n_lost).to_string(),
            "table" => listing::table(nat, param, now_ns)?,
            "lookup" => listing::lookup(nat, param)?,
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name != "flush" {
            return Err(format!("no {name} write handler"));
        }
        let address = match value.trim() {
            "" => None,
            text => Some(listing::address(text)?),
        };
        self.nat.flush(address, now_ns(ctx));
        self.write_log(ctx);
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        self.flush_log(ctx);
        self.log = None;
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<CarrierNAT>(ctx, old) else { return };
        let now_ns = now_ns(ctx);
        self.failures = old.failures;
        if self.goes_on {
            self.log = old.log.take();
        }
        self.nat.take_over(&mut old.nat, now_ns);
        self.write_log(ctx);
        old.cleanup(ctx);
        self.tick(ctx, now_ns);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<CarrierNAT>(old)
            .and_then(|old| old.log.as_ref())
            .is_some_and(|log| log.name() == self.log_name);
    }
}

/// The time of time-outs.
fn now_ns(ctx: &mut Ctx<'_>) -> u64 {
    u64::try_from(ctx.recent_steady_ns()).unwrap_or(0)
}

/// Says what is the matter with the log, if anything is.
fn tell(ctx: &mut Ctx<'_>, text: Option<String>) {
    if let Some(text) = text {
        ctx.chatter(&format!("{}: {text}", ctx.own_name()));
    }
}

impl CarrierNAT {
    /// Translates packets; the effect is that of translating them one by one.
    fn translate(&mut self, port: usize, packets: &mut [Packet], now_ns: u64) {
        self.seen.clear();
        self.seen.extend(packets.iter().map(look));
        self.nat.prepare(port, &mut self.seen);
        for (packet, seen) in packets.iter_mut().zip(&self.seen) {
            self.verdicts.push(match self.nat.plan(port, seen, packet.network(), now_ns) {
                Ok(planned) => {
                    rewrite::apply(packet, seen, &planned);
                    Verdict::port(planned.output)
                }
                Err(refusal) => {
                    let reason = refusal as usize;
                    self.failures[reason] += 1;
                    Verdict::port_or_drop(REFUSED, reason)
                }
            });
        }
    }

    fn write_log(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(log) = self.log.as_mut().filter(|_| !self.nat.journal.is_empty()) {
            let now_ns = ctx.now_ns();
            tell(ctx, log.write(&mut self.nat.journal, now_ns));
        }
    }

    fn flush_log(&mut self, ctx: &mut Ctx<'_>) {
        tell(ctx, self.log.as_mut().and_then(Log::flush));
    }

    /// Lets the timer run when something may have ended.
    fn tick(&mut self, ctx: &mut Ctx<'_>, now_ns: u64) {
        if self.is_ticking {
            return;
        }
        if let Some(next_ns) = self.nat.next_ns() {
            let pause_ns = next_ns.saturating_sub(now_ns).clamp(TICK_NS, LONGEST_PAUSE_NS);
            self.tick_after(ctx, pause_ns);
        }
    }

    fn tick_after(&mut self, ctx: &mut Ctx<'_>, pause_ns: u64) {
        if let Some(timer) = self.timer {
            ctx.schedule_after(timer, pause_ns as i64);
            self.is_ticking = true;
        }
    }

    fn failures(&self) -> String {
        let line = |(reason, n): (&DropReason, &u64)| format!("{} {n}\n", reason.name);
        DROPS.iter().zip(&self.failures).filter(|(_, n)| **n > 0).map(line).collect()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    /// Two subscribers ask a server, which answers; then one asks the other by its external address.
    const GRAPH: &str =
        "nat :: CarrierNAT(203.0.113.0/31, INSIDE 100.64.0.0/10, PORTS 2000-2999, BLOCK_SIZE 100,
            RANDOM false, UDP_TIMEOUT 10);
        inside :: CheckIPHeader -> [0]nat;
        nat[0] -> IPPrint(out) -> IPMirror -> back :: Null -> [1]nat;
        nat[1] -> CheckUDPHeader -> IPPrint(in) -> Discard;
        InfiniteSource(LENGTH 4, LIMIT 1) -> UDPIPEncap(100.64.0.1, 5000, 198.51.100.1, 53, true) -> inside;
        InfiniteSource(LENGTH 4, LIMIT 1) -> UDPIPEncap(100.64.0.2, 6000, 198.51.100.1, 53, true) -> inside;
        InfiniteSource(LENGTH 4, LIMIT 1) -> UDPIPEncap(100.64.0.2, 6000, 203.0.113.0, 2000, false) -> inside;
        InfiniteSource(LENGTH 4, LIMIT 2) -> UDPIPEncap(10.0.0.1, 5000, 198.51.100.1, 53, true) -> inside;
        InfiniteSource(LENGTH 4, LIMIT 1) -> UDPIPEncap(198.51.100.1, 53, 203.0.113.0, 2001, true)
            -> MarkIPHeader -> back;\n";

    #[test]
    fn subscribers_share_addresses_and_reach_each_other() {
        check_reading(
            &(GRAPH.to_string() + "DriverManager(wait 1, stop)"),
            &[
                "nat.nmappings",
                "nat.nsessions",
                "nat.nsubscribers",
                "nat.nblocks",
                "nat.nfragments",
                "nat.capacity",
                "nat.mappings",
                "nat.subscribers",
                "nat.blocks",
                "nat.utilisation",
                "nat.failures",
            ],
            expect![[r#"
                out: 1000000000.000000001: 203.0.113.0.2000 > 198.51.100.1.53: udp 12
                in: 1000000000.000000001: 198.51.100.1.53 > 100.64.0.1.5000: udp 12
                out: 1000000000.000000003: 203.0.113.1.2000 > 198.51.100.1.53: udp 12
                in: 1000000000.000000003: 198.51.100.1.53 > 100.64.0.2.6000: udp 12
                in: 1000000000.000000004: 203.0.113.1.2000 > 100.64.0.1.5000: udp 12
                nat.nmappings: 2
                nat.nsessions: 0
                nat.nsubscribers: 2
                nat.nblocks: 2
                nat.nfragments: 0
                nat.capacity: 4194304
                nat.mappings: udp 100.64.0.1:5000 203.0.113.0:2000 expires 10
                udp 100.64.0.2:6000 203.0.113.1:2000 expires 10

                nat.subscribers: 100.64.0.1 203.0.113.0 blocks 1 mappings 1 sessions 0
                100.64.0.2 203.0.113.1 blocks 1 mappings 1 sessions 0

                nat.blocks: 100.64.0.1 203.0.113.0 2000-2099 mappings 1
                100.64.0.2 203.0.113.1 2000-2099 mappings 1

                nat.utilisation: 203.0.113.0 blocks 1/10 tcp 0/1000 udp 1/1000 icmp 0/1000
                203.0.113.1 blocks 1/10 tcp 0/1000 udp 1/1000 icmp 0/1000

                nat.failures: not-subscriber 2
                no-mapping 1

            "#]],
        );
    }

    #[test]
    fn a_log_that_cannot_be_written_is_told_of() {
        let graph = "InfiniteSource(LENGTH 4, LIMIT 3, BURST 3) -> UDPIPEncap(100.64.0.1, 5000, 198.51.100.1, 53, true)
            -> CheckIPHeader -> nat :: CarrierNAT(203.0.113.0/31, LOG /dev/full, LOG_SESSIONS true) -> Discard;
            Idle -> [1] nat [1] -> Discard; DriverManager(wait 3, stop)";
        check_reading(
            graph,
            &["nat.nmappings", "nat.log_lost"],
            expect![[r#"
            nat: /dev/full: No space left on device; records get lost
            nat.nmappings: 1
            nat.log_lost: 0
        "#]],
        );
    }

    #[test]
    fn who_had_a_port_is_told() {
        check(
            &(GRAPH.to_string()
                + "DriverManager(wait 1, read nat.lookup 203.0.113.0:2000, read nat.lookup 203.0.113.0:2999,
                    read nat.lookup 100.64.0.2, read nat.lookup 100.64.0.3, read nat.table 203.0.113.1:2000,
                    read nat.table 100.64.0.1, read nat.table x, write nat.flush 100.64.0.1, read nat.blocks,
                    write nat.flush x, wait 10, read nat.nmappings, read nat.nblocks, stop)"),
            expect![[r#"
                out: 1000000000.000000001: 203.0.113.0.2000 > 198.51.100.1.53: udp 12
                in: 1000000000.000000001: 198.51.100.1.53 > 100.64.0.1.5000: udp 12
                out: 1000000000.000000003: 203.0.113.1.2000 > 198.51.100.1.53: udp 12
                in: 1000000000.000000003: 198.51.100.1.53 > 100.64.0.2.6000: udp 12
                in: 1000000000.000000004: 203.0.113.1.2000 > 100.64.0.1.5000: udp 12
                nat.lookup:
                100.64.0.1 203.0.113.0 2000-2099 mappings 1

                While executing 'DriverManager@20 :: DriverManager':
                  While calling 'nat.lookup 203.0.113.0:2999':
                    '203.0.113.0:2999' is nobody's
                nat.lookup:

                nat.lookup:
                100.64.0.2 203.0.113.1 2000-2099 mappings 1

                  While calling 'nat.lookup 100.64.0.3':
                    '100.64.0.3' has no block
                nat.lookup:

                nat.table:
                udp 100.64.0.2:6000 203.0.113.1:2000 expires 10

                nat.table:
                udp 100.64.0.1:5000 203.0.113.0:2000 expires 10

                  While calling 'nat.table x':
                    'x' is no address and no ADDRESS:PORT
                nat.table:

                nat.blocks:
                100.64.0.2 203.0.113.1 2000-2099 mappings 1

                  While calling 'nat.flush x':
                    'x' is no address and no ADDRESS:PORT
                nat.nmappings:
                0
                nat.nblocks:
                0
            "#]],
        );
    }

    #[test]
    fn refused_packets_leave_by_a_third_output() {
        check_reading(
            "nat :: CarrierNAT(203.0.113.1); Idle -> [1]nat; nat[0] -> Discard; nat[1] -> Discard;
             nat[2] -> IPPrint(refused) -> c :: Counter -> Discard;
             InfiniteSource(LENGTH 4, LIMIT 2) -> IPEncap(gre, 100.64.0.1, 198.51.100.1) -> [0]nat;
             DriverManager(wait 1, stop)",
            &["c.count", "nat.failures"],
            expect![[r#"
                refused: 1000000000.000000003: 100.64.0.1 > 198.51.100.1: ip-proto-47
                refused: 1000000000.000000006: 100.64.0.1 > 198.51.100.1: ip-proto-47
                c.count: 2
                nat.failures: protocol 2

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "nat :: CarrierNAT(203.0.113.1 x, INSIDE 10/33, PORTS 9-1, BLOCK_SIZE 0, FILTERING all, POOLING none);
             Idle -> nat -> Discard; Idle -> [1]nat[1] -> Discard;",
            expect![[r#"
                config:1: While configuring 'nat :: CarrierNAT':
                  POOL: bad addresses 'x'
                  INSIDE: bad prefix '10/33'
                  PORTS: must be LOW-HIGH, ports from 1 to 65535
                  BLOCK_SIZE: must be 1 to 64512, the number of PORTS
                  FILTERING: parse error
                  POOLING: parse error
                Router could not be initialized!
            "#]],
        );
        check(
            "nat :: CarrierNAT(BLOCKS 0, CAPACITY 0, UDP_TIMEOUT x, PORTS 1-10, BLOCK_SIZE 11, LOG /dev/null/x);
             Idle -> nat -> Discard; Idle -> [1]nat[1] -> Discard;",
            expect![[r#"
                config:1: While configuring 'nat :: CarrierNAT':
                  POOL: bad addresses 'BLOCKS'
                  BLOCK_SIZE: must be 1 to 10, the number of PORTS
                  CAPACITY: out of range, bound 1
                  UDP_TIMEOUT: parse error
                Router could not be initialized!
            "#]],
        );
        check(
            "a :: CarrierNAT(203.0.113.1, DETERMINISTIC true);
             b :: CarrierNAT(203.0.113.1, INSIDE 10.0.0.0/24, PORTS 1-10, BLOCK_SIZE 5, DETERMINISTIC true);
             Idle -> a -> Discard; Idle -> [1]a[1] -> Discard; Idle -> b -> Discard; Idle -> [1]b[1] -> Discard;",
            expect![[r#"
                config:1: While configuring 'a :: CarrierNAT':
                  DETERMINISTIC: needs INSIDE
                config:2: While configuring 'b :: CarrierNAT':
                  DETERMINISTIC: INSIDE has 256 addresses, the POOL 2 blocks
                Router could not be initialized!
            "#]],
        );
        check(
            "nat :: CarrierNAT(203.0.113.1, LOG /dev/null/x);
             Idle -> nat -> Discard; Idle -> [1]nat[1] -> Discard;",
            expect![[r#"
                config:1: While initializing 'nat :: CarrierNAT':
                  /dev/null/x: Not a directory
                Router could not be initialized!
            "#]],
        );
    }
}
