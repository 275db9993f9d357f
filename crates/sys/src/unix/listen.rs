//! Listening at a path, where somebody else may listen, may begin to at the same time, or may have been killed.

use std::fs::{File, Metadata, OpenOptions};
use std::io::{self, ErrorKind};
use std::os::fd::OwnedFd;
use std::os::unix::fs::{FileTypeExt, MetadataExt, OpenOptionsExt};
use std::os::unix::net::{UnixListener, UnixStream};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use socket2::{Domain, SockAddr, Socket, Type};

use crate::file_lock;

/// How often it is looked whether others are done with a folder.
const LOOK: Duration = Duration::from_millis(1);
/// How long the end of a socket waits for them.
const END_PATIENCE: Duration = Duration::from_millis(10);

/// What came of it.
pub enum Listening {
    /// This process listens.
    Here(UnixListener, SocketFile),
    /// Somebody else does: the connection to them, which does not wait; none if too many wait for one already.
    Elsewhere(Option<UnixStream>),
}

/// The file of a socket that listens. It is removed on drop, if it is still that socket's: drop it before the socket, as nobody takes
/// the place of one that listens.
#[derive(Debug)]
pub struct SocketFile {
    path: PathBuf,
    /// The file itself, wherever its name leads now. As long as it is open, no other has its number.
    file: File,
}

/// Listens at a path unless somebody does. A socket of somebody who was killed is removed; whatever else is there stays, as
/// [`ErrorKind::AddrInUse`]. Of several that try at the same time one listens. If others are busy in the folder for longer than
/// `patience`, the error is [`ErrorKind::WouldBlock`].
pub fn listen_at(path: &Path, patience: Duration) -> io::Result<Listening> {
    let _lock = lock(path, patience)?;
    match connect(path) {
        Ok(stream) => return Ok(Listening::Elsewhere(Some(stream))),
        Err(error) if error.kind() == ErrorKind::WouldBlock => return Ok(Listening::Elsewhere(None)),
        Err(error) if error.kind() == ErrorKind::NotFound => {}
        Err(error) if error.kind() == ErrorKind::ConnectionRefused => {
            if std::fs::symlink_metadata(path).is_ok_and(|facts| facts.file_type().is_socket()) {
                std::fs::remove_file(path)?;
            }
        }
        Err(error) => return Err(error),
    }
    let listener = UnixListener::bind(path)?;
    // Both only name it: neither needs a right to read it, and neither follows a link.
    let flags = libc::O_PATH | libc::O_NOFOLLOW;
    match OpenOptions::new().read(true).custom_flags(flags).open(path) {
        Ok(file) => Ok(Listening::Here(listener, SocketFile { path: path.to_path_buf(), file })),
        Err(error) => {
            let _ = std::fs::remove_file(path);
            Err(error)
        }
    }
}

/// Connects without waiting.
pub fn connect(path: &Path) -> io::Result<UnixStream> {
    let socket = Socket::new(Domain::UNIX, Type::STREAM.nonblocking(), None)?;
    socket.connect(&SockAddr::unix(path)?)?;
    Ok(OwnedFd::from(socket).into())
}

impl SocketFile {
    fn is_own(&self) -> bool {
        let identity = |facts: Metadata| (facts.dev(), facts.ino());
        let there = std::fs::symlink_metadata(&self.path).map(identity);
        there.is_ok_and(|there| self.file.metadata().map(identity).is_ok_and(|own| own == there))
    }
}

impl Drop for SocketFile {
    fn drop(&mut self) {
        // Without the lock, only somebody who takes a socket that listens for one that does not could come between.
        let _lock = lock(&self.path, END_PATIENCE);
        if self.is_own() {
            let _ = std::fs::remove_file(&self.path);
        }
    }
}

/// A folder in which nobody else takes or leaves places.
struct Lock(File);

/// Locks the folder of a path: nothing is left behind, unlike a file to lock. `None` where the folder may not be read, or its file system
/// has no locks: then a name that is taken is all that tells.
fn lock(path: &Path, patience: Duration) -> io::Result<Option<Lock>> {
    let folder = path.parent().filter(|folder| !folder.as_os_str().is_empty()).unwrap_or(Path::new("."));
    let Ok(folder) = File::open(folder) else { return Ok(None) };
    let begin = Instant::now();
    loop {
        let Err(error) = file_lock::own(&folder) else { return Ok(Some(Lock(folder))) };
        match error.kind() {
            ErrorKind::WouldBlock if begin.elapsed() >= patience => return Err(error),
            ErrorKind::WouldBlock => std::thread::sleep(LOOK.min(patience)),
            ErrorKind::Interrupted => {}
            _ => return Ok(None),
        }
    }
}

impl Drop for Lock {
    fn drop(&mut self) {
        // A process that was begun meanwhile may have the descriptor, too.
        file_lock::release(&self.0);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::Scratch;
    use std::sync::Barrier;

    const PATIENCE: Duration = Duration::from_secs(60);

    fn here(path: &Path) -> Option<(UnixListener, SocketFile)> {
        match listen_at(path, PATIENCE).unwrap() {
            Listening::Here(listener, file) => Some((listener, file)),
            Listening::Elsewhere(_) => None,
        }
    }

    #[test]
    fn of_many_that_begin_at_once_one_listens_and_is_found() {
        const N: usize = 8;
        let scratch = Scratch::new();
        let path = scratch.path().join("socket");
        for _ in 0..100 {
            // Somebody was killed.
            drop(UnixListener::bind(&path).unwrap());
            let begin = Barrier::new(N);
            let listening: Vec<_> = std::thread::scope(|scope| {
                let try_it = || {
                    begin.wait();
                    here(&path)
                };
                let threads: Vec<_> = (0..N).map(|_| scope.spawn(try_it)).collect();
                threads.into_iter().filter_map(|thread| thread.join().unwrap()).collect()
            });
            assert_eq!(listening.len(), 1);
            for (listener, file) in listening {
                listener.set_nonblocking(true).unwrap();
                // The others left before anybody accepted.
                while listener.accept().is_ok() {}
                let _stream = connect(&path).unwrap();
                listener.accept().unwrap();
                drop(file);
            }
            assert!(!path.exists());
        }
    }

    #[test]
    fn the_socket_of_another_is_left_where_it_is() {
        let scratch = Scratch::new();
        let path = scratch.path().join("socket");
        let (listener, file) = here(&path).unwrap();
        assert!(here(&path).is_none());
        std::fs::remove_file(&path).unwrap();
        let _other = UnixListener::bind(&path).unwrap();
        drop(listener);
        drop(file);
        assert!(path.exists());
    }

    #[test]
    fn whatever_is_no_socket_is_left_where_it_is() {
        let scratch = Scratch::new();
        let (file, link) = (scratch.path().join("file"), scratch.path().join("link"));
        std::fs::write(&file, "text").unwrap();
        std::os::unix::fs::symlink(&file, &link).unwrap();
        for path in [&file, &link] {
            let error = listen_at(path, PATIENCE).map(drop).unwrap_err();
            assert_eq!(error.kind(), ErrorKind::AddrInUse);
        }
        assert_eq!(std::fs::read_to_string(&link).unwrap(), "text");
    }

    #[test]
    fn nobody_waits_longer_than_told() {
        let scratch = Scratch::new();
        let path = scratch.path().join("socket");
        let busy = lock(&path, Duration::ZERO).unwrap();
        let error = listen_at(&path, Duration::ZERO).map(drop).unwrap_err();
        assert_eq!(error.kind(), ErrorKind::WouldBlock);
        drop(busy);
        let (_listener, _file) = here(&path).unwrap();
        // Nothing else is there.
        assert_eq!(std::fs::read_dir(scratch.path()).unwrap().count(), 1);
    }

    #[test]
    fn a_socket_at_which_too_many_wait_is_not_taken() {
        let scratch = Scratch::new();
        let path = scratch.path().join("socket");
        let socket = Socket::new(Domain::UNIX, Type::STREAM, None).unwrap();
        socket.bind(&SockAddr::unix(&path).unwrap()).unwrap();
        socket.listen(0).unwrap();
        let _waits = connect(&path).unwrap();
        assert!(matches!(listen_at(&path, PATIENCE).unwrap(), Listening::Elsewhere(None)));
    }
}
