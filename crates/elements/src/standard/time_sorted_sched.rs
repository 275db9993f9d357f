//! Merges streams of packets in the order of their timestamps.
//!
//! Every input's packets must come in order themselves; with BUFFER, up to that many packets of each input may be out of order.
//! Yields packets when every input has given one or tells that it has none. Tells pullers downstream whether there is
//! something to pull.
//!
//! ```click
//! s :: TimeSortedSched(STOP true) -> Unqueue -> ToDump(both.pcap);
//! FromDump(left.pcap) -> [0]s;
//! FromDump(right.pcap) -> [1]s;
//! ```

use element::{
    same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Notifies, Packet, SearchOp, Signal,
    Wake,
};

/// The class.
pub const CLASS: Class = Class::new::<TimeSortedSched>("TimeSortedSched", "-/1", "l/l", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .silent();

const ARGS: &[Arg] = &[
    Arg::keyword("STOP", "bool", "Whether to stop the driver when there are no packets left. Default false."),
    Arg::keyword("BUFFER", "int", "Packets of each input to hold and sort, at least 1. Default 1."),
];

const HANDLERS: &[Handler] =
    &[Handler::read("well_ordered", "Whether all packets left in order so far.").flags("checkbox")];

/// See the page above.
pub struct TimeSortedSched {
    stops: bool,
    buffer: usize,
    heap: Heap,
    inputs: Vec<Input>,
    /// The inputs that have space, in the order in which they are asked: last one first.
    ready: Vec<usize>,
    last_ns: i64,
    is_well_ordered: bool,
}

struct Input {
    signal: Signal,
    /// Packets that may still be held; negative if those of a predecessor are too many.
    space: isize,
}

impl Element for TimeSortedSched {
    fn configure(conf: &mut Configure<'_>) -> Result<TimeSortedSched, Failed> {
        let stops = conf.args.get_or("STOP", false);
        let buffer: i32 = conf.args.get_or("BUFFER", 1);
        if buffer <= 0 {
            conf.args.fail("BUFFER must be at least 1");
        }
        conf.finish()?;
        Ok(TimeSortedSched {
            stops,
            buffer: usize::try_from(buffer).unwrap_or(1),
            heap: Heap::default(),
            inputs: Vec::new(),
            ready: Vec::new(),
            last_ns: 0,
            is_well_ordered: true,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for port in 0..ctx.n_inputs() {
            let signal = ctx.upstream_empty_signal(port, Wake::Callback);
            self.inputs.push(Input { signal, space: self.buffer as isize });
            self.ready.push(port);
        }
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies { empty: Some(SearchOp::ContinueWake), ..Notifies::default() }
    }

    fn notified(&mut self, ctx: &mut Ctx<'_>) {
        ctx.set_empty_signal(true);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        while batch.len() < max {
            let is_active = self.fill(ctx);
            ctx.set_empty_signal(is_active || !self.heap.is_empty());
            let Some((packet, port)) = self.heap.pop() else {
                if self.stops && !is_active {
                    ctx.stop();
                }
                break;
            };
            self.note_emission(packet.timestamp_ns());
            self.make_space(port);
            batch.push(packet);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "well_ordered" => Ok(self.is_well_ordered.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<TimeSortedSched>(ctx, old) else { return };
        (self.last_ns, self.is_well_ordered) = (old.last_ns, old.is_well_ordered);
        self.heap = old.heap;
        for (_, port) in &self.heap.0 {
            if let Some(input) = self.inputs.get_mut(*port) {
                input.space -= 1;
            }
        }
        let inputs = &self.inputs;
        self.ready.retain(|port| inputs.get(*port).is_some_and(|input| input.space > 0));
        ctx.set_empty_signal(true);
    }
}

impl TimeSortedSched {
    /// Pulls from the inputs that have space; true if any of them may have packets.
    fn fill(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let mut is_active = false;
        for at in (0..self.ready.len()).rev() {
            let Some(port) = self.ready.get(at).copied() else { continue };
            let Some(input) = self.inputs.get_mut(port).filter(|input| ctx.is_active(&input.signal)) else {
                continue;
            };
            is_active = true;
            // One by one: a pull that finds its packet lost ends this, as in Click.
            while input.space > 0 {
                let Some(packet) = ctx.pull_packet(port) else { break };
                self.heap.push(packet, port);
                input.space -= 1;
            }
            if input.space == 0 {
                self.ready.swap_remove(at);
            }
        }
        is_active
    }

    fn note_emission(&mut self, timestamp_ns: i64) {
        if timestamp_ns != 0 {
            if self.last_ns != 0 && timestamp_ns < self.last_ns {
                self.is_well_ordered = false;
            }
            self.last_ns = timestamp_ns;
        }
    }

    fn make_space(&mut self, port: usize) {
        if let Some(input) = self.inputs.get_mut(port) {
            input.space += 1;
            if input.space == 1 {
                self.ready.push(port);
            }
        }
    }
}

/// Packets and their inputs, the earliest first. A binary heap of its own, because the order of packets with equal timestamps
/// is seen from outside and must stay what it is.
#[derive(Default)]
struct Heap(Vec<(Packet, usize)>);

impl Heap {
    fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    fn push(&mut self, packet: Packet, port: usize) {
        self.0.push((packet, port));
        let mut at = self.0.len() - 1;
        while at > 0 && self.is_earlier(at, (at - 1) / 2) {
            self.0.swap(at, (at - 1) / 2);
            at = (at - 1) / 2;
        }
    }

    fn pop(&mut self) -> Option<(Packet, usize)> {
        if self.0.is_empty() {
            return None;
        }
        let first = self.0.swap_remove(0);
        let mut at = 0;
        loop {
            let mut earliest = at;
            for child in [2 * at + 1, 2 * at + 2] {
                if self.is_earlier(child, earliest) {
                    earliest = child;
                }
            }
            if earliest == at {
                return Some(first);
            }
            self.0.swap(at, earliest);
            at = earliest;
        }
    }

    /// Whether there is a packet at `a` and it is earlier than that at `b`.
    fn is_earlier(&self, a: usize, b: usize) -> bool {
        let time_at = |at: usize| self.0.get(at).map(|(packet, _)| packet.timestamp_ns());
        matches!((time_at(a), time_at(b)), (Some(a), Some(b)) if a < b)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::expect;

    fn heap_order(times: &[i64]) -> Vec<(i64, usize)> {
        let mut heap = Heap::default();
        for (port, time) in times.iter().enumerate() {
            let mut packet = Packet::zeroed(1);
            packet.set_timestamp_ns(*time);
            heap.push(packet, port);
        }
        std::iter::from_fn(|| heap.pop()).map(|(packet, port)| (packet.timestamp_ns(), port)).collect()
    }

    #[test]
    fn the_heap_yields_the_earliest_first() {
        let times: Vec<i64> = (0..100).map(|i| i * 7919 % 101).collect();
        let mut sorted = times.clone();
        sorted.sort_unstable();
        let yielded: Vec<i64> = heap_order(&times).into_iter().map(|(time, _)| time).collect();
        assert_eq!(yielded, sorted);
        assert_eq!(heap_order(&[]), []);
    }

    #[test]
    fn equal_times_leave_in_the_heaps_order() {
        assert_eq!(heap_order(&[5, 5, 5, 5]), [(5, 0), (5, 3), (5, 2), (5, 1)]);
    }

    #[test]
    fn streams_are_merged_by_timestamp() {
        testing::check_reading(
            r"
            s :: TimeSortedSched(STOP true) -> Unqueue -> Print(TIMESTAMP true) -> Discard;
            InfiniteSource(a, LIMIT 2) -> SetTimestamp(3) -> [0]s;
            InfiniteSource(b, LIMIT 2) -> SetTimestamp(1.5) -> [1]s;
            InfiniteSource(c, LIMIT 1) -> SetTimestamp(2) -> Queue -> [2]s;
            ",
            &["s.well_ordered"],
            expect![[r#"
                1.500000:    1 | 62
                1.500000:    1 | 62
                2.000000:    1 | 63
                3.000000:    1 | 61
                3.000000:    1 | 61
                s.well_ordered: true
            "#]],
        );
    }

    #[test]
    fn a_stream_out_of_order_is_noticed_unless_it_is_buffered() {
        testing::check(
            r"
            q :: Queue; e :: InfiniteSource(c, LIMIT 1) -> SetTimestamp(9) -> q;
            f :: InfiniteSource(d, LIMIT 1, ACTIVE false) -> SetTimestamp(4) -> q;
            s :: TimeSortedSched -> u :: Unqueue(ACTIVE false) -> Print(TIMESTAMP true) -> Discard;
            q -> [0]s;
            DriverManager(wait 1s, write f.active true, wait 1s, write u.active true, wait 1s,
                read s.well_ordered, read u.scheduled,
                write f.reset, wait 1s, read u.scheduled);
            ",
            expect![[r#"
                9.000000:    1 | 63
                4.000000:    1 | 64
                s.well_ordered:
                false
                u.scheduled:
                false
                4.000000:    1 | 64
                u.scheduled:
                false
            "#]],
        );
    }

    #[test]
    fn a_buffer_sorts() {
        testing::check(
            r"
            q :: Queue; e :: InfiniteSource(c, LIMIT 1) -> SetTimestamp(9) -> q;
            f :: InfiniteSource(d, LIMIT 1, ACTIVE false) -> SetTimestamp(4) -> q;
            s :: TimeSortedSched(BUFFER 2) -> u :: Unqueue(ACTIVE false) -> Print(TIMESTAMP true)
                -> Discard;
            q -> [0]s;
            DriverManager(wait 1s, write f.active true, wait 1s, write u.active true, wait 1s,
                read s.well_ordered);
            ",
            expect![[r#"
                4.000000:    1 | 64
                9.000000:    1 | 63
                s.well_ordered:
                true
            "#]],
        );
    }

    #[test]
    fn a_packet_that_is_lost_on_the_way_ends_a_look_at_an_input() {
        testing::check(
            r"
            q :: Queue; e :: InfiniteSource(c, LIMIT 1) -> SetTimestamp(9) -> q;
            l :: InfiniteSource(long, LIMIT 1, ACTIVE false) -> q;
            f :: InfiniteSource(d, LIMIT 1, ACTIVE false) -> SetTimestamp(4) -> q;
            s :: TimeSortedSched(BUFFER 3) -> u :: Unqueue(ACTIVE false) -> Print(TIMESTAMP true)
                -> Discard;
            q -> CheckLength(1) -> [0]s;
            DriverManager(wait 1s, write l.active true, wait 1s, write f.active true, wait 1s,
                write u.active true, wait 1s, read s.well_ordered);
            ",
            expect![[r#"
                9.000000:    1 | 63
                4.000000:    1 | 64
                s.well_ordered:
                false
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> TimeSortedSched(BUFFER 0) -> TimeSortedSched(STOP x) -> TimeSortedSched(1)
                -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'TimeSortedSched@2 :: TimeSortedSched':
                  BUFFER must be at least 1
                config:2: While configuring 'TimeSortedSched@3 :: TimeSortedSched':
                  STOP: parse error
                config:2: While configuring 'TimeSortedSched@4 :: TimeSortedSched':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
    }
}
