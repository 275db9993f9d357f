//! Passes packets from each input to the output of the same number, unless that port is suppressed.
//!
//! Every port is active at first. While one is not, packets pushed to it are dropped, and pulls find nothing. Arguments are
//! passed over.
//!
//! ```click
//! InfiniteSource -> s :: Suppressor -> Discard;
//! DriverManager(write s.active0 false, wait 1s, write s.reset);
//! ```

use element::{same, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler};

/// The class.
pub const CLASS: Class = Class::new::<Suppressor>("Suppressor", "-/=", "a/a", "#/#")
    .causes(Causes::NOTHING)
    .handlers(HANDLERS)
    .pulls_first()
    .drops(DROPS);

const HANDLERS: &[Handler] = &[
    Handler::read_write("active#", "Whether packets pass from this input to its output.")
        .flags("checkbox inputs"),
    Handler::write("reset", "Makes every port active.").flags("button"),
];

const DROPS: &[DropReason] = &[DropReason::new("suppressed", "The port was not active.")];
const SUPPRESSED: usize = 0;

/// See the page above.
pub struct Suppressor {
    /// By port.
    are_suppressed: Vec<bool>,
}

impl Element for Suppressor {
    fn configure(conf: &mut Configure<'_>) -> Result<Suppressor, Failed> {
        Ok(Suppressor { are_suppressed: vec![false; conf.n_outputs] })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        if self.is_suppressed(port) {
            ctx.drop_batch(SUPPRESSED, batch);
        } else {
            ctx.emit(port, batch);
        }
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        (!self.is_suppressed(port)).then_some((port, max))
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        let port = port_of(name).ok_or_else(|| format!("no {name} read handler"))?;
        Ok((!self.is_suppressed(port)).to_string())
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name == "reset" {
            self.are_suppressed.fill(false);
            return Ok(());
        }
        let place = port_of(name).and_then(|port| self.are_suppressed.get_mut(port));
        let place = place.ok_or_else(|| format!("no {name} write handler"))?;
        *place = !args::boolean(value).map_err(|_| "type mismatch")?;
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<Suppressor>(ctx, old) else { return };
        self.are_suppressed.iter_mut().zip(old.are_suppressed).for_each(|(own, old)| *own = old);
    }
}

impl Suppressor {
    fn is_suppressed(&self, port: usize) -> bool {
        self.are_suppressed.get(port).copied().unwrap_or(false)
    }
}

/// The port of handler `active#`.
fn port_of(name: &str) -> Option<usize> {
    name.strip_prefix("active")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn each_port_can_be_suppressed() {
        check_reading(
            "i :: InfiniteSource(DATA x, LIMIT 1) -> s :: Suppressor(any, thing) -> Print(0) -> Discard;
             j :: InfiniteSource(DATA y, LIMIT 1) -> Queue -> [1] s [1] -> Print(1) -> Discard;
             DriverManager(wait 0.1s, write s.active0 false, write s.active1 no, write i.reset, write j.reset, wait 0.1s,
                 read s.active0, read s.active1, write s.reset, write i.reset, wait 0.1s, write s.active1 x,
                 write s.active2 true, read s.handlers, stop)",
            &["s.active0", "s.active1"],
            expect![[r#"
                0:    1 | 78
                1:    1 | 79
                s.active0: false
                s.active1: false
            "#]],
        );
    }
}
