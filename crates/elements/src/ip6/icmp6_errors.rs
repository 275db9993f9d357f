//! Makes the ICMPv6 error messages that a router owes.
//!
//! Each argument is the kind of the errors about what comes in by the input with its number: `unreachable`, `packettoobig`,
//! `timeexceeded` or `parameterproblem`, and a code. Each packet, whose IPv6 header must be marked, is answered by a message to its
//! source that quotes as much of it as fits in 1280 bytes. The message has the packet's paint, which tells the interface by which it
//! came: INTERFACES are a paint, the addresses of the interface, the next paint, and so on, and the message comes from
//! one of these addresses (RFC 4443, section 2.2). Its header is marked, its destination annotation set. Packets too big are told
//! the PMTU, and a parameter problem of code 1 names the header that nobody knows.
//!
//! No message is made about ICMPv6 errors and redirects, behind whatever headers they stand, nor about packets from or to what is not
//! a single host; but who sends too much to a group is told (RFC 4443, section 2.4).
//!
//! ```click
//! e :: ICMP6Errors(timeexceeded 0, packettoobig 0, PMTU 1500, INTERFACES 0 2001:db8::1/64) -> limit :: RatedSplitter(1000) -> Discard;
//! limit[1] -> Discard;
//! Idle -> [0] e;
//! Idle -> [1] e;
//! ```

use std::net::Ipv6Addr;

use element::{
    annotation, offload, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict,
};
use wire::{icmpv6, protocol, upper_layer, Ipv6};

use super::icmp_message;
use super::own_addresses::Interfaces;

/// The class.
pub const CLASS: Class =
    Class::new::<ICMP6Errors>("ICMP6Errors", "1-/1", "h/h", "x/x").args(ARGS).drops(DROPS).live();

const ARGS: &[Arg] = &[
    Arg::rest(
        "KIND",
        "word and number",
        "The type and code of the errors about what comes in by this argument's input.",
    ),
    Arg::keyword(
        "INTERFACES",
        "list of paints and IPv6 prefixes",
        "The messages' sources by paint. Default none.",
    ),
    Arg::keyword("PMTU", "unsigned", "The longest packet that would not have been too big. Default 1280."),
];

const NO_HEADER: usize = 0;
const ICMP_ERROR: usize = 1;
const GROUP: usize = 2;
const BAD_SOURCE: usize = 3;
const NO_ADDRESS: usize = 4;
const DROPS: &[DropReason] = &[
    DropReason::new("no-header", "No IPv6 header is marked, or it is cut off."),
    DropReason::new("icmp-error", "The packet is an ICMPv6 error or redirect itself."),
    DropReason::new("group", "The packet was sent to a group or by a link-layer broadcast."),
    DropReason::new("bad-source", "The source is not the address of a host."),
    DropReason::new("no-address", "There is no address to send the message from."),
];

const ICMP_HEADER: usize = 8;
/// The longest message: what every link carries (RFC 4443, section 2.4).
const MESSAGE_MAX: usize = 1280;
const TYPES: [(&str, u8); 4] = [
    ("unreachable", icmpv6::UNREACHABLE),
    ("packettoobig", icmpv6::PACKET_TOO_BIG),
    ("timeexceeded", icmpv6::TIME_EXCEEDED),
    ("parameterproblem", icmpv6::PARAMETER_PROBLEM),
];
/// Code of a parameter problem: a header of a type that nobody knows.
const UNKNOWN_HEADER: u8 = 1;

/// See the page above.
pub struct ICMP6Errors {
    /// Type and code by input.
    kinds: Vec<[u8; 2]>,
    interfaces: Interfaces,
    path_mtu: u32,
}

impl Element for ICMP6Errors {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMP6Errors, Failed> {
        let interfaces = conf.args.get_with("INTERFACES", Interfaces::parse).unwrap_or_default();
        let path_mtu = conf.args.get_or("PMTU", MESSAGE_MAX as u32);
        let mut kinds = Vec::new();
        for text in conf.args.rest() {
            match kind(&text) {
                Some(kind) => kinds.push(kind),
                None => conf.args.fail(format!(
                    "`{text}`: expected {} and a code",
                    TYPES.map(|(name, _)| name).join(", ")
                )),
            }
        }
        if kinds.len() != conf.n_inputs && conf.args.is_ok() {
            conf.args.fail(format!("{} kinds of errors, but {} inputs", kinds.len(), conf.n_inputs));
        }
        conf.finish()?;
        Ok(ICMP6Errors { kinds, interfaces, path_mtu })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let kind = self.kinds.get(port).copied().unwrap_or_default();
        ctx.push_each(batch, |packet| match self.message(packet, kind) {
            Ok(message) => {
                *packet = message;
                Verdict::PASS
            }
            Err(reason) => Verdict::drop(reason),
        });
    }
}

impl ICMP6Errors {
    /// The message about a packet, or why there is none.
    fn message(&self, packet: &mut Packet, [kind, code]: [u8; 2]) -> Result<Packet, usize> {
        let to = answerable(packet, kind)?;
        let paint = packet.anno_u8(annotation::PAINT);
        let source = self.interfaces.source_towards(paint, to).ok_or(NO_ADDRESS)?;
        offload::settle(packet);
        let about = packet.network();
        let value = match (kind, code) {
            (icmpv6::PACKET_TOO_BIG, _) => self.path_mtu,
            (icmpv6::PARAMETER_PROBLEM, UNKNOWN_HEADER) => {
                upper_layer(about).map_or(0, |upper| upper.told_at as u32)
            }
            _ => 0,
        };
        let [a, b, c, d] = value.to_be_bytes();
        let header: [u8; ICMP_HEADER] = [kind, code, 0, 0, a, b, c, d];
        let quoted = about.get(..MESSAGE_MAX - Ipv6::LEN - ICMP_HEADER).unwrap_or(about);
        let mut message = icmp_message::packet([source, to], [&header, quoted]);
        message.set_anno_u8(annotation::PAINT, paint);
        Ok(message)
    }
}

/// The type and code that an argument stands for.
fn kind(text: &str) -> Option<[u8; 2]> {
    let (name, rest) = args::next_word(text);
    let (code, rest) = args::next_word(rest);
    let (_, kind) = TYPES.iter().find(|(known, _)| *known == name)?;
    let code = args::bounded_integer(code, 0u8, u8::MAX).ok()?;
    rest.trim().is_empty().then_some([*kind, code])
}

/// Who sent a packet, or why nobody is told about it.
fn answerable(packet: &Packet, kind: u8) -> Result<Ipv6Addr, usize> {
    let bytes = packet.network();
    let ip = Ipv6::new(bytes).ok_or(NO_HEADER)?;
    let upper = upper_layer(bytes).ok_or(NO_HEADER)?;
    if upper.protocol == protocol::ICMPV6 {
        // What is cut off might be an error as well.
        let about = bytes.get(upper.offset).filter(|_| !upper.is_later_fragment);
        if about.is_none_or(|about| icmpv6::is_error(*about) || *about == icmpv6::REDIRECT) {
            return Err(ICMP_ERROR);
        }
    }
    let is_group = ip.destination().is_multicast() || packet.packet_type().is_group();
    if is_group && kind != icmpv6::PACKET_TOO_BIG {
        return Err(GROUP);
    }
    let source = ip.source();
    if source.is_multicast() || source.is_unspecified() || source.is_loopback() {
        return Err(BAD_SOURCE);
    }
    Ok(source)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::expect;
    use packet::PacketType;

    fn errors() -> ICMP6Errors {
        let interfaces = "1 2001:db8::1/64 fe80::1/64 2 2001:db8:1::1/64";
        let interfaces = Interfaces::parse(interfaces, &args::Scope::builtin()).unwrap();
        ICMP6Errors { kinds: vec![], interfaces, path_mtu: 1400 }
    }

    /// A packet from one address to another with something behind its header.
    fn about(from: &str, to: &str, next: u8, rest: &[u8]) -> Packet {
        let mut bytes = [&[0; 40], rest].concat();
        let mut ip = Ipv6::init(&mut bytes[..]).unwrap();
        ip.set_next_header(next);
        ip.set_source(from.parse().unwrap());
        ip.set_destination(to.parse().unwrap());
        let mut packet = Packet::from_bytes(&bytes);
        packet.set_network_header(0, 40);
        packet.set_anno_u8(annotation::PAINT, 1);
        packet
    }

    const UNREACHABLE: [u8; 2] = [icmpv6::UNREACHABLE, 0];
    const TOO_BIG: [u8; 2] = [icmpv6::PACKET_TOO_BIG, 0];

    #[test]
    fn messages_come_from_the_interface_by_which_the_packet_came() {
        let from = |from: &str, paint: u8| {
            let mut packet = about(from, "2::", 17, &[0; 8]);
            packet.set_anno_u8(annotation::PAINT, paint);
            let message = errors().message(&mut packet, UNREACHABLE).unwrap();
            assert_eq!(message.anno_u8(annotation::PAINT), paint);
            Ipv6::new(message.network()).unwrap().source().to_string()
        };
        assert_eq!(from("2001:db8::5", 1), "2001:db8::1");
        assert_eq!(from("2001:db8::5", 2), "2001:db8:1::1");
        assert_eq!(from("fe80::5", 1), "fe80::1");
    }

    #[test]
    fn as_much_is_quoted_as_every_link_carries() {
        let len = |n: usize| {
            errors().message(&mut about("1::", "2::", 17, &vec![7; n]), UNREACHABLE).unwrap().len()
        };
        assert_eq!([len(0), len(1192), len(1193), len(60_000)], [88, 1280, 1280, 1280]);
    }

    #[test]
    fn no_message_is_made_about_errors_and_groups() {
        let answer = |packet: Packet, kind| errors().message(&mut { packet }, kind).err();
        let error = [icmpv6::TIME_EXCEEDED, 0, 0, 0];
        assert_eq!(answer(about("1::", "2::", 58, &[128, 0]), UNREACHABLE), None);
        assert_eq!(answer(about("1::", "2::", 17, &[1, 0]), UNREACHABLE), None);
        assert_eq!(answer(about("1::", "2::", 58, &error), UNREACHABLE), Some(ICMP_ERROR));
        assert_eq!(answer(about("1::", "2::", 58, &[137]), UNREACHABLE), Some(ICMP_ERROR));
        assert_eq!(answer(about("1::", "2::", 58, &[]), UNREACHABLE), Some(ICMP_ERROR));
        // Behind options, and in a fragment.
        let behind = [&[58, 0, 0, 0, 0, 0, 0, 0][..], &error].concat();
        assert_eq!(answer(about("1::", "2::", 60, &behind), UNREACHABLE), Some(ICMP_ERROR));
        assert_eq!(answer(about("1::", "2::", 44, &behind), UNREACHABLE), Some(ICMP_ERROR));
        let later = [58, 0, 0, 8, 0, 0, 0, 1, 128, 0, 0, 0];
        assert_eq!(answer(about("1::", "2::", 44, &later), UNREACHABLE), Some(ICMP_ERROR));
        assert_eq!(answer(about("1::", "ff0e::1", 17, &[]), UNREACHABLE), Some(GROUP));
        assert_eq!(answer(about("1::", "ff0e::1", 17, &[]), TOO_BIG), None);
        assert_eq!(answer(about("::", "2::", 17, &[]), TOO_BIG), Some(BAD_SOURCE));
        assert_eq!(answer(about("ff02::1", "2::", 17, &[]), UNREACHABLE), Some(BAD_SOURCE));
        let mut by_group = about("1::", "2::", 17, &[]);
        by_group.set_packet_type(PacketType::Multicast);
        assert_eq!(answer(by_group, UNREACHABLE), Some(GROUP));
        assert_eq!(answer(Packet::from_bytes(&[0x60; 60]), UNREACHABLE), Some(NO_HEADER));
        let nowhere = ICMP6Errors { interfaces: Interfaces::default(), ..errors() };
        assert_eq!(nowhere.message(&mut about("1::", "2::", 17, &[]), UNREACHABLE).err(), Some(NO_ADDRESS));
    }

    #[test]
    fn messages_tell_what_their_kind_tells() {
        check(
            "i :: InfiniteSource(DATA \\<60000000 000c0001 20010db8000000000000000000000005 20010db8000000000000000000000002
                fe00000000000000 01020304>, LIMIT 1, STOP true) -> MarkIP6Header -> Paint(1) -> t :: Tee(3);
            e :: ICMP6Errors(timeexceeded 0, packettoobig 0, parameterproblem 1, PMTU 1400, INTERFACES 1 2001:db8::1/64);
            t[0] -> [0] e; t[1] -> [1] e; t[2] -> [2] e; e -> Print(error, -1) -> Discard;",
            expect![[r#"
                error:  100 | 60000000 003c3aff 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000005 0300e383 00000000 60000000 000c0001 20010db8 00000000 00000000 00000005 20010db8 00000000 00000000 00000002 fe000000 00000000 01020304
                error:  100 | 60000000 003c3aff 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000005 0200df0b 00000578 60000000 000c0001 20010db8 00000000 00000000 00000005 20010db8 00000000 00000000 00000002 fe000000 00000000 01020304
                error:  100 | 60000000 003c3aff 20010db8 00000000 00000000 00000001 20010db8 00000000 00000000 00000005 0401e25a 00000028 60000000 000c0001 20010db8 00000000 00000000 00000005 20010db8 00000000 00000000 00000002 fe000000 00000000 01020304
            "#]],
        );
    }

    #[test]
    fn kinds_must_be_known_and_have_an_input() {
        check(
            "Idle -> ICMP6Errors(redirect 0, unreachable, timeexceeded 256, unreachable 0 0) -> Discard;
             Idle -> ICMP6Errors(unreachable 0, timeexceeded 0) -> Discard; Idle -> ICMP6Errors(unreachable 0, INTERFACES 1::) -> Discard",
            expect![[r#"
                config:1: While configuring 'ICMP6Errors@2 :: ICMP6Errors':
                  `redirect 0`: expected unreachable, packettoobig, timeexceeded, parameterproblem and a code
                  `unreachable`: expected unreachable, packettoobig, timeexceeded, parameterproblem and a code
                  `timeexceeded 256`: expected unreachable, packettoobig, timeexceeded, parameterproblem and a code
                  `unreachable 0 0`: expected unreachable, packettoobig, timeexceeded, parameterproblem and a code
                config:2: While configuring 'ICMP6Errors@5 :: ICMP6Errors':
                  2 kinds of errors, but 1 inputs
                config:2: While configuring 'ICMP6Errors@8 :: ICMP6Errors':
                  INTERFACES: expected a paint before addresses
                Router could not be initialized!
            "#]],
        );
    }
}
