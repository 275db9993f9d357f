//! Packet sockets: every packet that passes a network device, without making a device of one's own.

mod block;
mod queue;
mod rx;
mod tx;

use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::bpf::Program;
use crate::error::{check, Result, SysError};
use crate::sockopt;

pub use block::{Block, Frame, Frames};
pub use queue::RxQueue;
pub use rx::{FanOut, RxOptions, RxRing, Statistics};
pub use tx::{Tx, TxFrame, TxOptions};

/// A raw packet socket of the calling thread's network namespace that is not bound yet, and so receives nothing.
pub fn open_socket(device: &str) -> Result<OwnedFd> {
    open(libc::SOCK_RAW, device)
}

/// A packet socket that receives the IPv4 packets which match `filter` and come in on any device of the calling thread's network
/// namespace. They begin with their IP header; link-layer headers are left out.
pub fn open_ip(filter: &Program) -> Result<OwnedFd> {
    let socket = open(libc::SOCK_DGRAM, "any device")?;
    ignore_outgoing(socket.as_fd(), "any device")?;
    attach_filter(socket.as_fd(), filter, "any device")?;
    bind(socket.as_fd(), 0, "any device", libc::ETH_P_IP as u16)?;
    Ok(socket)
}

fn open(kind: libc::c_int, device: &str) -> Result<OwnedFd> {
    let kind = kind | libc::SOCK_CLOEXEC | libc::SOCK_NONBLOCK;
    // SAFETY: socket takes numbers only.
    let raw = check(unsafe { libc::socket(libc::AF_PACKET, kind, 0) }, "socket(AF_PACKET)", device)?;
    // SAFETY: the call returned a new descriptor that nothing else owns.
    Ok(unsafe { OwnedFd::from_raw_fd(raw) })
}

/// Attaches the socket to `device`, number `index` (0: all devices); with protocol 0 it can only send.
fn bind(socket: BorrowedFd<'_>, index: u32, device: &str, protocol: u16) -> Result<()> {
    // SAFETY: a sockaddr_ll of zeros is valid.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as u16;
    address.sll_protocol = protocol.to_be();
    address.sll_ifindex = index as i32;
    let len = size_of_val(&address) as libc::socklen_t;
    // SAFETY: `address` is valid through the call and of the length given.
    let returned = unsafe { libc::bind(socket.as_raw_fd(), std::ptr::from_ref(&address).cast(), len) };
    check(returned, "bind", device).map(drop)
}

/// Lets as many bytes of packets wait as asked for, or as the ordinary limit allows, which is all there is in a user namespace.
fn grow_buffer(
    socket: BorrowedFd<'_>,
    (force, ordinary): (libc::c_int, libc::c_int),
    n_bytes: u32,
    device: &str,
) -> Result<()> {
    // The kernel doubles what it is told.
    let n_bytes = libc::c_int::try_from(n_bytes / 2).unwrap_or(libc::c_int::MAX);
    let set = |option, call| sockopt::set(socket, (libc::SOL_SOCKET, option), &n_bytes, call, device);
    match set(force, "setsockopt(buffer, by force)") {
        Err(error) if error.errno() == Some(libc::EPERM) => set(ordinary, "setsockopt(buffer)"),
        other => other,
    }
}

fn ignore_outgoing(socket: BorrowedFd<'_>, device: &str) -> Result<()> {
    let option = (libc::SOL_PACKET, libc::PACKET_IGNORE_OUTGOING);
    sockopt::set(socket, option, &1, "setsockopt(PACKET_IGNORE_OUTGOING)", device)
}

/// Puts a virtio-net header of 10 bytes in front of every packet.
fn enable_vnet(socket: BorrowedFd<'_>, device: &str) -> Result<()> {
    let option = (libc::SOL_PACKET, libc::PACKET_VNET_HDR);
    sockopt::set(socket, option, &1, "setsockopt(PACKET_VNET_HDR)", device)
}

fn attach_filter(socket: BorrowedFd<'_>, program: &Program, device: &str) -> Result<()> {
    let instructions: Vec<libc::sock_filter> = program
        .instructions()
        .iter()
        .map(|i| libc::sock_filter { code: i.code, jt: i.jt, jf: i.jf, k: i.k })
        .collect();
    let raw = libc::sock_fprog { len: instructions.len() as u16, filter: instructions.as_ptr().cast_mut() };
    // SAFETY: `raw` points at `len` instructions (a program has at most 4096), which the kernel copies.
    let returned = unsafe {
        let len = size_of_val(&raw) as libc::socklen_t;
        let value = std::ptr::from_ref(&raw).cast();
        libc::setsockopt(socket.as_raw_fd(), libc::SOL_SOCKET, libc::SO_ATTACH_FILTER, value, len)
    };
    check(returned, "setsockopt(SO_ATTACH_FILTER)", device)
        .map(drop)
        .map_err(|e| e.with_remedy(filter_remedy))
}

/// The error that the socket recorded by itself, as when its device went down; asking clears it.
fn take_error(socket: &impl AsFd, device: &str) -> Result<()> {
    let option = (libc::SOL_SOCKET, libc::SO_ERROR);
    let errno: libc::c_int = sockopt::get(socket.as_fd(), option, "getsockopt(SO_ERROR)", device)?;
    match errno {
        0 => Ok(()),
        _ => Err(SysError::call("packet socket", device, std::io::Error::from_raw_os_error(errno))),
    }
}

fn filter_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EINVAL => Some("the kernel refuses this filter: shorten it"),
        libc::ENOMEM | libc::ENOBUFS => Some("raise the room for filters: `sysctl net.core.optmem_max`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests;
