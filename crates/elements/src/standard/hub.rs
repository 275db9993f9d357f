//! Sends packets to all outputs but that of the number of the input they came by.
//!
//! ```click
//! FromDump(a.pcap) -> h :: Hub -> ToDump(to_a.pcap);
//! FromDump(b.pcap) -> [1] h [1] -> ToDump(to_b.pcap);
//! ```

use element::{Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed};

use super::tee::emit_clones;

/// The class.
pub const CLASS: Class = Class::new::<Hub>("Hub", "-/=", "h/h", "#/[^#]").causes(Causes::COPIES).drops(DROPS);

const NOWHERE: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("nowhere", "There is no other output.")];

/// See the page above.
pub struct Hub {
    n_outputs: usize,
}

impl Element for Hub {
    fn configure(conf: &mut Configure<'_>) -> Result<Hub, Failed> {
        conf.finish()?;
        Ok(Hub { n_outputs: conf.n_outputs })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let Some(last) = (0..self.n_outputs).rev().find(|output| *output != port) else {
            return ctx.drop_batch(NOWHERE, batch);
        };
        emit_clones(ctx, 0..port.min(last), &batch);
        emit_clones(ctx, port + 1..last, &batch);
        ctx.emit(last, batch);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_do_not_return_where_they_came_from() {
        check(
            "InfiniteSource(x, LIMIT 1) -> [0] h :: Hub; InfiniteSource(y, LIMIT 1) -> [1] h; Idle -> [2] h;
             h -> Print(0) -> Discard; h [1] -> Print(1) -> Discard; h [2] -> Print(2) -> Discard;
             DriverManager(wait 1s, stop)",
            expect![[r#"
                1:    1 | 78
                2:    1 | 78
                0:    1 | 79
                2:    1 | 79
            "#]],
        );
    }
}
