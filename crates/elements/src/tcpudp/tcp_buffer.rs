//! Puts the packets of a TCP flow in order.
//!
//! Stores packets by their sequence numbers and gives them in that order when they are pulled. While one is missing none is given,
//! unless SKIP is true. Packets that are there already, or that come before those that were given, are dropped, and so are
//! those without marked headers. The first packet that is given begins the flow.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> IPFilter(allow tcp && src port 80)
//!     -> TCPBuffer -> Unqueue -> Discard;
//! ```

use std::collections::VecDeque;

use element::{same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};

use super::sequence::{is_before, Sequence};

/// The class.
pub const CLASS: Class = Class::new::<TCPBuffer>("TCPBuffer", "1/1", "h/l", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::optional("SKIP", "bool", "Whether to give packets though one before is missing. Default false.")];

const NO_HEADER: usize = 0;
const OLD: usize = 1;
const FULL: usize = 2;
const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "No IPv4 and TCP headers are marked."),
    DropReason::new("old", "The packet is there already, or later ones were given."),
    DropReason::new("full", "65536 packets wait already."),
];

const CAPACITY: usize = 1 << 16;

/// See the page above.
pub struct TCPBuffer {
    skips: bool,
    /// Packets in order.
    waiting: VecDeque<(Sequence, Packet)>,
    /// The sequence number behind the last packet that was given.
    next: Option<u32>,
}

impl Element for TCPBuffer {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPBuffer, Failed> {
        let skips = conf.args.get_or("SKIP", false);
        conf.finish()?;
        Ok(TCPBuffer { skips, waiting: VecDeque::new(), next: None })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            if let Err((reason, packet)) = self.store(packet) {
                ctx.drop_packet(reason, packet);
            }
        }
    }

    fn pull(&mut self, _ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max && batch.room() > 0 {
            let Some((sequence, _)) = self.waiting.front() else { break };
            if !self.skips && self.next.is_some_and(|next| next != sequence.begin) {
                break;
            }
            self.next = Some(sequence.end());
            batch.extend(self.waiting.pop_front().map(|(_, packet)| packet));
        }
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TCPBuffer>(ctx, old) else { return };
        (self.waiting, self.next) = (old.waiting, old.next);
    }
}

impl TCPBuffer {
    fn store(&mut self, packet: Packet) -> Result<(), (usize, Packet)> {
        let Some(sequence) = Sequence::of(&packet) else { return Err((NO_HEADER, packet)) };
        if self.next.is_some_and(|next| is_before(sequence.begin, next)) {
            return Err((OLD, packet));
        }
        if self.waiting.len() >= CAPACITY {
            return Err((FULL, packet));
        }
        let later = |(other, _): &(Sequence, Packet)| {
            other.begin == sequence.begin || is_before(sequence.begin, other.begin)
        };
        let at = self.waiting.iter().position(later).unwrap_or(self.waiting.len());
        if self.waiting.get(at).is_some_and(|(other, _)| other.begin == sequence.begin) {
            return Err((OLD, packet));
        }
        self.waiting.insert(at, (sequence, packet));
        Ok(())
    }

    /// The first sequence number from `from` on that is missing; `None` if no packet ever came.
    pub fn next_missing(&self, from: u32) -> Option<u32> {
        let mut expected = self.next.or(self.waiting.front().map(|(sequence, _)| sequence.begin))?;
        for (sequence, _) in &self.waiting {
            if sequence.begin != expected {
                if !is_before(expected, from) {
                    return Some(expected);
                }
                if is_before(from, sequence.begin) {
                    return Some(from);
                }
            }
            expected = sequence.end();
        }
        Some(if is_before(expected, from) { from } else { expected })
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    fn buffered(arguments: &str, expect: expect_test::Expect) {
        check_reading(
            &format!(
                r#"FromIPSummaryDump(DATA "!data ip_src sport tcp_flags tcp_seq payload
1.0.0.1 1 S 99 \"\"
1.0.0.1 2 A 110 \"later\"
1.0.0.1 3 A 100 \"first\"
1.0.0.1 4 A 110 \"again\"
1.0.0.1 5 A 120 \"gap\"
1.0.0.1 6 A 50 \"old\"
1.0.0.1 7 A 105 \"fill.\"
", STOP false) -> b :: TCPBuffer({arguments}) -> u :: Unqueue(ACTIVE true)
                     -> IPPrint -> Discard;
                 InfiniteSource(LIMIT 1) -> b"#
            ),
            &[],
            expect,
        );
    }

    #[test]
    fn packets_leave_in_order() {
        buffered(
            "",
            expect![[r#"
            0.000000: 1.0.0.1.1 > 0.0.0.0.0: S 99:100(1,40,40) win 0
            0.000000: 1.0.0.1.3 > 0.0.0.0.0: . 100:105(5,45,45) ack 0 win 0
            0.000000: 1.0.0.1.7 > 0.0.0.0.0: . 105:110(5,45,45) ack 0 win 0
            0.000000: 1.0.0.1.2 > 0.0.0.0.0: . 110:115(5,45,45) ack 0 win 0
        "#]],
        );
        buffered(
            "true",
            expect![[r#"
            0.000000: 1.0.0.1.1 > 0.0.0.0.0: S 99:100(1,40,40) win 0
            0.000000: 1.0.0.1.2 > 0.0.0.0.0: . 110:115(5,45,45) ack 0 win 0
            0.000000: 1.0.0.1.5 > 0.0.0.0.0: . 120:123(3,43,43) ack 0 win 0
        "#]],
        );
    }
}
