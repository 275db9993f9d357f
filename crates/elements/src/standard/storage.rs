//! What the queues share: storage with a capacity, the figures, and when to sleep.

use std::collections::VecDeque;

use element::{Batch, Ctx, Handler, Packet};

/// Pulls that must find nothing, one after the other, before a queue tells its pullers to sleep.
const SLEEPY: u32 = 9;

/// The handlers of every queue.
pub const HANDLERS: &[Handler] = &[
    Handler::read("length", "Packets in the queue."),
    Handler::read("highwater_length", "Most packets that were ever in the queue."),
    Handler::read_write("capacity", "Most packets that the queue holds.").flags("calm"),
    Handler::read("drops", "Packets that found the queue full."),
    Handler::write("reset_counts", "Sets drops to 0 and highwater_length to length.")
        .flags("button nonexclusive"),
    Handler::write("reset", "Drops all packets in the queue.").flags("button"),
];

/// The packets of a queue and its figures.
pub struct Storage {
    /// The packets, oldest first.
    pub packets: VecDeque<Packet>,
    /// Most packets that it holds.
    pub capacity: usize,
    /// Most packets that it ever held.
    pub highwater: usize,
    /// Packets that found it full.
    pub drops: u64,
    sleepiness: u32,
}

impl Storage {
    /// An empty storage.
    pub fn new(capacity: usize) -> Storage {
        Storage { packets: VecDeque::new(), capacity, highwater: 0, drops: 0, sleepiness: 0 }
    }

    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        self.packets.len() >= self.capacity
    }

    /// Adds as many packets as there is room for; the rest stay in the batch.
    #[inline]
    pub fn add(&mut self, batch: &mut Batch) {
        let room = self.capacity.saturating_sub(self.packets.len());
        self.packets.extend(batch.drain_first(room));
        self.highwater = self.highwater.max(self.packets.len());
    }

    /// Takes up to `max` packets, oldest first.
    #[inline]
    pub fn take(&mut self, max: usize) -> Batch {
        let mut batch = Batch::new();
        let n = max.min(self.packets.len()).min(batch.room());
        batch.extend(self.packets.drain(..n));
        batch
    }

    /// Notes a pull of `n` packets of `max` wanted; true if the pullers should sleep. A pull that got less than it wanted has
    /// found the queue empty once.
    #[inline]
    pub fn is_sleepy(&mut self, n: usize, max: usize) -> bool {
        if n > 0 {
            self.sleepiness = 0;
        }
        if n == max {
            return false;
        }
        if self.sleepiness >= SLEEPY {
            return true;
        }
        self.sleepiness += 1;
        false
    }

    /// Counts packets that found no room, and says so the first time. They go to output 1 if there is one.
    #[cold]
    pub fn overflow(&mut self, ctx: &mut Ctx<'_>, batch: Batch, reason: usize) {
        if self.drops == 0 && self.capacity > 0 {
            let text = format!("{}: overflow", ctx.own_name());
            ctx.chatter(&text);
        }
        self.drops += batch.len() as u64;
        ctx.emit_or_drop(1, reason, batch);
    }

    /// Reads one of [`HANDLERS`].
    pub fn read(&self, name: &str) -> Option<String> {
        Some(match name {
            "length" => self.packets.len().to_string(),
            "highwater_length" => self.highwater.to_string(),
            "capacity" => self.capacity.to_string(),
            "drops" => self.drops.to_string(),
            _ => return None,
        })
    }

    /// Writes one of [`HANDLERS`]; true if it is one. Packets that no longer fit, or are reset, go to output 1 or are
    /// dropped for `reason`.
    pub fn write(
        &mut self,
        ctx: &mut Ctx<'_>,
        name: &str,
        value: &str,
        reason: usize,
    ) -> Result<bool, String> {
        match name {
            "reset_counts" => {
                self.drops = 0;
                self.highwater = self.packets.len();
            }
            "reset" => {
                while !self.packets.is_empty() {
                    let batch = self.take(usize::MAX);
                    ctx.emit_or_drop(1, reason, batch);
                }
            }
            "capacity" => {
                let capacity: u32 = args::integer(value.trim())?;
                self.capacity = capacity as usize;
                let n_lost = self.packets.len().saturating_sub(self.capacity);
                self.packets.truncate(self.capacity);
                ctx.count_drops(reason, n_lost as u64);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes over the packets of another storage; what does not fit is dropped for `reason`.
    pub fn take_over(&mut self, ctx: &mut Ctx<'_>, old: Storage, reason: usize) {
        self.packets = old.packets;
        let n_lost = self.packets.len().saturating_sub(self.capacity);
        self.packets.truncate(self.capacity);
        ctx.count_drops(reason, n_lost as u64);
        self.highwater = self.packets.len();
    }
}
