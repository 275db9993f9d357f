//! Asks a web server for pages over and over.
//!
//! Begins RATE connections per second from random addresses of PREFIX and random ports to port 80 of DST. Each sends one request,
//! `GET /spec/D/D-C-F HTTP/1.0` with random digits, and its FIN at once, takes in the answer without reading it, and ends with the
//! server's FIN. What is not answered within a second is sent again, at most six times. The packets of the server belong to the
//! input, their data beginning with the IPv4 header; what belongs to no connection is answered with a RST.
//!
//! Every five seconds and in the end a line tells how many connections were begun, completed, given up and reset since the last.
//!
//! ```click
//! tap :: KernelTap(11.11.0.1/16) -> Strip(14)
//!     -> WebGen(11.11.0.0/16, 10.0.0.1, 100)
//!     -> EtherEncap(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> tap;
//! ```

mod connection;
mod table;

use std::net::Ipv4Addr;

use args::{Prefix, PrefixOrAddress};
use element::{
    offload, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet, TimerId,
};

use self::connection::{Heard, Outgoing, Segment};
use self::table::{Key, Table};

/// The class.
pub const CLASS: Class = Class::new::<WebGen>("WebGen", "1/1", "h/h", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("PREFIX", "IP prefix", "Network of the clients' addresses."),
    Arg::required("DST", "IP address", "Address of the server."),
    Arg::required("RATE", "int", "Connections to begin per second, 1 to 1000000."),
];

const DROPS: &[DropReason] = &[
    DropReason::new(
        "not-tcp",
        "The packet was too short for an IPv4 and a TCP header, or its lengths are wrong.",
    ),
    DropReason::new("reset", "It ended a connection by a RST."),
    DropReason::new("nothing-to-answer", "It was taken in, and there was nothing to send."),
];
const NOT_TCP: usize = 0;
const RESET: usize = 1;
const NOTHING_TO_ANSWER: usize = 2;

const NS_PER_US: i64 = 1000;
const US_PER_S: i32 = 1_000_000;
/// Time after which a segment is sent again.
const RESEND_US: i64 = 1_000_000;
/// How often it is sent again before the connection is given up.
const MAX_RESENDS: u8 = 6;
/// Time between two lines of figures.
const FIGURES_US: i64 = 5_000_000;
const TICK_NS: i64 = 1_000_000;
const SERVER_PORT: u16 = 80;

/// What became of connections.
#[derive(Default)]
struct Figures {
    begun: u32,
    completed: u32,
    reset: u32,
    given_up: u32,
}

/// See the page above.
pub struct WebGen {
    prefix: Prefix,
    server: Ipv4Addr,
    /// Time between two connections.
    interval_us: i64,
    table: Table,
    /// Identification of the next packet.
    next_id: u16,
    timer: Option<TimerId>,
    /// When the last connection was due.
    begin_ns: i64,
    figures_ns: i64,
    figures: Figures,
}

impl Element for WebGen {
    fn configure(conf: &mut Configure<'_>) -> Result<WebGen, Failed> {
        let PrefixOrAddress(prefix) = conf.args.need("PREFIX");
        let server = conf.args.need("DST");
        let rate: i32 = conf.args.need("RATE");
        conf.finish()?;
        if !(1..=US_PER_S).contains(&rate) {
            return Err(format!("RATE must be 1 to {US_PER_S}").into());
        }
        let interval_us = i64::from(US_PER_S / rate);
        // As in Click: twice as many as begin within five times that time.
        let capacity = 2 * (RESEND_US / interval_us) * 5;
        Ok(WebGen {
            prefix,
            server,
            interval_us,
            table: Table::new(capacity as usize),
            next_id: 0,
            timer: None,
            begin_ns: 0,
            figures_ns: 0,
            figures: Figures::default(),
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        ctx.schedule_now(timer);
        self.timer = Some(timer);
        let n_connections = self.table.capacity();
        ctx.chatter(&format!("Allocated {n_connections} CBs"));
        // Click reads the time for each connection that there may be, and for two more.
        ctx.let_pass(n_connections as i64);
        self.begin_ns = ctx.now_ns();
        self.figures_ns = self.begin_ns;
        ctx.let_pass(2);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            self.take_in(ctx, packet);
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        let now_ns = ctx.now_ns();
        self.begin_due(ctx, now_ns);
        self.resend(ctx, now_ns);
        if passed_us(now_ns, self.figures_ns) > FIGURES_US {
            self.tell_figures(ctx);
        }
        ctx.schedule_after(timer, TICK_NS);
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if self.timer.take().is_some() {
            self.tell_figures(ctx);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<WebGen>(ctx, old) else { return };
        if (old.server, old.interval_us) == (self.server, self.interval_us) {
            std::mem::swap(&mut self.table, &mut old.table);
            (self.begin_ns, self.figures_ns) = (old.begin_ns, old.figures_ns);
            (self.next_id, self.figures) = (old.next_id, std::mem::take(&mut old.figures));
            old.timer = None;
        }
        old.cleanup(ctx);
    }
}

/// Microseconds between two times, as Click counts them: each time is cut to microseconds first.
fn passed_us(now_ns: i64, since_ns: i64) -> i64 {
    now_ns.div_euclid(NS_PER_US).saturating_sub(since_ns.div_euclid(NS_PER_US))
}

impl WebGen {
    /// Begins the connections that are due.
    fn begin_due(&mut self, ctx: &mut Ctx<'_>, now_ns: i64) {
        let interval_ns = self.interval_us * NS_PER_US;
        while passed_us(now_ns, self.begin_ns) > self.interval_us {
            self.begin_ns += interval_ns;
            if self.table.is_full() {
                // Nothing ends before this timer does: there will be no room for any other that is due, however many these are.
                let n_more = (passed_us(now_ns, self.begin_ns) - 1) / self.interval_us;
                self.begin_ns += n_more.max(0) * interval_ns;
                return ctx.chatter("out of available CBs");
            }
            self.begin(ctx);
        }
    }

    /// Begins a connection; there is room for it.
    fn begin(&mut self, ctx: &mut Ctx<'_>) {
        // Click makes the address of the random number as the machine keeps it.
        let host = ctx.random() & !u32::from_le_bytes(self.prefix.mask.octets());
        let network = u32::from_le_bytes(self.prefix.network().octets());
        let source = Ipv4Addr::from((host | network).to_le_bytes());
        let (connection, port) = connection::Connection::begin(ctx);
        if let Some(idx) = self.table.insert(Key { source, port }, connection) {
            self.send(ctx, idx, None);
            self.figures.begun += 1;
        }
    }

    /// Sends again what was not answered, and gives up what never is.
    fn resend(&mut self, ctx: &mut Ctx<'_>, now_ns: i64) {
        let last = self.table.newest();
        while let Some(idx) = self.table.oldest() {
            let Some(connection) = self.table.get_mut(idx) else { break };
            if passed_us(now_ns, connection.sent_ns) <= RESEND_US {
                break;
            }
            connection.n_resends += 1;
            if connection.n_resends > MAX_RESENDS {
                self.figures.given_up += 1;
                self.table.remove(idx);
            } else {
                self.send(ctx, idx, None);
            }
            if last == Some(idx) {
                break;
            }
        }
    }

    /// A packet of the server's.
    fn take_in(&mut self, ctx: &mut Ctx<'_>, mut packet: Packet) {
        offload::settle(&mut packet);
        let Some(segment) = Segment::of(packet.data()) else {
            return ctx.drop_packet(NOT_TCP, packet);
        };
        let key = Key { source: segment.destination, port: segment.destination_port };
        let found = if segment.source_port == SERVER_PORT { self.table.find(key) } else { None };
        let heard = found.and_then(|idx| Some((idx, self.table.get_mut(idx)?.hear(&segment))));
        match heard {
            None => self.emit(ctx, &segment.refusal(), Some(packet)),
            Some((idx, Heard::Reset)) => {
                self.table.remove(idx);
                self.figures.reset += 1;
                ctx.drop_packet(RESET, packet);
            }
            Some((idx, Heard::Segment)) => {
                self.send(ctx, idx, Some(packet));
                if self.table.get_mut(idx).is_some_and(|connection| connection.is_closed) {
                    self.table.remove(idx);
                }
            }
        }
    }

    /// Sends what a connection has to send, if anything, in the packet if that has room.
    fn send(&mut self, ctx: &mut Ctx<'_>, idx: u32, packet: Option<Packet>) {
        let Some(key) = self.table.key(idx) else { return };
        self.table.make_newest(idx);
        let sent_ns = ctx.now_ns();
        let Some(connection) = self.table.get_mut(idx) else { return };
        connection.sent_ns = sent_ns;
        let Some(segment) = connection.next_segment() else {
            if let Some(packet) = packet {
                ctx.drop_packet(NOTHING_TO_ANSWER, packet);
            }
            return;
        };
        self.figures.completed += u32::from(connection.is_closed);
        let outgoing = segment.between((key.source, key.port), (self.server, SERVER_PORT));
        self.emit(ctx, &outgoing, packet);
    }

    fn emit(&mut self, ctx: &mut Ctx<'_>, outgoing: &Outgoing, packet: Option<Packet>) {
        let packet = outgoing.packet(self.next_id, packet);
        self.next_id = self.next_id.wrapping_add(1);
        ctx.emit_packet(0, packet);
    }

    fn tell_figures(&mut self, ctx: &mut Ctx<'_>) {
        let figures = std::mem::take(&mut self.figures);
        self.figures_ns = ctx.now_ns();
        ctx.chatter(&format!(
            "init: {}  comp: {:>5}  tmo: {:>5}  rst: {:>5}",
            figures.begun, figures.completed, figures.given_up, figures.reset
        ));
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    const CLIENTS: &str = "RandomSeed(7); w :: WebGen(10.1.0.0/16, 10.0.0.1, 20)";

    #[test]
    fn pages_are_asked_for() {
        check(
            &format!(
                "{CLIENTS} -> IPPrint(out, ID true, PAYLOAD ascii) -> Queue -> DelayShaper(0.01) -> Unqueue -> TCPReflector -> IPPrint(in) -> w;
                 DriverManager(wait 0.25s, stop)"
            ),
            expect![[r#"
                Allocated 200 CBs
                out: 0.000000: id 0 10.1.82.62.40923 > 10.0.0.1.80: S 253354563:253354564(1,40,40) win 61440
                in: 1000000000.061000313: 10.0.0.1.80 > 10.1.82.62.40923: S 1494283382:1494283383(1,40,40) ack 253354564 win 61440
                out: 1000000000.061000313: id 1 10.1.82.62.40923 > 10.0.0.1.80: FP 253354564:253354595(31,70,70) ack 1494283383 win 61440
                  GET /spe c/2/2-1- 0 HTTP/1 .0....
                in: 1000000000.071000315: 10.0.0.1.80 > 10.1.82.62.40923: F 1494283383:1494283414(31,70,70) ack 253354595 win 61440
                out: 1000000000.071000315: id 2 10.1.82.62.40923 > 10.0.0.1.80: F 253354595:253354596(1,40,40) ack 1494283414 win 61440
                in: 1000000000.081000317: 10.0.0.1.80 > 10.1.82.62.40923: F 1494283414:1494283415(1,40,40) ack 253354596 win 61440
                out: 1000000000.081000317: id 3 10.1.82.62.40923 > 10.0.0.1.80: R 253354596:253354596(0,40,40) win 61440
                out: 0.000000: id 4 10.1.0.77.12339 > 10.0.0.1.80: S 118852153:118852154(1,40,40) win 61440
                in: 1000000000.111000414: 10.0.0.1.80 > 10.1.0.77.12339: S 3931329203:3931329204(1,40,40) ack 118852154 win 61440
                out: 1000000000.111000414: id 5 10.1.0.77.12339 > 10.0.0.1.80: FP 118852154:118852185(31,70,70) ack 3931329204 win 61440
                  GET /spe c/0/0-2- 6 HTTP/1 .0....
                in: 1000000000.121000416: 10.0.0.1.80 > 10.1.0.77.12339: F 3931329204:3931329235(31,70,70) ack 118852185 win 61440
                out: 1000000000.121000416: id 6 10.1.0.77.12339 > 10.0.0.1.80: F 118852185:118852186(1,40,40) ack 3931329235 win 61440
                in: 1000000000.131000418: 10.0.0.1.80 > 10.1.0.77.12339: F 3931329235:3931329236(1,40,40) ack 118852186 win 61440
                out: 1000000000.131000418: id 7 10.1.0.77.12339 > 10.0.0.1.80: R 118852186:118852186(0,40,40) win 61440
                out: 0.000000: id 8 10.1.149.27.36594 > 10.0.0.1.80: S 80923010:80923011(1,40,40) win 61440
                in: 1000000000.161000515: 10.0.0.1.80 > 10.1.149.27.36594: S 151386448:151386449(1,40,40) ack 80923011 win 61440
                out: 1000000000.161000515: id 9 10.1.149.27.36594 > 10.0.0.1.80: FP 80923011:80923042(31,70,70) ack 151386449 win 61440
                  GET /spe c/0/0-0- 3 HTTP/1 .0....
                in: 1000000000.171000517: 10.0.0.1.80 > 10.1.149.27.36594: F 151386449:151386480(31,70,70) ack 80923042 win 61440
                out: 1000000000.171000517: id 10 10.1.149.27.36594 > 10.0.0.1.80: F 80923042:80923043(1,40,40) ack 151386480 win 61440
                in: 1000000000.181000519: 10.0.0.1.80 > 10.1.149.27.36594: F 151386480:151386481(1,40,40) ack 80923043 win 61440
                out: 1000000000.181000519: id 11 10.1.149.27.36594 > 10.0.0.1.80: R 80923043:80923043(0,40,40) win 61440
                out: 0.000000: id 12 10.1.13.2.13985 > 10.0.0.1.80: S 24416972:24416973(1,40,40) win 61440
                in: 1000000000.211000616: 10.0.0.1.80 > 10.1.13.2.13985: S 2953550666:2953550667(1,40,40) ack 24416973 win 61440
                out: 1000000000.211000616: id 13 10.1.13.2.13985 > 10.0.0.1.80: FP 24416973:24417004(31,70,70) ack 2953550667 win 61440
                  GET /spe c/7/7-0- 0 HTTP/1 .0....
                in: 1000000000.221000618: 10.0.0.1.80 > 10.1.13.2.13985: F 2953550667:2953550698(31,70,70) ack 24417004 win 61440
                out: 1000000000.221000618: id 14 10.1.13.2.13985 > 10.0.0.1.80: F 24417004:24417005(1,40,40) ack 2953550698 win 61440
                in: 1000000000.231000620: 10.0.0.1.80 > 10.1.13.2.13985: F 2953550698:2953550699(1,40,40) ack 24417005 win 61440
                out: 1000000000.231000620: id 15 10.1.13.2.13985 > 10.0.0.1.80: R 24417005:24417005(0,40,40) win 61440
            "#]],
        );
    }

    #[test]
    fn the_answer_may_come_at_once() {
        check(
            "RandomSeed(9); w :: WebGen(10.1.0.0/24, 10.0.0.1, 200) -> TCPReflector -> IPPrint(in) -> w;
             DriverManager(wait 0.02s, stop)",
            expect![[r#"
                Allocated 2000 CBs
                in: 0.000000: 10.0.0.1.80 > 10.1.0.26.5189: S 675469651:675469652(1,40,40) ack 160020595 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.26.5189: F 675469652:675469683(31,70,70) ack 160020626 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.26.5189: F 675469683:675469684(1,40,40) ack 160020627 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.92.25880: S 4281215573:4281215574(1,40,40) ack 226484773 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.92.25880: F 4281215574:4281215605(31,70,70) ack 226484804 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.92.25880: F 4281215605:4281215606(1,40,40) ack 226484805 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.11.50270: S 3280705180:3280705181(1,40,40) ack 173494229 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.11.50270: F 3280705181:3280705212(31,70,70) ack 173494260 win 61440
                in: 0.000000: 10.0.0.1.80 > 10.1.0.11.50270: F 3280705212:3280705213(1,40,40) ack 173494261 win 61440
            "#]],
        );
    }

    #[test]
    fn what_is_not_answered_is_sent_again_and_given_up() {
        check(
            "RandomSeed(7); w :: WebGen(10.1.0.0/16, 10.0.0.1, 1) -> SetTimestamp -> IPPrint -> Discard; Idle -> w;
             DriverManager(wait 10.2s, stop)",
            expect![[r#"
                Allocated 10 CBs
                1000000001.000002019: 10.1.82.62.40923 > 10.0.0.1.80: S 253354563:253354564(1,40,40) win 61440
                1000000002.000004021: 10.1.123.127.52624 > 10.0.0.1.80: S 68574097:68574098(1,40,40) win 61440
                1000000002.000004022: 10.1.82.62.40923 > 10.0.0.1.80: S 253354563:253354564(1,40,40) win 61440
                1000000003.000006024: 10.1.217.97.34889 > 10.0.0.1.80: S 140642790:140642791(1,40,40) win 61440
                1000000003.000006025: 10.1.123.127.52624 > 10.0.0.1.80: S 68574097:68574098(1,40,40) win 61440
                1000000003.000006026: 10.1.82.62.40923 > 10.0.0.1.80: S 253354563:253354564(1,40,40) win 61440
            "#]],
        );
    }

    #[test]
    fn strangers_are_refused() {
        check(
            "InfiniteSource(DATA \\<4500002a 00010000 4006 0000 0a000001 0a010203 00500400 00000001 00000002 5012 1000 0000 0000 6162>,
                 LIMIT 1) -> Print(in, 50) -> w :: WebGen(10.1.0.0/16, 10.0.0.1, 1) -> CheckIPHeader -> CheckTCPHeader
                 -> Print(out, 50) -> Discard;
             InfiniteSource(DATA \\<4500>, LIMIT 1) -> w;
             InfiniteSource(DATA \\<4f000014 00010000 4006 0000 0a000001 0a010203 00500400 00000001 00000002 5012 1000 0000 0000>,
                 LIMIT 1) -> w; DriverManager(wait 0.1s, stop)",
            expect![[r#"
                Allocated 10 CBs
                in:   42 | 4500002a 00010000 40060000 0a000001 0a010203 00500400 00000001 00000002 50121000 00000000 6162
                out:   40 | 45000028 00000000 fa06aacb 0a010203 0a000001 04000050 00000002 00000001 5004f000 a5880000
            "#]],
        );
    }

    #[test]
    fn other_protocols_are_refused_by_what_stands_where_tcp_has_its_numbers() {
        check(
            "InfiniteSource(DATA \\<46000028 00010000 4011 0000 0a000001 0a010203 00000000 00500400 00100000 61626364 65666768>,
                 LIMIT 1) -> w :: WebGen(10.1.0.0/16, 10.0.0.1, 1) -> Print(out, 50) -> Discard;
             InfiniteSource(DATA \\<4700002a 00010000 4011 0000 0a000001 0a010203 00000000 00000000 00500400 000c0000 61626364 0000>,
                 LIMIT 1) -> w; DriverManager(wait 0.1s, stop)",
            expect![[r#"
                Allocated 10 CBs
                out:   40 | 45000028 00000000 fa06aacb 0a010203 0a000001 04000050 61626364 00100000 5004f000 e0b40000
                out:   40 | 45000028 00010000 fa06aaca 0a010203 0a000001 04000050 61626364 000c0000 5004f000 e0b80000
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> WebGen(10.1.0.0/16, 10.0.0.1, 0) -> Discard; Idle -> WebGen(10.1.0.0/16, 10.0.0.1, 1000001) -> Discard;
             Idle -> WebGen(x, y, z) -> Discard; Idle -> WebGen(1.0.0.1) -> Discard",
            expect![[r#"
                config:1: While configuring 'WebGen@2 :: WebGen':
                  RATE must be 1 to 1000000
                config:1: While configuring 'WebGen@5 :: WebGen':
                  RATE must be 1 to 1000000
                config:2: While configuring 'WebGen@8 :: WebGen':
                  PREFIX: parse error
                  DST: parse error
                  RATE: invalid number
                config:2: While configuring 'WebGen@11 :: WebGen':
                  DST: required argument missing
                  RATE: required argument missing
                Router could not be initialized!
            "#]],
        );
    }
}
