//! Pulls from its inputs in proportion to their tickets.
//!
//! An input with twice the tickets yields twice the packets, as long as it has some; an input that has none leaves its turn to
//! the next. Stride scheduling says whose turn it is. Inputs that tell that they are empty are not pulled from.
//!
//! ```click
//! s :: StrideSched(2, 1) -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> [0]s;
//! InfiniteSource -> Queue -> [1]s;
//! ```

use element::{same, Batch, Class, Configure, Ctx, Element, Failed, Refusal, Signal, Wake};

use super::stride::{self, Stride};

/// The class.
pub const CLASS: Class = Class::new::<StrideSched>("StrideSched", "1-/1", "l/l", "x/x")
    .blind()
    .args(&[stride::TICKETS_ARG])
    .handlers(stride::HANDLERS)
    .silent()
    .refuses(&[("config", Refusal::FailedUnless("need "))])
    .live();

/// See the page above.
pub struct StrideSched {
    stride: Stride,
    signals: Vec<Signal>,
}

impl Element for StrideSched {
    fn configure(conf: &mut Configure<'_>) -> Result<StrideSched, Failed> {
        let stride = Stride::configure(conf, conf.n_inputs, "input");
        conf.finish()?;
        Ok(StrideSched { stride, signals: Vec::new() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.signals =
            (0..ctx.n_inputs()).map(|port| ctx.upstream_empty_signal(port, Wake::Nobody)).collect();
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        let signals = &self.signals;
        while batch.len() < max {
            let pulled = self.stride.turn(|port| {
                let is_active = signals.get(port).is_none_or(|signal| ctx.is_active(signal));
                if is_active {
                    ctx.pull_packet(port)
                } else {
                    None
                }
            });
            match pulled {
                Some(packet) => batch.push(packet),
                None => break,
            }
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.stride.read(name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.stride.write(ctx, name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<StrideSched>(ctx, old) {
            self.stride.take_over(&old.stride);
            if self.signals.is_empty() {
                self.signals = old.signals;
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn inputs_are_pulled_from_by_tickets() {
        testing::check(
            r"
            s :: StrideSched(2, 1, 0) -> Print(out) -> Unqueue(BURST 4) -> Discard;
            InfiniteSource(a, LIMIT 5) -> [0]s; InfiniteSource(b, LIMIT 5, STOP true) -> [1]s;
            InfiniteSource(c, LIMIT 5) -> [2]s;
            ",
            expect![[r#"
                out:    1 | 61
                out:    1 | 61
                out:    1 | 62
                out:    1 | 61
                out:    1 | 61
                out:    1 | 62
                out:    1 | 61
                out:    1 | 62
                out:    1 | 62
                out:    1 | 62
            "#]],
        );
    }

    #[test]
    fn tickets_can_be_changed() {
        testing::check(
            r"
            s :: StrideSched(1, 0) -> u :: Unqueue(LIMIT 2) -> Print(out) -> Discard;
            InfiniteSource(a) -> [0]s; InfiniteSource(b) -> [1]s;
            DriverManager(wait 1s, write s.tickets1 3, write u.limit 10, wait 1s, read s.tickets1,
                write s.tickets0 x,
                write s.tickets0 -1, write s.tickets0 0, read s.tickets0);
            ",
            expect![[r#"
                out:    1 | 61
                out:    1 | 61
                out:    1 | 61
                out:    1 | 62
                out:    1 | 62
                out:    1 | 62
                out:    1 | 61
                out:    1 | 62
                out:    1 | 62
                out:    1 | 62
                s.tickets1:
                3
                While executing 'DriverManager@7 :: DriverManager':
                  While calling 's.tickets0 x':
                    tickets value must be integer
                  While calling 's.tickets0 -1':
                    number of tickets must be >= 0
                s.tickets0:
                0
            "#]],
        );
    }
}
