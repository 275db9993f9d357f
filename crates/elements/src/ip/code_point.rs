//! Elements that set the differentiated services code point (RFC 2474).

use std::marker::PhantomData;

use element::{per_packet, Arg, Configure, Ctx, Element, Failed, Handler, Packet, Verdict};

/// Their argument.
pub const ARGS: &[Arg] = &[Arg::required("DSCP", "unsigned", "The code point, 0 to 63.")];

/// Their handler.
pub const HANDLERS: &[Handler] =
    &[Handler::read_write("dscp", "The argument DSCP, as written.").flags("calm setting")];

const MAX: u8 = 63;
const OUT_OF_RANGE: &str = "diffserv code point out of range";

/// A header with a byte whose upper six bits are the code point.
pub trait Header: Send + 'static {
    /// Sets these bits to those of `bits`, if the packet has the header.
    fn set(packet: &mut Packet, bits: u8);
}

/// Sets the code point in headers of one kind.
pub struct SetCodePoint<H> {
    /// The code point in its place in the byte.
    bits: u8,
    text: String,
    header: PhantomData<H>,
}

impl<H: Header> Element for SetCodePoint<H> {
    fn configure(conf: &mut Configure<'_>) -> Result<SetCodePoint<H>, Failed> {
        let text = conf.args.text("DSCP").unwrap_or_default().to_string();
        let bits = in_place(conf.args.need("DSCP"));
        if bits.is_none() {
            conf.args.fail(OUT_OF_RANGE);
        }
        conf.finish()?;
        Ok(SetCodePoint { bits: bits.unwrap_or_default(), text, header: PhantomData })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "dscp" => Ok(self.text.clone()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "dscp" => {
                let dscp = args::integer(value).map_err(|error| format!("DSCP: {error}"))?;
                self.bits = in_place(dscp).ok_or(OUT_OF_RANGE)?;
                self.text = value.to_string();
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl<H: Header> SetCodePoint<H> {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        H::set(packet, self.bits);
        Verdict::PASS
    }
}

/// A code point in its place in the byte, if it is one.
fn in_place(dscp: u32) -> Option<u8> {
    u8::try_from(dscp).ok().filter(|dscp| *dscp <= MAX).map(|dscp| dscp << 2)
}
