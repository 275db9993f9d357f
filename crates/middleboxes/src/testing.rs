//! Running graphs of the classes of this crate and of the library in tests.

/// Rounds that a graph may take.
const LIMIT: usize = 100_000;

/// Runs a graph in simulated time until it stops, or nothing is left to do for `LIMIT` rounds; yields what it printed on
/// standard error, diagnostics first, then the value of each read handler in `reads` as `name: value`.
pub fn run(config: &str, reads: &[&str]) -> String {
    library().run_simulated(config, reads, LIMIT)
}

fn library() -> testing::Library {
    let folders = elements::FOLDERS.iter().map(|(_, classes)| *classes);
    testing::Library::new(folders.chain([crate::CLASSES]))
}

/// Runs a graph for some rounds and saves its state; then another one that begins with that, saved `passed_ms` ago. Yields what was
/// saved, what could not be restored, what the second graph printed, and the values of its read handlers.
pub fn restored(before: &str, after: &str, passed_ms: i64, n_rounds: usize, reads: &[&str]) -> String {
    library().run_restored(before, after, passed_ms, n_rounds, reads)
}

/// Runs a graph and compares what it printed.
pub fn check(config: &str, expect: expect_test::Expect) {
    expect.assert_eq(&run(config, &[]));
}

/// Runs a graph and compares what it printed and the values of read handlers.
pub fn check_reading(config: &str, reads: &[&str], expect: expect_test::Expect) {
    expect.assert_eq(&run(config, reads));
}
