//! Sets the differentiated services code point of IPv6 packets.
//!
//! Sets the upper six bits of the traffic class (RFC 2474). A packet without a marked IPv6 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> SetIP6DSCP(46) -> Discard;
//! ```

use element::{per_packet, Arg, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};
use wire::Ipv6;

/// The class.
pub const CLASS: Class =
    Class::new::<SetIP6DSCP>("SetIP6DSCP", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS).live();

const ARGS: &[Arg] = &[Arg::required("DSCP", "unsigned", "The code point, 0 to 63.")];

const HANDLERS: &[Handler] =
    &[Handler::read_write("dscp", "The argument DSCP, as written.").flags("calm setting")];

const MAX: u32 = 63;
const OUT_OF_RANGE: &str = "diffserv code point out of range";

/// See the page above.
pub struct SetIP6DSCP {
    dscp: u32,
    text: String,
}

impl Element for SetIP6DSCP {
    fn configure(conf: &mut Configure<'_>) -> Result<SetIP6DSCP, Failed> {
        let text = conf.args.text("DSCP").unwrap_or_default().to_string();
        let dscp = conf.args.need("DSCP");
        if dscp > MAX {
            conf.args.fail(OUT_OF_RANGE);
        }
        conf.finish()?;
        Ok(SetIP6DSCP { dscp, text })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "dscp" => Ok(self.text.clone()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let value = value.trim();
        match name {
            "dscp" => {
                let dscp = args::integer(value).map_err(|error| format!("DSCP: {error}"))?;
                if dscp > MAX {
                    return Err(OUT_OF_RANGE.to_string());
                }
                self.dscp = dscp;
                self.text = value.to_string();
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl SetIP6DSCP {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if let Some(header) = packet.network_mut().first_chunk_mut::<{ Ipv6::LEN }>() {
            let word = u32::from_be_bytes([header[0], header[1], header[2], header[3]]);
            let word = word & !(MAX << 22) | self.dscp << 22;
            header[..4].copy_from_slice(&word.to_be_bytes());
        }
        Verdict::PASS
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
    fn code_points_have_six_bits() {
        check_mistake("SetIP6DSCP(64)", expect!["diffserv code point out of range"]);
        check_mistake("SetIP6DSCP(-1)", expect!["DSCP: invalid number"]);
    }
}
