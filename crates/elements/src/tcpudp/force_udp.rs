//! Makes IPv4 packets look like UDP datagrams: for tests of what comes behind.
//!
//! Sets the destination port to DPORT, or to a random one below 1024, and length and checksum, behind the marked IPv4 header,
//! whatever its protocol. Packets that are too short are dropped and told on standard error.
//!
//! ```click
//! RandomSource(60, LIMIT 10) -> ForceIP -> ForceUDP(domain) -> Discard;
//! ```

use args::Port;
use element::{offload, Arg, Class, Configure, Ctx, Element, Failed, Packet};

use crate::ip::forced::{forced, Lengths, DROPS};

/// The class.
pub const CLASS: Class = Class::new::<ForceUDP>("ForceUDP", "1/1", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] =
    &[Arg::optional("DPORT", "UDP port or -1", "The destination port; -1 for random ones. Default -1.")];

/// See the page above.
pub struct ForceUDP {
    /// `None`: random ones.
    destination_port: Option<u16>,
}

impl Element for ForceUDP {
    fn configure(conf: &mut Configure<'_>) -> Result<ForceUDP, Failed> {
        // As Click: after -1, nothing is looked at.
        if args::split_args(conf.config).first().is_some_and(|first| first == "-1") {
            return Ok(ForceUDP { destination_port: None });
        }
        let destination_port = conf.args.get("DPORT").map(|Port::<17>(port)| port);
        conf.finish()?;
        Ok(ForceUDP { destination_port })
    }

    forced!(ForceUDP);
}

impl ForceUDP {
    fn force(&mut self, ctx: &mut Ctx<'_>, packet: &mut Packet) -> Option<()> {
        offload::settle(packet);
        let lengths = Lengths::of(packet, 8)?;
        let port = match self.destination_port {
            Some(port) => port,
            None => ctx.random_between(0, 1023) as u16,
        };
        let bytes = packet.network_mut();
        if let Some(fields) = bytes.get_mut(lengths.header + 2..lengths.header + 6) {
            fields[..2].copy_from_slice(&port.to_be_bytes());
            fields[2..].copy_from_slice(&((lengths.total - lengths.header) as u16).to_be_bytes());
        }
        lengths.set_checksum(bytes, 6);
        Some(())
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn datagrams_have_their_port_and_a_right_checksum() {
        let rest = "CheckUDPHeader -> StripIPHeader -> Print(x, 8) -> Discard;";
        let source = "InfiniteSource(DATA abcdefghi, LIMIT 1)";
        let long = format!("{source} -> IPEncap(udp, 1.0.0.1, 2.0.0.2) -> ForceUDP(domain) -> {rest}");
        let random = format!("{source} -> IPEncap(udp, 1.0.0.1, 2.0.0.2) -> ForceUDP -> IPFilter(allow dst udp port < 1024) -> Print(ok, 20) -> Discard;");
        check(
            &(long + &random + source + " -> ForceUDP(-1, more) -> " + rest),
            expect![[r#"
            x:    9 | 61620035 00093242
            ok:   29 | 4500001d 00000000 fa11bdcd 01000001 02000002
            ForceUDP: bad lengths
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake("ForceUDP(-2)", expect!["DPORT: parse error"]);
        check_mistake("ForceUDP(65536)", expect!["DPORT: overflow, range 0-65535"]);
    }
}
