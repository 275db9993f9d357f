//! Advertises a router to the hosts of a link.
//!
//! Frames with router advertisements from ADDRESS leave by output 0: at times between MIN_INTERVAL and MAX_INTERVAL apart, the
//! first three at most 16 s apart, and soon after a router solicitation came in by input 0, but no sooner than 3 s after the last one
//! (RFC 4861, section 6.2). Frames without a valid solicitation are dropped. Hosts that hear it use the router by default for LIFETIME,
//! and make addresses for themselves in those of the networks that are `autonomous`.
//!
//! Each PREFIX is a network, for how many seconds addresses in it are valid and preferred, and perhaps `onlink` and `autonomous`.
//!
//! ```click
//! FromDevice(eth0) -> Classifier(12/86dd 20/3a 54/85)
//!     -> ra :: IP6RouterAdvertiser(2:0:0:0:0:1, fe80::1, PREFIX 2001:db8::/64 2592000 604800 onlink autonomous)
//!     -> Queue -> ToDevice(eth0);
//! ```

use std::net::Ipv6Addr;

use args::EtherAddr;
use element::{same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, TimerId};

use super::advertisement::{Advertised, AdvertisedPrefix, PREFIXES_MAX, SERVERS_MAX};
use super::discovery::{self, Said};
use super::neighbor::group_mac;
use super::own_addresses::ALL_NODES;

/// The class.
pub const CLASS: Class = Class::new::<IP6RouterAdvertiser>("IP6RouterAdvertiser", "1/1", "h/h", "x/y")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] = &[
    Arg::required("ETH", "Ethernet address", "The router's Ethernet address on the link."),
    Arg::required("ADDRESS", "IPv6 address", "Its link-local address."),
    Arg::keyword(
        "PREFIX",
        "IPv6 prefix, numbers and words",
        "A network of the link. Can be repeated. Default none.",
    ),
    Arg::keyword("DNS", "list of IPv6 addresses", "Name servers. Default none."),
    Arg::keyword(
        "LIFETIME",
        "0 to 9000",
        "Seconds for which it is a default router; 0 is never. Default 1800.",
    ),
    Arg::keyword("MAX_INTERVAL", "4 to 1800", "Most seconds between advertisements. Default 600."),
    Arg::keyword(
        "MIN_INTERVAL",
        "3 to 1350",
        "Least seconds between advertisements. Default a third of MAX_INTERVAL.",
    ),
    Arg::keyword("HOP_LIMIT", "0 to 255", "The hop limit of hosts' packets; 0 is not told. Default 64."),
    Arg::keyword("MTU", "unsigned", "The link's MTU; 0 is not told. Default 0."),
    Arg::keyword("MANAGED", "bool", "Whether hosts get addresses by DHCPv6. Default false."),
    Arg::keyword("OTHER", "bool", "Whether hosts get other things by DHCPv6. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Advertisements sent."),
    Handler::read("solicitations", "Valid solicitations received."),
];

const INVALID: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("invalid", "No valid router solicitation.")];

/// RFC 4861, section 10.
const MAX_INITIAL: u32 = 3;
const MAX_INITIAL_INTERVAL_MS: u32 = 16_000;
const MIN_DELAY_MS: i64 = 3_000;
const MAX_ANSWER_DELAY_MS: u32 = 500;

const MS_NS: i64 = 1_000_000;

/// See the page above.
pub struct IP6RouterAdvertiser {
    mac: [u8; 6],
    address: Ipv6Addr,
    /// In milliseconds.
    intervals: [u32; 2],
    advertised: Advertised,
    message: Vec<u8>,
    timer: Option<TimerId>,
    /// Advertisements since it was configured.
    n_initial: u32,
    /// When the last one was sent, in steady nanoseconds.
    sent_at: Option<i64>,
    n_sent: u64,
    n_solicitations: u64,
}

impl Element for IP6RouterAdvertiser {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6RouterAdvertiser, Failed> {
        let EtherAddr(mac) = conf.args.need("ETH");
        let address = conf.args.need("ADDRESS");
        let intervals = intervals(conf);
        let advertised = advertised(conf, intervals[1]);
        conf.finish()?;
        let message = advertised.message(mac);
        let intervals = intervals.map(|seconds| seconds * 1000);
        let (timer, n_initial, sent_at, n_sent, n_solicitations) = (None, 0, None, 0, 0);
        Ok(IP6RouterAdvertiser {
            mac,
            address,
            intervals,
            advertised,
            message,
            timer,
            n_initial,
            sent_at,
            n_sent,
            n_solicitations,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        self.timer = Some(timer);
        let delay_ms = ctx.random_between(0, MAX_ANSWER_DELAY_MS);
        ctx.schedule_after(timer, i64::from(delay_ms) * MS_NS);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let macs = [self.mac, group_mac(ALL_NODES)];
        let packet = discovery::frame(macs, [self.address, ALL_NODES], [&self.message, &[]]);
        ctx.emit_packet(0, packet);
        self.n_sent += 1;
        self.n_initial = self.n_initial.saturating_add(1);
        self.sent_at = Some(ctx.steady_ns());
        let [low, high] = self.intervals;
        let mut interval_ms = ctx.random_between(low, high);
        if self.n_initial < MAX_INITIAL {
            interval_ms = interval_ms.min(MAX_INITIAL_INTERVAL_MS);
        }
        ctx.schedule_after(timer, i64::from(interval_ms) * MS_NS);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            let heard = discovery::read(packet.data());
            match heard.map(|heard| heard.what) {
                Some(Said::RouterSolicitation { .. }) => self.hear(ctx),
                _ => ctx.drop_packet(INVALID, packet),
            }
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.n_sent.to_string()),
            "solicitations" => Ok(self.n_solicitations.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    /// Who says what it has said before goes on with its intervals; what is new is said at once.
    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IP6RouterAdvertiser>(ctx, old) else { return };
        (self.n_sent, self.n_solicitations, self.sent_at) = (old.n_sent, old.n_solicitations, old.sent_at);
        let is_same = (old.mac, old.address) == (self.mac, self.address) && old.advertised == self.advertised;
        if let (true, Some(timer), Some(sent_at)) = (is_same, self.timer, old.sent_at) {
            self.n_initial = old.n_initial;
            let [low, high] = self.intervals;
            let interval_ms = ctx.random_between(low, high);
            ctx.schedule_at(timer, sent_at.saturating_add(i64::from(interval_ms) * MS_NS));
        }
    }
}

impl IP6RouterAdvertiser {
    /// Sends the next advertisement soon: one for all who ask meanwhile.
    fn hear(&mut self, ctx: &mut Ctx<'_>) {
        self.n_solicitations += 1;
        let Some(timer) = self.timer else { return };
        let delay_ms = ctx.random_between(0, MAX_ANSWER_DELAY_MS);
        let earliest = self.sent_at.map_or(i64::MIN, |sent_at| sent_at.saturating_add(MIN_DELAY_MS * MS_NS));
        let at = ctx.steady_ns().saturating_add(i64::from(delay_ms) * MS_NS).max(earliest);
        if !ctx.timer_is_scheduled(timer) || ctx.timer_expiry(timer) > at {
            ctx.schedule_at(timer, at);
        }
    }
}

/// The least and the most seconds between advertisements.
fn intervals(conf: &mut Configure<'_>) -> [u32; 2] {
    let max = conf.args.get_with("MAX_INTERVAL", |text, _| args::bounded_integer(text, 4u32, 1800));
    let max = max.unwrap_or(600);
    let min = conf.args.get_with("MIN_INTERVAL", |text, _| args::bounded_integer(text, 3u32, max * 3 / 4));
    [min.unwrap_or((max / 3).max(3)), max]
}

fn advertised(conf: &mut Configure<'_>, max_interval_s: u32) -> Advertised {
    let lifetime = conf.args.get_with("LIFETIME", |text, _| args::bounded_integer(text, 0u16, 9000));
    let hop_limit = conf.args.get_with("HOP_LIMIT", |text, _| args::bounded_integer(text, 0u8, u8::MAX));
    let prefixes = conf.args.multiple_with("PREFIX", AdvertisedPrefix::parse);
    let servers = conf.args.get_with("DNS", |text, scope| {
        let words = args::split_words(text);
        words.iter().map(|word| args::ip6(word, scope)).collect::<Result<Vec<Ipv6Addr>, String>>()
    });
    let servers = servers.unwrap_or_default();
    if prefixes.len() > PREFIXES_MAX {
        conf.args.fail(format!("{} prefixes are too many; {PREFIXES_MAX} is most", prefixes.len()));
    }
    if servers.len() > SERVERS_MAX {
        conf.args.fail(format!("{} name servers are too many; {SERVERS_MAX} is most", servers.len()));
    }
    Advertised {
        hop_limit: hop_limit.unwrap_or(64),
        is_managed: conf.args.get_or("MANAGED", false),
        has_other: conf.args.get_or("OTHER", false),
        lifetime_s: lifetime.unwrap_or(1800),
        mtu: conf.args.get_or("MTU", 0),
        prefixes,
        servers,
        // RFC 8106, section 5.1.
        servers_lifetime_s: max_interval_s * 3,
    }
}

#[cfg(test)]
mod tests {
    use crate::ip6::discovery;
    use crate::testing::check_reading;
    use expect_test::expect;

    const ADVERTISER: &str = "RandomSeed(7); ra :: IP6RouterAdvertiser(2:0:0:0:0:1, fe80::1, PREFIX 2001:db8::/64 9 8 onlink autonomous, DNS 2001:db8::53, MTU 1400)
        -> Print(said, -1) -> Discard;";

    #[test]
    fn the_first_advertisements_come_soon_and_the_others_at_intervals() {
        check_reading(
            &format!("{ADVERTISER} Idle -> ra; Script(wait 1s, read ra.count, wait 32s, read ra.count, wait 601s, read ra.count, stop)"),
            &["ra.solicitations"],
            expect![[r#"
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                ra.count:
                1
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                ra.count:
                3
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                ra.count:
                5
                ra.solicitations: 0
            "#]],
        );
    }

    #[test]
    fn who_asks_is_answered_with_all_others_who_ask() {
        let hex = |packet: element::Packet| -> String {
            packet.data().iter().map(|byte| format!("{byte:02x}")).collect()
        };
        let addresses = ["fe80::5", "ff02::2"].map(|text| text.parse().unwrap());
        let ask = discovery::frame(
            [[2; 6], [0x33, 0x33, 0, 0, 0, 2]],
            addresses,
            [&[133, 0, 0, 0, 0, 0, 0, 0], &[]],
        );
        let other = discovery::question([2; 6], addresses[0], addresses[0]);
        let (ask, other) = (hex(ask), hex(other));
        check_reading(
            &format!(
                "{ADVERTISER} s :: RatedSource(DATA \\<{ask}>, RATE 10, LIMIT 5, ACTIVE false) -> ra;
                InfiniteSource(DATA \\<{other}>, LIMIT 1) -> ra;
                Script(wait 100s, read ra.count, write s.active true, wait 1s, read ra.count, wait 3s, read ra.count, stop)"
            ),
            &["ra.solicitations"],
            expect![[r#"
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                ra.count:
                3
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                ra.count:
                4
                said:  142 | 33330000 00010200 00000001 86dd6000 00000058 3afffe80 00000000 00000000 00000000 0001ff02 00000000 00000000 00000000 00018600 67be4000 07080000 00000000 00000101 02000000 00010501 00000000 05780304 40c00000 00090000 00080000 00002001 0db80000 00000000 00000000 00001903 00000000 07082001 0db80000 00000000 00000000 0053
                ra.count:
                5
                ra.solicitations: 5
            "#]],
        );
    }

    #[test]
    fn what_cannot_be_advertised_is_refused() {
        check_reading(
            "Idle -> IP6RouterAdvertiser(2:0:0:0:0:1, fe80::1, PREFIX 2001:db8::/64, LIFETIME 9001, MAX_INTERVAL 3, HOP_LIMIT 256, DNS x) -> Discard;
             Idle -> IP6RouterAdvertiser(2:0:0:0:0:1, fe80::1, MAX_INTERVAL 10, MIN_INTERVAL 8) -> Discard;",
            &[],
            expect![[r#"
                config:1: While configuring 'IP6RouterAdvertiser@2 :: IP6RouterAdvertiser':
                  MAX_INTERVAL: out of range, bound 4
                  LIFETIME: out of range, bound 9000
                  HOP_LIMIT: out of range, bound 255
                  PREFIX: expected PREFIX VALID PREFERRED [onlink] [autonomous]
                  DNS: parse error
                config:2: While configuring 'IP6RouterAdvertiser@5 :: IP6RouterAdvertiser':
                  MIN_INTERVAL: out of range, bound 7
                Router could not be initialized!
            "#]],
        );
    }
}
