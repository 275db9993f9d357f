//! Pipes and other descriptors that a process was given: what they are, and opening them anew.

use std::fs::{File, Metadata, OpenOptions};
use std::io;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use crate::error::{Result, SysError};
use crate::poll::events_now;

/// Which pipe it is: both of its ends have the same identity, and no other pipe has it while one of them is open.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct PipeId {
    /// The device of its inode.
    pub device: u64,
    /// The number of its inode.
    pub inode: u64,
}

/// What a descriptor stands for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A pipe or a FIFO.
    Pipe(PipeId),
    /// A socket.
    Socket,
    /// A regular file.
    File,
    /// A terminal or another device of characters, such as `/dev/null`.
    Character,
    /// Anything else.
    Other,
}

/// Whether `fd` is a pipe without a name, as a shell makes them.
pub fn is_anonymous(fd: impl AsFd) -> bool {
    std::fs::read_link(path(fd.as_fd()))
        .is_ok_and(|target| target.as_os_str().as_encoded_bytes().starts_with(b"pipe:"))
}

/// What `fd` stands for.
pub fn kind(fd: impl AsFd) -> Result<Kind> {
    let fd = fd.as_fd();
    let target = || format!("descriptor {}", fd.as_raw_fd());
    let file = fd.try_clone_to_owned().map_err(|e| SysError::call("fcntl(F_DUPFD)", target(), e))?;
    let facts = File::from(file).metadata().map_err(|e| SysError::call("fstat", target(), e))?;
    let kind = facts.file_type();
    Ok(if kind.is_fifo() {
        Kind::Pipe(PipeId { device: facts.dev(), inode: facts.ino() })
    } else if kind.is_socket() {
        Kind::Socket
    } else if kind.is_file() {
        Kind::File
    } else if kind.is_char_device() {
        Kind::Character
    } else {
        Kind::Other
    })
}

/// Whether `fd` can be read from, and written to.
pub fn access(fd: impl AsFd) -> Result<(bool, bool)> {
    // SAFETY: F_GETFL takes nothing and returns flags.
    let flags = unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_GETFL) };
    if flags < 0 {
        let target = format!("descriptor {}", fd.as_fd().as_raw_fd());
        return Err(SysError::call("fcntl(F_GETFL)", target, io::Error::last_os_error()));
    }
    if flags & libc::O_PATH != 0 {
        return Ok((false, false));
    }
    let mode = flags & libc::O_ACCMODE;
    Ok((mode != libc::O_WRONLY, mode != libc::O_RDONLY))
}

/// Opens a pipe's end for reading anew, so that it never blocks while the processes that share `fd` see no change.
pub fn reopen_to_read(fd: impl AsFd) -> io::Result<File> {
    reopen(fd.as_fd(), OpenOptions::new().read(true))
}

/// As [`reopen_to_read`], for writing.
pub fn reopen_to_write(fd: impl AsFd) -> io::Result<File> {
    reopen(fd.as_fd(), OpenOptions::new().write(true))
}

/// A descriptor that shows which file it is and gives no right to read or write it.
pub fn reference(fd: impl AsFd) -> io::Result<OwnedFd> {
    let path = path(fd.as_fd());
    Ok(OpenOptions::new().read(true).custom_flags(libc::O_PATH).open(path)?.into())
}

/// A descriptor that shows another process that this one has an end of a pipe. Whoever sees the name of a named pipe can refer to
/// it: there only the end itself shows it.
pub fn proof(fd: impl AsFd) -> io::Result<OwnedFd> {
    if is_anonymous(&fd) {
        reference(fd)
    } else {
        fd.as_fd().try_clone_to_owned()
    }
}

/// Whether a process has an end of a pipe open: one for reading, or one for writing. Only who may look into the process can tell;
/// for others it has none.
pub fn has_open(pid: u32, id: PipeId, is_writer: bool) -> bool {
    // The permissions of the links there are those of the descriptors.
    let wanted = if is_writer { 0o200 } else { 0o400 };
    let is_end = |path: &PathBuf| {
        let is_meant = |facts: Metadata| (facts.dev(), facts.ino()) == (id.device, id.inode);
        std::fs::metadata(path).is_ok_and(is_meant)
            && std::fs::symlink_metadata(path).is_ok_and(|link| link.mode() & wanted != 0)
    };
    descriptors(Path::new(&format!("/proc/{pid}"))).iter().any(is_end)
}

/// Whether a descriptor of a process, as `/proc` shows it, is a link to one of these.
pub fn has_link(process: &Path, links: &[String]) -> bool {
    let is_meant = |path: &PathBuf| {
        std::fs::read_link(path)
            .is_ok_and(|target| links.iter().any(|link| target.as_os_str() == link.as_str()))
    };
    descriptors(process).iter().any(is_meant)
}

/// The descriptors of a process, the last first: who starts others with pipes has just made these.
fn descriptors(process: &Path) -> Vec<PathBuf> {
    let open = std::fs::read_dir(process.join("fd")).into_iter().flatten().flatten();
    let mut paths: Vec<PathBuf> = open.map(|entry| entry.path()).collect();
    paths.reverse();
    paths
}

fn path(fd: BorrowedFd<'_>) -> PathBuf {
    PathBuf::from(format!("/proc/self/fd/{}", fd.as_raw_fd()))
}

fn reopen(fd: BorrowedFd<'_>, options: &mut OpenOptions) -> io::Result<File> {
    options.custom_flags(libc::O_NONBLOCK).open(path(fd)).or_else(|_| {
        // Another user's pipe, or a socket: it can only be shared.
        set_nonblocking(fd)?;
        fd.try_clone_to_owned().map(File::from)
    })
}

fn set_nonblocking(fd: BorrowedFd<'_>) -> io::Result<()> {
    // SAFETY: both calls take numbers only.
    let done = unsafe {
        let flags = libc::fcntl(fd.as_raw_fd(), libc::F_GETFL);
        flags >= 0 && libc::fcntl(fd.as_raw_fd(), libc::F_SETFL, flags | libc::O_NONBLOCK) >= 0
    };
    if done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}

/// A descriptor that the process was started with, as its own from now on: only one caller may have each number.
pub fn adopt(number: i32) -> io::Result<OwnedFd> {
    // SAFETY: F_DUPFD_CLOEXEC takes numbers only and makes a descriptor that nothing else owns.
    let fd = unsafe { libc::fcntl(number, libc::F_DUPFD_CLOEXEC, 3) };
    if fd < 0 {
        return Err(io::Error::last_os_error());
    }
    // What is left open is the caller's number: closing it here would close what another part of the process may use.
    // SAFETY: the call returned a new descriptor.
    Ok(unsafe { OwnedFd::from_raw_fd(fd) })
}

/// As [`adopt`]; the number becomes `/dev/null`, so that the other side learns when the descriptor is closed. That of standard error
/// stays what it is.
pub fn take(number: i32) -> io::Result<OwnedFd> {
    let fd = adopt(number)?;
    if number != 2 {
        let null = OpenOptions::new().read(true).write(true).open("/dev/null")?;
        // SAFETY: takes numbers. The number stays open; whoever uses it reads nothing and writes into the void.
        if unsafe { libc::dup3(null.as_raw_fd(), number, libc::O_CLOEXEC) } < 0 {
            return Err(io::Error::last_os_error());
        }
    }
    Ok(fd)
}

/// Whether all writers of a pipe have gone. A named pipe that never had one has not lost them.
pub fn has_hung_up(fd: impl AsFd) -> bool {
    events_now(fd.as_fd(), libc::POLLIN) & libc::POLLHUP != 0
}

/// Whether all readers of a pipe, or the other side of a socket, have gone.
pub fn is_unread(fd: impl AsFd) -> bool {
    events_now(fd.as_fd(), 0) & (libc::POLLERR | libc::POLLHUP) != 0
}

/// Bytes that were written to a pipe and not yet read.
pub fn n_unread_bytes(fd: impl AsFd) -> usize {
    let mut n: libc::c_int = 0;
    // SAFETY: FIONREAD writes one integer.
    unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::FIONREAD, &raw mut n) };
    usize::try_from(n).unwrap_or(0)
}

/// The flag with which a file is opened so that it never blocks.
pub const NONBLOCK: i32 = libc::O_NONBLOCK;

/// Asks for a pipe of `len` bytes; smaller ones do as well, so that a refusal is no error.
pub fn ask_for_capacity(fd: impl AsFd, len: usize) {
    let len = libc::c_int::try_from(len).unwrap_or(libc::c_int::MAX);
    // SAFETY: F_SETPIPE_SZ takes a number.
    unsafe { libc::fcntl(fd.as_fd().as_raw_fd(), libc::F_SETPIPE_SZ, len) };
}

/// Lets standard input stand for `/dev/null`, or standard output for standard error, so that the pipe there is closed.
pub fn replace_standard(stream: StandardStream) -> io::Result<()> {
    let null = OpenOptions::new().read(true).open("/dev/null")?;
    let (from, to) = match stream {
        StandardStream::Input => (null.as_raw_fd(), 0),
        StandardStream::Output => (2, 1),
    };
    // SAFETY: dup2 takes numbers; nobody in this process owns the descriptors 0 and 1.
    if unsafe { libc::dup2(from, to) } < 0 {
        return Err(io::Error::last_os_error());
    }
    Ok(())
}

/// One of the two standard streams that packets may go through.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StandardStream {
    /// Descriptor 0.
    Input,
    /// Descriptor 1.
    Output,
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::{Read, Write};

    #[test]
    fn both_ends_of_a_pipe_have_its_identity_and_others_have_not() {
        let (reader, writer) = io::pipe().unwrap();
        let (other, _kept) = io::pipe().unwrap();
        assert_eq!(kind(&reader).unwrap(), kind(&writer).unwrap());
        assert_ne!(kind(&reader).unwrap(), kind(&other).unwrap());
        assert_eq!(kind(reference(&reader).unwrap()).unwrap(), kind(&writer).unwrap());
        assert!(is_anonymous(&reader) && !is_anonymous(File::open("/dev/null").unwrap()));
        assert_eq!((access(&reader).unwrap(), access(&writer).unwrap()), ((true, false), (false, true)));
    }

    #[test]
    fn a_reopened_end_does_not_block_and_the_first_one_does() {
        let (reader, mut writer) = io::pipe().unwrap();
        let mut again = reopen_to_read(&reader).unwrap();
        assert_eq!(again.read(&mut [0]).unwrap_err().kind(), io::ErrorKind::WouldBlock);
        // SAFETY: F_GETFL takes nothing and returns flags.
        let flags = unsafe { libc::fcntl(reader.as_raw_fd(), libc::F_GETFL) };
        assert_eq!(flags & libc::O_NONBLOCK, 0);
        writer.write_all(b"x").unwrap();
        assert_eq!(again.read(&mut [0]).unwrap(), 1);
    }

    #[test]
    fn a_process_has_the_ends_that_it_was_given() {
        let (reader, writer) = io::pipe().unwrap();
        let Kind::Pipe(id) = kind(&reader).unwrap() else { panic!() };
        let mut child = std::process::Command::new("cat")
            .stdin(reader)
            .stdout(std::process::Stdio::null())
            .spawn()
            .unwrap();
        let own = std::process::id();
        assert!(has_open(child.id(), id, false) && !has_open(child.id(), id, true));
        assert!(has_open(own, id, true) && !has_open(own, id, false));
        drop(writer);
        child.wait().unwrap();
        assert!(!has_open(child.id(), id, false));
    }

    #[test]
    fn what_a_socket_holds_does_not_hide_that_its_other_side_has_gone() {
        let (here, mut there) = std::os::unix::net::UnixStream::pair().unwrap();
        there.write_all(b"x").unwrap();
        assert!(!is_unread(&here));
        drop(there);
        assert!(is_unread(&here));
    }

    #[test]
    fn a_reference_does_not_keep_a_pipe_open() {
        let (mut reader, writer) = io::pipe().unwrap();
        let _reference = reference(&writer).unwrap();
        drop(writer);
        assert_eq!(reader.read(&mut [0]).unwrap(), 0);
    }
}
