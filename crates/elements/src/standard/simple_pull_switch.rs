//! Pulls packets from one input, which can be changed while the graph runs.
//!
//! An INPUT that does not exist yields no packets. Unlike `PullSwitch` it does not tell pullers downstream whether there is
//! something to pull: they are woken by any input.
//!
//! ```click
//! s :: SimplePullSwitch(0) -> Unqueue -> Discard;
//! InfiniteSource -> Queue -> [0]s;
//! FromDump(in.pcap) -> Queue -> [1]s;
//! ```

use element::{llrpc, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, LlrpcError, Refusal};

/// The class.
pub const CLASS: Class = Class::new::<SimplePullSwitch>("SimplePullSwitch", "-/1", "l/l", "x/x")
    .blind()
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] =
    &[Arg::optional("INPUT", "int", "The input; one that does not exist is none. Default 0.")];

const HANDLERS: &[Handler] = &[
    Handler::read_write("switch", "The input; one that does not exist is none, read as -1."),
    Handler::read("config", "The input.").flags("alike"),
];

/// See the page above.
pub struct SimplePullSwitch {
    /// `None`: no packets.
    input: Option<usize>,
}

impl Element for SimplePullSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<SimplePullSwitch, Failed> {
        let input: i32 = conf.args.get_or("INPUT", 0);
        conf.finish()?;
        Ok(SimplePullSwitch { input: existing(input, conf.n_inputs) })
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        self.input.map_or_else(Batch::new, |input| ctx.pull(input, max))
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "switch" | "config" => Ok(number(self.input).to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "switch" => {
                let input = args::integer(value).map_err(|_| "syntax error")?;
                self.input = existing(input, ctx.n_inputs());
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn llrpc(&mut self, ctx: &mut Ctx<'_>, number: u32, data: &mut [u8]) -> Result<(), LlrpcError> {
        switch_llrpc(self.input, number, data).map(|input| {
            self.input = existing(input, ctx.n_inputs());
        })
    }
}

/// The input of a number, if there is such an input.
pub(super) fn existing(input: i32, n_inputs: usize) -> Option<usize> {
    usize::try_from(input).ok().filter(|input| *input < n_inputs)
}

fn number(input: Option<usize>) -> i32 {
    input.and_then(|input| i32::try_from(input).ok()).unwrap_or(-1)
}

/// Answers the LLRPCs of switches: the number of the input to be used from now on.
pub(super) fn switch_llrpc(input: Option<usize>, call: u32, data: &mut [u8]) -> Result<i32, LlrpcError> {
    let value = data.first_chunk_mut::<4>().ok_or(LlrpcError::Invalid)?;
    match call {
        llrpc::GET_SWITCH => {
            *value = number(input).to_le_bytes();
            Ok(number(input))
        }
        llrpc::SET_SWITCH => Ok(i32::from_le_bytes(*value)),
        _ => Err(LlrpcError::Invalid),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_come_from_the_input_in_use() {
        check_reading(
            "InfiniteSource(x, LIMIT 5) -> q :: Queue -> [0] s :: SimplePullSwitch(0) -> u :: RatedUnqueue(1000) -> Discard;
             InfiniteSource(y, LIMIT 5) -> r :: Queue -> [1] s;
             DriverManager(wait 1s, write s.switch 2, stop)",
            &["q.length", "r.length", "s.config"],
            expect![[r#"
                q.length: 0
                r.length: 5
                s.config: 0
            "#]],
        );
    }
}
