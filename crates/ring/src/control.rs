//! The control words of a ring: positions, and who waits for whom.
//!
//! Whoever waits sets a flag, fences and looks again; the other side moves its position, fences and looks at the flag. So at
//! least one of the two sees what the other did. `tests/model.rs` runs this file under every interleaving.

use crate::atomic::{fence, AtomicU32, AtomicU64, Ordering};

/// What only one side writes has a pair of cache lines of its own, for processors fetch lines in pairs.
#[repr(C, align(128))]
#[derive(Debug, Default)]
struct Line<T>(T);

/// What one side tells the other; hardly ever written, so that reading it costs nothing.
#[repr(C)]
#[derive(Debug, Default)]
struct Signals {
    /// Not 0: this side waits. The producer says for how many free bytes.
    waits: AtomicU32,
    /// Not 0: this side will do no more.
    has_ended: AtomicU32,
}

/// All that the two sides share besides the data. Zero is a new ring.
#[repr(C)]
#[derive(Debug, Default)]
pub(crate) struct Control {
    /// Bytes ever published; the producer's.
    tail: Line<AtomicU64>,
    /// Bytes ever released; the consumer's.
    head: Line<AtomicU64>,
    consumer: Line<Signals>,
    producer: Line<Signals>,
}

impl Signals {
    /// Takes the flag; whether the side that waits is to be woken.
    fn take(&self) -> bool {
        self.waits.load(Ordering::Relaxed) != 0 && self.waits.swap(0, Ordering::Relaxed) != 0
    }

    fn has_ended(&self) -> bool {
        self.has_ended.load(Ordering::Acquire) != 0
    }
}

impl Control {
    /// The producer's position, and that everything up to there can be read.
    pub(crate) fn tail(&self) -> u64 {
        self.tail.0.load(Ordering::Acquire)
    }

    /// The consumer's position, and that everything up to there can be written.
    pub(crate) fn head(&self) -> u64 {
        self.head.0.load(Ordering::Acquire)
    }

    /// Whether the producer ended cleanly; its position, loaded afterwards, is the last.
    pub(crate) fn is_finished(&self) -> bool {
        self.producer.0.has_ended()
    }

    /// Whether the consumer takes no more.
    pub(crate) fn is_closed(&self) -> bool {
        self.consumer.0.has_ended()
    }

    /// Shows the consumer everything up to `tail`; whether it is to be woken.
    pub(crate) fn publish(&self, tail: u64) -> bool {
        self.tail.0.store(tail, Ordering::Release);
        fence(Ordering::SeqCst);
        self.consumer.0.take()
    }

    /// Tells that nothing comes after what was published; whether the consumer is to be woken.
    pub(crate) fn finish(&self) -> bool {
        self.producer.0.has_ended.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        self.consumer.0.take()
    }

    /// Gives everything up to `head` back; whether the producer is to be woken.
    pub(crate) fn release(&self, head: u64, capacity: u64) -> bool {
        self.head.0.store(head, Ordering::Release);
        fence(Ordering::SeqCst);
        let wanted = self.producer.0.waits.load(Ordering::Acquire);
        if wanted == 0 {
            return false;
        }
        let used = self.tail().wrapping_sub(head);
        (used == 0 || capacity.saturating_sub(used) >= u64::from(wanted)) && self.producer.0.take()
    }

    /// Tells that nothing more will be read; whether the producer is to be woken.
    pub(crate) fn close(&self) -> bool {
        self.consumer.0.has_ended.store(1, Ordering::Release);
        fence(Ordering::SeqCst);
        self.producer.0.take()
    }

    /// Flags that the consumer, who has read up to `tail`, waits; whether there is still nothing to be seen.
    pub(crate) fn wait_for_data(&self, tail: u64) -> bool {
        self.consumer.0.waits.store(1, Ordering::Relaxed);
        fence(Ordering::SeqCst);
        let is_still = self.tail() == tail && !self.is_finished();
        if !is_still {
            self.stop_waiting_for_data();
        }
        is_still
    }

    /// Takes the consumer's flag back.
    pub(crate) fn stop_waiting_for_data(&self) {
        self.consumer.0.waits.store(0, Ordering::Relaxed);
    }

    /// Flags that the producer waits for `wanted` free bytes. What it decides by is to be loaded after this.
    pub(crate) fn wait_for_room(&self, wanted: u32) {
        self.producer.0.waits.store(wanted, Ordering::Relaxed);
        fence(Ordering::SeqCst);
    }

    /// Takes the producer's flag back.
    pub(crate) fn stop_waiting_for_room(&self) {
        self.producer.0.waits.store(0, Ordering::Relaxed);
    }
}
