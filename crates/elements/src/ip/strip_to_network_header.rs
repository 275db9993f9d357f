//! Removes all that is in front of the network header.
//!
//! If the marked network header lies in front of the packet, since it was stripped, the packet is extended to it again. A packet
//! without a mark passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> MarkIPHeader(14) -> StripToNetworkHeader -> Discard;
//! ```

use element::{offload, per_packet, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<StripToNetworkHeader>("StripToNetworkHeader", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING);

/// See the page above.
pub struct StripToNetworkHeader;

impl Element for StripToNetworkHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<StripToNetworkHeader, Failed> {
        conf.finish()?;
        Ok(StripToNetworkHeader)
    }

    per_packet!();
}

impl StripToNetworkHeader {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match packet.network_offset() {
            Some(offset) if offset >= 0 => {
                offload::settle_before(packet, offset.unsigned_abs());
                packet.strip(offset.unsigned_abs());
            }
            Some(offset) => packet.unstrip(offset.unsigned_abs()),
            None => {}
        }
        Verdict::PASS
    }
}
