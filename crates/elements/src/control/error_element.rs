//! Keeps the graph from running: another name of `Error`.
//!
//! ```click
//! Idle -> ErrorElement -> Discard;
//! ```

use element::Class;

use super::error;

/// The class.
pub const CLASS: Class = error::class("ErrorElement").alias_of("Error");

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_graph_does_not_run() {
        check(
            "Idle -> ErrorElement(1, 2) -> Discard",
            expect![[r#"
            Router could not be initialized!
        "#]],
        );
    }
}
