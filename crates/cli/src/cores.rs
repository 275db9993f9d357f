//! Threads and cores: what `--cores`, `--threads` and `--affinity` mean on this machine.

use engine::Layout;

/// Most threads that a graph may run on.
pub const MAX: u16 = 1024;

/// Why several cores and simulated time exclude each other.
pub const NO_SIMTIME: &str = "simulated time runs on one core; leave out --simtime or --cores";

/// The processors that the threads of a layout run on: a replica stays on a core of its own. Warns where there are not enough.
pub fn cpus(layout: Layout, warns: bool) -> Vec<usize> {
    let Layout::Cores(n @ 2..) = layout else { return Vec::new() };
    // Without a list of processors threads run where the system puts them.
    let allowed = sys::cpu::allowed().unwrap_or_default();
    if warns && n > allowed.len() {
        let n_allowed = allowed.len();
        eprintln!(
            "warning: {n} cores are asked for, but this process may use {n_allowed}; threads share them"
        );
    }
    if n > allowed.len() {
        return Vec::new();
    }
    allowed.into_iter().take(n).collect()
}
