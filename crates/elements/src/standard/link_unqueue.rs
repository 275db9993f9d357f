//! Pulls packets and pushes them on as a serial line would.
//!
//! Each packet arrives LATENCY after it was sent, and sending takes the time that its bytes, with the extra length annotation,
//! take at BANDWIDTH. A packet is pulled when the line has room, that is when the last one has left the sender, and its
//! timestamp becomes the time at which it arrives.
//!
//! ```click
//! RatedSource(RATE 1000) -> Queue -> LinkUnqueue(5ms, 384kbps) -> Discard;
//! ```

use args::Timestamp;
use element::{
    annotation, handlers, same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed,
    Handler, Packet, Puller, TaskId, TimerId, BATCH_MAX,
};
use packet::Ring;

/// The class.
pub const CLASS: Class =
    Class::new::<LinkUnqueue>("LinkUnqueue", "1/1", "l/h", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("LATENCY", "time", "Time from one end of the line to the other."),
    Arg::required("BANDWIDTH", "bandwidth", "Bytes, or another unit, per second; at least 100 bytes."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("latency", "Time from one end to the other; writing it empties the line.")
        .flags("calm"),
    Handler::read_write("bandwidth", "Bytes per second, in hundreds; writing it empties the line.")
        .flags("calm"),
    Handler::read("size", "Packets on the line."),
    Handler::write("reset", "Drops the packets on the line.").flags("button"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

const DROPS: &[DropReason] = &[DropReason::new("reset", "The packet was on the line when it was emptied.")];
const RESET: usize = 0;

/// See the page above.
pub struct LinkUnqueue {
    latency: Timestamp,
    /// In 100 bytes per second.
    bandwidth: u32,
    /// The packets on the line, the first to arrive first; their timestamps say when.
    line: Ring,
    /// When the last of them arrives.
    last: Timestamp,
    /// Whether the next packet is sent right behind the last one.
    is_back_to_back: bool,
    /// Packets on their way behind the line.
    n_arriving: usize,
    run: Run,
    /// What wakes the element.
    wakers: Option<(Puller, TimerId)>,
}

/// A run of the task.
#[derive(Clone, Copy, Default)]
struct Run {
    now: Timestamp,
    /// Whether the line has room for packets that may be there.
    has_room: bool,
    worked: bool,
}

impl Element for LinkUnqueue {
    fn configure(conf: &mut Configure<'_>) -> Result<LinkUnqueue, Failed> {
        let latency = conf.args.need("LATENCY");
        let bandwidth: args::Bandwidth = conf.args.need("BANDWIDTH");
        let bandwidth = in_hundreds(bandwidth);
        if let Err(message) = &bandwidth {
            conf.args.fail(message);
        }
        conf.finish()?;
        Ok(LinkUnqueue {
            latency,
            bandwidth: bandwidth?,
            line: Ring::new(),
            last: Timestamp::default(),
            is_back_to_back: false,
            n_arriving: 0,
            run: Run::default(),
            wakers: None,
        })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.wakers = Some((ctx.new_puller(0), ctx.new_timer()));
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, _timer: TimerId) {
        if let Some((puller, _)) = &self.wakers {
            ctx.schedule(puller.task);
        }
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, _task: TaskId) -> bool {
        let now = Timestamp::from_nanos(ctx.now_ns());
        let (n_sent, has_room) = self.send(ctx, now);
        self.run = Run { now, has_room, worked: n_sent > 0 };
        self.go_on(ctx)
    }

    /// Pushes on what has arrived, and goes on behind it until there is no more.
    fn go_on(&mut self, ctx: &mut Ctx<'_>) -> bool {
        let Run { now, has_room, .. } = self.run;
        let batch = self.arrived(ctx, now);
        self.n_arriving = batch.len();
        if !batch.is_empty() {
            self.run.worked = true;
            ctx.emit(0, batch);
            ctx.go_on_later();
            return true;
        }
        let Some((puller, _)) = &self.wakers else { return false };
        let (task, is_active) = (puller.task, ctx.is_active(&puller.signal));
        match self.next_arrival() {
            _ if has_room => ctx.schedule(task),
            Some(arrival) if is_active => self.wait(ctx, now, arrival.min(self.last - self.latency)),
            Some(arrival) => self.wait(ctx, now, arrival),
            None if is_active => ctx.schedule(task),
            None => {}
        }
        self.run.worked
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "latency" => Ok(self.latency.unparse_interval()),
            "bandwidth" => Ok((self.bandwidth * 100).to_string()),
            "size" => Ok((self.line.len() + self.n_arriving).to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "latency" => self.latency = args::timestamp(value).map_err(|_| "latency must be a timestamp")?,
            "bandwidth" => {
                self.bandwidth = in_hundreds(args::bandwidth(value).map_err(|_| "invalid bandwidth")?)?;
            }
            "reset" => {}
            _ => return Err(format!("no {name} write handler")),
        }
        self.empty(ctx);
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<LinkUnqueue>(ctx, old) else { return };
        // What is on the line arrives when it would have.
        (self.line, self.last, self.is_back_to_back) = (old.line, old.last, old.is_back_to_back);
    }
}

impl LinkUnqueue {
    /// Pulls packets while the line has room: how many, and whether there is room for more that may be there. A task takes no
    /// more than a batch, so that others get their turn.
    fn send(&mut self, ctx: &mut Ctx<'_>, now: Timestamp) -> (usize, bool) {
        let now_delayed = now + self.latency;
        for n_sent in 0..BATCH_MAX {
            if !self.line.is_empty() && self.last > now_delayed {
                return (n_sent, false);
            }
            let Some(mut packet) = ctx.pull_packet(0) else {
                self.is_back_to_back = false;
                return (n_sent, false);
            };
            let follows = self.is_back_to_back && !self.line.is_empty();
            let begin = if follows { self.last } else { now_delayed };
            self.last = begin + self.duration(&packet);
            packet.set_timestamp_ns(self.last.as_nanos());
            self.line.push_back(packet);
            self.is_back_to_back = true;
        }
        (BATCH_MAX, true)
    }

    /// How long sending a packet takes; computed with 32 bits, as in Click.
    fn duration(&self, packet: &Packet) -> Timestamp {
        let len = (packet.len() as u32).wrapping_add(packet.anno_u32(annotation::EXTRA_LENGTH));
        let us = len.wrapping_mul(10_000).checked_div(self.bandwidth).unwrap_or(0);
        Timestamp::from_micros(i64::from(us))
    }

    /// Takes packets that have arrived, as many as may move at a time.
    fn arrived(&mut self, ctx: &mut Ctx<'_>, now: Timestamp) -> Batch {
        let at_once = ctx.at_once(BATCH_MAX, Causes::NOTHING);
        let mut batch = Batch::new();
        while batch.len() < at_once && self.next_arrival().is_some_and(|arrival| arrival <= now) {
            batch.extend(self.line.pop_front());
        }
        batch
    }

    fn next_arrival(&self) -> Option<Timestamp> {
        self.line.iter().next().map(|packet| Timestamp::from_nanos(packet.timestamp_ns()))
    }

    /// Has the task run again at a time.
    fn wait(&self, ctx: &mut Ctx<'_>, now: Timestamp, until: Timestamp) {
        let Some((puller, timer)) = &self.wakers else { return };
        if until <= now {
            ctx.schedule(puller.task);
        } else {
            // As in Click, the two clocks are read one after the other.
            ctx.schedule_at_wall(*timer, until.as_nanos());
        }
    }

    fn empty(&mut self, ctx: &mut Ctx<'_>) {
        ctx.count_drops(RESET, self.line.len() as u64);
        self.line = Ring::new();
        self.n_arriving = 0;
        if let Some((puller, timer)) = &self.wakers {
            ctx.unschedule_timer(*timer);
            ctx.schedule(puller.task);
        }
    }
}

fn in_hundreds(bandwidth: args::Bandwidth) -> Result<u32, String> {
    match bandwidth.bytes_per_s {
        0..100 => Err("bandwidth too small, minimum 100Bps".to_string()),
        bytes_per_s => Ok(bytes_per_s / 100),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn packets_arrive_as_over_a_line() {
        check(
            "InfiniteSource(LENGTH 1000, LIMIT 3) -> q :: Queue -> SetTimestamp -> Print(sent, 0, TIMESTAMP true)
                -> l :: LinkUnqueue(1, 8kbps) -> SetTimestamp -> Print(arrived, 0, TIMESTAMP true) -> Discard;
            DriverManager(wait 0.5, read l.size, wait 1, read l.size, wait 10, read l.size)",
            expect![[r#"
                sent: 1000000000.000000003: 1000
                l.size:
                1
                sent: 1000000001.000000005: 1000
                l.size:
                2
                sent: 1000000002.000000005: 1000
                arrived: 1000000002.000000006: 1000
                arrived: 1000000003.000000005: 1000
                arrived: 1000000004.000000005: 1000
                l.size:
                0
            "#]],
        );
    }

    #[test]
    fn a_new_setting_empties_the_line() {
        check_reading(
            "i :: InfiniteSource(LENGTH 1000, LIMIT 2) -> q :: Queue -> l :: LinkUnqueue(1, 8kbps) -> c :: Counter -> Discard;
            DriverManager(wait 0.5, write l.latency 10ms, read l.size, wait 5, read c.count, write i.reset, wait 0.5,
                write l.bandwidth 12345, read l.size, wait 5, read c.count,
                write l.latency x, write l.bandwidth x, write l.bandwidth 99, write l.reset)",
            &["l.latency", "l.bandwidth", "l.handlers"],
            expect![[r#"
                l.size:
                0
                c.count:
                1
                l.size:
                0
                c.count:
                2
                While executing 'DriverManager@6 :: DriverManager':
                  While calling 'l.latency x':
                    latency must be a timestamp
                  While calling 'l.bandwidth x':
                    invalid bandwidth
                  While calling 'l.bandwidth 99':
                    bandwidth too small, minimum 100Bps
                l.latency: 10ms
                l.bandwidth: 12300
                l.handlers: tickets	rw
                scheduled	r
                reset	wb
                size	r
                bandwidth	rw.
                latency	rw.
                handlers	r.
                ports	r.
                config	r.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> LinkUnqueue(1, 10) -> Queue -> LinkUnqueue(x, y) -> Queue -> LinkUnqueue(1) -> Discard",
            expect![[r#"
            config:1: While configuring 'LinkUnqueue@4 :: LinkUnqueue':
              LATENCY: parse error
              BANDWIDTH: parse error
            config:1: While configuring 'LinkUnqueue@2 :: LinkUnqueue':
              bandwidth too small, minimum 100Bps
            config:1: While configuring 'LinkUnqueue@6 :: LinkUnqueue':
              BANDWIDTH: required argument missing
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn what_its_packets_cause_to_be_called_may_ask_and_change_it() {
        check_reading(
            "InfiniteSource(LIMIT 6) -> q :: Queue -> u :: LinkUnqueue(0.2, 1kBps) -> Counter(COUNT_CALL 2 s.run) -> c :: Counter -> Discard;
             s :: Script(TYPE PASSIVE, read u.size, read u.latency, write u.bandwidth 2kBps, read u.size, read u.scheduled, read q.length);
             DriverManager(wait 2, stop)",
            &["c.count"],
            expect![[r#"
                u.size:
                4
                u.latency:
                200ms
                u.size:
                0
                u.scheduled:
                true
                q.length:
                1
                c.count: 3
            "#]],
        );
    }
}
