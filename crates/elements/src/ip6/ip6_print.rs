//! Prints IPv6 packets in words, a line each.
//!
//! Prints LABEL, with TIMESTAMP the timestamp, addresses, payload length, next header and hop limit, and with CONTENTS the packet's
//! bytes below. The IPv6 header must be marked, by `CheckIP6Header` or `MarkIP6Header`; packets without a mark pass in silence.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIP6Header(OFFSET 14) -> IP6Print(in, CONTENTS true, NBYTES 64) -> Discard;
//! ```

use std::fmt::Write;

use args::Timestamp;
use element::{Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Packet};
use wire::Ipv6;

/// The class.
pub const CLASS: Class =
    Class::new::<IP6Print>("IP6Print", "1/1", "a/a", "x/x").causes(Causes::LINES).args(ARGS).shows_order();

const ARGS: &[Arg] = &[
    Arg::optional("LABEL", "string", "What to print first. Default nothing."),
    Arg::keyword("CONTENTS", "bool", "Whether to print the bytes of the packet. Default false."),
    Arg::keyword("NBYTES", "unsigned", "Most bytes to print. Default 1500."),
    Arg::keyword("TIMESTAMP", "bool", "Whether to print the timestamp. Default false."),
];

/// See the page above.
pub struct IP6Print {
    label: String,
    has_contents: bool,
    n_bytes: u32,
    has_timestamp: bool,
}

impl Element for IP6Print {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6Print, Failed> {
        let label = conf.args.get_or("LABEL", String::new());
        let has_contents = conf.args.get_or("CONTENTS", false);
        let n_bytes = conf.args.get_or("NBYTES", 1500);
        let has_timestamp = conf.args.get_or("TIMESTAMP", false);
        conf.finish()?;
        Ok(IP6Print { label, has_contents, n_bytes, has_timestamp })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.print_all(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.print_all(ctx, &batch);
        batch
    }
}

impl IP6Print {
    fn print_all(&self, ctx: &mut Ctx<'_>, batch: &Batch) {
        for packet in batch.iter() {
            if let Some(text) = self.text(packet) {
                ctx.chatter_of(packet.place(), &text);
            }
        }
    }

    fn text(&self, packet: &Packet) -> Option<String> {
        let header = packet.network().first_chunk::<{ Ipv6::LEN }>()?;
        let address = |bytes: &[u8]| {
            let bytes = bytes.first_chunk::<16>().copied().unwrap_or_default();
            args::unparse_ip6(bytes.into())
        };
        let mut text = match self.label.as_str() {
            "" => String::new(),
            label => format!("{label}: "),
        };
        if self.has_timestamp {
            let _ = write!(text, "{}: ", Timestamp::from_nanos(packet.timestamp_ns()));
        }
        let len = u16::from_be_bytes([header[4], header[5]]);
        let (from, to) = (address(&header[8..]), address(&header[24..]));
        let _ = write!(text, "{from} -> {to} plen {len}, next {}, hlim {}", header[6], header[7]);
        if self.has_contents {
            text += "\n  ";
            self.add_bytes(&mut text, packet.data());
        }
        Some(text)
    }

    /// Adds bytes in groups of four, 24 a line.
    fn add_bytes(&self, text: &mut String, bytes: &[u8]) {
        for (i, byte) in bytes.iter().take(self.n_bytes as usize).enumerate() {
            let _ = write!(text, "{byte:02x}");
            if i % 24 == 23 {
                text.push_str("\n  ");
            } else if i % 4 == 3 {
                text.push(' ');
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_are_described() {
        check(
            "InfiniteSource(DATA \\<6001234500081100 20010db8000000000000000000000001 00000000000000000000ffff01020304 04d2162e00080000>, LIMIT 1)
                -> IP6Print(no) -> MarkIP6Header -> IP6Print -> IP6Print(x, CONTENTS true, NBYTES 47) -> IP6Print(\"y z\", CONTENTS true, NBYTES 25) -> Strip(9)
                -> IP6Print(CONTENTS true, NBYTES 5) -> Discard",
            expect![[r#"
                2001:db8::1 -> ::ffff:1.2.3.4 plen 8, next 17, hlim 0
                x: 2001:db8::1 -> ::ffff:1.2.3.4 plen 8, next 17, hlim 0
                  60012345 00081100 20010db8 00000000 00000000 00000001
                  00000000 00000000 0000ffff 01020304 04d2162e 000800
                y z: 2001:db8::1 -> ::ffff:1.2.3.4 plen 8, next 17, hlim 0
                  60012345 00081100 20010db8 00000000 00000000 00000001
                  00
                2001:db8::1 -> ::ffff:1.2.3.4 plen 8, next 17, hlim 0
                  010db800 00
            "#]],
        );
    }

    #[test]
    fn timestamps_are_printed() {
        check(
            "InfiniteSource(DATA \\<60012345 0000 11 00>, LENGTH 40, LIMIT 1) -> SetTimestamp(7.000000125) -> MarkIP6Header
                -> IP6Print(x, TIMESTAMP true) -> Discard",
            expect![[r#"
                x: 7.000000125: 6001:2345:0:1100:6001:2345:0:1100 -> 6001:2345:0:1100:6001:2345:0:1100 plen 0, next 17, hlim 0
            "#]],
        );
    }

    #[test]
    fn counts_are_numbers() {
        check_mistake("IP6Print(NBYTES -1)", expect!["NBYTES: invalid number"]);
    }
}
