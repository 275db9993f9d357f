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

/// The process that claims to have this side of a pipe, if it is this user's or root's; or, where this one is root's, if the pipe
/// was given to it. Who else asks is shown nothing, for what is shown here opens the pipe.
pub fn trusted(socket: &Socket, id: PipeId, side: Side) -> Option<Neighbour> {
    let peer = peer_credentials(socket).ok()?;
    let own = sys::runtime_dir::effective_uid();
    let (pid, is_same_user) = (peer.pid as u32, peer.uid == own);
    let was_given = || own == 0 && sys::pipe::has_open(pid, id, side == Side::Writer);
    (is_same_user || peer.uid == 0 || was_given()).then_some(Neighbour { pid, is_same_user })
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

/// Whether a descriptor that was received shows that its sender has this end of a pipe: without a name only those have one who were
/// given it, of a named one it must be open for that.
pub fn has_end(fd: BorrowedFd<'_>, id: PipeId, side: Side) -> bool {
    let is_pipe = matches!(sys::pipe::kind(fd), Ok(Kind::Pipe(found)) if found == id);
    let is_open = || match (sys::pipe::access(fd), side) {
        (Ok((reads, _)), Side::Reader) => reads,
        (Ok((_, writes)), Side::Writer) => writes,
        (Err(_), _) => false,
    };
    is_pipe && (sys::pipe::is_anonymous(fd) || is_open())
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsFd;

    use nix::sys::stat::Mode;
    use sys::pipe::{proof, reference};

    use super::*;
    use crate::testing::Scratch;

    fn id(fd: impl AsFd) -> PipeId {
        let Kind::Pipe(id) = sys::pipe::kind(fd).unwrap() else { panic!() };
        id
    }

    #[test]
    fn whoever_sees_the_name_of_a_pipe_has_no_end_of_it() {
        let (reader, writer) = std::io::pipe().unwrap();
        for fd in [proof(&reader).unwrap(), proof(&writer).unwrap(), reference(&writer).unwrap()] {
            assert!(has_end(fd.as_fd(), id(&writer), Side::Writer));
        }
        let scratch = Scratch::new();
        let path = scratch.path("fifo");
        nix::unistd::mkfifo(path.as_str(), Mode::S_IRWXU).unwrap();
        let both = std::fs::File::options().read(true).write(true).open(&path).unwrap();
        let reader = std::fs::File::open(&path).unwrap();
        let is_end = |fd: BorrowedFd<'_>, side| has_end(fd, id(&both), side);
        assert!(
            is_end(proof(&reader).unwrap().as_fd(), Side::Reader) && !is_end(reader.as_fd(), Side::Writer)
        );
        assert!(is_end(both.as_fd(), Side::Reader) && is_end(both.as_fd(), Side::Writer));
        let named = reference(&both).unwrap();
        assert!(!is_end(named.as_fd(), Side::Reader) && !is_end(named.as_fd(), Side::Writer));
    }
}
