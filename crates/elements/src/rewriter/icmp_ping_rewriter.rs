//! Translates addresses and identifiers of ICMP echo requests and replies.
//!
//! Works as `IPRewriter`, whose page tells about specifications; the identifier takes the place of the source port of
//! requests. Only requests begin a mapping. Replies without one, and other packets, are dropped, or passed if their input's
//! specification is `pass`.
//!
//! ```click
//! rw :: ICMPPingRewriter(pattern 203.0.113.1 - 0-65535 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, TimerId};

use super::base::{Base, Kind};
use super::handlers::{self, table_handlers};
use super::settings::{common_args, DST_ANNO};

/// The class.
pub const CLASS: Class = Class::new::<ICMPPingRewriter>("ICMPPingRewriter", "1-/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(handlers::DROPS);

const ARGS: &[Arg] = common_args![
    DST_ANNO,
    Arg::keyword("TIMEOUT", "seconds", "How long a mapping lasts after a packet. Default 5 minutes."),
];

const HANDLERS: &[Handler] = table_handlers![];

/// See the page above.
pub struct ICMPPingRewriter {
    /// What it shares with the other rewriters.
    pub base: Base,
}

impl Element for ICMPPingRewriter {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPPingRewriter, Failed> {
        Ok(ICMPPingRewriter { base: Base::configure(Kind::Ping, conf)? })
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
        if let Ok(old) = old.downcast::<ICMPPingRewriter>() {
            self.base.take_state(ctx, &old.base);
        }
    }
}
