//! Counts that elements share with their second hands.

use std::sync::atomic::{AtomicU32, AtomicU64, Ordering::Relaxed};
use std::sync::{Mutex, PoisonError};

use super::ewma::RateEwma;

/// A count. One thread at a time adds to it, so that no locked instruction is needed.
#[derive(Debug, Default)]
pub struct Tally(AtomicU64);

impl Tally {
    /// The count.
    #[inline]
    pub fn get(&self) -> u64 {
        self.0.load(Relaxed)
    }

    /// Sets it.
    pub fn set(&self, count: u64) {
        self.0.store(count, Relaxed);
    }

    /// Counts so many more.
    #[inline]
    pub fn add(&self, n: u64) {
        self.0.store(self.get().wrapping_add(n), Relaxed);
    }
}

/// A rate of events that one thread at a time counts.
#[derive(Debug)]
pub struct TallyRate {
    /// The events of `jiffy` that the average does not have yet.
    current: Tally,
    jiffy: AtomicU32,
    average: Mutex<RateEwma>,
}

impl TallyRate {
    /// Goes on from an average.
    pub fn new(average: RateEwma) -> TallyRate {
        TallyRate { current: Tally::default(), jiffy: AtomicU32::new(0), average: Mutex::new(average) }
    }

    /// Counts events at a jiffy.
    #[inline]
    pub fn update(&self, n_events: u64, jiffy: u32) {
        if jiffy != self.jiffy.load(Relaxed) {
            self.advance(jiffy);
        }
        self.current.add(n_events);
    }

    /// Gives the average what was counted up to a jiffy.
    #[cold]
    fn advance(&self, jiffy: u32) {
        self.settle(|average| average.update(0, jiffy));
        self.jiffy.store(jiffy, Relaxed);
    }

    /// The average of what was counted.
    pub fn average(&self) -> RateEwma {
        self.settle(|average| *average)
    }

    /// Goes on from another's average.
    pub fn take_over(&self, old: &TallyRate) {
        let old = old.average();
        self.settle(|average| *average = old);
        self.jiffy.store(old.jiffy(), Relaxed);
    }

    fn settle<R>(&self, act: impl FnOnce(&mut RateEwma) -> R) -> R {
        let mut average = self.average.lock().unwrap_or_else(PoisonError::into_inner);
        average.update(self.current.get(), self.jiffy.load(Relaxed));
        self.current.set(0);
        act(&mut average)
    }
}
