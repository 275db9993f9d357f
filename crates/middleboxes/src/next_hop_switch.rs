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
pub mod switch;

use std::net::Ipv4Addr;

use args::Scope;
use element::{Arg, Class, DropReason, Packet};
use wire::ip_flag;

use crate::load_balancer::maglev::mix;
use places::has_ports;
use switch::{drops, Family, Switch, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<Switch<Ip4>>("NextHopSwitch", "1/1-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] =
    &[Arg::rest("HOP", "IP address [weight]", "A next hop and its weight, 1 to 255. Default weight 1.")];

const DROPS: &[DropReason] = &drops("No IPv4 header is marked, or it is cut off.");

/// IPv4.
pub struct Ip4;

impl Family for Ip4 {
    type Address = Ipv4Addr;
    const EXPECTED: &'static str = "an IP address";

    fn parse(word: &str, scope: &Scope<'_>) -> Result<Ipv4Addr, String> {
        args::ip(word, scope)
    }

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

    #[inline]
    fn set_destination(packet: &mut Packet, hop: &Ipv4Addr) {
        packet.set_dst_ip(*hop);
    }
}

#[cfg(test)]
mod tests;
