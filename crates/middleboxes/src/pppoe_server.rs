//! Ends PPPoE sessions of subscribers: a broadband remote access server.
//!
//! Frames of the access side come in by input 0. Discovery (RFC 2516) is answered without keeping anything until a request
//! brings its cookie back. Then LCP (RFC 1661) is negotiated, the subscriber proves who it is by PAP or CHAP-MD5 (RFC 1334, RFC
//! 1994), and IPCP (RFC 1332, RFC 1877) tells it address and name servers. What is sent to the access side leaves by output 0.
//!
//! IP packets of subscribers leave by output 1 without frame, marked, with the destination annotation set and the session's
//! number as aggregate annotation; those with another source than the session's address are dropped. IP packets for
//! subscribers come in by input 1 and find their session by their destination. Frames that are not PPPoE, or for other stations,
//! leave by output 2, and IP packets that no session takes or that are too big for it by output 3, if those outputs are there.
//!
//! USERS is a file, and USER an argument that may be given several times, of `NAME SECRET [ADDRESS|* [UP [DOWN]]]`. Without
//! users nobody need prove anything. Sessions that need neither discovery nor negotiation are given by STATIC, also several
//! times, or added by handler: `MAC ID ADDRESS [UP [DOWN]]`. Rates are up and down; one stands for both.
//!
//! ACCOUNTING is a file to which a line of JSON is written when IP packets begin to flow over a session, from time to time,
//! and at its end; names are attributes of RADIUS (RFC 2866). Random numbers follow SECRET if it is given.
//!
//! ```click
//! bras :: PPPoEServer(2:0:0:0:0:1, 10.0.0.1, POOL 10.0.0.0/24, USER ann s3cret, RATE 1Mbps 8Mbps);
//! FromDump(in.pcap) -> bras; Idle -> [1] bras; bras[1] -> Discard; bras -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{EtherAddr, Filename, Scope, Seconds};
use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Role,
    TimerId, Verdict,
};

use crate::accounting::{Now, Rate};
use crate::pppoe::discovery::Concentrator;
use crate::pppoe::lcp::Method;
use crate::pppoe::link::LinkSettings;
use crate::pppoe::path::Outcome;
use crate::pppoe::provisioning::{Pool, Provision, User, Users, MAX_ID};
use crate::pppoe::server::{Server, Settings};

/// The class.
pub const CLASS: Class = Class::new::<PppoeServer>("PPPoEServer", "2/2-4", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .role(Role::Single);

const ARGS: &[Arg] = &[
    Arg::required("ETHER", "Ethernet address", "The address on the access side."),
    Arg::required("ADDRESS", "IP address", "The address that subscribers have as their gateway."),
    Arg::keyword("POOL", "prefix or FIRST-LAST", "Addresses for subscribers; may be given several times."),
    Arg::keyword("AC_NAME", "string", "The concentrator's name. Default `weir`."),
    Arg::keyword("SERVICE", "string", "A service's name; may be given several times. Default any name."),
    Arg::keyword(
        "AUTH",
        "words",
        "`chap`, `pap`, both with the preferred one first, or `none`. Default `chap pap` if there are users.",
    ),
    Arg::keyword("USERS", "file name", "A file of users, a line each."),
    Arg::keyword("USER", "words", "A user; may be given several times."),
    Arg::keyword("STATIC", "words", "A session that lasts; may be given several times."),
    Arg::keyword("DNS", "IP addresses", "One or two name servers for subscribers."),
    Arg::keyword(
        "RATE",
        "bandwidths",
        "Rates up and down of those who have none of their own. Default no limit.",
    ),
    Arg::keyword("MAX_SESSIONS", "unsigned", "Most sessions, up to 65534. Default 65534."),
    Arg::keyword("STATION_SESSIONS", "unsigned", "Most sessions of a station. Default 8."),
    Arg::keyword("KEEPALIVE", "time in sec", "Time between echo requests; 0 for none. Default 30."),
    Arg::keyword(
        "KEEPALIVE_FAILURES",
        "unsigned",
        "Echo requests without an answer after which a subscriber is gone. Default 3.",
    ),
    Arg::keyword("ACCOUNTING", "file name", "The file of accounting records; `-` is standard output."),
    Arg::keyword("INTERIM", "time in sec", "Time between interim records; 0 for none. Default 300."),
    Arg::keyword("SECRET", "string", "The key of cookies and challenges. Default a random one."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("sessions", "The sessions: number, station, address, user, phase, then packets, bytes and drops up and down, and spoofed packets."),
    Handler::read("count", "Number of sessions over which IP packets may flow."),
    Handler::read_param("lookup", "The sessions of a user, an address or a number, as `sessions` lists them."),
    Handler::read("statistics", "Counts of what happened in discovery and in setting up sessions."),
    Handler::read("users", "Users, with their addresses and rates."),
    Handler::write("disconnect", "Ends the sessions of a user, an address or a number."),
    Handler::write("add_session", "Adds a session that lasts: `MAC ID ADDRESS [UP [DOWN]]`."),
    Handler::write("reload", "Reads the file of users again."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("foreign", "The frame is not PPPoE or for another station, and there is no output 2."),
    DropReason::new("control", "The frame was for the server itself."),
    DropReason::new("malformed", "The headers contradict themselves."),
    DropReason::new("no-session", "There is no such session of this station, or it cannot carry IP packets."),
    DropReason::new("spoofed", "The source is not the subscriber's address."),
    DropReason::new("over-rate-up", "The packet is over the session's rate from the subscriber."),
    DropReason::new("over-rate-down", "The packet is over the session's rate to the subscriber."),
    DropReason::new("no-subscriber", "No session has the packet's destination, and there is no output 3."),
    DropReason::new("too-big", "The packet is larger than the subscriber takes, and there is no output 3."),
];
const FOREIGN: usize = 0;
const CONTROL: usize = 1;
const MALFORMED: usize = 2;
const NO_SESSION: usize = 3;
const SPOOFED: usize = 4;
const OVER_UP: usize = 5;
const OVER_DOWN: usize = 6;
const NO_SUBSCRIBER: usize = 7;
const TOO_BIG: usize = 8;

/// See the page above.
pub struct PppoeServer {
    server: Server,
    inline_users: Vec<User>,
    users_file: String,
    has_secret: bool,
    provisions: Vec<Provision>,
    accounting: String,
    /// Whether sessions and accounts are those of another element.
    goes_on: bool,
    timer: Option<TimerId>,
    /// Hashes of the packets of a batch, which are looked up together.
    hashes: Vec<u64>,
}

impl Element for PppoeServer {
    fn configure(conf: &mut Configure<'_>) -> Result<PppoeServer, Failed> {
        let EtherAddr(own) = conf.args.need("ETHER");
        let local: Ipv4Addr = conf.args.need("ADDRESS");
        let ranges = conf.args.multiple_with("POOL", Pool::parse_range);
        let inline_users = conf.args.multiple_with("USER", User::parse);
        let Filename(users_file) = conf.args.get_or("USERS", Filename::default());
        let has_users = !inline_users.is_empty() || !users_file.is_empty();
        let provisions = conf.args.multiple_with("STATIC", Provision::parse);
        let Filename(accounting) = conf.args.get_or("ACCOUNTING", Filename::default());
        let secret: Option<String> = conf.args.get("SECRET");
        let has_secret = secret.is_some();
        let settings = settings(conf, own, local, secret.unwrap_or_default(), has_users);
        conf.finish()?;
        let accounting = conf.file_of_replica(accounting);
        Ok(PppoeServer {
            server: Server::new(settings, Pool::new(&ranges)),
            inline_users,
            users_file,
            has_secret,
            provisions,
            accounting,
            goes_on: false,
            timer: None,
            hashes: Vec::new(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.load_users(ctx)?;
        self.timer = Some(ctx.new_timer());
        if self.goes_on {
            return Ok(());
        }
        self.server.journal.open(&self.accounting)?;
        if !self.has_secret {
            let secret = (0..4).flat_map(|_| ctx.random().to_be_bytes());
            self.server.settings.concentrator.secret = secret.collect();
        }
        let now = Now::of(ctx);
        for provision in &self.provisions {
            self.server.provision(provision, now)?;
        }
        self.settle(ctx);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        match port {
            0 => self.push_frames(ctx, batch),
            _ => self.push_packets(ctx, batch),
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        let now = Now::of(ctx);
        self.server.expire(now);
        self.settle(ctx);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        Ok(match name {
            "sessions" => (1..=MAX_ID).filter_map(|id| self.describe(id)).collect(),
            "lookup" => {
                self.server.find(param.trim()).into_iter().filter_map(|id| self.describe(id)).collect()
            }
            "count" => self.server.n_up().to_string(),
            "statistics" => self.server.statistics.unparse(),
            "users" => self.server.users.unparse(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let now = Now::of(ctx);
        match name {
            "disconnect" => {
                let sessions = self.server.find(value.trim());
                if sessions.is_empty() {
                    return Err(format!("no session of '{}'", value.trim()));
                }
                sessions.into_iter().for_each(|id| self.server.disconnect(id, now));
            }
            "add_session" => {
                let provision = Provision::parse(value, &ctx.scope())?;
                self.server.provision(&provision, now)?;
            }
            "reload" => self.load_users(ctx)?,
            _ => return Err(format!("no {name} write handler")),
        }
        self.settle(ctx);
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        let now = Now::of(ctx);
        self.server.close(now);
        self.server.journal.flush(ctx);
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<PppoeServer>(ctx, old) else { return };
        if !self.goes_on {
            return old.cleanup(ctx);
        }
        let now = Now::of(ctx);
        let told = self.server.take_over(&mut old.server, &self.provisions, self.has_secret, now);
        told.iter().for_each(|message| ctx.warn(message));
        self.settle(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<PppoeServer>(old)
            .is_some_and(|old| old.accounting == self.accounting && self.server.can_go_on_from(&old.server));
    }
}

/// Reads the arguments that settle how sessions are.
fn settings(
    conf: &mut Configure<'_>,
    own: [u8; 6],
    local: Ipv4Addr,
    secret: String,
    has_users: bool,
) -> Settings {
    let name = conf.args.get_or("AC_NAME", "weir".to_string());
    let services = conf.args.multiple("SERVICE");
    let methods = conf.args.get_with("AUTH", methods);
    let default = if has_users { vec![Method::Chap, Method::Pap] } else { Vec::new() };
    let dns: Vec<Ipv4Addr> = conf.args.get_or("DNS", Vec::new());
    let rates = conf.args.get_with("RATE", Rate::parse_arg).unwrap_or_default();
    let max_sessions = conf.args.get_with("MAX_SESSIONS", args::bounded(0, MAX_ID)).unwrap_or(MAX_ID);
    let max_per_station = conf.args.get_or("STATION_SESSIONS", 8);
    let Seconds::<3>(echo_ms) = conf.args.get_or("KEEPALIVE", Seconds(30_000));
    let max_echoes = conf.args.get_or("KEEPALIVE_FAILURES", 3);
    let Seconds::<3>(interim_ms) = conf.args.get_or("INTERIM", Seconds(300_000));
    if own[0] & 1 != 0 {
        conf.args.error("ETHER", "a group of stations cannot answer");
    }
    if dns.len() > 2 {
        conf.args.error("DNS", "more than two name servers");
    }
    let ns = |ms: u32| i64::from(ms) * 1_000_000;
    Settings {
        own,
        concentrator: Concentrator { name: name.clone(), services, secret: secret.into_bytes() },
        link: LinkSettings {
            name,
            methods: methods.unwrap_or(default),
            local,
            dns: [dns.first().copied(), dns.get(1).copied()],
            echo_ns: ns(echo_ms),
            max_echoes,
        },
        max_sessions: usize::from(max_sessions),
        max_per_station,
        rates,
        interim_ns: ns(interim_ms),
    }
}

fn methods(text: &str, _scope: &Scope<'_>) -> Result<Vec<Method>, String> {
    if text == "none" {
        return Ok(Vec::new());
    }
    let method = |word: &String| match &word[..] {
        "pap" => Ok(Method::Pap),
        "chap" => Ok(Method::Chap),
        _ => Err(format!("`{word}` is neither `chap` nor `pap`")),
    };
    args::split_words(text).iter().map(method).collect()
}

impl PppoeServer {
    fn push_frames(&mut self, ctx: &mut Ctx<'_>, batch: Batch) {
        let now = Now::of(ctx);
        let server = &mut self.server;
        batch.iter().for_each(|packet| server.prefetch_frame(packet));
        ctx.spread(batch, |_, packet| match server.take_out(packet, || now) {
            Outcome::Pass => Verdict::port(1),
            Outcome::Control => Verdict::drop(CONTROL),
            Outcome::Foreign => Verdict::port_or_drop(2, FOREIGN),
            Outcome::Malformed => Verdict::drop(MALFORMED),
            Outcome::Spoofed => Verdict::drop(SPOOFED),
            Outcome::OverRate => Verdict::drop(OVER_UP),
            Outcome::NoSession | Outcome::TooBig => Verdict::drop(NO_SESSION),
        });
        if !self.server.out.is_empty() {
            self.settle(ctx);
        }
    }

    fn push_packets(&mut self, ctx: &mut Ctx<'_>, batch: Batch) {
        let now_ns = ctx.recent_steady_ns();
        let PppoeServer { server, hashes, .. } = self;
        hashes.clear();
        hashes.extend(batch.iter().map(|packet| server.hash_of(packet)));
        hashes.iter().for_each(|hash| server.prefetch_packet(*hash));
        let mut hashes = hashes.iter();
        let process =
            |packet: &mut Packet| match server.put_in(packet, hashes.next().copied().unwrap_or(0), now_ns) {
                Outcome::Pass => Verdict::PASS,
                Outcome::OverRate => Verdict::drop(OVER_DOWN),
                Outcome::TooBig => Verdict::port_or_drop(3, TOO_BIG),
                _ => Verdict::port_or_drop(3, NO_SUBSCRIBER),
            };
        ctx.push_each(batch, process);
    }

    /// Sends what is to be sent, writes what is to be written, and sets the timer.
    fn settle(&mut self, ctx: &mut Ctx<'_>) {
        for packet in self.server.out.drain(..) {
            ctx.emit_packet(0, packet);
        }
        self.server.journal.flush(ctx);
        let (Some(timer), Some(at)) = (self.timer, self.server.next_at()) else { return };
        if !ctx.timer_is_scheduled(timer) || ctx.timer_expiry(timer) > at {
            ctx.schedule_at(timer, at);
        }
    }

    fn load_users(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let mut users = Vec::new();
        if !self.users_file.is_empty() {
            let file = &self.users_file;
            let text = std::fs::read_to_string(file)
                .map_err(|error| format!("{file}: {}", element::output::reason(&error)))?;
            users = User::parse_lines(&text, &ctx.scope()).map_err(|error| format!("{file}:{error}"))?;
        }
        users.extend(self.inline_users.iter().cloned());
        self.server.users = Users::new(users);
        Ok(())
    }

    /// A session, in a line.
    fn describe(&self, id: u16) -> Option<String> {
        let (session, subscriber) = (self.server.session(id)?, self.server.subscriber(id)?);
        let station = EtherAddr(session.station());
        let address = subscriber.address.map_or("-".to_string(), |address| address.to_string());
        let name = if subscriber.name.is_empty() { "-" } else { &subscriber.name };
        let phase = subscriber.link.as_ref().map_or("static", |link| link.phase());
        let (up, down, n_spoofed) = (&session.up, &session.down, session.n_spoofed);
        Some(format!(
            "{id} {station} {address} {} {phase} {} {} {} {} {} {} {n_spoofed}\n",
            name, up.n_packets, up.n_bytes, up.n_over, down.n_packets, down.n_bytes, down.n_over
        ))
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn sessions_that_last_carry_packets_at_their_rate_and_are_ended_by_hand() {
        check_reading(
            "bras :: PPPoEServer(2:0:0:0:0:1, 10.0.0.1, STATIC 2:0:0:0:0:2 7 10.0.0.7 1kBps 1MBps, ACCOUNTING /dev/null);
             InfiniteSource(LIMIT 9, LENGTH 900) -> UDPIPEncap(9.9.9.9, 1, 10.0.0.7, 2) -> [1] bras;
             InfiniteSource(LIMIT 1, LENGTH 9) -> UDPIPEncap(9.9.9.9, 1, 10.0.0.9, 2) -> [1] bras;
             InfiniteSource(LIMIT 1, LENGTH 1500) -> UDPIPEncap(9.9.9.9, 1, 10.0.0.7, 2) -> [1] bras;
             bras[0] -> Print(frame, MAXLENGTH 24) -> Strip(22) -> IPMirror -> Unstrip(22) -> EtherMirror -> bras;
             bras[1] -> IPPrint(ip, AGGREGATE true) -> Discard;
             bras[2] -> Print(foreign) -> Discard; bras[3] -> IPPrint(rest) -> Discard;
             DriverManager(wait 1s, print $(bras.sessions), write bras.add_session 2:0:0:0:0:3 8 10.0.0.8,
                 write bras.add_session 2:0:0:0:0:3 7 10.0.0.8, write bras.add_session 2:0:0:0:0:3 9 10.0.0.1,
                 print $(bras.lookup 10.0.0.8), write bras.disconnect 8, print $(bras.count),
                 write bras.disconnect 8, stop)",
            &["bras.count", "bras.sessions", "bras.statistics", "bras.users"],
            expect![[r#"
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                ip: 1000000000.000000002: #7: 10.0.0.7.2 > 9.9.9.9.1: udp 908
                rest: 1000000000.000000004: 9.9.9.9.1 > 10.0.0.9.2: udp 17
                rest: 1000000000.000000005: 9.9.9.9.1 > 10.0.0.7.2: udp 1508
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                ip: 1000000000.000000006: #7: 10.0.0.7.2 > 9.9.9.9.1: udp 908
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                ip: 1000000000.000000008: #7: 10.0.0.7.2 > 9.9.9.9.1: udp 908
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                ip: 1000000000.000000010: #7: 10.0.0.7.2 > 9.9.9.9.1: udp 908
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                ip: 1000000000.000000012: #7: 10.0.0.7.2 > 9.9.9.9.1: udp 908
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                ip: 1000000000.000000014: #7: 10.0.0.7.2 > 9.9.9.9.1: udp 908
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                frame:  950 | 02000000 00020200 00000001 88641100 000703a2 00214500
                While executing 'DriverManager@19 :: DriverManager':
                  While calling 'bras.add_session 2:0:0:0:0:3 7 10.0.0.8':
                    session 7 exists already
                  While calling 'bras.add_session 2:0:0:0:0:3 9 10.0.0.1':
                    address 10.0.0.1 is taken already
                frame:   20 | 02000000 00030200 00000001 886311a7 00080000
                Packet::pull 22 > length 20
                foreign:   22 | 00030200 000099bb 02000000 00018863 11a70008 0000
                  While calling 'bras.disconnect 8':
                    no session of '8'
                bras.count: 1
                bras.sessions: 7 02-00-00-00-00-02 10.0.0.7 - static 6 5568 3 9 8352 0 0

                bras.statistics: padi 0
                pado 0
                padr 0
                pads 0
                padt 0
                bad_cookie 0
                no_service 0
                no_room 0
                logins 0
                bad_logins 0
                opened 2
                lost 0
                ended 1

                bras.users: 
            "#]],
        );
    }

    #[test]
    fn wrong_arguments_are_told() {
        check_reading(
            "bras :: PPPoEServer(1:0:0:0:0:1, 10.0.0.1, POOL 10.0.0.9-10.0.0.1, USER x, STATIC 1 2 3, AUTH eap, DNS 1.1.1.1 2.2.2.2 3.3.3.3);
             Idle -> bras -> Discard; Idle -> [1] bras[1] -> Discard;",
            &[],
            expect![[r#"
                config:1: While configuring 'bras :: PPPoEServer':
                  POOL: ends before it begins
                  USER: expected `NAME SECRET [ADDRESS [UP [DOWN]]]`
                  STATIC: bad Ethernet address `1`
                  AUTH: `eap` is neither `chap` nor `pap`
                  ETHER: a group of stations cannot answer
                  DNS: more than two name servers
                Router could not be initialized!
            "#]],
        );
    }
}
