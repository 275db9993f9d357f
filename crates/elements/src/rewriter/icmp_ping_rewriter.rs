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

use element::{Arg, Handler};

use super::base::Kind;
use super::handlers::table_handlers;
use super::rewriters::rewriter;
use super::settings::{common_args, DST_ANNO};

const ARGS: &[Arg] = common_args![
    DST_ANNO,
    Arg::keyword("TIMEOUT", "seconds", "How long a mapping lasts after a packet. Default 5 minutes."),
];

const HANDLERS: &[Handler] = table_handlers![];

rewriter!(ICMPPingRewriter, Kind::Ping);
