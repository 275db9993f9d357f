//! A slot: a packet's metadata, and the buffer behind it.

use std::cell::Cell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::AtomicU32;

use crate::pool::Pool;
use crate::remote::Link;

/// Bytes of metadata before a slot's buffer.
pub(crate) const META: usize = 128;
/// Bytes of a small buffer: headroom, a 1500-byte frame and tailroom.
pub const SMALL_BUFFER: usize = 2048;
/// Bytes of a large buffer: headroom and 64 KiB with their headers.
pub const LARGE_BUFFER: usize = 66 * 1024;

/// A slot's metadata; the buffer follows it. The first cache line tells where the packet's bytes are, and holds the
/// annotations that most graphs use, such as destination address, paint and aggregate. These graphs do without the
/// second line.
#[repr(C, align(64))]
pub(crate) struct Meta {
    /// Packets that use the slot's buffer.
    pub refs: AtomicU32,
    pub class: Class,
    /// Only written by the packet that owns the slot.
    pub kinds: Cell<Kinds>,
    pub view: View,
    pub home: *const Pool,
}

// The first 24 bytes of annotations are in the first cache line.
const _: () = assert!(size_of::<Meta>() == META && std::mem::offset_of!(Meta, view.anno) == 64 - 24);

impl Deref for Meta {
    type Target = View;
    #[inline(always)]
    fn deref(&self) -> &View {
        &self.view
    }
}

impl DerefMut for Meta {
    #[inline(always)]
    fn deref_mut(&mut self) -> &mut View {
        &mut self.view
    }
}

/// What a packet is, in one byte each.
#[derive(Clone, Copy, Default)]
pub(crate) struct Kinds {
    pub packet_type: u8,
    pub offload_flags: u8,
    pub gso_type: u8,
}

/// The part of a slot's metadata that a clone takes over as it is.
#[derive(Clone, Copy)]
#[repr(C)]
pub(crate) struct View {
    /// The slot whose buffer holds the data.
    pub owner: *mut Meta,
    /// Where the data begins and ends, from the buffer's start on.
    pub offset: u32,
    pub end: u32,
    /// Where headers begin, from the buffer's start on.
    pub mac: u32,
    pub network: u32,
    pub transport: u32,
    /// Lowest offset from the buffer's start at which data has begun: a copy keeps the bytes from here on, so that a stripped header
    /// can be put back.
    pub low: u32,
    pub anno: [u8; 48],
    pub timestamp_ns: i64,
    pub gso_header_len: u16,
    pub gso_size: u16,
    pub checksum_start: u16,
    pub checksum_offset: u16,
    /// The slot of the packet that this one was first cloned from, or its own; only compared.
    pub family: *mut Meta,
    /// Bytes of the buffer that holds the data.
    pub cap: u32,
    /// The packet's place among those that it set out with.
    pub place: u32,
}

impl View {
    /// Where the buffer begins that holds the data.
    #[inline(always)]
    pub fn base(&self) -> *mut u8 {
        self.owner.cast::<u8>().wrapping_add(META)
    }

    /// Where the data begins.
    #[inline(always)]
    pub fn start(&self) -> *mut u8 {
        self.base().wrapping_add(self.offset as usize)
    }

    /// Bytes of data.
    #[inline(always)]
    pub fn len(&self) -> u32 {
        self.end - self.offset
    }
}

/// The size class of a slot.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(u8)]
pub(crate) enum Class {
    Small,
    Large,
    /// A slot of its own, from the heap.
    Heap,
}

/// Bytes of the slot's own buffer.
#[inline]
pub(crate) fn own_capacity(class: Class, cap: u32) -> u32 {
    match class {
        Class::Small => SMALL_BUFFER as u32,
        Class::Large => LARGE_BUFFER as u32,
        Class::Heap => cap,
    }
}

impl Link for Meta {
    unsafe fn set_below(this: *mut Meta, below: *mut Meta) {
        // SAFETY: the caller holds the only pointer to the slot.
        unsafe { (*this).view.family = below };
    }

    unsafe fn below(this: *mut Meta) -> *mut Meta {
        // SAFETY: the caller holds the only pointer to the slot.
        unsafe { (*this).view.family }
    }
}
