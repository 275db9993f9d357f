//! Memory mappings that packets live in.

use std::os::fd::{AsRawFd, BorrowedFd};
use std::ptr::NonNull;

use crate::error::{Result, SysError};

/// How much a region wants huge pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum HugePages {
    /// Ordinary pages.
    Off,
    /// Transparent huge pages where the kernel can.
    Wanted,
    /// Reserved huge pages (`vm.nr_hugepages`) or an error. The length is rounded up to 2 MiB.
    Required,
}

/// One mapping that this value owns: it is unmapped on drop.
///
/// Only a raw pointer is given out: other threads, processes or the kernel may write the bytes at the same time.
#[derive(Debug)]
pub struct Region {
    start: NonNull<u8>,
    len: usize,
}

// SAFETY: a mapping belongs to the process, not to a thread, and this type gives no access to the bytes by itself.
unsafe impl Send for Region {}
// SAFETY: as above; the shared methods only read the address and the length.
unsafe impl Sync for Region {}

impl Region {
    /// Zeroed memory of this process alone, `len` bytes; pages are taken when first touched.
    pub fn anonymous(len: usize, huge: HugePages) -> Result<Self> {
        let private = libc::MAP_PRIVATE | libc::MAP_ANONYMOUS;
        if huge == HugePages::Required {
            // Without a reservation, a machine that runs out of huge pages answers the first touch with SIGBUS.
            let flags = private | libc::MAP_HUGETLB | libc::MAP_HUGE_2MB;
            return Self::map(round_up(len)?, flags, None, "huge-page memory")
                .map_err(|e| e.with_remedy(remedy));
        }
        let region = Self::map(len, private | libc::MAP_NORESERVE, None, "anonymous memory")?;
        if huge == HugePages::Wanted {
            // SAFETY: the range is the mapping made above. A kernel without transparent huge pages answers EINVAL,
            // and then ordinary pages serve as well.
            unsafe { libc::madvise(region.start.as_ptr().cast(), len, libc::MADV_HUGEPAGE) };
        }
        Ok(region)
    }

    /// The first byte, aligned to a page.
    pub fn as_ptr(&self) -> *mut u8 {
        self.start.as_ptr()
    }

    /// Bytes that may be used.
    pub fn len(&self) -> usize {
        self.len
    }

    pub fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// Maps `len` bytes readable and writable, of `fd` from its start, or anonymous.
    pub(crate) fn map(len: usize, flags: i32, fd: Option<BorrowedFd<'_>>, target: &str) -> Result<Self> {
        if len == 0 || isize::try_from(len).is_err() {
            return Err(SysError::invalid(
                "region length",
                len.to_string(),
                "is not between 1 and the address space",
            ));
        }
        let raw_fd = fd.map_or(-1, |fd| fd.as_raw_fd());
        let access = libc::PROT_READ | libc::PROT_WRITE;
        // SAFETY: the kernel chooses the address, so no existing mapping is touched.
        let start = unsafe { libc::mmap(std::ptr::null_mut(), len, access, flags, raw_fd, 0) };
        if start == libc::MAP_FAILED {
            return Err(SysError::last("mmap", target));
        }
        let start = NonNull::new(start.cast()).ok_or_else(|| SysError::last("mmap", target))?;
        Ok(Self { start, len })
    }
}

impl Drop for Region {
    fn drop(&mut self) {
        // SAFETY: this value owns the mapping, and whoever holds its pointer promised not to outlive it.
        unsafe { libc::munmap(self.start.as_ptr().cast(), self.len) };
    }
}

const HUGE_PAGE: usize = 2 << 20;

fn round_up(len: usize) -> Result<usize> {
    len.checked_next_multiple_of(HUGE_PAGE).ok_or_else(|| {
        SysError::invalid("region length", len.to_string(), "is larger than the address space")
    })
}

fn remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::ENOMEM => Some("reserve huge pages: `sysctl vm.nr_hugepages=512`"),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn touch_both_ends(region: &Region) {
        // SAFETY: both offsets lie inside the mapping, which nobody else uses.
        unsafe {
            assert_eq!((region.as_ptr().read(), region.as_ptr().add(region.len() - 1).read()), (0, 0));
            region.as_ptr().add(region.len() - 1).write(7);
            assert_eq!(region.as_ptr().add(region.len() - 1).read(), 7);
        }
    }

    #[test]
    fn anonymous_memory_is_zero_and_writable() {
        for huge in [HugePages::Off, HugePages::Wanted] {
            let region = Region::anonymous(3 << 20, huge).unwrap();
            assert_eq!(region.len(), 3 << 20);
            touch_both_ends(&region);
        }
    }

    #[test]
    fn required_huge_pages_are_there_or_an_error_with_a_remedy() {
        match Region::anonymous(1, HugePages::Required) {
            Ok(region) => {
                assert_eq!(region.len(), HUGE_PAGE);
                touch_both_ends(&region);
            }
            Err(error) => assert!(error.remedy().unwrap().contains("nr_hugepages")),
        }
    }

    #[test]
    fn impossible_lengths_are_errors() {
        for len in [0, usize::MAX, usize::MAX / 2 + 1] {
            assert!(Region::anonymous(len, HugePages::Off).is_err());
            assert!(len == 0 || Region::anonymous(len, HugePages::Required).is_err());
        }
    }

    #[test]
    fn a_region_is_unmapped_on_drop() {
        let region = Region::anonymous(1 << 20, HugePages::Off).unwrap();
        let start = region.as_ptr();
        drop(region);
        // SAFETY: msync touches no memory; it answers ENOMEM for a range that is not mapped.
        let unmapped = unsafe { libc::msync(start.cast(), 1 << 20, libc::MS_ASYNC) };
        // Another thread of the test may have mapped the range again, so only an error is evidence.
        if unmapped == -1 {
            assert_eq!(std::io::Error::last_os_error().raw_os_error(), Some(libc::ENOMEM));
        } else {
            println!("left out: the range was mapped again by another thread");
        }
    }
}
