//! Records through a ring, against a queue as the model.

use std::collections::VecDeque;

use proptest::prelude::*;
use ring::{both_ends, pair_len, Consumer, Header, Heap, Producer, Refused, CAPACITY_MIN, HEADER_LEN};
use sys::vnet::VnetHeader;

fn ring(capacity: usize) -> (Producer, Consumer) {
    let heap = Heap::new(pair_len(capacity).unwrap());
    let ((producer, _), (_, consumer)) = both_ends(heap, capacity).unwrap();
    (producer, consumer)
}

/// A header and data that can be told from every other; those of even seeds are plain.
fn record(seed: u32, len: usize) -> (Header, Vec<u8>) {
    let data = (0..len as u32).map(|n| (seed.wrapping_mul(31).wrapping_add(n * 7)) as u8).collect();
    let plain = Header { wire_len: len as u32, timestamp_ns: -i64::from(seed), ..Header::default() };
    if seed.is_multiple_of(2) {
        return (plain, data);
    }
    let vnet =
        VnetHeader { flags: seed as u8, csum_start: seed as u16, num_buffers: 1, ..Default::default() };
    (Header { wire_len: len as u32 + seed % 3, vnet, ..plain }, data)
}

/// Most bytes of a plain record that is read in the short way.
const SHORT: usize = 80;

fn read(consumer: &mut Consumer) -> Option<(Header, Vec<u8>)> {
    let mut short = [0; SHORT];
    if let Some((len, timestamp_ns)) = consumer.copy_plain(&mut short) {
        let header = Header { wire_len: len as u32, timestamp_ns, ..Header::default() };
        return Some((header, short[..len].to_vec()));
    }
    let record = consumer.next().expect("the producer is honest")?;
    let mut data = vec![0; record.len()];
    record.copy_into_slice(&mut data);
    Some((record.header, data))
}

/// Puts records in until there is no room; how many.
fn fill(producer: &mut Producer, len: usize) -> usize {
    let (header, data) = record(1, len);
    (0..).take_while(|_| producer.push(&header, &data) != Err(Refused::NoRoom)).count()
}

#[test]
fn a_record_arrives_as_it_was_once_published() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    let (header, data) = record(7, 100);
    producer.push(&header, &data).unwrap();
    assert_eq!(read(&mut consumer), None);
    assert_eq!(consumer.pending_bytes(), 0);
    assert!(!producer.publish());
    assert_eq!(consumer.pending_bytes(), HEADER_LEN + 112);
    assert_eq!(read(&mut consumer), Some((header, data)));
    assert_eq!(read(&mut consumer), None);
    assert!(!consumer.release());
    assert_eq!(producer.pending_bytes(), 0);
}

#[test]
fn a_full_ring_takes_more_after_a_release() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    assert_eq!(fill(&mut producer, 64), CAPACITY_MIN / (HEADER_LEN + 64));
    assert!(!producer.fits(64));
    assert!(!producer.publish());
    assert!(read(&mut consumer).is_some());
    assert!(!producer.fits(64), "nothing was released");
    assert!(!consumer.release());
    assert!(producer.fits(64));
    assert_eq!(fill(&mut producer, 64), 1);
}

#[test]
fn the_longest_record_passes_at_every_place_of_an_empty_ring() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    let longest = producer.max_data();
    for seed in 0..if cfg!(miri) { 8 } else { 400 } {
        for len in [longest, 300] {
            let (header, data) = record(seed, len);
            producer.push(&header, &data).unwrap();
            assert!(!producer.publish());
            assert_eq!(read(&mut consumer), Some((header, data)));
            assert!(!consumer.release());
        }
    }
    assert_eq!(producer.push(&Header::default(), &vec![0; longest + 1]), Err(Refused::TooLong));
}

#[test]
fn the_clean_end_is_seen_after_the_last_record() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    producer.push(&Header::default(), b"last").unwrap();
    assert!(!producer.finish());
    assert_eq!(producer.push(&Header::default(), b""), Err(Refused::Finished));
    assert!(!consumer.is_finished());
    assert_eq!(read(&mut consumer).unwrap().1, b"last");
    assert!(consumer.is_finished());
    assert_eq!(read(&mut consumer), None);
}

#[test]
fn a_closed_ring_takes_no_more() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    producer.push(&Header::default(), b"unread").unwrap();
    assert!(!consumer.close());
    assert!(!producer.publish());
    assert_eq!(producer.push(&Header::default(), b""), Err(Refused::Closed));
    assert!(producer.is_closed());
    assert!(!producer.prepare_to_wait(1));
}

#[test]
fn what_was_published_outlives_its_producer() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    producer.push(&Header::default(), b"published").unwrap();
    assert!(!producer.publish());
    producer.push(&Header::default(), b"lost").unwrap();
    drop(producer);
    assert_eq!(read(&mut consumer).unwrap().1, b"published");
    assert_eq!(read(&mut consumer), None);
    assert!(!consumer.is_finished());
}

#[test]
fn a_waiting_consumer_is_woken_once() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    assert!(consumer.prepare_to_wait());
    producer.push(&Header::default(), b"a").unwrap();
    assert!(producer.publish());
    producer.push(&Header::default(), b"b").unwrap();
    assert!(!producer.publish(), "it was woken already");
    assert!(!consumer.prepare_to_wait(), "there is something to read");
    producer.push(&Header::default(), b"c").unwrap();
    assert!(!producer.publish(), "it does not wait");
}

#[test]
fn a_waiting_consumer_is_woken_by_the_end() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    assert!(consumer.prepare_to_wait());
    assert!(producer.finish());
    assert!(!consumer.prepare_to_wait());
    assert!(consumer.is_finished());
}

#[test]
fn a_consumer_that_changed_its_mind_is_not_woken() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    assert!(consumer.prepare_to_wait());
    consumer.cancel_wait();
    producer.push(&Header::default(), b"a").unwrap();
    assert!(!producer.publish());
}

#[test]
fn a_waiting_producer_is_woken_when_a_quarter_is_free() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    assert!(!producer.prepare_to_wait(64), "there is room");
    let n_records = fill(&mut producer, 64);
    assert!(!producer.publish());
    assert!(producer.prepare_to_wait(64));
    let free_before = producer.room();
    for n_read in 1..=n_records {
        assert!(read(&mut consumer).is_some());
        let is_quarter = n_read == (CAPACITY_MIN / 4 - free_before).div_ceil(HEADER_LEN + 64);
        assert_eq!(consumer.release(), is_quarter, "after {n_read}");
    }
}

#[test]
fn a_producer_that_waits_for_much_room_is_woken_when_there_is_as_much() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    fill(&mut producer, 64);
    assert!(!producer.publish());
    assert!(producer.prepare_to_wait(producer.max_data()));
    while {
        assert!(read(&mut consumer).is_some());
        !consumer.release()
    } {
        assert!(!producer.fits(producer.max_data()));
    }
    assert!(producer.fits(producer.max_data()));
}

#[test]
fn a_waiting_producer_is_woken_by_closing() {
    let (mut producer, mut consumer) = ring(CAPACITY_MIN);
    fill(&mut producer, 64);
    assert!(!producer.publish());
    assert!(producer.prepare_to_wait(64));
    assert!(consumer.close());
    assert!(!producer.prepare_to_wait(64));
    assert_eq!(producer.push(&Header::default(), b""), Err(Refused::Closed));
}

#[derive(Clone, Debug)]
enum Operation {
    Push(usize),
    /// Room for more bytes than are written in the end, if it is used at all.
    Reserve(usize, Option<usize>),
    Publish,
    Read,
    Release,
    Finish,
    Close,
}

fn operation(max_data: usize) -> impl Strategy<Value = Operation> {
    let len = || prop_oneof![4 => 0..200usize, 2 => 0..5000usize, 1 => 0..=max_data];
    let reservation = (len(), any::<proptest::sample::Index>(), any::<bool>())
        .prop_map(|(max, len, is_used)| Operation::Reserve(max, is_used.then(|| len.index(max + 1))));
    prop_oneof![
        200 => len().prop_map(Operation::Push),
        60 => reservation,
        60 => Just(Operation::Publish),
        230 => Just(Operation::Read),
        60 => Just(Operation::Release),
        1 => Just(Operation::Finish),
        1 => Just(Operation::Close),
    ]
}

/// What a ring should do.
#[derive(Default)]
struct Model {
    pushed: VecDeque<(Header, Vec<u8>)>,
    published: VecDeque<(Header, Vec<u8>)>,
    n_read_since_release: usize,
    is_finished: bool,
    is_closed: bool,
}

impl Model {
    /// What the producer may say to a record that it refused.
    fn allows(&self, refused: Refused) -> bool {
        match refused {
            Refused::NoRoom => self.pushed.len() + self.published.len() + self.n_read_since_release > 0,
            Refused::Finished => self.is_finished,
            Refused::Closed => self.is_closed,
            Refused::TooLong | Refused::Corrupt(_) => false,
        }
    }

    fn push(&mut self, result: Result<(), Refused>, header: Header, data: Vec<u8>) {
        match result {
            Ok(()) => {
                assert!(!self.is_finished, "a finished ring took a record");
                let wire_len = header.wire_len.max(data.len() as u32);
                self.pushed.push_back((Header { wire_len, ..header }, data));
            }
            Err(refused) => assert!(self.allows(refused), "{refused:?}"),
        }
    }
}

fn step(
    producer: &mut Producer,
    consumer: &mut Consumer,
    model: &mut Model,
    seed: u32,
    operation: Operation,
) {
    match operation {
        Operation::Push(len) => {
            let (header, data) = record(seed, len);
            let result = producer.push(&header, &data);
            model.push(result, header, data);
        }
        Operation::Reserve(max, len) => {
            let (header, data) = record(seed, len.unwrap_or_default());
            let reserved = producer.reserve(max).map(|mut room| {
                assert_eq!(room.sink().len(), max);
                room.sink().copy_from_slice(&data);
                if len.is_some() {
                    room.commit(&header, data.len());
                }
            });
            if len.is_some() || reserved.is_err() {
                model.push(reserved, header, data);
            }
        }
        Operation::Publish => {
            assert!(!producer.publish());
            model.published.append(&mut model.pushed);
        }
        Operation::Read => {
            let expected = model.published.pop_front();
            model.n_read_since_release += usize::from(expected.is_some());
            assert_eq!(read(consumer), expected);
        }
        Operation::Release => {
            assert!(!consumer.release());
            model.n_read_since_release = 0;
        }
        Operation::Finish => {
            assert!(!producer.finish());
            model.published.append(&mut model.pushed);
            model.is_finished = true;
        }
        Operation::Close => {
            assert!(!consumer.close());
            model.n_read_since_release = 0;
            model.is_closed = true;
        }
    }
    assert_eq!(consumer.is_finished(), model.is_finished && model.published.is_empty());
    assert!(producer.room() <= producer.capacity() && producer.pending_bytes() <= producer.capacity());
    assert_eq!(consumer.pending_bytes() == 0, model.published.is_empty());
}

/// Few runs in the interpreter Miri, which is slow.
fn n_cases() -> u32 {
    if cfg!(miri) {
        2
    } else {
        200
    }
}

proptest! {
    #![proptest_config(ProptestConfig { cases: n_cases(), failure_persistence: None, ..Default::default() })]
    #[test]
    fn random_operations_agree_with_a_queue(
        shift in 0..3u32,
        operations in proptest::collection::vec(operation(ring::max_data(CAPACITY_MIN)), 1..if cfg!(miri) { 40 } else { 800 }),
    ) {
        let (mut producer, mut consumer) = ring(CAPACITY_MIN << shift);
        let mut model = Model::default();
        for (seed, operation) in operations.into_iter().enumerate() {
            step(&mut producer, &mut consumer, &mut model, seed as u32, operation);
        }
    }
}
