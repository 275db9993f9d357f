//! Makes packets from what tcpdump printed.
//!
//! Reads lines as `tcpdump -nn -tt`, and more with `-v`, printed them in its older versions: a time in seconds, addresses and ports, and
//! what is told of TCP, UDP and IP headers. Sequence numbers that are relative become absolute. Packets hold headers only, and have
//! an extra length annotation for the rest. Fragments and other protocols are read in part. Lines that start with `#` are
//! comments; of lines that cannot be read the first is told.
//!
//! The file may be compressed, and `-` is standard input.
//!
//! ```click
//! FromTcpdump(trace.txt, STOP true, CHECKSUM true) -> ToDump(out.pcap, ENCAP IP);
//! ```

use args::Scope;
use element::{Arg, Class, Configure, Failed, Handler, Role};

use super::tcpdump_text::Reader;
use super::text_source::{self, checked_sampling, read_sampling, Format, Line, TextSource, Wishes};

/// The class.
pub const CLASS: Class = Class::new::<TextSource<Tcpdump>>("FromTcpdump", "0/1", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(text_source::DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    text_source::FILENAME,
    text_source::STOP,
    text_source::ACTIVE,
    text_source::ZERO,
    Arg::keyword("CHECKSUM", "bool", "Whether to set checksums. Default false."),
    text_source::SAMPLE,
];

const HANDLERS: &[Handler] = &[
    text_source::SAMPLING_PROB,
    text_source::IS_ACTIVE,
    text_source::ENCAP,
    Handler::write("stop", "Stops making packets, and the driver.").flags("button"),
    text_source::FILE_NAME,
    text_source::FILE_SIZE,
    text_source::FILE_POSITION,
    text_source::TASK[0],
    text_source::TASK[1],
    text_source::TASK[2],
];

/// The format.
pub struct Tcpdump {
    reader: Reader,
    sets_checksums: bool,
    has_complained: bool,
}

impl Format for Tcpdump {
    const BAD_ACTIVE: &'static str = "syntax error";

    fn configure(conf: &mut Configure<'_>) -> Result<(Tcpdump, Wishes), Failed> {
        let mut wishes = Wishes::configure(conf);
        let sets_checksums = conf.args.get_or("CHECKSUM", false);
        wishes.sampling = read_sampling(conf);
        conf.finish()?;
        wishes.sampling = checked_sampling(conf, wishes.sampling);
        Ok((Tcpdump { reader: Reader::default(), sets_checksums, has_complained: false }, wishes))
    }

    fn doubt(first: &[u8]) -> Option<&'static str> {
        let is_time = first.first().is_some_and(u8::is_ascii_digit);
        (!is_time).then_some("first line suspicious; is this a tcpdump output file?")
    }

    fn read(&mut self, line: &[u8], scope: &Scope<'_>, tell: &mut dyn FnMut(&str)) -> Line {
        if matches!(line.first(), None | Some(b'#')) {
            return Line::Skip;
        }
        let text = std::str::from_utf8(line).unwrap_or("");
        match self.reader.read(text, scope, self.sets_checksums) {
            Some(packet) => Line::Packet(packet),
            None => {
                let is_blank = line.iter().all(|byte| matches!(byte, b' ' | b'\t' | b'\n' | b'\r'));
                if !is_blank && !std::mem::replace(&mut self.has_complained, true) {
                    tell("packet parse error");
                }
                Line::Nothing
            }
        }
    }

    fn go_on_from(&mut self, old: Tcpdump) {
        (self.reader, self.has_complained) = (old.reader, old.has_complained);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, run};
    use expect_test::expect;

    #[test]
    fn lines_become_packets_and_bad_lines_are_told_once() {
        let path = std::env::temp_dir().join(format!("weir-tcpdump-{}", std::process::id()));
        let text = "# comment\n1.5 1.0.0.1.80 > 2.0.0.2.1000: P 5000:5010(10) ack 7 win 512 (DF)\nx\n\nx\n\
                    2.5 1.0.0.1.53 > 2.0.0.2.1000:  udp 20 [tos 0xc0]\n";
        std::fs::write(&path, text).expect("the file can be written");
        let config = format!(
            "f :: FromTcpdump({}, STOP true, CHECKSUM true) -> CheckIPHeader -> Print(x, TIMESTAMP true) -> Discard",
            path.display()
        );
        let output = run(&config, &["f.filepos", "f.filesize", "f.sampling_prob", "f.encap"]);
        std::fs::remove_file(&path).expect("it can be removed");
        expect![[r#"
            config:1: While initializing 'f :: FromTcpdump':
            FILE:   warning: first line suspicious; is this a tcpdump output file?
            CheckIPHeader@2: IP header check failed: bad IP length
            FILE:3: packet parse error
            f.filepos: 131
            f.filesize: 131
            f.sampling_prob: 1
            f.encap: IP
        "#]]
        .assert_eq(&output.replace(&path.display().to_string(), "FILE"));
    }

    #[test]
    fn mistakes_are_told() {
        check("FromTcpdump(SAMPLE x) -> Discard; FromTcpdump(/none/such, SAMPLE 0) -> Discard; FromTcpdump(y, SAMPLE 2) -> Discard", expect![[r#"
            config:1: While configuring 'FromTcpdump@1 :: FromTcpdump':
              FILENAME: parse error
            config:1: While configuring 'FromTcpdump@3 :: FromTcpdump':
              warning: SAMPLE probability is 0; emitting no packets
            config:1: While configuring 'FromTcpdump@5 :: FromTcpdump':
              warning: SAMPLE probability reduced to 1
            Router could not be initialized!
        "#]]);
    }
}
