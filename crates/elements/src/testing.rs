//! Running graphs of this crate's classes in tests.

use engine::{BuildOptions, Layout};

/// Rounds that a graph may take.
const LIMIT: usize = 100_000;

/// Runs a graph in simulated time until it stops, or nothing is left to do for `LIMIT` rounds; yields what it printed on
/// standard error, diagnostics first, then the value of each read handler in `reads` as `name: value`.
pub fn run(config: &str, reads: &[&str]) -> String {
    run_threads(config, 1, reads)
}

/// As [`run`], on several threads, which take turns in simulated time.
pub fn run_threads(config: &str, n_threads: usize, reads: &[&str]) -> String {
    let options = BuildOptions { layout: Layout::Threads(n_threads), ..testing::simulated() };
    run_with(options, config, reads, || false)
}

/// As [`run`], until `is_done` says so, which is asked before each round.
pub fn run_until(config: &str, reads: &[&str], is_done: impl FnMut() -> bool) -> String {
    run_with(testing::simulated(), config, reads, is_done)
}

/// As [`run`], by the clock of the machine, until the graph stops itself.
pub fn run_in_real_time(config: &str, reads: &[&str]) -> String {
    library().run(BuildOptions::default(), config, reads, |_| false)
}

fn run_with(
    options: BuildOptions,
    config: &str,
    reads: &[&str],
    mut is_done: impl FnMut() -> bool,
) -> String {
    let mut rounds = 0;
    library().run(options, config, reads, |world| {
        rounds += 1;
        rounds >= LIMIT || world.is_idle() || is_done()
    })
}

fn library() -> testing::Library {
    testing::Library::new(crate::FOLDERS.iter().map(|(_, classes)| *classes))
}

/// Runs a graph and compares what it printed.
pub fn check(config: &str, expect: expect_test::Expect) {
    expect.assert_eq(&run(config, &[]));
}

/// Runs a graph and compares what it printed and the values of read handlers.
pub fn check_reading(config: &str, reads: &[&str], expect: expect_test::Expect) {
    expect.assert_eq(&run(config, reads));
}
