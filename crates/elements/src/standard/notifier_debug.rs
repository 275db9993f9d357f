//! Passes packets on unchanged, and tells which notifiers are near.
//!
//! Handler `signal` tells of the notifiers of queues downstream, which say whether they have room, where packets are pushed, and
//! of those upstream, which say whether there is something to pull, where they are pulled. Each is a bit of a numbered word:
//! `empty.0/3:1*` stands for the first two notifiers of that kind, of which the first is active. `busy*` is always active,
//! `idle` never.
//!
//! ```click
//! InfiniteSource -> n :: NotifierDebug -> Queue -> Unqueue -> Discard;
//! Script(wait 1s, print n.signal);
//! ```

use element::{Batch, Class, Configure, Ctx, Element, Failed, Handler, Signal, Wake};

/// The class.
pub const CLASS: Class = Class::new::<NotifierDebug>("NotifierDebug", "1/1", "a/a", "x/x").handlers(HANDLERS);

const HANDLERS: &[Handler] =
    &[Handler::read("signal", "The notifiers that are near, a star behind active ones.")];

/// See the page above.
pub struct NotifierDebug {
    signal: Signal,
}

impl Element for NotifierDebug {
    fn configure(conf: &mut Configure<'_>) -> Result<NotifierDebug, Failed> {
        conf.finish()?;
        Ok(NotifierDebug { signal: Signal::Busy })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.signal = match ctx.input_is_push(0) {
            true => ctx.downstream_full_signal(0, Wake::Nobody),
            false => ctx.upstream_empty_signal(0, Wake::Nobody),
        };
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        ctx.pull(0, max)
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "signal" => Ok(ctx.describe_signal(&self.signal)),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn notifiers_are_words_and_bits() {
        let queues: String =
            (0..40).map(|n| format!("Idle -> q{n} :: QuickNoteQueue(1) -> [{n}]s; ")).collect();
        check_reading(
            &format!(
                "s :: RoundRobinSched; {queues} InfiniteSource(LIMIT 1) -> q1; InfiniteSource(LIMIT 1) -> q39;
                s -> all :: NotifierDebug -> Unqueue(ACTIVE false) -> busy :: NotifierDebug -> Discard;
                Idle -> full :: NotifierDebug -> t :: Tee -> q1; t[1] -> q39; t[2] -> r :: Queue -> Discard;
                Idle -> Discard; Idle -> idle :: NotifierDebug -> Unqueue -> Discard;"
            ),
            &["all.signal", "busy.signal", "full.signal", "idle.signal"],
            expect![[r#"
                all.signal: empty.0/ffffffff:ffffffff*+empty.1/ff:ff*
                busy.signal: busy*
                full.signal: full.0/2:0+full.1/180:100*
                idle.signal: idle
            "#]],
        );
    }
}
