//! Packets, batches and the pools they live in.
//!
//! A [`Packet`] is one pointer to a slot of a pool: 128 bytes of metadata (length, header offsets, annotations), then the
//! buffer with headroom, data and tailroom. A clone takes a slot of its own for its metadata and shares the buffer of the
//! original until one of the two is written; the copy then goes into the clone's own, so far unused, buffer, or into another slot
//! where that buffer is too small or it is the original that is written.
//!
//! This is one of the few crates with `unsafe`. Its invariants:
//! 1. A `Packet` owns its slot: no two `Packet`s point to one slot.
//! 2. `owner` points to the slot whose buffer holds the data; that slot's `refs` counts the packets that use the buffer,
//!    and the slot is not reused while `refs > 0`.
//! 3. `offset <= end <= cap`, counted from the start of the owner's buffer, which follows its metadata.
//! 4. Buffers are initialised memory from the start (zeroed mapping or zeroed allocation).
//! 5. A slot in a free list has `refs` 0, and `home` and `class` as they must be.
#![deny(unsafe_op_in_unsafe_fn)]

mod annotations;
mod batch;
mod headers;
mod many;
mod offload;
mod packet;
mod pool;
mod region;
mod remote;
mod ring;
mod sharing;
mod slot;

/// What `remote.rs` is made of; its model test has another of this name.
mod atomic {
    pub use std::sync::atomic::{AtomicPtr, Ordering};
}

pub use annotations::PacketType;
pub use batch::{Batch, BATCH_MAX};
pub use many::FRAME_MAX;
pub use offload::{Gso, Offload};
pub use packet::{Packet, DEFAULT_HEADROOM};
pub use pool::{install, stats, PoolError, PoolStats};
pub use region::{Anonymous, Region};
pub use ring::Ring;
pub use slot::{LARGE_BUFFER, SMALL_BUFFER};

/// Offsets into the annotation area, with Click's meanings and sizes.
pub mod annotation {
    /// Destination IPv4 address, 4 bytes, network order.
    pub const DST_IP: usize = 0;
    /// Destination IPv6 address, 16 bytes.
    pub const DST_IP6: usize = 0;
    /// Paint colour, 1 byte.
    pub const PAINT: usize = 16;
    /// Offset of the field that an ICMP parameter problem names, 1 byte.
    pub const ICMP_PARAMPROB: usize = 17;
    /// Whether `FixIPSrc` shall set the source address, 1 byte.
    pub const FIX_IP_SRC: usize = 19;
    /// VLAN tag control information, 2 bytes, network order.
    pub const VLAN_TCI: usize = 20;
    /// Aggregate number, 4 bytes, host order.
    pub const AGGREGATE: usize = 20;
    /// Forward rate, 4 bytes, host order.
    pub const FWD_RATE: usize = 20;
    /// An IPv4 address for any use, 4 bytes, network order.
    pub const MISC_IP: usize = 20;
    /// How many packets this one stands for besides itself, 4 bytes, host order.
    pub const EXTRA_PACKETS: usize = 24;
    /// Reverse rate, 4 bytes, host order.
    pub const REV_RATE: usize = 24;
    /// Bytes on the wire beyond the packet's data, 4 bytes, host order.
    pub const EXTRA_LENGTH: usize = 28;
    /// First timestamp of an aggregate, 8 bytes: nanoseconds, host order.
    pub const FIRST_TIMESTAMP: usize = 32;
    /// Packet number, 4 bytes, host order.
    pub const PACKET_NUMBER: usize = 32;
    /// Sequence number, 4 bytes, host order.
    pub const SEQUENCE_NUMBER: usize = 36;
    /// Performance counter, 8 bytes, host order.
    pub const PERFCTR: usize = 40;
    /// Size of the annotation area in bytes.
    pub const SIZE: usize = 48;
}
