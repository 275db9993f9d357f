//! Removes bytes from the front of packets.
//!
//! Removes the first LENGTH bytes of each packet; all of them if there are fewer. The bytes stay in the packet's headroom:
//! `Unstrip` brings them back.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> Discard;
//! ```

use element::{per_packet, Arg, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<Strip>("Strip", "1/1", "a/a", "x/x").args(ARGS);

const ARGS: &[Arg] = &[Arg::required("LENGTH", "unsigned", "Bytes to remove.")];

/// See the page above.
pub struct Strip {
    n_bytes: usize,
}

impl Element for Strip {
    fn configure(conf: &mut Configure<'_>) -> Result<Strip, Failed> {
        let n_bytes: u32 = conf.args.need("LENGTH");
        conf.finish()?;
        Ok(Strip { n_bytes: n_bytes as usize })
    }

    per_packet!();
}

impl Strip {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.strip(self.n_bytes);
        Verdict::PASS
    }
}
