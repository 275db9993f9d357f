//! Says how packets flow through elements, instead of what their classes say.
//!
//! Each argument is the name of an element and a flow code, as Click's documentation describes them. Searches for notifiers follow
//! it. A code that is malformed lets nothing through.
//!
//! ```click
//! FlowInfo(s x/x);
//! InfiniteSource -> q :: Queue -> s :: Suppressor -> Unqueue -> Discard;
//! ```

use element::{Arg, Class, Configure, Ctx, Element, ElementIdx, Failed, Phase};

/// The class.
pub const CLASS: Class =
    Class::new::<FlowInfo>("FlowInfo", "0/0", "a/a", "x/x").args(ARGS).phase(Phase::INFO);

const ARGS: &[Arg] = &[Arg::rest("ELEMENT CODE", "name and flow code", "An element and its flow code.")];

/// See the page above.
pub struct FlowInfo {
    codes: Vec<(ElementIdx, String)>,
}

impl Element for FlowInfo {
    fn configure(conf: &mut Configure<'_>) -> Result<FlowInfo, Failed> {
        let mut codes = Vec::new();
        for argument in conf.args.rest() {
            // Mistakes do not end the start, as in Click.
            match args::split_words(&argument).as_slice() {
                [name, code] => {
                    let name = args::unquote_text(name);
                    match conf.environment.find(&name, conf.element) {
                        Some(idx) => codes.push((idx, code.clone())),
                        None => conf.note(format!("'{name}' does not name an element")),
                    }
                }
                _ => conf.note("expected 'ELEMENT CODE'"),
            }
        }
        conf.finish()?;
        Ok(FlowInfo { codes })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        for (idx, code) in &self.codes {
            ctx.runtime().set_flow_code(*idx, code);
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn notifiers_are_sought_along_the_codes() {
        let graph = "a :: Queue; b :: Queue; s :: Suppressor; a -> [0]s[0] -> u :: Unqueue -> Discard;
            b -> [1]s[1] -> v :: Unqueue -> Discard; Idle -> a; Idle -> b; a1 :: Queue -> NotifierDebug -> Discard; Idle -> a1;";
        check_reading(
            graph,
            &["u.scheduled"],
            expect![[r#"
            u.scheduled: false
        "#]],
        );
        check_reading(
            &format!("FlowInfo(\"s\" x/x, \"nobody\" x, s, s x y); {graph}"),
            &["u.scheduled"],
            expect![[r#"
                config:1: While configuring 'FlowInfo@1 :: FlowInfo':
                  'nobody' does not name an element
                  expected 'ELEMENT CODE'
                  expected 'ELEMENT CODE'
                u.scheduled: false
            "#]],
        );
    }
}
