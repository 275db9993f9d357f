//! Sets the destination annotation to an address.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> SetIPAddress(10.0.0.1) -> Discard;
//! ```

use std::net::Ipv4Addr;

use args::{sized_anno, Anno};
use element::{
    annotation, per_packet, Arg, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal,
    Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<SetIPAddress>("SetIPAddress", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("IPADDR", "IP address", "The address."),
    Arg::keyword("ANNO", "annotation", "The annotation to set, of 4 bytes. Default DST_IP."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("addr", "The address.")];

/// See the page above.
pub struct SetIPAddress {
    address: Ipv4Addr,
    anno: usize,
}

impl Element for SetIPAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<SetIPAddress, Failed> {
        let address = conf.args.need("IPADDR");
        let anno: Option<Anno> = conf.args.get_with("ANNO", sized_anno(4));
        conf.finish()?;
        Ok(SetIPAddress { address, anno: anno.map_or(annotation::DST_IP, |anno| usize::from(anno.offset)) })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "addr" => Ok(self.address.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "addr" => {
                let address = args::ip(value, &ctx.scope());
                self.address = address.map_err(|_| "expected IP address")?;
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl SetIPAddress {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_anno(self.anno, self.address.octets());
        Verdict::PASS
    }
}
