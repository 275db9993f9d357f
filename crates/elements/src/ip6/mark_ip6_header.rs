//! Marks where the IPv6 header begins.
//!
//! Sets the header mark of each packet to OFFSET bytes after its start, and the transport header's to 40 bytes further; checks
//! nothing, cuts nothing, and leaves the destination annotation alone.
//!
//! ```click
//! FromDump(in.pcap) -> MarkIP6Header(14) -> IP6Print -> Discard;
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};
use wire::Ipv6;

use super::at_offset::at_offset;

/// The class.
pub const CLASS: Class =
    Class::new::<MarkIP6Header>("MarkIP6Header", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[Arg::optional(
    "OFFSET",
    "int",
    "Where the header begins, in bytes; negative: in the headroom. Default 0.",
)];

/// See the page above.
pub struct MarkIP6Header {
    offset: i32,
}

impl Element for MarkIP6Header {
    fn configure(conf: &mut Configure<'_>) -> Result<MarkIP6Header, Failed> {
        let offset = conf.args.get_or("OFFSET", 0);
        conf.finish()?;
        Ok(MarkIP6Header { offset })
    }

    per_packet!();
}

impl MarkIP6Header {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        at_offset(packet, self.offset, |packet, offset| packet.set_network_header(offset, Ipv6::LEN));
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_marked_in_front_of_the_data_too() {
        let mut packet = Packet::from_bytes(&[0x60; 50]);
        packet.strip(3);
        let mut mark = |offset| {
            MarkIP6Header { offset }.process(&mut packet);
            (packet.network_offset(), packet.network_header_len())
        };
        assert_eq!(mark(-3), (Some(-3), 40));
        assert_eq!(mark(i32::MIN), (Some(-3), 40));
        assert_eq!(mark(7), (Some(7), 40));
    }
}
