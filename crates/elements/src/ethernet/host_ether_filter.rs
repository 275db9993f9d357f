//! Passes the frames that a host would take in, and notes whom they are for.
//!
//! Sets the packet type annotation from the destination address: host, broadcast, multicast or other host. Frames for other
//! hosts leave by output 1 if there is one, else they are dropped, unless DROP_OTHER is false; so do those that the host itself
//! sent if DROP_OWN is true, and those too short for a header.
//!
//! ```click
//! FromDevice(eth0, PROMISC true) -> HostEtherFilter(1:1:1:1:1:1) -> Discard;
//! ```

use args::EtherAddr;
use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Refusal,
    Verdict,
};
use packet::PacketType;

/// The class.
pub const CLASS: Class = Class::new::<HostEtherFilter>("HostEtherFilter", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::required("ETHER", "Ethernet address", "The host's address."),
    Arg::optional("DROP_OWN", "bool", "Whether to take out frames that the host sent. Default false."),
    Arg::optional("DROP_OTHER", "bool", "Whether to take out frames for other hosts. Default true."),
    Arg::keyword("OFFSET", "unsigned", "Where in the packet the Ethernet header begins. Default 0."),
];

const HANDLERS: &[Handler] = &[Handler::read_write("ether", "The host's address.")];

const OWN: usize = 0;
const OTHER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("own", "The host itself sent the frame."),
    DropReason::new("other-host", "The frame is for another host."),
];

/// See the page above.
pub struct HostEtherFilter {
    address: EtherAddr,
    drops_own: bool,
    drops_other: bool,
    offset: usize,
}

impl Element for HostEtherFilter {
    fn configure(conf: &mut Configure<'_>) -> Result<HostEtherFilter, Failed> {
        let address = conf.args.need("ETHER");
        let drops_own = conf.args.get_or("DROP_OWN", false);
        let drops_other = conf.args.get_or("DROP_OTHER", true);
        let offset: u32 = conf.args.get_or("OFFSET", 0);
        conf.finish()?;
        Ok(HostEtherFilter { address, drops_own, drops_other, offset: offset as usize })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "ether" => Ok(self.address.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "ether" => {
                let address = args::ether(value, &ctx.scope());
                self.address = address.map_err(|_| "expected Ethernet address")?;
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }
}

impl HostEtherFilter {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let bytes = packet.data().get(self.offset..).unwrap_or_default();
        let (destination, source) = match bytes.first_chunk() {
            Some(addresses) => words(addresses),
            None => words(&padded(bytes)),
        };
        let [a, b, c, d, e, f] = self.address.0;
        let own = u64::from_le_bytes([a, b, c, d, e, f, 0, 0]);
        if self.drops_own && source == own {
            return Verdict::port_or_drop(1, OWN);
        }
        let kind = if destination == own {
            PacketType::Host
        } else if destination == BROADCAST {
            PacketType::Broadcast
        } else if destination & 1 != 0 {
            PacketType::Multicast
        } else {
            PacketType::OtherHost
        };
        packet.set_packet_type(kind);
        if self.drops_other && kind == PacketType::OtherHost {
            return Verdict::port_or_drop(1, OTHER);
        }
        Verdict::PASS
    }
}

const BROADCAST: u64 = 0xffff_ffff_ffff;

/// Destination and source, each as a word whose lowest byte is the first.
#[inline(always)]
fn words(addresses: &[u8; 12]) -> (u64, u64) {
    let [first @ .., _, _, _, _] = addresses;
    let [_, _, _, _, last @ ..] = addresses;
    (u64::from_le_bytes(*first) & BROADCAST, u64::from_le_bytes(*last) >> 16)
}

/// What is missing of the addresses reads as 0.
#[cold]
fn padded(bytes: &[u8]) -> [u8; 12] {
    let mut addresses = [0; 12];
    addresses.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    addresses
}

#[cfg(test)]
mod tests {
    use super::*;

    fn check(drops: bool, frame: &[u8], expect: (Verdict, PacketType)) {
        let address = EtherAddr(*b"\x02host!");
        let mut element = HostEtherFilter { address, drops_own: drops, drops_other: drops, offset: 1 };
        let mut packet = Packet::from_bytes(frame);
        assert_eq!((element.process(&mut packet), packet.packet_type()), expect);
    }

    #[test]
    fn the_destination_decides_the_type() {
        check(true, b"-\x02host!\x02other", (Verdict::PASS, PacketType::Host));
        check(true, b"-\xff\xff\xff\xff\xff\xff\x02other", (Verdict::PASS, PacketType::Broadcast));
        check(true, b"-\x01group\x02other", (Verdict::PASS, PacketType::Multicast));
        check(false, b"-\x02third\x02other", (Verdict::PASS, PacketType::OtherHost));
        check(true, b"-\x02third\x02other", (Verdict::port_or_drop(1, OTHER), PacketType::OtherHost));
    }

    #[test]
    fn own_frames_are_taken_out_and_short_ones_padded() {
        check(true, b"-\x02third\x02host!", (Verdict::port_or_drop(1, OWN), PacketType::Host));
        check(false, b"-\x01third\x02host!", (Verdict::PASS, PacketType::Multicast));
        check(true, b"-\x02third\x02host", (Verdict::port_or_drop(1, OTHER), PacketType::OtherHost));
        check(true, b"-\x02host!", (Verdict::PASS, PacketType::Host));
    }
}
