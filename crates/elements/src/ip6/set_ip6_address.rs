//! Sets the IPv6 destination annotation to an address.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> SetIP6Address(2001:db8::1) -> Discard;
//! ```

use std::net::Ipv6Addr;

use element::{annotation, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class =
    Class::new::<SetIP6Address>("SetIP6Address", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[Arg::required("IPADDR", "IPv6 address", "The address.")];

/// See the page above.
pub struct SetIP6Address {
    address: [u8; 16],
}

impl Element for SetIP6Address {
    fn configure(conf: &mut Configure<'_>) -> Result<SetIP6Address, Failed> {
        let address: Ipv6Addr = conf.args.need("IPADDR");
        conf.finish()?;
        Ok(SetIP6Address { address: address.octets() })
    }

    per_packet!();
}

impl SetIP6Address {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_anno(annotation::DST_IP6, self.address);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn names_and_addresses_are_taken() {
        check(
            "AddressInfo(host 2001:db8::5); InfiniteSource(DATA x, LIMIT 1) -> SetIP6Address(host)
                -> Print(x, PRINTANNO true) -> Discard",
            expect![[r#"
                x:    1 | 20010db80000000000000000000000050000000000000000000000000000000000000000000000000000000000000000 | 78
            "#]],
        );
    }
}
