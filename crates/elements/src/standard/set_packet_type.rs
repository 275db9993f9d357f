//! Sets packets' types: whether each was sent to this host, to all, to another host and so on.
//!
//! ```click
//! FromDump(in.pcap) -> SetPacketType(BROADCAST) -> d :: DropBroadcasts -> Discard;
//! ```

use args::Word;
use element::{per_packet, Arg, Causes, Class, Configure, Element, Failed, Packet, Refusal, Verdict};
use packet::PacketType;

/// The class.
pub const CLASS: Class = Class::new::<SetPacketType>("SetPacketType", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[Arg::required(
    "TYPE",
    "word",
    "`HOST`, `BROADCAST`, `MULTICAST`, `OTHERHOST`, `OUTGOING` or `LOOPBACK`, in any case.",
)];

const TYPES: &[(&str, PacketType)] = &[
    ("HOST", PacketType::Host),
    ("BROADCAST", PacketType::Broadcast),
    ("MULTICAST", PacketType::Multicast),
    ("OTHERHOST", PacketType::OtherHost),
    ("OUTGOING", PacketType::Outgoing),
    ("LOOPBACK", PacketType::Loopback),
];

/// See the page above.
pub struct SetPacketType {
    packet_type: PacketType,
}

impl Element for SetPacketType {
    fn configure(conf: &mut Configure<'_>) -> Result<SetPacketType, Failed> {
        let Word(name) = conf.args.need("TYPE");
        let found = TYPES.iter().find(|(known, _)| known.eq_ignore_ascii_case(&name));
        if found.is_none() {
            conf.args.fail(format!("unrecognized packet type '{name}'"));
        }
        conf.finish()?;
        Ok(SetPacketType { packet_type: found.map_or(PacketType::Host, |(_, packet_type)| *packet_type) })
    }

    per_packet!();
}

impl SetPacketType {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        packet.set_packet_type(self.packet_type);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn the_type_is_set() {
        check_reading(
            "InfiniteSource(LIMIT 3) -> SetPacketType(broadcast) -> d :: DropBroadcasts -> c :: Counter
                 -> s :: SetPacketType(TYPE Multicast) -> e :: DropBroadcasts -> Discard;
             InfiniteSource(LIMIT 2) -> SetPacketType(OUTGOING) -> f :: DropBroadcasts -> g :: Counter -> Discard;
             DriverManager(wait 0.1s, write s.config foo, read s.config, write s.config HOST, stop)",
            &["d.drops", "c.count", "g.count", "s.config"],
            expect![[r#"
                DropBroadcasts: dropped a packet
                While executing 'DriverManager@13 :: DriverManager':
                  While calling 's.config foo':
                    unrecognized packet type 'foo'
                s.config:
                TYPE Multicast
                d.drops: 3
                c.count: 0
                g.count: 2
                s.config: HOST
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "Idle -> SetPacketType -> SetPacketType(broad cast) -> SetPacketType(Any) -> SetPacketType(HOST, X) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'SetPacketType@2 :: SetPacketType':
                  TYPE: required argument missing
                config:1: While configuring 'SetPacketType@3 :: SetPacketType':
                  TYPE: parse error
                config:1: While configuring 'SetPacketType@4 :: SetPacketType':
                  unrecognized packet type 'Any'
                config:1: While configuring 'SetPacketType@5 :: SetPacketType':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
    }
}
