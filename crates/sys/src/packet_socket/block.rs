//! One block of a receive ring: the packets that the kernel handed over together.

use std::marker::PhantomData;
use std::mem::offset_of;
use std::sync::atomic::{AtomicU32, Ordering};

use libc::{sockaddr_ll, tpacket3_hdr, tpacket_hdr_v1, tpacket_hdr_variant1};

use crate::vnet::{VnetHeader, BASIC_LEN};

/// Packets that belong to this process until the block is dropped; then the kernel fills it again.
#[derive(Debug)]
pub struct Block<'ring> {
    start: *const u8,
    len: usize,
    has_vnet: bool,
    /// Where the ring reads next; moved on when the block goes back.
    next: &'ring mut usize,
    n_blocks: usize,
    _ring: PhantomData<&'ring [u8]>,
}

// SAFETY: the pointer is to memory of the ring, which is borrowed; nothing about it belongs to one thread.
unsafe impl Send for Block<'_> {}

/// One packet, borrowed from its block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Frame<'block> {
    /// The packet from its Ethernet header on, perhaps cut short. A VLAN tag that the device took off is in `vlan`.
    pub data: &'block [u8],
    /// Bytes that the packet had.
    pub wire_len: u32,
    /// When it passed, since 1970.
    pub timestamp_ns: u64,
    /// Offloaded work, if the ring was opened with `vnet`.
    pub vnet: Option<VnetHeader>,
    /// Whether this machine sent it.
    pub outgoing: bool,
    /// The tag control information and the protocol (0x8100) of a VLAN tag that is no longer in `data`.
    pub vlan: Option<(u16, u16)>,
    /// The kernel's hash of the packet's flow, 0 if it computed none.
    pub hash: u32,
}

impl<'ring> Block<'ring> {
    /// The block at `start` if it belongs to user space.
    ///
    /// # Safety
    /// `start` must be the start of block `*next` of `n_blocks` blocks of `len` bytes each in a mapped TPACKET_V3 ring
    /// that outlives `'ring`, and no other `Block` of it may live.
    pub(super) unsafe fn take(
        start: *const u8,
        len: usize,
        has_vnet: bool,
        next: &'ring mut usize,
        n_blocks: usize,
    ) -> Option<Self> {
        // SAFETY: the block starts with its descriptor; the kernel aligns blocks to pages. The load pairs with the
        // kernel's barrier before it hands the block over.
        let status = unsafe { &*start.add(STATUS).cast::<AtomicU32>() }.load(Ordering::Acquire);
        let ours = status & libc::TP_STATUS_USER != 0;
        // Not made unless it is ours: dropping one gives it to the kernel and moves on.
        ours.then(|| Self { start, len, has_vnet, next, n_blocks, _ring: PhantomData })
    }

    /// The packets in the order of their arrival.
    pub fn frames(&self) -> Frames<'_> {
        let bytes = self.bytes();
        Frames {
            bytes,
            at: read_u32(bytes, FIRST).unwrap_or(0) as usize,
            n_left: self.n_frames(),
            has_vnet: self.has_vnet,
        }
    }

    /// How many packets there are; a block that timed out may hold none.
    pub fn n_frames(&self) -> usize {
        read_u32(self.bytes(), N_PACKETS).unwrap_or(0) as usize
    }

    fn bytes(&self) -> &[u8] {
        // SAFETY: while the status word says "user", the kernel leaves the block alone, and `take` promised its bounds.
        unsafe { std::slice::from_raw_parts(self.start, self.len) }
    }
}

impl<'block> IntoIterator for &'block Block<'_> {
    type Item = Frame<'block>;
    type IntoIter = Frames<'block>;

    fn into_iter(self) -> Frames<'block> {
        self.frames()
    }
}

impl Drop for Block<'_> {
    fn drop(&mut self) {
        *self.next = (*self.next + 1) % self.n_blocks;
        // SAFETY: as in `take`; no slice of the block is alive, as they borrow `self`. Release: our reads come before.
        unsafe { &*self.start.add(STATUS).cast::<AtomicU32>() }
            .store(libc::TP_STATUS_KERNEL, Ordering::Release);
    }
}

/// Iterates over the packets of a block.
#[derive(Clone, Debug)]
pub struct Frames<'block> {
    bytes: &'block [u8],
    at: usize,
    n_left: usize,
    has_vnet: bool,
}

impl<'block> Iterator for Frames<'block> {
    type Item = Frame<'block>;

    fn next(&mut self) -> Option<Frame<'block>> {
        self.n_left = self.n_left.checked_sub(1)?;
        let header = self.bytes.get(self.at..)?;
        let frame = parse(header, self.has_vnet);
        match read_u32(header, offset_of!(tpacket3_hdr, tp_next_offset)) {
            Some(step) if step > 0 => self.at = self.at.saturating_add(step as usize),
            _ => self.n_left = 0,
        }
        frame
    }

    fn size_hint(&self) -> (usize, Option<usize>) {
        (0, Some(self.n_left))
    }
}

/// `struct tpacket_block_desc`: version and offset, 4 bytes each, then the header of version 1.
const DESCRIPTOR: usize = 8;
const STATUS: usize = DESCRIPTOR + offset_of!(tpacket_hdr_v1, block_status);
const N_PACKETS: usize = DESCRIPTOR + offset_of!(tpacket_hdr_v1, num_pkts);
const FIRST: usize = DESCRIPTOR + offset_of!(tpacket_hdr_v1, offset_to_first_pkt);

/// The link-layer address follows the packet's header, aligned to 16.
const ADDRESS: usize = size_of::<tpacket3_hdr>().next_multiple_of(16);

fn parse(header: &[u8], has_vnet: bool) -> Option<Frame<'_>> {
    let word = |offset| read_u32(header, offset);
    let variant = |offset| offset_of!(tpacket3_hdr, hv1) + offset;
    let start = usize::from(read_u16(header, offset_of!(tpacket3_hdr, tp_mac))?);
    let len = word(offset_of!(tpacket3_hdr, tp_snaplen))? as usize;
    let status = word(offset_of!(tpacket3_hdr, tp_status))?;
    let seconds = u64::from(word(offset_of!(tpacket3_hdr, tp_sec))?);
    let nanoseconds = u64::from(word(offset_of!(tpacket3_hdr, tp_nsec))?);
    let vlan = if status & libc::TP_STATUS_VLAN_VALID != 0 {
        let tci = word(variant(offset_of!(tpacket_hdr_variant1, tp_vlan_tci)))? as u16;
        let tpid = read_u16(header, variant(offset_of!(tpacket_hdr_variant1, tp_vlan_tpid)))?;
        Some((tci, if status & libc::TP_STATUS_VLAN_TPID_VALID != 0 { tpid } else { 0x8100 }))
    } else {
        None
    };
    let vnet = if has_vnet {
        let bytes = header.get(start.checked_sub(BASIC_LEN)?..)?.first_chunk()?;
        Some(VnetHeader::from_basic_bytes(bytes))
    } else {
        None
    };
    Some(Frame {
        data: header.get(start..start.checked_add(len)?)?,
        wire_len: word(offset_of!(tpacket3_hdr, tp_len))?,
        timestamp_ns: seconds.wrapping_mul(1_000_000_000).wrapping_add(nanoseconds),
        vnet,
        outgoing: *header.get(ADDRESS + offset_of!(sockaddr_ll, sll_pkttype))? == libc::PACKET_OUTGOING,
        vlan,
        hash: word(variant(offset_of!(tpacket_hdr_variant1, tp_rxhash)))?,
    })
}

#[inline]
fn read_u32(bytes: &[u8], offset: usize) -> Option<u32> {
    bytes.get(offset..)?.first_chunk().map(|b| u32::from_ne_bytes(*b))
}

#[inline]
fn read_u16(bytes: &[u8], offset: usize) -> Option<u16> {
    bytes.get(offset..)?.first_chunk().map(|b| u16::from_ne_bytes(*b))
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Takes the first block of a ring of four whose status word is `status`; where the ring reads next and the status, after the
    /// block went back.
    fn take_first(status: u32) -> (bool, usize, u32) {
        const N_BLOCKS: usize = 4;
        const LEN: usize = 64;
        let mut ring = [0u64; N_BLOCKS * LEN / size_of::<u64>()];
        let start = ring.as_mut_ptr().cast::<u8>();
        let mut next = 0;
        // SAFETY: `start` is that of block 0 of `N_BLOCKS` blocks of `LEN` bytes, and longer than its status word, which is
        // aligned to 4; nobody else has a block of this ring.
        let was_taken = unsafe {
            start.add(STATUS).cast::<u32>().write(status);
            Block::take(start, LEN, false, &mut next, N_BLOCKS).is_some()
        };
        // SAFETY: as above; the block is dropped.
        (was_taken, next, unsafe { start.add(STATUS).cast::<u32>().read() })
    }

    #[test]
    fn looking_at_a_block_that_is_not_finished_leaves_it_to_be_read_next() {
        const UNKNOWN_TO_US: u32 = 1 << 5;
        assert_eq!(take_first(libc::TP_STATUS_KERNEL), (false, 0, libc::TP_STATUS_KERNEL));
        assert_eq!(take_first(UNKNOWN_TO_US), (false, 0, UNKNOWN_TO_US));
        let finished = libc::TP_STATUS_USER | libc::TP_STATUS_BLK_TMO;
        assert_eq!(take_first(finished), (true, 1, libc::TP_STATUS_KERNEL));
    }

    proptest! {
        #[test]
        fn no_block_contents_panic_or_hang(
            mut bytes in proptest::collection::vec(any::<u8>(), 0..400),
            small in proptest::collection::vec(0u32..200, 4),
            n_packets in 0u32..1000,
            has_vnet: bool,
        ) {
            // Plausible offsets, so that some packets are found in the noise.
            let mac = offset_of!(tpacket3_hdr, tp_mac);
            for (offset, value) in [(0, small[0]), (mac, small[1]), (offset_of!(tpacket3_hdr, tp_snaplen), small[2])] {
                if let Some(place) = bytes.get_mut(offset..offset + 4) {
                    place.copy_from_slice(&value.to_ne_bytes());
                }
            }
            let frames = Frames { bytes: &bytes, at: small[3] as usize % 64, n_left: n_packets as usize, has_vnet };
            for frame in frames {
                prop_assert!(frame.data.len() <= bytes.len());
            }
        }
    }
}
