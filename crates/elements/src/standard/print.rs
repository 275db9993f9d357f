//! Prints packets' bytes on standard error.
//!
//! A line for each packet: the label, the length in bytes and the first bytes. Packets pass through unchanged.
//!
//! ```click
//! FromDump(in.pcap) -> Print(in, MAXLENGTH 64, TIMESTAMP true) -> Discard;
//! ```

use std::fmt::Write;

use args::{Timestamp, Word};
use element::{Arg, Batch, Causes, Class, Configure, Ctx, Element, Failed, Handler, Packet, Refusal};

/// The class.
pub const CLASS: Class = Class::new::<Print>("Print", "1/1", "a/a", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .stateless()
    .args(ARGS)
    .shows_order()
    .handlers(HANDLERS)
    .refuses(&[("config", Refusal::Misread)])
    .live();

const ARGS: &[Arg] = &[
    Arg::optional("LABEL", "string", "Text at the start of each line. Default none."),
    Arg::optional("MAXLENGTH", "int", "Most bytes of a packet to print; negative is all. Default 24."),
    Arg::keyword("LENGTH", "int", "Deprecated: the same as MAXLENGTH."),
    Arg::keyword("NBYTES", "int", "Deprecated: the same as MAXLENGTH."),
    Arg::keyword(
        "CONTENTS",
        "NONE, HEX or ASCII",
        "How bytes are printed: not at all, as hexadecimal digits, or as characters. Default HEX.",
    ),
    Arg::keyword("TIMESTAMP", "bool", "Whether to print the packet's timestamp. Default false."),
    Arg::keyword("PRINTANNO", "bool", "Whether to print the packet's annotation area. Default false."),
    Arg::keyword("ACTIVE", "bool", "Whether to print at all. Default true."),
    Arg::keyword(
        "HEADROOM",
        "bool",
        "Whether to print the bytes of room before and behind the packet. Default false.",
    ),
];

const HANDLERS: &[Handler] =
    &[Handler::read_write("active", "Whether packets are printed.").flags("calm checkbox")];

#[derive(Clone, Copy, PartialEq, Eq)]
enum Contents {
    None,
    Hex,
    Ascii,
}

/// See the page above.
pub struct Print {
    label: String,
    /// Negative: all.
    n_bytes: i32,
    contents: Contents,
    with_timestamp: bool,
    with_annotations: bool,
    with_headroom: bool,
    is_active: bool,
}

impl Element for Print {
    fn configure(conf: &mut Configure<'_>) -> Result<Print, Failed> {
        let label = conf.args.get_or("LABEL", String::new());
        let mut n_bytes = conf.args.get_or("MAXLENGTH", 24);
        for name in ["LENGTH", "NBYTES"] {
            if conf.args.is_given(name) {
                conf.args.warn(name, "argument deprecated");
            }
            n_bytes = conf.args.get_or(name, n_bytes);
        }
        let contents = conf.args.get_or("CONTENTS", Word("HEX".to_string())).0;
        let print = Print {
            label,
            n_bytes,
            contents: Contents::parse(&contents).unwrap_or(Contents::None),
            with_timestamp: conf.args.get_or("TIMESTAMP", false),
            with_annotations: conf.args.get_or("PRINTANNO", false),
            is_active: conf.args.get_or("ACTIVE", true),
            with_headroom: conf.args.get_or("HEADROOM", false),
        };
        if Contents::parse(&contents).is_none() {
            let contents = contents.to_ascii_uppercase();
            conf.args.fail(format!("bad contents value '{contents}'; should be 'NONE', 'HEX', or 'ASCII'"));
        }
        conf.finish()?;
        Ok(print)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        self.print(ctx, &batch);
        ctx.emit(0, batch);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull(0, max);
        self.print(ctx, &batch);
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
}

impl Contents {
    fn parse(word: &str) -> Option<Contents> {
        Some(match (args::boolean(word), word.to_ascii_uppercase().as_str()) {
            (Ok(false), _) | (_, "NONE") => Contents::None,
            (Ok(true), _) | (_, "HEX") => Contents::Hex,
            (_, "ASCII") => Contents::Ascii,
            _ => return None,
        })
    }
}

impl Print {
    fn print(&self, ctx: &mut Ctx<'_>, batch: &Batch) {
        if self.is_active {
            for packet in batch.iter() {
                ctx.chatter_of(packet.place(), &self.line(packet));
            }
        }
    }

    fn line(&self, packet: &Packet) -> String {
        let mut line = String::with_capacity(256);
        // Writing to a string cannot fail.
        let _ = self.write_line(&mut line, packet);
        line
    }

    fn write_line(&self, line: &mut String, packet: &Packet) -> std::fmt::Result {
        line.push_str(&self.label);
        if self.with_timestamp {
            separate(line);
            write!(line, "{}", Timestamp::from_nanos(packet.timestamp_ns()))?;
        }
        separate(line);
        write!(line, "{:4}", packet.len())?;
        if self.with_headroom {
            write!(line, " (h{} t{})", packet.headroom(), packet.tailroom())?;
        }
        if self.with_annotations {
            line.push_str(" | ");
            for byte in packet.annotations() {
                write!(line, "{byte:02x}")?;
            }
        }
        let n = usize::try_from(self.n_bytes).unwrap_or(usize::MAX).min(packet.len());
        let bytes = packet.data().get(..n).unwrap_or(&[]);
        match self.contents {
            Contents::Hex => write_hex(line, bytes),
            Contents::Ascii => write_ascii(line, bytes),
            Contents::None => Ok(()),
        }
    }
}

fn separate(line: &mut String) {
    if !line.is_empty() {
        line.push_str(": ");
    }
}

/// Hexadecimal digits, four bytes a word.
fn write_hex(line: &mut String, bytes: &[u8]) -> std::fmt::Result {
    for (i, word) in bytes.chunks(4).enumerate() {
        line.push_str(if i == 0 { " | " } else { " " });
        for byte in word {
            write!(line, "{byte:02x}")?;
        }
    }
    Ok(())
}

/// Characters, eight bytes a word, each with a space before it; a dot for what is not printable.
fn write_ascii(line: &mut String, bytes: &[u8]) -> std::fmt::Result {
    if !bytes.is_empty() {
        line.push_str(" | ");
    }
    for word in bytes.chunks(8) {
        line.push(' ');
        line.extend(word.iter().map(|byte| if (32..=126).contains(byte) { char::from(*byte) } else { '.' }));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing;
    use expect_test::{expect, Expect};

    fn check(contents: Contents, n_bytes: i32, bytes: &[u8], expect: Expect) {
        let print = Print {
            label: "in".to_string(),
            n_bytes,
            contents,
            with_timestamp: false,
            with_annotations: false,
            with_headroom: false,
            is_active: true,
        };
        expect.assert_eq(&print.line(&Packet::from_bytes(bytes)));
    }

    #[test]
    fn bytes_are_printed_four_a_word_in_hexadecimal() {
        check(Contents::Hex, 24, b"weir\0\x7f~", expect!["in:    7 | 77656972 007f7e"]);
        check(Contents::Hex, 4, b"weir\0\x7f~", expect!["in:    7 | 77656972"]);
        check(Contents::Hex, 0, b"weir", expect!["in:    4"]);
        check(Contents::Hex, -1, &[0xab; 13], expect!["in:   13 | abababab abababab abababab ab"]);
        check(Contents::Hex, -1, b"", expect!["in:    0"]);
    }

    #[test]
    fn bytes_are_printed_eight_a_word_as_characters() {
        check(Contents::Ascii, 24, b"weir\0\x7f~ next", expect!["in:   12 |  weir..~  next"]);
        check(Contents::None, 24, b"weir", expect!["in:    4"]);
    }

    #[test]
    fn a_line_without_a_label_begins_with_the_first_field() {
        let mut packet = Packet::from_bytes(b"x");
        packet.set_timestamp_ns(1_500_000_000);
        packet.set_paint(7);
        let mut print = Print {
            label: String::new(),
            n_bytes: 24,
            contents: Contents::Hex,
            with_timestamp: true,
            with_annotations: true,
            with_headroom: true,
            is_active: true,
        };
        let anno = "0".repeat(32) + "07" + &"0".repeat(62);
        let room = format!("(h{} t{})", packet.headroom(), packet.tailroom());
        assert_eq!(print.line(&packet), format!("1.500000:    1 {room} | {anno} | 78"));
        print.with_timestamp = false;
        print.with_annotations = false;
        print.with_headroom = false;
        assert_eq!(print.line(&packet), "   1 | 78");
    }

    #[test]
    fn mistakes_are_told() {
        testing::check(
            r"
            Idle -> Print(CONTENTS foo) -> Print(a, b) -> Print(CONTENTS foo, X 1) -> Print(1, 2, 3)
                -> Discard;
            ",
            expect![[r#"
                config:2: While configuring 'Print@2 :: Print':
                  bad contents value 'FOO'; should be 'NONE', 'HEX', or 'ASCII'
                config:2: While configuring 'Print@3 :: Print':
                  MAXLENGTH: invalid number
                config:2: While configuring 'Print@4 :: Print':
                  X: unknown argument
                config:2: While configuring 'Print@5 :: Print':
                  too many arguments
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn printing_can_be_switched_off() {
        testing::check_reading(
            r"
            i :: InfiniteSource(abc, LIMIT 1, STOP true) -> p :: Print(in, ACTIVE false)
                -> q :: Print(CONTENTS ascii) -> Discard;
            DriverManager(read p.active, write p.active true, write q.active maybe, wait_stop);
            ",
            &["p.active"],
            expect![[r#"
                p.active:
                false
                While calling 'q.active maybe':
                  expected boolean
                in:    3 | 616263
                   3 |  abc
                p.active: true
            "#]],
        );
    }

    #[test]
    fn doubts_and_mistakes_are_told_in_the_order_of_reading() {
        testing::check(
            "Idle -> Print(a b, NBYTES x, ACTIVE 5, FOO 1, LENGTH 3) -> Discard",
            expect![[r#"
            config:1: While configuring 'Print@2 :: Print':
              LENGTH: warning: argument deprecated
              NBYTES: warning: argument deprecated
              NBYTES: invalid number
              ACTIVE: parse error
              a: unknown argument
              FOO: unknown argument
            Router could not be initialized!
        "#]],
        );
    }
}
