//! Datagrams, several with one system call, each with the address at its other end.

use std::io::{ErrorKind, Result};
use std::mem::zeroed;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd};

use socket2::{SockAddr, SockAddrStorage};

use crate::error::retry;
use crate::poll::{await_event, Interest};

/// The most datagrams that one call moves.
pub const BATCH: usize = 32;

/// Room for received datagrams.
pub struct Inbox {
    bytes: Vec<u8>,
    /// Bytes that are kept of a datagram.
    snaplen: usize,
    /// Of each datagram received last: its whole length.
    lens: Vec<usize>,
    senders: Vec<SockAddr>,
}

/// A datagram that was received.
#[derive(Clone, Copy, Debug)]
pub struct Datagram<'a> {
    /// Its bytes, as many as there was room for.
    pub data: &'a [u8],
    /// Its whole length.
    pub len: usize,
    /// Who sent it; empty where senders have no names.
    pub sender: &'a SockAddr,
}

impl Inbox {
    /// Room for [`BATCH`] datagrams of at most `snaplen` bytes.
    pub fn new(snaplen: usize) -> Inbox {
        Inbox {
            bytes: vec![0; BATCH * snaplen],
            snaplen,
            lens: Vec::with_capacity(BATCH),
            senders: Vec::with_capacity(BATCH),
        }
    }

    /// Receives what there is, without waiting; how many datagrams.
    pub fn receive(&mut self, socket: impl AsFd) -> Result<usize> {
        self.lens.clear();
        self.senders.clear();
        let mut names: [SockAddrStorage; BATCH] = std::array::from_fn(|_| SockAddrStorage::zeroed());
        // SAFETY: headers of zeros are valid: no name, no parts.
        let mut headers = unsafe { zeroed::<[libc::mmsghdr; BATCH]>() };
        let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
        let rooms = self.bytes.chunks_exact_mut(self.snaplen.max(1));
        for (((header, part), name), room) in headers.iter_mut().zip(&mut parts).zip(&mut names).zip(rooms) {
            *part = libc::iovec { iov_base: room.as_mut_ptr().cast(), iov_len: room.len() };
            header.msg_hdr.msg_iov = part;
            header.msg_hdr.msg_iovlen = 1;
            header.msg_hdr.msg_name = std::ptr::from_mut(name).cast();
            header.msg_hdr.msg_namelen = size_of::<SockAddrStorage>() as libc::socklen_t;
        }
        let flags = libc::MSG_DONTWAIT | libc::MSG_TRUNC;
        // SAFETY: each header points at a name and a part of its own, which point at distinct writable memory of the lengths
        // given; where there is no room (a snaplen of 0) the part is empty. All live through the call.
        let n = retry(|| unsafe {
            let fd = socket.as_fd().as_raw_fd();
            libc::recvmmsg(fd, headers.as_mut_ptr(), BATCH as u32, flags as _, std::ptr::null_mut())
        });
        let n = match n {
            Err(error) if error.kind() == ErrorKind::WouldBlock => 0,
            other => other?,
        };
        for (header, name) in headers.iter().zip(names).take(n) {
            self.lens.push(header.msg_len as usize);
            let len = header.msg_hdr.msg_namelen.min(size_of::<SockAddrStorage>() as libc::socklen_t);
            // SAFETY: the kernel wrote the address and its length; what it did not write is zero.
            self.senders.push(unsafe { SockAddr::new(name, len) });
        }
        Ok(n)
    }

    /// The datagrams received last.
    pub fn datagrams(&self) -> impl Iterator<Item = Datagram<'_>> {
        let rooms = self.bytes.chunks_exact(self.snaplen.max(1)).chain(std::iter::repeat(&[][..]));
        self.lens.iter().zip(rooms).zip(&self.senders).map(|((&len, room), sender)| Datagram {
            data: room.get(..len).unwrap_or(room),
            len,
            sender,
        })
    }
}

/// Sends datagrams, at most [`BATCH`], each to its address, without waiting; how many went out. An error is about the first.
pub fn send<'a>(
    socket: impl AsFd,
    datagrams: impl Iterator<Item = (&'a [u8], &'a SockAddr)>,
) -> Result<usize> {
    // SAFETY: headers of zeros are valid: no name, no parts.
    let mut headers = unsafe { zeroed::<[libc::mmsghdr; BATCH]>() };
    let mut parts = [libc::iovec { iov_base: std::ptr::null_mut(), iov_len: 0 }; BATCH];
    let mut n = 0;
    for ((header, part), (data, address)) in headers.iter_mut().zip(&mut parts).zip(datagrams) {
        *part = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
        header.msg_hdr.msg_iov = part;
        header.msg_hdr.msg_iovlen = 1;
        header.msg_hdr.msg_name = address.as_ptr().cast_mut().cast();
        header.msg_hdr.msg_namelen = address.len();
        n += 1;
    }
    if n == 0 {
        return Ok(0);
    }
    let flags = libc::MSG_DONTWAIT | libc::MSG_NOSIGNAL;
    // SAFETY: the first `n` headers point at parts, data and addresses that live through the call; the kernel only reads them.
    retry(|| unsafe { libc::sendmmsg(socket.as_fd().as_raw_fd(), headers.as_mut_ptr(), n, flags as _) })
}

/// Waits until a descriptor takes data, or has failed.
pub fn wait_writable(fd: BorrowedFd<'_>) -> Result<()> {
    loop {
        match await_event(fd, Interest::WRITE) {
            Err(error) if error.kind() == ErrorKind::Interrupted => {}
            result => return result,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::net::UdpSocket;
    use std::os::unix::net::UnixDatagram;

    #[test]
    fn datagrams_pass_in_order_with_their_senders() {
        let (here, there) =
            (UdpSocket::bind("127.0.0.1:0").unwrap(), UdpSocket::bind("127.0.0.1:0").unwrap());
        let to = SockAddr::from(there.local_addr().unwrap());
        let texts: Vec<String> = (0..40).map(|i| "x".repeat(i)).collect();
        let all = || texts.iter().map(|text| (text.as_bytes(), &to));
        assert_eq!(send(&here, all()).unwrap(), BATCH);
        assert_eq!(send(&here, all().skip(BATCH)).unwrap(), 8);
        let mut inbox = Inbox::new(20);
        let mut lens = Vec::new();
        while inbox.receive(&there).unwrap() > 0 {
            for datagram in inbox.datagrams() {
                assert_eq!(datagram.sender.as_socket(), Some(here.local_addr().unwrap()));
                assert_eq!(datagram.data, "x".repeat(datagram.len.min(20)).as_bytes());
                lens.push(datagram.len);
            }
        }
        assert_eq!(lens, (0..40).collect::<Vec<_>>());
        assert_eq!(inbox.datagrams().count(), 0);
    }

    #[test]
    fn senders_may_have_no_name_and_there_may_be_no_room() {
        let (here, there) = UnixDatagram::pair().unwrap();
        here.send(b"abc").unwrap();
        let mut inbox = Inbox::new(0);
        assert_eq!(inbox.receive(&there).unwrap(), 1);
        let datagram = inbox.datagrams().next().unwrap();
        assert_eq!((datagram.data, datagram.len), (&b""[..], 3));
        assert!(datagram.sender.as_pathname().is_none());
    }

    #[test]
    fn an_error_is_about_the_first_datagram() {
        let here = UdpSocket::bind("127.0.0.1:0").unwrap();
        let to = SockAddr::from(here.local_addr().unwrap());
        let long = vec![0; 70_000];
        let sent = send(&here, [(&b"a"[..], &to), (&long[..], &to)].into_iter()).unwrap();
        assert_eq!(sent, 1);
        let error = send(&here, [(&long[..], &to)].into_iter()).unwrap_err();
        assert_eq!(error.raw_os_error(), Some(libc::EMSGSIZE));
        assert_eq!(send(&here, std::iter::empty()).unwrap(), 0);
        wait_writable(here.as_fd()).unwrap();
    }
}
