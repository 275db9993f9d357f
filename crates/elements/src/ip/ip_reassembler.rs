//! Puts fragmented IPv4 packets together.
//!
//! Fragments are kept until all of their packet are there; the whole packet then leaves by output 0, with the link-layer header
//! and the annotations of its first fragment and the timestamp of the fragment that came last. Packets that are no fragments
//! pass. What has not become whole 30 seconds after its first fragment leaves by output 1, missing parts being zero, or is
//! dropped; so do the oldest packets when more than HIMEM bytes are kept, until three quarters of it are. Malformed fragments and
//! packets without a marked IPv4 header are dropped.
//!
//! Fragments may make up a payload of 65535 bytes, as in Click. With its header a packet is then longer than IPv4 can say, and
//! its total length wraps; a CheckIPHeader behind the element drops it.
//!
//! A packet counts for its payload and 40 bytes, as in Click. What it really takes is at most about ten times as much, and 4 MiB.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> r :: IPReassembler -> Discard;
//! r[1] -> ICMPError(18.26.4.24, timeexceeded, reassembly) -> Discard;
//! ```

use args::{sized_anno, Anno};
use element::{
    same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
};
use wire::ip_flag;

use super::fragments::{Fragment, Queue};
use super::unfinished::{Added, Unfinished};

/// The class.
pub const CLASS: Class = Class::new::<IPReassembler>("IPReassembler", "1/1-2", "a/ah", "x/x")
    .causes(Causes::MORE)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("HIMEM", "unsigned", "Most bytes to keep. Default 262144."),
    Arg::keyword(
        "MAX_MTU_ANNO",
        "annotation",
        "An annotation of 2 bytes that gets the length of the longest fragment. Default none.",
    ),
];

const HANDLERS: &[Handler] =
    &[Handler::read("dump", "Counts of fragments and packets, and what is kept: a line a packet.")];

const INCOMPLETE: usize = 0;
const MALFORMED: usize = 1;
const SUPERFLUOUS: usize = 2;
const NO_HEADER: usize = 3;
const DROPS: &[DropReason] = &[
    DropReason::new("incomplete", "Fragments were missing and there is no output 1."),
    DropReason::new("malformed", "A fragment's length or offset cannot be."),
    DropReason::new("superfluous", "A fragment lies behind its packet's end."),
    DropReason::new("no-header", "No IPv4 header is marked, or it is cut off."),
];

/// Age in seconds at which a packet is given up.
const TIMEOUT_S: i64 = 30;
/// Seconds between two searches for packets to give up.
const INTERVAL_S: i64 = 10;

/// See the page above.
pub struct IPReassembler {
    himem: u32,
    mtu_anno: Option<usize>,
    unfinished: Unfinished,
    next_reap_s: i64,
    stats: Stats,
}

#[derive(Default)]
struct Stats {
    n_fragments: u32,
    n_whole: u32,
    n_failed: u32,
    n_malformed: u32,
}

/// What becomes of a packet that arrives.
enum Fate {
    Out(Packet),
    Kept,
    Dropped(usize, Packet),
}

impl Element for IPReassembler {
    fn configure(conf: &mut Configure<'_>) -> Result<IPReassembler, Failed> {
        let himem = conf.args.get_or("HIMEM", 256 * 1024);
        let mtu_anno: Option<Anno> = conf.args.get_with("MAX_MTU_ANNO", sized_anno(2));
        conf.finish()?;
        let unfinished = Unfinished::new(himem);
        let mtu_anno = mtu_anno.map(|anno| usize::from(anno.offset));
        Ok(IPReassembler { himem, mtu_anno, unfinished, next_reap_s: 0, stats: Stats::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let out = self.process_all(ctx, batch);
        ctx.emit(0, out);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.process_all(ctx, batch)
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "dump" => Ok(self.dump()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IPReassembler>(ctx, old) else { return };
        self.unfinished.go_on_with(old.unfinished);
        (self.next_reap_s, self.stats) = (old.next_reap_s, old.stats);
        if self.unfinished.used() > self.himem {
            let now_s = ctx.now_ns().div_euclid(NS_PER_S);
            self.make_room(ctx, now_s);
        }
    }
}

impl IPReassembler {
    fn process_all(&mut self, ctx: &mut Ctx<'_>, mut batch: Batch) -> Batch {
        if batch.iter().all(is_whole) {
            return batch;
        }
        let mut out = Batch::new();
        for packet in batch.drain() {
            match self.process(ctx, packet) {
                Fate::Out(packet) => out.push(packet),
                Fate::Kept => {}
                Fate::Dropped(reason, packet) => ctx.drop_packet(reason, packet),
            }
        }
        out
    }

    fn process(&mut self, ctx: &mut Ctx<'_>, mut packet: Packet) -> Fate {
        if is_whole(&packet) {
            return Fate::Out(packet);
        }
        if packet.network().len() < 20 {
            return Fate::Dropped(NO_HEADER, packet);
        }
        self.stats.n_fragments = self.stats.n_fragments.wrapping_add(1);
        if packet.timestamp_ns().div_euclid(NS_PER_S) == 0 {
            packet.set_timestamp_ns(ctx.now_ns());
        }
        let now_s = packet.timestamp_ns().div_euclid(NS_PER_S);
        if now_s >= self.next_reap_s {
            self.give_up(ctx, now_s - TIMEOUT_S);
            self.next_reap_s = now_s.saturating_add(INTERVAL_S);
        }
        let Some(fragment) = Fragment::of(&mut packet) else {
            self.stats.n_malformed = self.stats.n_malformed.wrapping_add(1);
            return Fate::Dropped(MALFORMED, packet);
        };
        if self.unfinished.used() > self.himem {
            self.make_room(ctx, now_s);
        }
        self.add(packet, &fragment)
    }

    /// Adds a fragment to its packet.
    fn add(&mut self, packet: Packet, fragment: &Fragment) -> Fate {
        match self.unfinished.add(packet, fragment, self.mtu_anno) {
            Added::Kept => Fate::Kept,
            Added::Superfluous(packet) => Fate::Dropped(SUPERFLUOUS, packet),
            Added::Whole(queue, last) => {
                self.stats.n_whole = self.stats.n_whole.wrapping_add(1);
                let mut whole = queue.into_whole(last.timestamp_ns());
                whole.set_place(last.place());
                Fate::Out(whole)
            }
        }
    }

    /// Gives up packets of before `time_s`.
    fn give_up(&mut self, ctx: &mut Ctx<'_>, time_s: i64) {
        self.unfinished.take_before(time_s, |queue, _| {
            emit_incomplete(ctx, queue);
            false
        });
    }

    /// Gives up packets until three quarters of the memory are used: those older than 10 seconds first, then those older than
    /// 5, then any.
    fn make_room(&mut self, ctx: &mut Ctx<'_>, now_s: i64) {
        let low = (self.himem >> 2).wrapping_mul(3);
        for time_s in [now_s - 10, now_s - 5, i64::MAX] {
            let is_enough = self.unfinished.take_before(time_s, |queue, used| {
                emit_incomplete(ctx, queue);
                self.stats.n_failed = self.stats.n_failed.wrapping_add(1);
                used <= low
            });
            if is_enough {
                return;
            }
        }
        ctx.chatter("IPReassembler: cannot free enough memory!");
    }

    fn dump(&self) -> String {
        let Stats { n_fragments, n_whole, n_failed, n_malformed } = &self.stats;
        let mut text = format!(
            "frags seen total:    {n_fragments}\ngood reassemblies:   {n_whole}\n\
             failed reassemblies: {n_failed}\nbad fragments seen:  {n_malformed}\ncached chunk data:\n"
        );
        self.unfinished.describe(&mut text);
        text
    }
}

fn emit_incomplete(ctx: &mut Ctx<'_>, queue: Queue) {
    ctx.emit_or_drop(1, INCOMPLETE, Batch::of(queue.into_incomplete()));
}

const NS_PER_S: i64 = 1_000_000_000;

/// Whether the packet is no fragment.
#[inline(always)]
fn is_whole(packet: &Packet) -> bool {
    match packet.network().first_chunk::<20>() {
        Some(header) => {
            u16::from_be_bytes([header[6], header[7]]) & (ip_flag::MF | ip_flag::OFFSET_MASK) == 0
        }
        None => false,
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    /// A fragment of a packet with `flags` (more, offset) and a payload of 8 bytes.
    fn fragment(flags: &str, payload: &str) -> String {
        format!("InfiniteSource(DATA \\<4500001c 0001 {flags} 4011 0000 01000001 02000002 {payload}>, LIMIT 1, STOP true) -> m;")
    }

    const REASSEMBLE: &str = "m :: MarkIPHeader -> r :: IPReassembler -> Print(p, MAXLENGTH -1) -> Discard; \
                              r[1] -> Print(given_up) -> Discard; DriverManager(wait_stop, wait_stop, wait_stop)";

    #[test]
    fn a_packet_leaves_when_its_last_gap_is_filled() {
        let fragments = [
            fragment("0002", "1011121314151617"),
            fragment("2000", "0001020304050607"),
            fragment("2001", "08090a0b0c0d0e0f"),
        ];
        check_reading(
            &format!("{REASSEMBLE}; {}", fragments.concat()),
            &["r.dump"],
            expect![[r#"
            p:   44 | 4500002c 00010000 401177be 01000001 02000002 00010203 04050607 08090a0b 0c0d0e0f 10111213 14151617
            r.dump: frags seen total:    3
            good reassemblies:   1
            failed reassemblies: 0
            bad fragments seen:  0
            cached chunk data:

        "#]],
        );
    }

    #[test]
    fn a_packet_that_is_too_long_is_clicks_and_fails_the_next_check() {
        let first = "\\<4500fffc 0001 2000 4011 0000 01000001 02000002>";
        let second = "\\<4500002b 0001 1ffd 4011 0000 01000001 02000002>";
        check_reading(
            &format!(
                "m :: MarkIPHeader -> IPReassembler -> Print(p) -> c :: CheckIPHeader(VERBOSE true) -> Discard;
                 InfiniteSource(DATA {first}, LENGTH 65532, LIMIT 1) -> m;
                 InfiniteSource(DATA {second}, LENGTH 43, LIMIT 1, STOP true) -> m;"
            ),
            &["c.drops"],
            expect![[r#"
                p: 65555 | 45000013 00010000 401177d7 01000001 02000002 4500fffc
                c: IP header check failed: bad IP length
                c.drops: 1
            "#]],
        );
    }

    #[test]
    fn what_is_kept_is_shown() {
        let fragments = [
            fragment("2004", "2021222324252627"),
            fragment("2000", "0001020304050607"),
            fragment("3fff", "08090a0b0c0d0e0f"),
        ];
        check_reading(
            &format!("{REASSEMBLE}; {}", fragments.concat()),
            &["r.dump"],
            expect![[r#"
            r.dump: frags seen total:    3
            good reassemblies:   0
            failed reassemblies: 0
            bad fragments seen:  1
            cached chunk data:
             (1.0.0.1, 1, 2.0.0.2, 515) 1 (0,8) (32,40)

        "#]],
        );
    }

    #[test]
    fn old_fragments_make_room_for_new_ones() {
        let fragments = [
            fragment("2000", "2021222324252627"),
            fragment("2004", "0001020304050607"),
            fragment("2002", "08090a0b0c0d0e0f"),
        ];
        let graph = REASSEMBLE.replace("IPReassembler", "IPReassembler(HIMEM 60)");
        check_reading(
            &format!("{graph}; {}", fragments.concat()),
            &["r.dump"],
            expect![[r#"
            given_up:   60 | 4500001c 00012000 40110000 01000001 02000002 20212223
            r.dump: frags seen total:    3
            good reassemblies:   0
            failed reassemblies: 1
            bad fragments seen:  0
            cached chunk data:
             (1.0.0.1, 0, 2.0.0.2, 0) 1 (16,24)

        "#]],
        );
    }
}
