//! Translates addresses of IP packets, by pairs of source and destination.
//!
//! Works as `IPRewriter`, whose page tells about specifications, but mappings are found by the two addresses alone, and
//! patterns are `SADDR DADDR`. SADDR may be a range `L-H` or a prefix, of which an address is taken so that replies can be
//! told apart: a random one, or with `#` behind it the next one. All packets are rewritten, fragments too. REPLY_ANNO is
//! accepted, but has no effect.
//!
//! ```click
//! rw :: IPAddrPairRewriter(pattern 203.0.113.0/24 - 0 1, drop);
//! inside :: Idle -> [0]rw;    outside :: Idle -> [1]rw;
//! rw[0] -> to_outside :: Discard;    rw[1] -> to_inside :: Discard;
//! ```

use element::{Arg, Handler};

use super::base::Kind;
use super::handlers::table_handlers;
use super::rewriters::rewriter;
use super::settings::common_args;

const ARGS: &[Arg] = common_args![Arg::keyword(
    "TIMEOUT",
    "seconds",
    "How long a mapping lasts after a packet. Default 2 hours."
),];

const HANDLERS: &[Handler] = table_handlers![];

rewriter!(IPAddrPairRewriter, Kind::Pair);
