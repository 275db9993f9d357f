//! Puts Ethernet headers in front of IPv4 packets, asking for addresses by ARP.
//!
//! Packets on input 0 go to the host in their destination annotation. If its Ethernet address is known they leave by output 0 with a
//! header; else they wait, and an ARP request leaves by the last output. ARP replies, with their Ethernet headers, come in on input
//! 1. Broadcast and multicast addresses need no asking; packets for 0.0.0.0 are dropped.
//!
//! If this host has addresses in several networks of the link, NETWORKS names them: another host is asked for by the address in its
//! network.
//!
//! With REQUESTS, which Click does not have, ARP requests may come in on input 1, too. A host that asks tells its address as well: the
//! entry of one that has another address now, or whose place another has taken, is right at once, not when it is forgotten.
//!
//! ```click
//! Idle -> [0]arp :: ARPQuerier(1.0.0.1/24, 1:1:1:1:1:1) -> Queue -> ToDevice(eth0);
//! FromDevice(eth0) -> Classifier(12/0806 20/0002) -> [1]arp;
//! ```

mod resolving;

use std::net::Ipv4Addr;
use std::sync::{Arc, Mutex};

use args::{Args, EtherAddr, Timestamp};
use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed, Handler,
    Refusal, Saved, TimerId,
};

use crate::ip::own_networks::OwnNetworks;

use super::arp_cache::limits::{self, milliseconds, Limits, NamedLimits, NO_SLIM_FACTOR};
use super::arp_cache::shared::{locked, now_ms, run_timer, schedule, Shared};
use super::arp_cache::ArpCache;
use super::arp_table::ARPTable;
use super::leaving::Leaving;

/// The class.
pub const CLASS: Class = Class::new::<ARPQuerier>("ARPQuerier", "2/1-2", "h/h", "xy/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread), ("insert", Refusal::Failed), ("delete", Refusal::Failed)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("IP", "IP address or prefix", "This host's address."),
    Arg::required("ETH", "Ethernet address", "This host's Ethernet address; if missing, IP names both."),
    limits::CAPACITY,
    limits::ENTRY_CAPACITY,
    limits::ENTRY_PACKET_CAPACITY,
    limits::CAPACITY_SLIM_FACTOR,
    limits::TIMEOUT,
    Arg::keyword("BROADCAST", "IP address", "The broadcast address. Default that of IP's prefix."),
    Arg::keyword("TABLE", "ARPTable", "An element to share entries with. Default none."),
    Arg::keyword(
        "POLL_TIMEOUT",
        "seconds",
        "Age at which an entry is asked for again; 0 is never. Default 60.",
    ),
    Arg::keyword("BROADCAST_POLL", "bool", "Whether to ask again by broadcast. Default false."),
    Arg::keyword(
        "NETWORKS",
        "list of prefixes",
        "This host's addresses instead of IP in their networks. Default none.",
    ),
    Arg::keyword(
        "REQUESTS",
        "bool",
        "Whether requests on input 1 renew the entries of those who ask (RFC 826). Default false.",
    ),
];

/// The addresses are read when all keywords are right, and one that stands alone is read as both.
const ADDRESSES: &[Arg] = ARGS.split_at(2).0;
const KEYWORDS: &[Arg] = ARGS.split_at(2).1;

const HANDLERS: &[Handler] = &[
    Handler::read(
        "table",
        "The entries: host, 1 if its address is good, address, seconds since it was noted.",
    ),
    Handler::read("stats", "Packets dropped and queries sent, in words."),
    Handler::read("count", "Number of entries."),
    Handler::read("length", "Packets that wait."),
    Handler::read("queries", "Queries sent."),
    Handler::read("responses", "Replies received."),
    Handler::read("drops", "Packets dropped that did not wait."),
    Handler::read_write("broadcast", "The broadcast address."),
    Handler::read_write("ipaddr", "This host's address."),
    Handler::write("insert", "Adds an entry: host and Ethernet address."),
    Handler::write("delete", "Forgets the address of a host."),
    Handler::write("clear", "Drops all entries and sets the counts to 0."),
];

const NO_DESTINATION: usize = 0;
const NO_ADDRESS: usize = 1;
const WAITED: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("no-destination", "The packet has no destination annotation."),
    DropReason::new("no-address", "This host's own address is 0.0.0.0."),
    DropReason::new("waited", "Too many packets waited for an address, or it did not come in time."),
];

/// See the page above.
pub struct ARPQuerier {
    cache: Shared,
    table: Option<ElementIdx>,
    ip: Ipv4Addr,
    address: EtherAddr,
    broadcast: Ipv4Addr,
    networks: OwnNetworks,
    hears_requests: bool,
    poll_ms: i64,
    polls_by_broadcast: bool,
    /// Whether the two above are named.
    names_poll: [bool; 2],
    n_queries: u32,
    n_drops: u32,
    n_responses: u32,
    is_warned: bool,
    /// Of its own cache.
    limits: NamedLimits,
    /// Whether its handler `config` was written: what that does not name stays as it is.
    is_rewritten: bool,
    /// Looks for expired entries of its own cache; made when the element is initialised.
    timer: Option<TimerId>,
}

impl Element for ARPQuerier {
    fn configure(conf: &mut Configure<'_>) -> Result<ARPQuerier, Failed> {
        conf.args = Args::new(conf.config, KEYWORDS, conf.scope);
        let is_rewritten = conf.environment.is_alone();
        let mut limits = NamedLimits::read(conf);
        let broadcast = conf.args.get("BROADCAST");
        // As in Click, `config` does not change the table, whatever it says of it.
        let table = if is_rewritten { None } else { table(conf) };
        let has_no_slim_factor = limits.slim_factor == Some(0);
        let names_poll = ["POLL_TIMEOUT", "BROADCAST_POLL"].map(|name| conf.args.is_given(name));
        let poll_ms = milliseconds(conf.args.get_or("POLL_TIMEOUT", Timestamp::new(60, 0)));
        let polls_by_broadcast = conf.args.get_or("BROADCAST_POLL", false);
        let networks = conf.args.get_with("NETWORKS", OwnNetworks::parse).unwrap_or_default();
        let hears_requests = conf.args.get_or("REQUESTS", false);
        let mut addresses = conf.args.rest();
        if let [both] = addresses.as_slice() {
            addresses.push(both.clone());
        }
        conf.go_on_with(addresses, ADDRESSES)?;
        if has_no_slim_factor && !is_rewritten && table.is_none() {
            // As in Click: told, but no reason to refuse the element.
            conf.note(NO_SLIM_FACTOR);
            limits.timeout_ms = Some(0);
        }
        let prefix = conf.args.need_with("IP", args::prefix_or_address);
        let address: EtherAddr = conf.args.need("ETH");
        if has_no_slim_factor && is_rewritten {
            conf.args.fail(NO_SLIM_FACTOR);
        }
        conf.finish()?;
        let (ip, mask) =
            prefix.map_or((Ipv4Addr::UNSPECIFIED, Ipv4Addr::BROADCAST), |prefix| (prefix.addr, prefix.mask));
        let broadcast = broadcast.unwrap_or_else(|| {
            let last = Ipv4Addr::from(ip.to_bits() | !mask.to_bits());
            if last == ip {
                Ipv4Addr::BROADCAST
            } else {
                last
            }
        });
        let cache = Arc::new(Mutex::new(ArpCache::new(limits.or(Limits::default()))));
        let (n_queries, n_drops, n_responses, is_warned) = (0, 0, 0, false);
        Ok(ARPQuerier {
            cache,
            table,
            ip,
            address,
            broadcast,
            networks,
            hears_requests,
            poll_ms,
            polls_by_broadcast,
            names_poll,
            n_queries,
            n_drops,
            n_responses,
            is_warned,
            limits,
            is_rewritten,
            timer: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        self.timer = Some(timer);
        match self.table {
            Some(table) => self.cache = shared(ctx, table).ok_or("TABLE: element is busy")?,
            None => schedule(timer, self.limits.or(Limits::default()), ctx),
        }
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        run_timer(&self.cache, ctx, timer);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        let cache = self.cache.clone();
        let mut cache = locked(&cache);
        let n_drops = cache.n_drops;
        // What an answer lets go goes one by one, as in Click.
        let mut leaving = Leaving::new(ctx, batch.len() == 1);
        for packet in batch.drain() {
            if port == 0 {
                self.send(ctx, &mut cache, packet, &mut leaving);
            } else {
                for packet in self.receive(ctx, &mut cache, packet.data()) {
                    self.send(ctx, &mut cache, packet, &mut leaving);
                }
            }
        }
        ctx.count_drops(WAITED, u64::from(cache.n_drops.wrapping_sub(n_drops)));
        drop(cache);
        leaving.emit(ctx);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let cache = locked(&self.cache);
        Ok(match name {
            "table" => cache.table(now_ms(ctx)),
            "stats" => {
                let n_drops = self.n_drops.wrapping_add(cache.n_drops);
                format!("{n_drops} packets killed\n{} ARP queries sent\n", self.n_queries)
            }
            "count" => cache.n_entries().to_string(),
            "length" => cache.n_packets.to_string(),
            "queries" => self.n_queries.to_string(),
            "responses" => self.n_responses.to_string(),
            "drops" => self.n_drops.to_string(),
            "broadcast" => self.broadcast.to_string(),
            "ipaddr" => self.ip.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let address = || args::ip(value, &ctx.scope()).map_err(|_| "expected IP address");
        match name {
            "broadcast" => self.broadcast = address()?,
            "ipaddr" => self.ip = address()?,
            _ => {
                locked(&self.cache).write(ctx, name, value)?;
                if name == "clear" {
                    [self.n_queries, self.n_drops, self.n_responses] = [0; 3];
                }
            }
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ARPQuerier>(ctx, old) else { return };
        let is_same = (old.ip, old.address) == (self.ip, self.address)
            && (self.is_rewritten || old.broadcast == self.broadcast);
        if self.is_rewritten {
            self.table = old.table;
            let [names_poll_ms, names_polls_by_broadcast] = self.names_poll;
            if !names_poll_ms {
                self.poll_ms = old.poll_ms;
            }
            if !names_polls_by_broadcast {
                self.polls_by_broadcast = old.polls_by_broadcast;
            }
            self.is_warned = old.is_warned;
        }
        if is_same || self.is_rewritten {
            self.n_queries = old.n_queries;
            self.n_drops = old.n_drops;
            self.n_responses = old.n_responses;
        }
        let is_initialized = self.timer.is_some();
        // As in Click, a timeout that `config` sets moves no timer: where there was none before, entries that are over stay.
        self.timer = self.timer.or(old.timer);
        match (self.table, old.table) {
            (Some(_), _) if is_initialized => {}
            (Some(table), _) => self.cache = shared(ctx, table).unwrap_or(old.cache),
            (None, None) => {
                self.cache = old.cache;
                let mut cache = locked(&self.cache);
                if !is_same {
                    cache.clear();
                }
                self.limits.set(&mut cache, self.is_rewritten);
            }
            (None, Some(_)) => {}
        }
    }

    fn save_state(&mut self, ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        // The table of another element is that one's to save.
        self.table.is_none().then(|| locked(&self.cache).save_state(now_ms(ctx), from))
    }

    fn restore_state(&mut self, ctx: &mut Ctx<'_>, line: &str, passed_ms: i64) -> Result<(), String> {
        locked(&self.cache).restore_state(line, now_ms(ctx), passed_ms)
    }

    fn foresee(&mut self, old: &dyn Element) {
        // Who uses this one's cache from now on finds the one that will be its.
        if let Some(old) =
            same_ref::<ARPQuerier>(old).filter(|old| self.table.is_none() && old.table.is_none())
        {
            self.cache = old.cache.clone();
        }
    }
}

/// The element that TABLE names. As in Click, an ARPQuerier has a table only once it is configured in its turn.
fn table(conf: &mut Configure<'_>) -> Option<ElementIdx> {
    let table = conf.element("TABLE", &["ARPTable", "ARPQuerier"])?;
    let order = conf.environment.configure_order();
    let is_configured = conf.environment.is_alone()
        || order.into_iter().take_while(|idx| *idx != conf.element).any(|idx| idx == table);
    if conf.environment.class(table) == "ARPQuerier" && !is_configured {
        conf.args.error("TABLE", "element type mismatch, expected ARPTable");
        return None;
    }
    Some(table)
}

/// The cache of the element that TABLE names.
fn shared(ctx: &mut Ctx<'_>, table: ElementIdx) -> Option<Shared> {
    let shared = ctx.with(table, |table: &mut ARPTable, _| table.cache.clone());
    shared.or_else(|| ctx.with(table, |table: &mut ARPQuerier, _| table.cache.clone()))
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn packets_wait_for_the_answer() {
        let config = "InfiniteSource(LIMIT 2) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> q :: ARPQuerier(1.0.0.1/8, 1:1:1:1:1:1)
                -> Print(sent, 14) -> Discard;
            q[1] -> ARPPrint(TIMESTAMP false) -> ARPResponder(2.0.0.0/8 2:2:2:2:2:2) -> [1]q;";
        check_reading(
            config,
            &["q.stats", "q.responses", "q.count", "q.length", "q.broadcast"],
            expect![[r#"
            arp who-has 2.0.0.2 tell 1.0.0.1
            sent:  103 | 02020202 02020101 01010101 0800
            sent:  103 | 02020202 02020101 01010101 0800
            q.stats: 0 packets killed
            1 ARP queries sent

            q.responses: 1
            q.count: 0
            q.length: 0
            q.broadcast: 1.255.255.255
        "#]],
        );
    }

    #[test]
    fn a_poll_goes_all_its_way_before_the_packet_that_made_it() {
        check(
            "q :: ARPQuerier(1.0.0.1/8, 1:1:1:1:1:1, POLL_TIMEOUT 1); Idle -> [1]q; Script(write q.insert 2.0.0.2 2:2:2:2:2:2);
            RatedSource(RATE 1, LIMIT 3) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> q -> Print(a, 14) -> Print(b, 4) -> Discard;
            Script(wait 4, stop)",
            expect![[r#"
                a:   42 | ffffffff ffff0101 01010101 0806
                b:   42 | ffffffff
                a:   42 | 02020202 02020101 01010101 0806
                b:   42 | 02020202
                a:  103 | 02020202 02020101 01010101 0800
                b:  103 | 02020202
            "#]],
        );
    }

    #[test]
    fn hosts_are_asked_for_by_the_address_in_their_network() {
        check_reading(
            "InfiniteSource(LIMIT 1) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> q :: ARPQuerier(1.0.0.1/8, 1:1:1:1:1:1, NETWORKS 2.0.0.1/8 3.0.0.1/8)
                -> Print(sent, 14) -> Discard;
            InfiniteSource(LIMIT 1) -> IPEncap(17, 1.0.0.1, 1.0.0.2) -> q;
            InfiniteSource(LIMIT 1) -> IPEncap(17, 1.0.0.1, 2.255.255.255) -> q;
            q[1] -> ARPPrint(TIMESTAMP false) -> Discard; Idle -> [1] q;",
            &["q.queries"],
            expect![[r#"
                arp who-has 2.0.0.2 tell 2.0.0.1
                arp who-has 1.0.0.2 tell 1.0.0.1
                sent:  103 | ffffffff ffff0101 01010101 0800
                q.queries: 2
            "#]],
        );
    }

    #[test]
    fn who_asks_renews_its_entry_and_makes_none_where_requests_are_heard() {
        // 2.0.0.2 has a new address, of 2.0.0.9 nothing was known.
        let request = |host: &str| {
            format!(
                "ffffffffffff 060606060606 0806 0001 0800 0604 0001 060606060606 {host} 000000000000 {host}"
            )
        };
        let check = |requests: &str, expect| {
            let graph = format!(
                "Idle -> q :: ARPQuerier(1.0.0.1/8, 1:1:1:1:1:1, TIMEOUT 0{requests}) -> Discard;
                s :: InfiniteSource(DATA \\<{}>, LIMIT 1, ACTIVE false) -> [1] q;
                t :: InfiniteSource(DATA \\<{}>, LIMIT 1, ACTIVE false) -> [1] q;
                Script(write q.insert 2.0.0.2 2:2:2:2:2:2, write s.active true, write t.active true)",
                request("02000002"),
                request("02000009")
            );
            check_reading(&graph, &["q.table", "q.responses"], expect);
        };
        check(
            "",
            expect![[r#"
                q.table: 2.0.0.2 1 02-02-02-02-02-02 0.000000

                q.responses: 2
            "#]],
        );
        check(
            ", REQUESTS true",
            expect![[r#"
                q.table: 2.0.0.2 1 06-06-06-06-06-06 0.000000

                q.responses: 0
            "#]],
        );
    }

    #[test]
    fn one_name_gives_both_addresses() {
        check_reading(
            "AddressInfo(me 1.0.0.1/8 1:1:1:1:1:1);
            InfiniteSource(LIMIT 1) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> q :: ARPQuerier(me, TIMEOUT 60) -> Print(x, 42) -> Discard;
            Idle -> [1]q;",
            &["q.ipaddr", "q.broadcast"],
            expect![[r#"
                x:   42 | ffffffff ffff0101 01010101 08060001 08000604 00010101 01010101 01000001 00000000 00000200 0002
                q.ipaddr: 1.0.0.1
                q.broadcast: 255.255.255.255
            "#]],
        );
    }

    #[test]
    fn waiting_packets_are_dropped_if_the_host_has_no_address_any_more() {
        let reply =
            "ffffffffffff 020000000002 0806 0001 0800 06 04 0002 020000000002 02000002 010101010101 01000001";
        check_reading(
            &format!(
                "InfiniteSource(LIMIT 2) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> q :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1) -> Discard;
                s :: InfiniteSource(DATA \\<{reply}>, LIMIT 1, ACTIVE false) -> [1]q;
                Script(wait 1s, write q.ipaddr 0.0.0.0, write s.active true)"
            ),
            &["q.stats", "q.drops", "q.length", "q.responses"],
            expect![[r#"
                q.stats: 2 packets killed
                1 ARP queries sent

                q.drops: 2
                q.length: 0
                q.responses: 1
            "#]],
        );
    }

    #[test]
    fn a_slim_factor_of_0_is_told_but_not_refused() {
        check_reading(
            "Idle -> [0]q :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1, CAPACITY_SLIM_FACTOR 0) -> Discard; Idle -> [1]q",
            &["q.count"],
            expect![[r#"
                config:1: While configuring 'q :: ARPQuerier':
                  CAPACITY_SLIM_FACTOR cannot be zero
                q.count: 0
            "#]],
        );
    }

    #[test]
    fn a_table_is_that_of_an_element_that_comes_first() {
        check_reading(
            "d :: Discard; Idle -> x :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1, TABLE y) -> d; Idle -> [1]x;
             Idle -> y :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1) -> d; Idle -> [1]y;
             Idle -> z :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1, TABLE z) -> d; Idle -> [1]z;
             Idle -> w :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1, TABLE y) -> d; Idle -> [1]w",
            &[],
            expect![[r#"
                config:1: While configuring 'x :: ARPQuerier':
                  TABLE: element type mismatch, expected ARPTable
                config:3: While configuring 'z :: ARPQuerier':
                  TABLE: element type mismatch, expected ARPTable
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn a_config_that_is_written_leaves_what_it_does_not_name() {
        let check = |config: &str, steps: &str, expect| {
            let graph = format!(
                "config :: Script(TYPE PASSIVE, return $(unquote \"{config}\"));
                InfiniteSource(LIMIT 3) -> IPEncap(17, 1.0.0.1, 2.0.0.2) -> q :: ARPQuerier(1.0.0.1/8, 1:1:1:1:1:1, TIMEOUT 0)
                    -> Discard;
                Idle -> [1]q; q[1] -> Discard;
                Script(wait 1s, write q.config $(config.run), {steps})"
            );
            check_reading(&graph, &["q.queries", "q.drops", "q.length", "q.count", "q.config"], expect);
        };
        // One packet is too much, but only the next host makes room.
        check(
            "1.0.0.1/8, 1:1:1:1:1:1, BROADCAST 1.2.3.4, TABLE none, ENTRY_CAPACITY 1, CAPACITY 1",
            "",
            expect![[r#"
                q.queries: 1
                q.drops: 0
                q.length: 3
                q.count: 1
                q.config: 1.0.0.1/8, 1:1:1:1:1:1, BROADCAST 1.2.3.4, TABLE none, ENTRY_CAPACITY 1, CAPACITY 1
            "#]],
        );
        check(
            "1.0.0.1/8, 1:1:1:1:1:1, ENTRY_CAPACITY 2",
            "write q.config 1.0.0.1/8,
                write q.insert 1.0.0.2 1:1:1:1:1:1, write q.insert 1.0.0.3 1:1:1:1:1:1, write q.insert 1.0.0.4 1:1:1:1:1:1",
            expect![[r#"
                While executing 'Script@8 :: Script':
                  While calling 'q.config 1.0.0.1/8':
                    ETH: parse error
                q.queries: 1
                q.drops: 0
                q.length: 0
                q.count: 2
                q.config: 1.0.0.1/8, 1:1:1:1:1:1, ENTRY_CAPACITY 2
            "#]],
        );
        check(
            "1.0.0.1/8, 1:1:1:1:1:1",
            "writeq q.config \"1.0.0.x, 1:1:1:1:1:1, FOO 1\"",
            expect![[r#"
                While executing 'Script@8 :: Script':
                  While calling 'q.config 1.0.0.x, 1:1:1:1:1:1, FOO 1':
                    IP: parse error
                    FOO: unknown argument
                q.queries: 1
                q.drops: 0
                q.length: 3
                q.count: 1
                q.config: 1.0.0.1/8, 1:1:1:1:1:1
            "#]],
        );
        check(
            "1.0.0.1/8, 1:1:1:1:1:1, CAPACITY_SLIM_FACTOR 0",
            "",
            expect![[r#"
            While executing 'Script@8 :: Script':
              While calling 'q.config 1.0.0.1/8, 1:1:1:1:1:1, CAPACITY_SLIM_FACTOR 0':
                CAPACITY_SLIM_FACTOR cannot be zero
            q.queries: 1
            q.drops: 0
            q.length: 3
            q.count: 1
            q.config: 1.0.0.1/8, 1:1:1:1:1:1, TIMEOUT 0
        "#]],
        );
        check(
            "1.0.0.9/8, 1:1:1:1:1:1",
            "",
            expect![[r#"
            q.queries: 1
            q.drops: 0
            q.length: 0
            q.count: 0
            q.config: 1.0.0.9/8, 1:1:1:1:1:1
        "#]],
        );
    }

    #[test]
    fn a_timeout_that_a_written_config_sets_moves_no_timer() {
        check_reading(
            "Idle -> q :: ARPQuerier(1.0.0.1, 1:1:1:1:1:1, TIMEOUT 0) -> Discard; Idle -> [1]q;
            Script(write q.insert 1.0.0.2 2:2:2:2:2:2, writeq q.config \"1.0.0.1, 1:1:1:1:1:1, TIMEOUT 2\", wait 9, stop)",
            &["q.table"],
            expect![[r#"
                q.table: 1.0.0.2 0 02-02-02-02-02-02 9.000000

            "#]],
        );
    }

    #[test]
    fn a_table_keeps_the_limits_that_a_written_config_does_not_name() {
        check_reading(
            "t :: ARPTable(ENTRY_CAPACITY 1, TIMEOUT 0);
            Script(write t.insert 1.0.0.2 1:1:1:1:1:1, write t.config TIMEOUT 0, write t.insert 1.0.0.3 1:1:1:1:1:1,
                write t.insert 1.0.0.4 1:1:1:1:1:1, write t.config CAPACITY_SLIM_FACTOR 0)",
            &["t.table", "t.config"],
            expect![[r#"
                While executing 'Script@2 :: Script':
                  While calling 't.config CAPACITY_SLIM_FACTOR 0':
                    CAPACITY_SLIM_FACTOR cannot be zero
                t.table: 1.0.0.4 1 01-01-01-01-01-01 0.000000

                t.config: TIMEOUT 0
            "#]],
        );
    }
}
