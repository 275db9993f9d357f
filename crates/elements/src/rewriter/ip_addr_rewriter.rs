//! Translates source addresses of IP packets one to one (basic NAT).
//!
//! Works as `IPRewriter`, whose page tells about specifications, but mappings are found by the source address, or else by
//! the destination address for replies. Patterns are `SADDR -`. SADDR may be a range `L-H` or a prefix, of which a free
//! address is taken: a random one, or with `#` behind it the next one. All packets are rewritten, fragments too. REPLY_ANNO
//! is accepted, but has no effect.
//!
//! ```click
//! rw :: IPAddrRewriter(pattern 203.0.113.0/24 - 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, TimerId};

use super::base::{Base, Kind};
use super::handlers::{self, table_handlers};
use super::settings::common_args;

/// The class.
pub const CLASS: Class = Class::new::<IPAddrRewriter>("IPAddrRewriter", "1-/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(handlers::DROPS);

const ARGS: &[Arg] = common_args![Arg::keyword(
    "TIMEOUT",
    "seconds",
    "How long a mapping lasts after a packet. Default 2 hours."
),];

const HANDLERS: &[Handler] = table_handlers![];

/// See the page above.
pub struct IPAddrRewriter {
    /// What it shares with the other rewriters.
    pub base: Base,
}

impl Element for IPAddrRewriter {
    fn configure(conf: &mut Configure<'_>) -> Result<IPAddrRewriter, Failed> {
        Ok(IPAddrRewriter { base: Base::configure(Kind::Address, conf)? })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.base.initialize(ctx)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        self.base.push(ctx, port, batch);
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        self.base.run_timer(ctx, timer);
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, param: &str) -> Result<String, String> {
        self.base.read(ctx, name, param)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.base.write(ctx, name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let old: Box<dyn std::any::Any> = old;
        if let Ok(old) = old.downcast::<IPAddrRewriter>() {
            self.base.take_state(ctx, &old.base);
        }
    }
}
