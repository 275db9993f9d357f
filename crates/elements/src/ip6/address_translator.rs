//! Translates the addresses and ports of IPv6 packets.
//!
//! Packets on input 0 go outward and leave by output 0, those on input 1 go inward and leave by output 1; they begin with their IPv6
//! headers. Outward, the source, an inner address, is replaced by the mapped one; inward, the destination, a mapped address, by the
//! inner one. Checksums of TCP, UDP and ICMPv6 are computed anew. Leaving packets have no marks and annotations.
//!
//! The arguments are, in this order:
//!
//! - how many fixed pairs there are; if there are any, whether they have ports, and the pairs: `INNER MAPPED` or
//!   `INNER PORT MAPPED PORT`;
//! - whether other packets are translated at all; if so, whether they are by port, and true if it is the packets that go inward that
//!   begin flows, false if it is those that go outward;
//! - the addresses to give hosts, an argument each; or, by port, the one address of all flows with their ports: `ADDRESS FIRST LAST`.
//!
//! If there are fixed pairs, others are not translated by port. By port, ICMPv6 echo messages go by their identifiers; other ICMPv6
//! messages are dropped.
//!
//! ```click
//! Idle -> [0] at :: AddressTranslator(1, false, fec0::1 2001:db8::1, true, false, false, 2001:db8::2) [0] -> Discard;
//! Idle -> [1] at [1] -> Discard;
//! ```

use std::net::Ipv6Addr;

use args::Scope;
use element::{
    offload, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict,
};
use wire::{icmpv6, protocol, Ipv6};

use super::address_map::{AddressMap, Direction, Side};
use super::port_map::PortMap;
use super::segment::renew_checksum;

/// The class.
pub const CLASS: Class = Class::new::<AddressTranslator>("AddressTranslator", "2/2", "a/a", "x/x")
    .args(ARGS)
    .pulls_first()
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::rest("MAPPINGS", "see above", "What is translated to what.")];

const BAD_PACKET: usize = 0;
const NO_MAPPING: usize = 1;
const UNKNOWN_PROTOCOL: usize = 2;
const OUT_OF_PORTS: usize = 3;
const DROPS: &[DropReason] = &[
    DropReason::new("bad-packet", "It does not begin with an IPv6 header, or is cut off."),
    DropReason::new("no-mapping", "There is no mapping for it, and none may be made."),
    DropReason::new("unknown-protocol", "Neither TCP nor UDP nor ICMPv6 follows the IPv6 header."),
    DropReason::new("out-of-ports", "No port is left for a new flow."),
];

enum Mappings {
    Addresses(AddressMap),
    Ports(PortMap),
}

/// See the page above.
pub struct AddressTranslator {
    mappings: Mappings,
    /// What is to be told.
    untold: Vec<&'static str>,
}

impl Element for AddressTranslator {
    fn configure(conf: &mut Configure<'_>) -> Result<AddressTranslator, Failed> {
        let arguments = conf.args.rest();
        let mappings = read_mappings(&arguments, conf);
        conf.finish()?;
        let mappings = mappings.unwrap_or(Mappings::Addresses(AddressMap::default()));
        Ok(AddressTranslator { mappings, untold: Vec::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let direction = direction_of(port);
        ctx.spread(batch, |_, packet| match self.process(packet, direction) {
            Ok(()) => Verdict::port(port),
            Err(reason) => Verdict::drop(reason),
        });
        self.tell(ctx);
    }

    fn pulls_first(&self, port: usize, max: usize) -> Option<(usize, usize)> {
        Some((port, max))
    }

    fn pulled(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) -> Batch {
        let direction = direction_of(port);
        ctx.keep_each(&mut batch, |packet| match self.process(packet, direction) {
            Ok(()) => Verdict::PASS,
            Err(reason) => Verdict::drop(reason),
        });
        self.tell(ctx);
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<AddressTranslator>(ctx, old) else { return };
        match (&mut self.mappings, old.mappings) {
            (Mappings::Addresses(own), Mappings::Addresses(old)) => own.take_over(&old),
            (Mappings::Ports(own), Mappings::Ports(old)) => own.take_over(old),
            _ => {}
        }
    }
}

impl AddressTranslator {
    fn tell(&mut self, ctx: &mut Ctx<'_>) {
        for text in self.untold.drain(..) {
            ctx.chatter(text);
        }
    }

    /// Translates a packet; `Err` is the reason to drop it.
    fn process(&mut self, packet: &mut Packet, direction: Direction) -> Result<(), usize> {
        offload::settle(packet);
        let ip = Ipv6::new(packet.data()).ok_or(BAD_PACKET)?;
        let (protocol, len) = (ip.next_header(), usize::from(ip.payload_len()));
        if !matches!(protocol, protocol::TCP | protocol::UDP | protocol::ICMPV6) {
            self.untold.push(" discard the packet, protocol unrecognized");
            return Err(UNKNOWN_PROTOCOL);
        }
        let (own, other) = match direction {
            Direction::Outward => (ip.source(), ip.destination()),
            Direction::Inward => (ip.destination(), ip.source()),
        };
        let segment = Some(ip.payload()).filter(|segment| segment.len() == len).ok_or(BAD_PACKET)?;
        let ports = Ports::of(segment, protocol, direction)?;
        let (address, port) = self.translate(direction, own, other, protocol, ports)?;
        let bytes = packet.data_mut();
        let (header, rest) = bytes.split_first_chunk_mut::<{ Ipv6::LEN }>().ok_or(BAD_PACKET)?;
        let mut ip = Ipv6::new(&mut header[..]).ok_or(BAD_PACKET)?;
        match direction {
            Direction::Outward => ip.set_source(address),
            Direction::Inward => ip.set_destination(address),
        }
        let segment = rest.get_mut(..len).ok_or(BAD_PACKET)?;
        if let (Some(port), Some(ports)) = (port, ports) {
            let place = segment.get_mut(ports.own_at..).and_then(|rest| rest.first_chunk_mut::<2>());
            *place.ok_or(BAD_PACKET)? = port.to_be_bytes();
        }
        let pseudo = ip.pseudo_header_sum(protocol, len as u32);
        if !renew_checksum(segment, protocol, pseudo) {
            return Err(BAD_PACKET);
        }
        packet.clear_annotations();
        Ok(())
    }

    /// What replaces the packet's own address and port.
    fn translate(
        &mut self,
        direction: Direction,
        own: Ipv6Addr,
        other: Ipv6Addr,
        protocol: u8,
        ports: Option<Ports>,
    ) -> Result<Side, usize> {
        match &mut self.mappings {
            Mappings::Addresses(map) => {
                // Echo identifiers are no ports that a pair could go by.
                let port = ports.filter(|_| protocol != protocol::ICMPV6).map(|ports| ports.own);
                map.translate(direction, own, port).ok_or(NO_MAPPING)
            }
            Mappings::Ports(map) => {
                let ports = ports.ok_or(NO_MAPPING)?;
                match map.translate(direction, (own, ports.own), (other, ports.other)) {
                    Ok(found) => found.map(|(address, port)| (address, Some(port))).ok_or(NO_MAPPING),
                    Err(_) => {
                        self.untold.push("AddressTranslator ran out of ports");
                        Err(OUT_OF_PORTS)
                    }
                }
            }
        }
    }
}

/// The ports of a packet.
#[derive(Clone, Copy)]
struct Ports {
    /// Where the port that may be replaced stands.
    own_at: usize,
    own: u16,
    other: u16,
}

impl Ports {
    /// The ports of a segment; the identifier of an ICMPv6 echo message stands for its own. Other ICMPv6 messages have none.
    fn of(segment: &[u8], protocol: u8, direction: Direction) -> Result<Option<Ports>, usize> {
        let [a, b, c, d, e, f, ..] = *segment.first_chunk::<8>().ok_or(BAD_PACKET)?;
        if protocol == protocol::ICMPV6 {
            let is_echo = matches!(a, icmpv6::ECHO | icmpv6::ECHO_REPLY);
            let ports = Ports { own_at: 4, own: u16::from_be_bytes([e, f]), other: 0 };
            return Ok(is_echo.then_some(ports));
        }
        let (source, destination) = (u16::from_be_bytes([a, b]), u16::from_be_bytes([c, d]));
        Ok(Some(match direction {
            Direction::Outward => Ports { own_at: 0, own: source, other: destination },
            Direction::Inward => Ports { own_at: 2, own: destination, other: source },
        }))
    }
}

fn direction_of(port: usize) -> Direction {
    match port {
        0 => Direction::Outward,
        _ => Direction::Inward,
    }
}

/// Reads the arguments; what is wrong with them is told. `None` if there is no going on.
fn read_mappings(arguments: &[String], conf: &mut Configure<'_>) -> Option<Mappings> {
    let argument = |idx: usize| arguments.get(idx).map_or("", String::as_str);
    let n_pairs = args::integer::<i32>(argument(0)).ok().and_then(|n| usize::try_from(n).ok());
    let Some(n_pairs) = n_pairs else {
        conf.error("argument 0 should be : integer");
        return None;
    };
    let mut flag = |idx: usize, shown: usize| {
        let value = args::boolean(argument(idx)).ok();
        if value.is_none() {
            conf.error(format!("argument {shown} should be : bool"));
        }
        value
    };
    let has_ports = n_pairs > 0 && flag(1, 2).unwrap_or(false);
    let begin = if n_pairs > 0 { n_pairs.saturating_add(2) } else { 1 };
    let is_dynamic = flag(begin, begin).unwrap_or(false);
    let (mut by_port, mut begins) = (false, Direction::Outward);
    if is_dynamic {
        by_port = flag(begin + 1, begin + 1).unwrap_or(false);
        begins = direction_of(usize::from(flag(begin + 2, begin + 2).unwrap_or(false)));
    }
    let mut map = AddressMap::default();
    for (idx, text) in arguments.iter().enumerate().take(begin).skip(2) {
        match pair(text, has_ports, conf.scope) {
            Some((inner, mapped)) => map.add(inner, mapped),
            None => conf.error(format!("argument {idx} should be : <IP6Address> [port] <IP6Address> [port]")),
        }
    }
    let rest = arguments.get(begin.saturating_add(3)..).unwrap_or_default();
    if is_dynamic && by_port {
        let ports = port_map(argument(begin + 3), begins, conf);
        return if n_pairs > 0 { Some(Mappings::Addresses(map)) } else { ports.map(Mappings::Ports) };
    }
    if is_dynamic {
        map.set_pool(begins, pool(rest, conf));
    }
    Some(Mappings::Addresses(map))
}

/// A fixed pair.
fn pair(text: &str, has_ports: bool, scope: &Scope<'_>) -> Option<(Side, Side)> {
    let words = args::split_words(text);
    let address = |word: &String| args::ip6(word, scope).ok();
    let port = |word: &String| args::integer::<i32>(word).ok().map(|port| Some(port as u16));
    match (has_ports, words.as_slice()) {
        (false, [inner, mapped]) => Some(((address(inner)?, None), (address(mapped)?, None))),
        (true, [inner, inner_port, mapped, mapped_port]) => {
            Some(((address(inner)?, port(inner_port)?), (address(mapped)?, port(mapped_port)?)))
        }
        _ => None,
    }
}

fn pool(arguments: &[String], conf: &mut Configure<'_>) -> Vec<Ipv6Addr> {
    let mut pool = Vec::new();
    for (idx, text) in arguments.iter().enumerate() {
        match args::ip6(text, conf.scope) {
            Ok(address) => pool.push(address),
            Err(_) => conf.error(format!("argument {} should be : <IP6Address>", idx + 3)),
        }
    }
    pool
}

fn port_map(text: &str, begins: Direction, conf: &mut Configure<'_>) -> Option<PortMap> {
    let words = args::split_words(text);
    let read = |word: &String| args::integer::<i32>(word).ok().map(|port| port as u16);
    let ports = match words.as_slice() {
        [address, first, last, ..] => args::ip6(address, conf.scope).ok().zip(read(first).zip(read(last))),
        _ => None,
    };
    if ports.is_none() {
        conf.error("argument 3 should be : <IP6Address> <unsigned char> <unsigned char>");
    }
    ports.map(|(address, (first, last))| PortMap::new(begins, address, [first, last]))
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::{expect, Expect};

    /// Sends UDP packets, `direction from port to port`, and prints what becomes of them.
    fn translate(arguments: &str, packets: &[&str], expect: Expect) {
        let mut graph = format!(
            "at :: AddressTranslator({arguments}); at[0] -> out :: CheckIP6Header -> IP6Print(out) -> Print(ports, 48) -> Discard;
            at[1] -> MarkIP6Header -> IP6Print(in) -> Print(ports, 48) -> Discard; i0 :: Idle -> at; i1 :: Idle -> [1] at;"
        );
        for packet in packets {
            let words: Vec<&str> = packet.split(' ').collect();
            let input = if words[0] == "out" { 0 } else { 1 };
            graph += &format!(
                "InfiniteSource(DATA x, LIMIT 1, STOP true) -> UDPIP6Encap({}, {}, {}, {}) -> [{input}] at;",
                words[1], words[2], words[3], words[4]
            );
        }
        graph += &format!("DriverManager(wait_stop {})", packets.len());
        check(&graph, expect);
    }

    #[test]
    fn fixed_pairs_hold_both_ways() {
        translate(
            "1, false, fec0::1 2001:db8::1, 0",
            &[
                "out fec0::1 5 9::9 7",
                "in 9::9 7 2001:db8::1 5",
                "out fec0::2 5 9::9 7",
                "in 9::9 7 fec0::1 5",
            ],
            expect![[r#"
                out: 2001:db8::1 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000001 00090000 00000000 00000000 00000009 00050007 00095a04
                in: 9::9 -> fec0::1 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 00090000 00000000 00000000 00000009 fec00000 00000000 00000000 00000001 00070005 000988fc
            "#]],
        );
        translate(
            "2, true, fec0::1 80 2001:db8::1 8080, fec0::2 80 2001:db8::1 8081, 0",
            &["out fec0::1 80 9::9 7", "out fec0::1 81 9::9 7", "in 9::9 7 2001:db8::1 8081"],
            expect![[r#"
                out: 2001:db8::1 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000001 00090000 00000000 00000000 00000009 1f900007 00093a79
                in: 9::9 -> fec0::2 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 00090000 00000000 00000000 00000009 fec00000 00000000 00000000 00000002 00070050 000988b0
            "#]],
        );
    }

    #[test]
    fn a_pool_gives_hosts_addresses() {
        translate(
            "0, true, false, false, 2001:db8::1, 2001:db8::2",
            &[
                "in 9::9 7 2001:db8::1 5",
                "out fec0::1 5 9::9 7",
                "out fec0::2 5 9::9 7",
                "out fec0::3 5 9::9 7",
                "in 9::9 7 2001:db8::2 5",
            ],
            expect![[r#"
                out: 2001:db8::1 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000001 00090000 00000000 00000000 00000009 00050007 00095a04
                out: 2001:db8::2 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000002 00090000 00000000 00000000 00000009 00050007 00095a03
                in: 9::9 -> fec0::2 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 00090000 00000000 00000000 00000009 fec00000 00000000 00000000 00000002 00070005 000988fb
            "#]],
        );
        translate(
            "0, true, false, true, fec0::1",
            &["out fec0::1 5 9::9 7", "in 9::9 7 2001:db8::1 5", "out fec0::1 5 9::9 7"],
            expect![[r#"
                in: 9::9 -> fec0::1 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 00090000 00000000 00000000 00000009 fec00000 00000000 00000000 00000001 00070005 000988fc
                out: 2001:db8::1 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000001 00090000 00000000 00000000 00000009 00050007 00095a04
            "#]],
        );
    }

    #[test]
    fn flows_share_an_address() {
        translate(
            "0, true, true, false, 2001:db8::1 100 101",
            &[
                "out fec0::1 5 9::9 7",
                "out fec0::2 5 9::9 7",
                "out fec0::3 5 9::9 7",
                "in 9::9 7 2001:db8::1 101",
                "in 9::9 8 2001:db8::1 101",
            ],
            expect![[r#"
                out: 2001:db8::1 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000001 00090000 00000000 00000000 00000009 00640007 000959a5
                out: 2001:db8::1 -> 9::9 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 20010db8 00000000 00000000 00000001 00090000 00000000 00000000 00000009 00650007 000959a4
                AddressTranslator ran out of ports
                in: 9::9 -> fec0::2 plen 9, next 17, hlim 255
                ports:   49 | 60000000 000911ff 00090000 00000000 00000000 00000009 fec00000 00000000 00000000 00000002 00070005 000988fb
            "#]],
        );
    }

    #[test]
    fn other_protocols_are_told_of() {
        let printed = crate::testing::run(
            "InfiniteSource(DATA x, LIMIT 1) -> IP6Encap(41, 1::, 2::) -> [0] at :: AddressTranslator(0, 0) [0] -> Discard;
            Idle -> [1] at [1] -> Discard",
            &[],
        );
        assert_eq!(printed, " discard the packet, protocol unrecognized\n");
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        let check = |arguments: &str, expect| {
            check_mistake(
                &format!("[0] at :: AddressTranslator({arguments}) [0] -> Discard; Idle -> [1] at [1]"),
                expect,
            )
        };
        check("", expect!["argument 0 should be : integer"]);
        check("x", expect!["argument 0 should be : integer"]);
        check("-1, 0", expect!["argument 0 should be : integer"]);
        check("2000000000, 0", expect!["argument 2000000002 should be : bool"]);
        check(
            "1, x, 1::1 2::2, y",
            expect!["argument 2 should be : bool; argument 4 should be : bool; argument 5 should be : bool"],
        );
        check(
            "1, true, 1::1 2::2, false",
            expect!["argument 2 should be : <IP6Address> [port] <IP6Address> [port]"],
        );
        check(
            "0, true, x, y, 1::1, z",
            expect!["argument 2 should be : bool; argument 4 should be : <IP6Address>"],
        );
        check(
            "0, true, true, 0, 1::1 5",
            expect!["argument 3 should be : <IP6Address> <unsigned char> <unsigned char>"],
        );
    }
}
