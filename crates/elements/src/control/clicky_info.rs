//! Keeps what Clicky, Click's graphical interface, is to know of the graph; does nothing.
//!
//! ```click
//! ClickyInfo(STYLE #foo { color: red });
//! ```

use element::{Arg, Class, Configure, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<ClickyInfo>("ClickyInfo", "0/0", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[Arg::rest("ANYTHING", "anything", "Ignored.")];

/// See the page above.
pub struct ClickyInfo;

impl Element for ClickyInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<ClickyInfo, Failed> {
        conf.finish()?;
        Ok(ClickyInfo)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn anything_is_taken() {
        check_reading(
            "i :: ClickyInfo(STYLE * { a: b }, , x)",
            &["i.config"],
            expect![[r#"
            i.config: STYLE * { a: b }, , x
        "#]],
        );
    }
}
