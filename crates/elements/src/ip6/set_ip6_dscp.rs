//! Sets the differentiated services code point of IPv6 packets.
//!
//! Sets the upper six bits of the traffic class (RFC 2474). A packet without a marked IPv6 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> SetIP6DSCP(46) -> Discard;
//! ```

use element::{Causes, Class, Packet, Refusal};

use crate::ip::code_point::{Header, SetCodePoint, ARGS, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<SetCodePoint<Ipv6Header>>("SetIP6DSCP", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread), ("dscp", Refusal::Misread)])
    .live();

/// The header that has the traffic class, behind the four bits of the version.
pub struct Ipv6Header;

impl Header for Ipv6Header {
    #[inline(always)]
    fn set(packet: &mut Packet, bits: u8) {
        if let Some(start) = packet.network_mut().first_chunk_mut::<4>() {
            let word = u32::from_be_bytes(*start) & !(0xfc << 20) | u32::from(bits) << 20;
            *start = word.to_be_bytes();
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn only_the_six_bits_change() {
        let source = |word: &str| {
            let address = "20010db8000000000000000000000001";
            format!("InfiniteSource(DATA \\<{word} 00003b01 {address} {address}>, LIMIT 1, STOP true) -> MarkIP6Header -> d;")
        };
        let sources = ["60000000", "6fffffff"].map(source).concat();
        check_reading(
            &format!("d :: SetIP6DSCP(0x2a) -> Print(x, 4) -> Discard; {sources} DriverManager(wait_stop 2)"),
            &["d.dscp"],
            expect![[r#"
                x:   40 | 6a800000
                x:   40 | 6abfffff
                d.dscp: 0x2a
            "#]],
        );
    }

    #[test]
    fn the_first_word_is_all_that_is_looked_at() {
        let source = |data: &str| format!("InfiniteSource(DATA \\<{data}>, LIMIT 1) -> MarkIP6Header -> d;");
        let sources = ["60000000 00", "600000"].map(source).concat();
        check_reading(
            &format!("d :: SetIP6DSCP(0x2a) -> Print(x, 8) -> Discard; {sources} Script(wait 1s, stop)"),
            &[],
            expect![[r#"
                x:    5 | 6a800000 00
                x:    3 | 600000
            "#]],
        );
    }

    #[test]
    fn code_points_have_six_bits() {
        check_mistake("SetIP6DSCP(64)", expect!["diffserv code point out of range"]);
        check_mistake("SetIP6DSCP(-1)", expect!["DSCP: invalid number"]);
    }
}
