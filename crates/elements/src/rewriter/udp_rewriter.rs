//! Translates addresses and ports of UDP packets.
//!
//! Works as `IPRewriter`, whose page tells about specifications, with one table for all protocols: UDP, TCP (whose
//! connections are not followed) and DCCP.
//!
//! ```click
//! rw :: UDPRewriter(pattern 203.0.113.1 1024-65535 - - 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, TimerId};

use super::base::{Base, Kind};
use super::handlers::{self, table_handlers};
use super::settings::{common_args, DST_ANNO};

/// The class.
pub const CLASS: Class = Class::new::<UDPRewriter>("UDPRewriter", "1-/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(handlers::DROPS);

const ARGS: &[Arg] = common_args![
    DST_ANNO,
    Arg::keyword("UDP_TIMEOUT", "seconds", "How long a UDP mapping lasts after a packet. Default 5 minutes."),
    Arg::keyword(
        "UDP_STREAMING_TIMEOUT",
        "seconds",
        "The same with three packets or more, some of them replies. Default UDP_TIMEOUT."
    ),
    Arg::keyword("UDP_GUARANTEE", "seconds", "How long a UDP mapping is safe after a packet. Default 5."),
    Arg::keyword(
        "TIMEOUT",
        "seconds",
        "As UDP_TIMEOUT, and counts more: how long a mapping lasts after a packet. Default 5 minutes."
    ),
    Arg::keyword("STREAMING_TIMEOUT", "seconds", "As UDP_STREAMING_TIMEOUT, and counts more."),
];

const HANDLERS: &[Handler] = table_handlers![];

/// See the page above.
pub struct UDPRewriter {
    /// What it shares with the other rewriters.
    pub base: Base,
}

impl Element for UDPRewriter {
    fn configure(conf: &mut Configure<'_>) -> Result<UDPRewriter, Failed> {
        Ok(UDPRewriter { base: Base::configure(Kind::Udp, conf)? })
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
        if let Ok(old) = old.downcast::<UDPRewriter>() {
            self.base.take_state(ctx, &old.base);
        }
    }
}
