//! What the queues share: storage with a capacity, the figures, and when to sleep.

use element::{Batch, Ctx, Handler, Packet};
use packet::Ring;

/// Pulls that must find nothing, one after the other, before a queue tells its pullers to sleep.
const SLEEPY: u32 = 9;

/// Such pulls when they sleep.
const ASLEEP: u32 = SLEEPY + 1;

/// Packets in a queue from which on those that come next have long left the processor's nearer caches.
const LONG: usize = 8192;

/// Most packets that a queue holds if nothing else is said, also by an empty write.
pub const DEFAULT_CAPACITY: u32 = 1000;

/// The handlers of every queue.
pub const HANDLERS: &[Handler] = &[
    Handler::read("length", "Packets in the queue."),
    Handler::read("highwater_length", "Most packets that were ever in the queue.").flags("most"),
    Handler::read_write("capacity", "Most packets that the queue holds.").flags("calm setting"),
    Handler::read("drops", "Packets that found the queue full."),
    Handler::write("reset_counts", "Sets drops to 0 and highwater_length to length.")
        .flags("button nonexclusive"),
    Handler::write("reset", "Drops all packets in the queue.").flags("button"),
];

/// The packets of a queue and its figures.
pub struct Storage {
    /// The packets, oldest first.
    pub packets: Ring,
    /// Most packets that it holds.
    pub capacity: usize,
    /// Most packets that it ever held.
    pub highwater: usize,
    /// Packets that found it full.
    pub drops: u64,
    /// Whether the newest packets stay when there are too many.
    keeps_newest: bool,
    sleepiness: u32,
    /// See [`element::Room::n_emptied`].
    pub n_emptied: u32,
    /// See [`element::Room::n_taken`].
    pub n_taken: u32,
}

impl Storage {
    /// [`Storage::patience`] after a packet.
    pub const PATIENCE: usize = SLEEPY as usize;

    /// An empty storage.
    pub fn new(capacity: usize) -> Storage {
        let packets = Ring::new();
        Storage {
            packets,
            capacity,
            highwater: 0,
            drops: 0,
            keeps_newest: false,
            sleepiness: 0,
            n_emptied: 0,
            n_taken: 0,
        }
    }

    /// An empty storage in which the newest packets stay when it shrinks.
    pub fn keeping_newest(capacity: usize) -> Storage {
        Storage { keeps_newest: true, ..Storage::new(capacity) }
    }

    /// Whether there is no room.
    pub fn is_full(&self) -> bool {
        self.packets.len() >= self.capacity
    }

    /// Of packets that come, so many would be here at a time if there is room.
    pub fn would_hold(&mut self, most: usize) {
        self.highwater = self.highwater.max(most.min(self.capacity));
    }

    /// Adds as many packets as there is room for; the rest stay in the batch. `most` tells how many there would have been at a time,
    /// where so many are there now.
    #[inline]
    pub fn add(&mut self, batch: &mut Batch, most: impl FnOnce(usize) -> usize) {
        let room = self.capacity.saturating_sub(self.packets.len());
        self.packets.push_batch(batch, room);
        if self.packets.len() > self.highwater {
            self.highwater = self.highwater.max(most(self.packets.len()));
        }
    }

    /// Adds a batch and takes the oldest packets out for which there is no room; they are left in the batch.
    pub fn add_and_drop_oldest(&mut self, batch: &mut Batch) {
        self.packets.push_batch(batch, usize::MAX);
        let n_lost = self.packets.len().saturating_sub(self.capacity).min(batch.room());
        self.packets.pop_batch(batch, n_lost);
        self.highwater = self.highwater.max(self.packets.len());
    }

    /// Adds a batch, packet by packet, in front of all others, and takes the last packets out for which there is no room;
    /// they are left in the batch.
    pub fn add_in_front(&mut self, batch: &mut Batch) {
        let mut lost = Batch::new();
        for packet in batch.drain() {
            if self.is_full() {
                lost.extend(self.packets.pop_back());
            }
            if self.is_full() {
                lost.push(packet);
            } else {
                self.packets.push_front(packet);
            }
        }
        *batch = lost;
        self.highwater = self.highwater.max(self.packets.len());
    }

    /// Takes up to `max` packets, oldest first.
    #[inline]
    pub fn take(&mut self, max: usize) -> Batch {
        let mut batch = Batch::new();
        self.packets.pop_batch(&mut batch, max);
        batch
    }

    /// As [`Storage::take`]. What will be taken next from a long queue is brought near, if somebody behind looks at it.
    #[inline]
    pub fn take_and_prefetch(&mut self, ctx: &mut Ctx<'_>, max: usize) -> Batch {
        let batch = self.take(max);
        self.n_emptied = self.n_emptied.wrapping_add(u32::from(self.packets.is_empty()));
        self.n_taken = self.n_taken.wrapping_add(batch.len() as u32);
        if self.packets.len() >= LONG && ctx.leads_to_reader() {
            self.packets.prefetch(batch.len());
        }
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
        self.sleepiness = (self.sleepiness + 1).min(ASLEEP);
        self.sleepiness == ASLEEP
    }

    /// How many pulls in a row may still find nothing before the pullers should sleep; if they do, after the next packet.
    pub fn patience(&self) -> usize {
        SLEEPY.checked_sub(self.sleepiness).unwrap_or(SLEEPY) as usize
    }

    /// Counts packets that found no room, and says so the first time. They go to output 1 if there is one.
    #[cold]
    pub fn overflow(&mut self, ctx: &mut Ctx<'_>, batch: Batch, reason: usize) {
        if self.drops == 0 && self.capacity > 0 {
            // The class whose old name this is.
            let class = match ctx.class(ctx.element) {
                "FullNoteQueue" => "Queue",
                class => class,
            };
            let text = format!("{} :: {class}: overflow", ctx.own_name());
            ctx.chatter_of(batch.iter().next().map_or(0, Packet::place), &text);
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
                self.have_gone();
            }
            "capacity" => {
                let capacity = match value {
                    "" => Ok(DEFAULT_CAPACITY),
                    _ => args::integer(value),
                };
                self.capacity = capacity.map_err(|error| format!("CAPACITY: {error}"))? as usize;
                self.shrink(ctx, reason);
            }
            _ => return Ok(false),
        }
        Ok(true)
    }

    /// Takes over the packets and the figures of another storage; what does not fit is dropped for `reason`.
    pub fn take_over(&mut self, ctx: &mut Ctx<'_>, old: Storage, reason: usize) {
        (self.packets, self.drops, self.highwater) = (old.packets, old.drops, old.highwater);
        self.sleepiness = old.sleepiness;
        self.shrink(ctx, reason);
    }

    /// Drops what does not fit.
    fn shrink(&mut self, ctx: &mut Ctx<'_>, reason: usize) {
        let n_lost = self.packets.len().saturating_sub(self.capacity);
        if self.keeps_newest {
            (0..n_lost).for_each(|_| drop(self.packets.pop_front()));
        } else {
            self.packets.truncate(self.capacity);
        }
        ctx.count_drops(reason, n_lost as u64);
        self.have_gone();
    }

    /// Packets have gone that nobody has pulled: who was woken to do that may find nothing.
    fn have_gone(&mut self) {
        self.sleepiness = self.sleepiness.min(SLEEPY);
    }
}

#[cfg(test)]
mod tests {
    use std::collections::VecDeque;

    use packet::Packet;

    use super::*;
    use proptest::prelude::*;

    fn batch(numbers: &[u8]) -> Batch {
        let mut batch = Batch::new();
        batch.extend(numbers.iter().map(|number| Packet::from_bytes(&[*number])));
        batch
    }

    fn numbers<'p>(packets: impl IntoIterator<Item = &'p Packet>) -> Vec<u8> {
        packets.into_iter().flat_map(|packet| packet.data().to_vec()).collect()
    }

    proptest! {
        /// Against lists of numbers, a packet at a time.
        #[test]
        fn batches_fare_as_packets_do_one_by_one(
            capacity in 0usize..6,
            steps in prop::collection::vec((0u8..4, prop::collection::vec(any::<u8>(), 0..5)), 0..20),
        ) {
            let mut storage = Storage::new(capacity);
            let (mut model, mut model_highwater) = (VecDeque::new(), 0);
            for (way, input) in steps {
                let mut moved = batch(&input);
                let mut lost = Vec::new();
                match way {
                    0 => storage.add(&mut moved, |len| len),
                    1 => storage.add_and_drop_oldest(&mut moved),
                    2 => storage.add_in_front(&mut moved),
                    _ => moved = storage.take(input.len()),
                }
                for number in input {
                    match way {
                        0 if model.len() == capacity => lost.push(number),
                        0 => model.push_back(number),
                        1 => {
                            model.push_back(number);
                            lost.extend((model.len() > capacity).then(|| model.pop_front()).flatten());
                        }
                        2 if capacity == 0 => lost.push(number),
                        2 => {
                            lost.extend((model.len() == capacity).then(|| model.pop_back()).flatten());
                            model.push_front(number);
                        }
                        _ => lost.extend(model.pop_front()),
                    }
                    model_highwater = model.len().max(model_highwater);
                }
                prop_assert_eq!(numbers(moved.iter()), lost);
                prop_assert_eq!(numbers(storage.packets.iter()), Vec::from_iter(model.iter().copied()));
                prop_assert_eq!(storage.highwater, model_highwater);
            }
        }
    }
}
