//! Drops packets that came as link-level broadcasts or multicasts.
//!
//! Routers must not forward them (RFC 1812, section 5.3.4). Decided by the packet type annotation, which devices set. With an
//! output 1 the packets leave there. The first is told on standard error.
//!
//! ```click
//! FromDevice(eth0) -> DropBroadcasts -> Discard;
//! ```

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{same, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict};

use super::failures::{per_told_packet, Failures};

/// The class.
pub const CLASS: Class = Class::new::<DropBroadcasts>("DropBroadcasts", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<DropBroadcasts>();

const HANDLERS: &[Handler] = &[Handler::read("drops", "Broadcasts and multicasts seen.")];

const GROUP: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("broadcast", "Came as a link-level broadcast or multicast.")];

/// See the page above.
pub struct DropBroadcasts {
    failures: Failures,
}

impl Element for DropBroadcasts {
    fn configure(conf: &mut Configure<'_>) -> Result<DropBroadcasts, Failed> {
        conf.finish()?;
        Ok(DropBroadcasts { failures: Failures::new(1, false, false) })
    }

    per_told_packet!(sentence);

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, &[])
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DropBroadcasts>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl HasFastPath for DropBroadcasts {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::without_broadcasts()))
    }
}

impl DropBroadcasts {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if packet.packet_type().is_group() {
            self.failures.add(GROUP, packet);
            return Verdict::port_or_drop(1, GROUP);
        }
        Verdict::PASS
    }
}

fn sentence(_ctx: &Ctx<'_>, _reason: usize) -> String {
    "DropBroadcasts: dropped a packet".to_string()
}
