//! Translates addresses and ports of TCP and UDP packets (NAT with ports).
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

use element::{Arg, Handler};

use super::base::Kind;
use super::handlers::common_handlers;
use super::rewriters::rewriter;
use super::settings::{
    common_args, DST_ANNO, TCP_DONE_TIMEOUT, TCP_GUARANTEE, TCP_NODATA_TIMEOUT, TCP_TIMEOUT, TIMEOUT_OF_TCP,
    UDP_STREAMING_TIMEOUT, UDP_TIMEOUT,
};

const ARGS: &[Arg] = common_args![
    UDP_TIMEOUT,
    UDP_STREAMING_TIMEOUT,
    Arg::keyword("UDP_GUARANTEE", "seconds", "How long a UDP mapping is safe after a packet. Default 5."),
    TCP_NODATA_TIMEOUT,
    TCP_GUARANTEE,
    TIMEOUT_OF_TCP,
    TCP_TIMEOUT,
    TCP_DONE_TIMEOUT,
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

rewriter!(IPRewriter, Kind::Ip);
