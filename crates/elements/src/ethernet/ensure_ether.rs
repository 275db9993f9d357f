//! Sees to it that IP packets begin with an Ethernet header.
//!
//! An IP packet, one whose network header is marked, passes unchanged if it begins with an Ethernet header of type IPv4 or IPv6.
//! One that begins with the IP header gets back the Ethernet header that was stripped off it. Any other is cut to its IP header
//! and gets the header that the arguments give. Packets without a mark, or whose IP header was stripped, pass unchanged.
//!
//! ```click
//! FromDump(in.pcap, FORCE_IP true) -> EnsureEther(0x0800, 1:1:1:1:1:1, 2:2:2:2:2:2) -> ToDump(out.pcap);
//! ```

use args::EtherAddr;
use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};
use wire::{ethertype, Ethernet};

/// The class.
pub const CLASS: Class =
    Class::new::<EnsureEther>("EnsureEther", "1/1", "a/a", "x/x").causes(Causes::NOTHING).args(ARGS);

const ARGS: &[Arg] = &[
    Arg::optional("ETHERTYPE", "0 to 65535", "Type of a new header. Default 0x0800, which is IPv4."),
    Arg::optional("SRC", "Ethernet address", "Source in a new header. Default 1:1:1:1:1:1."),
    Arg::optional("DST", "Ethernet address", "Destination in a new header. Default 2:2:2:2:2:2."),
];

/// See the page above.
pub struct EnsureEther {
    header: [u8; Ethernet::LEN],
}

impl Element for EnsureEther {
    fn configure(conf: &mut Configure<'_>) -> Result<EnsureEther, Failed> {
        let ethertype: u32 = conf.args.get_or("ETHERTYPE", ethertype::IPV4.into());
        let source = conf.args.get_or("SRC", EtherAddr([1; 6]));
        let destination = conf.args.get_or("DST", EtherAddr([2; 6]));
        let number = u16::try_from(ethertype);
        if number.is_err() {
            conf.args.fail("argument 1 (Ethernet encapsulation type) must be <= 0xFFFF");
        }
        conf.finish()?;
        let mut header = [0; Ethernet::LEN];
        if let Some(mut view) = Ethernet::new(&mut header[..]) {
            view.set_destination(destination.0);
            view.set_source(source.0);
            view.set_ethertype(number.unwrap_or_default());
        }
        Ok(EnsureEther { header })
    }

    per_packet!();
}

impl EnsureEther {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let Some(offset) = packet.network_offset().and_then(|offset| usize::try_from(offset).ok()) else {
            return Verdict::PASS;
        };
        if offset == Ethernet::LEN && carries_ip(packet.data()) {
            return Verdict::PASS;
        }
        if offset == 0 && packet.n_stripped() >= Ethernet::LEN {
            packet.unstrip(Ethernet::LEN);
            if carries_ip(packet.data()) {
                return Verdict::PASS;
            }
            packet.strip(Ethernet::LEN);
        }
        packet.strip(offset);
        packet.prepend_array(&self.header);
        Verdict::PASS
    }
}

fn carries_ip(frame: &[u8]) -> bool {
    Ethernet::new(frame).is_some_and(|header| matches!(header.ethertype(), ethertype::IPV4 | ethertype::IPV6))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::{expect, Expect};

    /// Sends a frame of 14 bytes of header, of which the type is given, and an IPv4 header, through some elements.
    fn through(elements: &str, ethertype: &str, expect: Expect) {
        let ip = "45000014 00000000 40110000 01000001 02000002";
        check(
            &format!(
                "InfiniteSource(DATA \\<0a0a0a0a0a0a 0b0b0b0b0b0b {ethertype} {ip}>, LIMIT 1)
                 -> {elements} -> Print(x, 20) -> Discard"
            ),
            expect,
        );
    }

    #[test]
    fn a_header_that_is_there_stays() {
        through(
            "MarkIPHeader(14) -> EnsureEther",
            "0800",
            expect![[r#"
            x:   34 | 0a0a0a0a 0a0a0b0b 0b0b0b0b 08004500 00140000
        "#]],
        );
        through(
            "EnsureEther",
            "1234",
            expect![[r#"
            x:   34 | 0a0a0a0a 0a0a0b0b 0b0b0b0b 12344500 00140000
        "#]],
        );
        through(
            "MarkIPHeader(14) -> Strip(20) -> EnsureEther",
            "1234",
            expect![[r#"
            x:   14 | 00004011 00000100 00010200 0002
        "#]],
        );
    }

    #[test]
    fn a_header_that_was_stripped_comes_back() {
        through(
            "Strip(14) -> MarkIPHeader -> EnsureEther",
            "86dd",
            expect![[r#"
            x:   34 | 0a0a0a0a 0a0a0b0b 0b0b0b0b 86dd4500 00140000
        "#]],
        );
    }

    #[test]
    fn what_another_packet_left_in_memory_is_no_header() {
        drop(Packet::with_headroom(100, &[8, 0].repeat(60)));
        let mut packet = Packet::from_bytes(&[0x45; 20]);
        packet.set_network_header(0, 20);
        EnsureEther { header: [7; Ethernet::LEN] }.process(&mut packet);
        assert_eq!(packet.data()[..15], [[7; 14].as_slice(), &[0x45]].concat());
    }

    #[test]
    fn others_get_a_new_header() {
        through(
            "MarkIPHeader(14) -> EnsureEther",
            "1234",
            expect![[r#"
            x:   34 | 02020202 02020101 01010101 08004500 00140000
        "#]],
        );
        through(
            "Strip(3) -> MarkIPHeader(11) -> EnsureEther(5, 6:6:6:6:6:6)",
            "0800",
            expect![[r#"
            x:   34 | 02020202 02020606 06060606 00054500 00140000
        "#]],
        );
        through(
            "Strip(14) -> MarkIPHeader -> EnsureEther(5, DST 6:6:6:6:6:6)",
            "1234",
            expect![[r#"
            x:   34 | 06060606 06060101 01010101 00054500 00140000
        "#]],
        );
    }

    #[test]
    fn a_type_that_is_too_large_is_told() {
        check(
            "Idle -> EnsureEther(65536) -> Discard",
            expect![[r#"
            config:1: While configuring 'EnsureEther@2 :: EnsureEther':
              argument 1 (Ethernet encapsulation type) must be <= 0xFFFF
            Router could not be initialized!
        "#]],
        );
    }
}
