//! Sends packets to the output of the thread that they come by.
//!
//! Thread 0, or core 0, uses output 0, and so on; threads beyond the outputs begin again at output 0.
//!
//! ```click
//! InfiniteSource -> c :: CPUSwitch -> a :: Counter -> Discard;
//! c [1] -> b :: Counter -> Discard;
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed};

/// The class.
pub const CLASS: Class = Class::new::<CpuSwitch>("CPUSwitch", "1/1-", "h/h", "x/x");

/// See the page above.
pub struct CpuSwitch {
    n_outputs: usize,
}

impl Element for CpuSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<CpuSwitch, Failed> {
        conf.finish()?;
        Ok(CpuSwitch { n_outputs: conf.n_outputs })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let thread = ctx.runtime().thread();
        ctx.emit(thread.checked_rem(self.n_outputs).unwrap_or(0), batch);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check_reading, run_threads};
    use expect_test::expect;

    const GRAPH: &str = "InfiniteSource(LIMIT 5) -> c :: CPUSwitch; i :: InfiniteSource(LIMIT 3) -> c;
        j :: InfiniteSource(LIMIT 1) -> c; StaticThreadSched(i 1, j 2);
        c [0] -> a :: Counter -> Discard; c [1] -> b :: Counter -> Discard; DriverManager(wait 0.1s, stop)";

    #[test]
    fn each_thread_has_its_output() {
        expect![[r#"
            a.count: 6
            b.count: 3
        "#]]
        .assert_eq(&run_threads(GRAPH, 3, &["a.count", "b.count"]));
    }

    #[test]
    fn one_thread_uses_the_first_output() {
        check_reading(
            GRAPH,
            &["a.count", "b.count"],
            expect![[r#"
            config:2: While configuring 'StaticThreadSched@5 :: StaticThreadSched':
              warning: thread preference 1 out of range
              warning: thread preference 2 out of range
            a.count: 9
            b.count: 0
        "#]],
        );
    }
}
