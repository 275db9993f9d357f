//! Sealed memory files: memory that two processes share without trusting each other.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, FromRawFd, OwnedFd};

use crate::error::{check, Result, SysError};
use crate::region::Region;

/// A memory file whose size can never change again, so that touching a mapping of it can never fault.
#[derive(Debug)]
pub struct Memfd {
    fd: OwnedFd,
    len: usize,
}

impl Memfd {
    /// A new zeroed file of `len` bytes. `name` shows up in `/proc/PID/maps`.
    pub fn create(name: &str, len: usize) -> Result<Self> {
        let c_name =
            CString::new(name).map_err(|_| SysError::invalid("memory file name", name, "contains a NUL"))?;
        let flags = libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING;
        // SAFETY: `c_name` is a C string that lives through the call.
        let raw = check(unsafe { libc::memfd_create(c_name.as_ptr(), flags) }, "memfd_create", name)?;
        // SAFETY: the call returned a new descriptor that nothing else owns.
        let file = unsafe { File::from_raw_fd(raw) };
        file.set_len(len as u64).map_err(|e| SysError::call("ftruncate", name, e))?;
        // SAFETY: F_ADD_SEALS takes an integer.
        check(unsafe { libc::fcntl(raw, libc::F_ADD_SEALS, SEALS) }, "fcntl(F_ADD_SEALS)", name)?;
        Ok(Self { fd: file.into(), len })
    }

    /// Checks the seals and the size of a file that another process sent.
    pub fn from_received(fd: OwnedFd, max_len: usize) -> Result<Self> {
        // SAFETY: F_GET_SEALS takes nothing and returns a number.
        let seals = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_GET_SEALS) };
        if seals < 0 {
            return Err(untrusted("it is not a memory file".into()));
        }
        if seals & SEALS != SEALS {
            return Err(untrusted(format!("its size is not sealed (seals {seals:#x}, needed {SEALS:#x})")));
        }
        if seals & (libc::F_SEAL_WRITE | libc::F_SEAL_FUTURE_WRITE) != 0 {
            return Err(untrusted("it is sealed against writing".into()));
        }
        let file = File::from(fd);
        let size = file.metadata().map_err(|e| SysError::call("fstat", TARGET, e))?.len();
        match usize::try_from(size) {
            Ok(len) if (1..=max_len).contains(&len) => Ok(Self { fd: file.into(), len }),
            _ => Err(untrusted(format!("its size is {size} bytes, allowed are 1 to {max_len}"))),
        }
    }

    /// Maps the whole file, shared with everybody who has it.
    pub fn map(&self) -> Result<Region> {
        let flags = libc::MAP_SHARED | libc::MAP_NORESERVE;
        Region::map(self.len, flags, Some(self.fd.as_fd()), TARGET)
    }

    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }
}

impl AsFd for Memfd {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.fd.as_fd()
    }
}

const TARGET: &str = "shared memory";

/// `F_SEAL_SEAL` keeps the other side from making the file read-only later.
const SEALS: libc::c_int = libc::F_SEAL_SHRINK | libc::F_SEAL_GROW | libc::F_SEAL_SEAL;

fn untrusted(reason: String) -> SysError {
    let remedy = Some("the peer is no weir, or one of another version: start both from the same build");
    SysError::Untrusted { target: TARGET.into(), reason, remedy }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::io::Write;

    fn unsealed(len: u64) -> File {
        // SAFETY: a constant C string; the result is checked by the unwraps that follow.
        let raw =
            unsafe { libc::memfd_create(c"unsealed".as_ptr(), libc::MFD_CLOEXEC | libc::MFD_ALLOW_SEALING) };
        assert!(raw >= 0);
        // SAFETY: a new descriptor that nothing else owns.
        let file = unsafe { File::from_raw_fd(raw) };
        file.set_len(len).unwrap();
        file
    }

    #[test]
    fn both_mappings_show_the_same_bytes() {
        let ours = Memfd::create("test", 8192).unwrap();
        let theirs = Memfd::from_received(ours.as_fd().try_clone_to_owned().unwrap(), 8192).unwrap();
        let (a, b) = (ours.map().unwrap(), theirs.map().unwrap());
        assert_eq!((a.len(), b.len()), (8192, 8192));
        // SAFETY: offset 8191 lies inside both mappings; no other thread uses them.
        unsafe {
            a.as_ptr().add(8191).write_volatile(42);
            assert_eq!(b.as_ptr().add(8191).read_volatile(), 42);
        }
    }

    #[test]
    fn the_size_cannot_change_any_more() {
        let memory = Memfd::create("test", 4096).unwrap();
        let file = File::from(memory.as_fd().try_clone_to_owned().unwrap());
        for len in [0, 8192] {
            assert_eq!(file.set_len(len).unwrap_err().raw_os_error(), Some(libc::EPERM));
        }
    }

    #[test]
    fn files_without_the_seals_are_refused() {
        let error = Memfd::from_received(unsealed(4096).into(), 4096).unwrap_err();
        assert!(error.to_string().contains("not sealed"), "{error}");
        let (_, writer) = std::io::pipe().unwrap();
        assert!(Memfd::from_received(writer.into(), 4096)
            .unwrap_err()
            .to_string()
            .contains("not a memory file"));
    }

    #[test]
    fn read_only_files_are_refused() {
        let mut file = unsealed(0);
        file.write_all(&[1; 4096]).unwrap();
        // SAFETY: F_ADD_SEALS takes an integer.
        let sealed = unsafe { libc::fcntl(file.as_raw_fd(), libc::F_ADD_SEALS, SEALS | libc::F_SEAL_WRITE) };
        assert_eq!(sealed, 0);
        let error = Memfd::from_received(file.into(), 4096).unwrap_err();
        assert!(error.to_string().contains("against writing"), "{error}");
    }

    #[test]
    fn sizes_out_of_range_are_refused() {
        let memory = Memfd::create("test", 8192).unwrap();
        let fd = memory.as_fd().try_clone_to_owned().unwrap();
        assert!(Memfd::from_received(fd, 4096).unwrap_err().to_string().contains("8192 bytes"));
        let empty = Memfd::create("test", 0).unwrap();
        assert!(Memfd::from_received(empty.fd, 4096).is_err());
    }
}
