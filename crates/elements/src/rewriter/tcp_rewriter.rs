//! Translates addresses and ports of TCP packets, and sequence numbers where needed.
//!
//! Works as `IPRewriter`, whose page tells about specifications, but for TCP alone. When an element changes the length of a
//! flow's payload, the sequence and acknowledgement numbers behind the change are shifted, those of selective
//! acknowledgements too.
//!
//! ```click
//! rw :: TCPRewriter(pattern 203.0.113.1 1024-65535 - - 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, TimerId};

use super::base::{Base, Kind};
use super::handlers::{self, table_handlers};
use super::settings::{common_args, DST_ANNO};

/// The class.
pub const CLASS: Class = Class::new::<TCPRewriter>("TCPRewriter", "1-/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(handlers::DROPS);

const ARGS: &[Arg] = common_args![
    Arg::keyword(
        "TCP_NODATA_TIMEOUT",
        "seconds",
        "How long a TCP mapping lasts without data in both directions. Default 5 minutes."
    ),
    Arg::keyword("TCP_GUARANTEE", "seconds", "As GUARANTEE, which counts more."),
    Arg::keyword("TIMEOUT", "seconds", "Another name of TCP_TIMEOUT."),
    Arg::keyword(
        "TCP_TIMEOUT",
        "seconds",
        "How long a TCP mapping with data in both directions lasts. Default 24 hours."
    ),
    Arg::keyword(
        "TCP_DONE_TIMEOUT",
        "seconds",
        "How long a TCP mapping lasts after the connection's end. Default 4 minutes."
    ),
    DST_ANNO,
];

const HANDLERS: &[Handler] = table_handlers![Handler::read_param(
    "lookup",
    "What a flow `SADDR SPORT DADDR DPORT` becomes; empty without a mapping."
),];

/// See the page above.
pub struct TCPRewriter {
    /// What it shares with the other rewriters.
    pub base: Base,
}

impl Element for TCPRewriter {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPRewriter, Failed> {
        Ok(TCPRewriter { base: Base::configure(Kind::Tcp, conf)? })
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
        if let Ok(old) = old.downcast::<TCPRewriter>() {
            self.base.take_state(ctx, &old.base);
        }
    }
}
