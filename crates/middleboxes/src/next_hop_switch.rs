//! Spreads flows of IPv4 packets over next hops.
//!
//! Each argument is a next hop, perhaps with its weight from 1 to 255. A packet gets one of them as destination annotation and
//! leaves by the output with that hop's number. All packets of a flow take the same hop: source, destination and protocol
//! tell flows apart, for TCP, UDP, UDP-Lite, SCTP and DCCP also the ports. Fragments have no ports, so those of all datagrams between
//! two hosts take one hop.
//!
//! Of all flows a hop gets the share that is its part of all weights. Which flows these are depends on nothing but the flow
//! and the hops' addresses and weights: whenever a hop goes, its flows are spread over the others, and no other flow moves; a
//! hop that comes takes flows from the others, and nothing else moves (D. G. Thaler and C. V. Ravishankar, "Using Name-Based Mappings
//! to Increase Hit Rates", IEEE/ACM Transactions on Networking 6 (1), 1998; RFC 2992 compares that with other ways).
//!
//! Packets must have a marked IPv4 header, as `CheckIPHeader` marks it.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> hops :: NextHopSwitch(10.0.0.2, 10.0.1.2 3);
//! hops[0] -> Discard;
//! hops[1] -> Discard;
//! ```

pub mod places;

use std::net::Ipv4Addr;

use element::{
    same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};
use wire::ip_flag;

use crate::load_balancer::maglev::mix;
use places::{counts_after, has_ports, parse_all, Hop, Places};

/// The class.
pub const CLASS: Class = Class::new::<NextHopSwitch>("NextHopSwitch", "1/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] =
    &[Arg::rest("HOP", "IP address [weight]", "A next hop and its weight, 1 to 255. Default weight 1.")];

const HANDLERS: &[Handler] = &[
    Handler::read(
        "hops",
        "A line for each hop: address, weight, packets that took it, share of all flows in percent.",
    ),
    Handler::write("reset_counts", "Sets the counts to 0.").flags("button"),
];

const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("no-output", "There is no output for the hop."),
    DropReason::new("no-header", "No IPv4 header is marked, or it is cut off."),
];

/// See the page above.
pub struct NextHopSwitch {
    hops: Vec<Hop<Ipv4Addr>>,
    places: Places,
    /// Packets by hop.
    counts: Vec<u64>,
}

impl Element for NextHopSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<NextHopSwitch, Failed> {
        let hops =
            parse_all(conf, |text, scope| places::parse(text, "an IP address", |word| args::ip(word, scope)));
        conf.finish()?;
        if hops.len() != conf.n_outputs {
            conf.warning(format!("{} hops, but {} outputs", hops.len(), conf.n_outputs));
        }
        let (places, counts) = (Places::of(&hops), vec![0; hops.len()]);
        Ok(NextHopSwitch { hops, places, counts })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.spread(batch, |_, packet| self.choose(packet));
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "hops" => Ok(self.places.listing(&self.hops, &self.counts)),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        match name {
            "reset_counts" => self.counts.fill(0),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    /// Hops that stay go on counting.
    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<NextHopSwitch>(ctx, old) else { return };
        self.counts = counts_after(&self.hops, &old.hops, &old.counts);
    }
}

impl NextHopSwitch {
    #[inline(always)]
    fn choose(&mut self, packet: &mut Packet) -> Verdict {
        let Some(hash) = flow_hash(packet.network()) else { return Verdict::drop(NO_HEADER) };
        let number = self.places.hop_of(hash);
        if let (Some(hop), Some(count)) = (self.hops.get(number), self.counts.get_mut(number)) {
            packet.set_dst_ip(hop.address);
            *count += 1;
        }
        Verdict::port(number)
    }
}

/// A number that packets of one flow have in common: `header` is where their IPv4 header begins.
#[inline]
fn flow_hash(header: &[u8]) -> Option<u64> {
    let fixed = header.first_chunk::<20>().filter(|fixed| fixed[0] >> 4 == 4)?;
    let addresses = u64::from_be_bytes(*fixed[12..].first_chunk()?);
    let fragment = u16::from_be_bytes([fixed[6], fixed[7]]);
    let protocol = fixed[9];
    let mut rest = u64::from(protocol) << 32;
    if has_ports(protocol) && fragment & (ip_flag::MF | ip_flag::OFFSET_MASK) == 0 {
        let at = usize::from(fixed[0] & 0x0f) * 4;
        if let Some(ports) = header.get(at..).and_then(|transport| transport.first_chunk::<4>()) {
            rest |= u64::from(u32::from_be_bytes(*ports));
        }
    }
    Some(mix(mix(addresses) ^ rest))
}

#[cfg(test)]
mod tests;
