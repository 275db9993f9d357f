//! Writes a sequence number and the time into UDP payloads, to measure delays.
//!
//! The payload begins with five 32-bit numbers in network order: a sequence number, a time in seconds and nanoseconds, and a
//! difference of times in seconds and nanoseconds. One element sets the number and the time; one with DELTA true sets the
//! difference between the time that it finds and now. The UDP checksum follows as Click does it, which is right only while
//! the difference was 0.
//!
//! Packets that are not IPv4 or IPv6, IPv6 packets whose next header is not UDP, and packets that are too short are dropped.
//! That the protocol of IPv4 packets is UDP is taken for granted.
//!
//! ```click
//! RatedSource(DATA \<00>, LENGTH 22, RATE 10, LIMIT 5, STOP true) -> UDPIPEncap(10.0.0.1, 6667, 20.0.0.2, 6667)
//!     -> StoreUDPTimeSeqRecord(0) -> DelayShaper(0.1) -> Unqueue -> StoreUDPTimeSeqRecord(0, DELTA true) -> ToDump(out.pcap, ENCAP IP);
//! ```

use element::{
    offload, same, Arg, Batch, Class, Clock, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};
use wire::{checksum, protocol};

/// The class.
pub const CLASS: Class = Class::new::<StoreUdpTimeSeqRecord>("StoreUDPTimeSeqRecord", "1/1", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("OFFSET", "unsigned", "Where in the packet the IP header begins."),
    Arg::keyword("DELTA", "bool", "Whether to set the difference of times instead. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Packets written to."),
    Handler::write("reset", "Sets the count, and with it the sequence number, to 0."),
];

const SHORT: usize = 0;
const NOT_UDP: usize = 1;
const NOT_IP: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("short", "The packet has no room for the record."),
    DropReason::new("not-udp", "The next header of an IPv6 packet is not UDP."),
    DropReason::new("not-ip", "The IP version is neither 4 nor 6."),
];

const UDP_HEADER: usize = 8;
const IPV6_HEADER: usize = 40;
const RECORD: usize = 20;
const NS_PER_S: i64 = 1_000_000_000;

/// See the page above.
pub struct StoreUdpTimeSeqRecord {
    offset: usize,
    is_delta: bool,
    count: u64,
    /// Packets of an unknown IP version that are to be told of.
    n_untold: usize,
}

impl Element for StoreUdpTimeSeqRecord {
    fn configure(conf: &mut Configure<'_>) -> Result<StoreUdpTimeSeqRecord, Failed> {
        let offset: u32 = conf.args.need("OFFSET");
        let is_delta = conf.args.get_or("DELTA", false);
        conf.finish()?;
        Ok(StoreUdpTimeSeqRecord { offset: offset as usize, is_delta, count: 0, n_untold: 0 })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.with_clock(|ctx, clock| ctx.push_each(batch, |packet| self.process(packet, clock)));
        self.tell(ctx);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        ctx.with_clock(|ctx, clock| ctx.keep_each(&mut batch, |packet| self.process(packet, clock)));
        self.tell(ctx);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.count.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset" => self.count = 0,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<StoreUdpTimeSeqRecord>(ctx, old) else { return };
        self.count = old.count;
    }
}

impl StoreUdpTimeSeqRecord {
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        for _ in 0..std::mem::take(&mut self.n_untold) {
            ctx.chatter("Unknown IP version!");
        }
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        let header_len = match header_len(packet.data().get(self.offset..).unwrap_or_default()) {
            Ok(len) => len,
            Err(reason) => {
                self.n_untold += usize::from(reason == NOT_IP);
                return Verdict::drop(reason);
            }
        };
        let datagram = self.offset + header_len;
        if packet.len() < datagram + UDP_HEADER + RECORD {
            return Verdict::drop(SHORT);
        }
        self.count = self.count.wrapping_add(1);
        let now_ns = clock.now_ns();
        offload::settle(packet);
        let Some(bytes) = packet.data_mut().get_mut(datagram..) else { return Verdict::drop(SHORT) };
        let (header, payload) = bytes.split_at_mut(UDP_HEADER);
        if let (Some(sum), Some(record)) = (header.last_chunk_mut(), payload.first_chunk_mut()) {
            self.store(sum, record, now_ns);
        }
        Verdict::PASS
    }

    fn store(&self, sum: &mut [u8; 2], record: &mut [u8; RECORD], now_ns: i64) {
        let (words, _) = record.as_chunks_mut::<4>();
        let mut total = u32::from(u16::from_le_bytes(*sum));
        if let [_, second, nanosecond, difference @ ..] = words {
            if self.is_delta {
                let begin = i64::from(u32::from_be_bytes(*second)) * NS_PER_S;
                let begin = begin + i64::from(u32::from_be_bytes(*nanosecond));
                put(difference, now_ns.saturating_sub(begin));
                total = total.wrapping_add(complement(difference.as_flattened()));
            }
        }
        if !self.is_delta {
            total = total.wrapping_sub(complement(words.as_flattened()));
            if let [sequence, time_and_difference @ ..] = words {
                *sequence = (self.count as u32).to_be_bytes();
                time_and_difference.fill([0; 4]);
                put(time_and_difference, now_ns);
            }
            total = total.wrapping_add(complement(words.as_flattened()));
        }
        let total = (total & 0xFFFF) + (total >> 16);
        *sum = if total == 0xFFFF { [0; 2] } else { (total as u16).to_le_bytes() };
    }
}

/// Writes a time to the first two words: seconds and nanoseconds.
fn put(words: &mut [[u8; 4]], time_ns: i64) {
    let parts = [time_ns.div_euclid(NS_PER_S) as u32, time_ns.rem_euclid(NS_PER_S) as u32];
    words.iter_mut().zip(parts).for_each(|(word, part)| *word = part.to_be_bytes());
}

/// The Internet checksum, its bytes as they lie in memory taken for little-endian.
fn complement(bytes: &[u8]) -> u32 {
    u32::from(checksum::checksum(bytes).swap_bytes())
}

/// The length of the IP header, or why the packet is dropped.
#[inline(always)]
fn header_len(bytes: &[u8]) -> Result<usize, usize> {
    let head: &[u8; 8] = bytes.first_chunk().ok_or(SHORT)?;
    match head[0] >> 4 {
        4 => Ok(usize::from(head[0] & 15) * 4),
        6 if head[6] == protocol::UDP => Ok(IPV6_HEADER),
        6 => Err(NOT_UDP),
        _ => Err(NOT_IP),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_record_tells_the_delay() {
        check_reading(
            "s :: RatedSource(DATA \\<00>, LENGTH 22, RATE 10, LIMIT 2, STOP true) -> UDPIPEncap(10.0.1.1, 6667, 20.0.0.2, 6667)
             -> a :: StoreUDPTimeSeqRecord(OFFSET 0) -> CheckUDPHeader -> Strip(20) -> Print(a, 64) -> Unstrip(20) -> Queue -> DelayShaper(0.25)
             -> Unqueue -> StoreUDPTimeSeqRecord(0, DELTA true) -> Strip(20) -> Print(b, 64) -> Discard; DriverManager(wait_stop, wait 1s)",
            &["a.count"],
            expect![[r#"
                a:   30 | 1a0b1a0b 001ea6fb 00000001 3b9aca00 00000002 00000000 00000000 0000
                a:   30 | 1a0b1a0b 001ea6f4 00000002 3b9aca00 00000008 00000000 00000000 0000
                b:   30 | 1a0b1a0b 001ee592 00000001 3b9aca00 00000002 00000000 0ee6b282 0000
                b:   30 | 1a0b1a0b 001ee58b 00000002 3b9aca00 00000008 00000000 0ee6b282 0000
                a.count: 2
            "#]],
        );
    }

    #[test]
    fn other_packets_are_dropped() {
        check_reading(
            "InfiniteSource(DATA \\<0000000000000000>, LIMIT 2) -> s :: StoreUDPTimeSeqRecord(0) -> Print -> Discard;
             InfiniteSource(DATA \\<4500000000000000>, LIMIT 1) -> s; InfiniteSource(DATA \\<6000000000000000>, LIMIT 1) -> s;
             InfiniteSource(DATA \\<6000000000001100>, LIMIT 1) -> s; InfiniteSource(DATA \\<>, LIMIT 1) -> s",
            &["s.count"],
            expect![[r#"
                Unknown IP version!
                Unknown IP version!
                s.count: 0
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> StoreUDPTimeSeqRecord(DELTA x) -> Discard",
            expect![[r#"
            config:1: While configuring 'StoreUDPTimeSeqRecord@2 :: StoreUDPTimeSeqRecord':
              OFFSET: invalid number
            Router could not be initialized!
        "#]],
        );
    }
}
