//! Changes packets' bits at random.
//!
//! Each bit is changed with probability P: `flip` inverts it, `set` makes it 1, `clear` makes it 0.
//!
//! ```click
//! FromDump(in.pcap) -> RandomBitErrors(0.0001) -> CheckIPHeader(14) -> Discard;
//! ```

use args::FixedPoint;
use element::{
    offload, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal,
};

use super::bit_errors::{BitErrors, BITS, CERTAIN};

/// The class.
pub const CLASS: Class = Class::new::<RandomBitErrors>("RandomBitErrors", "1/1", "a/a", "x/x")
    .causes(Causes::CHANGES)
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .refuses(&[
        ("config", Refusal::Misread),
        ("error_kind", Refusal::Misread),
        ("p_bit_error", Refusal::Misread),
    ])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("P", "probability", "The probability of an error in a bit, 0 to 1."),
    Arg::optional("KIND", "`flip`, `set` or `clear`", "What is done to the bit. Default flip."),
    Arg::optional("ACTIVE", "bool", "If false, all packets pass unchanged. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("p_bit_error", "The probability of an error in a bit.").flags("setting=P"),
    Handler::read_write("error_kind", "What is done to the bit.").flags("setting=KIND"),
    Handler::read_write("active", "If false, all packets pass unchanged."),
];

/// See the page above.
pub struct RandomBitErrors {
    probability: u32,
    errors: BitErrors,
    kind: Kind,
    is_active: bool,
    /// What `active` becomes again when another parameter is written.
    is_active_by_argument: bool,
}

/// What is done to a wrong bit.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Kind {
    Flip,
    Set,
    Clear,
}

impl Element for RandomBitErrors {
    fn configure(conf: &mut Configure<'_>) -> Result<RandomBitErrors, Failed> {
        let FixedPoint::<BITS>(probability) = conf.args.need("P");
        let kind: Option<String> = conf.args.get("KIND");
        let is_active = conf.args.get_or("ACTIVE", true);
        let kind = Kind::named(kind.as_deref().unwrap_or_default());
        if let Err(message) = &kind {
            conf.args.fail(message);
        } else if let Err(message) = check(probability) {
            conf.args.fail(message);
        }
        conf.finish()?;
        if probability == 0 {
            conf.warning(UNDERFLOW);
        }
        Ok(RandomBitErrors {
            probability,
            errors: BitErrors::new(probability),
            kind: kind.unwrap_or(Kind::Flip),
            is_active,
            is_active_by_argument: is_active,
        })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        self.process(ctx, &mut batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = ctx.pull(0, max);
        self.process(ctx, &mut batch);
        batch
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "p_bit_error" => args::unparse_binary(self.probability, BITS),
            "error_kind" => self.kind.name().to_string(),
            "active" => self.is_active.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                self.is_active = args::boolean(value).map_err(|_| "expected boolean")?;
                return Ok(());
            }
            "p_bit_error" => {
                let probability = args::fixed_point(value, BITS).map_err(|error| format!("P: {error}"))?;
                check(probability)?;
                self.probability = probability;
                self.errors = BitErrors::new(probability);
            }
            "error_kind" => {
                // It becomes what follows the keyword KIND in the configuration.
                let kind = args::word(value.trim_start()).map_err(|error| format!("KIND: {error}"))?;
                self.kind = Kind::named(&kind)?;
            }
            _ => return Err(format!("no {name} write handler")),
        }
        if self.probability == 0 {
            ctx.warn(UNDERFLOW);
        }
        self.is_active = self.is_active_by_argument;
        Ok(())
    }
}

const UNDERFLOW: &str = "zero bit error probability (underflow?)";

fn check(probability: u32) -> Result<(), String> {
    if probability > CERTAIN {
        return Err("drop probability must be between 0 and 1".to_string());
    }
    Ok(())
}

impl RandomBitErrors {
    fn process(&self, ctx: &mut Ctx<'_>, batch: &mut Batch) {
        if self.is_active && !self.errors.are_none() {
            batch.iter_mut().for_each(|packet| self.change(ctx, packet));
        }
    }

    fn change(&self, ctx: &mut Ctx<'_>, packet: &mut Packet) {
        offload::settle(packet);
        for byte in packet.data_mut() {
            let wrong = self.errors.draw(|| ctx.random());
            match self.kind {
                Kind::Flip => *byte ^= wrong,
                Kind::Set => *byte |= wrong,
                Kind::Clear => *byte &= !wrong,
            }
        }
    }
}

impl Kind {
    fn named(name: &str) -> Result<Kind, String> {
        match name {
            "flip" | "" => Ok(Kind::Flip),
            "set" => Ok(Kind::Set),
            "clear" => Ok(Kind::Clear),
            _ => Err(format!("bad action '{name}' (must be 'set', 'clear', or 'flip')")),
        }
    }

    fn name(self) -> &'static str {
        match self {
            Kind::Flip => "flip",
            Kind::Set => "set",
            Kind::Clear => "clear",
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn bits_are_flipped_set_or_cleared() {
        check_reading(
            "RandomSeed(1); InfiniteSource(DATA \\<00000000 ffffffff 55555555>, LIMIT 1) -> t :: Tee;
             t [0] -> RandomBitErrors(0.1) -> Print(p) -> Discard;
             t [1] -> RandomBitErrors(0.5, set) -> Print(p) -> Discard;
             t [2] -> RandomBitErrors(0.5, KIND clear) -> Print(p) -> Discard;
             t [3] -> RandomBitErrors(1) -> Print(p) -> Discard;
             t [4] -> RandomBitErrors(1, flip, false) -> Print(p) -> Discard;
             DriverManager(wait 0.1s, stop)",
            &[],
            expect![[r#"
                p:   12 | 14088100 fddf7f7f dd515455
                p:   12 | 905488ff ffffffff d5d5dfdd
                p:   12 | 00000000 50cfcad9 11455501
                p:   12 | ffffffff 00000000 aaaaaaaa
                p:   12 | 00000000 ffffffff 55555555
            "#]],
        );
    }

    #[test]
    fn parameters_can_be_changed() {
        check_reading(
            "Idle -> r :: RandomBitErrors(0.25, ACTIVE false) -> Discard;
             DriverManager(write r.active true, read r.active, write r.p_bit_error 0.125, read r.active, read r.p_bit_error,
                 write r.p_bit_error 2, write r.p_bit_error x, write r.p_bit_error 0, write r.error_kind x,
                 write r.active x, write r.error_kind, write r.error_kind set, stop)",
            &["r.p_bit_error", "r.error_kind", "r.config"],
            expect![[r#"
                r.active:
                true
                r.active:
                false
                r.p_bit_error:
                0.125
                While calling 'r.p_bit_error 2':
                  drop probability must be between 0 and 1
                While calling 'r.p_bit_error x':
                  P: parse error
                While calling 'r.p_bit_error 0':
                  warning: zero bit error probability (underflow?)
                While calling 'r.error_kind x':
                  bad action 'x' (must be 'set', 'clear', or 'flip')
                While calling 'r.active x':
                  expected boolean
                While calling 'r.error_kind':
                  KIND: parse error
                While calling 'r.error_kind set':
                  warning: zero bit error probability (underflow?)
                r.p_bit_error: 0
                r.error_kind: set
                r.config: 0, ACTIVE false, KIND set
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> RandomBitErrors -> RandomBitErrors(x, y) -> RandomBitErrors(2, y) -> RandomBitErrors(2)
                -> RandomBitErrors(0, flip, 7) -> RandomBitErrors(0) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'RandomBitErrors@2 :: RandomBitErrors':
                  P: required argument missing
                config:1: While configuring 'RandomBitErrors@3 :: RandomBitErrors':
                  P: parse error
                config:1: While configuring 'RandomBitErrors@4 :: RandomBitErrors':
                  bad action 'y' (must be 'set', 'clear', or 'flip')
                config:1: While configuring 'RandomBitErrors@5 :: RandomBitErrors':
                  drop probability must be between 0 and 1
                config:2: While configuring 'RandomBitErrors@6 :: RandomBitErrors':
                  ACTIVE: parse error
                config:2: While configuring 'RandomBitErrors@7 :: RandomBitErrors':
                  warning: zero bit error probability (underflow?)
                Router could not be initialized!
            "#]],
        );
    }
}
