//! A multibit trie whose slots hold the answer or the next node.
//!
//! Prefixes of up to 8 bits sit in a table of their own, which answers for addresses the trie has nothing for: a change
//! of the default route then writes 256 slots, not the whole trie. Below, a root of 2^16 slots leads to nodes of
//! 2^STRIDE slots. A prefix is written to every slot it covers and no longer prefix owns (leaf pushing), so a lookup
//! never looks back. A node whose slots became equal is folded into its parent's slot.

use super::prefix::{Address, Prefix};

/// Largest value that a slot has room for.
pub const MAX_VALUE: u32 = VALUE;

/// What a batch lookup reports for an address without a route.
pub const NO_ROUTE: u32 = u32::MAX;

/// Slot: 1 bit "node" and 31 bits of its number, or 8 bits of the owner's length and 23 bits of value; 0 is empty.
const NODE: u32 = 1 << 31;
const VALUE_BITS: u32 = 23;
const VALUE: u32 = (1 << VALUE_BITS) - 1;
const EMPTY: u32 = 0;

const SHORT_BITS: u32 = 8;
const ROOT_BITS: u32 = 16;
const ROOT_SLOTS: usize = 1 << ROOT_BITS;

/// Addresses walked together by a batch lookup: enough to overlap cache misses.
const CHUNK: usize = 32;

/// From addresses to the values of their longest prefixes; a node is `STRIDE` bits deep.
pub struct Trie<A, const STRIDE: u32> {
    /// Owners of up to 8 bits; the length field is one more than the length, so that a slot of 0 stays empty.
    short: Box<[u32; 1 << SHORT_BITS]>,
    /// Empty until a prefix of more than 8 bits arrives. Zeroed by the allocator, which hands out pages untouched.
    root: Vec<u32>,
    nodes: Vec<u32>,
    free: Vec<u32>,
    address: std::marker::PhantomData<A>,
}

impl<A: Address, const STRIDE: u32> Trie<A, STRIDE> {
    const NODE_SLOTS: usize = 1 << STRIDE;

    pub fn new() -> Self {
        Trie {
            short: Box::new([EMPTY; 1 << SHORT_BITS]),
            root: Vec::new(),
            nodes: Vec::new(),
            free: Vec::new(),
            address: std::marker::PhantomData,
        }
    }

    /// Bytes of memory reserved, of which the operating system provides what was written.
    pub fn memory(&self) -> usize {
        let n_slots = self.short.len() + self.root.capacity() + self.nodes.capacity() + self.free.capacity();
        n_slots * size_of::<u32>()
    }

    #[inline(always)]
    pub fn lookup(&self, addr: A) -> Option<u32> {
        let slot = self.root.get(Self::root_idx(addr)).copied().unwrap_or(EMPTY);
        let mut shift = (A::BITS - ROOT_BITS).wrapping_sub(STRIDE);
        // The first two levels and the table of short prefixes are read without a branch that depends on the route found:
        // addresses come in no order that a processor could guess.
        let below = if slot & NODE != 0 { Self::slot_idx(slot, addr, shift) } else { 0 };
        let below = self.nodes.get(below).copied().unwrap_or(EMPTY);
        let mut slot = if slot & NODE != 0 { below } else { slot };
        while slot & NODE != 0 {
            shift = shift.wrapping_sub(STRIDE);
            slot = self.nodes.get(Self::slot_idx(slot, addr, shift)).copied().unwrap_or(EMPTY);
        }
        let short = self.short_slot(addr);
        let slot = if slot == EMPTY { short } else { slot };
        (slot != EMPTY).then_some(slot & VALUE)
    }

    pub fn lookup_batch(&self, addrs: &[A], out: &mut [u32]) {
        // At most three reads: measured, the processor overlaps separate lookups better than the walk by levels does.
        if A::BITS - ROOT_BITS <= 2 * STRIDE {
            for (addr, out) in addrs.iter().zip(out) {
                *out = self.lookup(*addr).unwrap_or(NO_ROUTE);
            }
            return;
        }
        for (addrs, out) in addrs.chunks(CHUNK).zip(out.chunks_mut(CHUNK)) {
            self.lookup_chunk(addrs, out);
        }
    }

    /// Writes `leaf` to whatever `prefix` covers and no longer prefix owns.
    pub fn paint(&mut self, prefix: Prefix<A>, leaf: Leaf) {
        let len = u32::from(prefix.bits());
        if len <= SHORT_BITS {
            let first = prefix.addr().bits_from(A::BITS - SHORT_BITS);
            let n_slots = 1 << (SHORT_BITS - len);
            let leaf = leaf.slot(1);
            for slot in self.short.iter_mut().skip(first).take(n_slots) {
                if owner_len(*slot) <= len + 1 {
                    *slot = leaf;
                }
            }
            return;
        }
        let leaf = leaf.slot(0);
        if self.root.is_empty() {
            self.root = vec![EMPTY; ROOT_SLOTS];
        }
        let first = Self::root_idx(prefix.addr());
        if len > ROOT_BITS {
            let slot = self.root.get(first).copied().unwrap_or(EMPTY);
            let painted = self.paint_below(slot, ROOT_BITS, prefix, leaf);
            put(&mut self.root, first, painted);
            return;
        }
        for idx in first..first + (1 << (ROOT_BITS - len)) {
            let slot = self.root.get(idx).copied().unwrap_or(EMPTY);
            let painted = self.paint_all(slot, len, leaf);
            put(&mut self.root, idx, painted);
        }
    }

    #[inline(always)]
    fn lookup_chunk(&self, addrs: &[A], out: &mut [u32]) {
        let mut any = 0;
        for (addr, out) in addrs.iter().zip(out.iter_mut()) {
            *out = self.root.get(Self::root_idx(*addr)).copied().unwrap_or(EMPTY);
            any |= *out;
        }
        let mut shift = A::BITS - ROOT_BITS;
        while any & NODE != 0 {
            shift = shift.wrapping_sub(STRIDE);
            any = 0;
            for (addr, out) in addrs.iter().zip(out.iter_mut()) {
                // Which level answers cannot be predicted, so a finished address reads slot 0 and ignores it.
                let unfinished = 0u32.wrapping_sub(*out >> 31);
                let idx = Self::slot_idx(*out, *addr, shift) & unfinished as i32 as usize;
                let slot = self.nodes.get(idx).copied().unwrap_or(EMPTY);
                *out = (slot & unfinished) | (*out & !unfinished);
                any |= *out;
            }
        }
        for (addr, out) in addrs.iter().zip(out.iter_mut()) {
            let short = self.short_slot(*addr);
            let slot = if *out == EMPTY { short } else { *out };
            *out = if slot == EMPTY { NO_ROUTE } else { slot & VALUE };
        }
    }

    /// Paints `prefix` in the subtree under `slot`, which stands for its first `depth` bits; returns the new slot.
    fn paint_below(&mut self, slot: u32, depth: u32, prefix: Prefix<A>, leaf: u32) -> u32 {
        let len = u32::from(prefix.bits());
        let node = if slot & NODE != 0 { slot } else { self.grow(slot) };
        let child_depth = depth + STRIDE;
        let first = Self::slot_idx(node, prefix.addr(), A::BITS.saturating_sub(child_depth));
        if len > child_depth {
            let child = self.nodes.get(first).copied().unwrap_or(EMPTY);
            let painted = self.paint_below(child, child_depth, prefix, leaf);
            put(&mut self.nodes, first, painted);
        } else {
            for idx in first..first + (1 << (child_depth - len)) {
                let child = self.nodes.get(idx).copied().unwrap_or(EMPTY);
                let painted = self.paint_all(child, len, leaf);
                put(&mut self.nodes, idx, painted);
            }
        }
        self.fold(node)
    }

    /// Paints everything under `slot` that a prefix of at most `len` bits owns; returns the new slot.
    fn paint_all(&mut self, slot: u32, len: u32, leaf: u32) -> u32 {
        if slot & NODE == 0 {
            return if owner_len(slot) <= len { leaf } else { slot };
        }
        let first = Self::first_idx(slot);
        for idx in first..first + Self::NODE_SLOTS {
            let child = self.nodes.get(idx).copied().unwrap_or(EMPTY);
            let painted = self.paint_all(child, len, leaf);
            put(&mut self.nodes, idx, painted);
        }
        self.fold(slot)
    }

    /// A new node, all of whose slots are `slot`.
    fn grow(&mut self, slot: u32) -> u32 {
        if let Some(node) = self.free.pop() {
            let first = Self::first_idx(node);
            if let Some(slots) = self.nodes.get_mut(first..first + Self::NODE_SLOTS) {
                slots.fill(slot);
            }
            return node;
        }
        let node = (self.nodes.len() >> STRIDE) as u32 | NODE;
        self.nodes.resize(self.nodes.len() + Self::NODE_SLOTS, slot);
        node
    }

    /// Replaces a node of equal leaves by the leaf; returns what its parent's slot must hold.
    fn fold(&mut self, node: u32) -> u32 {
        let first = Self::first_idx(node);
        match self.nodes.get(first..first + Self::NODE_SLOTS) {
            Some([leaf, rest @ ..]) if leaf & NODE == 0 && rest.iter().all(|slot| slot == leaf) => {
                let leaf = *leaf;
                self.free.push(node);
                leaf
            }
            _ => node,
        }
    }

    #[inline(always)]
    fn short_slot(&self, addr: A) -> u32 {
        self.short.get(addr.bits_from(A::BITS - SHORT_BITS)).copied().unwrap_or(EMPTY)
    }

    #[inline(always)]
    fn root_idx(addr: A) -> usize {
        addr.bits_from(A::BITS - ROOT_BITS)
    }

    #[inline(always)]
    fn first_idx(node: u32) -> usize {
        ((node & !NODE) as usize) << STRIDE
    }

    #[inline(always)]
    fn slot_idx(node: u32, addr: A, shift: u32) -> usize {
        Self::first_idx(node) | (addr.bits_from(shift) & (Self::NODE_SLOTS - 1))
    }
}

/// What painting writes.
#[derive(Clone, Copy)]
pub enum Leaf {
    Empty,
    Route { len: u8, value: u32 },
}

impl Leaf {
    fn slot(self, len_offset: u32) -> u32 {
        match self {
            Leaf::Empty => EMPTY,
            Leaf::Route { len, value } => (u32::from(len) + len_offset) << VALUE_BITS | (value & VALUE),
        }
    }
}

/// Length field of a slot that is no node; 0 if it is empty.
fn owner_len(slot: u32) -> u32 {
    slot >> VALUE_BITS
}

fn put(slots: &mut [u32], idx: usize, value: u32) {
    if let Some(slot) = slots.get_mut(idx) {
        *slot = value;
    }
}
