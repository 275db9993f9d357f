//! Translates addresses and ports of TCP and UDP packets (NAPT).
//!
//! Keeps a table of mappings for TCP and one for UDP. A packet whose addresses and ports have a mapping is rewritten by it,
//! checksums included, and leaves by the mapping's output. Another packet is treated as the specification of its input says:
//!
//! - `drop` or `discard`: dropped.
//! - `pass OUTPUT`: sent to OUTPUT as it is.
//! - `keep FOUTPUT ROUTPUT`: gets a mapping that changes nothing.
//! - `pattern SADDR SPORT DADDR DPORT FOUTPUT ROUTPUT`: gets a mapping to these addresses and ports. `-` keeps the packet's
//!   own. SPORT may be a range `L-H`, of which a port is taken so that replies can be told apart: the packet's own if it is
//!   free, else a random one. `L-H#` takes them in turn, `L-H?` always at random. Without a free port the packet is dropped.
//! - `pattern NAME FOUTPUT ROUTPUT`: the same with a pattern of `IPRewriterPatterns`.
//! - the name of a mapper element, such as `RoundRobinIPMapper`: gets the mapping that it chooses.
//!
//! A mapping has two directions: the flow leaves by FOUTPUT, and packets that answer it are rewritten back and leave by
//! ROUTPUT, whatever input they come from. Non-first fragments and packets of other protocols are dropped, or passed if
//! their input's specification is `pass`. Payloads are left alone.
//!
//! Mappings last for a time after their last packet. If there are MAPPING_CAPACITY of them, a new one takes the place of
//! the one that would end first, unless all had packets within the guaranteed time.
//!
//! ```click
//! rw :: IPRewriter(pattern 203.0.113.1 1024-65535 - - 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, TimerId};

use super::base::{Base, Kind};
use super::handlers::{self, common_handlers};
use super::settings::{common_args, DST_ANNO};

/// The class.
pub const CLASS: Class = Class::new::<IPRewriter>("IPRewriter", "1-/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(handlers::DROPS);

const ARGS: &[Arg] = common_args![
    Arg::keyword("UDP_TIMEOUT", "seconds", "How long a UDP mapping lasts after a packet. Default 5 minutes."),
    Arg::keyword(
        "UDP_STREAMING_TIMEOUT",
        "seconds",
        "The same with three packets or more, some of them replies. Default UDP_TIMEOUT."
    ),
    Arg::keyword("UDP_GUARANTEE", "seconds", "How long a UDP mapping is safe after a packet. Default 5."),
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

const HANDLERS: &[Handler] = common_handlers![
    Handler::read("tcp_table", "The TCP mappings, a line each direction; the direction's output has a star."),
    Handler::read("udp_table", "The UDP mappings."),
    Handler::read("tcp_mappings", "Old name of tcp_table.").flags("deprecated"),
    Handler::read("udp_mappings", "Old name of udp_table.").flags("deprecated"),
    Handler::read_param(
        "tcp_lookup",
        "What a TCP flow `SADDR SPORT DADDR DPORT` becomes; empty without a mapping."
    ),
];

/// See the page above.
pub struct IPRewriter {
    /// What it shares with the other rewriters.
    pub base: Base,
}

impl Element for IPRewriter {
    fn configure(conf: &mut Configure<'_>) -> Result<IPRewriter, Failed> {
        Ok(IPRewriter { base: Base::configure(Kind::Ip, conf)? })
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
        if let Ok(old) = old.downcast::<IPRewriter>() {
            self.base.take_state(ctx, &old.base);
        }
    }
}
