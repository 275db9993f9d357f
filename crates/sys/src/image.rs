//! The program's own file in memory.

use std::ffi::{c_int, c_void};
use std::io;
use std::os::fd::{AsRawFd, FromRawFd, OwnedFd};

use crate::error::{check, Result, SysError};

const TARGET: &str = "the program's file in memory";
/// `UFFD_USER_MODE_ONLY` of `linux/userfaultfd.h`: what ordinary users may ask for, too.
const USER_MODE_ONLY: c_int = 1;
/// `UFFD_API`.
const API: u64 = 0xaa;
/// `UFFD_FEATURE_WP_ASYNC` (Linux 6.7): the kernel itself resolves what is written, and takes files of any kind.
const WP_ASYNC: u64 = 1 << 15;
/// `UFFDIO_API`: `_IOWR(0xaa, 0x3f, struct uffdio_api)`.
const API_REQUEST: libc::Ioctl = 0xc018_aa3f_u32 as libc::Ioctl;
/// `UFFDIO_REGISTER`: `_IOWR(0xaa, 0, struct uffdio_register)`.
const REGISTER_REQUEST: libc::Ioctl = 0xc020_aa00_u32 as libc::Ioctl;
/// `UFFDIO_REGISTER_MODE_WP`.
const MODE_WP: u64 = 2;
/// The descriptor goes above those that a shell gives to a program.
const LOWEST_DESCRIPTOR: c_int = 100;

/// `struct uffdio_api`.
#[repr(C)]
struct Api {
    api: u64,
    features: u64,
    requests: u64,
}

/// `struct uffdio_register`.
#[repr(C)]
struct Register {
    start: u64,
    len: u64,
    mode: u64,
    requests: u64,
}

/// Has the kernel map the pages of the program's code and constants one by one, as they are needed.
///
/// It maps all of the 64 KiB around a page that is touched, if it has them in its cache. Of a large program that is nearly all, by
/// which the process seems to have several times the memory that it needs. There is no advice (`madvise`) against it, but memory
/// whose pages someone watches is left out; so this process watches its own, and never looks. Costs 0.2 ms of a start, as more
/// pages fault. Fails before Linux 6.7, and where a sandbox filters system calls (which may kill for an unusual one, so that it is
/// not even tried); then all is as it was.
pub fn map_page_by_page() -> Result<()> {
    // SAFETY: takes a number.
    if unsafe { libc::prctl(libc::PR_GET_SECCOMP) } != 0 {
        let source = io::Error::from_raw_os_error(libc::EPERM);
        return Err(SysError::call("prctl(PR_GET_SECCOMP)", TARGET, source));
    }
    // SAFETY: takes numbers.
    let raw = unsafe { libc::syscall(libc::SYS_userfaultfd, libc::O_CLOEXEC | USER_MODE_ONLY) };
    let raw = check(raw as c_int, "userfaultfd", TARGET)?;
    // SAFETY: the call returned a new descriptor that nothing else owns.
    let fd = unsafe { OwnedFd::from_raw_fd(raw) };
    let mut api = Api { api: API, features: WP_ASYNC, requests: 0 };
    // SAFETY: the request takes this structure, which lives during the call.
    check(unsafe { libc::ioctl(fd.as_raw_fd(), API_REQUEST, &mut api) }, "ioctl(UFFDIO_API)", TARGET)?;
    for (start, len) in read_only_segments() {
        let mut register = Register { start, len, mode: MODE_WP, requests: 0 };
        // SAFETY: as above. The kernel changes how it maps these pages, not what is in them.
        let returned = unsafe { libc::ioctl(fd.as_raw_fd(), REGISTER_REQUEST, &mut register) };
        check(returned, "ioctl(UFFDIO_REGISTER)", TARGET)?;
    }
    // It holds while a descriptor is open; this one is nobody's, and stays open as long as the process.
    // SAFETY: takes numbers.
    let kept = unsafe { libc::fcntl(fd.as_raw_fd(), libc::F_DUPFD_CLOEXEC, LOWEST_DESCRIPTOR) };
    check(kept, "fcntl(F_DUPFD_CLOEXEC)", TARGET).map(drop)
}

/// Start and length, in whole pages, of what is mapped of the program's file and not written.
fn read_only_segments() -> Vec<(u64, u64)> {
    unsafe extern "C" fn first(info: *mut libc::dl_phdr_info, _: libc::size_t, list: *mut c_void) -> c_int {
        // SAFETY: the library calls with its record, and with the list below, which nobody else has during the call.
        let (info, list) = unsafe { (&*info, &mut *list.cast::<Vec<(u64, u64)>>()) };
        // SAFETY: the record tells where the program's headers are, and how many.
        let headers = unsafe { std::slice::from_raw_parts(info.dlpi_phdr, info.dlpi_phnum.into()) };
        for header in headers.iter().filter(|h| h.p_type == libc::PT_LOAD && h.p_flags & libc::PF_W == 0) {
            // SAFETY: takes a number.
            let page = unsafe { libc::sysconf(libc::_SC_PAGESIZE) } as u64;
            let begin = info.dlpi_addr + header.p_vaddr;
            let (start, end) = (begin / page * page, (begin + header.p_memsz).next_multiple_of(page));
            list.push((start, end - start));
        }
        // The first record is the program's; the rest are of libraries.
        1
    }
    let mut list: Vec<(u64, u64)> = Vec::new();
    // SAFETY: the function is called during this call only, with the list, which outlives it.
    unsafe { libc::dl_iterate_phdr(Some(first), (&raw mut list).cast()) };
    list
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The flags (`VmFlags` of proc_pid_smaps(5)) of what is mapped of this program and not written.
    fn flags() -> Vec<String> {
        let program = std::env::current_exe().unwrap();
        let program = program.to_str().unwrap();
        let text = std::fs::read_to_string("/proc/self/smaps").unwrap();
        let mut of_program = false;
        let mut list = Vec::new();
        for line in text.lines() {
            if let Some(flags) = line.strip_prefix("VmFlags:") {
                list.extend(of_program.then(|| flags.to_string()));
            } else if line.contains('/') {
                of_program = line.ends_with(program)
                    && line.split(' ').nth(1).is_some_and(|may| may.as_bytes()[1] == b'-');
            } else if !line.split(' ').next().is_some_and(|word| word.ends_with(':')) {
                of_program = false;
            }
        }
        list
    }

    #[test]
    #[cfg_attr(miri, ignore = "looks at what the kernel has mapped")]
    fn code_and_constants_are_mapped_page_by_page() {
        let watched = |flags: &String| flags.split(' ').any(|flag| flag == "uw");
        assert!(!flags().is_empty() && !flags().iter().any(watched), "{:?}", flags());
        match map_page_by_page() {
            // What the loader has written, and protected since, is none of it.
            Ok(()) => assert!(flags().iter().filter(|flags| watched(flags)).count() >= 2, "{:?}", flags()),
            Err(told) => {
                assert!([libc::EINVAL, libc::EPERM, libc::ENOSYS].contains(&told.errno().unwrap()), "{told}");
                assert!(!flags().iter().any(watched), "{:?}", flags());
            }
        }
    }
}
