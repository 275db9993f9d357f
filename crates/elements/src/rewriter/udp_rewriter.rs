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

use element::{Arg, Handler};

use super::base::Kind;
use super::handlers::table_handlers;
use super::rewriters::rewriter;
use super::settings::{common_args, DST_ANNO, UDP_STREAMING_TIMEOUT, UDP_TIMEOUT};

const ARGS: &[Arg] = common_args![
    DST_ANNO,
    UDP_TIMEOUT,
    UDP_STREAMING_TIMEOUT,
    Arg::keyword("UDP_GUARANTEE", "seconds", "How long a UDP mapping is safe after a packet. Default 5."),
    Arg::keyword(
        "TIMEOUT",
        "seconds",
        "As UDP_TIMEOUT, and counts more: how long a mapping lasts after a packet. Default 5 minutes."
    ),
    Arg::keyword("STREAMING_TIMEOUT", "seconds", "As UDP_STREAMING_TIMEOUT, and counts more."),
];

const HANDLERS: &[Handler] = table_handlers![];

rewriter!(UDPRewriter, Kind::Udp);
