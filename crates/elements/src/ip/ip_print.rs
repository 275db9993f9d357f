//! Prints IPv4 packets in words, a line each.
//!
//! Prints LABEL, the timestamp, addresses, ports and what the transport header says, and with CONTENTS or PAYLOAD the bytes. The
//! IPv4 header must be marked, by `CheckIPHeader` or `MarkIPHeader`; packets without a mark pass in silence.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> IPPrint(in, TTL true, PAYLOAD ASCII) -> Discard;
//! ```

use args::{Filename, Timestamp, Word};
use element::{
    annotation, same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet,
    RecordFile,
};
use wire::protocol;

use super::describe::{add, describe, Header};

/// The class.
pub const CLASS: Class = Class::new::<IPPrint>("IPPrint", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .shows_order();

const ARGS: &[Arg] = &[
    Arg::optional("LABEL", "string", "What to print first. Default nothing."),
    Arg::keyword(
        "CONTENTS",
        "`NONE`, `HEX` or `ASCII`",
        "How to print the bytes of the packet. Default NONE.",
    ),
    Arg::keyword(
        "PAYLOAD",
        "`NO`, `HEX` or `ASCII`",
        "How to print the bytes behind the headers. Default NO.",
    ),
    Arg::keyword("MAXLENGTH", "int", "Most bytes to print; negative is no limit. Default 1500."),
    Arg::keyword("NBYTES", "int", "The older name of MAXLENGTH."),
    Arg::keyword("ID", "bool", "Whether to print the identification. Default false."),
    Arg::keyword("TIMESTAMP", "bool", "Whether to print the timestamp. Default true."),
    Arg::keyword("PAINT", "bool", "Whether to print the paint annotation. Default false."),
    Arg::keyword("TOS", "bool", "Whether to print the type of service. Default false."),
    Arg::keyword("TTL", "bool", "Whether to print the time to live. Default false."),
    Arg::keyword("SWAP", "bool", "Whether ICMP echo numbers are in network order. Default true."),
    Arg::keyword("LENGTH", "bool", "Whether to print the total length. Default false."),
    Arg::keyword("AGGREGATE", "bool", "Whether to print the aggregate annotation. Default false."),
    Arg::keyword("ACTIVE", "bool", "Whether to print at all. Default true."),
    Arg::keyword(
        "OUTFILE",
        "filename",
        "Where to print, on core N > 0 with `.N` behind it. Default standard error.",
    ),
    Arg::keyword("CHANNEL", "word", "Chatter channel to print to; `default` is standard error."),
];

const HANDLERS: &[Handler] =
    &[Handler::read_write("active", "Whether packets are printed.").flags("checkbox calm")];

/// How bytes are printed.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Bytes {
    No,
    Hex,
    Ascii,
}

/// See the page above.
pub struct IPPrint {
    is_active: bool,
    label: String,
    format: Format,
    output: Output,
    filename: String,
    /// Whether the file is one that another element has begun.
    goes_on: bool,
}

/// What a line shows.
struct Format {
    bytes: Bytes,
    is_payload_only: bool,
    max_len: Option<usize>,
    swaps: bool,
    has_id: bool,
    has_timestamp: bool,
    has_paint: bool,
    has_tos: bool,
    has_ttl: bool,
    has_len: bool,
    has_aggregate: bool,
}

enum Output {
    Channel(String),
    Nowhere,
    File(RecordFile),
}

impl Element for IPPrint {
    fn configure(conf: &mut Configure<'_>) -> Result<IPPrint, Failed> {
        let label = conf.args.get_or("LABEL", String::new());
        let Word(contents) = conf.args.get_or("CONTENTS", Word("no".to_string()));
        let Word(payload) = conf.args.get_or("PAYLOAD", Word("no".to_string()));
        let max_len = conf.args.get_or("MAXLENGTH", 1500);
        let max_len: i32 = conf.args.get_or("NBYTES", max_len);
        let mut format = Format {
            bytes: Bytes::No,
            is_payload_only: false,
            max_len: usize::try_from(max_len).ok(),
            has_id: conf.args.get_or("ID", false),
            has_timestamp: conf.args.get_or("TIMESTAMP", true),
            has_paint: conf.args.get_or("PAINT", false),
            has_tos: conf.args.get_or("TOS", false),
            has_ttl: conf.args.get_or("TTL", false),
            swaps: conf.args.get_or("SWAP", true),
            has_len: conf.args.get_or("LENGTH", false),
            has_aggregate: conf.args.get_or("AGGREGATE", false),
        };
        let is_active = conf.args.get_or("ACTIVE", true);
        let Filename(filename) = conf.args.get_or("OUTFILE", Filename::default());
        let filename = conf.file_of_replica(filename);
        let Word(channel) = conf.args.get_or("CHANNEL", Word::default());
        if let Err(message) = format.choose_bytes(&contents, &payload) {
            conf.args.fail(message);
        }
        conf.finish()?;
        let output = Output::Channel(channel);
        Ok(IPPrint { is_active, label, format, output, filename, goes_on: false })
    }

    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        if !self.filename.is_empty() && !self.goes_on {
            self.output = Output::File(RecordFile::create(&self.filename)?);
        }
        Ok(())
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

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "active" => Ok(self.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => self.is_active = args::boolean(value).map_err(|_| "expected boolean")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Output::File(file) = &mut self.output {
            file.flush();
            file.tell_fault(ctx);
        }
        self.output = Output::Nowhere;
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<IPPrint>(ctx, old) else { return };
        if self.goes_on {
            self.output = std::mem::replace(&mut old.output, Output::Nowhere);
        }
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on = same_ref::<IPPrint>(old)
            .is_some_and(|old| matches!(old.output, Output::File(_)) && old.filename == self.filename);
    }
}

impl IPPrint {
    fn print_all(&mut self, ctx: &mut Ctx<'_>, batch: &Batch) {
        if !self.is_active || matches!(self.output, Output::Nowhere) {
            return;
        }
        let mut line = String::new();
        for packet in batch.iter().filter(|packet| packet.network_offset().is_some()) {
            line.clear();
            if !self.label.is_empty() {
                add(&mut line, format_args!("{}: ", self.label));
            }
            self.format.line(&mut line, packet);
            match &mut self.output {
                Output::Channel(channel) => ctx.chatter_on(channel, packet.place(), &line),
                Output::File(file) => {
                    line.push('\n');
                    file.write(line.as_bytes());
                }
                Output::Nowhere => {}
            }
        }
        if let Output::File(file) = &mut self.output {
            file.tell_fault(ctx);
        }
    }
}

impl Format {
    fn choose_bytes(&mut self, contents: &str, payload: &str) -> Result<(), String> {
        let shout = contents.to_ascii_uppercase();
        self.bytes = match (args::boolean(contents), shout.as_str()) {
            (Ok(true), _) | (_, "HEX") => Bytes::Hex,
            (Ok(false), _) | (_, "NONE") => Bytes::No,
            (_, "ASCII") => Bytes::Ascii,
            _ => return Err(format!("bad contents value '{shout}'; should be 'NONE', 'HEX', or 'ASCII'")),
        };
        let payload = match payload.to_ascii_uppercase().as_str() {
            "NO" | "FALSE" => Bytes::No,
            "YES" | "TRUE" | "HEX" => Bytes::Hex,
            "ASCII" => Bytes::Ascii,
            _ => {
                // Click's message shows CONTENTS.
                let shown = if args::boolean(contents).is_ok() { contents } else { &shout };
                return Err(format!("bad payload value '{shown}'; should be 'false', 'hex', or 'ascii'"));
            }
        };
        if payload != Bytes::No {
            if self.bytes != Bytes::No {
                return Err("specify at most one of PAYLOAD and CONTENTS".to_string());
            }
            self.bytes = payload;
            self.is_payload_only = true;
        }
        Ok(())
    }

    fn line(&self, line: &mut String, packet: &Packet) {
        if self.has_timestamp {
            add(line, format_args!("{}: ", Timestamp::from_nanos(packet.timestamp_ns())));
        }
        if self.has_aggregate {
            add(line, format_args!("#{}", packet.anno_u32(annotation::AGGREGATE)));
        }
        if self.has_paint {
            let before = if self.has_aggregate { "." } else { "paint " };
            add(line, format_args!("{before}{}", packet.paint()));
        }
        if self.has_aggregate || self.has_paint {
            line.push_str(": ");
        }
        let Some(header) = Header::of(packet) else { return line.push_str("truncated-ip") };
        let fields = [
            (self.has_id, "id", i32::from(header.id())),
            (self.has_ttl, "ttl", i32::from(header.ttl())),
            (self.has_tos, "tos", i32::from(header.tos())),
            (self.has_len, "length", header.total_len()),
        ];
        for (_, name, value) in fields.iter().filter(|(is_shown, ..)| *is_shown) {
            add(line, format_args!("{name} {value} "));
        }
        describe(line, packet, &header, self.swaps);
        self.contents(line, packet, &header);
    }

    fn contents(&self, line: &mut String, packet: &Packet, header: &Header<'_>) {
        let bytes = if self.is_payload_only { payload(packet, header) } else { packet.data() };
        let bytes = bytes.get(..self.max_len.unwrap_or(usize::MAX).min(bytes.len())).unwrap_or_default();
        let (per_line, per_word) = if self.bytes == Bytes::Hex { (24, 4) } else { (48, 8) };
        if self.bytes == Bytes::No {
            return;
        }
        for (i, byte) in bytes.iter().enumerate() {
            if i % per_line == 0 {
                line.push_str("\n  ");
            } else if i % per_word == 0 {
                line.push(' ');
            }
            match self.bytes {
                Bytes::Hex => add(line, format_args!("{byte:02x}")),
                _ => line.push(if matches!(byte, 32..=126) { char::from(*byte) } else { '.' }),
            }
        }
    }
}

/// What follows the transport header.
fn payload<'p>(packet: &'p Packet, header: &Header<'_>) -> &'p [u8] {
    let segment = packet.transport();
    let header_len = match header.protocol() {
        _ if !header.is_first_fragment() => 0,
        protocol::TCP => segment.get(12).map_or(0, |byte| usize::from(byte >> 4) * 4),
        protocol::UDP => 8,
        _ => 0,
    };
    segment.get(header_len..).unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check;
    use expect_test::expect;

    fn print(arguments: &str, packet: &str, expect: expect_test::Expect) {
        let source = format!("InfiniteSource(DATA \\<{packet}>, LIMIT 1, STOP true)");
        check(&format!("{source} -> MarkIPHeader -> IPPrint({arguments}) -> Discard"), expect);
    }

    const TCP: &str =
        "45100030 1234 4000 4006 0000 01000001 02000002 0050 1388 00000001 00000002 5012 00ff 0000 0000 \
                       48656c6c 6f210a00";
    const IP: &str = "TIMESTAMP false";

    #[test]
    fn fields_are_printed_as_asked_for() {
        print(
            "TIMESTAMP false",
            TCP,
            expect![[r#"
            1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
        "#]],
        );
        print(
            "a, TIMESTAMP false, ID true, TTL true, TOS true, LENGTH true",
            TCP,
            expect![[r#"
            a: id 4660 ttl 64 tos 16 length 48 1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
        "#]],
        );
        print(
            "TIMESTAMP false, PAINT true",
            TCP,
            expect![[r#"
            paint 0: 1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
        "#]],
        );
        print(
            "TIMESTAMP false, PAINT true, AGGREGATE true",
            TCP,
            expect![[r#"
            #0.0: 1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
        "#]],
        );
    }

    #[test]
    fn bytes_are_printed_in_lines() {
        print(
            "TIMESTAMP false, CONTENTS HEX",
            TCP,
            expect![[r#"
            1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
              45100030 12344000 40060000 01000001 02000002 00501388
              00000001 00000002 501200ff 00000000 48656c6c 6f210a00
        "#]],
        );
        print(
            "TIMESTAMP false, PAYLOAD ASCII",
            TCP,
            expect![[r#"
            1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
              Hello!..
        "#]],
        );
        print(
            "TIMESTAMP false, PAYLOAD HEX, MAXLENGTH 3",
            TCP,
            expect![[r#"
            1.0.0.1.80 > 2.0.0.2.5000: S 1:10(9,48,48) ack 2 win 255
              48656c
        "#]],
        );
    }

    #[test]
    fn headers_that_are_cut_off_are_called_truncated() {
        print(
            IP,
            &TCP[..42],
            expect![[r#"
            truncated-ip
        "#]],
        );
        print(
            IP,
            &TCP[..52],
            expect![[r#"
            1.0.0.1 > 2.0.0.2: truncated-tcp
        "#]],
        );
        print(
            IP,
            &TCP[..60],
            expect![[r#"
            1.0.0.1.80 > 2.0.0.2.5000: truncated-tcp
        "#]],
        );
        print(
            IP,
            "45000028 0000 2001 4011 0000 01000001 02000002 0102",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: udp (frag 0:20@8+)
        "#]],
        );
        print(
            IP,
            "45000028 0000 0000 4011 0000 01000001 02000002 0102",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: truncated-udp
        "#]],
        );
        print(
            IP,
            "45000028 0000 0000 4011 0000 01000001 02000002 00350036 0008",
            expect![[r#"
            1.0.0.1.53 > 2.0.0.2.54: truncated-udp
        "#]],
        );
    }

    #[test]
    fn icmp_messages_are_named() {
        let icmp = |message: &str, expect| {
            print(IP, &format!("45000040 0000 0000 4001 0000 01000001 02000002 {message}"), expect);
        };
        icmp(
            "08000000 12345678",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp echo (4660, 22136)
        "#]],
        );
        icmp(
            "00000000 1234",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp echo-reply truncated-icmp
        "#]],
        );
        icmp(
            "05010000 01010101",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp redirect host
        "#]],
        );
        icmp(
            "63070000",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp type 99 code 7
        "#]],
        );
        let inner = "45000040 0000 0000 4011 0000 03000003 04000004 00350036";
        icmp(
            &format!("03030000 00000000 {inner}"),
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp 4.0.0.4 unreachable port udp/54
        "#]],
        );
        icmp(
            &format!("03020000 00000000 {inner}"),
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp 4.0.0.4 unreachable protocol udp
        "#]],
        );
        icmp(
            &format!("03040000 000005dc {inner}"),
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp 4.0.0.4 unreachable needfrag (mtu 1500)
        "#]],
        );
        icmp(
            "03010000 00000000",
            expect![[r#"
            1.0.0.1 > 2.0.0.2: icmp unreachable host truncated-icmp
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told_in_clicks_words() {
        check_mistake(
            "IPPrint(CONTENTS foo)",
            expect!["bad contents value 'FOO'; should be 'NONE', 'HEX', or 'ASCII'"],
        );
        check_mistake(
            "IPPrint(PAYLOAD foo)",
            expect!["bad payload value 'no'; should be 'false', 'hex', or 'ascii'"],
        );
        check_mistake(
            "IPPrint(PAYLOAD hex, CONTENTS hex)",
            expect!["specify at most one of PAYLOAD and CONTENTS"],
        );
    }
}
