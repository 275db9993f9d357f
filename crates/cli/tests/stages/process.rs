//! Processes of tests: whose they are, where they run, and how long.

use std::fs::{self, File, Permissions};
use std::os::unix::fs::{chown, MetadataExt, PermissionsExt};
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::{Duration, Instant};

use nix::sys::signal::{killpg, Signal};
use nix::unistd::Pid;
use serde_json::Value;

const WEIR: &str = env!("CARGO_BIN_EXE_weir");
/// Somebody without any privilege.
const NOBODY: u32 = 65534;
/// How long anything that should happen at once may take on a busy machine.
pub const PATIENCE: Duration = Duration::from_secs(60);
/// How often to look whether it has.
const LOOK: Duration = Duration::from_millis(2);

/// Runs a test as each user that there is, in a folder of its own.
pub fn as_each_user(test: impl Fn(&Place)) {
    for uid in users() {
        println!("as user {uid}");
        test(&Place::new(uid));
    }
}

/// The user who runs the tests, and an ordinary one if that is root, who can become one. In a user namespace of one user
/// there is nobody else.
pub fn users() -> Vec<u32> {
    let own = own_uid();
    let map = fs::read_to_string("/proc/self/uid_map").expect("a process has a user namespace");
    let has_nobody = map.lines().any(|line| {
        let numbers: Vec<u64> = line.split_whitespace().filter_map(|word| word.parse().ok()).collect();
        let [first, _, n] = *numbers.as_slice() else { return false };
        (first..first + n).contains(&u64::from(NOBODY))
    });
    if own == 0 && has_nobody {
        vec![own, NOBODY]
    } else {
        vec![own]
    }
}

/// Two users, where there are as many.
pub fn two_users() -> Option<[u32; 2]> {
    let two = users().try_into().ok();
    if two.is_none() {
        println!("SKIP needs root, and another user");
    }
    two
}

fn own_uid() -> u32 {
    fs::metadata("/proc/self").expect("there is /proc").uid()
}

/// A user's folder: `bin` with weir, `home`, `run` for what processes find each other by, and what the test puts there.
pub struct Place {
    path: PathBuf,
    uid: u32,
}

impl Place {
    /// A new folder of a user.
    pub fn new(uid: u32) -> Place {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-stages-{}-{idx}", std::process::id()));
        let place = Place { path, uid };
        for folder in ["", "bin", "home", "run"] {
            let folder = place.path.join(folder);
            fs::create_dir(&folder).expect("a temporary folder can be made");
            fs::set_permissions(&folder, Permissions::from_mode(0o755)).expect("it is ours");
            chown(&folder, Some(uid), Some(uid)).expect("it can be given away");
        }
        let weir = place.path("bin/weir");
        std::os::unix::fs::symlink(WEIR, &weir).expect("links can be made");
        if !place.command("test").args(["-x", &weir]).status().is_ok_and(|status| status.success()) {
            // The user cannot reach the folder that weir was built in.
            fs::remove_file(&weir).expect("the link is ours");
            // What was just copied may be busy: a process that another test begins has the file until it is another program.
            let linked = fs::hard_link(WEIR, &weir);
            linked.or_else(|_| fs::copy(WEIR, &weir).map(drop)).expect("there is room for a copy of weir");
        }
        place
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.path.join(name).to_str().expect("names are text").to_string()
    }

    /// Makes a file of the user's.
    pub fn write(&self, name: &str, bytes: impl AsRef<[u8]>) -> String {
        let path = self.path(name);
        fs::write(&path, bytes).unwrap_or_else(|error| panic!("{path}: {error}"));
        chown(&path, Some(self.uid), Some(self.uid)).expect("it can be given away");
        path
    }

    /// What a file holds.
    pub fn read(&self, name: &str) -> Vec<u8> {
        let path = self.path(name);
        fs::read(&path).unwrap_or_else(|error| panic!("{path}: {error}"))
    }

    /// The number that a script writes to a file, once it has; the file is removed.
    #[track_caller]
    pub fn number(&self, name: &str) -> String {
        let mut text = String::new();
        until(&format!("there is a number in {name}"), || {
            text = fs::read_to_string(self.path(name)).unwrap_or_default();
            text.ends_with('\n')
        });
        fs::remove_file(self.path(name)).expect("it is there");
        text.trim().to_string()
    }

    /// A program that is to run as the user, in the folder, in a process group of its own. Signals end it, however the tests
    /// were started (`nohup`, `&`).
    pub fn command(&self, program: &str) -> Command {
        let mut command = Command::new("env");
        command.args(["--default-signal", program]);
        command.current_dir(&self.path).process_group(0).env_clear();
        command.env("PATH", format!("{}:/usr/sbin:/usr/bin:/sbin:/bin", self.path("bin")));
        command.env("HOME", self.path("home")).env("XDG_RUNTIME_DIR", self.path("run")).env("LC_ALL", "C");
        if self.uid != own_uid() {
            command.uid(self.uid).gid(self.uid);
        }
        command
    }

    /// Starts a script of the shell.
    pub fn start(&self, script: &str) -> Running {
        let mut command = self.command("bash");
        command.args(["-c", script]).stdin(Stdio::null());
        Running::start(command, self, script)
    }

    /// As [`Place::start`], where the user may make taps: an ordinary one gets a device file of its own, which the others on
    /// this machine do not see.
    pub fn start_with_taps(&self, script: &str) -> Running {
        if self.uid == own_uid() {
            return self.start(script);
        }
        let prepare = "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && exec \"$@\"";
        let uid = self.uid.to_string();
        let mut command = self.command("unshare");
        command
            .uid(0)
            .gid(0)
            .args(["--mount", "sh", "-c", prepare, "sh", "setpriv", "--reuid", &uid, "--regid", &uid]);
        command.args(["--clear-groups", "bash", "-c", script]).stdin(Stdio::null());
        Running::start(command, self, script)
    }

    /// Runs a script to its end.
    #[track_caller]
    pub fn run(&self, script: &str) -> Finished {
        self.start(script).finish()
    }

    /// Runs a script that must succeed; what it printed.
    #[track_caller]
    pub fn output(&self, script: &str) -> String {
        let finished = self.run(script);
        assert_eq!(finished.code, 0, "{finished:?}");
        finished.stdout
    }

    /// What `weir status --json` tells.
    pub fn status(&self) -> Vec<Value> {
        let output = self.command("weir").args(["status", "--json"]).output().expect("weir runs");
        let text = String::from_utf8_lossy(&output.stdout);
        text.lines().map(|line| serde_json::from_str(line).expect("each line is JSON")).collect()
    }

    /// The joints of all stages whose function contains `function`, as `INTERFACE JOINT`, once there are as many as `n`.
    #[track_caller]
    pub fn joints(&self, function: &str, n: usize) -> Vec<String> {
        let mut joints = Vec::new();
        until(&format!("{n} joints of {function}"), || {
            joints = self
                .status()
                .iter()
                .filter(|stage| has_function(stage, function))
                .flat_map(joints_of)
                .collect();
            joints.len() >= n
        });
        joints
    }

    /// Waits until all stages' streams go through rings, and there are `n` stages.
    #[track_caller]
    pub fn await_rings(&self, n: usize) {
        until(&format!("{n} stages joined by rings"), || {
            let status = self.status();
            let n_rings = status.iter().flat_map(joints_of).filter(|joint| joint.ends_with(" ring")).count();
            status.len() == n && n_rings == 2 * (n - 1)
        });
    }
}

fn has_function(stage: &Value, function: &str) -> bool {
    stage["function"].as_str().is_some_and(|text| text.contains(function))
}

fn joints_of(stage: &Value) -> Vec<String> {
    let interfaces = stage["interfaces"].as_array().expect("a stage has interfaces");
    let text = |value: &Value| value.as_str().expect("it is a word").to_string();
    interfaces.iter().map(|one| format!("{} {}", text(&one["name"]), text(&one["joint"]))).collect()
}

impl Drop for Place {
    fn drop(&mut self) {
        let _ = fs::remove_dir_all(&self.path);
    }
}

/// Waits until something is so; fails if it never is.
#[track_caller]
pub fn until(what: &str, mut is_so: impl FnMut() -> bool) {
    let begin = Instant::now();
    while !is_so() {
        assert!(begin.elapsed() < PATIENCE, "never: {what}");
        std::thread::sleep(LOOK);
    }
}

/// A process that runs, and all that it started.
pub struct Running {
    pub child: Child,
    /// Whether what it started may outlive it.
    leaves: bool,
    what: String,
    stdout: PathBuf,
    stderr: PathBuf,
}

/// What became of a process.
#[derive(Debug)]
#[allow(dead_code)] // The script is there to be shown.
pub struct Finished {
    pub script: String,
    pub code: i32,
    pub stdout: String,
    pub stderr: String,
}

impl Running {
    /// Starts a command that prints into files, unless it has other places to print to.
    pub fn start(mut command: Command, place: &Place, what: &str) -> Running {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, Ordering::Relaxed);
        let [stdout, stderr] = ["stdout", "stderr"].map(|name| place.path.join(format!("{name}.{idx}")));
        let file = |path: &Path| File::create(path).expect("the folder is ours");
        command.stderr(file(&stderr)).stdout(file(&stdout));
        let child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        Running { child, leaves: false, what: what.to_string(), stdout, stderr }
    }

    /// As [`Running::start`], but its output goes elsewhere.
    pub fn start_into(mut command: Command, output: impl Into<Stdio>, place: &Place, what: &str) -> Running {
        static NEXT: AtomicU32 = AtomicU32::new(0);
        let stderr = place.path.join(format!("errors.{}", NEXT.fetch_add(1, Ordering::Relaxed)));
        command.stderr(File::create(&stderr).expect("the folder is ours")).stdout(output);
        let child = command.spawn().unwrap_or_else(|error| panic!("{what}: {error}"));
        Running { child, leaves: false, what: what.to_string(), stdout: stderr.clone(), stderr }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    fn pid(&self) -> Pid {
        Pid::from_raw(self.child.id() as i32)
    }

    /// Whether it still runs.
    pub fn runs(&mut self) -> bool {
        matches!(self.child.try_wait(), Ok(None))
    }

    /// Waits for its end, which must come.
    #[track_caller]
    pub fn finish(mut self) -> Finished {
        let begin = Instant::now();
        let status = loop {
            if let Some(status) = self.child.try_wait().expect("it is a child") {
                break status;
            }
            if begin.elapsed() > PATIENCE {
                panic!("does not end: {}\n{}{}", self.what, lossy(&self.stdout), lossy(&self.stderr));
            }
            std::thread::sleep(LOOK);
        };
        let code = status.code().unwrap_or_else(|| 128 + status.signal().unwrap_or_default());
        Finished { script: self.what.clone(), code, stdout: lossy(&self.stdout), stderr: lossy(&self.stderr) }
    }

    /// As [`Running::finish`], but what it started goes on.
    #[track_caller]
    pub fn finish_and_leave(mut self) -> Finished {
        self.leaves = true;
        self.finish()
    }

    /// What it printed so far.
    pub fn stdout(&self) -> String {
        lossy(&self.stdout)
    }

    /// What it complained of so far.
    pub fn stderr(&self) -> String {
        lossy(&self.stderr)
    }
}

fn lossy(path: &Path) -> String {
    String::from_utf8_lossy(&fs::read(path).unwrap_or_default()).into_owned()
}

impl Drop for Running {
    fn drop(&mut self) {
        if !self.leaves {
            // What is left of it, such as what it put into the background.
            let _ = killpg(self.pid(), Signal::SIGKILL);
        }
        let _ = self.child.wait();
    }
}
