//! All rewriters, for elements that name one.

use element::{Ctx, ElementIdx};

use super::base::Base;
use super::icmp_ping_rewriter::ICMPPingRewriter;
use super::ip_addr_pair_rewriter::IPAddrPairRewriter;
use super::ip_addr_rewriter::IPAddrRewriter;
use super::ip_rewriter::IPRewriter;
use super::tcp_rewriter::TCPRewriter;
use super::udp_rewriter::UDPRewriter;

/// A rewriter's class and element; its `ARGS` and `HANDLERS` stand beside.
macro_rules! rewriter {
    ($name:ident, $kind:expr) => {
        /// The class.
        pub const CLASS: element::Class =
            element::Class::new::<$name>(stringify!($name), "1-/1-", "h/h", "x/x")
                .causes(element::Causes::CHANGES)
                .args(ARGS)
                .handlers(HANDLERS)
                .drops($crate::rewriter::handlers::DROPS)
                .refuses(&[("pattern#", element::Refusal::Told), ("capacity", element::Refusal::Failed)]);

        /// See the page above.
        pub struct $name {
            /// All that it does.
            pub base: $crate::rewriter::base::Base,
        }

        impl element::Element for $name {
            fn configure(conf: &mut element::Configure<'_>) -> Result<$name, element::Failed> {
                Ok($name { base: $crate::rewriter::base::Base::configure($kind, conf)? })
            }

            fn initialize(&mut self, ctx: &mut element::Ctx<'_>) -> Result<(), String> {
                self.base.initialize(ctx)
            }

            fn push(&mut self, ctx: &mut element::Ctx<'_>, port: usize, batch: element::Batch) {
                self.base.push(ctx, port, batch);
            }

            fn run_timer(&mut self, ctx: &mut element::Ctx<'_>, timer: element::TimerId) {
                self.base.run_timer(ctx, timer);
            }

            fn read(
                &mut self,
                ctx: &mut element::Ctx<'_>,
                name: &str,
                param: &str,
            ) -> Result<String, String> {
                self.base.read(ctx, name, param)
            }

            fn write(&mut self, ctx: &mut element::Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
                self.base.write(ctx, name, value)
            }

            fn llrpc(
                &mut self,
                _ctx: &mut element::Ctx<'_>,
                number: u32,
                data: &mut [u8],
            ) -> Result<(), element::LlrpcError> {
                self.base.llrpc(number, data)
            }

            fn take_state(&mut self, ctx: &mut element::Ctx<'_>, old: Box<dyn element::Element>) {
                if let Some(old) = element::same::<$name>(ctx, old) {
                    self.base.take_state(ctx, &old.base);
                }
            }

            fn save_state(&mut self, ctx: &mut element::Ctx<'_>, from: usize) -> Option<element::Saved> {
                Some(self.base.save_state(ctx, from))
            }

            fn restore_state(
                &mut self,
                ctx: &mut element::Ctx<'_>,
                line: &str,
                passed_ms: i64,
            ) -> Result<(), String> {
                self.base.restore_state(ctx, line, passed_ms)
            }
        }
    };
}
pub(super) use rewriter;

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
