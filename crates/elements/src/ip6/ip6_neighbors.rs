//! Puts Ethernet headers in front of IPv6 packets, finding neighbors as a router's interface does.
//!
//! Packets on input 0 go to the neighbor in their destination annotation. If its Ethernet address is known they leave by output 0
//! with a header; else they wait, and a neighbor solicitation leaves by output 0, at most three of them a second apart. If nobody
//! answers, the packets leave by output 1 without a header, or are dropped: an `ICMP6Errors` may tell their senders that the address is
//! unreachable. Packets to groups need no asking.
//!
//! Messages of neighbor discovery, with their Ethernet headers, come in on input 1. Solicitations for one of ADDRESSES are answered,
//! also those of hosts that are about to take an address themselves, and those for the address of any router in their networks.
//! Who is asked for, how long an answer is good, and whose word counts, is as RFC 4861 says (section 7): a neighbor that is spoken to
//! is asked again, by itself, when it has not shown for REACHABLE_TIME that it is there. Messages of hosts that are on none of the
//! networks of ADDRESSES are dropped.
//!
//! Who asks for many hosts that are not there pushes out only others that have not answered (RFC 6583).
//!
//! ```click
//! Idle -> [0]nd :: IP6Neighbors(2:0:0:0:0:1, fe80::1/64 2001:db8::1/64) -> Queue -> ToDevice(eth0);
//! nd[1] -> Discard;
//! FromDevice(eth0) -> in :: Classifier(12/86dd 20/3a 54/87, 12/86dd 20/3a 54/88, -);
//! in[0], in[1] => [1]nd, [1]nd;
//! in[2] -> Discard;
//! ```

mod messages;
mod outgoing;

use std::collections::VecDeque;
use std::net::Ipv6Addr;

use args::{Args, EtherAddr};
use element::{
    annotation, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Saved,
    TimerId,
};

use super::discovery;
use super::icmp_message::put_ethernet;
use super::neighbor::group_mac;
use super::neighbor_cache::{Due, Limits, NeighborCache};
use super::own_addresses::OwnAddresses;
use outgoing::Outgoing;

/// The class.
pub const CLASS: Class = Class::new::<IP6Neighbors>("IP6Neighbors", "2/1-2", "h/h", "xy/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] = &[
    Arg::required("ETH", "Ethernet address", "The interface's Ethernet address."),
    Arg::required(
        "ADDRESSES",
        "list of IPv6 prefixes",
        "Its addresses with their networks, one of them link-local.",
    ),
    Arg::keyword("CAPACITY", "unsigned", "Most packets that wait. Default 2048."),
    Arg::keyword(
        "ENTRY_PACKET_CAPACITY",
        "unsigned",
        "Most packets that wait for one neighbor. Default 128.",
    ),
    Arg::keyword("ENTRY_CAPACITY", "unsigned", "Most neighbors. Default 65536."),
    Arg::keyword("UNANSWERED_CAPACITY", "unsigned", "Most neighbors that have not answered. Default 2048."),
    Arg::keyword("REACHABLE_TIME", "seconds", "How long an answer is good. Default 30."),
    Arg::keyword("RETRANS_TIMER", "seconds", "How long to wait for an answer. Default 1."),
];

const HANDLERS: &[Handler] = &[
    Handler::read(
        "table",
        "The neighbors: address, state, Ethernet address, host or router, seconds since it showed last that it is there, packets that wait.",
    ),
    Handler::read("count", "Number of neighbors."),
    Handler::read("length", "Packets that wait."),
    Handler::read("queries", "Solicitations sent."),
    Handler::read("answers", "Solicitations answered."),
    Handler::read("duplicates", "Messages of others that have one of ADDRESSES."),
    Handler::write("insert", "Notes a neighbor: address and Ethernet address."),
    Handler::write("delete", "Forgets a neighbor."),
    Handler::write("clear", "Forgets all neighbors."),
];

const INSERT_ARGS: &[Arg] = &[
    Arg::required("IP", "IPv6 address", "The neighbor."),
    Arg::required("ETH", "Ethernet address", "Its Ethernet address."),
];
const DELETE_ARGS: &[Arg] = &[Arg::required("IP", "IPv6 address", "The neighbor.")];

const WAITED: usize = 0;
const NO_ANSWER: usize = 1;
const INVALID: usize = 2;
const OFF_LINK: usize = 3;
const DUPLICATE: usize = 4;
const DROPS: &[DropReason] = &[
    DropReason::new("waited", "Too many packets waited for an address."),
    DropReason::new("no-answer", "The neighbor did not answer, and there is no output 1."),
    DropReason::new("invalid", "No valid message of neighbor discovery."),
    DropReason::new("off-link", "A message of a host that is on none of the networks."),
    DropReason::new("duplicate", "A message of another station that has one of the addresses."),
];

const MS_NS: i64 = 1_000_000;

/// See the page above.
pub struct IP6Neighbors {
    mac: [u8; 6],
    own: OwnAddresses,
    /// Which of them solicitations come from.
    source: Ipv6Addr,
    cache: NeighborCache,
    timer: Option<TimerId>,
    n_queries: u64,
    n_answers: u64,
    n_duplicates: u64,
}

impl Element for IP6Neighbors {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6Neighbors, Failed> {
        let EtherAddr(mac) = conf.args.need("ETH");
        let own = conf.args.need_with("ADDRESSES", OwnAddresses::parse).unwrap_or_default();
        let limits = Limits::read(conf);
        let source = own.link_local();
        if source.is_none() && conf.args.is_ok() {
            conf.args.fail("ADDRESSES: expected an address");
        }
        conf.finish()?;
        let source = source.unwrap_or(Ipv6Addr::UNSPECIFIED);
        let cache = NeighborCache::new(limits);
        let (timer, n_queries, n_answers, n_duplicates) = (None, 0, 0, 0);
        Ok(IP6Neighbors { mac, own, source, cache, timer, n_queries, n_answers, n_duplicates })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.timer = Some(ctx.new_timer());
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        let now = now_ms(ctx);
        let mut outgoing = Outgoing::default();
        while let Some(due) = self.cache.take_due(now) {
            match due {
                Due::Ask(ip) => self.ask(ctx, ip, &mut outgoing),
                Due::Probe(ip, mac) => {
                    self.n_queries += 1;
                    outgoing.push(ctx, 0, discovery::probe([self.mac, mac], self.source, ip));
                }
                Due::GiveUp(packets) => {
                    packets.into_iter().for_each(|packet| outgoing.push(ctx, 1, packet));
                }
            }
        }
        outgoing.emit(ctx);
        self.wake_when_due(ctx);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let now = now_ms(ctx);
        let mut outgoing = Outgoing::default();
        for packet in batch.drain() {
            match port {
                0 => self.route(ctx, packet, now, &mut outgoing),
                _ => self.receive(ctx, packet, now, &mut outgoing),
            }
        }
        outgoing.emit(ctx);
        self.wake_when_due(ctx);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "table" => self.cache.table(now_ms(ctx)),
            "count" => self.cache.n_neighbors().to_string(),
            "length" => self.cache.n_packets().to_string(),
            "queries" => self.n_queries.to_string(),
            "answers" => self.n_answers.to_string(),
            "duplicates" => self.n_duplicates.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "insert" => {
                let (ip, EtherAddr(mac)) =
                    words(ctx, value, INSERT_ARGS, |args| (args.need("IP"), args.need("ETH")))?;
                let now = now_ms(ctx);
                let packets = self.cache.note(ip, mac, now);
                let mut outgoing = Outgoing::default();
                self.release(ctx, packets, mac, &mut outgoing);
                outgoing.emit(ctx);
            }
            "delete" => {
                let ip: Ipv6Addr = words(ctx, value, DELETE_ARGS, |args| args.need("IP"))?;
                self.cache.retain(|neighbor| neighbor != ip);
            }
            "clear" => self.cache.retain(|_| false),
            _ => return Err(format!("no {name} write handler")),
        }
        self.wake_when_due(ctx);
        Ok(())
    }

    /// Neighbors stay as far as they are on a network of this one.
    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<IP6Neighbors>(ctx, old) else { return };
        old.cache.limits = self.cache.limits;
        self.cache = old.cache;
        let own = &self.own;
        self.cache.retain(|ip| own.is_on_link(ip) && !own.contains(ip));
        (self.n_queries, self.n_answers, self.n_duplicates) =
            (old.n_queries, old.n_answers, old.n_duplicates);
        self.wake_when_due(ctx);
    }

    fn save_state(&mut self, _ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        Some(self.cache.save_state(from))
    }

    fn restore_state(&mut self, ctx: &mut Ctx<'_>, line: &str, _passed_ms: i64) -> Result<(), String> {
        let (now, own) = (now_ms(ctx), &self.own);
        self.cache.restore_state(line, now, |ip| own.is_on_link(ip) && !own.contains(ip))
    }
}

impl IP6Neighbors {
    /// Sends a packet with a header on its way, or lets it wait.
    #[inline]
    fn route(&mut self, ctx: &mut Ctx<'_>, mut packet: Packet, now: i64, outgoing: &mut Outgoing) {
        let ip = Ipv6Addr::from(packet.anno::<16>(annotation::DST_IP6));
        let known = match ip.is_multicast() {
            true => Some(group_mac(ip)),
            false => self.cache.lookup(ip, now),
        };
        if let Some(mac) = known {
            put_ethernet(&mut packet, mac, self.mac);
            outgoing.push(ctx, 0, packet);
        } else if self.cache.wait(ip, packet, now) {
            self.ask(ctx, ip, outgoing);
        }
    }

    /// Sends packets that waited.
    fn release(
        &mut self,
        ctx: &mut Ctx<'_>,
        packets: VecDeque<Packet>,
        mac: [u8; 6],
        outgoing: &mut Outgoing,
    ) {
        for mut packet in packets {
            put_ethernet(&mut packet, mac, self.mac);
            outgoing.push(ctx, 0, packet);
        }
    }

    /// Asks the link for a neighbor.
    fn ask(&mut self, ctx: &mut Ctx<'_>, ip: Ipv6Addr, outgoing: &mut Outgoing) {
        self.n_queries += 1;
        outgoing.push(ctx, 0, discovery::question(self.mac, self.source, ip));
    }

    /// Counts what there was no room for, and sets the timer to when something is to be done next.
    fn wake_when_due(&mut self, ctx: &mut Ctx<'_>) {
        for packet in self.cache.take_dropped() {
            ctx.drop_packet(WAITED, packet);
        }
        let Some(timer) = self.timer else { return };
        match self.cache.next_due() {
            None if ctx.timer_is_scheduled(timer) => ctx.unschedule_timer(timer),
            None => {}
            Some(due_ms) => {
                let due_ns = due_ms.saturating_mul(MS_NS);
                if !ctx.timer_is_scheduled(timer) || ctx.timer_expiry(timer) != due_ns {
                    ctx.schedule_at(timer, due_ns);
                }
            }
        }
    }
}

/// Steady time in whole milliseconds.
fn now_ms(ctx: &mut Ctx<'_>) -> i64 {
    ctx.steady_ns().div_euclid(MS_NS)
}

/// Reads a handler's words.
fn words<T>(
    ctx: &Ctx<'_>,
    value: &str,
    facts: &[Arg],
    read: impl FnOnce(&mut Args<'_>) -> T,
) -> Result<T, String> {
    let scope = ctx.scope();
    let mut args = Args::from_words(value, facts, &scope);
    let found = read(&mut args);
    args.finish().map_err(|errors| errors.join("\n"))?;
    Ok(found)
}

#[cfg(test)]
mod tests;
