//! Makes IPv4 packets look like ICMP messages of a type and code: for tests of what comes behind.
//!
//! Sets TYPE, CODE and checksum behind the marked IPv4 header, whatever its protocol. Packets that are too short are dropped
//! and told on standard error.
//!
//! ```click
//! RandomSource(60, LIMIT 10) -> ForceIP -> ForceICMP(echo, 0) -> Discard;
//! ```

use args::{NameKind, Word};
use element::{offload, Arg, Class, Configure, Ctx, Element, Failed, Packet};
use wire::{checksum, Icmp};

use crate::ip::forced::{forced, Lengths, DROPS};

/// The class.
pub const CLASS: Class = Class::new::<ForceICMP>("ForceICMP", "1/1", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("TYPE", "ICMP type", "The type, by name or number."),
    Arg::required("CODE", "ICMP code", "The code, by name or number."),
];

/// See the page above.
pub struct ForceICMP {
    kind: u8,
    code: u8,
}

impl Element for ForceICMP {
    fn configure(conf: &mut Configure<'_>) -> Result<ForceICMP, Failed> {
        let kind =
            conf.args.need_with("TYPE", |text, scope| args::named_integer(text, scope, NameKind::IcmpType));
        let Word(code) = conf.args.need("CODE");
        conf.finish()?;
        let kind = kind.and_then(|kind| u8::try_from(kind).ok());
        let kind = kind.ok_or("ICMP type must be between 0 and 255")?;
        let code = conf.scope.integer_or_number(NameKind::IcmpCode(kind), &code);
        let code = code.and_then(|code| u8::try_from(code).ok()).ok_or("argument 2 takes ICMP code")?;
        Ok(ForceICMP { kind, code })
    }

    forced!(ForceICMP);
}

impl ForceICMP {
    fn force(&mut self, ctx: &mut Ctx<'_>, packet: &mut Packet) -> Option<()> {
        offload::settle(packet);
        let Lengths { header, total } = Lengths::of(packet, Icmp::LEN)?;
        // Click draws random types and codes, which it then replaces: what draws next gets the same numbers as there.
        if ctx.random_between(0, 1) == 1 {
            ctx.random_between(0, 19);
            ctx.random_between(0, 19);
        }
        let message = packet.network_mut().get_mut(header..total)?;
        message.get_mut(..4)?.copy_from_slice(&[self.kind, self.code, 0, 0]);
        let sum = checksum::checksum(message);
        message.get_mut(2..4)?.copy_from_slice(&sum.to_be_bytes());
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn messages_have_their_type_and_a_right_checksum() {
        let rest =
            "ForceICMP(unreachable, needfrag) -> CheckICMPHeader -> StripIPHeader -> Print(x, 8) -> Discard;";
        let source = "InfiniteSource(LIMIT 1)";
        let long = format!("{source} -> IPEncap(icmp, 1.0.0.1, 2.0.0.2) -> {rest}");
        let short = format!("{source} -> Truncate(7) -> IPEncap(icmp, 1.0.0.1, 2.0.0.2) -> {rest}");
        check(
            &(long + &short + source + " -> " + rest),
            expect![[r#"
            x:   69 | 030412b9 6f6d2062
            ForceICMP: bad lengths
            ForceICMP: bad lengths
        "#]],
        );
    }

    #[test]
    fn random_numbers_are_drawn_as_in_click() {
        // What Click 2.1 prints.
        check(
            "RandomSeed(543); InfiniteSource(LIMIT 4) -> IPEncap(icmp, 1.0.0.1, 2.0.0.2) -> ForceICMP(echo, 0)
                -> IPEncap(udp, 1.0.0.1, 2.0.0.2) -> ForceUDP -> StripIPHeader -> Print(x, 4) -> Discard;",
            expect![[r#"
                x:   89 | 45000131
                x:   89 | 45000189
                x:   89 | 450000b1
                x:   89 | 45000188
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake(
            "ForceICMP",
            expect!["TYPE: required argument missing; CODE: required argument missing"],
        );
        check_mistake("ForceICMP(256, 0)", expect!["ICMP type must be between 0 and 255"]);
        check_mistake("ForceICMP(echo, needfrag)", expect!["argument 2 takes ICMP code"]);
    }
}
