//! Lets the packets of one input pass, which can be changed while the graph runs.
//!
//! Those of the other inputs are dropped; those of all inputs if the input in use is negative.
//!
//! ```click
//! s :: InputSwitch(0) -> Discard;
//! RatedSource(RATE 10) -> [0]s;
//! RatedSource(RATE 20) -> [1]s;
//! Script(wait 1s, write s.switch 1);
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Refusal};

/// The class.
pub const CLASS: Class = Class::new::<InputSwitch>("InputSwitch", "-/1", "h/h", "x/x")
    .blind()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::optional("OUTPUT", "int", "The input, whatever the name says. Default 0.")];

const HANDLERS: &[Handler] = &[
    Handler::read_write("switch", "The input; one that does not exist is none, read as -1.")
        .flags("nonexclusive"),
    Handler::read("config", "The input.").flags("alike"),
];

const DROPS: &[DropReason] = &[DropReason::new("off", "The packet came by an input that is not in use.")];
const OFF: usize = 0;

/// See the page above.
pub struct InputSwitch {
    input: i32,
}

impl Element for InputSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<InputSwitch, Failed> {
        let input: i32 = conf.args.get_or("OUTPUT", 0);
        if i64::from(input) >= conf.n_inputs as i64 {
            conf.args.fail(format!("input must be < {}", conf.n_inputs));
        }
        conf.finish()?;
        Ok(InputSwitch { input })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        if usize::try_from(self.input) == Ok(port) {
            ctx.emit(0, batch);
        } else {
            ctx.drop_batch(OFF, batch);
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "switch" | "config" => Ok(self.input.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "switch" => {
                let input: i32 = args::integer(value).map_err(|_| "InputSwitch input must be integer")?;
                let exists = i64::from(input) < ctx.n_inputs() as i64;
                self.input = if exists { input } else { -1 };
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn one_input_passes() {
        check_reading(
            "a :: InfiniteSource(DATA a, LIMIT 1) -> s :: InputSwitch -> Print(p) -> Discard;
            b :: InfiniteSource(DATA b, LIMIT 1) -> [1]s;
            DriverManager(wait 1s, write s.switch 1, write a.reset, write b.reset, wait 1s, write s.switch 2, read s.switch,
                write a.reset, wait 1s, write s.config 1, read s.config, write s.config 2, write s.config OUTPUT -3,
                read s.switch, write s.switch x)",
            &["s.handlers"],
            expect![[r#"
                p:    1 | 61
                p:    1 | 62
                s.switch:
                -1
                s.config:
                1
                While executing 'DriverManager@6 :: DriverManager':
                  While calling 's.config 2':
                    input must be < 2
                s.switch:
                -3
                  While calling 's.switch x':
                    InputSwitch input must be integer
                s.handlers: switch	rw
                handlers	r.
                ports	r.
                config	rw
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn an_input_that_does_not_exist_is_refused() {
        check(
            "Idle -> InputSwitch(1) -> InputSwitch(OUTPUT -1) -> InputSwitch(0, 1) -> Discard",
            expect![[r#"
            config:1: While configuring 'InputSwitch@2 :: InputSwitch':
              input must be < 1
            config:1: While configuring 'InputSwitch@4 :: InputSwitch':
              too many arguments
            Router could not be initialized!
        "#]],
        );
    }
}
