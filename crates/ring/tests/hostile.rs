//! A neighbour that writes anything anywhere in the shared memory at any time.
#![cfg(not(miri))] // The memory files that stand for the other process are system calls.

use std::sync::atomic::{AtomicBool, AtomicU64, AtomicU8, Ordering};

use proptest::prelude::*;
use ring::{
    ends, max_data, pair_len, ring_len, Consumer, Header, Producer, Refused, Side, CAPACITY_MIN,
    PLAIN_HEADER_LEN,
};
use sys::memfd::Memfd;
use sys::region::Region;
use sys::vnet::VnetHeader;

const CAPACITY: usize = CAPACITY_MIN;

/// Both ends of the forward ring in mappings of their own, and a third mapping of the same bytes.
fn ring_and_bytes() -> (Producer, Consumer, Bytes) {
    let memory = Memfd::create("hostile", pair_len(CAPACITY).unwrap()).unwrap();
    let (producer, _) = ends(memory.map().unwrap(), CAPACITY, Side::First).unwrap();
    let (_, consumer) = ends(memory.map().unwrap(), CAPACITY, Side::Second).unwrap();
    (producer, consumer, Bytes(memory.map().unwrap()))
}

/// The shared memory as another process sees it.
struct Bytes(Region);

impl Bytes {
    fn word(&self, offset: usize) -> &AtomicU64 {
        assert!(offset.is_multiple_of(8) && offset < self.0.len());
        // SAFETY: inside the mapping, whose start and length are multiples of a page.
        unsafe { AtomicU64::from_ptr(self.0.as_ptr().add(offset).cast()) }
    }

    fn byte(&self, offset: usize) -> &AtomicU8 {
        assert!(offset < self.0.len());
        // SAFETY: inside the mapping.
        unsafe { AtomicU8::from_ptr(self.0.as_ptr().add(offset)) }
    }
}

/// Offsets of the producer's and the consumer's position.
const TAIL: usize = 0;
const HEAD: usize = 128;
/// Offset of the first record.
const DATA: usize = 4096;

/// Reads until there is nothing or an error; both must come soon.
fn drain(consumer: &mut Consumer) -> usize {
    let most = CAPACITY / PLAIN_HEADER_LEN;
    let mut private = vec![0; max_data(CAPACITY)];
    for n_records in 0..=most {
        if consumer.copy_plain(&mut private[..200]).is_some() {
            continue;
        }
        match consumer.next() {
            Ok(Some(record)) => assert_eq!(record.copy_into_slice(&mut private).len(), record.len()),
            Ok(None) => return n_records,
            Err(corrupt) => {
                assert_eq!(consumer.next().unwrap_err(), corrupt, "an error stays");
                assert!(!consumer.is_finished() && !consumer.prepare_to_wait_if_released());
                return n_records;
            }
        }
    }
    panic!("more records than the ring has room for");
}

trait Waiting {
    fn prepare_to_wait_if_released(&mut self) -> bool;
}

impl Waiting for Consumer {
    fn prepare_to_wait_if_released(&mut self) -> bool {
        let _ = self.release();
        self.prepare_to_wait()
    }
}

/// The header of a packet that is not plain.
const CUT_OFF: Header = Header {
    wire_len: 1500,
    timestamp_ns: 0,
    vnet: VnetHeader {
        flags: 0,
        gso_type: 0,
        hdr_len: 0,
        gso_size: 0,
        csum_start: 0,
        csum_offset: 0,
        num_buffers: 0,
    },
};

/// Records of an odd length are plain.
fn push(producer: &mut Producer, len: usize) -> bool {
    let header = if len % 2 == 1 { Header::default() } else { CUT_OFF };
    match producer.push(&header, &vec![7; len]) {
        Ok(()) => true,
        Err(Refused::NoRoom | Refused::Closed | Refused::Finished | Refused::Corrupt(_)) => false,
        Err(Refused::TooLong) => panic!("{len} bytes are not too long"),
    }
}

/// What a consumer says of a record of 100 bytes, which another spoils.
fn error_after(header: &Header, spoil: impl FnOnce(&Bytes)) -> String {
    let (mut producer, mut consumer, bytes) = ring_and_bytes();
    producer.push(header, &[7; 100]).unwrap();
    let _ = producer.publish();
    spoil(&bytes);
    consumer.next().unwrap_err().to_string()
}

#[test]
fn impossible_write_positions_are_told() {
    for tail in [CAPACITY as u64 + 16, u64::MAX, u64::MAX - 15, 144 + 8, 1] {
        let error = error_after(&Header::default(), |bytes| bytes.word(TAIL).store(tail, Ordering::Relaxed));
        assert!(error.contains(&format!("write position {tail}")), "{error}");
    }
}

#[test]
fn impossible_lengths_are_told() {
    for len in [113, max_data(CAPACITY) as u32, u32::MAX - 1, u32::MAX] {
        let word = u64::from(len) | (u64::from(len) << 32);
        for header in [Header::default(), CUT_OFF] {
            let error = error_after(&header, |bytes| bytes.word(DATA).store(word, Ordering::Relaxed));
            assert!(error.contains(&format!("cannot have {len} bytes")), "{error}");
        }
    }
    for len in [113, max_data(CAPACITY) as u64, (1 << 31) - 1] {
        let error = error_after(&Header::default(), |bytes| {
            let first = bytes.word(DATA).load(Ordering::Relaxed);
            bytes.word(DATA).store(first - 100 + len, Ordering::Relaxed);
        });
        assert!(error.contains(&format!("cannot have {len} bytes")), "{error}");
    }
}

#[test]
fn what_is_no_record_is_told() {
    let error = error_after(&CUT_OFF, |bytes| bytes.word(DATA + 24).store(0, Ordering::Relaxed));
    assert!(error.contains("no record at offset 0"), "{error}");
    let error = error_after(&CUT_OFF, |bytes| bytes.word(DATA).store(100 | 99 << 32, Ordering::Relaxed));
    assert!(error.contains("100 bytes, more than the 99 on the wire"), "{error}");
}

#[test]
fn impossible_read_positions_end_the_producer() {
    for head in [144 + 16, u64::MAX, u64::MAX - CAPACITY as u64] {
        let (mut producer, _, bytes) = ring_and_bytes();
        assert!(push(&mut producer, 100));
        let _ = producer.publish();
        bytes.word(HEAD).store(head, Ordering::Relaxed);
        let refused = loop {
            if let Err(refused) = producer.push(&Header::default(), &[7; 1000]) {
                break refused;
            }
        };
        assert!(refused.to_string().contains(&format!("read position {head}")), "{refused}");
        assert!(!producer.prepare_to_wait_if_published());
        assert_eq!(producer.push(&Header::default(), b""), Err(refused), "an error stays");
    }
}

trait Publishing {
    fn prepare_to_wait_if_published(&mut self) -> bool;
}

impl Publishing for Producer {
    fn prepare_to_wait_if_published(&mut self) -> bool {
        let _ = self.publish();
        self.prepare_to_wait(64)
    }
}

#[test]
fn ends_are_not_made_of_impossible_positions() {
    for (offset, position) in [(TAIL, 8), (TAIL, CAPACITY as u64 + 16), (HEAD, 16), (HEAD, 3)] {
        let memory = Memfd::create("hostile", pair_len(CAPACITY).unwrap()).unwrap();
        Bytes(memory.map().unwrap()).word(offset).store(position, Ordering::Relaxed);
        assert!(ends(memory.map().unwrap(), CAPACITY, Side::Second).is_err(), "{offset} {position}");
    }
}

#[derive(Clone, Debug)]
enum Operation {
    Push(usize),
    Publish,
    Drain,
    Release,
    WaitForData,
    WaitForRoom(usize),
    /// The neighbour writes a position, close to a good one.
    Position {
        is_tail: bool,
        change: i64,
    },
    Word(usize, u64),
    Byte(usize, u8),
    Flags(u64),
}

fn operation() -> impl Strategy<Value = Operation> {
    let len = || prop_oneof![3 => 0..300usize, 1 => 0..=max_data(CAPACITY)];
    let control = (0..64usize).prop_map(|word| word * 8);
    let word =
        prop_oneof![Just(u64::MAX), Just(0), any::<u64>(), (0..70_000u64).prop_map(|len| len | len << 32)];
    prop_oneof![
        10 => len().prop_map(Operation::Push),
        4 => Just(Operation::Publish),
        4 => Just(Operation::Drain),
        3 => Just(Operation::Release),
        1 => Just(Operation::WaitForData),
        1 => len().prop_map(Operation::WaitForRoom),
        1 => (any::<bool>(), -70_000..70_000i64)
            .prop_map(|(is_tail, change)| Operation::Position { is_tail, change: change / 8 * 8 }),
        1 => (control, word.clone()).prop_map(|(at, word)| Operation::Word(at, word)),
        2 => (0..CAPACITY / 8, word).prop_map(|(at, word)| Operation::Word(DATA + at * 8, word)),
        2 => (0..CAPACITY, any::<u8>()).prop_map(|(at, byte)| Operation::Byte(DATA + at, byte)),
        1 => any::<u64>().prop_map(Operation::Flags),
    ]
}

fn step(producer: &mut Producer, consumer: &mut Consumer, bytes: &Bytes, operation: Operation) {
    match operation {
        Operation::Push(len) => {
            push(producer, len);
        }
        Operation::Publish => drop(producer.publish()),
        Operation::Drain => drop(drain(consumer)),
        Operation::Release => drop(consumer.release()),
        Operation::WaitForData => drop(consumer.prepare_to_wait_if_released()),
        Operation::WaitForRoom(len) => {
            let _ = producer.publish();
            let _ = producer.prepare_to_wait(len);
        }
        Operation::Position { is_tail, change } => {
            let word = bytes.word(if is_tail { TAIL } else { HEAD });
            word.store(word.load(Ordering::Relaxed).wrapping_add_signed(change), Ordering::Relaxed);
        }
        Operation::Word(at, word) => bytes.word(at).store(word, Ordering::Relaxed),
        Operation::Byte(at, byte) => bytes.byte(at).store(byte, Ordering::Relaxed),
        Operation::Flags(flags) => [256, 384].map(|at| bytes.word(at)).into_iter().for_each(|word| {
            word.store(flags, Ordering::Relaxed);
        }),
    }
    assert!(consumer.pending_bytes() <= CAPACITY && producer.pending_bytes() <= CAPACITY);
    assert!(producer.room() <= CAPACITY);
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 300, failure_persistence: None, ..Default::default() })]
    #[test]
    fn random_writes_between_operations_do_no_harm(operations in proptest::collection::vec(operation(), 1..300)) {
        let (mut producer, mut consumer, bytes) = ring_and_bytes();
        for operation in operations {
            step(&mut producer, &mut consumer, &bytes, operation);
        }
        // What lies behind the forward ring belongs to the other one.
        let behind = ring_len(CAPACITY).unwrap();
        let is_untouched = (behind..bytes.0.len()).step_by(8).all(|at| bytes.word(at).load(Ordering::Relaxed) == 0);
        prop_assert!(is_untouched, "something was written beyond the ring");
    }
}

/// Numbers that look random (xorshift).
struct Numbers(u64);

impl Numbers {
    fn next(&mut self) -> u64 {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        self.0
    }
}

/// Writes words all over the ring, more often where they hurt.
fn scribble(bytes: &Bytes, numbers: &mut Numbers) {
    let (kind, number) = (numbers.next() % 8, numbers.next());
    match kind {
        0 => bytes.word(HEAD).store(number % (2 * CAPACITY as u64), Ordering::Relaxed),
        1 => bytes.word(TAIL).store((number % (2 * CAPACITY as u64)) & !15, Ordering::Relaxed),
        2 => bytes.word((number % 64 * 8) as usize).store(numbers.next(), Ordering::Relaxed),
        3 => bytes.word(DATA + ((number as usize % CAPACITY) & !7)).store(u64::MAX, Ordering::Relaxed),
        _ => bytes.byte(DATA + number as usize % CAPACITY).store(number as u8, Ordering::Relaxed),
    }
}

#[test]
fn a_neighbour_who_writes_meanwhile_does_no_harm() {
    for seed in 1..=1000 {
        let (mut producer, mut consumer, bytes) = ring_and_bytes();
        let is_done = AtomicBool::new(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15 ^ seed);
                while !is_done.load(Ordering::Relaxed) {
                    scribble(&bytes, &mut numbers);
                }
            });
            let mut numbers = Numbers(seed);
            for _ in 0..50 {
                let len = numbers.next() as usize % 2000;
                push(&mut producer, len);
                let _ = producer.publish();
                drain(&mut consumer);
                let _ = consumer.release();
            }
            is_done.store(true, Ordering::Relaxed);
        });
        let behind = ring_len(CAPACITY).unwrap();
        assert!((behind..bytes.0.len()).step_by(8).all(|at| bytes.word(at).load(Ordering::Relaxed) == 0));
    }
}
