//! Running graphs of the classes of this crate and of the library in tests.

/// Rounds that a graph may take.
const LIMIT: usize = 100_000;

/// Runs a graph in simulated time until it stops, or nothing is left to do for `LIMIT` rounds; yields what it printed on
/// standard error, diagnostics first, then the value of each read handler in `reads` as `name: value`.
pub fn run(config: &str, reads: &[&str]) -> String {
    let folders = elements::FOLDERS.iter().map(|(_, classes)| *classes);
    let library = testing::Library::new(folders.chain([crate::CLASSES]));
    library.run_simulated(config, reads, LIMIT)
}

/// Runs a graph and compares what it printed.
pub fn check(config: &str, expect: expect_test::Expect) {
    expect.assert_eq(&run(config, &[]));
}

/// Runs a graph and compares what it printed and the values of read handlers.
pub fn check_reading(config: &str, reads: &[&str], expect: expect_test::Expect) {
    expect.assert_eq(&run(config, reads));
}
