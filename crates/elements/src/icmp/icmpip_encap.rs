//! Puts the headers of an ICMP message in front of packets.
//!
//! The IPv4 identification counts the packets from 1 on, and so does the sequence number of messages that have one: echo, timestamp
//! and information requests and replies. Other fields of the ICMP header are 0. The IPv4 header is marked, and the destination
//! annotation is set to its destination.
//!
//! ```click
//! InfiniteSource(LIMIT 5) -> ICMPIPEncap(1.0.0.1, 2.0.0.2, echo-reply, IDENTIFIER 7) -> CheckICMPHeader -> Discard;
//! ```

use args::{NameKind, Word};
use element::{per_packet, same, Arg, Class, Configure, Ctx, Element, Failed, Packet, Verdict};

use super::encapsulation::{Encapsulation, HANDLERS};

/// The class.
pub const CLASS: Class =
    Class::new::<ICMPIPEncap>("ICMPIPEncap", "1/1", "a/a", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IP address", "Source address."),
    Arg::required("DST", "IP address", "Destination address."),
    Arg::required("TYPE", "ICMP type", "The messages' type, by name or number."),
    Arg::optional("CODE", "ICMP code", "The messages' code, by name or number. Default 0."),
    Arg::keyword("IDENTIFIER", "0 to 65535", "Identifier of messages that have one. Default 0."),
];

/// See the page above.
pub struct ICMPIPEncap(Encapsulation);

impl Element for ICMPIPEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPIPEncap, Failed> {
        let source = conf.args.need("SRC");
        let destination = conf.args.need("DST");
        let kind =
            conf.args.need_with("TYPE", |text, scope| args::named_integer(text, scope, NameKind::IcmpType));
        let Word(code) = conf.args.get_or("CODE", Word("0".to_string()));
        let identifier = conf.args.get_or("IDENTIFIER", 0);
        conf.finish()?;
        let kind = kind.and_then(|kind| u8::try_from(kind).ok()).ok_or("invalid TYPE")?;
        let code = conf.scope.integer_or_number(NameKind::IcmpCode(kind), &code);
        let code = code.and_then(|code| u8::try_from(code).ok()).ok_or("invalid CODE")?;
        Ok(ICMPIPEncap(Encapsulation { source, destination, kind, code, identifier, next_id: 1 }))
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.0.read(name)
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.0.write(name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ICMPIPEncap>(ctx, old) else { return };
        self.0.next_id = old.0.next_id;
    }
}

impl ICMPIPEncap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        self.0.process(packet)
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn messages_of_any_type_are_made() {
        let make = |arguments: &str| {
            format!(
                "InfiniteSource(LIMIT 1) -> ICMPIPEncap(1.0.0.1, 2.0.0.2, {arguments})
                     -> CheckIPHeader -> CheckICMPHeader -> Print(p, 48) -> Discard;"
            )
        };
        let types =
            ["unreachable, needfrag", "timestamp, IDENTIFIER 9", "0, 77, IDENTIFIER 3", "redirect, 1"];
        check(
            &types.map(make).concat(),
            expect![[r#"
            p:   97 | 45000061 00010000 ff01b898 01000001 02000002 030451f3 00000000 52616e64 6f6d2062 756c6c73 68697420 696e2061
            CheckICMPHeader@10 :: CheckICMPHeader: ICMP header check failed: bad packet length
            p:   97 | 45000061 00010000 ff01b898 01000001 02000002 004d54a6 00030001 52616e64 6f6d2062 756c6c73 68697420 696e2061
            p:   97 | 45000061 00010000 ff01b898 01000001 02000002 05014ff6 00000000 52616e64 6f6d2062 756c6c73 68697420 696e2061
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake("ICMPIPEncap(1.0.0.1, 2.0.0.2, 256)", expect!["invalid TYPE"]);
        check_mistake("ICMPIPEncap(1.0.0.1, 2.0.0.2, echo, needfrag)", expect!["invalid CODE"]);
        check_mistake("ICMPIPEncap(1.0.0.1, 2, nothing)", expect!["DST: parse error; TYPE: invalid number"]);
    }
}
