//! Stores packets in a first-in, first-out queue.
//!
//! Packets that find the queue full go to output 1 if it is connected, else they are dropped. Tells pullers downstream when
//! there is something to pull, and pushers upstream when there is room. When the queue runs empty, the pullers are told only
//! after some pulls that found nothing, lest they are put to sleep and woken for every packet.
//!
//! ```click
//! InfiniteSource -> Queue(200) -> Unqueue -> Discard;
//! ```

use element::{
    same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Notifies, Refusal, Room,
    SearchOp, Stock,
};

use super::storage::{self, Storage, DEFAULT_CAPACITY};

/// The class.
pub const CLASS: Class = class("Queue", "1/1-2", configure);

const ARGS: &[Arg] =
    &[Arg::optional("CAPACITY", "unsigned", "Most packets that the queue holds. Default 1000.")];

const DROPS: &[DropReason] = &[DropReason::new("queue-full", "The queue was full, or was reset.")];
const FULL: usize = 0;

/// A class of queues; `configure` calls [`Queue::of_kind`].
pub const fn class(
    name: &'static str,
    ports: &'static str,
    configure: fn(&mut Configure<'_>) -> Result<Box<dyn Element>, Failed>,
) -> Class {
    let class = Class::new::<Queue>(name, ports, "h/lh", "x/x");
    Class {
        configure,
        ..class
            .causes(Causes::WAKEUPS.and(Causes::LINES))
            .args(ARGS)
            .handlers(storage::HANDLERS)
            .drops(DROPS)
            .refuses(&[("capacity", Refusal::Misread), ("config", Refusal::Misread)])
            .live()
    }
}

fn configure(conf: &mut Configure<'_>) -> Result<Box<dyn Element>, Failed> {
    Queue::of_kind(conf, Kind::Full)
}

/// What sets a class of queues apart.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// Notifies nobody.
    Simple,
    /// Notifies pullers.
    Notifier,
    /// Notifies pullers and pushers.
    Full,
    /// As `Full`, but tells pullers as soon as it is empty.
    Quick,
    /// As `Notifier`; what comes to input 1 is put in front.
    Mixed,
    /// As `Notifier`; drops the oldest packet when it is full.
    FrontDrop,
}

/// See the page above; all classes of queues are made of this.
pub struct Queue {
    storage: Storage,
    kind: Kind,
    /// Whether its handler `config` was written.
    is_rewritten: bool,
}

impl Element for Queue {
    fn configure(conf: &mut Configure<'_>) -> Result<Queue, Failed> {
        Queue::new(conf, Kind::Full)
    }

    fn causes(&self, usual: Causes) -> Causes {
        match self.kind {
            // What is told of is another packet than the one that came.
            Kind::FrontDrop | Kind::Mixed => Causes::ANYTHING,
            _ => usual,
        }
    }

    fn notifies(&self) -> Notifies {
        Notifies {
            empty: (self.kind != Kind::Simple).then_some(SearchOp::Stop),
            full: matches!(self.kind, Kind::Full | Kind::Quick).then_some(SearchOp::Stop),
            made_late: false,
        }
    }

    fn room(&self) -> Option<Room> {
        let Storage { packets, n_emptied, n_taken, .. } = &self.storage;
        Some(Room {
            left: self.space(),
            is_empty: packets.is_empty(),
            n_emptied: *n_emptied,
            n_taken: *n_taken,
        })
    }

    fn stock(&self) -> Option<Stock> {
        let is_fifo = !matches!(self.kind, Kind::FrontDrop | Kind::Mixed);
        let (patience, patience_anew) = match self.kind {
            Kind::Simple => (usize::MAX, usize::MAX),
            Kind::Quick => (0, 0),
            _ => (self.storage.patience(), Storage::PATIENCE),
        };
        is_fifo.then(|| Stock { len: self.len(), room: self.space(), patience, patience_anew })
    }

    fn stored_places(&self, each: &mut dyn FnMut(u32)) {
        self.storage.packets.iter().for_each(|packet| each(packet.place()));
    }

    fn would_hold(&mut self, most: usize) {
        self.storage.would_hold(most);
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        if ctx.comes_later(port, &mut batch) {
            return;
        }
        let n_before = self.len();
        match self.kind {
            Kind::FrontDrop => self.storage.add_and_drop_oldest(&mut batch),
            Kind::Mixed if port == 1 => self.storage.add_in_front(&mut batch),
            _ => self.storage.add(&mut batch, |len| ctx.most_stored(len)),
        }
        if !self.storage.packets.is_empty() {
            ctx.set_empty_signal(true);
        }
        // As in Click, a packet that finds no room makes nobody sleep.
        if self.storage.is_full() && self.len() > n_before {
            ctx.set_full_signal(false);
        }
        if !batch.is_empty() {
            self.storage.overflow(ctx, batch, FULL);
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = self.storage.take_and_prefetch(ctx, max);
        if !batch.is_empty() && !self.storage.is_full() {
            ctx.set_full_signal(true);
        }
        if self.sleeps(batch.len(), max) {
            ctx.set_empty_signal(false);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.storage.read(name).ok_or_else(|| format!("no {name} read handler"))
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let n_before = self.len();
        if !self.storage.write(ctx, name, value, FULL)? {
            return Err(format!("no {name} write handler"));
        }
        // As in Click, all packets are pulled, and once there is none.
        if name == "reset" && self.sleeps(n_before, usize::MAX) {
            ctx.set_empty_signal(false);
        }
        // As in Click, a capacity that leaves no room makes nobody sleep.
        if !self.storage.is_full() {
            ctx.set_full_signal(true);
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Queue>(ctx, old) else { return };
        self.storage.take_over(ctx, old.storage, FULL);
        // As in Click, a `config` that is written makes nobody sleep.
        if !self.is_rewritten {
            ctx.set_empty_signal(!self.storage.packets.is_empty());
        }
        if !self.is_rewritten || !self.storage.is_full() {
            ctx.set_full_signal(!self.storage.is_full());
        }
    }
}

impl Queue {
    /// Makes a queue of a kind.
    pub fn of_kind(conf: &mut Configure<'_>, kind: Kind) -> Result<Box<dyn Element>, Failed> {
        Ok(Box::new(Queue::new(conf, kind)?))
    }

    fn new(conf: &mut Configure<'_>, kind: Kind) -> Result<Queue, Failed> {
        let capacity: u32 = conf.args.get_or("CAPACITY", DEFAULT_CAPACITY);
        conf.finish()?;
        let storage = match kind {
            Kind::FrontDrop => Storage::keeping_newest(capacity as usize),
            _ => Storage::new(capacity as usize),
        };
        Ok(Queue { storage, kind, is_rewritten: conf.environment.is_alone() })
    }

    /// Whether the pullers should sleep after a pull of `n` packets of `max` wanted.
    #[inline]
    fn sleeps(&mut self, n: usize, max: usize) -> bool {
        match self.kind {
            Kind::Quick => self.storage.packets.is_empty(),
            _ => self.storage.is_sleepy(n, max),
        }
    }

    /// How many more packets it holds.
    pub fn space(&self) -> usize {
        self.storage.capacity.saturating_sub(self.storage.packets.len())
    }

    /// Number of packets in the queue.
    pub fn len(&self) -> usize {
        self.storage.packets.len()
    }

    /// Whether there is no packet in the queue.
    pub fn is_empty(&self) -> bool {
        self.storage.packets.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_reading, run};
    use expect_test::expect;

    #[test]
    fn packets_that_find_the_queue_full_are_counted() {
        let figures = ["q.length", "q.drops", "q.highwater_length", "c.count"];
        check_reading(
            "InfiniteSource(LIMIT 20) -> q :: NotifierQueue(8) -> Unqueue(LIMIT 5) -> c :: Counter -> Discard;
             DriverManager(wait 0.1, stop)",
            &figures,
            expect![[r#"
                q :: NotifierQueue: overflow
                q.length: 8
                q.drops: 7
                q.highwater_length: 8
                c.count: 5
            "#]],
        );
        check_reading(
            "InfiniteSource(LIMIT 20, BURST 7) -> q :: SimpleQueue(8) -> Unqueue(ACTIVE false) -> Discard;
             q [1] -> c :: Counter -> Discard;
             DriverManager(wait 0.1, write q.capacity 6, read q.length, write q.capacity x, write q.reset,
                 write q.capacity, read q.capacity, read q.config, write q.capacity 7, read q.config, stop)",
            &figures,
            expect![[r#"
                q :: SimpleQueue: overflow
                q.length:
                6
                While executing 'DriverManager@7 :: DriverManager':
                  While calling 'q.capacity x':
                    CAPACITY: invalid number
                q.capacity:
                1000
                q.config:

                q.config:
                CAPACITY 7
                q.length: 0
                q.drops: 12
                q.highwater_length: 8
                c.count: 18
            "#]],
        );
    }

    #[test]
    fn a_config_that_is_written_makes_nobody_sleep() {
        check_reading(
            "i :: InfiniteSource(LIMIT 1, ACTIVE false) -> q :: Queue -> TimedUnqueue(1) -> c :: Counter -> Discard;
             DriverManager(wait 1.5, write q.config 5, wait 1, write i.active true, wait 0.1, read c.count, wait 0.5, stop)",
            &["c.count"],
            expect![[r#"
                c.count:
                0
                c.count: 1
            "#]],
        );
    }

    #[test]
    fn a_source_waits_while_the_queue_is_full() {
        check_reading(
            "i :: InfiniteSource -> q :: Queue(10) -> TimedSink(0.1);
             DriverManager(wait 0.95, read i.count, write q.capacity 20, wait 0.01, stop)",
            &["i.count", "q.drops", "q.length"],
            expect![[r#"
                i.count:
                19
                i.count: 29
                q.drops: 0
                q.length: 20
            "#]],
        );
    }

    #[test]
    fn a_new_configuration_keeps_packets_and_figures() {
        check_reading(
            "InfiniteSource(LIMIT 6) -> q :: FrontDropQueue(4) -> u :: Unqueue(ACTIVE false) -> Discard;
             DriverManager(wait 0.1, write q.config 2, stop)",
            &["q.length", "q.drops", "q.highwater_length", "q.capacity"],
            expect![[r#"
                q :: FrontDropQueue: overflow
                q.length: 2
                q.drops: 2
                q.highwater_length: 4
                q.capacity: 2
            "#]],
        );
    }

    #[test]
    fn pullers_sleep_while_the_queue_is_empty() {
        for class in ["Queue", "NotifierQueue", "QuickNoteQueue"] {
            let config = format!(
                "i :: InfiniteSource(LIMIT 3) -> {class} -> d :: Discard;
                 DriverManager(wait 0.1, read d.scheduled, write i.reset, wait 0.1, stop)"
            );
            let printed = run(&config, &["d.count"]);
            assert_eq!(printed, "d.scheduled:\nfalse\nd.count: 6\n", "{class}");
        }
    }

    #[test]
    fn the_ends_of_a_mixed_queue_differ() {
        check_reading(
            "InfiniteSource(DATA \\<00>, LIMIT 5) -> q :: MixedQueue(3) -> u :: Unqueue(ACTIVE false) -> Print -> Discard;
             TimedSource(0.01, \\<01>, LIMIT 2) -> [1] q;
             q [1] -> Print(DROPPED) -> Discard;
             DriverManager(wait 0.1, write u.active true, wait 0.1, stop)",
            &["q.drops"],
            expect![[r#"
                q :: MixedQueue: overflow
                DROPPED:    1 | 00
                DROPPED:    1 | 00
                DROPPED:    1 | 00
                DROPPED:    1 | 00
                   1 | 01
                   1 | 01
                   1 | 00
                q.drops: 4
            "#]],
        );
    }

    #[test]
    fn only_packets_that_take_the_last_room_make_a_source_sleep() {
        check_reading(
            "i :: InfiniteSource(LIMIT 10, BURST 3) -> q :: Queue(0) -> Discard;
             j :: InfiniteSource(LIMIT 10, BURST 3) -> p :: Queue(4) -> TimedUnqueue(0.5) -> Discard;
             DriverManager(wait 1ms, read i.count, read q.drops, read j.count, write p.capacity 2, wait 1ms, read j.count,
                 read p.drops, write p.reset, wait 1ms, read j.count, stop)",
            &["p.length"],
            expect![[r#"
                p :: Queue: overflow
                i.count:
                10
                q.drops:
                10
                j.count:
                6
                j.count:
                6
                p.drops:
                1
                j.count:
                9
                p.length: 2
            "#]],
        );
    }

    #[test]
    fn a_reset_finds_the_queue_empty_once() {
        check_reading(
            "InfiniteSource(LIMIT 3) -> q :: Queue -> s :: PullSwitch(-1) -> u :: RatedUnqueue(1000000) -> Discard;
             InfiniteSource(LIMIT 3) -> r :: QuickNoteQueue -> t :: PullSwitch(-1) -> v :: RatedUnqueue(1000000) -> Discard;
             DriverManager(wait 100us, write q.reset, write r.reset, write s.switch 0, write t.switch 0, wait 1ms, stop)",
            &["u.calls", "v.calls"],
            expect![[r#"
                u.calls: 10 calls to run_task()
                8 empty runs
                0 pushes
                10 failed pulls

                v.calls: 1 calls to run_task()
                0 empty runs
                0 pushes
                1 failed pulls

            "#]],
        );
    }
}
