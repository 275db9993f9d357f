//! Unix sockets: listening at a path, passing descriptors, and knowing who is at the other end.

mod listen;

use std::io;
use std::mem::{size_of, MaybeUninit};
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::time::Duration;

use crate::error::{check, retry, Result, SysError};
use crate::sockopt;

pub use listen::{connect, listen_at, Listening, SocketFile};

/// Longest path of a socket in bytes (`sun_path` in unix(7), without the null byte).
pub const MAX_PATH: usize = 107;

/// The most descriptors in one message.
pub const MAX_FDS: usize = 16;

/// Who connected, as the kernel recorded it at that time.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCredentials {
    pub pid: i32,
    pub uid: u32,
    pub gid: u32,
}

/// Two connected sockets that keep messages apart; reading waits at most `timeout`, if there is one.
pub fn message_pair(timeout: Option<Duration>) -> Result<(OwnedFd, OwnedFd)> {
    let mut raw: [RawFd; 2] = [-1; 2];
    let kind = libc::SOCK_SEQPACKET | libc::SOCK_CLOEXEC;
    // SAFETY: the kernel writes two descriptors.
    check(unsafe { libc::socketpair(libc::AF_UNIX, kind, 0, raw.as_mut_ptr()) }, "socketpair", TARGET)?;
    // SAFETY: the call returned two new descriptors that nothing else owns.
    let pair = unsafe { (OwnedFd::from_raw_fd(raw[0]), OwnedFd::from_raw_fd(raw[1])) };
    if let Some(timeout) = timeout {
        sockopt::set_receive_timeout(pair.0.as_fd(), timeout, TARGET)?;
        sockopt::set_receive_timeout(pair.1.as_fd(), timeout, TARGET)?;
    }
    Ok(pair)
}

/// Who is at the other end of a connected Unix socket.
pub fn peer_credentials(socket: impl AsFd) -> Result<PeerCredentials> {
    let option = (libc::SOL_SOCKET, libc::SO_PEERCRED);
    let peer: libc::ucred = sockopt::get(socket.as_fd(), option, "getsockopt(SO_PEERCRED)", TARGET)?;
    Ok(PeerCredentials { pid: peer.pid, uid: peer.uid, gid: peer.gid })
}

/// Whether a socket listens for connections that are streams.
pub fn listens(socket: impl AsFd) -> bool {
    let socket = socket2::SockRef::from(&socket);
    socket.is_listener().unwrap_or(false) && socket.r#type().is_ok_and(|kind| kind == socket2::Type::STREAM)
}

/// The groups of who is at the other end of a connected Unix socket: its own and those that it is a member of besides, as they were
/// when it connected.
pub fn peer_groups(socket: impl AsFd) -> Result<Vec<u32>> {
    let own = peer_credentials(&socket)?.gid;
    let mut groups = vec![0; 64];
    loop {
        let mut n_bytes = (groups.len() * size_of::<u32>()) as libc::socklen_t;
        // SAFETY: the kernel writes at most `n_bytes` bytes, the size of `groups`, and how many there are.
        let returned = unsafe {
            let (fd, pointer) = (socket.as_fd().as_raw_fd(), groups.as_mut_ptr().cast());
            libc::getsockopt(fd, libc::SOL_SOCKET, libc::SO_PEERGROUPS, pointer, &mut n_bytes)
        };
        let n_groups = n_bytes as usize / size_of::<u32>();
        if returned < 0 && n_groups > groups.len() {
            groups.resize(n_groups, 0);
            continue;
        }
        check(returned, "getsockopt(SO_PEERGROUPS)", TARGET)?;
        groups.truncate(n_groups);
        groups.push(own);
        return Ok(groups);
    }
}

/// Sends `data` (at least one byte) and `fds` with its first byte; the bytes of `data` that went out.
pub fn send_fds(socket: impl AsFd, data: &[u8], fds: &[BorrowedFd<'_>]) -> Result<usize> {
    if data.is_empty() || fds.len() > MAX_FDS {
        let what = format!("{} bytes, {} descriptors", data.len(), fds.len());
        return Err(SysError::invalid("message", what, "needs a byte, and at most 16 descriptors"));
    }
    let raw: Vec<RawFd> = fds.iter().map(AsRawFd::as_raw_fd).collect();
    let mut control = Control::new();
    let mut part = libc::iovec { iov_base: data.as_ptr().cast_mut().cast(), iov_len: data.len() };
    let mut message = control.message(&mut part);
    if raw.is_empty() {
        message.msg_control = std::ptr::null_mut();
        message.msg_controllen = 0;
    } else {
        let n_bytes = (raw.len() * size_of::<RawFd>()) as u32;
        // SAFETY: the control buffer is aligned, zeroed and has room for MAX_FDS descriptors, and `raw` has no more.
        unsafe {
            message.msg_controllen = libc::CMSG_SPACE(n_bytes) as _;
            let header = libc::CMSG_FIRSTHDR(&message);
            (*header).cmsg_level = libc::SOL_SOCKET;
            (*header).cmsg_type = libc::SCM_RIGHTS;
            (*header).cmsg_len = libc::CMSG_LEN(n_bytes) as _;
            std::ptr::copy_nonoverlapping(raw.as_ptr().cast(), libc::CMSG_DATA(header), n_bytes as usize);
        }
    }
    // SAFETY: the message points at `data` and `control`, which live through the call; the kernel only reads `data`.
    retry(|| unsafe { libc::sendmsg(socket.as_fd().as_raw_fd(), &message, libc::MSG_NOSIGNAL) })
        .map_err(|e| SysError::call("sendmsg", TARGET, e))
}

/// Receives bytes into `data` and the descriptors that came with them; no bytes when the other end is closed.
pub fn recv_fds(socket: impl AsFd, data: &mut [u8]) -> Result<(usize, Vec<OwnedFd>)> {
    let mut control = Control::new();
    let mut part = libc::iovec { iov_base: data.as_mut_ptr().cast(), iov_len: data.len() };
    let mut message = control.message(&mut part);
    // SAFETY: the message points at `data` and `control`, both writable and of the lengths given.
    let received =
        retry(|| unsafe { libc::recvmsg(socket.as_fd().as_raw_fd(), &mut message, libc::MSG_CMSG_CLOEXEC) });
    let n_bytes = received.map_err(|e| SysError::call("recvmsg", TARGET, e))?;
    let fds = take_fds(&message);
    if message.msg_flags & libc::MSG_CTRUNC != 0 {
        let reason = "it sent more descriptors than agreed, or this process has no room for them".into();
        let remedy = Some("raise the limit on open files: `ulimit -n`");
        return Err(SysError::Untrusted { target: TARGET.into(), reason, remedy });
    }
    Ok((n_bytes, fds))
}

/// The next bytes, which stay to be received; no bytes when the other end is closed.
pub fn peek(socket: impl AsFd, data: &mut [u8]) -> io::Result<usize> {
    let flags = libc::MSG_PEEK | libc::MSG_DONTWAIT;
    let fd = socket.as_fd().as_raw_fd();
    // SAFETY: `data` is writable for its length.
    retry(|| unsafe { libc::recv(fd, data.as_mut_ptr().cast(), data.len(), flags) })
}

/// Whether the other end of a connected socket has not received yet all that was sent to it. One that is closed will not.
pub fn has_unreceived(socket: impl AsFd) -> bool {
    let mut n: libc::c_int = 0;
    // SAFETY: TIOCOUTQ, which is SIOCOUTQ, writes one integer.
    unsafe { libc::ioctl(socket.as_fd().as_raw_fd(), libc::TIOCOUTQ, &raw mut n) };
    n > 0
}

const TARGET: &str = "unix socket";

/// Room for one control message with [`MAX_FDS`] descriptors, aligned for its header.
#[repr(C, align(8))]
struct Control([MaybeUninit<u8>; 128]);

const _: () = {
    // SAFETY: CMSG_SPACE only computes.
    let needed = unsafe { libc::CMSG_SPACE((MAX_FDS * size_of::<RawFd>()) as u32) };
    assert!(needed as usize <= size_of::<Control>());
    assert!(align_of::<Control>() >= align_of::<libc::cmsghdr>());
};

impl Control {
    fn new() -> Self {
        Self([MaybeUninit::new(0); 128])
    }

    fn message(&mut self, part: &mut libc::iovec) -> libc::msghdr {
        // SAFETY: a msghdr of zeros is valid: no name, no parts, no control.
        let mut message: libc::msghdr = unsafe { MaybeUninit::zeroed().assume_init() };
        message.msg_iov = part;
        message.msg_iovlen = 1;
        message.msg_control = self.0.as_mut_ptr().cast();
        message.msg_controllen = self.0.len() as _;
        message
    }
}

fn take_fds(message: &libc::msghdr) -> Vec<OwnedFd> {
    let mut fds = Vec::new();
    // SAFETY: the kernel filled the control buffer and its length; the CMSG functions stay inside it.
    unsafe {
        let mut header = libc::CMSG_FIRSTHDR(message);
        while !header.is_null() {
            if (*header).cmsg_level == libc::SOL_SOCKET && (*header).cmsg_type == libc::SCM_RIGHTS {
                let n_bytes = ((*header).cmsg_len as usize).saturating_sub(libc::CMSG_LEN(0) as usize);
                let first = libc::CMSG_DATA(header).cast::<RawFd>();
                for idx in 0..n_bytes / size_of::<RawFd>() {
                    // Each is new in this process and owned by nobody yet.
                    fds.push(OwnedFd::from_raw_fd(first.add(idx).read_unaligned()));
                }
            }
            header = libc::CMSG_NXTHDR(message, header);
        }
    }
    fds
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::fs::File;
    use std::io::{Read, Write};
    use std::os::unix::net::UnixStream;

    #[test]
    fn descriptors_arrive_and_work() {
        let (here, there) = UnixStream::pair().unwrap();
        let (mut reader, writer) = io::pipe().unwrap();
        assert_eq!(send_fds(&here, b"hello", &[writer.as_fd(), reader.as_fd()]).unwrap(), 5);
        drop(writer);
        let mut data = [0; 16];
        let (n_bytes, mut fds) = recv_fds(&there, &mut data).unwrap();
        assert_eq!((&data[..n_bytes], fds.len()), (&b"hello"[..], 2));
        File::from(fds.remove(0)).write_all(b"through").unwrap();
        drop(fds);
        let mut text = String::new();
        reader.read_to_string(&mut text).unwrap();
        assert_eq!(text, "through");
    }

    #[test]
    fn who_connected_has_all_groups_of_the_process() {
        let (here, _there) = UnixStream::pair().unwrap();
        let status = std::fs::read_to_string("/proc/self/status").unwrap();
        let line = status.lines().find_map(|line| line.strip_prefix("Groups:")).unwrap();
        let mut wanted: Vec<u32> = line.split_whitespace().map(|word| word.parse().unwrap()).collect();
        wanted.push(peer_credentials(&here).unwrap().gid);
        assert_eq!(peer_groups(&here).unwrap(), wanted);
    }

    #[test]
    fn only_a_stream_socket_that_listens_listens() {
        let name = std::env::temp_dir().join(format!("weir-listens-{}", std::process::id()));
        let listener = std::os::unix::net::UnixListener::bind(&name).unwrap();
        std::fs::remove_file(&name).unwrap();
        let datagrams = std::os::unix::net::UnixDatagram::unbound().unwrap();
        assert!(listens(&listener) && !listens(&datagrams) && !listens(UnixStream::pair().unwrap().0));
    }

    #[test]
    fn received_descriptors_close_on_exec() {
        let (here, there) = UnixStream::pair().unwrap();
        send_fds(&here, b"x", &[here.as_fd()]).unwrap();
        let (_, fds) = recv_fds(&there, &mut [0]).unwrap();
        // SAFETY: F_GETFD takes nothing and returns flags.
        let flags = unsafe { libc::fcntl(fds[0].as_raw_fd(), libc::F_GETFD) };
        assert_eq!(flags & libc::FD_CLOEXEC, libc::FD_CLOEXEC);
    }

    #[test]
    fn bytes_without_descriptors_and_the_end_arrive() {
        let (here, there) = UnixStream::pair().unwrap();
        send_fds(&here, b"x", &[]).unwrap();
        let (n_bytes, fds) = recv_fds(&there, &mut [0; 4]).unwrap();
        assert_eq!((n_bytes, fds.len()), (1, 0));
        drop(here);
        assert_eq!(recv_fds(&there, &mut [0; 4]).unwrap().0, 0);
    }

    #[test]
    fn the_most_descriptors_arrive_and_more_are_refused() {
        let (here, there) = UnixStream::pair().unwrap();
        send_fds(&here, b"x", &[here.as_fd(); MAX_FDS]).unwrap();
        assert_eq!(recv_fds(&there, &mut [0]).unwrap().1.len(), MAX_FDS);
        assert!(send_fds(&here, b"x", &[here.as_fd(); MAX_FDS + 1]).is_err());
        assert!(send_fds(&here, b"", &[here.as_fd()]).is_err());
    }

    #[test]
    fn the_peer_of_a_pair_is_this_process() {
        let (here, _there) = UnixStream::pair().unwrap();
        let peer = peer_credentials(&here).unwrap();
        assert_eq!((peer.pid as u32, peer.uid), (std::process::id(), crate::runtime_dir::effective_uid()));
        let (reader, _writer) = io::pipe().unwrap();
        assert_eq!(peer_credentials(&reader).unwrap_err().errno(), Some(libc::ENOTSOCK));
    }

    #[test]
    fn what_was_looked_at_stays_to_be_received() {
        let (here, there) = UnixStream::pair().unwrap();
        assert_eq!(peek(&there, &mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        send_fds(&here, b"x", &[]).unwrap();
        assert_eq!(peek(&there, &mut [0; 2]).unwrap(), 1);
        recv_fds(&there, &mut [0]).unwrap();
        drop(here);
        assert_eq!(peek(&there, &mut [0]).unwrap(), 0);
    }

    #[test]
    fn a_message_is_unreceived_until_it_is_received_or_never_can_be() {
        let (here, there) = message_pair(None).unwrap();
        assert!(!has_unreceived(&here));
        for text in [&b"one"[..], b"two"] {
            send_fds(&here, text, &[here.as_fd()]).unwrap();
        }
        assert!(has_unreceived(&here));
        recv_fds(&there, &mut [0; 4]).unwrap();
        assert!(has_unreceived(&here));
        recv_fds(&there, &mut [0; 4]).unwrap();
        assert!(!has_unreceived(&here));
        send_fds(&here, b"three", &[]).unwrap();
        drop(there);
        assert!(!has_unreceived(&here));
    }

    #[test]
    fn a_pair_keeps_messages_apart_and_waits_no_longer_than_told() {
        let (here, there) = message_pair(Some(Duration::from_millis(1))).unwrap();
        for text in [&b"one"[..], b"two"] {
            send_fds(&here, text, &[]).unwrap();
        }
        let mut data = [0; 16];
        assert_eq!(recv_fds(&there, &mut data).unwrap().0, 3);
        assert_eq!(recv_fds(&there, &mut data).unwrap().0, 3);
        assert_eq!(&data[..3], b"two");
        assert_eq!(recv_fds(&there, &mut data).unwrap_err().errno(), Some(libc::EAGAIN));
    }

    #[test]
    fn a_closed_peer_is_an_error_not_a_signal() {
        let (here, there) = UnixStream::pair().unwrap();
        drop(there);
        assert_eq!(send_fds(&here, b"x", &[]).unwrap_err().errno(), Some(libc::EPIPE));
    }
}
