//! Who runs a test, and what devices there are for it.

use std::fmt;
use std::fs::{self, Permissions};
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};

use sys::namespace;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum User {
    /// Has all capabilities, if only in a user namespace.
    Root,
    /// Has none. May open taps, if root ran the tests or the machine lets all users.
    Ordinary,
    /// Has none, and there are no taps.
    WithoutTaps,
}

impl User {
    pub const ALL: [Self; 3] = [Self::Root, Self::Ordinary, Self::WithoutTaps];

    /// The command that runs another as this user.
    pub fn wrapper(self) -> Vec<&'static str> {
        let is_privileged = namespace::is_privileged().expect("the kernel tells");
        let mut words = Vec::new();
        if !is_privileged && self != Self::Ordinary {
            words.extend(["unshare", "--user", "--map-root-user"]);
        }
        let (has_all_users, drop): (bool, &[&str]) = match is_privileged && is_real_root() {
            true => (true, &["setpriv", "--reuid", "65534", "--regid", "65534", "--clear-groups"]),
            // user_namespaces(7): mapping root of the outer namespace needs this one capability.
            false => (false, &["setpriv", "--bounding-set=-all,+setfcap", "--inh-caps=-all"]),
        };
        match self {
            Self::Root => {}
            Self::Ordinary if has_all_users => {
                words.extend(["unshare", "--mount", "sh", "-c", OPEN_TAPS, "sh"])
            }
            Self::Ordinary => {}
            Self::WithoutTaps => words.extend(["unshare", "--mount", "sh", "-c", NO_TAPS, "sh"]),
        }
        if self != Self::Root && (is_privileged || self == Self::WithoutTaps) {
            words.extend(drop);
        }
        words
    }
}

impl fmt::Display for User {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(match self {
            Self::Root => "root",
            Self::Ordinary => "user",
            Self::WithoutTaps => "without taps",
        })
    }
}

const OPEN_TAPS: &str = "set -e; [ -d /dev/net ] || mkdir /dev/net; mount -t tmpfs none /dev/net; \
    mknod -m 666 /dev/net/tun c 10 200; exec \"$@\"";
const NO_TAPS: &str = "set -e; [ -d /dev/net ] && mount -t tmpfs none /dev/net; exec \"$@\"";

fn is_real_root() -> bool {
    let map = fs::read_to_string("/proc/self/uid_map").expect("/proc is mounted");
    map.split_whitespace().eq(["0", "0", "4294967295"])
}

/// A folder that every user can reach, with the program of these tests in it.
pub struct Stage(PathBuf);

impl Stage {
    pub fn new() -> Self {
        let folder = std::env::temp_dir().join(format!("weir-stack-tests-{}", std::process::id()));
        fs::create_dir(&folder).expect("a folder can be made");
        fs::set_permissions(&folder, Permissions::from_mode(0o1777)).expect("it is ours");
        let own = std::env::current_exe().expect("this is a program");
        fs::copy(own, folder.join("stacks")).expect("it can be copied");
        Self(folder)
    }

    pub fn program(&self) -> PathBuf {
        self.0.join("stacks")
    }
}

impl Drop for Stage {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.0);
    }
}

/// The folder of the program that runs, for a test to put things.
pub fn folder() -> PathBuf {
    let own = std::env::current_exe().expect("this is a program");
    own.parent().map(Path::to_path_buf).expect("it is in a folder")
}
