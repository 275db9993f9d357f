//! The one error of this crate: what failed, on what, why, and what to do.

use std::fmt::Display;
use std::io;

use crate::bpf::BpfError;

pub type Result<T> = std::result::Result<T, SysError>;

/// What failed, on what, why, and what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum SysError {
    /// The kernel refused a call.
    #[error("{target}: {call}: {}{}", reason(.source), help(*.remedy))]
    Call {
        /// The system call or the request, as its manual page names it.
        call: &'static str,
        /// The device, file or socket it was about.
        target: String,
        source: io::Error,
        remedy: Option<&'static str>,
    },
    /// An argument cannot be what it is.
    #[error("{what} `{value}` {reason}{}", help(*.remedy))]
    Invalid { what: &'static str, value: String, reason: &'static str, remedy: Option<&'static str> },
    /// Something that another process prepared fails a check that safety depends on.
    #[error("{target}: {reason}{}", help(*.remedy))]
    Untrusted { target: String, reason: String, remedy: Option<&'static str> },
    /// A filter expression or program was refused.
    #[error(transparent)]
    Filter(#[from] BpfError),
}

impl SysError {
    /// The error number that the kernel gave, if it was the kernel that refused.
    pub fn errno(&self) -> Option<i32> {
        match self {
            Self::Call { source, .. } => source.raw_os_error(),
            _ => None,
        }
    }

    /// Whether the network device behind a descriptor is there no more, as the tap driver tells (EBADFD).
    pub fn is_device_gone(&self) -> bool {
        self.errno() == Some(libc::EBADFD)
    }

    /// What the operator can do about it.
    pub fn remedy(&self) -> Option<&'static str> {
        match self {
            Self::Call { remedy, .. } | Self::Invalid { remedy, .. } | Self::Untrusted { remedy, .. } => {
                *remedy
            }
            Self::Filter(error) => error.remedy(),
        }
    }

    pub(crate) fn call(call: &'static str, target: impl Into<String>, source: io::Error) -> Self {
        let remedy = source.raw_os_error().and_then(general_remedy);
        Self::Call { call, target: target.into(), source, remedy }
    }

    /// The error that the C library left behind for this thread.
    pub(crate) fn last(call: &'static str, target: impl Into<String>) -> Self {
        Self::call(call, target, io::Error::last_os_error())
    }

    pub(crate) fn invalid(what: &'static str, value: impl Into<String>, reason: &'static str) -> Self {
        Self::Invalid { what, value: value.into(), reason, remedy: None }
    }

    /// Prefers the remedy that the caller's topic knows for this error number.
    pub(crate) fn with_remedy(mut self, topic: fn(i32) -> Option<&'static str>) -> Self {
        if let Self::Call { source, remedy, .. } = &mut self {
            *remedy = source.raw_os_error().and_then(topic).or(*remedy);
        }
        self
    }
}

/// Turns the C convention (negative: look at `errno`) into a `Result`.
pub(crate) fn check(returned: libc::c_int, call: &'static str, target: &str) -> Result<libc::c_int> {
    if returned < 0 {
        Err(SysError::last(call, target))
    } else {
        Ok(returned)
    }
}

/// Makes a call until no signal interrupts it: the number that it returns, or why it failed.
pub(crate) fn retry<N: TryInto<usize>>(mut call: impl FnMut() -> N) -> io::Result<usize> {
    loop {
        if let Ok(n) = call().try_into() {
            return Ok(n);
        }
        let error = io::Error::last_os_error();
        if error.kind() != io::ErrorKind::Interrupted {
            return Err(error);
        }
    }
}

/// As [`check`], for calls that return a length; `None` when the call would have to wait or was interrupted.
pub(crate) fn check_io(returned: isize, call: &'static str, target: &str) -> Result<Option<usize>> {
    if let Ok(n) = usize::try_from(returned) {
        return Ok(Some(n));
    }
    let source = io::Error::last_os_error();
    match source.kind() {
        io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted => Ok(None),
        _ => Err(SysError::call(call, target, source)),
    }
}

/// Why something failed, in the system's words as the C library has them, without the number that Rust adds.
pub fn reason(error: &(impl Display + ?Sized)) -> String {
    const NUMBER: &str = " (os error ";
    let mut text = error.to_string();
    while let Some(start) = text.find(NUMBER) {
        let rest = &text[start + NUMBER.len()..];
        let n_digits = rest.bytes().take_while(u8::is_ascii_digit).count();
        if n_digits == 0 || !rest[n_digits..].starts_with(')') {
            break;
        }
        let remedy = match rest[..n_digits].parse() {
            Ok(libc::EMFILE) => ": raise the limit with `ulimit -n`",
            _ => "",
        };
        text.replace_range(start..start + NUMBER.len() + n_digits + 1, remedy);
    }
    text
}

/// Why a thread could not be started.
pub fn no_thread(error: &io::Error) -> String {
    format!(
        "no thread can be started: {}; raise the limits of memory (`ulimit -v`) and of processes (`ulimit -u`)",
        reason(error)
    )
}

fn general_remedy(errno: i32) -> Option<&'static str> {
    match errno {
        libc::EPERM => {
            Some("run as root, or grant the capability: `setcap cap_net_admin,cap_net_raw+ep` on weir")
        }
        libc::ENODEV => Some("`ip link` lists the devices of this network namespace"),
        libc::ENETDOWN => Some("bring the device up: `ip link set DEVICE up`"),
        _ => None,
    }
}

fn help(remedy: Option<&'static str>) -> String {
    remedy.map(|text| format!("\n  help: {text}")).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(error: SysError, expected: Expect) {
        expected.assert_eq(&error.to_string());
    }

    #[test]
    fn an_error_names_device_call_cause_and_remedy() {
        let source = io::Error::from_raw_os_error(libc::EPERM);
        check(
            SysError::call("socket", "eth0", source),
            expect![[r#"
                eth0: socket: Operation not permitted
                  help: run as root, or grant the capability: `setcap cap_net_admin,cap_net_raw+ep` on weir"#]],
        );
    }

    #[test]
    fn the_number_of_an_error_is_left_out() {
        assert_eq!(reason(&io::Error::from_raw_os_error(2)), "No such file or directory");
        assert_eq!(reason("a: Is a directory (os error 21): b"), "a: Is a directory: b");
        assert_eq!(reason("odd (os error)"), "odd (os error)");
        assert_eq!(reason("odd (os error x)"), "odd (os error x)");
    }

    #[test]
    fn what_to_do_about_too_many_open_files_is_told_once() {
        let error = || io::Error::from_raw_os_error(libc::EMFILE);
        assert_eq!(reason(&error()), "Too many open files: raise the limit with `ulimit -n`");
        check(
            SysError::call("dup", "eth0", error()),
            expect!["eth0: dup: Too many open files: raise the limit with `ulimit -n`"],
        );
    }

    #[test]
    fn a_topic_knows_better_remedies() {
        let source = io::Error::from_raw_os_error(libc::EPERM);
        let error = SysError::call("ioctl", "tap0", source).with_remedy(|_| Some("ask nicely"));
        assert_eq!((error.errno(), error.remedy()), (Some(libc::EPERM), Some("ask nicely")));
    }

    #[test]
    fn no_remedy_no_help_line() {
        check(
            SysError::invalid("device name", "a/b", "contains a slash"),
            expect!["device name `a/b` contains a slash"],
        );
    }
}
