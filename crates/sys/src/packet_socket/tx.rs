//! Sending packets out of a network device, many with one system call.

use std::io::ErrorKind;
use std::mem::MaybeUninit;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};

use super::{bind, enable_vnet, grow_buffer, open_socket, take_error};
use crate::error::{Result, SysError};
use crate::span::Source;
use crate::vnet::{VnetHeader, BASIC_LEN};
use crate::{link, sockopt};

/// How to open a sender.
#[derive(Clone, Debug)]
pub struct TxOptions {
    /// Whether the kernel completes checksums and segments as [`TxFrame::vnet`] says.
    pub vnet: bool,
    /// Whether packets go past the queueing discipline, straight to the device: faster, and lost if it is busy.
    pub bypass_queue: bool,
    /// Bytes of packets that may wait in the kernel.
    pub send_buffer: u32,
}

impl Default for TxOptions {
    fn default() -> Self {
        Self { vnet: true, bypass_queue: false, send_buffer: 4 << 20 }
    }
}

/// A packet to send.
#[derive(Clone, Copy, Debug)]
pub struct TxFrame<'a> {
    /// Work left to the kernel; unused unless the sender was opened with `vnet`.
    pub vnet: VnetHeader,
    /// The packet from its Ethernet header on.
    pub data: &'a [u8],
}

/// Sends packets out of one device. Register it for writing to wait until there is room.
#[derive(Debug)]
pub struct Tx {
    socket: OwnedFd,
    device: String,
    has_vnet: bool,
}

impl Tx {
    pub fn open(device: &str, options: &TxOptions) -> Result<Self> {
        Self::on_socket(open_socket(device)?, link::index(device)?, device, options)
    }

    /// As [`Self::open`], with a new socket of any network namespace and the device's number there.
    pub fn on_socket(socket: OwnedFd, index: u32, device: &str, options: &TxOptions) -> Result<Self> {
        if options.vnet {
            enable_vnet(socket.as_fd(), device)?;
        }
        bind(socket.as_fd(), index, device, 0)?;
        Self::on_bound(socket, device, options)
    }

    /// A sender through a socket that is bound to the device.
    pub(super) fn on_bound(socket: OwnedFd, device: &str, options: &TxOptions) -> Result<Self> {
        let fd = socket.as_fd();
        if options.bypass_queue {
            let option = (libc::SOL_PACKET, libc::PACKET_QDISC_BYPASS);
            sockopt::set(fd, option, &1, "setsockopt(PACKET_QDISC_BYPASS)", device)?;
        }
        grow_buffer(fd, (libc::SO_SNDBUFFORCE, libc::SO_SNDBUF), options.send_buffer, device)?;
        Ok(Self { socket, device: device.into(), has_vnet: options.vnet })
    }

    /// Sends as many of `frames` as there is room for, in order; how many.
    ///
    /// An error is about the first of `frames`, and none of them was sent: drop that one and go on with the others.
    pub fn send_batch(&mut self, frames: &[TxFrame<'_>]) -> Result<usize> {
        in_chunks(frames, |chunk| self.send_chunk(chunk))
    }

    /// Sends one packet, from memory that others may change meanwhile; `false` if there is no room.
    pub fn send<'b>(&self, vnet: VnetHeader, packet: impl Into<Source<'b>>) -> Result<bool> {
        let header = vnet.to_bytes();
        let header_len = if self.has_vnet { BASIC_LEN } else { 0 };
        let mut parts = [
            libc::iovec { iov_base: header.as_ptr().cast_mut().cast(), iov_len: header_len },
            packet.into().iovec(),
        ];
        // SAFETY: a msghdr of zeros is valid: no name, no parts, no control.
        let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        (message.msg_iov, message.msg_iovlen) = (parts.as_mut_ptr(), parts.len() as _);
        // SAFETY: both parts are readable and of the lengths given; sendmsg does not write to them.
        let n_sent = unsafe { libc::sendmsg(self.socket.as_raw_fd(), &message, libc::MSG_DONTWAIT) };
        if n_sent < 0 {
            return self.none_sent().map(|_| false);
        }
        Ok(true)
    }

    /// Why the socket was reported closed: ask after such an event, or it is reported again at once.
    pub fn take_error(&self) -> Result<()> {
        take_error(self, &self.device)
    }

    fn send_chunk(&self, frames: &[TxFrame<'_>]) -> Result<usize> {
        let mut headers = [[0u8; BASIC_LEN]; BATCH];
        let mut parts = [const { MaybeUninit::<[libc::iovec; 2]>::uninit() }; BATCH];
        let mut messages = [const { MaybeUninit::<libc::mmsghdr>::uninit() }; BATCH];
        let header_len = if self.has_vnet { BASIC_LEN } else { 0 };
        let slots = headers.iter_mut().zip(&mut parts).zip(&mut messages);
        for (frame, ((header, parts), message)) in frames.iter().zip(slots) {
            if let Some(basic) = frame.vnet.to_bytes().first_chunk() {
                *header = *basic;
            }
            let parts = parts.write([
                libc::iovec { iov_base: header.as_mut_ptr().cast(), iov_len: header_len },
                libc::iovec { iov_base: frame.data.as_ptr().cast_mut().cast(), iov_len: frame.data.len() },
            ]);
            // SAFETY: a mmsghdr of zeros is valid: no name, no parts, no control.
            let message = message.write(unsafe { MaybeUninit::zeroed().assume_init() });
            message.msg_hdr.msg_iov = parts.as_mut_ptr();
            message.msg_hdr.msg_iovlen = 2;
        }
        let n_frames = frames.len().min(BATCH) as libc::c_uint;
        let (fd, first) = (self.socket.as_raw_fd(), messages.as_mut_ptr().cast());
        // SAFETY: the first `n_frames` messages were written above, and what they point at lives through the call.
        let n_sent = unsafe { libc::sendmmsg(fd, first, n_frames, libc::MSG_DONTWAIT) };
        usize::try_from(n_sent).or_else(|_| self.none_sent())
    }

    fn none_sent(&self) -> Result<usize> {
        let source = std::io::Error::last_os_error();
        let is_full = source.raw_os_error() == Some(libc::ENOBUFS);
        match source.kind() {
            ErrorKind::WouldBlock | ErrorKind::Interrupted => Ok(0),
            _ if is_full => Ok(0),
            _ => Err(SysError::call("sendmsg", &self.device, source).with_remedy(remedy)),
        }
    }
}

impl AsFd for Tx {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.socket.as_fd()
    }
}

/// Messages in one system call; their headers take 7 KiB of stack.
const BATCH: usize = 64;

/// Hands chunk after chunk to `send` until one is not taken whole.
fn in_chunks<T>(frames: &[T], mut send: impl FnMut(&[T]) -> Result<usize>) -> Result<usize> {
    let mut n_sent = 0;
    for chunk in frames.chunks(BATCH) {
        let n = match send(chunk) {
            // The next batch starts with the frame that failed, and reports it.
            Err(_) if n_sent > 0 => 0,
            other => other?,
        };
        n_sent += n;
        if n < chunk.len() {
            break;
        }
    }
    Ok(n_sent)
}

fn remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EMSGSIZE => {
            Some("the packet is longer than the device's MTU: raise it, or leave segmentation to the kernel")
        }
        libc::EINVAL => {
            Some("the packet is shorter than an Ethernet header, or its virtio-net header is wrong")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// What each chunk answers, and what the whole batch then answers.
    fn check(answers: &[Option<usize>], n_chunks_asked: usize, expected: Option<usize>) {
        let mut n_asked = 0;
        let result = in_chunks(&[0u8; 3 * BATCH], |_| {
            n_asked += 1;
            answers[n_asked - 1].ok_or_else(|| SysError::invalid("frame", "x", "fails"))
        });
        assert_eq!((result.ok(), n_asked), (expected, n_chunks_asked), "{answers:?}");
    }

    #[test]
    fn a_batch_stops_where_a_chunk_stops() {
        let whole = Some(BATCH);
        check(&[whole, whole, whole], 3, Some(3 * BATCH));
        check(&[whole, Some(0), whole], 2, Some(BATCH));
        check(&[whole, Some(9), whole], 2, Some(BATCH + 9));
        check(&[Some(0), whole, whole], 1, Some(0));
    }

    #[test]
    fn an_error_is_told_when_nothing_was_sent_before_it() {
        check(&[None], 1, None);
        check(&[Some(BATCH), None], 2, Some(BATCH));
    }
}
