//! Where the processes at both ends of a pipe find each other, and whom they trust.

use std::os::fd::BorrowedFd;

use socket2::{Domain, SockAddr, Socket, Type};
use sys::pipe::{Kind, PipeId};
use sys::unix::peer_credentials;

use super::Side;

/// Connections that may wait to be accepted.
const BACKLOG: i32 = 4;

/// The process at the other end.
#[derive(Clone, Copy)]
pub struct Neighbour {
    /// Its number.
    pub pid: u32,
    /// Whether it is of the same user: only then may one reach into the other's stack.
    pub is_same_user: bool,
}

/// The process at the other end if it is this user's, or one of both is root's.
pub fn trusted(socket: &Socket) -> Option<Neighbour> {
    let peer = peer_credentials(socket).ok()?;
    let own = sys::runtime_dir::effective_uid();
    let is_same_user = peer.uid == own;
    (is_same_user || peer.uid == 0 || own == 0).then_some(Neighbour { pid: peer.pid as u32, is_same_user })
}

/// The abstract address that one side of a pipe is found by.
fn address(id: PipeId, side: Side) -> Option<SockAddr> {
    let side = match side {
        Side::Reader => "reader",
        Side::Writer => "writer",
    };
    SockAddr::unix(format!("\0weir/pipe/{:x}:{:x}/{side}", id.device, id.inode)).ok()
}

fn socket() -> std::io::Result<Socket> {
    let socket = Socket::new(Domain::UNIX, Type::SEQPACKET, None)?;
    socket.set_nonblocking(true)?;
    Ok(socket)
}

/// Waits for the other side of a pipe, if no other process has this end and does so.
pub fn listen(id: PipeId, side: Side) -> std::io::Result<Socket> {
    let socket = socket()?;
    let address = address(id, side).ok_or(std::io::ErrorKind::InvalidInput)?;
    socket.bind(&address)?;
    socket.listen(BACKLOG)?;
    Ok(socket)
}

/// Connects to this side of a pipe, if somebody has it.
pub fn connect(id: PipeId, side: Side) -> Option<Socket> {
    let socket = socket().ok()?;
    socket.connect(&address(id, side)?).ok()?;
    Some(socket)
}

/// Whether a descriptor that was received is this pipe.
pub fn is_pipe(fd: BorrowedFd<'_>, id: PipeId) -> bool {
    matches!(sys::pipe::kind(fd), Ok(Kind::Pipe(found)) if found == id)
}
