//! Marks where the IPv4 header begins.
//!
//! Sets the header mark of each packet to OFFSET bytes after its start; checks nothing, cuts nothing, and leaves the destination
//! annotation alone.
//!
//! ```click
//! FromDump(in.pcap) -> MarkIPHeader(14) -> IPPrint -> Discard;
//! ```

use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<MarkIPHeader>("MarkIPHeader", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS);

const ARGS: &[Arg] = &[Arg::optional(
    "OFFSET",
    "int",
    "Where the header begins, in bytes; negative: in the headroom. Default 0.",
)];

/// See the page above.
pub struct MarkIPHeader {
    offset: i32,
}

impl Element for MarkIPHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<MarkIPHeader, Failed> {
        let offset = conf.args.get_or("OFFSET", 0);
        conf.finish()?;
        Ok(MarkIPHeader { offset })
    }

    per_packet!();
}

impl MarkIPHeader {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match usize::try_from(self.offset) {
            Ok(offset) => mark(packet, offset),
            Err(_) => mark_in_headroom(packet, self.offset.unsigned_abs() as usize),
        }
        Verdict::PASS
    }
}

#[inline(always)]
fn mark(packet: &mut Packet, offset: usize) {
    let first = packet.data().get(offset).copied().unwrap_or(0);
    packet.set_network_header(offset, usize::from(first & 0x0f) * 4);
}

#[inline(never)]
fn mark_in_headroom(packet: &mut Packet, n_bytes: usize) {
    if n_bytes <= packet.headroom() {
        packet.unstrip(n_bytes);
        mark(packet, 0);
        packet.strip(n_bytes);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn headers_are_marked_in_front_of_the_data_too() {
        let mut packet = Packet::from_bytes(&[0x46, 1, 2, 3]);
        packet.strip(2);
        mark_in_headroom(&mut packet, 2);
        assert_eq!((packet.network_offset(), packet.network_header_len()), (Some(-2), 24));
        mark_in_headroom(&mut packet, 100_000);
        assert_eq!(packet.network_offset(), Some(-2));
        mark(&mut packet, 50);
        assert_eq!((packet.network(), packet.network_header_len()), (&[][..], 0));
    }
}
