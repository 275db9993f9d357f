//! Pulls packets from one input, which can be changed while the graph runs.
//!
//! An INPUT that does not exist, such as a negative one, yields no packets. Tells pullers downstream whether the input that is
//! in use has something to pull; the other inputs do not wake them.
//!
//! ```click
//! s :: PullSwitch(0) -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> [0]s;
//! FromDump(in.pcap) -> Queue -> [1]s;
//! Script(wait 1s, write s.switch 1);
//! ```

use element::{
    same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, LlrpcError, Notifies, Refusal, Signal,
    Wake,
};

use super::simple_pull_switch::{existing, switch_llrpc};

/// The class.
pub const CLASS: Class = Class::new::<PullSwitch>("PullSwitch", "-/1", "l/l", "x/x")
    .blind()
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::optional("INPUT", "int", "The input; negative is none. Default 0.")];

const HANDLERS: &[Handler] = &[
    Handler::read_write("switch", "The input; one that does not exist is none, read as -1."),
    Handler::read("config", "The input.").flags("alike"),
];

/// See the page above.
pub struct PullSwitch {
    /// `None`: no packets.
    input: Option<usize>,
    /// Whether the notifier is active.
    is_awake: bool,
    signals: Vec<Signal>,
}

impl Element for PullSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<PullSwitch, Failed> {
        let input: i32 = conf.args.get_or("INPUT", 0);
        conf.finish()?;
        let input = existing(input, conf.n_inputs);
        Ok(PullSwitch { input, is_awake: true, signals: Vec::new() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.set_awake(ctx, self.input.is_some());
        self.signals =
            (0..ctx.n_inputs()).map(|port| ctx.upstream_empty_signal(port, Wake::Callback)).collect();
        Ok(())
    }

    fn notifies(&self) -> Notifies {
        Notifies::LATE
    }

    fn notified(&mut self, ctx: &mut Ctx<'_>) {
        if !self.is_awake && self.input_is_active(ctx) {
            self.set_awake(ctx, true);
        }
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let Some(input) = self.input else {
            self.set_awake(ctx, false);
            return Batch::new();
        };
        let batch = ctx.pull(input, max);
        if batch.len() < max && !self.input_is_active(ctx) {
            self.set_awake(ctx, false);
        } else if !batch.is_empty() {
            self.set_awake(ctx, true);
        }
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "switch" | "config" => Ok(self.input.map_or("-1".to_string(), |input| input.to_string())),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "switch" => {
                let input = args::integer::<i32>(value).map_err(|_| "syntax error")?;
                self.input = existing(input, ctx.n_inputs());
                self.follow_input(ctx);
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn llrpc(&mut self, ctx: &mut Ctx<'_>, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        let input = switch_llrpc(self.input, number, data)?;
        self.input = existing(input, ctx.n_inputs());
        self.follow_input(ctx);
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<PullSwitch>(ctx, old) {
            if self.signals.is_empty() {
                (self.signals, self.is_awake) = (old.signals, old.is_awake);
            }
            self.follow_input(ctx);
        }
    }
}

impl PullSwitch {
    /// Sets the notifier as the input, which has changed, demands.
    fn follow_input(&mut self, ctx: &mut Ctx<'_>) {
        if self.input.is_none() {
            self.set_awake(ctx, false);
        } else if self.input_is_active(ctx) {
            self.set_awake(ctx, true);
        }
    }

    fn input_is_active(&self, ctx: &Ctx<'_>) -> bool {
        let signal = self.input.and_then(|input| self.signals.get(input));
        signal.is_some_and(|signal| ctx.is_active(signal))
    }

    #[inline]
    fn set_awake(&mut self, ctx: &mut Ctx<'_>, is_awake: bool) {
        if self.is_awake != is_awake {
            self.is_awake = is_awake;
            ctx.set_empty_signal(is_awake);
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn pullers_sleep_while_the_input_in_use_has_nothing() {
        testing::check(
            r"
            a, b :: Queue; ba :: InfiniteSource(a, LIMIT 2) -> a;
            bb :: InfiniteSource(b, LIMIT 2) -> b;
            s :: PullSwitch(-1) -> u :: Unqueue -> Print -> Discard;
            a -> [0]s; b -> [1]s; Idle -> [2]s;
            DriverManager(read u.scheduled, wait 1s, read u.scheduled, write s.switch 1,
                read u.scheduled, wait 1s, read u.scheduled,
                write s.switch 2, write s.switch 0, read u.scheduled, wait 1s, read u.scheduled,
                write ba.reset, wait 1s, write bb.reset,
                wait 1s, read b.length, write s.switch 9, read s.switch, write s.switch x);
            ",
            expect![[r#"
                u.scheduled:
                true
                u.scheduled:
                false
                u.scheduled:
                true
                   1 | 62
                   1 | 62
                u.scheduled:
                false
                u.scheduled:
                true
                   1 | 61
                   1 | 61
                u.scheduled:
                false
                   1 | 61
                   1 | 61
                b.length:
                2
                s.switch:
                -1
                While executing 'DriverManager@10 :: DriverManager':
                  While calling 's.switch x':
                    syntax error
            "#]],
        );
    }

    #[test]
    fn a_new_configuration_keeps_the_signals() {
        testing::check(
            r"
            a, b :: Queue; InfiniteSource(a, LIMIT 1) -> a; InfiniteSource(b, LIMIT 1) -> b;
            s :: PullSwitch(-1) -> u :: Unqueue -> Print -> Discard;
            a -> [0]s; b -> [1]s;
            DriverManager(wait 1s, read u.scheduled, write s.config 1, read u.scheduled, wait 1s,
                read u.scheduled, read s.switch);
            ",
            expect![[r#"
                u.scheduled:
                false
                u.scheduled:
                true
                   1 | 62
                u.scheduled:
                false
                s.switch:
                1
            "#]],
        );
    }
}
