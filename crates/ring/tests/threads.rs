//! Two threads that sleep whenever there is nothing to do: nothing is lost, and neither sleeps for ever.

use std::sync::{Arc, Condvar, Mutex};

use ring::{both_ends, pair_len, Consumer, Header, Heap, Producer, Refused, CAPACITY_MIN};

const N_RECORDS: u64 = if cfg!(miri) { 400 } else { 1_000_000 };

/// A counter as eventfd has it.
#[derive(Default)]
struct Event {
    is_raised: Mutex<bool>,
    raised: Condvar,
}

impl Event {
    fn wake(&self) {
        *self.is_raised.lock().unwrap() = true;
        self.raised.notify_one();
    }

    fn sleep(&self) {
        let mut is_raised = self.raised.wait_while(self.is_raised.lock().unwrap(), |is| !*is).unwrap();
        *is_raised = false;
    }
}

#[derive(Clone, Default)]
struct Events {
    data: Arc<Event>,
    room: Arc<Event>,
}

/// Numbers that look random: the same for the same start (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, bound: u64) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0 % bound
    }

    /// A length: mostly short, now and then up to what the ring takes.
    fn len(&mut self, max: usize) -> usize {
        let bound = if self.below(1000) == 0 { max as u64 + 1 } else { 200 };
        self.below(bound) as usize
    }
}

fn send(producer: &mut Producer, events: &Events) {
    let (mut lens, mut batches) = (Numbers(7), Numbers(99));
    let max_data = producer.max_data();
    for number in 0..N_RECORDS {
        let data = vec![number as u8; lens.len(max_data)];
        let header = Header { timestamp_ns: number as i64, ..Header::default() };
        while let Err(refused) = producer.push(&header, &data) {
            assert_eq!(refused, Refused::NoRoom);
            if producer.publish() {
                events.data.wake();
            }
            if producer.prepare_to_wait(data.len()) {
                events.room.sleep();
            }
        }
        if batches.below(8) == 0 && producer.publish() {
            events.data.wake();
        }
    }
    if producer.finish() {
        events.data.wake();
    }
}

fn receive(consumer: &mut Consumer, events: &Events) {
    let (mut lens, mut batches) = (Numbers(7), Numbers(5));
    let (mut data, mut number) = (vec![0; consumer.max_data()], 0);
    while !consumer.is_finished() {
        while let Some(record) = consumer.next().unwrap() {
            assert_eq!(record.len(), lens.len(data.len()));
            assert_eq!(record.header.timestamp_ns, number as i64);
            let data = record.copy_into_slice(&mut data);
            assert!(data.iter().all(|&byte| byte == number as u8));
            number += 1;
            if batches.below(8) == 0 && consumer.release() {
                events.room.wake();
            }
        }
        if consumer.release() {
            events.room.wake();
        }
        if consumer.prepare_to_wait() {
            events.data.sleep();
        }
    }
    assert_eq!(number, N_RECORDS);
}

#[test]
fn a_million_records_pass_between_threads_that_sleep() {
    let heap = Heap::new(pair_len(CAPACITY_MIN).unwrap());
    let ((mut producer, _), (_, mut consumer)) = both_ends(heap, CAPACITY_MIN).unwrap();
    let events = Events::default();
    std::thread::scope(|scope| {
        scope.spawn(|| send(&mut producer, &events));
        receive(&mut consumer, &events);
    });
}
