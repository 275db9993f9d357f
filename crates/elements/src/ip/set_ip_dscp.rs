//! Sets the differentiated services code point.
//!
//! Sets the upper six bits of the type-of-service byte (RFC 2474) and corrects the header checksum. A packet without a marked
//! IPv4 header passes as it is.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> SetIPDSCP(46) -> Discard;
//! ```

use element::{per_packet, Arg, Class, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

use super::type_of_service;

/// The class.
pub const CLASS: Class =
    Class::new::<SetIPDSCP>("SetIPDSCP", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS).live();

const ARGS: &[Arg] = &[Arg::required("DSCP", "unsigned", "The code point, 0 to 63.")];

const HANDLERS: &[Handler] =
    &[Handler::read_write("dscp", "The argument DSCP, as written.").flags("calm setting")];

const MAX: u32 = 63;
const OUT_OF_RANGE: &str = "diffserv code point out of range";

/// See the page above.
pub struct SetIPDSCP {
    /// The code point in its place in the byte.
    bits: u8,
    text: String,
}

impl Element for SetIPDSCP {
    fn configure(conf: &mut Configure<'_>) -> Result<SetIPDSCP, Failed> {
        let text = conf.args.text("DSCP").unwrap_or_default().to_string();
        let dscp: u32 = conf.args.need("DSCP");
        if dscp > MAX {
            conf.args.fail(OUT_OF_RANGE);
        }
        conf.finish()?;
        Ok(SetIPDSCP { bits: (dscp as u8) << 2, text })
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
                let dscp = args::integer::<u32>(value).map_err(|error| format!("DSCP: {error}"))?;
                let dscp = u8::try_from(dscp).ok().filter(|dscp| u32::from(*dscp) <= MAX);
                self.bits = dscp.ok_or(OUT_OF_RANGE)? << 2;
                self.text = value.to_string();
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl SetIPDSCP {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        type_of_service::change(packet, |byte| byte & 0x03 | self.bits);
        Verdict::PASS
    }
}
