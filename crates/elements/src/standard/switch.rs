//! Sends all packets to one output, which can be changed while the graph runs.
//!
//! A negative OUTPUT drops all packets.
//!
//! ```click
//! FromDump(in.pcap) -> s :: Switch(0);
//! s[0] -> Discard;
//! s[1] -> Print -> Discard;
//! Script(wait 1s, write s.switch 1);
//! ```

use element::{
    llrpc, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, LlrpcError,
    Refusal,
};

/// The class.
pub const CLASS: Class = Class::new::<Switch>("Switch", "1/-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .blind()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::optional("OUTPUT", "int", "The output; negative is none. Default 0.")];

const HANDLERS: &[Handler] = &[
    Handler::read_write("switch", "The output; one that does not exist is none, read as -1.")
        .flags("nonexclusive"),
    Handler::read("config", "The output.").flags("alike"),
];

const DROPS: &[DropReason] = &[DropReason::new("off", "The switch was set to no output.")];
const OFF: usize = 0;

/// See the page above.
pub struct Switch {
    output: i32,
}

impl Element for Switch {
    fn configure(conf: &mut Configure<'_>) -> Result<Switch, Failed> {
        let output: i32 = conf.args.get_or("OUTPUT", 0);
        if usize::try_from(output).is_ok_and(|output| output >= conf.n_outputs) {
            conf.args.fail(format!("output must be < {}", conf.n_outputs));
        }
        conf.finish()?;
        Ok(Switch { output })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        match usize::try_from(self.output) {
            Ok(output) => ctx.emit(output, batch),
            Err(_) => ctx.drop_batch(OFF, batch),
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "switch" | "config" => Ok(self.output.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn llrpc(&mut self, ctx: &mut Ctx<'_>, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        let value = data.first_chunk_mut::<4>().ok_or(LlrpcError::Invalid)?;
        match number {
            llrpc::GET_SWITCH => *value = self.output.to_le_bytes(),
            llrpc::SET_SWITCH => {
                let output = i32::from_le_bytes(*value);
                if usize::try_from(output).is_ok_and(|output| output >= ctx.n_outputs()) {
                    return Err(LlrpcError::Invalid);
                }
                self.output = output;
            }
            _ => return Err(LlrpcError::Invalid),
        }
        Ok(())
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "switch" => {
                let output: i32 = args::integer(value).map_err(|_| "Switch output must be integer")?;
                let exists = usize::try_from(output).map_or(true, |output| output < ctx.n_outputs());
                self.output = if exists { output } else { -1 };
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing;
    use expect_test::expect;

    #[test]
    fn the_output_can_be_changed() {
        testing::check(
            r"
            i :: InfiniteSource(x, LIMIT 1) -> s :: Switch;
            s[0] -> Print(zero) -> Discard;
            s[1] -> Print(one) -> Discard;
            DriverManager(wait 1s, write s.switch 1, write i.reset, wait 1s, write s.switch 2,
                read s.switch, write i.reset, wait 1s,
                write s.switch x, write s.switch -4, read s.switch);
            ",
            expect![[r#"
                zero:    1 | 78
                one:    1 | 78
                s.switch:
                -1
                While executing 'DriverManager@7 :: DriverManager':
                  While calling 's.switch x':
                    Switch output must be integer
                s.switch:
                -4
            "#]],
        );
    }

    #[test]
    fn an_output_that_does_not_exist_is_refused() {
        testing::check(
            r"
            Idle -> Switch(1) -> Discard; Idle -> Switch(-7) -> Discard;
            Idle -> StaticSwitch(9) -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'Switch@2 :: Switch':
                  output must be < 1
                Router could not be initialized!
            "#]],
        );
    }
}
