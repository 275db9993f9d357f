//! Makes packets from a NetFlow summary.
//!
//! A summary is a text with a line for each flow: fields separated by `|`, of which the first 15 count from 0: source and
//! destination address, a field that is not used, input and output interface, number of packets, number of bytes, first and last
//! second, source and destination port, a field that is not used, TCP flags, IP protocol, type of service. Lines that start with
//! `!` or `#` are comments. A line of another form ends the reading.
//!
//! A flow becomes one packet, with headers only, whose annotations tell how many packets and bytes there were besides and when the
//! first came; or, with MULTIPACKET, as many packets. Its paint is the interface. The file may be compressed.
//!
//! ```click
//! FromNetFlowSummaryDump(flows.txt, STOP true) -> ToIPSummaryDump(-, FIELDS ip_src ip_dst count ip_len);
//! ```

use args::{Scope, Word};
use element::{annotation, Arg, Class, Configure, Failed, Handler, Packet, Role};
use wire::protocol;

use super::text_source::{self, Format, Line, TextSource, Wishes};

/// The class.
pub const CLASS: Class = Class::new::<TextSource<NetFlow>>("FromNetFlowSummaryDump", "0/1", "a/a", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(text_source::DROPS)
    .role(Role::Input);

const ARGS: &[Arg] = &[
    text_source::FILENAME,
    text_source::STOP,
    text_source::ACTIVE,
    text_source::ZERO,
    Arg::keyword("MULTIPACKET", "bool", "Whether a flow makes as many packets as it had. Default false."),
    Arg::keyword(
        "LINK",
        "input, output or both",
        "The interface that is the paint; both: 4 bits each, the input's above. Default input.",
    ),
    Arg::keyword("TIMING", "bool", "Whether to keep the time between packets. Default false."),
];

const HANDLERS: &[Handler] = &[
    text_source::IS_ACTIVE,
    text_source::ENCAP,
    text_source::FILE_NAME,
    text_source::FILE_SIZE,
    text_source::FILE_POSITION,
    text_source::TASK[0],
    text_source::TASK[1],
    text_source::TASK[2],
];

const N_FIELDS: usize = 15;
/// Fields, of 13, that must be right.
const LEAST_RIGHT: usize = 10;
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;
const NS_PER_S: i64 = 1_000_000_000;

/// Which interfaces are the paint.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Link {
    Input,
    Output,
    Both,
}

/// The format.
pub struct NetFlow {
    link: Link,
    has_complained: bool,
}

impl Format for NetFlow {
    const BAD_ACTIVE: &'static str = "type mismatch";

    fn configure(conf: &mut Configure<'_>) -> Result<(NetFlow, Wishes), Failed> {
        let mut wishes = Wishes::configure(conf);
        wishes.splits = conf.args.get_or("MULTIPACKET", false);
        let Word(link) = conf.args.get("LINK").unwrap_or(Word("input".to_string()));
        wishes.keeps_time = conf.args.get_or("TIMING", false);
        let link = match link.to_ascii_lowercase().as_str() {
            "input" => Link::Input,
            "output" => Link::Output,
            "both" => Link::Both,
            _ => {
                conf.args.fail("'LINK' should be 'input', 'output', or 'both'");
                Link::Input
            }
        };
        conf.finish()?;
        Ok((NetFlow { link, has_complained: false }, wishes))
    }

    fn read(&mut self, line: &[u8], _scope: &Scope<'_>, tell: &mut dyn FnMut(&str)) -> Line {
        if matches!(line.first(), None | Some(b'!' | b'#')) {
            return Line::Skip;
        }
        match std::str::from_utf8(line).ok().and_then(|line| self.packet(line)) {
            Some(packet) => Line::Packet(packet),
            None => {
                if !std::mem::replace(&mut self.has_complained, true) {
                    tell("bad format");
                }
                Line::End
            }
        }
    }

    fn go_on_from(&mut self, old: NetFlow) {
        self.has_complained = old.has_complained;
    }
}

impl NetFlow {
    fn packet(&self, line: &str) -> Option<Packet> {
        let mut fields = [""; N_FIELDS];
        let mut texts = line.split('|');
        for field in &mut fields {
            *field = texts.next()?;
        }
        // A bar at the end of a line begins no field.
        if fields.last().is_some_and(|last| last.is_empty()) && texts.next().is_none() {
            return None;
        }
        let mut packet = Packet::zeroed(IP_HEADER + TCP_HEADER);
        packet.set_network_header(0, IP_HEADER);
        let (n_right, n_bytes) = self.annotate(&mut packet, &fields);
        let n_right = n_right + write_headers(packet.data_mut(), &fields);
        if n_right < LEAST_RIGHT {
            return None;
        }
        finish(&mut packet, n_bytes);
        Some(packet)
    }

    /// Sets the annotations; how many fields were right, and the number of bytes.
    fn annotate(&self, packet: &mut Packet, fields: &[&str; N_FIELDS]) -> (usize, u32) {
        let number = |idx: usize| fields.get(idx).and_then(|field| args::integer::<u32>(field).ok());
        let (first, last) = (number(7), number(8));
        let first_ns = first.map_or(0, |second| i64::from(second) * NS_PER_S);
        packet.set_anno(annotation::FIRST_TIMESTAMP, first_ns.to_ne_bytes());
        match last {
            Some(0) => packet.set_timestamp_ns(first_ns),
            Some(second) => packet.set_timestamp_ns(i64::from(second) * NS_PER_S),
            None => {}
        }
        let n_packets = number(5);
        if let Some(n_packets) = n_packets {
            packet.set_anno_u32(annotation::EXTRA_PACKETS, n_packets.wrapping_sub(1));
        }
        let n_bytes = number(6);
        let input = if self.link == Link::Output { Some(0) } else { number(3) };
        let output = if self.link == Link::Input { Some(0) } else { number(4) };
        let paint = input.zip(output).map(|(input, output)| match self.link {
            Link::Both => input.min(15) << 4 | output.min(15),
            Link::Input | Link::Output => input.min(255) | output.min(255),
        });
        packet.set_paint(paint.unwrap_or(0) as u8);
        let n_right = [first, last, n_packets, n_bytes, paint].iter().flatten().count();
        (n_right, n_bytes.unwrap_or(0))
    }
}

/// Writes what the fields say into the headers; how many were right.
fn write_headers(bytes: &mut [u8], fields: &[&str; N_FIELDS]) -> usize {
    let scope = Scope::builtin();
    let mut n_right = 0;
    let mut put = |at: usize, value: Option<&[u8]>| {
        if let Some(value) = value {
            n_right += 1;
            bytes.iter_mut().skip(at).zip(value).for_each(|(byte, value)| *byte = *value);
        }
    };
    let field = |idx: usize| fields.get(idx).copied().unwrap_or("");
    for (idx, at) in [(0, 12), (1, 16)] {
        put(
            at,
            args::ip(field(idx), &scope)
                .ok()
                .map(|address| address.octets())
                .as_ref()
                .map(|octets| &octets[..]),
        );
    }
    for (idx, at) in [(13, 9), (14, 1), (12, IP_HEADER + 13)] {
        put(at, args::integer::<u8>(field(idx)).ok().map(|byte| [byte]).as_ref().map(|byte| &byte[..]));
    }
    for (idx, at) in [(9, IP_HEADER), (10, IP_HEADER + 2)] {
        put(at, args::integer::<u16>(field(idx)).ok().map(u16::to_be_bytes).as_ref().map(|port| &port[..]));
    }
    n_right
}

/// Sets lengths and header lengths, and takes off what is not of the packet's protocol.
fn finish(packet: &mut Packet, n_bytes: u32) {
    let len = n_bytes.min(65535) as u16;
    let bytes = packet.data_mut();
    let protocol = bytes.get(9).copied().unwrap_or(0);
    let mut put = |at: usize, value: &[u8]| {
        bytes.iter_mut().skip(at).zip(value).for_each(|(byte, value)| *byte = *value);
    };
    put(0, &[0x45]);
    put(2, &len.to_be_bytes());
    match protocol {
        protocol::TCP => put(IP_HEADER + 12, &[0x50]),
        protocol::UDP => {
            put(IP_HEADER + 4, &len.wrapping_sub(IP_HEADER as u16).to_be_bytes());
            packet.take(TCP_HEADER - UDP_HEADER);
        }
        _ => packet.take(TCP_HEADER),
    }
    packet.set_anno_u32(annotation::EXTRA_LENGTH, n_bytes.wrapping_sub(packet.len() as u32));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn read(arguments: &str, text: &str, elements: &str, expect: Expect) {
        let path = std::env::temp_dir().join(format!(
            "weir-netflow-{}-{:?}",
            std::process::id(),
            std::thread::current().id()
        ));
        std::fs::write(&path, text).expect("the file can be written");
        let config = format!(
            "f :: FromNetFlowSummaryDump({}, STOP true{arguments}) -> {elements} -> Discard",
            path.display()
        );
        let output = crate::testing::run(&config, &["f.filepos", "f.encap", "f.active"]);
        std::fs::remove_file(&path).expect("it can be removed");
        expect.assert_eq(&output.replace(&path.display().to_string(), "FILE"));
    }

    const FLOWS: &str = "# comment\n!also\n192.4.1.32|18.26.4.44||14|16|3|1093|998006995|998006999|3917|80||18|6|4|\n\
        192.4.1.32|18.26.4.44||300|1|1|100|998006995|0|53|54||0|17|0|more\n1.0.0.1|1.0.0.2||x|1|0|70|5|6|1|2||0|1|7|\n\
        bad|1|2\n1.0.0.1|1.0.0.2||1|1|1|70|5|6|1|2||0|1|7|\n";
    const SHOW: &str = "Print(x, 40, TIMESTAMP true, PRINTANNO true)";

    #[test]
    fn a_dump_writes_no_flow_of_no_packets_and_lengths_that_are_too_short() {
        let path = std::env::temp_dir().join(format!("weir-netflow-dump-{}", std::process::id()));
        let flow = |n_packets: u32, n_bytes: u32| {
            format!("1.0.0.1|2.0.0.2||0|0|{n_packets}|{n_bytes}|5|6|1|2||0|6|0|\n")
        };
        let dump = format!("ToIPSummaryDump({}, FIELDS ip_len count, MULTIPACKET true)", path.display());
        read(
            "",
            &(flow(1, 22) + &flow(0, 100) + &flow(2, 100)),
            &dump,
            expect![[r#"
            f.filepos: 128
            f.encap: IP
            f.active: true
        "#]],
        );
        let written = std::fs::read_to_string(&path).expect("the dump is there");
        std::fs::remove_file(&path).expect("it can be removed");
        expect![[r#"
            !IPSummaryDump 1.3
            !data ip_len count
            22 1
            100 1
            100 1
        "#]]
        .assert_eq(&written);
    }

    #[test]
    fn a_line_becomes_a_packet() {
        read(
            "",
            FLOWS,
            SHOW,
            expect![[r#"
            x: 998006999.000000:   40 | 000000000000000000000000000000000e00000000000000020000001d040000007e540413a2d90d0000000000000000 | 45040445 00000000 00060000 c0040120 121a042c 0f4d0050 00000000 00000000 50120000 00000000
            x: 998006995.000000:   28 | 00000000000000000000000000000000ff000000000000000000000048000000007e540413a2d90d0000000000000000 | 45000064 00000000 00110000 c0040120 121a042c 00350036 00500000
            x: 6.000000:   20 | 000000000000000000000000000000000000000000000000ffffffff3200000000f2052a010000000000000000000000 | 45070046 00000000 00010000 01000001 01000002
            FILE:6: bad format
            f.filepos: 205
            f.encap: IP
            f.active: true
        "#]],
        );
        read(
            ", LINK both",
            FLOWS,
            "Print(x, 0, PRINTANNO true)",
            expect![[r#"
            x:   40 | 00000000000000000000000000000000ef00000000000000020000001d040000007e540413a2d90d0000000000000000
            x:   28 | 00000000000000000000000000000000f1000000000000000000000048000000007e540413a2d90d0000000000000000
            x:   20 | 000000000000000000000000000000000000000000000000ffffffff3200000000f2052a010000000000000000000000
            FILE:6: bad format
            f.filepos: 205
            f.encap: IP
            f.active: true
        "#]],
        );
    }

    #[test]
    fn a_flow_becomes_as_many_packets_as_it_had() {
        read(
            ", MULTIPACKET true, TIMING true",
            FLOWS,
            SHOW,
            expect![[r#"
            x: 998006995.000000:   40 | 000000000000000000000000000000000e000000000000000000000044010000007e540413a2d90d0000000000000000 | 4504016c 00000000 00060000 c0040120 121a042c 0f4d0050 00000000 00000000 50120000 00000000
            x: 998006997.000000:   40 | 000000000000000000000000000000000e000000000000000000000044010000007e540413a2d90d0000000000000000 | 4504016c 00000000 00060000 c0040120 121a042c 0f4d0050 00000000 00000000 50120000 00000000
            x: 998006999.000000:   40 | 000000000000000000000000000000000e000000000000000000000045010000007e540413a2d90d0000000000000000 | 4504016d 00000000 00060000 c0040120 121a042c 0f4d0050 00000000 00000000 50120000 00000000
            x: 998006995.000000:   28 | 00000000000000000000000000000000ff000000000000000000000048000000007e540413a2d90d0000000000000000 | 45000064 00000000 00110000 c0040120 121a042c 00350036 00500000
            x: 6.000000:   20 | 000000000000000000000000000000000000000000000000ffffffff3200000000f2052a010000000000000000000000 | 45070046 00000000 00010000 01000001 01000002
            FILE:6: bad format
            f.filepos: 205
            f.encap: IP
            f.active: true
        "#]],
        );
    }

    #[test]
    fn it_can_be_pulled() {
        read(
            ", LINK output",
            FLOWS,
            "u :: Unqueue -> Print(x, 0, PRINTANNO true)",
            expect![[r#"
            x:   40 | 000000000000000000000000000000001000000000000000020000001d040000007e540413a2d90d0000000000000000
            x:   28 | 0000000000000000000000000000000001000000000000000000000048000000007e540413a2d90d0000000000000000
            x:   20 | 000000000000000000000000000000000100000000000000ffffffff3200000000f2052a010000000000000000000000
            FILE:6: bad format
            f.filepos: 205
            f.encap: IP
            f.active: true
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check("FromNetFlowSummaryDump(LINK x, FILENAME y) -> Discard; FromNetFlowSummaryDump() -> Discard; FromNetFlowSummaryDump(/none/such) -> Discard", expect![[r#"
            config:1: While configuring 'FromNetFlowSummaryDump@1 :: FromNetFlowSummaryDump':
              'LINK' should be 'input', 'output', or 'both'
            config:1: While configuring 'FromNetFlowSummaryDump@3 :: FromNetFlowSummaryDump':
              FILENAME: required argument missing
            Router could not be initialized!
        "#]]);
    }

    proptest! {
        #[test]
        fn any_line_is_a_packet_or_not(line in "([0-9.]{0,9}\\|){0,17}[0-9x!]{0,3}") {
            let mut format = NetFlow { link: Link::Both, has_complained: false };
            format.read(line.as_bytes(), &Scope::builtin(), &mut |_| {});
        }
    }
}
