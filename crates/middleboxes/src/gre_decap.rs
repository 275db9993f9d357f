//! Takes packets out of GRE tunnels.
//!
//! Takes IPv4 packets, checks their GRE headers (RFC 2784, RFC 2890) and removes all that is in front of the packet in the tunnel.
//! If that is IPv4 it is marked, and the destination annotation is set. The tunnel's key, 0 if there is none, becomes the
//! aggregate annotation. Packets that are not GRE, or fragments, leave by output 1 if it is there.
//!
//! With KEY, PROTOCOL, SRC or DST other packets are dropped. With SEQUENCE, packets must be numbered, and those that come late
//! or twice are dropped. With CHECKSUM, they must have one; one that is there is always checked.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIPHeader -> GREDecap(KEY 42, SEQUENCE true) -> CheckIPHeader -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::{
    annotation, per_packet, same, Arg, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};

use crate::gre::{self, Fault, Header};

/// The class.
pub const CLASS: Class =
    Class::new::<GreDecap>("GREDecap", "1/1-2", "a/ah", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::keyword("KEY", "unsigned", "The key that packets must have. Default any or none."),
    Arg::keyword(
        "PROTOCOL",
        "unsigned",
        "The Ethernet protocol number of what must be in the tunnel. Default any.",
    ),
    Arg::keyword("SRC", "IP address", "Where the tunnel must begin. Default anywhere."),
    Arg::keyword("DST", "IP address", "Where the tunnel must end. Default anywhere."),
    Arg::keyword("SEQUENCE", "bool", "Whether packets must be numbered and in order. Default false."),
    Arg::keyword("CHECKSUM", "bool", "Whether packets must have a checksum. Default false."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("sequence", "The last number; nothing if there was none.").flags("most"),
    Handler::write("reset", "Forgets the last number."),
];

const DROPS: &[DropReason] = &[
    DropReason::new("not-gre", "The packet is not GRE or is a fragment, and there is no output 1."),
    DropReason::new("malformed", "The GRE header ends early, or is of another version."),
    DropReason::new("checksum", "The checksum is wrong, or missing."),
    DropReason::new("other-tunnel", "Key, protocol or addresses are others."),
    DropReason::new("order", "The number is not after the last one, or missing."),
];
const NOT_GRE: usize = 0;
const MALFORMED: usize = 1;
const CHECKSUM: usize = 2;
const OTHER: usize = 3;
const ORDER: usize = 4;

/// See the page above.
pub struct GreDecap {
    key: Option<u32>,
    protocol: Option<u16>,
    source: Option<Ipv4Addr>,
    destination: Option<Ipv4Addr>,
    is_numbered: bool,
    has_checksum: bool,
    last: Option<u32>,
}

impl Element for GreDecap {
    fn configure(conf: &mut Configure<'_>) -> Result<GreDecap, Failed> {
        let element = GreDecap {
            key: conf.args.get("KEY"),
            protocol: conf.args.get("PROTOCOL"),
            source: conf.args.get("SRC"),
            destination: conf.args.get("DST"),
            is_numbered: conf.args.get_or("SEQUENCE", false),
            has_checksum: conf.args.get_or("CHECKSUM", false),
            last: None,
        };
        conf.finish()?;
        Ok(element)
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "sequence" => Ok(self.last.map_or(String::new(), |last| last.to_string())),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, _value: &str) -> Result<(), String> {
        if name != "reset" {
            return Err(format!("no {name} write handler"));
        }
        self.last = None;
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<GreDecap>(ctx, old) else { return };
        let tunnel = |of: &GreDecap| (of.key, of.source, of.destination);
        if tunnel(&old) == tunnel(self) {
            self.last = old.last;
        }
    }
}

impl GreDecap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let header = match Header::of(packet) {
            Ok(header) => header,
            Err(Fault::NotGre) => return Verdict::port_or_drop(1, NOT_GRE),
            Err(Fault::Malformed) => return Verdict::drop(MALFORMED),
            Err(Fault::Checksum) => return Verdict::drop(CHECKSUM),
        };
        if !self.is_ours(&header) {
            return Verdict::drop(OTHER);
        }
        if self.has_checksum && !header.has_checksum {
            return Verdict::drop(CHECKSUM);
        }
        if self.is_numbered {
            match header.sequence {
                Some(sequence) if gre::is_in_order(self.last, sequence) => self.last = Some(sequence),
                _ => return Verdict::drop(ORDER),
            }
        }
        gre::strip(packet, &header);
        packet.set_anno_u32(annotation::AGGREGATE, header.key.unwrap_or(0));
        Verdict::PASS
    }

    #[inline]
    fn is_ours(&self, header: &Header) -> bool {
        self.key.is_none_or(|key| header.key == Some(key))
            && self.protocol.is_none_or(|protocol| header.protocol == protocol)
            && self.source.is_none_or(|source| header.source == source)
            && self.destination.is_none_or(|destination| header.destination == destination)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_of_other_tunnels_and_late_ones_are_dropped() {
        check_reading(
            r"key :: GREDecap(KEY 7) -> c0 :: Counter -> Discard;
              order :: GREDecap(SEQUENCE true, CHECKSUM false) -> c1 :: Counter -> Discard;
              rest :: GREDecap; rest -> c2 :: Counter -> Discard; rest[1] -> c3 :: Counter -> Discard;
              s :: InfiniteSource(LIMIT 4, DATA abc, STOP true) -> UDPIPEncap(1.0.0.1, 1, 1.0.0.2, 2) -> t :: Tee(3);
              t[0] -> GREEncap(2.0.0.1, 2.0.0.2, KEY 8) -> key;
              t[1] -> GREEncap(2.0.0.1, 2.0.0.2, SEQUENCE true) -> twice :: Tee -> order; twice[1] -> order;
              t[2] -> rest;",
            &["c0.count", "c1.count", "c2.count", "c3.count", "order.sequence"],
            expect![[r#"
                c0.count: 0
                c1.count: 4
                c2.count: 0
                c3.count: 4
                order.sequence: 3
            "#]],
        );
    }
}
