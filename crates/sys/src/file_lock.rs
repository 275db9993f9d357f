//! Locks by which those who write a file see that others read it (flock(2)).

use std::fs::File;
use std::os::fd::AsRawFd;

/// Says, for as long as `file` is open, that it is read. Some file systems have no locks: there nobody learns of it.
pub fn share(file: &File) {
    // SAFETY: flock takes a descriptor, which is open, and flags.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_SH | libc::LOCK_NB) };
}

/// Whether somebody has said that they read the file.
pub fn is_shared(file: &File) -> bool {
    // SAFETY: flock takes a descriptor, which is open, and flags.
    if unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_EX | libc::LOCK_NB) } != 0 {
        return std::io::Error::last_os_error().kind() == std::io::ErrorKind::WouldBlock;
    }
    // SAFETY: as above.
    unsafe { libc::flock(file.as_raw_fd(), libc::LOCK_UN) };
    false
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
