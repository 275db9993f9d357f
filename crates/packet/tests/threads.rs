//! Packets that are cloned, written and dropped on several threads at once.

use std::sync::mpsc::channel;
use std::thread;

use packet::{Batch, Packet};

const ROUNDS: u32 = if cfg!(miri) { 8 } else { 2_000 };
/// Long enough that a clone shares its buffer instead of copying it.
const LEN: usize = 600;

#[test]
fn clones_on_other_threads_keep_what_they_were_made_of() {
    let (to_writers, writers): (Vec<_>, Vec<_>) = (0..2u8)
        .map(|mark| {
            let (sender, receiver) = channel::<(u32, Packet)>();
            let writer = thread::spawn(move || {
                for (round, mut packet) in receiver {
                    assert_eq!(packet.data()[..4], round.to_be_bytes());
                    packet.data_mut().fill(mark);
                    assert!(packet.data().iter().all(|&byte| byte == mark));
                }
            });
            (sender, writer)
        })
        .unzip();
    for round in 0..ROUNDS {
        let mut packet = Packet::zeroed(LEN);
        packet.data_mut()[..4].copy_from_slice(&round.to_be_bytes());
        for writer in &to_writers {
            writer.send((round, packet.clone())).expect("the writer lives");
        }
        if round % 2 == 0 {
            assert_eq!(packet.data()[..4], round.to_be_bytes());
            packet.data_mut().fill(7);
            assert!(packet.data().iter().all(|&byte| byte == 7));
        }
    }
    drop(to_writers);
    for writer in writers {
        writer.join().expect("the writer saw what it was sent");
    }
}

#[test]
fn slots_come_home_while_the_owner_takes_others() {
    let (sender, receiver) = channel::<Batch>();
    let dropper = thread::spawn(move || receiver.into_iter().map(|batch| batch.len()).sum::<usize>());
    let mut n_sent = 0;
    for round in 0..ROUNDS {
        let mut batch = Batch::new();
        let original = Packet::zeroed(LEN);
        original.clone_into(1 + round as usize % 5, &mut batch);
        batch.push(original);
        batch.push(Packet::zeroed(70_000));
        n_sent += batch.len();
        sender.send(batch).expect("the dropper lives");
    }
    drop(sender);
    assert_eq!(dropper.join().expect("the dropper does not panic"), n_sent);
    let stats = packet::stats();
    assert_eq!((stats.heap, stats.small_free), (0, stats.small_touched));
}

#[test]
fn a_new_thread_takes_over_the_slots_of_one_that_ended() {
    let kept = thread::spawn(|| Packet::from_bytes(b"kept")).join().expect("the thread does not panic");
    for _ in 0..4 {
        let seen = thread::spawn(|| (Packet::from_bytes(b"new"), packet::stats().small_touched));
        let (packet, n_touched) = seen.join().expect("the thread does not panic");
        assert!(n_touched >= 1);
        assert_eq!((packet.data(), kept.data()), (&b"new"[..], &b"kept"[..]));
    }
}

#[test]
fn memory_that_comes_back_from_another_thread_is_used_again() {
    const AT_ONCE: usize = 8;
    let (to_other, packets) = channel::<Packet>();
    let (to_own, freed) = channel::<()>();
    let other = thread::spawn(move || {
        for packet in packets {
            drop(packet);
            to_own.send(()).expect("the first thread waits");
        }
    });
    let before = packet::stats().small_touched;
    for _ in 0..if cfg!(miri) { 4 } else { 100 } {
        for _ in 0..AT_ONCE {
            to_other.send(Packet::from_bytes(&[1; 60])).expect("the other thread waits");
        }
        for _ in 0..AT_ONCE {
            freed.recv().expect("the other thread frees");
        }
    }
    let touched = packet::stats().small_touched - before;
    assert!(touched <= 2 * AT_ONCE, "{touched} slots for {AT_ONCE} packets at a time");
    drop(to_other);
    other.join().expect("the other thread ends well");
}
