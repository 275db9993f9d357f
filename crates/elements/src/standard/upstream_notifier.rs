//! Passes packets, and tells those that push whether they may.
//!
//! For trying out what sources do when there is no room downstream: packets pass whatever the signal is.
//!
//! ```click
//! i :: InfiniteSource -> u :: UpstreamNotifier(false) -> Discard;
//! DriverManager(wait 1s, read i.count, write u.signal true, wait 1s, stop);
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Notifies, SearchOp};

/// The class.
pub const CLASS: Class =
    Class::new::<UpstreamNotifier>("UpstreamNotifier", "1/1", "h/h", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[Arg::required("SIGNAL", "bool", "Whether those upstream may push.")];

const HANDLERS: &[Handler] =
    &[Handler::read_write("signal", "Whether those upstream may push.").flags("checkbox")];

/// See the page above.
pub struct UpstreamNotifier {
    is_active: bool,
}

impl Element for UpstreamNotifier {
    fn configure(conf: &mut Configure<'_>) -> Result<UpstreamNotifier, Failed> {
        let is_active = conf.args.need("SIGNAL");
        conf.finish()?;
        Ok(UpstreamNotifier { is_active })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        ctx.set_full_signal(self.is_active);
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies { full: Some(SearchOp::Stop), ..Notifies::default() }
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.emit(0, batch);
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "signal" => Ok(self.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "signal" => {
                self.is_active = args::boolean(value).map_err(|_| "signal parameter must be boolean")?;
                ctx.set_full_signal(self.is_active);
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn a_source_heeds_the_signal() {
        check_reading(
            "i :: InfiniteSource(LIMIT 5) -> u :: UpstreamNotifier(false) -> c :: Counter -> Discard;
             DriverManager(wait 0.1s, read i.count, read u.signal, write u.signal x, write u.signal true, wait 0.1s, stop)",
            &["c.count", "u.signal"],
            expect![[r#"
                i.count:
                0
                u.signal:
                false
                While executing 'DriverManager@5 :: DriverManager':
                  While calling 'u.signal x':
                    signal parameter must be boolean
                c.count: 5
                u.signal: true
            "#]],
        );
    }

    #[test]
    fn the_signal_must_be_given() {
        check_reading(
            "Idle -> UpstreamNotifier -> UpstreamNotifier(x) -> Discard",
            &[],
            expect![[r#"
            config:1: While configuring 'UpstreamNotifier@2 :: UpstreamNotifier':
              SIGNAL: required argument missing
            config:1: While configuring 'UpstreamNotifier@3 :: UpstreamNotifier':
              SIGNAL: parse error
            Router could not be initialized!
        "#]],
        );
    }
}
