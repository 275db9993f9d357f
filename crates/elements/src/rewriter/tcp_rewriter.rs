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

use element::{Arg, Handler};

use super::base::Kind;
use super::handlers::table_handlers;
use super::rewriters::rewriter;
use super::settings::{
    common_args, DST_ANNO, TCP_DONE_TIMEOUT, TCP_GUARANTEE, TCP_NODATA_TIMEOUT, TCP_TIMEOUT, TIMEOUT_OF_TCP,
};

const ARGS: &[Arg] =
    common_args![TCP_NODATA_TIMEOUT, TCP_GUARANTEE, TIMEOUT_OF_TCP, TCP_TIMEOUT, TCP_DONE_TIMEOUT, DST_ANNO,];

const HANDLERS: &[Handler] = table_handlers![Handler::read_param(
    "lookup",
    "What a flow `SADDR SPORT DADDR DPORT` becomes; empty without a mapping."
),];

rewriter!(TCPRewriter, Kind::Tcp);
