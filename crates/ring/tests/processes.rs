//! A reader gets every record that a writer published before it was killed, and knows a clean end from a death.

use std::io::{PipeReader, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use ring::{ends, pair_len, Consumer, Header, Producer, Refused, Side, CAPACITY_MIN};
use sys::memfd::Memfd;

const CAPACITY: usize = CAPACITY_MIN;
const N_KILLED: u64 = 60;
const N_CLEAN: u64 = 5000;

/// Numbers that look random: the same for the same start (splitmix).
fn mixed(number: u64) -> u64 {
    let mut z = number.wrapping_mul(0x9e37_79b9_7f4a_7c15).wrapping_add(0x7f4a_7c15);
    z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    z ^ (z >> 27)
}

/// The record with a number.
fn record(number: u64) -> (Header, Vec<u8>) {
    let len = mixed(number) % if number.is_multiple_of(50) { 9000 } else { 300 };
    let data = (0..len).map(|idx| mixed(number + idx) as u8).collect();
    (Header { timestamp_ns: number as i64, ..Header::default() }, data)
}

/// Writes records without end, or `N_CLEAN` and the end; standard output tells after each publishing how many there are.
fn write(memory: OwnedFd, ends_cleanly: bool) {
    let memory = Memfd::from_received(memory, usize::MAX >> 1).unwrap();
    let (mut producer, _) = ends(memory.map().unwrap(), CAPACITY, Side::First).unwrap();
    for number in 0.. {
        if ends_cleanly && number == N_CLEAN {
            let _ = producer.finish();
            return;
        }
        write_one(&mut producer, number);
        if mixed(number).is_multiple_of(16) {
            let _ = producer.publish();
            std::io::stdout().write_all(&(number as u32 + 1).to_ne_bytes()).unwrap();
            std::io::stdout().flush().unwrap();
        }
    }
}

fn write_one(producer: &mut Producer, number: u64) {
    let (header, data) = record(number);
    while let Err(refused) = producer.push(&header, &data) {
        assert_eq!(refused, Refused::NoRoom);
        let _ = producer.publish();
        std::thread::yield_now();
    }
}

/// Starts a writer; what it tells comes out of the pipe.
fn start(mode: &str) -> (Child, PipeReader, Consumer) {
    let memory = Memfd::create("test", pair_len(CAPACITY).unwrap()).unwrap();
    let (_, consumer) = ends(memory.map().unwrap(), CAPACITY, Side::Second).unwrap();
    let (told, tells) = std::io::pipe().unwrap();
    let child = Command::new(std::env::current_exe().unwrap())
        .arg(mode)
        .stdin(Stdio::from(memory.as_fd().try_clone_to_owned().unwrap()))
        .stdout(tells)
        .spawn()
        .unwrap();
    (child, told, consumer)
}

/// Reads and checks all there is.
fn read(consumer: &mut Consumer, number: &mut u64) {
    while let Some(found) = consumer.next().unwrap() {
        let mut data = vec![0; found.len()];
        found.copy_into_slice(&mut data);
        let (header, expected) = record(*number);
        assert!(data == expected, "record {number} arrives as it was written");
        assert_eq!(found.header.timestamp_ns, header.timestamp_ns);
        *number += 1;
        let _ = consumer.release();
    }
}

fn read_until(consumer: &mut Consumer, number: &mut u64, is_enough: impl Fn(&Consumer, u64) -> bool) {
    // Far more than it takes: a lost record is to fail, not to hang.
    let deadline = Instant::now() + Duration::from_secs(60);
    while !is_enough(consumer, *number) {
        read(consumer, number);
        std::thread::yield_now();
        assert!(Instant::now() < deadline, "only {number} records came");
    }
}

fn a_killed_writers_records_are_read(round: u64) {
    let (mut child, mut told, mut consumer) = start("writer");
    let mut number = 0;
    let n_before = mixed(round) % 3000;
    read_until(&mut consumer, &mut number, |_, n_read| n_read >= n_before);
    child.kill().unwrap();
    child.wait().unwrap();
    read(&mut consumer, &mut number);
    let mut told_numbers = Vec::new();
    told.read_to_end(&mut told_numbers).unwrap();
    let last = told_numbers.chunks_exact(4).next_back().map_or([0; 4], |last| last.try_into().unwrap());
    assert!(number >= u64::from(u32::from_ne_bytes(last)), "{number} read, but {last:?} published");
    assert_eq!(consumer.pending_bytes(), 0);
    assert!(!consumer.is_finished(), "a death is no clean end");
}

fn a_writer_that_ends_cleanly_is_read_to_the_end() {
    let (mut child, _told, mut consumer) = start("clean-writer");
    let mut number = 0;
    read_until(&mut consumer, &mut number, |consumer, _| consumer.is_finished());
    assert_eq!(number, N_CLEAN);
    assert!(child.wait().unwrap().success());
}

fn main() {
    let mode = std::env::args().nth(1).unwrap_or_default();
    if mode.ends_with("writer") {
        let memory = std::io::stdin().as_fd().try_clone_to_owned().unwrap();
        return write(memory, mode == "clean-writer");
    }
    a_writer_that_ends_cleanly_is_read_to_the_end();
    (0..N_KILLED).for_each(a_killed_writers_records_are_read);
    println!("test result: ok. {N_KILLED} writers were killed and all that they published was read");
}
