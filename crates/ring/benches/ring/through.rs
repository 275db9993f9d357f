//! Frames through the ring.

use std::fs::File;

use ring::{pair_len, Consumer, Header, Producer, Refused, Side};
use sys::memfd::Memfd;

use crate::contest::{check, stamp, Contest, Frames};
use crate::process::{eventfd, sleep, wake, Part};

/// Both ends, in two mappings of one memory file; `sleeps`: whoever has nothing to do sleeps instead of polling.
pub fn ends(capacity: usize, sleeps: bool) -> (Part, Part) {
    let memory = Memfd::create("bench", pair_len(capacity).expect("a good capacity")).expect("a memory file");
    let end = |side| ring::ends(memory.map().expect("a mapping"), capacity, side).expect("an empty ring");
    let ((producer, _), (_, consumer)) = (end(Side::First), end(Side::Second));
    let (data, room) = (eventfd(), eventfd());
    let copies = (data.try_clone().expect("a descriptor"), room.try_clone().expect("a descriptor"));
    (
        Box::new(move |contest| Sender { producer, sleeps, data, room }.send(contest)),
        Box::new(move |contest| {
            Receiver { consumer, sleeps, data: copies.0, room: copies.1 }.receive(contest)
        }),
    )
}

struct Sender {
    producer: Producer,
    sleeps: bool,
    data: File,
    room: File,
}

impl Sender {
    fn send(mut self, contest: Contest) {
        let mut frames = Frames::new(contest);
        let mut number = 0;
        for _ in 0..contest.n_batches {
            // All headers first, as a graph treats a batch: a frame copied just after would wait for the stamp's store.
            for idx in 0..contest.batch {
                stamp(frames.frame(idx), number + idx as u64);
            }
            for idx in 0..contest.batch {
                let frame = frames.frame(idx);
                number += 1;
                let header = Header { timestamp_ns: number as i64, ..Header::default() };
                while let Err(refused) = self.producer.push(&header, frame) {
                    assert_eq!(refused, Refused::NoRoom);
                    self.publish();
                    self.wait(frame.len());
                }
            }
            self.publish();
        }
        if self.producer.finish() {
            wake(&self.data);
        }
    }

    fn publish(&mut self) {
        if self.producer.publish() {
            wake(&self.data);
        }
    }

    fn wait(&mut self, len: usize) {
        if !self.sleeps {
            std::hint::spin_loop();
        } else if self.producer.prepare_to_wait(len) {
            sleep(&self.room);
        }
    }
}

struct Receiver {
    consumer: Consumer,
    sleeps: bool,
    data: File,
    room: File,
}

impl Receiver {
    fn receive(mut self, contest: Contest) {
        let mut frames = Frames::new(contest);
        let (mut number, mut idx) = (0, 0);
        while !self.consumer.is_finished() {
            while let Some(record) = self.consumer.next().expect("the sender is honest") {
                let frame = record.copy_into_slice(frames.frame(idx));
                check(frame, number);
                assert_eq!(record.header.timestamp_ns, number as i64 + 1);
                number += 1;
                idx += 1;
                if idx == contest.batch {
                    idx = 0;
                    self.release();
                }
            }
            self.release();
            self.wait();
        }
        assert_eq!(number as usize, contest.n_batches * contest.batch);
    }

    fn release(&mut self) {
        if self.consumer.release() {
            wake(&self.room);
        }
    }

    fn wait(&mut self) {
        if !self.sleeps {
            std::hint::spin_loop();
        } else if self.consumer.prepare_to_wait() {
            sleep(&self.data);
        }
    }
}
