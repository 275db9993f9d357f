//! Acknowledges TCP packets.
//!
//! What arrives at input 0 leaves by output 0 as it is; a `TCPBuffer` must be downstream, which tells what is missing. What arrives at
//! input 1 leaves by output 1 with its acknowledgement number set to the first one that is missing. If nothing did so within
//! DELAY after a packet with data came, an acknowledgement without addresses, ports and checksums leaves by output 2.
//!
//! Acknowledging begins with the first SYN with ACK that comes to either input; packets before that are dropped, as are those
//! without marked headers. Checksums are left to `SetIPChecksum` and `SetTCPChecksum`.
//!
//! ```click
//! a :: TCPAck(DELAY 0.1);
//! Idle -> [0]a[0] -> TCPBuffer -> Unqueue -> Discard;    Idle -> [1]a[1] -> SetTCPChecksum -> Discard;
//! a[2] -> Discard;
//! ```

use args::Seconds;
use element::{
    offload, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed, Packet,
    TimerId,
};
use wire::{protocol, tcp_flag};

use super::sequence::Sequence;
use super::tcp_buffer::TCPBuffer;
use crate::standard::neighbours::{nearest, Towards};

/// The class.
pub const CLASS: Class =
    Class::new::<TCPAck>("TCPAck", "2/3", "aa/aah", "x/x").args(ARGS).drops(DROPS).looks_around();

const ARGS: &[Arg] =
    &[Arg::keyword("DELAY", "seconds", "How long an acknowledgement may wait. Default 0.02.")];

const NO_HEADER: usize = 0;
const TOO_EARLY: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "No IPv4 and TCP headers are marked."),
    DropReason::new("too-early", "No SYN with ACK came before the packet."),
];

const DEFAULT_DELAY_MS: u32 = 20;
const SYN_ACK: u8 = tcp_flag::SYN | tcp_flag::ACK;
const TTL: u8 = 255;
const TYPE_OF_SERVICE: u8 = 0x10;
const WINDOW: u16 = 32120;

/// See the page above.
pub struct TCPAck {
    delay_ns: i64,
    buffer: ElementIdx,
    timer: Option<TimerId>,
    /// The next sequence number to acknowledge, once there was a SYN with ACK.
    next: Option<u32>,
    /// Whether there is something to acknowledge.
    is_due: bool,
}

impl Element for TCPAck {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPAck, Failed> {
        let Seconds::<3>(delay_ms) = conf.args.get_or("DELAY", Seconds(DEFAULT_DELAY_MS));
        conf.finish()?;
        let delay_ns = i64::from(delay_ms) * 1_000_000;
        Ok(TCPAck { delay_ns, buffer: conf.element, timer: None, next: None, is_due: false })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let buffers = nearest(ctx, Towards::Outputs, 0, |ctx, idx| ctx.class(idx) == "TCPBuffer");
        self.buffer = *buffers.first().ok_or("need at least 1 downstream TCPBuffer")?;
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, self.delay_ns);
        self.timer = Some(timer);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            // What the buffer has depends on the packets before.
            match self.process(ctx, port, packet) {
                Ok(packet) => ctx.emit_now(port, Batch::of(packet)),
                Err((reason, packet)) => ctx.drop_packet(reason, packet),
            }
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, _max: usize) -> Batch {
        let Some(packet) = ctx.pull_packet(port) else { return Batch::new() };
        match self.process(ctx, port, packet) {
            Ok(packet) => Batch::of(packet),
            Err((reason, packet)) => {
                ctx.drop_packet(reason, packet);
                Batch::new()
            }
        }
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if let Some(next) = self.next.filter(|_| std::mem::take(&mut self.is_due)) {
            ctx.emit_packet(2, acknowledgement(next));
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TCPAck>(ctx, old) else { return };
        (self.next, self.is_due) = (old.next, old.is_due);
    }
}

impl TCPAck {
    fn process(
        &mut self,
        ctx: &mut Ctx<'_>,
        port: usize,
        mut packet: Packet,
    ) -> Result<Packet, (usize, Packet)> {
        offload::settle(&mut packet);
        let Some(sequence) = Sequence::of(&packet) else { return Err((NO_HEADER, packet)) };
        match port {
            0 => self.receive(ctx, sequence, packet),
            _ => self.send(sequence, packet),
        }
    }

    fn receive(
        &mut self,
        ctx: &mut Ctx<'_>,
        sequence: Sequence,
        packet: Packet,
    ) -> Result<Packet, (usize, Packet)> {
        if self.next.is_none() && sequence.flags & SYN_ACK == SYN_ACK {
            self.next = Some(sequence.begin.wrapping_add(1));
        }
        let Some(next) = self.next else { return Err((TOO_EARLY, packet)) };
        if sequence.flags & (tcp_flag::SYN | tcp_flag::FIN | tcp_flag::RST) != 0 {
            return Ok(packet);
        }
        if sequence.begin == next {
            let end = sequence.end();
            let missing = ctx.with(self.buffer, |buffer: &mut TCPBuffer, _| buffer.next_missing(end));
            self.next = Some(missing.flatten().unwrap_or(end));
        } else {
            ctx.chatter("seqno < ack_nxt: out of order or retransmitted packet");
        }
        self.is_due = true;
        if let Some(timer) = self.timer.filter(|timer| !ctx.timer_is_scheduled(*timer)) {
            ctx.schedule_after(timer, self.delay_ns);
        }
        Ok(packet)
    }

    fn send(&mut self, sequence: Sequence, mut packet: Packet) -> Result<Packet, (usize, Packet)> {
        if sequence.flags & SYN_ACK == SYN_ACK {
            self.next = Some(sequence.acknowledged);
        }
        let Some(next) = self.next else { return Err((TOO_EARLY, packet)) };
        self.is_due = false;
        if let Some(field) = packet.transport_mut().get_mut(8..12) {
            field.copy_from_slice(&next.to_be_bytes());
        }
        Ok(packet)
    }
}

/// A packet that acknowledges all before a sequence number, without addresses, ports and checksums.
fn acknowledgement(next: u32) -> Packet {
    let mut packet = Packet::zeroed(40);
    if let Some((ip, tcp)) = packet.data_mut().split_first_chunk_mut::<20>() {
        [ip[0], ip[1], ip[3], ip[6]] = [0x45, TYPE_OF_SERVICE, 40, 0x40];
        [ip[8], ip[9]] = [TTL, protocol::TCP];
        if let Some(tcp) = tcp.first_chunk_mut::<20>() {
            tcp[8..12].copy_from_slice(&next.to_be_bytes());
            [tcp[12], tcp[13]] = [0x50, tcp_flag::ACK];
            tcp[14..16].copy_from_slice(&WINDOW.to_be_bytes());
        }
    }
    packet.set_network_header(0, 20);
    packet
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn what_came_is_acknowledged() {
        check_reading(
            r#"in :: FromIPSummaryDump(DATA "!data sport tcp_flags tcp_seq tcp_ack payload
1 A 50 0 \"early\"
2 SA 99 7 \"\"
3 A 105 7 \"later\"
4 A 100 7 \"first\"
5 A 110 7 \"next\"
", STOP false);
            out :: FromIPSummaryDump(DATA "!data sport tcp_flags tcp_seq tcp_ack
8 A 7 0
", STOP false, ACTIVE false);
            a :: TCPAck(DELAY 0.5);
            in -> MarkIPHeader -> [0]a[0] -> IPPrint(in) -> TCPBuffer -> TimedSink(0.1);
            out -> MarkIPHeader -> [1]a[1] -> IPPrint(out) -> Discard;
            a[2] -> Print(ack, -1) -> Discard;
            Script(wait 1s, write out.active true, wait 1s, stop)"#,
            &[],
            expect![[r#"
                in: 0.000000: 0.0.0.0.2 > 0.0.0.0.0: S 99:100(1,40,40) ack 7 win 0
                seqno < ack_nxt: out of order or retransmitted packet
                in: 0.000000: 0.0.0.0.3 > 0.0.0.0.0: . 105:110(5,45,45) ack 7 win 0
                in: 0.000000: 0.0.0.0.4 > 0.0.0.0.0: . 100:105(5,45,45) ack 7 win 0
                in: 0.000000: 0.0.0.0.5 > 0.0.0.0.0: . 110:114(4,44,44) ack 7 win 0
                ack:   40 | 45100028 00004000 ff060000 00000000 00000000 00000000 00000000 00000072 50107d78 00000000
                out: 0.000000: 0.0.0.0.8 > 0.0.0.0.0: . 7:7(0,40,40) ack 114 win 0
            "#]],
        );
    }

    #[test]
    fn a_buffer_must_be_downstream() {
        check(
            "a :: TCPAck(3); Idle -> [0]a[0] -> Discard; Idle -> [1]a[1] -> Discard; a[2] -> Discard",
            expect![[r#"
            config:1: While configuring 'a :: TCPAck':
              too many arguments
            Router could not be initialized!
        "#]],
        );
        check(
            "a :: TCPAck; Idle -> [0]a[0] -> Discard; Idle -> [1]a[1] -> Discard; a[2] -> Discard",
            expect![[r#"
            config:1: While initializing 'a :: TCPAck':
              need at least 1 downstream TCPBuffer
            Router could not be initialized!
        "#]],
        );
    }
}
