//! Sets the destination annotation from the packet's bytes.
//!
//! Copies the four bytes at OFFSET, or with IP the source or destination of the marked IPv4 header, to the destination address
//! annotation. An address that the packet is too short to have counts as 0.0.0.0.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> GetIPAddress(16) -> Discard;
//! ```

use args::{sized_anno, Anno};
use element::fast_path::{FastPath, HasFastPath, Ingress};
use element::{annotation, per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Verdict};

/// The class.
pub const CLASS: Class = Class::new::<GetIPAddress>("GetIPAddress", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .fast_path::<GetIPAddress>();

const ARGS: &[Arg] = &[
    Arg::optional(
        "OFFSET",
        "int",
        "Where the address is, in bytes: 16 for the destination of an IPv4 packet.",
    ),
    Arg::optional("ANNO", "annotation", "The annotation to set, of 4 bytes. Default DST_IP."),
    Arg::keyword("IP", "`src` or `dst`", "Which address of the marked header to take, in place of OFFSET."),
];

/// See the page above.
pub struct GetIPAddress {
    place: Place,
    anno: usize,
}

enum Place {
    Offset(usize),
    Header(usize),
}

impl Element for GetIPAddress {
    fn configure(conf: &mut Configure<'_>) -> Result<GetIPAddress, Failed> {
        let offset: i32 = conf.args.get_or("OFFSET", -1);
        let anno: Option<Anno> = conf.args.get_with("ANNO", sized_anno(4));
        let word: String = conf.args.get_or("IP", String::new());
        let place = match (usize::try_from(offset), word.as_str()) {
            (Ok(offset), "") => Place::Offset(offset),
            (Err(_), "src") => Place::Header(12),
            (Err(_), "dst") => Place::Header(16),
            (Ok(_), _) | (_, "") => {
                conf.args.fail("set one of OFFSET, IP");
                Place::Offset(0)
            }
            _ => {
                conf.args.fail("bad IP");
                Place::Offset(0)
            }
        };
        conf.finish()?;
        Ok(GetIPAddress { place, anno: anno.map_or(annotation::DST_IP, |anno| usize::from(anno.offset)) })
    }

    per_packet!();
}

impl HasFastPath for GetIPAddress {
    fn fast_path(&self) -> Option<FastPath> {
        let is_destination = matches!(self.place, Place::Offset(16)) && self.anno == annotation::DST_IP;
        is_destination.then(|| FastPath::Ingress(Ingress::to_destination()))
    }
}

impl GetIPAddress {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let (bytes, offset) = match self.place {
            Place::Offset(offset) => (packet.data(), offset),
            Place::Header(offset) => (packet.network(), offset),
        };
        let address = bytes.get(offset..).and_then(|rest| rest.first_chunk::<4>()).copied();
        packet.set_anno(self.anno, address.unwrap_or_default());
        Verdict::PASS
    }
}
