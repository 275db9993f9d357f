//! Keeps the graph from running.
//!
//! Any arguments and any number of ports are accepted, so that it can stand for an element that is not there.
//!
//! ```click
//! Idle -> Error(there is no such thing) -> Discard;
//! ```

use element::{Arg, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class = class("Error");

const ARGS: &[Arg] = &[Arg::rest("ANYTHING", "anything", "Ignored.")];

/// A class of these.
pub(super) const fn class(name: &'static str) -> Class {
    Class::new::<ErrorElement>(name, "-/-", "a/a", "x/y").args(ARGS)
}

/// See the page above.
pub struct ErrorElement;

impl Element for ErrorElement {
    fn configure(conf: &mut Configure<'_>) -> Result<ErrorElement, Failed> {
        conf.finish()?;
        Ok(ErrorElement)
    }

    /// Fails without a word.
    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        Err(String::new())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_graph_does_not_run() {
        check(
            "Idle -> Error(1, 2) -> Discard",
            expect![[r#"
            Router could not be initialized!
        "#]],
        );
    }
}
