//! Puts the headers of an ICMP echo request in front of packets.
//!
//! IPv4 identification and ICMP sequence number count the packets from 1 on. The IPv4 header is marked, and the destination
//! annotation is set to its destination.
//!
//! ```click
//! InfiniteSource(LIMIT 5) -> ICMPPingEncap(1.0.0.1, 2.0.0.2, IDENTIFIER 7) -> ICMPPingResponder -> Discard;
//! ```

use element::{per_packet, same, Arg, Causes, Class, Configure, Ctx, Element, Failed, Packet, Verdict};
use wire::icmp_type;

use super::encapsulation::{Encapsulation, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<ICMPPingEncap>("ICMPPingEncap", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("SRC", "IP address", "Source address."),
    Arg::required("DST", "IP address", "Destination address."),
    Arg::keyword("IDENTIFIER", "0 to 65535", "The requests' identifier. Default 0."),
];

/// See the page above.
pub struct ICMPPingEncap(Encapsulation);

impl Element for ICMPPingEncap {
    fn configure(conf: &mut Configure<'_>) -> Result<ICMPPingEncap, Failed> {
        let source = conf.args.need("SRC");
        let destination = conf.args.need("DST");
        let identifier = conf.args.get_or("IDENTIFIER", 0);
        conf.finish()?;
        let (kind, code, next_id) = (icmp_type::ECHO, 0, 1);
        Ok(ICMPPingEncap(Encapsulation { source, destination, kind, code, identifier, next_id }))
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.0.read(name)
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        self.0.write(name, value)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ICMPPingEncap>(ctx, old) else { return };
        self.0.next_id = old.0.next_id;
    }
}

impl ICMPPingEncap {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        self.0.process(packet)
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn packets_become_echo_requests() {
        check_reading(
            "InfiniteSource(DATA abc, LIMIT 2) -> e :: ICMPPingEncap(1.0.0.1, 2.0.0.2, IDENTIFIER 258)
                 -> CheckIPHeader -> CheckICMPHeader -> Print(p, -1, PRINTANNO true) -> Discard;
             Script(write e.dst 3.0.0.3, write e.src x)",
            &["e.src", "e.dst"],
            expect![[r#"
                p:   31 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 4500001f 00010000 ff01b8da 01000001 02000002 0800329a 01020001 616263
                p:   31 | 020000020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 4500001f 00020000 ff01b8d9 01000001 02000002 08003299 01020002 616263
                While executing 'Script@7 :: Script':
                  While calling 'e.src x':
                    syntax error
                e.src: 1.0.0.1
                e.dst: 3.0.0.3
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake(
            "ICMPPingEncap(1.0.0.1, x, IDENTIFIER 65536)",
            expect!["DST: parse error; IDENTIFIER: out of range, bound 65535"],
        );
    }
}
