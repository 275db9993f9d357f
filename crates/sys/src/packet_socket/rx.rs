//! The receive ring of a packet socket (TPACKET_V3).

use std::cell::Cell;
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};

use super::{
    attach_filter, bind, block::Block, enable_vnet, ignore_outgoing, open_socket, take_error, Tx, TxOptions,
};
use crate::bpf::Program;
use crate::error::{Result, SysError};
use crate::region::Region;
use crate::{link, sockopt};

/// How packets are shared out among sockets on one device: by a symmetric hash of the flow.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FanOut {
    /// This socket sees every packet.
    Off,
    /// A new group; [`RxRing::fan_out_group`] tells its number.
    New,
    /// The group of that number, made by another socket with the same options.
    Join(u16),
}

/// How to open a ring.
#[derive(Clone, Debug)]
pub struct RxOptions {
    /// Bytes of a block, a power of two; a packet of 64 KiB needs 128 KiB.
    pub block_len: u32,
    pub n_blocks: u32,
    /// How long the kernel may hold back a block that is not full.
    pub retire_ms: u32,
    /// Whether packets to other stations are received as well.
    pub promiscuous: bool,
    /// Whether packets to all multicast groups are received, without being promiscuous.
    pub all_multicast: bool,
    /// Whether packets that this machine sends are received as well.
    pub outgoing: bool,
    /// Whether packets carry their offloaded work. Without it nobody tells which checksums are still to be completed,
    /// as they are in packets that this machine sent.
    pub vnet: bool,
    /// Bytes kept of a packet; the rest is not copied.
    pub snaplen: u32,
    pub filter: Option<Program>,
    pub fan_out: FanOut,
}

impl Default for RxOptions {
    fn default() -> Self {
        Self {
            block_len: 256 << 10,
            n_blocks: 16,
            retire_ms: 1,
            promiscuous: false,
            all_multicast: false,
            outgoing: false,
            vnet: true,
            snaplen: 262_144,
            filter: None,
            fan_out: FanOut::Off,
        }
    }
}

/// What the kernel counted for a ring.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Statistics {
    /// Packets that passed the filter, dropped ones included.
    pub n_packets: u64,
    /// Packets lost because every block was full.
    pub n_dropped: u64,
    /// How often the ring was found full.
    pub n_freezes: u64,
}

/// A ring of packets from one device. Register it for reading to wait; drain it before waiting.
#[derive(Debug)]
pub struct RxRing {
    socket: OwnedFd,
    ring: Region,
    device: String,
    block_len: usize,
    n_blocks: usize,
    next: usize,
    has_vnet: bool,
    /// What the device was asked to receive more.
    joined: Option<libc::c_int>,
    group: Option<u16>,
    statistics: Cell<Statistics>,
}

impl RxRing {
    /// Opens a ring on `device` and starts receiving.
    pub fn open(device: &str, options: &RxOptions) -> Result<Self> {
        Self::on_socket(open_socket(device)?, link::index(device)?, device, options)
    }

    /// As [`Self::open`], with a new socket of any network namespace and the device's number there.
    pub fn on_socket(socket: OwnedFd, index: u32, device: &str, options: &RxOptions) -> Result<Self> {
        let fd = socket.as_fd();
        set(fd, libc::PACKET_VERSION, &(TPACKET_V3 as libc::c_int), "PACKET_VERSION", device)?;
        if options.vnet {
            enable_vnet(fd, device)?;
        }
        if !options.outgoing {
            ignore_outgoing(fd, device)?;
        }
        // The ring has no limit of its own: the filter's result is the number of bytes to keep.
        let filter = options.filter.clone().unwrap_or_else(|| Program::accept_all(options.snaplen));
        attach_filter(fd, &filter.with_snaplen(options.snaplen), device)?;
        let ring = map_ring(fd, options, device)?;
        bind(fd, index, device, libc::ETH_P_ALL as u16)?;
        let joined = match (options.promiscuous, options.all_multicast) {
            (true, _) => Some(libc::PACKET_MR_PROMISC),
            (false, true) => Some(libc::PACKET_MR_ALLMULTI),
            (false, false) => None,
        };
        joined.map_or(Ok(()), |kind| join(fd, kind, index, device))?;
        let group = join_group(fd, options, device)?;
        Ok(Self {
            ring,
            device: device.into(),
            block_len: options.block_len as usize,
            n_blocks: options.n_blocks as usize,
            next: 0,
            has_vnet: options.vnet,
            joined,
            group,
            statistics: Cell::default(),
            socket,
        })
    }

    /// Goes on with the device that has the name now, in the calling thread's network namespace; it may be down. So do senders on the
    /// same socket. The kernel refuses that for a socket of a group.
    pub fn rebind(&self) -> Result<()> {
        let index = link::index(&self.device)?;
        bind(self.as_fd(), index, &self.device, libc::ETH_P_ALL as u16)?;
        self.joined.map_or(Ok(()), |kind| join(self.as_fd(), kind, index, &self.device))
    }

    /// The next block of packets if there is one. It goes back to the kernel when dropped.
    #[inline]
    pub fn poll_block(&mut self) -> Option<Block<'_>> {
        // `next` stays below the number of blocks, so the offset is inside the ring.
        let start = self.ring.as_ptr().wrapping_add(self.next * self.block_len);
        // SAFETY: block `next` of the ring that `self` keeps mapped; the borrow of `self` keeps it the only one.
        unsafe { Block::take(start, self.block_len, self.has_vnet, &mut self.next, self.n_blocks) }
    }

    /// The group that this socket shares its packets with.
    pub fn fan_out_group(&self) -> Option<u16> {
        self.group
    }

    /// What was counted since the ring was opened.
    pub fn statistics(&self) -> Result<Statistics> {
        let option = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // The kernel starts again from zero at each question.
        let new: libc::tpacket_stats_v3 =
            sockopt::get(self.as_fd(), option, "getsockopt(PACKET_STATISTICS)", &self.device)?;
        let before = self.statistics.get();
        let statistics = Statistics {
            n_packets: before.n_packets + u64::from(new.tp_packets),
            n_dropped: before.n_dropped + u64::from(new.tp_drops),
            n_freezes: before.n_freezes + u64::from(new.tp_freeze_q_cnt),
        };
        self.statistics.set(statistics);
        Ok(statistics)
    }

    /// A sender on the same socket. What it sends is not received by the ring, nor by its group.
    pub fn sender(&self, options: &TxOptions) -> Result<Tx> {
        let socket = self.socket.try_clone().map_err(|error| SysError::call("dup", &self.device, error))?;
        Tx::on_bound(socket, &self.device, &TxOptions { vnet: self.has_vnet, ..options.clone() })
    }

    /// Why the socket was reported closed: ask after such an event, or it is reported again at once.
    pub fn take_error(&self) -> Result<()> {
        take_error(self, &self.device)
    }
}

impl AsFd for RxRing {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

const TPACKET_V3: u32 = 2;
/// The kernel wants a frame length although blocks are filled back to back; it only has to divide a block.
const FRAME_LEN: u32 = 2048;

fn map_ring(socket: BorrowedFd<'_>, options: &RxOptions, device: &str) -> Result<Region> {
    let RxOptions { block_len, n_blocks, .. } = *options;
    let len = (block_len as usize)
        .checked_mul(n_blocks as usize)
        .filter(|&len| len > 0 && len <= u32::MAX as usize);
    let Some(len) = len.filter(|_| block_len.is_power_of_two() && block_len >= 4096) else {
        let value = format!("{n_blocks} x {block_len}");
        return Err(SysError::invalid(
            "ring",
            value,
            "needs blocks of a power of two of at least 4096 bytes, below 4 GiB",
        ));
    };
    let request = libc::tpacket_req3 {
        tp_block_size: block_len,
        tp_block_nr: n_blocks,
        tp_frame_size: FRAME_LEN,
        tp_frame_nr: block_len / FRAME_LEN * n_blocks,
        tp_retire_blk_tov: options.retire_ms,
        tp_sizeof_priv: 0,
        tp_feature_req_word: libc::TP_FT_REQ_FILL_RXHASH,
    };
    set(socket, libc::PACKET_RX_RING, &request, "PACKET_RX_RING", device)
        .map_err(|e| e.with_remedy(ring_remedy))?;
    Region::map(len, libc::MAP_SHARED | libc::MAP_POPULATE, Some(socket), device)
}

/// Has the device receive more, as long as the socket is open.
fn join(socket: BorrowedFd<'_>, kind: libc::c_int, index: u32, device: &str) -> Result<()> {
    let request =
        libc::packet_mreq { mr_ifindex: index as i32, mr_type: kind as u16, mr_alen: 0, mr_address: [0; 8] };
    set(socket, libc::PACKET_ADD_MEMBERSHIP, &request, "PACKET_ADD_MEMBERSHIP", device)
}

fn join_group(socket: BorrowedFd<'_>, options: &RxOptions, device: &str) -> Result<Option<u16>> {
    let (group, unique) = match options.fan_out {
        FanOut::Off => return Ok(None),
        FanOut::New => (0, libc::PACKET_FANOUT_FLAG_UNIQUEID),
        FanOut::Join(group) => (group, 0),
    };
    // The group receives in the place of its sockets, so what they ignore has to be said again.
    let ignored = if options.outgoing { 0 } else { libc::PACKET_FANOUT_FLAG_IGNORE_OUTGOING };
    let flags = unique | ignored;
    let request = (u32::from(group) | (libc::PACKET_FANOUT_HASH | flags) << 16) as libc::c_int;
    set(socket, libc::PACKET_FANOUT, &request, "PACKET_FANOUT", device)
        .map_err(|e| e.with_remedy(group_remedy))?;
    let option = (libc::SOL_PACKET, libc::PACKET_FANOUT);
    let joined: libc::c_int = sockopt::get(socket, option, "getsockopt(PACKET_FANOUT)", device)?;
    Ok(Some(joined as u16))
}

fn set<T: sockopt::Plain>(
    socket: BorrowedFd<'_>,
    option: libc::c_int,
    value: &T,
    call: &'static str,
    device: &str,
) -> Result<()> {
    sockopt::set(socket, (libc::SOL_PACKET, option), value, call, device)
}

fn ring_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ENOMEM => Some("ask for fewer or smaller blocks"),
        _ => None,
    }
}

fn group_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EINVAL | libc::EALREADY => Some("all sockets of a group need the same device and options"),
        libc::ENOSPC => Some("a group holds 256 sockets: use fewer threads"),
        _ => None,
    }
}
