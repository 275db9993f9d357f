//! Turns what is written to a handler into TCP packets, and packets into what is read from it.
//!
//! Writing `data` pushes a packet with at most MTU bytes of the text to the output; the rest waits for the next write. Reading `data`
//! pulls packets from input 0 until one has a payload, and gives that. The packets have no addresses, ports and checksums.
//! What comes to input 1 is dropped.
//!
//! ```click
//! b :: BufferConverter(1000);
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Queue -> [0]b -> Discard; Idle -> [1]b;
//! ```

use std::collections::VecDeque;

use element::{same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet};
use wire::tcp_flag;

use super::tcp_packet::Segment;

/// The class.
pub const CLASS: Class = Class::new::<BufferConverter>("BufferConverter", "2/1", "lh/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::required("MTU", "int", "Most bytes of text in a packet.")];

const HANDLERS: &[Handler] =
    &[Handler::read_write("data", "Read: the payload of the next packet. Written: text for packets.")];

const READ: usize = 0;
const IGNORED: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("read", "The packet's payload, if any, was read."),
    DropReason::new("ignored", "The packet came to input 1."),
];

const TYPE_OF_SERVICE: u8 = 0x10;
const HEADERS: usize = 40;
/// Most bytes that wait.
const MAX_WAITING: usize = 1 << 20;
/// Longest payload of a packet: its total length has 16 bits.
const MAX_PAYLOAD: usize = 65535 - HEADERS;
/// Most packets without payload that a read passes over.
const MOST_EMPTY: usize = 1 << 16;

/// See the page above.
pub struct BufferConverter {
    mtu: usize,
    waiting: VecDeque<u8>,
}

impl Element for BufferConverter {
    fn configure(conf: &mut Configure<'_>) -> Result<BufferConverter, Failed> {
        let mtu: i32 = conf.args.need("MTU");
        conf.finish()?;
        Ok(BufferConverter {
            mtu: usize::try_from(mtu).unwrap_or(0).min(MAX_PAYLOAD),
            waiting: VecDeque::new(),
        })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.drop_batch(IGNORED, batch);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        if name != "data" {
            return Err(format!("no {name} read handler"));
        }
        for _ in 0..MOST_EMPTY {
            let Some(packet) = ctx.pull_packet(0) else { break };
            let text = String::from_utf8_lossy(payload(&packet).unwrap_or_default()).into_owned();
            ctx.drop_packet(READ, packet);
            if !text.is_empty() {
                return Ok(text);
            }
        }
        Ok(String::new())
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name != "data" {
            return Err(format!("no {name} write handler"));
        }
        if self.waiting.len() + value.len() > MAX_WAITING {
            return Err("buffer is full".to_string());
        }
        self.waiting.extend(value.as_bytes());
        let n_bytes = self.waiting.len().min(self.mtu);
        let mut packet = Segment { flags: tcp_flag::PSH, ..Segment::default() }.packet(TYPE_OF_SERVICE);
        let text = packet.append(n_bytes).iter_mut().skip(HEADERS);
        for (to, from) in text.zip(self.waiting.drain(..n_bytes)) {
            *to = from;
        }
        if let Some(total_len) = packet.data_mut().get_mut(2..4) {
            total_len.copy_from_slice(&((HEADERS + n_bytes) as u16).to_be_bytes());
        }
        ctx.emit(0, Batch::of(packet));
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<BufferConverter>(ctx, old) else { return };
        self.waiting = old.waiting;
    }
}

/// What a packet with marked headers carries.
fn payload(packet: &Packet) -> Option<&[u8]> {
    let ip = packet.network().first_chunk::<20>()?;
    let segment = packet.transport();
    let header_len = usize::from(segment.get(12)? >> 4) * 4;
    let total_len = usize::from(u16::from_be_bytes([ip[2], ip[3]]));
    let segment_len = total_len.checked_sub(usize::from(ip[0] & 0x0f) * 4)?;
    segment.get(..segment_len.min(segment.len()))?.get(header_len..)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn text_becomes_packets_and_packets_become_text() {
        check_reading(
            r#"FromIPSummaryDump(DATA "!data ip_proto payload
T \"\"
T abc
T de
", STOP false) -> MarkIPHeader -> Queue -> [0]b :: BufferConverter(5) -> Print(x, -1) -> CheckLength(100)-> Discard; Idle -> [1]b;
            Script(wait 1s, write b.data 12345678, write b.data 1, write b.data, write b.data 123, write b.data 45, stop)"#,
            &["b.data", "b.data", "b.data"],
            expect![[r#"
                x:   45 | 4510002d 00004000 ff060000 00000000 00000000 00000000 00000000 00000000 50087d78 00000000 31323334 35
                x:   44 | 4510002c 00004000 ff060000 00000000 00000000 00000000 00000000 00000000 50087d78 00000000 36373831
                x:   40 | 45100028 00004000 ff060000 00000000 00000000 00000000 00000000 00000000 50087d78 00000000
                x:   43 | 4510002b 00004000 ff060000 00000000 00000000 00000000 00000000 00000000 50087d78 00000000 313233
                x:   42 | 4510002a 00004000 ff060000 00000000 00000000 00000000 00000000 00000000 50087d78 00000000 3435
                b.data: abc
                b.data: de
                b.data: 
            "#]],
        );
    }
}
