//! The queue of a packet socket: every packet is told of at once, and copied only once, to where it goes.

use std::cell::Cell;
use std::mem::{size_of, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{bind, enable_vnet, grow_buffer, ignore_outgoing};
use crate::error::{check_io, Result};
use crate::sockopt;
use crate::span::Sink;
use crate::tap::Received;
use crate::vnet::{VnetHeader, BASIC_LEN};

/// Receives packets from one device, those that this machine sends left out. Register it for reading to wait.
#[derive(Debug)]
pub struct RxQueue {
    socket: OwnedFd,
    device: String,
    n_dropped: Cell<u64>,
}

/// Where the kernel puts what it tells besides the packet.
#[repr(C, align(8))]
struct Control([u8; CONTROL_LEN]);

const CONTROL_LEN: usize = 64;
/// Where a VLAN tag is in a packet: behind both addresses.
const TAG_AT: usize = 12;
const TAG_LEN: usize = 4;

impl RxQueue {
    /// Binds a new socket of any network namespace to the device of number `index` there. Packets of `room` bytes may wait, as the
    /// kernel counts them, or as many as it allows.
    pub fn on_socket(socket: OwnedFd, index: u32, device: &str, room: u32) -> Result<Self> {
        let fd = socket.as_fd();
        enable_vnet(fd, device)?;
        ignore_outgoing(fd, device)?;
        let option = (libc::SOL_PACKET, libc::PACKET_AUXDATA);
        sockopt::set(fd, option, &1, "setsockopt(PACKET_AUXDATA)", device)?;
        grow_buffer(fd, (libc::SO_RCVBUFFORCE, libc::SO_RCVBUF), room, device)?;
        bind(fd, index, device, libc::ETH_P_ALL as u16)?;
        Ok(Self { socket, device: device.into(), n_dropped: Cell::default() })
    }

    /// Packets lost so far because the queue was full, or because virtio-net has no words for what is left to be done to them.
    pub fn n_dropped(&self) -> Result<u64> {
        let option = (libc::SOL_PACKET, libc::PACKET_STATISTICS);
        // The kernel starts again from zero at each question.
        let new: libc::tpacket_stats =
            sockopt::get(self.as_fd(), option, "getsockopt(PACKET_STATISTICS)", &self.device)?;
        self.n_dropped.set(self.n_dropped.get() + u64::from(new.tp_drops));
        Ok(self.n_dropped.get())
    }

    /// Reads one packet into `buf`; `None` if there is none now. A VLAN tag is where it was on the wire.
    pub fn recv<'b>(&self, buf: impl Into<Sink<'b>>) -> Result<Option<Received>> {
        let mut buf = buf.into();
        loop {
            match self.recv_now(&mut buf) {
                // The kernel has thrown away a packet that the header cannot express, such as SCTP that is still to be segmented.
                Err(error) if error.errno() == Some(libc::EINVAL) => self.n_dropped.update(|n| n + 1),
                other => return other,
            }
        }
    }

    fn recv_now(&self, buf: &mut Sink<'_>) -> Result<Option<Received>> {
        let mut header = [0u8; BASIC_LEN];
        let mut control = Control([0; CONTROL_LEN]);
        let mut parts =
            [libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: BASIC_LEN }, buf.iovec()];
        // SAFETY: a msghdr of zeros is valid: no name, no parts, no control.
        let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
        (message.msg_control, message.msg_controllen) = (control.0.as_mut_ptr().cast(), CONTROL_LEN as _);
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: the parts and the control buffer are writable, distinct and of the lengths given.
        let n_read = unsafe { libc::recvmsg(self.socket.as_raw_fd(), &mut message, flags) };
        let Some(n_read) = check_io(n_read, "recvmsg", &self.device)? else { return Ok(None) };
        let len = n_read.saturating_sub(BASIC_LEN);
        let received = Received {
            vnet: VnetHeader::from_basic_bytes(&header),
            len: len.min(buf.len()),
            truncated: len > buf.len(),
        };
        Ok(Some(match tag_of(&message) {
            Some(tag) => put_back(tag, received, buf),
            None => received,
        }))
    }
}

impl AsFd for RxQueue {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// The VLAN tag that the device took off.
fn tag_of(message: &libc::msghdr) -> Option<[u8; TAG_LEN]> {
    // SAFETY: the kernel filled the control buffer of this header, or left it empty.
    let first = unsafe { libc::CMSG_FIRSTHDR(message).as_ref() }?;
    let needed = size_of::<libc::cmsghdr>() + size_of::<libc::tpacket_auxdata>();
    let is_told = (first.cmsg_level, first.cmsg_type) == (libc::SOL_PACKET, libc::PACKET_AUXDATA);
    if !is_told || (first.cmsg_len as usize) < needed {
        return None;
    }
    // SAFETY: the message is as long as such a structure, which is integers only.
    let told = unsafe { libc::CMSG_DATA(first).cast::<libc::tpacket_auxdata>().read_unaligned() };
    if told.tp_status & libc::TP_STATUS_VLAN_VALID == 0 {
        return None;
    }
    let has_protocol = told.tp_status & libc::TP_STATUS_VLAN_TPID_VALID != 0;
    let protocol = if has_protocol { told.tp_vlan_tpid } else { libc::ETH_P_8021Q as u16 };
    let ([a, b], [c, d]) = (protocol.to_be_bytes(), told.tp_vlan_tci.to_be_bytes());
    Some([a, b, c, d])
}

/// Puts a tag back where it was; the packet is cut if that leaves no room for its end.
fn put_back(tag: [u8; TAG_LEN], received: Received, buf: &mut Sink<'_>) -> Received {
    let mut vnet = received.vnet;
    if vnet.needs_csum() {
        vnet.csum_start = vnet.csum_start.saturating_add(TAG_LEN as u16);
    }
    if vnet.is_gso() {
        vnet.hdr_len = vnet.hdr_len.saturating_add(TAG_LEN as u16);
    }
    match received.len >= TAG_AT && buf.insert(TAG_AT, received.len, &tag) {
        true => Received { vnet, len: received.len + TAG_LEN, ..received },
        false => Received { truncated: true, ..received },
    }
}
