//! The control words of a ring, under every interleaving of its two sides.
#![cfg(not(miri))]

use loom::cell::UnsafeCell;
use loom::sync::{Arc, Condvar, Mutex};
use loom::thread;

mod atomic {
    pub use loom::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};
}

#[path = "../src/control.rs"]
mod control;

use control::Control;

/// A counter as eventfd has it.
#[derive(Default)]
struct Event {
    n_wakes: Mutex<u32>,
    raised: Condvar,
}

impl Event {
    fn wake(&self) {
        *self.n_wakes.lock().unwrap() += 1;
        self.raised.notify_one();
    }

    fn sleep(&self) {
        let mut n_wakes = self.n_wakes.lock().unwrap();
        while *n_wakes == 0 {
            n_wakes = self.raised.wait(n_wakes).unwrap();
        }
        *n_wakes = 0;
    }
}

const CAPACITY: u64 = 2;

/// A ring of two places for a number each; the model complains about a place that both sides use at once.
struct Ring {
    control: Control,
    places: [UnsafeCell<u64>; CAPACITY as usize],
    data: Event,
    room: Event,
}

impl Ring {
    fn new() -> Arc<Ring> {
        Arc::new(Ring {
            control: Control::default(),
            places: std::array::from_fn(|_| UnsafeCell::new(0)),
            data: Event::default(),
            room: Event::default(),
        })
    }

    fn place(&self, position: u64) -> &UnsafeCell<u64> {
        &self.places[(position % CAPACITY) as usize]
    }

    /// What a producer does that has `n` numbers and sleeps while the ring is full.
    fn produce(&self, n: u64) {
        let mut head = 0;
        for tail in 0..n {
            while tail - head == CAPACITY {
                head = self.control.head();
                if tail - head == CAPACITY {
                    head = self.wait_for_room(tail);
                }
            }
            // SAFETY: the consumer has released the place, or the model complains.
            self.place(tail).with_mut(|place| unsafe { *place = tail + 100 });
            if self.control.publish(tail + 1) {
                self.data.wake();
            }
        }
    }

    fn wait_for_room(&self, tail: u64) -> u64 {
        self.control.wait_for_room(1);
        let head = self.control.head();
        if tail - head < CAPACITY || self.control.is_closed() {
            self.control.stop_waiting_for_room();
        } else {
            self.room.sleep();
        }
        head
    }

    /// What a consumer does that sleeps while the ring is empty, until `n` numbers were read.
    fn consume(&self, n: u64) {
        let mut tail = 0;
        for next in 0..n {
            while next == tail {
                tail = self.control.tail();
                if next == tail && self.control.wait_for_data(next) {
                    self.data.sleep();
                }
            }
            // SAFETY: the producer has published the place, or the model complains.
            let number = self.place(next).with(|place| unsafe { *place });
            assert_eq!(number, next + 100);
            if self.control.release(next + 1, CAPACITY) {
                self.room.wake();
            }
        }
    }
}

fn explore(run: impl Fn() + Sync + Send + 'static) {
    let mut model = loom::model::Builder::new();
    // Three reach every order of one wait against one wake-up, in seconds.
    model.preemption_bound = Some(3);
    model.check(run);
}

#[test]
fn no_wake_up_is_lost_and_all_that_is_read_was_written() {
    explore(|| {
        let ring = Ring::new();
        let producer = ring.clone();
        let sender = thread::spawn(move || producer.produce(3));
        ring.consume(3);
        sender.join().unwrap();
    });
}

#[test]
fn the_end_wakes_a_consumer_who_waits_and_comes_after_the_last_record() {
    explore(|| {
        let ring = Ring::new();
        let producer = ring.clone();
        let sender = thread::spawn(move || {
            producer.produce(1);
            if producer.control.finish() {
                producer.data.wake();
            }
        });
        let mut n_read = 0;
        loop {
            if ring.control.is_finished() {
                assert_eq!(ring.control.tail(), 1, "the end hides nothing");
                break;
            }
            n_read = ring.control.tail();
            if ring.control.wait_for_data(n_read) {
                ring.data.sleep();
            }
        }
        assert!(n_read <= 1);
        sender.join().unwrap();
    });
}

#[test]
fn closing_wakes_a_producer_who_waits() {
    explore(|| {
        let ring = Ring::new();
        let consumer = ring.clone();
        let closer = thread::spawn(move || {
            if consumer.control.close() {
                consumer.room.wake();
            }
        });
        ring.produce(CAPACITY);
        while !ring.control.is_closed() {
            ring.wait_for_room(CAPACITY);
        }
        closer.join().unwrap();
    });
}
