//! Ends many GRE tunnels: tells them apart by sender and key, and keeps an account and a rate of each.
//!
//! Outer IP packets come in by input 0. The tunnel is the one with the packet's source and key; the packet in it leaves by output
//! 1 without outer headers, marked, with the destination annotation set and the tunnel's number as aggregate annotation. Its
//! source must lie in one of the tunnel's prefixes. IP packets for the other sides of tunnels come in by input 1; the longest
//! prefix that holds their destination tells the tunnel, and they leave by output 0 with outer headers. What is not GRE
//! leaves by output 2, and what no prefix holds by output 3, if those outputs are there.
//!
//! TUNNEL, which may be given several times, is `NAME REMOTE KEY|- PREFIX... [RATE UP [DOWN]]`; tunnels have the numbers 1, 2, ...
//! in that order. Rates are up, from the tunnel, and down. ACCOUNTING is a file to which a line of JSON is written for each tunnel
//! at the beginning, from time to time, and at the end; names are attributes of RADIUS (RFC 2866).
//!
//! ```click
//! t :: GRETunnels(192.0.2.1, TUNNEL paris 198.51.100.1 7 10.1.0.0/16, TUNNEL rome 198.51.100.2 - 10.2.0.0/16 RATE 1Mbps);
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> t; Idle -> [1] t; t[1] -> Discard; t -> Discard;
//! ```

mod accounts;
mod plan;
mod tunnel;

use std::net::Ipv4Addr;

use args::{Filename, Seconds};
use element::{
    annotation, same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler,
    Packet, Role, TimerId, Verdict,
};
use table::flow::FlowTable;
use table::lpm::{Lpm4, Prefix};
use wire::Ipv4;

use crate::accounting::{Journal, Now, Rate, Status, Traffic};
use crate::gre::{self, Encapsulation, Fault, Header};
use plan::Plan;
use tunnel::Tunnel;

/// The class.
pub const CLASS: Class = Class::new::<GreTunnels>("GRETunnels", "2/2-4", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::required("LOCAL", "IP address", "Where the tunnels end: the outer source of what is sent."),
    Arg::keyword("TUNNEL", "words", "A tunnel; may be given several times."),
    Arg::keyword(
        "RATE",
        "bandwidths",
        "Rates up and down of tunnels that have none of their own. Default no limit.",
    ),
    Arg::keyword("SEQUENCE", "bool", "Whether packets are numbered, and must come in order. Default false."),
    Arg::keyword("CHECKSUM", "bool", "Whether packets that are sent have a checksum. Default false."),
    Arg::keyword("TTL", "unsigned", "Outer time to live. Default 64."),
    Arg::keyword("ACCOUNTING", "file name", "The file of accounting records; `-` is standard output."),
    Arg::keyword("INTERIM", "time in sec", "Time between interim records; 0 for none. Default 300."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("tunnels", "The tunnels: number, name, remote address, key, then packets, bytes and drops up and down, spoofed and late packets."),
    Handler::read_param("lookup", "The tunnel of a name or an inner address, as `tunnels` lists it."),
    Handler::read("count", "Number of tunnels.").flags("alike"),
];

const DROPS: &[DropReason] = &[
    DropReason::new(
        "not-gre",
        "The packet is not GRE for this address or is a fragment, and there is no output 2.",
    ),
    DropReason::new(
        "malformed",
        "The GRE header ends early, is of another version, or what is inside is not IPv4.",
    ),
    DropReason::new("checksum", "The checksum is wrong."),
    DropReason::new("no-tunnel", "No tunnel has this source and key."),
    DropReason::new("order", "The number is not after the last one, or missing."),
    DropReason::new("spoofed", "The inner source is in none of the tunnel's prefixes."),
    DropReason::new("over-rate-up", "The packet is over the tunnel's rate from the other side."),
    DropReason::new("over-rate-down", "The packet is over the tunnel's rate to the other side."),
    DropReason::new("no-route", "No prefix holds the destination, and there is no output 3."),
    DropReason::new("too-long", "With its headers it would be longer than an IPv4 packet can be."),
];
const NOT_GRE: usize = 0;
const MALFORMED: usize = 1;
const CHECKSUM: usize = 2;
const NO_TUNNEL: usize = 3;
const ORDER: usize = 4;
const SPOOFED: usize = 5;
const OVER_UP: usize = 6;
const OVER_DOWN: usize = 7;
const NO_ROUTE: usize = 8;
const TOO_LONG: usize = 9;

/// What tells tunnels apart: sender and key, all ones standing for none.
type TunnelKey = (u32, u64);

fn tunnel_key(remote: Ipv4Addr, key: Option<u32>) -> TunnelKey {
    (remote.to_bits(), key.map_or(u64::MAX, u64::from))
}

/// See the page above.
pub struct GreTunnels {
    local: Ipv4Addr,
    is_numbered: bool,
    tunnels: Vec<Tunnel>,
    by_key: FlowTable<TunnelKey, u32>,
    routes: Lpm4,
    rates: Vec<(Rate, Rate)>,
    filename: String,
    journal: Journal,
    /// Whether accounts are those that another element has begun.
    goes_on: bool,
    interim_ns: i64,
}

impl Element for GreTunnels {
    fn configure(conf: &mut Configure<'_>) -> Result<GreTunnels, Failed> {
        let local: Ipv4Addr = conf.args.need("LOCAL");
        let plans = conf.args.multiple_with("TUNNEL", Plan::parse);
        let rates = conf.args.get_with("RATE", Rate::parse_arg).unwrap_or_default();
        let is_numbered = conf.args.get_or("SEQUENCE", false);
        let has_checksum = conf.args.get_or("CHECKSUM", false);
        let ttl = conf.args.get_or("TTL", 64);
        let Filename(filename) = conf.args.get_or("ACCOUNTING", Filename::default());
        let Seconds::<3>(interim_ms) = conf.args.get_or("INTERIM", Seconds(300_000));
        let mut element = GreTunnels {
            local,
            is_numbered,
            tunnels: Vec::new(),
            by_key: FlowTable::new(u32::MAX),
            routes: Lpm4::new(),
            rates: Vec::new(),
            filename: conf.file_of_replica(filename),
            journal: Journal::default(),
            goes_on: false,
            interim_ns: i64::from(interim_ms) * 1_000_000,
        };
        let next_sequence = is_numbered.then_some(0);
        for plan in plans {
            let (protocol, tos) = (Some(wire::ethertype::IPV4), None);
            let (destination, key) = (plan.remote, plan.key);
            let header = Encapsulation {
                source: local,
                destination,
                protocol,
                key,
                next_sequence,
                has_checksum,
                ttl,
                tos,
                has_df: false,
                next_id: 0,
            };
            element.rates.push(plan.rates.unwrap_or(rates));
            if let Err(error) = element.add(plan, header) {
                conf.args.error("TUNNEL", error);
            }
        }
        conf.finish()?;
        Ok(element)
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let now = Now::of(ctx);
        for (tunnel, (up, down)) in self.tunnels.iter_mut().zip(&self.rates) {
            (tunnel.up, tunnel.down) =
                (Traffic::limited(*up, now.steady_ns), Traffic::limited(*down, now.steady_ns));
        }
        if !self.goes_on {
            self.journal.open(&self.filename)?;
            (0..self.tunnels.len()).for_each(|idx| self.begin(idx, now));
            self.journal.flush(ctx);
        }
        if self.interim_ns > 0 && !self.filename.is_empty() {
            let timer = ctx.new_timer();
            ctx.schedule_after(timer, self.interim_ns);
        }
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let now_ns = ctx.recent_steady_ns();
        match port {
            0 => ctx.spread(batch, |_, packet| self.take_out(packet, now_ns)),
            _ => ctx.push_each(batch, |packet| self.put_in(packet, now_ns)),
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let now = Now::of(ctx);
        self.record(ctx, Status::Interim, now);
        ctx.reschedule_after(timer, self.interim_ns);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        Ok(match name {
            "tunnels" => (0..self.tunnels.len()).filter_map(|idx| self.describe(idx)).collect(),
            "lookup" => {
                let param = param.trim();
                let routed =
                    param.parse().ok().and_then(|address: Ipv4Addr| self.routes.lookup(address.to_bits()));
                let named = self.tunnels.iter().position(|tunnel| tunnel.name == param);
                let found = named.or(routed.map(|idx| idx as usize));
                found.and_then(|idx| self.describe(idx)).unwrap_or_default()
            }
            "count" => self.tunnels.len().to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        let now = Now::of(ctx);
        self.record(ctx, Status::Stop("NAS-Reboot"), now);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<GreTunnels>(ctx, old) else { return };
        if self.goes_on {
            let now = Now::of(ctx);
            return self.go_on_from(ctx, &mut old, now);
        }
        // Its accounts end in another file, but not the tunnels.
        for tunnel in &mut self.tunnels {
            if let Some(known) = old.tunnels.iter().find(|old| old.is_same(tunnel)) {
                tunnel.go_on_from(known);
            }
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<GreTunnels>(old).is_some_and(|old| old.filename == self.filename);
    }
}

impl GreTunnels {
    fn add(&mut self, plan: Plan, header: Encapsulation) -> Result<(), String> {
        let Plan { name, remote, key, prefixes, .. } = plan;
        let idx = self.tunnels.len() as u32;
        if self.by_key.find(&tunnel_key(remote, key)).is_some() {
            return Err(format!("`{name}` has the address and key of another"));
        }
        if self.by_key.insert(tunnel_key(remote, key), idx).is_err() {
            return Err("too many".to_string());
        }
        for prefix in prefixes {
            let len = prefix.len().unwrap_or(32) as u8;
            let Some(route) = Prefix::new(prefix.network().to_bits(), len) else { continue };
            if self.routes.get(route).is_some() {
                return Err(format!("`{name}` has the prefix {prefix} of another"));
            }
            self.routes.insert(route, idx).map_err(|_| "too many".to_string())?;
        }
        let (up, down) = (Traffic::default(), Traffic::default());
        let (account, began_ns) = (String::new(), 0);
        let (last, n_spoofed, n_late) = (None, 0, 0);
        self.tunnels.push(Tunnel { name, header, last, up, down, n_spoofed, n_late, account, began_ns });
        Ok(())
    }

    /// Takes a packet out of its tunnel.
    #[inline(always)]
    fn take_out(&mut self, packet: &mut Packet, now_ns: i64) -> Verdict {
        let header = match Header::of(packet) {
            Ok(header) if header.destination == self.local => header,
            Ok(_) | Err(Fault::NotGre) => return Verdict::port_or_drop(2, NOT_GRE),
            Err(Fault::Malformed) => return Verdict::drop(MALFORMED),
            Err(Fault::Checksum) => return Verdict::drop(CHECKSUM),
        };
        let inner = packet.data().get(header.len..header.end).and_then(Ipv4::new);
        let inner = inner.filter(|_| header.protocol == wire::ethertype::IPV4);
        let Some((source, len)) = inner.map(|ip| (ip.source(), ip.as_bytes().len())) else {
            return Verdict::drop(MALFORMED);
        };
        let idx = self.by_key.find(&tunnel_key(header.source, header.key));
        let idx = idx.and_then(|idx| self.by_key.get(idx)).map(|(_, idx)| *idx);
        let Some((idx, tunnel)) = idx.and_then(|idx| Some((idx, self.tunnels.get_mut(idx as usize)?))) else {
            return Verdict::drop(NO_TUNNEL);
        };
        if self.is_numbered {
            match header.sequence.filter(|sequence| gre::is_in_order(tunnel.last, *sequence)) {
                Some(sequence) => tunnel.last = Some(sequence),
                None => {
                    tunnel.n_late += 1;
                    return Verdict::drop(ORDER);
                }
            }
        }
        if self.routes.lookup(source.to_bits()) != Some(idx) {
            tunnel.n_spoofed += 1;
            return Verdict::drop(SPOOFED);
        }
        if !tunnel.up.take(len, now_ns) {
            return Verdict::drop(OVER_UP);
        }
        gre::strip(packet, &header);
        packet.set_anno_u32(annotation::AGGREGATE, idx + 1);
        Verdict::port(1)
    }

    /// Puts a packet into the tunnel that leads to its destination.
    #[inline(always)]
    fn put_in(&mut self, packet: &mut Packet, now_ns: i64) -> Verdict {
        let destination = Ipv4::new(packet.data()).map(|ip| ip.destination().to_bits());
        let idx = destination.and_then(|destination| self.routes.lookup(destination));
        let Some(tunnel) = idx.and_then(|idx| self.tunnels.get_mut(idx as usize)) else {
            return Verdict::port_or_drop(3, NO_ROUTE);
        };
        if packet.len() + tunnel.header.overhead() > usize::from(u16::MAX) {
            return Verdict::drop(TOO_LONG);
        }
        if !tunnel.down.take(packet.len(), now_ns) {
            return Verdict::drop(OVER_DOWN);
        }
        match tunnel.header.put(packet) {
            Ok(()) => Verdict::PASS,
            Err(_) => Verdict::drop(TOO_LONG),
        }
    }

    /// A tunnel, in a line.
    fn describe(&self, idx: usize) -> Option<String> {
        let Tunnel { name, header, up, down, n_spoofed, n_late, .. } = self.tunnels.get(idx)?;
        let key = header.key.map_or("-".to_string(), |key| key.to_string());
        Some(format!(
            "{} {} {} {key} {} {} {} {} {} {} {n_spoofed} {n_late}\n",
            idx + 1,
            name,
            header.destination,
            up.n_packets,
            up.n_bytes,
            up.n_over,
            down.n_packets,
            down.n_bytes,
            down.n_over
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    /// What five senders get through, by the addresses inside and the keys.
    fn check_tunnels(sequence: &str, expect: expect_test::Expect) {
        let inner =
            |from: &str| format!("InfiniteSource(LIMIT 9, LENGTH 900) -> UDPIPEncap({from}, 1, 9.9.9.9, 2)");
        check_reading(
            &format!(
                "t :: GRETunnels(1.0.0.1, TUNNEL paris 2.0.0.1 7 10.1.0.0/16,
                     TUNNEL rome 2.0.0.1 - 10.2.0.0/16 10.1.9.0/24 RATE 1kBps, SEQUENCE {sequence});
                 {} -> GREEncap(2.0.0.1, 1.0.0.1, KEY 7, SEQUENCE true) -> t;
                 {} -> GREEncap(2.0.0.1, 1.0.0.1, SEQUENCE true) -> t;
                 {} -> GREEncap(2.0.0.1, 1.0.0.1, KEY 7, SEQUENCE true) -> t;
                 {} -> GREEncap(2.0.0.1, 1.0.0.1, KEY 8) -> t;
                 {} -> t;
                 t -> out :: Counter -> Discard; t[1] -> IPMirror -> [1] t; t[2] -> rest :: Counter -> Discard;
                 DriverManager(wait 1s, print $(t.lookup 10.1.9.9), print $(t.lookup paris), stop)",
                inner("10.1.0.1"),
                inner("10.1.9.1"),
                inner("10.2.0.1"),
                inner("10.1.0.1"),
                inner("10.1.0.1"),
            ),
            &["t.tunnels", "t.count", "out.count", "rest.count"],
            expect,
        );
    }

    #[test]
    fn tunnels_are_told_apart_by_sender_and_key() {
        check_tunnels(
            "false",
            expect![[r#"
            t.tunnels: 1 paris 2.0.0.1 7 9 8352 0 9 8352 0 9 0
            2 rome 2.0.0.1 - 6 5568 3 6 5568 0 0 0

            t.count: 2
            out.count: 15
            rest.count: 9
        "#]],
        );
    }

    #[test]
    fn late_packets_of_a_tunnel_are_dropped() {
        check_tunnels(
            "true",
            expect![[r#"
            t.tunnels: 1 paris 2.0.0.1 7 9 8352 0 9 8352 0 0 9
            2 rome 2.0.0.1 - 6 5568 3 6 5568 0 0 0

            t.count: 2
            out.count: 15
            rest.count: 9
        "#]],
        );
    }

    #[test]
    fn no_two_tunnels_share_what_tells_them_apart() {
        check_reading(
            "t :: GRETunnels(1.0.0.1, TUNNEL a 2.0.0.1 7 10.1.0.0/16, TUNNEL b 2.0.0.1 7, TUNNEL c 2.0.0.2 7 10.1.0.0/16, TUNNEL d);
               Idle -> t -> Discard; Idle -> [1] t[1] -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 't :: GRETunnels':
                  TUNNEL: expected `NAME REMOTE KEY|- PREFIX... [RATE UP [DOWN]]`
                  TUNNEL: `b` has the address and key of another
                  TUNNEL: `c` has the prefix 10.1.0.0/16 of another
                Router could not be initialized!
            "#]],
        );
    }
}
