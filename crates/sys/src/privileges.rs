//! The rights of this process.

use std::io;

/// Makes the effective user and group the real ones, for all threads.
pub fn give_up() -> io::Result<()> {
    // SAFETY: these calls take and return numbers; the C library has all threads do the same.
    let (group, user) = unsafe { (libc::getgid(), libc::getuid()) };
    // The saved ones, too, with which a program that is not root's could take the rights back.
    // SAFETY: as above.
    let is_done =
        unsafe { libc::setresgid(group, group, group) == 0 && libc::setresuid(user, user, user) == 0 };
    if is_done {
        Ok(())
    } else {
        Err(io::Error::last_os_error())
    }
}
