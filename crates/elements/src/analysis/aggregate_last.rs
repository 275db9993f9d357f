//! Passes the last packet of each aggregate.
//!
//! The last packet with an aggregate annotation is kept until `clear` is written, or until NOTIFIER tells that the aggregate has
//! ended. Then it leaves by output 0. Its annotations tell how many packets and bytes the aggregate had besides, and when the
//! first of them came. All others leave by output 1 if there is one, else they are dropped.
//!
//! As in Click, there is no limit to the packets that are kept, one for each aggregate: if the aggregates come of packets that others
//! choose, let NOTIFIER end them, or write `clear` now and then.
//!
//! ```click
//! FromDump(trace.pcap, STOP true, FORCE_IP true) -> af :: AggregateIPFlows
//!     -> last :: AggregateLast(NOTIFIER af) -> ToIPSummaryDump(-, FIELDS aggregate count);
//! DriverManager(wait_stop, write last.clear, wait 1ms);
//! ```

use element::{
    annotation, same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, ElementIdx, Failed,
    Handler, Packet, TaskId,
};
use table::flow::FlowTable;

use super::aggregate_events::{self, Listener};

/// The class.
pub const CLASS: Class = Class::new::<AggregateLast>("AggregateLast", "1/1-2", "h/h", "x/x")
    .causes(Causes::MORE)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    aggregate_events::NOTIFIER,
    Arg::keyword("STOP_AFTER_CLEAR", "boolean", "Whether to stop the driver after `clear`. Default false."),
];

const HANDLERS: &[Handler] =
    &[Handler::write("clear", "Lets all packets go that are kept, in order of their aggregates.")];

const NOT_LAST: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("not-last", "Another packet of the same aggregate came.")];

/// See the page above.
pub struct AggregateLast {
    packets: FlowTable<u32, Packet>,
    notifier: Option<ElementIdx>,
    stops: bool,
    is_clearing: bool,
    task: Option<TaskId>,
}

impl Element for AggregateLast {
    fn configure(conf: &mut Configure<'_>) -> Result<AggregateLast, Failed> {
        let notifier = aggregate_events::notifier(conf);
        let stops = conf.args.get_or("STOP_AFTER_CLEAR", false);
        conf.finish()?;
        let packets = FlowTable::new(u32::MAX);
        Ok(AggregateLast { packets, notifier, stops, is_clearing: false, task: None })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        aggregate_events::listen::<AggregateLast>(ctx, self.notifier);
        self.task = Some(ctx.new_task());
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        if let Some(task) = self.task.filter(|task| ctx.is_scheduled(*task)) {
            ctx.unschedule(task);
            self.clear(ctx);
        }
        let mut others = Batch::new();
        for packet in batch.drain() {
            if let Some(other) = self.keep(packet) {
                others.push(other);
            }
        }
        ctx.emit_or_drop(1, NOT_LAST, others);
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        self.clear(ctx)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "clear" {
            return Err(format!("no {name} write handler"));
        }
        self.is_clearing = true;
        if let Some(task) = self.task {
            ctx.schedule(task);
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AggregateLast>(ctx, old) else { return };
        self.packets = old.packets;
        self.is_clearing = old.is_clearing;
        if let Some(task) = self.task.filter(|_| self.is_clearing) {
            ctx.schedule(task);
        }
    }
}

impl Listener for AggregateLast {
    fn ended(&mut self, ctx: &mut Ctx<'_>, aggregate: u32) {
        if let Some((_, packet)) = self.packets.remove_key(&aggregate) {
            ctx.emit_packet(0, packet);
        }
    }
}

impl AggregateLast {
    /// Keeps a packet; the one that was the last of its aggregate before, if any, goes.
    fn keep(&mut self, mut packet: Packet) -> Option<Packet> {
        let aggregate = packet.anno_u32(annotation::AGGREGATE);
        let hash = self.packets.hash_of(&aggregate);
        let idx = self.packets.find_hashed(hash, &aggregate);
        match idx.and_then(|idx| self.packets.get_mut(idx)) {
            Some((_, kept)) => {
                add(&mut packet, kept, annotation::EXTRA_PACKETS, 1);
                add(&mut packet, kept, annotation::EXTRA_LENGTH, kept.len() as u32);
                packet.set_anno(annotation::FIRST_TIMESTAMP, kept.anno::<8>(annotation::FIRST_TIMESTAMP));
                // It goes where this one is.
                kept.set_place(packet.place());
                Some(std::mem::replace(kept, packet))
            }
            None => {
                packet.set_anno(annotation::FIRST_TIMESTAMP, packet.timestamp_ns().to_ne_bytes());
                // A table that is full gives the packet back.
                self.packets
                    .insert_hashed(hash, aggregate, packet)
                    .err()
                    .map(|table::flow::Full(_, packet)| packet)
            }
        }
    }

    fn clear(&mut self, ctx: &mut Ctx<'_>) -> bool {
        if !std::mem::take(&mut self.is_clearing) {
            return false;
        }
        let mut kept: Vec<(u32, u32)> =
            self.packets.iter().map(|(idx, &aggregate, _)| (aggregate, idx)).collect();
        kept.sort_unstable();
        for (_, idx) in kept {
            if let Some((_, packet)) = self.packets.remove(idx) {
                ctx.emit_packet(0, packet);
            }
        }
        self.packets.clear();
        if self.stops {
            ctx.stop();
        }
        true
    }
}

/// Adds to an annotation what a packet before it has there, and more.
fn add(packet: &mut Packet, before: &Packet, annotation: usize, more: u32) {
    let sum = packet.anno_u32(annotation).wrapping_add(more).wrapping_add(before.anno_u32(annotation));
    packet.set_anno_u32(annotation, sum);
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_last_packet_of_each_aggregate_tells_of_all() {
        check_reading(
            "FromIPSummaryDump(DATA \"!data timestamp aggregate ip_src\n1 7 1.0.0.1\n2 3 1.0.0.2\n3 7 1.0.0.3\n4 7 1.0.0.4\n5 1 1.0.0.5\n\")
             -> l :: AggregateLast(STOP_AFTER_CLEAR true) -> IPPrint(last, AGGREGATE true) -> ToIPSummaryDump(/dev/null) -> Print(x, 0, PRINTANNO true) -> Discard;
             l[1] -> IPPrint(not) -> Discard; DriverManager(wait 1s, write l.clear, wait_stop, print over)",
            &[],
            expect![[r#"
                not: 1.000000: 1.0.0.1.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
                not: 3.000000: 1.0.0.3.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
                last: 5.000000: #1: 1.0.0.5.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
                x:   40 | 000000000000000000000000000000000000000001000000000000000000000000f2052a010000000000000000000000
                last: 2.000000: #3: 1.0.0.2.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
                x:   40 | 000000000000000000000000000000000000000003000000000000000000000000943577000000000000000000000000
                last: 4.000000: #7: 1.0.0.4.0 > 0.0.0.0.0: . 0:0(0,40,40) win 0
                x:   40 | 000000000000000000000000000000000000000007000000020000000000000000ca9a3b000000000000000000000000
                no 'over' read handler
            "#]],
        );
    }

    #[test]
    fn packets_leave_when_their_aggregate_has_ended() {
        check_reading(
            "FromIPSummaryDump(DATA \"!data timestamp ip_src sport ip_dst dport ip_proto
1 1.0.0.1 1 2.0.0.2 2 U\n2 1.0.0.2 1 2.0.0.2 2 U\n3 2.0.0.2 2 1.0.0.1 1 U\n200 1.0.0.2 1 2.0.0.2 2 U\n201 1.0.0.3 1 2.0.0.2 2 U\n\", STOP true)
             -> af :: AggregateIPFlows(REAP 100) -> f :: AggregateFirst(NOTIFIER af) -> IPPrint(first, AGGREGATE true)
             -> l :: AggregateLast(NOTIFIER af) -> IPPrint(last, AGGREGATE true) -> Discard; f[1] -> IPPrint(other) -> l;
             DriverManager(wait_stop, print clear, write af.clear)",
            &[],
            expect![[r#"
                first: 1.000000: #1: 1.0.0.1.1 > 2.0.0.2.2: udp 8
                first: 2.000000: #2: 1.0.0.2.1 > 2.0.0.2.2: udp 8
                other: 3.000000: 2.0.0.2.2 > 1.0.0.1.1: udp 8
                last: 2.000000: #2: 1.0.0.2.1 > 2.0.0.2.2: udp 8
                last: 3.000000: #1: 2.0.0.2.2 > 1.0.0.1.1: udp 8
                first: 200.000000: #3: 1.0.0.2.1 > 2.0.0.2.2: udp 8
                first: 201.000000: #4: 1.0.0.3.1 > 2.0.0.2.2: udp 8
                no 'clear' read handler
                last: 200.000000: #3: 1.0.0.2.1 > 2.0.0.2.2: udp 8
                last: 201.000000: #4: 1.0.0.3.1 > 2.0.0.2.2: udp 8
            "#]],
        );
    }
}
