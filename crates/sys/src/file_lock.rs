//! Locks of files and folders (flock(2)).

use std::fs::File;
use std::io;
use std::os::fd::AsRawFd;

/// Says, for as long as `file` is open, that it is read. Some file systems have no locks: there nobody learns of it.
pub fn share(file: &File) {
    let _ = lock(file, libc::LOCK_SH);
}

/// Whether somebody has said that they read the file.
pub fn is_shared(file: &File) -> bool {
    match own(file) {
        Ok(()) => {
            release(file);
            false
        }
        Err(error) => error.kind() == io::ErrorKind::WouldBlock,
    }
}

/// Takes a file for oneself, if nobody has locked it.
pub fn own(file: &File) -> io::Result<()> {
    lock(file, libc::LOCK_EX)
}

/// Gives a file back.
pub fn release(file: &File) {
    let _ = lock(file, libc::LOCK_UN);
}

fn lock(file: &File, operation: libc::c_int) -> io::Result<()> {
    // SAFETY: flock takes a descriptor, which is open, and flags.
    match unsafe { libc::flock(file.as_raw_fd(), operation | libc::LOCK_NB) } {
        0 => Ok(()),
        _ => Err(io::Error::last_os_error()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_is_shared_as_long_as_somebody_reads_it() {
        let path = std::env::temp_dir().join(format!("weir-lock-{}", std::process::id()));
        let written = File::create(&path).unwrap();
        assert!(!is_shared(&written));
        let readers = [File::open(&path).unwrap(), File::open(&path).unwrap()];
        readers.iter().for_each(share);
        assert!(is_shared(&written));
        drop(readers);
        assert!(!is_shared(&written));
        std::fs::remove_file(&path).unwrap();
    }
}
