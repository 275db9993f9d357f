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
    Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Notifies, SearchOp,
};

use super::storage::{self, Storage};

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
    Class { configure, ..class.args(ARGS).handlers(storage::HANDLERS).drops(DROPS).live() }
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
}

impl Element for Queue {
    fn configure(conf: &mut Configure<'_>) -> Result<Queue, Failed> {
        Queue::new(conf, Kind::Full)
    }

    fn notifies(&self) -> Notifies {
        Notifies {
            empty: (self.kind != Kind::Simple).then_some(SearchOp::Stop),
            full: matches!(self.kind, Kind::Full | Kind::Quick).then_some(SearchOp::Stop),
        }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        match self.kind {
            Kind::FrontDrop => self.storage.add_and_drop_oldest(&mut batch),
            Kind::Mixed if port == 1 => self.storage.add_in_front(&mut batch),
            _ => self.storage.add(&mut batch),
        }
        if !self.storage.packets.is_empty() {
            ctx.set_empty_signal(true);
        }
        if self.storage.is_full() {
            ctx.set_full_signal(false);
        }
        if !batch.is_empty() {
            self.storage.overflow(ctx, batch, FULL);
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = self.storage.take(max);
        if !batch.is_empty() && !self.storage.is_full() {
            ctx.set_full_signal(true);
        }
        let sleeps = match self.kind {
            Kind::Quick => self.storage.packets.is_empty(),
            _ => self.storage.is_sleepy(batch.len(), max),
        };
        if sleeps {
            ctx.set_empty_signal(false);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.storage.read(name).ok_or_else(|| format!("no {name} read handler"))
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if !self.storage.write(ctx, name, value, FULL)? {
            return Err(format!("no {name} write handler"));
        }
        ctx.set_full_signal(!self.storage.is_full());
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let old: Box<dyn std::any::Any> = old;
        if let Ok(old) = old.downcast::<Queue>() {
            self.storage.take_over(ctx, old.storage, FULL);
            ctx.set_empty_signal(!self.storage.packets.is_empty());
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
        let capacity: u32 = conf.args.get_or("CAPACITY", 1000);
        conf.finish()?;
        let storage = match kind {
            Kind::FrontDrop => Storage::keeping_newest(capacity as usize),
            _ => Storage::new(capacity as usize),
        };
        Ok(Queue { storage, kind })
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
