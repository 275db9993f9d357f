//! Makes IPv4 packets look like TCP segments: for tests of what comes behind.
//!
//! Sets the checksum behind the marked IPv4 header, whatever its protocol. A header length that does not fit becomes a random
//! one. With a DPORT other than 0 that is the destination port; else, if RANDOM_DPORT is true, two packets of eight go to
//! port 80 and another one to a random port below 1024. FLAGS other than -1 become the flags. Packets that are too short are
//! dropped and told on standard error.
//!
//! ```click
//! RandomSource(60, LIMIT 10) -> ForceIP -> ForceTCP(80, FLAGS 2) -> Discard;
//! ```

use args::Port;
use element::{offload, same, Arg, Class, Configure, Ctx, Element, Failed, Packet};
use wire::Tcp;

use crate::ip::forced::{forced, Lengths, DROPS};

/// The class.
pub const CLASS: Class = Class::new::<ForceTCP>("ForceTCP", "1/1", "a/a", "x/x").args(ARGS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional("DPORT", "TCP port", "The destination port; 0 for none. Default 0."),
    Arg::optional(
        "RANDOM_DPORT",
        "bool",
        "Whether some packets get another destination port. Default false.",
    ),
    Arg::optional("FLAGS", "int", "The flags; -1 leaves them as they are. Default -1."),
];

/// See the page above.
pub struct ForceTCP {
    destination_port: u16,
    is_random: bool,
    /// `None`: as they are.
    flags: Option<u8>,
    n_packets: u32,
}

impl Element for ForceTCP {
    fn configure(conf: &mut Configure<'_>) -> Result<ForceTCP, Failed> {
        let Port::<6>(destination_port) = conf.args.get_or("DPORT", Port(0));
        let is_random = conf.args.get_or("RANDOM_DPORT", false);
        let flags: i32 = conf.args.get_or("FLAGS", -1);
        conf.finish()?;
        let flags = (flags != -1).then_some(flags as u8);
        Ok(ForceTCP { destination_port, is_random, flags, n_packets: 0 })
    }

    forced!(ForceTCP);

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<ForceTCP>(ctx, old) else { return };
        self.n_packets = old.n_packets;
    }
}

impl ForceTCP {
    fn force(&mut self, ctx: &mut Ctx<'_>, packet: &mut Packet) -> Option<()> {
        offload::settle(packet);
        let lengths = Lengths::of(packet, Tcp::LEN)?;
        let segment_len = lengths.total - lengths.header;
        let bytes = packet.network_mut();
        let header = bytes.get_mut(lengths.header..lengths.total)?.first_chunk_mut::<20>()?;
        let header_len = usize::from(header[12] >> 4) * 4;
        if header_len < Tcp::LEN || header_len > segment_len {
            let header_len = match (segment_len - Tcp::LEN).checked_sub(1) {
                Some(top) => ctx.random_between(0, top as u32) as usize,
                None => segment_len,
            };
            header[12] = header[12] & 0x0f | ((header_len / 4) as u8) << 4;
        }
        if let Some(flags) = self.flags {
            header[13] = flags;
        }
        if let Some(port) = self.next_port(ctx) {
            header[2..4].copy_from_slice(&port.to_be_bytes());
        }
        self.n_packets = self.n_packets.wrapping_add(1);
        lengths.set_checksum(bytes, Tcp::CHECKSUM_AT);
        Some(())
    }

    /// The packet's destination port, if it is to be changed.
    fn next_port(&self, ctx: &mut Ctx<'_>) -> Option<u16> {
        match self.n_packets % 8 {
            _ if self.destination_port > 0 => Some(self.destination_port),
            _ if !self.is_random => None,
            0 | 1 => Some(80),
            3 => Some((ctx.random() % 1024) as u16),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn segments_have_their_port_and_a_right_checksum() {
        let rest = "CheckTCPHeader -> StripIPHeader -> Print(x, 20) -> Discard;";
        let source = "InfiniteSource(DATA \\<0001 0002 00000003 00000004 5005 0006 0007 0008>, LIMIT 2)";
        let encapsulated = format!("{source} -> IPEncap(tcp, 1.0.0.1, 2.0.0.2)");
        let given = format!("{encapsulated} -> ForceTCP(80, FLAGS 2) -> {rest}");
        let random = format!("{encapsulated} -> ForceTCP(RANDOM_DPORT true) -> {rest}");
        let short = format!(
            "InfiniteSource(DATA abc, LIMIT 1) -> IPEncap(tcp, 1.0.0.1, 2.0.0.2) -> ForceTCP -> {rest}"
        );
        check(
            &(given + &random + &short),
            expect![[r#"
            x:   20 | 00010050 00000003 00000004 50020006 ac7a0008
            x:   20 | 00010050 00000003 00000004 50050006 ac770008
            ForceTCP: bad lengths
            x:   20 | 00010050 00000003 00000004 50020006 ac7a0008
            x:   20 | 00010050 00000003 00000004 50050006 ac770008
        "#]],
        );
    }

    #[test]
    fn header_lengths_that_do_not_fit_are_replaced() {
        check(
            "InfiniteSource(DATA \\<0001 0002 00000003 00000004 f005 0006 0007 0008>, LIMIT 1)
                 -> IPEncap(tcp, 1.0.0.1, 2.0.0.2) -> ForceTCP -> CheckTCPHeader -> StripIPHeader -> Print(x, 20) -> Discard",
            expect![[r#"
                x:   20 | 00010002 00000003 00000004 50050006 acc50008
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_mistake(
            "ForceTCP(nothing, 3, x)",
            expect!["DPORT: parse error; RANDOM_DPORT: parse error; FLAGS: invalid number"],
        );
    }
}
