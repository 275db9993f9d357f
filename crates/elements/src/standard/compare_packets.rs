//! Compares the packets of two streams in pairs.
//!
//! The n-th packet pulled through output 0 is compared with the n-th of output 1: length, bytes, timestamp unless TIMESTAMP is
//! false, and whether and where a network header is marked. A packet is held back until its partner has come, or until the other
//! input is known to have no more, which counts as a difference, too. So both outputs must be pulled from.
//!
//! ```click
//! c :: ComparePackets;
//! FromDump(a.pcap) -> [0]c; c[0] -> Unqueue -> Discard;
//! FromDump(b.pcap) -> [1]c; c[1] -> Unqueue -> Discard;
//! DriverManager(wait 1s, read c.diff_details);
//! ```

use element::{same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, Signal, Wake};

/// The class.
pub const CLASS: Class = Class::new::<ComparePackets>("ComparePackets", "2/2", "l/l", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .shows_order();

const ARGS: &[Arg] = &[Arg::keyword("TIMESTAMP", "bool", "Whether to compare timestamps. Default true.")];

const HANDLERS: &[Handler] = &[
    Handler::read("diffs", "Pairs that differed."),
    Handler::read("diff_details", "A line for each kind of difference: how many pairs, and what it is."),
    Handler::read("all_same", "Whether no pair differed."),
];

const LENGTH: usize = 0;
const DATA: usize = 1;
const TIMESTAMP: usize = 2;
const HEADER_OFFSET: usize = 3;
const HEADER_LENGTH: usize = 4;
const HEADER_PRESENCE: usize = 5;
/// More packets at the first input, and at the second.
const MORE_PACKETS: [usize; 2] = [6, 7];
const KINDS: [&str; 8] = [
    "different length",
    "different data",
    "different timestamp",
    "different network header offset",
    "different network header length",
    "different network header presence",
    "more packets in [0]",
    "more packets in [1]",
];

/// What an input has come to.
#[derive(Default)]
struct Side {
    /// The packet that was pulled last.
    packet: Option<Packet>,
    /// Whether the packet has been judged, and may go on when the next one comes.
    is_judged: bool,
    signal: Signal,
}

/// See the page above.
pub struct ComparePackets {
    compares_time: bool,
    sides: [Side; 2],
    n_differences: u32,
    details: [u32; KINDS.len()],
}

impl Element for ComparePackets {
    fn configure(conf: &mut Configure<'_>) -> Result<ComparePackets, Failed> {
        let compares_time = conf.args.get_or("TIMESTAMP", true);
        conf.finish()?;
        let details = [0; KINDS.len()];
        Ok(ComparePackets { compares_time, sides: Default::default(), n_differences: 0, details })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for (port, side) in self.sides.iter_mut().enumerate() {
            side.signal = ctx.upstream_empty_signal(port, Wake::Nobody);
        }
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            let Some(packet) = self.pull_one(ctx, port) else { break };
            batch.push(packet);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "diffs" => Ok(self.n_differences.to_string()),
            "diff_details" => {
                let lines = self.details.iter().zip(KINDS).map(|(n, kind)| format!("{n}\t{kind}\n"));
                Ok(lines.collect())
            }
            "all_same" => Ok((self.n_differences == 0).to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ComparePackets>(ctx, old) else { return };
        for (side, old) in self.sides.iter_mut().zip(old.sides) {
            (side.packet, side.is_judged) = (old.packet, old.is_judged);
        }
        (self.n_differences, self.details) = (old.n_differences, old.details);
    }
}

impl ComparePackets {
    fn pull_one(&mut self, ctx: &mut Ctx<'_>, port: usize) -> Option<Packet> {
        let [own, other] = match (&mut self.sides, port) {
            ([first, second], 0) => [first, second],
            ([first, second], _) => [second, first],
        };
        if own.packet.is_some() && !own.is_judged {
            // It waits for its partner.
            return None;
        }
        own.is_judged = false;
        let mut leaving = own.packet.take();
        own.packet = ctx.pull_packet(port);
        let other_waits = other.packet.is_some() && !other.is_judged;
        if own.packet.is_none() {
            if !ctx.is_active(&own.signal) && other_waits {
                other.is_judged = true;
                let kind = MORE_PACKETS[usize::from(port == 0)];
                self.count(std::array::from_fn(|at| at == kind));
            }
        } else if other_waits {
            other.is_judged = true;
            own.is_judged = leaving.is_some();
            self.compare();
            if leaving.is_none() {
                leaving = self.sides.get_mut(port).and_then(|own| own.packet.take());
            }
        }
        leaving
    }

    /// Compares the packets of both sides.
    fn compare(&mut self) {
        let [Side { packet: Some(a), .. }, Side { packet: Some(b), .. }] = &self.sides else { return };
        let mut differs = [false; KINDS.len()];
        differs[LENGTH] = a.len() != b.len();
        // Of a longer second packet only the beginning counts.
        differs[DATA] = b.data().get(..a.len()) != Some(a.data());
        differs[TIMESTAMP] = self.compares_time && a.timestamp_ns() != b.timestamp_ns();
        match (a.network_offset(), b.network_offset()) {
            (Some(a_offset), Some(b_offset)) => {
                differs[HEADER_OFFSET] = a_offset != b_offset;
                differs[HEADER_LENGTH] = a.network_header_len() != b.network_header_len();
            }
            (a_offset, b_offset) => differs[HEADER_PRESENCE] = a_offset.is_some() != b_offset.is_some(),
        }
        self.count(differs);
    }

    /// Counts a pair that differs in these ways, if there are any.
    fn count(&mut self, differs: [bool; KINDS.len()]) {
        self.n_differences = self.n_differences.wrapping_add(u32::from(differs.contains(&true)));
        for (n, differs) in self.details.iter_mut().zip(differs) {
            *n = n.wrapping_add(u32::from(differs));
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::{expect, Expect};

    fn compare(first: &str, second: &str, arguments: &str, expect: Expect) {
        check_reading(
            &format!(
                "c :: ComparePackets({arguments});
                 {first} -> [0]c; c[0] -> Unqueue -> Print(a, 2) -> Discard;
                 {second} -> [1]c; c[1] -> Unqueue -> Print(b, 2) -> Discard;
                 DriverManager(wait 1s)"
            ),
            &["c.diffs", "c.diff_details", "c.all_same"],
            expect,
        );
    }

    #[test]
    fn equal_streams_are_the_same() {
        let source = "InfiniteSource(DATA ab, LIMIT 3) -> SetTimestamp(5) -> Queue";
        compare(
            source,
            source,
            "",
            expect![[r#"
            b:    2 | 6162
            a:    2 | 6162
            b:    2 | 6162
            a:    2 | 6162
            b:    2 | 6162
            a:    2 | 6162
            c.diffs: 0
            c.diff_details: 0	different length
            0	different data
            0	different timestamp
            0	different network header offset
            0	different network header length
            0	different network header presence
            0	more packets in [0]
            0	more packets in [1]

            c.all_same: true
        "#]],
        );
    }

    #[test]
    fn differences_are_counted_by_kind() {
        let prepare = "MarkIPHeader(0) -> Queue";
        compare(
            "InfiniteSource(DATA ab, LIMIT 5) -> Queue",
            &format!("InfiniteSource(DATA abc, LIMIT 2) -> {prepare}"),
            "TIMESTAMP false",
            expect![[r#"
                b:    3 | 6162
                a:    2 | 6162
                b:    3 | 6162
                a:    2 | 6162
                a:    2 | 6162
                a:    2 | 6162
                a:    2 | 6162
                c.diffs: 5
                c.diff_details: 2	different length
                0	different data
                0	different timestamp
                0	different network header offset
                0	different network header length
                2	different network header presence
                3	more packets in [0]
                0	more packets in [1]

                c.all_same: false
            "#]],
        );
    }

    #[test]
    fn headers_and_times_are_compared() {
        compare(
            "InfiniteSource(LIMIT 2) -> SetTimestamp(5) -> MarkIPHeader(1) -> Queue",
            "InfiniteSource(LIMIT 2) -> SetTimestamp(6) -> MarkIPHeader(2) -> Queue",
            "",
            expect![[r#"
                b:   69 | 5261
                a:   69 | 5261
                b:   69 | 5261
                a:   69 | 5261
                c.diffs: 2
                c.diff_details: 0	different length
                0	different data
                2	different timestamp
                2	different network header offset
                2	different network header length
                0	different network header presence
                0	more packets in [0]
                0	more packets in [1]

                c.all_same: false
            "#]],
        );
    }
}
