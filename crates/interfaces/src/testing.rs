//! Running graphs in tests: in simulated time, on several cores, between devices.

use std::time::{Duration, Instant};

use element::{Runtime, TOP};
use engine::world::World;
use engine::{BuildOptions, Layout};
use testing::Library;

pub use testing::{cannot_run, in_namespace};

/// The classes of this crate and of the library.
fn library() -> Library {
    let folders = elements::FOLDERS.iter().map(|(_, classes)| *classes);
    Library::new(folders.chain([crate::CLASSES, &[crate::offload_source::CLASS]]))
}

/// Rounds that a graph may take: with nothing to do but wait, a round takes a millisecond.
const LIMIT: usize = 20_000;
/// How long a graph may take in real time.
const PATIENCE: Duration = Duration::from_secs(30);

/// Runs a graph in simulated time until it stops, or nothing is left to do, or for `LIMIT` rounds; yields what it printed
/// on standard error, diagnostics first, then the value of each read handler in `reads` as `name: value`.
pub fn run(config: &str, reads: &[&str]) -> String {
    run_until(config, reads, |world| world.is_idle())
}

/// As [`run`], until `is_done` says so.
pub fn run_until(config: &str, reads: &[&str], mut is_done: impl FnMut(&mut World) -> bool) -> String {
    let mut rounds = 0;
    library().run(testing::simulated(), config, reads, |world| {
        rounds += 1;
        rounds >= LIMIT || is_done(world)
    })
}

/// As [`run`] with bursts of one, as in Click, until the graph stops: packets go one by one if time is simulated, else as many together as
/// nobody notices.
pub fn run_as_click(is_simulated: bool, config: &str, reads: &[&str]) -> String {
    let time = if is_simulated { testing::simulated() } else { BuildOptions::default() };
    library().run(BuildOptions { burst: 1, ..time }, config, reads, |_| false)
}

/// As [`run_until`], on `n` cores and in real time, for half a minute at most. `is_done` is asked when the first of them has
/// something to do.
pub fn run_on_cores(
    n: usize,
    config: &str,
    reads: &[&str],
    mut is_done: impl FnMut(&mut World) -> bool,
) -> String {
    let options = BuildOptions { layout: Layout::Cores(n), ..BuildOptions::default() };
    let begin = Instant::now();
    library().run(options, config, reads, |world| is_done(world) || begin.elapsed() > PATIENCE)
}

/// Whether a read handler's number has come to `n`.
pub fn has_reached(name: &'static str, n: u64) -> impl FnMut(&mut World) -> bool {
    move |world| {
        let value = world.read_handler(TOP, name, "").ok().and_then(|value| value.parse::<u64>().ok());
        value.is_some_and(|value| value >= n)
    }
}

/// Whether taps can be made here; if not, tests may be left out.
pub fn has_taps() -> bool {
    let tap = sys::tap::Tap::open(&sys::tap::Options::tap("probe%d"));
    if let Err(error) = &tap {
        cannot_run(error);
    }
    tap.is_ok()
}

/// Makes two devices, up and with addresses, that are connected to each other; false if that is not possible here and may be left out.
pub fn make_veth(name: &str, peer: &str) -> bool {
    if let Err(error) = sys::link::create_veth(name, peer) {
        cannot_run(error);
        return false;
    }
    for (device, last_byte) in [(name, 1), (peer, 2)] {
        sys::link::set_up(device, true).unwrap();
        sys::link::add_address(device, [192, 0, 2, last_byte].into(), 32).unwrap();
    }
    for device in [name, peer] {
        sys::link::await_running(device).unwrap();
    }
    true
}

/// Runs a graph and compares what it printed.
pub fn check(config: &str, expect: expect_test::Expect) {
    expect.assert_eq(&run(config, &[]));
}

/// Runs a graph and compares what it printed and the values of read handlers.
pub fn check_reading(config: &str, reads: &[&str], expect: expect_test::Expect) {
    expect.assert_eq(&run(config, reads));
}

/// A capture of a few hosts on an Ethernet.
pub const LAN: &str = concat!(env!("CARGO_MANIFEST_DIR"), "/../../captures/lan.pcap");

/// The bytes of [`LAN`].
pub fn lan() -> &'static [u8] {
    include_bytes!("../../../captures/lan.pcap")
}

/// A folder that is removed on drop.
pub struct Scratch(std::path::PathBuf);

impl Scratch {
    pub fn new() -> Scratch {
        static NEXT: std::sync::atomic::AtomicU32 = std::sync::atomic::AtomicU32::new(0);
        let idx = NEXT.fetch_add(1, std::sync::atomic::Ordering::Relaxed);
        let path = std::env::temp_dir().join(format!("weir-interfaces-test-{}-{idx}", std::process::id()));
        std::fs::create_dir(&path).unwrap();
        Scratch(path)
    }

    /// The path of a file in the folder.
    pub fn path(&self, name: &str) -> String {
        self.0.join(name).to_str().unwrap().to_string()
    }

    /// Makes a file; its path.
    pub fn file(&self, name: &str, bytes: &[u8]) -> String {
        let path = self.path(name);
        std::fs::write(&path, bytes).unwrap();
        path
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
