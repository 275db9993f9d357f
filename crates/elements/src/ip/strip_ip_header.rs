//! Removes the IPv4 header.
//!
//! Removes everything up to the end of the marked header. The mark stays, so that it then points in front of the packet; a
//! packet inside the packet needs a `CheckIPHeader` or `MarkIPHeader` of its own. A packet without a mark passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> StripIPHeader -> Discard;
//! ```

use element::{offload, per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<StripIPHeader>("StripIPHeader", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless();

/// See the page above.
pub struct StripIPHeader;

impl Element for StripIPHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<StripIPHeader, Failed> {
        conf.finish()?;
        Ok(StripIPHeader)
    }

    per_packet!();
}

impl StripIPHeader {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if let Some(offset) = packet.transport_offset() {
            // Behind the start already: Click takes the negative number for a large one and strips all.
            let n_bytes = usize::try_from(offset).unwrap_or(usize::MAX);
            offload::settle_before(packet, n_bytes);
            packet.strip(n_bytes);
        }
        Verdict::PASS
    }
}
