//! Sets the IPv6 destination annotation from the packet's bytes.
//!
//! Copies the 16 bytes at OFFSET to the destination address annotation. An address that the packet is too short to have counts
//! as `::`.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> GetIP6Address(24) -> Discard;
//! ```

use element::{annotation, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

use super::at_offset::at_offset;

/// The class.
pub const CLASS: Class =
    Class::new::<GetIP6Address>("GetIP6Address", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[Arg::required(
    "OFFSET",
    "int",
    "Where the address begins, in bytes; negative: in the headroom. 24 is an IPv6 header's destination.",
)];

/// See the page above.
pub struct GetIP6Address {
    offset: i32,
}

impl Element for GetIP6Address {
    fn configure(conf: &mut Configure<'_>) -> Result<GetIP6Address, Failed> {
        let offset = conf.args.need("OFFSET");
        conf.finish()?;
        Ok(GetIP6Address { offset })
    }

    per_packet!();
}

impl GetIP6Address {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let address = at_offset(packet, self.offset, |packet, offset| {
            packet.data().get(offset..).and_then(|rest| rest.first_chunk::<16>()).copied()
        });
        packet.set_anno(annotation::DST_IP6, address.flatten().unwrap_or_default());
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn addresses_are_copied_and_missing_ones_are_zero() {
        check(
            "InfiniteSource(DATA \\<00112233445566778899aabbccddeeff 0123>, LIMIT 1)
                -> GetIP6Address(2) -> Print(in, 0, PRINTANNO true)
                -> GetIP6Address(3) -> Print(short, 0, PRINTANNO true)
                -> Strip(1) -> GetIP6Address(-1) -> Print(before, 0, PRINTANNO true) -> Discard",
            expect![[r#"
                in:   18 | 2233445566778899aabbccddeeff01230000000000000000000000000000000000000000000000000000000000000000
                short:   18 | 000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000000
                before:   17 | 00112233445566778899aabbccddeeff0000000000000000000000000000000000000000000000000000000000000000
            "#]],
        );
    }
}
