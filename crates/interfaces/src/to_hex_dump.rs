//! Writes packets as hexadecimal digits, in the form that text2pcap reads.
//!
//! A packet is a line that tells about it, lines of an offset and 16 bytes, and an empty line. The first line is the direction
//! that DIRECTIONS gives the input, if any (`I` came in, `O` goes out, as `text2pcap -D` reads them), the time (`-t
//! "%Y-%m-%dT%H:%M:%S.%f"`, UTC), and the packet's length. FILENAME `-` is standard output; without one, standard error is
//! written to. Every batch is written at once. Packets whose segmentation or checksum is still to be done are written as
//! segments with their checksums.
//!
//! With outputs, packets pass from each input to the output of the same number.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> ToHexDump(out.txt, DIRECTIONS I) -> Discard;
//! ```

use std::fmt::Write as _;
use std::fs::File;
use std::io::{self, Write};

use args::Filename;
use element::output::reason;
use element::{
    same, same_ref, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, Phase, Role,
};
use sys::standard::Blocking;

use crate::capture::Kept;
use crate::segment::segment;
use crate::stage::table;

/// The class.
pub const CLASS: Class = Class::new::<ToHexDump>("ToHexDump", "1-/0-", "h/h", "#/#")
    .args(ARGS)
    .handlers(HANDLERS)
    .phase(Phase::DEFAULT)
    .role(Role::Output);

const ARGS: &[Arg] = &[
    Arg::optional("FILENAME", "filename", "The file; `-` is standard output. Default standard error."),
    Arg::keyword("DIRECTIONS", "words", "`I` or `O` for each input. Default: no direction is told."),
    Arg::keyword("MAXLENGTH", "unsigned", "Most bytes to write of a packet; 0 is no limit. Default 0."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("filename", "The file's name.").flags("alike"),
    Handler::read("count", "Packets written."),
];

/// Where the text goes.
enum Out {
    Stderr,
    Stdout,
    File(Kept),
}

/// See the page above.
pub struct ToHexDump {
    filename: Option<String>,
    directions: Vec<String>,
    max_len: usize,
    out: Option<Out>,
    /// Whether the file is one that another element has begun.
    goes_on: bool,
    text: String,
    count: u64,
}

impl Element for ToHexDump {
    fn configure(conf: &mut Configure<'_>) -> Result<ToHexDump, Failed> {
        let filename = conf.args.get::<Filename>("FILENAME").map(|name| name.0);
        let directions = args::split_words(&conf.args.get_or("DIRECTIONS", String::new()));
        let max_len: u32 = conf.args.get_or("MAXLENGTH", 0);
        if !directions.is_empty() && directions.len() != conf.n_inputs {
            conf.args.fail(format!("{} DIRECTIONS for {} inputs", directions.len(), conf.n_inputs));
        } else if directions.iter().any(|word| word != "I" && word != "O") {
            conf.args.fail("DIRECTIONS must be I or O");
        }
        if conf.n_outputs > 0 && conf.n_outputs != conf.n_inputs {
            conf.args.fail("needs as many outputs as inputs, or none");
        }
        conf.finish()?;
        let max_len = if max_len == 0 { usize::MAX } else { max_len as usize };
        Ok(ToHexDump {
            filename,
            directions,
            max_len,
            out: None,
            goes_on: false,
            text: String::new(),
            count: 0,
        })
    }

    fn initialize(&mut self, _ctx: &mut Ctx<'_>) -> Result<(), String> {
        if self.goes_on {
            return Ok(());
        }
        let out = match self.filename.as_deref() {
            None => Out::Stderr,
            Some("-") => Out::Stdout,
            Some(name) => {
                table::refuse_input(name)?;
                // In a stage, whoever is to be written may still read the file.
                let file =
                    if table::is_stage() { Kept::open(name) } else { File::create(name).map(Kept::from) };
                Out::File(file.map_err(|error| format!("{name}: {}", reason(&error)))?)
            }
        };
        self.out = Some(out);
        Ok(())
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        self.write_batch(ctx, port, &batch);
        if ctx.n_outputs() > 0 {
            ctx.emit(port, batch);
        } else {
            batch.clear();
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "filename" => Ok(self.filename.clone().unwrap_or_else(|| "<stderr>".to_string())),
            "count" => Ok(self.count.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn cleanup(&mut self, ctx: &mut Ctx<'_>) {
        if let Some(Out::File(mut file)) = self.out.take() {
            let result = file.empty();
            self.note(ctx, result);
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(mut old) = same::<ToHexDump>(ctx, old) else { return };
        if self.goes_on {
            self.out = old.out.take();
        }
        self.count = old.count;
        old.cleanup(ctx);
    }

    fn foresee(&mut self, old: &dyn Element) {
        self.goes_on =
            same_ref::<ToHexDump>(old).is_some_and(|old| old.out.is_some() && old.filename == self.filename);
    }
}

impl ToHexDump {
    fn write_batch(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: &Batch) {
        if self.out.is_none() {
            return;
        }
        let now = ctx.now_ns();
        for packet in batch.iter() {
            if packet.has_offload() {
                segment(packet, |part| self.add(port, &part, now));
            } else {
                self.add(port, packet, now);
            }
        }
        let Some(out) = &mut self.out else { return };
        let result = out.write(&self.text);
        self.text.clear();
        self.note(ctx, result);
    }

    /// Tells of an error, and writes no more then.
    fn note(&mut self, ctx: &mut Ctx<'_>, result: io::Result<()>) {
        if let Err(error) = result {
            // Nobody reads on, or the disk is full: packets pass all the same.
            self.out = None;
            let name = self.filename.as_deref().unwrap_or("<stderr>");
            ctx.complain(&format!("ToHexDump({name}): {}", reason(&error)));
            element::failure::note();
        }
    }

    /// Adds a packet to the text.
    fn add(&mut self, port: usize, packet: &Packet, now_ns: i64) {
        let time = match packet.timestamp_ns() {
            0 => now_ns,
            time => time,
        };
        if let Some(direction) = self.directions.get(port) {
            self.text.push_str(direction);
            self.text.push(' ');
        }
        write_time(&mut self.text, time);
        let _ = writeln!(self.text, " len={}", packet.len());
        let data = packet.data().get(..self.max_len).unwrap_or(packet.data());
        for (i, line) in data.chunks(16).enumerate() {
            let _ = write!(self.text, "{:06x}", i * 16);
            for byte in line {
                let _ = write!(self.text, " {byte:02x}");
            }
            self.text.push('\n');
        }
        self.text.push('\n');
        self.count += 1;
    }
}

impl Out {
    fn write(&mut self, text: &str) -> io::Result<()> {
        match self {
            Out::Stderr => Blocking(io::stderr()).write_all(text.as_bytes()),
            Out::Stdout => {
                let mut stdout = Blocking(io::stdout().lock());
                stdout.write_all(text.as_bytes()).and_then(|()| stdout.flush())
            }
            Out::File(file) => file.write_all(text.as_bytes()),
        }
    }
}

/// Writes a point in time as `2026-01-31T23:59:59.000000001`.
fn write_time(text: &mut String, time_ns: i64) {
    const DAY: i64 = 86_400;
    let (seconds, nanoseconds) = (time_ns.div_euclid(1_000_000_000), time_ns.rem_euclid(1_000_000_000));
    let (days, second) = (seconds.div_euclid(DAY), seconds.rem_euclid(DAY));
    let (year, month, day) = date(days);
    let (hour, minute, second) = (second / 3600, second / 60 % 60, second % 60);
    let _ = write!(text, "{year:04}-{month:02}-{day:02}T{hour:02}:{minute:02}:{second:02}.{nanoseconds:09}");
}

/// The day so many days after 1970-01-01 in the Gregorian calendar. Counts in eras of 400 years that begin on a 1st of March,
/// so that the leap day is a year's last.
fn date(days: i64) -> (i64, i64, i64) {
    const ERA: i64 = 146_097;
    let days = days + 719_468;
    let (era, day) = (days.div_euclid(ERA), days.rem_euclid(ERA));
    let year = (day - day / 1460 + day / 36_524 - day / (ERA - 1)) / 365;
    let day = day - (365 * year + year / 4 - year / 100);
    let month = (5 * day + 2) / 153;
    let day = day - (153 * month + 2) / 5 + 1;
    let month = if month < 10 { month + 3 } else { month - 9 };
    (era * 400 + year + i64::from(month <= 2), month, day)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{check, check_reading, Scratch};
    use expect_test::expect;

    #[test]
    fn a_packet_is_lines_of_offsets_and_bytes() {
        let scratch = Scratch::new();
        let path = scratch.path("out.txt");
        check_reading(
            &format!("InfiniteSource(DATA \\<000102030405060708090a0b0c0d0e0f1011>, LIMIT 1, STOP true) -> [0] h :: ToHexDump({path}, DIRECTIONS \"O I\"); h[0] -> Discard; h[1] -> Discard;
                      InfiniteSource(DATA \\<ff>, LIMIT 1) -> [1] h;"),
            &["h.count"],
            expect![[r#"
                h.count: 2
            "#]],
        );
        expect![[r#"
            O 2001-09-09T01:46:40.000000000 len=18
            000000 00 01 02 03 04 05 06 07 08 09 0a 0b 0c 0d 0e 0f
            000010 10 11

            I 2001-09-09T01:46:40.000000002 len=1
            000000 ff

        "#]]
        .assert_eq(&std::fs::read_to_string(path).unwrap());
    }

    #[test]
    fn what_is_to_be_segmented_is_written_as_segments() {
        let scratch = Scratch::new();
        let path = scratch.path("out.txt");
        check_reading(
            &format!("OffloadSource -> h :: ToHexDump({path}, MAXLENGTH 14); DriverManager(wait 0.1s, stop)"),
            &["h.count"],
            expect![[r#"
                h.count: 3
            "#]],
        );
        let text = std::fs::read_to_string(path).unwrap();
        let lengths: Vec<&str> = text.lines().filter(|line| line.contains(" len=")).collect();
        assert!(lengths[0].ends_with(" len=1514") && lengths[2].ends_with(" len=1134"), "{lengths:?}");
    }

    #[test]
    fn a_full_disk_is_told_once_and_packets_pass() {
        check_reading(
            "InfiniteSource(LIMIT 5, BURST 1, STOP true) -> ToHexDump(/dev/full) -> c :: Counter -> Discard",
            &["c.count"],
            expect![[r#"
                ToHexDump(/dev/full): No space left on device
                c.count: 5
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check("Idle -> ToHexDump(DIRECTIONS x); Idle -> [0] h :: ToHexDump(DIRECTIONS I) -> Discard; Idle -> [1] h;", expect![[r#"
            config:1: While configuring 'ToHexDump@2 :: ToHexDump':
              DIRECTIONS must be I or O
            config:1: While configuring 'h :: ToHexDump':
              1 DIRECTIONS for 2 inputs
              needs as many outputs as inputs, or none
            Router could not be initialized!
        "#]]);
        check(
            "Idle -> ToHexDump(/nowhere/x);",
            expect![[r#"
            config:1: While initializing 'ToHexDump@2 :: ToHexDump':
              /nowhere/x: No such file or directory
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn days_have_their_dates() {
        let dates = [0, -1, 59, 11_016, 11_017, 20_513, 47_540, -719_468].map(date);
        let expected = [
            (1970, 1, 1),
            (1969, 12, 31),
            (1970, 3, 1),
            (2000, 2, 29),
            (2000, 3, 1),
            (2026, 3, 1),
            (2100, 2, 28),
            (0, 3, 1),
        ];
        assert_eq!(dates, expected);
    }
}
