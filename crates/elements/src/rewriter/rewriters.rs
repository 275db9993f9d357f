//! All rewriters, for elements that name one.

use element::{Ctx, ElementIdx};

use super::base::Base;
use super::icmp_ping_rewriter::ICMPPingRewriter;
use super::ip_addr_pair_rewriter::IPAddrPairRewriter;
use super::ip_addr_rewriter::IPAddrRewriter;
use super::ip_rewriter::IPRewriter;
use super::tcp_rewriter::TCPRewriter;
use super::udp_rewriter::UDPRewriter;

/// Whether a class is a rewriter's.
pub fn is_one(class: &str) -> bool {
    matches!(
        class,
        "IPRewriter"
            | "TCPRewriter"
            | "UDPRewriter"
            | "IPAddrPairRewriter"
            | "IPAddrRewriter"
            | "ICMPPingRewriter"
    )
}

/// Runs `f` on a rewriter; `None` if the element is none, or is busy.
pub fn with<R>(ctx: &mut Ctx<'_>, idx: ElementIdx, f: impl Fn(&mut Base, &mut Ctx<'_>) -> R) -> Option<R> {
    match ctx.class(idx) {
        "IPRewriter" => ctx.with(idx, |e: &mut IPRewriter, ctx| f(&mut e.base, ctx)),
        "TCPRewriter" => ctx.with(idx, |e: &mut TCPRewriter, ctx| f(&mut e.base, ctx)),
        "UDPRewriter" => ctx.with(idx, |e: &mut UDPRewriter, ctx| f(&mut e.base, ctx)),
        "IPAddrPairRewriter" => ctx.with(idx, |e: &mut IPAddrPairRewriter, ctx| f(&mut e.base, ctx)),
        "IPAddrRewriter" => ctx.with(idx, |e: &mut IPAddrRewriter, ctx| f(&mut e.base, ctx)),
        "ICMPPingRewriter" => ctx.with(idx, |e: &mut ICMPPingRewriter, ctx| f(&mut e.base, ctx)),
        _ => None,
    }
}
