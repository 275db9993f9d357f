//! Opens a TCP connection and answers everything, to test what TCP does elsewhere.
//!
//! Each second a segment goes to port DPORT of the other side: a SYN until the connection stands, then one with a byte of data. What
//! comes in begins with a TCP header and is turned into an answer of the same kind; now and then there is one more. After a RST,
//! packets are dropped until the next second, which begins a connection from another port. Addresses and checksums are left to
//! elements behind it.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(34) -> ToyTCP(80) -> IPEncap(tcp, 1.0.0.1, 1.0.0.2) -> SetTCPChecksum -> Discard;
//! ```

use args::Port;
use element::{same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet, TimerId};
use wire::{protocol, tcp_flag};

/// The class.
pub const CLASS: Class = Class::new::<ToyTCP>("ToyTCP", "1/1", "h/h", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[Arg::required("DPORT", "port", "TCP port of the other side.")];

const RESET: usize = 0;
const REPLACED: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("reset", "The connection was reset."),
    DropReason::new("replaced", "The packet had no room for an answer, which became one of its own."),
];

const TCP: usize = 20;
/// Bytes in front of a segment for the headers that others put there.
const HEADROOM: usize = 34;
const NS_PER_S: i64 = 1_000_000_000;
/// Packets that are answered once, between two that are answered twice.
const MOST_SINGLE_ANSWERS: u32 = 4;

/// See the page above.
pub struct ToyTCP {
    timer: Option<TimerId>,
    connection: Connection,
    dport: u16,
    n_good: u32,
    n_bad: u32,
    n_sent: u32,
}

/// What one connection has come to.
#[derive(Default)]
struct Connection {
    sport: u16,
    /// The sequence number that it begins with.
    first: u32,
    /// What was received last, once the connection stands.
    next_in: Option<u32>,
    n_single_answers: u32,
    n_wide_windows: u32,
    was_reset: bool,
}

impl Connection {
    fn new(now_ns: i64) -> Connection {
        let (seconds, us) = (now_ns.div_euclid(NS_PER_S), now_ns.rem_euclid(NS_PER_S) / 1000);
        let sport = (1024 + us % 60_000) as u16;
        Connection { sport, first: seconds as u32 & 0x0fff_ffff, ..Connection::default() }
    }

    /// The header of a segment, when so many were sent.
    fn header(&mut self, dport: u16, n_sent: u32) -> [u8; TCP] {
        let mut tcp = [0; TCP];
        let (mut sequence, mut flags) = (self.first, tcp_flag::SYN);
        if let Some(next_in) = self.next_in {
            (sequence, flags) = (self.first.wrapping_add(2 + (n_sent & 0xfff)), tcp_flag::ACK);
            tcp[8..12].copy_from_slice(&next_in.to_be_bytes());
        }
        let is_narrow = self.n_wide_windows > 2;
        self.n_wide_windows = if is_narrow { 0 } else { self.n_wide_windows + 1 };
        let window: u16 = if is_narrow { 30 * 1024 } else { 60 * 1024 };
        tcp[..2].copy_from_slice(&self.sport.to_be_bytes());
        tcp[2..4].copy_from_slice(&dport.to_be_bytes());
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        [tcp[12], tcp[13]] = [(TCP as u8 / 4) << 4, flags];
        tcp[14..16].copy_from_slice(&window.to_be_bytes());
        tcp
    }
}

impl Element for ToyTCP {
    fn configure(conf: &mut Configure<'_>) -> Result<ToyTCP, Failed> {
        let Port::<{ protocol::TCP }>(dport) = conf.args.need("DPORT");
        conf.finish()?;
        Ok(ToyTCP { timer: None, connection: Connection::default(), dport, n_good: 0, n_bad: 0, n_sent: 0 })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.connection = Connection::new(ctx.now_ns());
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, NS_PER_S);
        self.timer = Some(timer);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            if self.connection.was_reset {
                ctx.drop_packet(RESET, packet);
                continue;
            }
            self.receive(ctx, packet.data());
            self.send(ctx, Some(packet));
            if self.connection.n_single_answers > MOST_SINGLE_ANSWERS {
                self.send(ctx, None);
                self.connection.n_single_answers = 0;
            } else {
                self.connection.n_single_answers += 1;
            }
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        if self.connection.was_reset {
            self.connection = Connection::new(ctx.now_ns());
        }
        self.send(ctx, None);
        ctx.schedule_after(timer, NS_PER_S);
        ctx.chatter(&format!("ToyTCP: {} good in, {} bad in, {} out", self.n_good, self.n_bad, self.n_sent));
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ToyTCP>(ctx, old) else { return };
        (self.n_good, self.n_bad, self.n_sent) = (old.n_good, old.n_bad, old.n_sent);
        if old.dport == self.dport {
            self.connection = old.connection;
        }
    }
}

impl ToyTCP {
    fn receive(&mut self, ctx: &mut Ctx<'_>, segment: &[u8]) {
        let Some(tcp) = segment.first_chunk::<TCP>() else { return };
        let ports = [u16::from_be_bytes([tcp[0], tcp[1]]), u16::from_be_bytes([tcp[2], tcp[3]])];
        if ports != [self.dport, self.connection.sport] {
            return;
        }
        let sequence = u32::from_be_bytes([tcp[4], tcp[5], tcp[6], tcp[7]]);
        let acknowledged = u32::from_be_bytes([tcp[8], tcp[9], tcp[10], tcp[11]]);
        let acknowledges = tcp[13] & (tcp_flag::ACK | tcp_flag::RST) == tcp_flag::ACK;
        let is_answer = acknowledged == self.connection.first.wrapping_add(1);
        if acknowledges && is_answer && self.connection.next_in.is_none() {
            self.connection.next_in = Some(sequence.wrapping_add(1));
            ctx.chatter("ToyTCP connected");
        }
        if tcp[13] & tcp_flag::RST != 0 {
            let (n_good, n_sent) = (self.n_good, self.n_sent);
            ctx.chatter(&format!("ToyTCP: RST from port {}, in {n_good}, out {n_sent}", self.dport));
            self.n_bad = self.n_bad.wrapping_add(1);
            self.connection.was_reset = true;
        } else {
            self.n_good = self.n_good.wrapping_add(1);
        }
    }

    /// Sends a segment, in the packet that is given if it has room.
    fn send(&mut self, ctx: &mut Ctx<'_>, packet: Option<Packet>) {
        let len = TCP + usize::from(self.connection.next_in.is_some());
        let mut packet = match packet {
            Some(packet) if has_room(&packet, len) => packet,
            Some(packet) => {
                let (headroom, length, tailroom) = (packet.headroom(), packet.len(), packet.tailroom());
                ctx.chatter(&format!("could not re-use {headroom} {length} {tailroom}"));
                ctx.drop_packet(REPLACED, packet);
                Packet::zeroed(len)
            }
            None => Packet::zeroed(len),
        };
        match len.checked_sub(packet.len()) {
            Some(0) => {}
            Some(missing) => packet.append(missing).fill(0),
            None => packet.truncate(len),
        }
        let header = self.connection.header(self.dport, self.n_sent);
        if let Some(tcp) = packet.data_mut().first_chunk_mut::<TCP>() {
            *tcp = header;
        }
        ctx.emit_now(0, Batch::of(packet));
        self.n_sent = self.n_sent.wrapping_add(1);
    }
}

fn has_room(packet: &Packet, len: usize) -> bool {
    !packet.is_shared() && packet.headroom() >= HEADROOM && packet.len() + packet.tailroom() >= len
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn a_connection_is_opened_and_reset() {
        // Simulated time begins at 1000000000 s, so the number to acknowledge is 0x0b9aca01.
        check(
            r#"in :: RatedSource(DATA \<0050 0400 00000007 0b9aca01 5012 0000 00000000>, RATE 4, LIMIT 9) -> t :: ToyTCP(80)
                -> Print(out, -1) -> Discard;
            TimedSource(3.1, \<0050 0400 00000007 00000000 5004 0000 00000000>) -> t;
            TimedSource(3.4, \<00>) -> t;
            Script(wait 4.5s, stop)"#,
            expect![[r#"
                ToyTCP connected
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca02 00000008 5010f000 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca03 00000008 5010f000 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca04 00000008 5010f000 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca05 00000008 50107800 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca06 00000008 5010f000 00000000 00
                out:   21 | 04000050 0b9aca07 00000008 5010f000 00000000 00
                ToyTCP: 5 good in, 0 bad in, 6 out
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca08 00000008 5010f000 00000000 00
                out:   21 | 04000050 0b9aca09 00000008 50107800 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca0a 00000008 5010f000 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca0b 00000008 5010f000 00000000 00
                could not re-use 128 20 1900
                out:   21 | 04000050 0b9aca0c 00000008 5010f000 00000000 00
                out:   21 | 04000050 0b9aca0d 00000008 50107800 00000000 00
                ToyTCP: 9 good in, 0 bad in, 12 out
                out:   21 | 04000050 0b9aca0e 00000008 5010f000 00000000 00
                ToyTCP: 9 good in, 0 bad in, 13 out
                ToyTCP: RST from port 80, in 9, out 13
                could not re-use 28 20 2000
                out:   21 | 04000050 0b9aca0f 00000008 5010f000 00000000 00
                out:   20 | 04000050 0b9aca04 00000000 5002f000 00000000
                ToyTCP: 9 good in, 1 bad in, 15 out
            "#]],
        );
    }

    #[test]
    fn a_port_is_needed() {
        check(
            "Idle -> ToyTCP -> Discard; Idle -> ToyTCP(70000) -> Discard",
            expect![[r#"
            config:1: While configuring 'ToyTCP@2 :: ToyTCP':
              DPORT: required argument missing
            config:1: While configuring 'ToyTCP@5 :: ToyTCP':
              DPORT: overflow, range 0-65535
            Router could not be initialized!
        "#]],
        );
    }
}
