//! A byte ring in memory that two processes share and do not trust each other with.
//!
//! One [`Producer`] puts records of any length in, one [`Consumer`] takes them out. A record is a [`Header`] and data that
//! lies in one piece. Two rings, one each way, make a pair and fill one memory file: [`pair_len`] tells its size, and each
//! process makes its two ends with [`ends`]. Waking the other side is the caller's part: `publish`, `release` and their
//! like tell when it is due. A process that waits does this, and the other way round for a producer:
//!
//! ```text
//! loop {
//!     while let Some(record) = consumer.next()? { ... }
//!     if consumer.release() { wake the producer }
//!     if consumer.is_finished() { break }
//!     if consumer.prepare_to_wait() { sleep until woken; consumer.cancel_wait() }
//! }
//! ```
//!
//! This is one of the few crates with `unsafe`. Its invariants:
//! 1. A ring's control block and its `capacity` bytes of data lie inside the memory that the ring keeps alive.
//! 2. Capacity and a side's own position are local: what the other side wrote is loaded once, and checked against them
//!    before it is used. A position is used as an offset only modulo the capacity, and is a multiple of [`ALIGN`].
//! 3. Control words and headers are atomics. Data is copied with plain moves, of which the compiler is told to forget that
//!    source and copy are equal ([`copy`]), and nothing here decides anything by it.
//! 4. In one process, at most one producer and one consumer of a ring exist: [`ends`] takes the memory by value.
#![deny(unsafe_op_in_unsafe_fn)]

mod consumer;
mod control;
mod copy;
mod corrupt;
mod header;
mod layout;
mod memory;
mod prefetch;
mod producer;
mod record;
mod shared;

/// What `control.rs` is made of; its model test has another of this name.
mod atomic {
    pub use std::sync::atomic::{fence, AtomicU32, AtomicU64, Ordering};
}

pub use consumer::Consumer;
pub use corrupt::Corrupt;
pub use header::Header;
pub use layout::{
    capacity_of_pair, max_data, pair_len, ring_len, LayoutError, ALIGN, CAPACITY_MAX, CAPACITY_MIN, DATA_MAX,
    HEADER_LEN, PLAIN_HEADER_LEN,
};
pub use memory::{Heap, Memory};
pub use producer::{Producer, Refused, Room};
pub use record::Record;
pub use shared::{both_ends, ends, Side};
