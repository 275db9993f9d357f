//! Frames through a pipe of 1 MiB.

use std::io::{PipeReader, PipeWriter, Read, Write};
use std::os::fd::AsRawFd;

use crate::contest::{check, stamp, Contest};
use crate::process::Part;

pub fn ends() -> (Part, Part) {
    let (reader, writer) = std::io::pipe().expect("a pipe can be made");
    // SAFETY: F_SETPIPE_SZ takes an integer.
    let size = unsafe { libc::fcntl(writer.as_raw_fd(), libc::F_SETPIPE_SZ, 1 << 20) };
    assert_eq!(size, 1 << 20, "a pipe of 1 MiB is allowed");
    (Box::new(|contest| send(writer, contest)), Box::new(|contest| receive(reader, contest)))
}

fn send(mut writer: PipeWriter, contest: Contest) {
    let mut batch = vec![0x5a; contest.frame_len * contest.batch];
    let mut number = 0;
    for _ in 0..contest.n_batches {
        for frame in batch.chunks_exact_mut(contest.frame_len) {
            stamp(frame, number);
            number += 1;
        }
        writer.write_all(&batch).expect("the receiver reads");
    }
}

fn receive(mut reader: PipeReader, contest: Contest) {
    let mut batch = vec![0; contest.frame_len * contest.batch];
    let mut number = 0;
    for _ in 0..contest.n_batches {
        reader.read_exact(&mut batch).expect("the sender writes");
        for frame in batch.chunks_exact(contest.frame_len) {
            check(frame, number);
            number += 1;
        }
    }
}
