//! Namespaces of this process: users, networks and mounts.

use std::ffi::CString;
use std::fs::File;
use std::os::fd::{AsFd, AsRawFd, BorrowedFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::path::Path;

use crate::error::{check, Result, SysError};

/// Whether this process may make namespaces without one for users first.
pub fn is_privileged() -> Result<bool> {
    let mut header = CapHeader { version: CAPABILITY_VERSION_3, pid: 0 };
    let mut data = [CapData::default(); 2];
    // SAFETY: version 3 of the call reads the header and writes two structures of data.
    let returned = unsafe { libc::syscall(libc::SYS_capget, &raw mut header, data.as_mut_ptr()) };
    check(returned as libc::c_int, "capget", "self")?;
    let needed = 1 << CAP_SYS_ADMIN | 1 << CAP_NET_ADMIN | 1 << CAP_NET_RAW;
    Ok(data[0].effective & needed == needed)
}

/// The user and group of this process.
pub fn user_and_group() -> (u32, u32) {
    // SAFETY: both take nothing, return a number and cannot fail.
    unsafe { (libc::geteuid(), libc::getegid()) }
}

/// Makes `user` and `group` of outside root in the new user namespace that this process is in.
pub fn map_to_root(user: u32, group: u32) -> Result<()> {
    // user_namespaces(7): an ordinary user may map groups only after giving up setgroups(2).
    write("/proc/self/setgroups", "deny")?;
    write("/proc/self/uid_map", &format!("0 {user} 1"))?;
    write("/proc/self/gid_map", &format!("0 {group} 1"))
}

/// The network namespace of the calling thread.
pub fn network() -> Result<OwnedFd> {
    let path = "/proc/thread-self/ns/net";
    File::open(path).map(OwnedFd::from).map_err(|e| SysError::call("open", path, e))
}

/// Puts the calling thread into a new network namespace.
pub fn unshare_network() -> Result<()> {
    // SAFETY: takes flags only.
    check(unsafe { libc::unshare(libc::CLONE_NEWNET) }, "unshare(CLONE_NEWNET)", "self").map(drop)
}

/// Puts the calling thread into a network namespace.
pub fn enter_network(namespace: BorrowedFd<'_>) -> Result<()> {
    // SAFETY: takes numbers only.
    check(unsafe { libc::setns(namespace.as_raw_fd(), libc::CLONE_NEWNET) }, "setns", "network namespace")
        .map(drop)
}

/// Checks that a descriptor that another process sent is a network namespace.
pub fn check_network(fd: OwnedFd) -> Result<OwnedFd> {
    // SAFETY: NS_GET_NSTYPE takes nothing and returns a number.
    match unsafe { libc::ioctl(fd.as_fd().as_raw_fd(), libc::NS_GET_NSTYPE as libc::Ioctl) } {
        libc::CLONE_NEWNET => Ok(fd),
        _ => {
            let reason = "it is no network namespace".into();
            Err(SysError::Untrusted { target: "received descriptor".into(), reason, remedy: None })
        }
    }
}

/// Keeps mounts made from now on from the namespace that this one was copied from; those made there still arrive.
pub fn keep_mounts_private() -> Result<()> {
    let flags = libc::MS_REC | libc::MS_SLAVE;
    mount_raw(None, Path::new("/"), None, flags).map_err(|error| error.with_remedy(remedy_for_root))
}

fn remedy_for_root(errno: i32) -> Option<&'static str> {
    (errno == libc::EINVAL).then_some(
        "the root of a chroot must be a mount point, which `mount --bind FOLDER FOLDER` makes of its folder",
    )
}

/// Mounts a kernel file system such as `proc`.
pub fn mount(kind: &str, target: &Path) -> Result<()> {
    let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
    mount_raw(Some(Path::new(kind)), target, Some(kind), flags)
}

/// Shows the file or folder `source` at `target`.
pub fn bind(source: &Path, target: &Path) -> Result<()> {
    mount_raw(Some(source), target, None, libc::MS_BIND)
}

fn mount_raw(source: Option<&Path>, target: &Path, kind: Option<&str>, flags: libc::c_ulong) -> Result<()> {
    let name = target.display().to_string();
    let c_string = |bytes: &[u8]| {
        CString::new(bytes).map_err(|_| SysError::invalid("mount point", name.clone(), "contains a NUL"))
    };
    let source = source.map(|path| c_string(path.as_os_str().as_bytes())).transpose()?;
    let kind = kind.map(|kind| c_string(kind.as_bytes())).transpose()?;
    let c_target = c_string(target.as_os_str().as_bytes())?;
    let pointer = |text: &Option<CString>| text.as_ref().map_or(std::ptr::null(), |text| text.as_ptr());
    // SAFETY: the strings live through the call; null stands for what these flags do not look at.
    let returned =
        unsafe { libc::mount(pointer(&source), c_target.as_ptr(), pointer(&kind), flags, std::ptr::null()) };
    check(returned, "mount", &name).map(drop)
}

fn write(path: &str, text: &str) -> Result<()> {
    std::fs::write(path, text).map_err(|e| SysError::call("write", path, e))
}

/// `_LINUX_CAPABILITY_VERSION_3` and numbers of linux/capability.h.
const CAPABILITY_VERSION_3: u32 = 0x2008_0522;
const CAP_NET_ADMIN: u32 = 12;
const CAP_NET_RAW: u32 = 13;
const CAP_SYS_ADMIN: u32 = 21;

#[repr(C)]
struct CapHeader {
    version: u32,
    pid: i32,
}

#[repr(C)]
#[derive(Clone, Copy, Default)]
struct CapData {
    effective: u32,
    permitted: u32,
    inheritable: u32,
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::link;
    use crate::testing::in_namespace;

    #[test]
    fn a_thread_goes_into_another_network_and_back() {
        in_namespace(|| {
            let first = network().unwrap();
            link::create_veth("left", "right").unwrap();
            unshare_network().unwrap();
            assert!(link::index("left").is_err());
            let second = check_network(network().unwrap()).unwrap();
            enter_network(first.as_fd()).unwrap();
            link::index("left").unwrap();
            enter_network(second.as_fd()).unwrap();
            assert!(link::index("left").is_err());
        });
    }

    #[test]
    fn what_is_no_network_is_refused() {
        let (_, writer) = std::io::pipe().unwrap();
        assert!(check_network(writer.into()).unwrap_err().to_string().contains("no network namespace"));
        let mounts = File::open("/proc/self/ns/mnt").unwrap();
        check_network(mounts.into()).unwrap_err();
    }

    #[test]
    fn mounting_where_nothing_is_names_the_place() {
        let error = bind(Path::new("/nonexistent/a"), Path::new("/nonexistent/b")).unwrap_err();
        assert!(error.to_string().starts_with("/nonexistent/b: mount"), "{error}");
        assert!(mount("proc", Path::new("a\0b")).unwrap_err().to_string().contains("NUL"));
    }
}
