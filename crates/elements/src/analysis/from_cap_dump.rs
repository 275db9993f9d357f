//! Makes packets from the output of the tool `cap`, which measured how much a TCP connection transfers.
//!
//! A line for each segment: `SYN`, `DAT` or `ACK`, the direction `<` or `>`, a time in seconds, the number of the packet, its number in
//! the sequence, its IP length and its payload's, and what else was seen: `FIN`, `DSACK:N`, `SACK:N-N...`, `FR`, `RTO`, `TIM`,
//! `SACK_NEW`, `SACK_REXMT`. A line `SND` or `RCV` tells at which end the tool ran. All other lines are passed over. Numbers of packets
//! become sequence numbers by the payloads seen so far.
//!
//! Packets are those from 1.0.0.1, port 1, to 2.0.0.2, port 2 (`>`), and back (`<`), headers only, with an extra length annotation for
//! the rest. The paint is 1 for those that go to the sender of the data; packet and sequence number annotations are the numbers in the line. As in Click, the
//! first six digits after a time's point count nanoseconds. The file may be compressed.
//!
//! ```click
//! FromCapDump(transfer.cap, STOP true) -> ToIPSummaryDump(-, FIELDS timestamp ip_src tcp_seq tcp_ack payload_len);
//! ```

mod line;
mod sequence;

use args::Scope;
use element::{annotation, Arg, Class, Configure, Failed, Handler, Packet, Role};
use wire::{checksum, protocol};

use self::line::{Kind, Segment};
use self::sequence::Numbers;
use super::text_source::{self, checked_sampling, read_sampling, Format, Line, TextSource, Wishes};
use crate::ip6::segment::renew_checksum;
use crate::rewriter::flow_id::FlowId;

/// The class.
pub const CLASS: Class = Class::new::<TextSource<CapDump>>("FromCapDump", "0/1", "a/a", "x/x")
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
    Arg::keyword("AGGREGATE", "unsigned", "The aggregate annotation of the packets. Default 1."),
    text_source::SAMPLE,
];

const HANDLERS: &[Handler] = &[
    text_source::SAMPLING_PROB,
    text_source::IS_ACTIVE,
    text_source::ENCAP,
    Handler::write("stop", "Becomes inactive and stops the driver."),
    text_source::FILE_NAME,
    text_source::FILE_SIZE,
    text_source::FILE_POSITION,
    text_source::TASK[0],
    text_source::TASK[1],
    text_source::TASK[2],
];

/// The flow of the packets with the direction `>`.
const FLOW: FlowId = FlowId { src: 0x0100_0001, dst: 0x0200_0002, sport: 1, dport: 2 };
const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const HEADERS: usize = IP_HEADER + TCP_HEADER;
const FIN: u8 = 0x01;
const SYN: u8 = 0x02;
const ACK: u8 = 0x10;

/// The format.
pub struct CapDump {
    has_checksum: bool,
    aggregate: u32,
    /// Whether the tool ran at the receiver's end.
    is_receiver: bool,
    numbers: Numbers,
}

impl Format for CapDump {
    const BAD_ACTIVE: &'static str = "type mismatch";

    fn configure(conf: &mut Configure<'_>) -> Result<(CapDump, Wishes), Failed> {
        let mut wishes = Wishes::configure(conf);
        let has_checksum = conf.args.get_or("CHECKSUM", false);
        let aggregate = conf.args.get_or("AGGREGATE", 1);
        wishes.sampling = read_sampling(conf);
        conf.finish()?;
        wishes.sampling = checked_sampling(conf, wishes.sampling);
        Ok((CapDump { has_checksum, aggregate, is_receiver: false, numbers: Numbers::new() }, wishes))
    }

    fn read(&mut self, line: &[u8], _scope: &Scope<'_>, tell: &mut dyn FnMut(&str)) -> Line {
        match line {
            [b'R', b'C', b'V', space, ..] if space.is_ascii_whitespace() => self.is_receiver = true,
            [b'S', b'N', b'D', space, ..] if space.is_ascii_whitespace() => self.is_receiver = false,
            _ => {
                let packet = Segment::read(line).map(|segment| self.packet(&segment));
                match packet {
                    Some(Ok(packet)) => return Line::Packet(packet),
                    Some(Err(message)) => tell(&message),
                    None => {}
                }
            }
        }
        Line::Skip
    }

    fn go_on_from(&mut self, old: CapDump) {
        (self.is_receiver, self.numbers) = (old.is_receiver, old.numbers);
    }
}

impl CapDump {
    /// The packet of a line; or why its numbers cannot be.
    fn packet(&mut self, segment: &Segment) -> Result<Packet, String> {
        let options = segment.options(&mut self.numbers)?;
        let is_painted = segment.is_sent == self.is_receiver;
        let (flags, sequence, acknowledged) = self.numbers_of(segment, is_painted)?;
        let mut packet = Packet::zeroed(HEADERS + options.len());
        let tcp_len = TCP_HEADER + options.len();
        let flow = if is_painted != self.is_receiver { FLOW.reverse() } else { FLOW };
        let len = (packet.len() as u16).wrapping_add(segment.payload_len as u16);
        if let Some((headers, rest)) = packet.data_mut().split_first_chunk_mut::<HEADERS>() {
            let (ip, tcp) = headers.split_at_mut(IP_HEADER);
            [ip[0], ip[9]] = [0x45, protocol::TCP];
            ip[2..4].copy_from_slice(&len.to_be_bytes());
            ip[12..16].copy_from_slice(&flow.src.to_be_bytes());
            ip[16..20].copy_from_slice(&flow.dst.to_be_bytes());
            tcp[..2].copy_from_slice(&flow.sport.to_be_bytes());
            tcp[2..4].copy_from_slice(&flow.dport.to_be_bytes());
            tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
            tcp[8..12].copy_from_slice(&acknowledged.to_be_bytes());
            [tcp[12], tcp[13]] = [(tcp_len as u8 >> 2) << 4, flags];
            tcp[14..16].fill(0xff);
            rest.copy_from_slice(&options);
        }
        packet.set_network_header(0, IP_HEADER);
        packet.set_timestamp_ns(segment.time_ns);
        packet.set_paint(u8::from(is_painted));
        packet.set_anno_u32(annotation::PACKET_NUMBER, segment.number);
        packet.set_anno_u32(annotation::SEQUENCE_NUMBER, segment.place);
        packet.set_anno_u32(annotation::EXTRA_LENGTH, segment.payload_len);
        packet.set_anno_u32(annotation::AGGREGATE, self.aggregate);
        if self.has_checksum {
            set_checksums(&mut packet, flow);
        }
        Ok(packet)
    }

    /// TCP flags, sequence number and acknowledgement.
    fn numbers_of(&mut self, segment: &Segment, is_painted: bool) -> Result<(u8, u32, u32), String> {
        let end = if segment.is_end { FIN } else { 0 };
        let is_begin = segment.kind == Kind::Begin;
        let len =
            segment.payload_len.wrapping_add(u32::from(is_begin)).wrapping_add(u32::from(segment.is_end));
        Ok(match segment.kind {
            Kind::Data => (end | ACK, self.numbers.pass(segment.place, len)?, 1),
            Kind::Answer => (end | ACK, 1, self.numbers.at(segment.place.wrapping_add(1))?),
            Kind::Begin => {
                self.numbers.pass(segment.place, len)?;
                match self.is_receiver != is_painted {
                    true => (end | SYN | ACK, 0, 1),
                    false => (end | SYN, 0, 0),
                }
            }
        })
    }
}

fn set_checksums(packet: &mut Packet, flow: FlowId) {
    if let Some((ip, tcp)) = packet.data_mut().split_first_chunk_mut::<IP_HEADER>() {
        let sum = checksum::checksum(ip);
        ip[10..12].copy_from_slice(&sum.to_be_bytes());
        let pseudo = checksum::pseudo_ipv4(flow.src.into(), flow.dst.into(), protocol::TCP, tcp.len() as u16);
        renew_checksum(tcp, protocol::TCP, pseudo);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    const TRANSFER: &str = "\
SND 0
INF - cap v2.13
SYN > 1046102982.856142 0 0 40 0
SYN < 1046102982.931832 0 0 40 0
! a comment
DAT > 1046102982.931941 1 1 1500 1460
ACK < 1046102983.156387 1 1 40 0
DAT > 1046102983.1565317 2 2 1500 1460 RTO FR
DAT x 1046102983 3 3 1500 1460
DAT > 1046102983 4 5 140 100 FIN TIM
ACK < 4294967297 5 4 40 0 SACK:6-7:9-9 SACK_NEW FIN
ACK < 1046102984 6 4 40 0 DSACK:5 SACK_REXMT
RCV 0
SYN > 1046102982.5 0 0 40 0
SYN < 1046102982.5 0 0 40 0
DAT > 7. 8 4 1500 1460
ACK < 8 9
ACK < 8 9 9 40";

    fn read(arguments: &str, text: &str, expect: Expect) {
        let path = std::env::temp_dir().join(format!("weir-cap-test-{}-{}", std::process::id(), text.len()));
        std::fs::write(&path, text).unwrap();
        let name = path.to_str().unwrap();
        let config = format!(
            "f :: FromCapDump({name}{arguments}) -> Print(x, 80, TIMESTAMP true, PRINTANNO true) -> Discard; DriverManager(wait 1s)"
        );
        let handlers = ["f.sampling_prob", "f.filepos", "f.encap", "f.active"];
        let printed = crate::testing::run(&config, &handlers).replace(name, "FILE");
        std::fs::remove_file(&path).unwrap();
        expect.assert_eq(&printed);
    }

    #[test]
    fn lines_become_segments() {
        read(
            "",
            TRANSFER,
            expect![[r#"
            x: 1046102982.000856142:   40 | 000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000 | 45000028 00000000 00060000 01000001 02000002 00010002 00000000 00000000 5002ffff 00000000
            x: 1046102982.000931832:   40 | 000000000000000000000000000000000100000001000000000000000000000000000000000000000000000000000000 | 45000028 00000000 00060000 02000002 01000001 00020001 00000000 00000001 5012ffff 00000000
            x: 1046102982.000931941:   40 | 00000000000000000000000000000000000000000100000000000000b405000001000000010000000000000000000000 | 450005dc 00000000 00060000 01000001 02000002 00010002 00000001 00000001 5010ffff 00000000
            x: 1046102983.000156387:   40 | 000000000000000000000000000000000100000001000000000000000000000001000000010000000000000000000000 | 45000028 00000000 00060000 02000002 01000001 00020001 00000001 000005b5 5010ffff 00000000
            x: 1046102983.000156531:   40 | 00000000000000000000000000000000000000000100000000000000b405000002000000020000000000000000000000 | 450005dc 00000000 00060000 01000001 02000002 00010002 000005b5 00000001 5010ffff 00000000
            x: 1046102983.000000:   40 | 000000000000000000000000000000000000000001000000000000006400000004000000050000000000000000000000 | 4500008c 00000000 00060000 01000001 02000002 00010002 000016d1 00000001 5011ffff 00000000
            x: -1.000000:   60 | 000000000000000000000000000000000100000001000000000000000000000005000000040000000000000000000000 | 4500003c 00000000 00060000 02000002 01000001 00020001 00000001 000016d1 a011ffff 00000000 01010512 00001736 00001800 00001865 000018ca
            x: 1046102984.000000:   52 | 000000000000000000000000000000000100000001000000000000000000000006000000040000000000000000000000 | 45000034 00000000 00060000 02000002 01000001 00020001 00000001 000016d1 8010ffff 00000000 0101050a 000016d1 00001736
            x: 1046102982.000500:   40 | 000000000000000000000000000000000100000001000000000000000000000000000000000000000000000000000000 | 45000028 00000000 00060000 01000001 02000002 00010002 00000000 00000000 5002ffff 00000000
            x: 1046102982.000500:   40 | 000000000000000000000000000000000000000001000000000000000000000000000000000000000000000000000000 | 45000028 00000000 00060000 02000002 01000001 00020001 00000000 00000001 5012ffff 00000000
            x: 7.000000:   40 | 00000000000000000000000000000000010000000100000000000000b405000008000000040000000000000000000000 | 450005dc 00000000 00060000 01000001 02000002 00010002 0000111d 00000001 5010ffff 00000000
            f.sampling_prob: 1
            f.filepos: 491
            f.encap: IP
            f.active: true
        "#]],
        );
    }

    #[test]
    fn checksums_and_aggregates_are_set_if_asked_for() {
        read(
            ", CHECKSUM true, AGGREGATE 7, SAMPLE 2",
            &TRANSFER[..300],
            expect![[r#"
            config:1: While configuring 'f :: FromCapDump':
              warning: SAMPLE probability reduced to 1
            x: 1046102982.000856142:   40 | 000000000000000000000000000000000000000007000000000000000000000000000000000000000000000000000000 | 45000028 00000000 0006b7ce 01000001 02000002 00010002 00000000 00000000 5002ffff acdd0000
            x: 1046102982.000931832:   40 | 000000000000000000000000000000000100000007000000000000000000000000000000000000000000000000000000 | 45000028 00000000 0006b7ce 02000002 01000001 00020001 00000000 00000001 5012ffff accc0000
            x: 1046102982.000931941:   40 | 00000000000000000000000000000000000000000700000000000000b405000001000000010000000000000000000000 | 450005dc 00000000 0006b21a 01000001 02000002 00010002 00000001 00000001 5010ffff accd0000
            x: 1046102983.000156387:   40 | 000000000000000000000000000000000100000007000000000000000000000001000000010000000000000000000000 | 45000028 00000000 0006b7ce 02000002 01000001 00020001 00000001 000005b5 5010ffff a7190000
            x: 1046102983.000156531:   40 | 00000000000000000000000000000000000000000700000000000000b405000002000000020000000000000000000000 | 450005dc 00000000 0006b21a 01000001 02000002 00010002 000005b5 00000001 5010ffff a7190000
            x: 1046102983.000000:   40 | 000000000000000000000000000000000000000007000000000000006400000004000000050000000000000000000000 | 4500008c 00000000 0006b76a 01000001 02000002 00010002 000016d1 00000001 5011ffff 95fc0000
            f.sampling_prob: 1
            f.filepos: 300
            f.encap: IP
            f.active: true
        "#]],
        );
    }

    #[test]
    fn numbers_that_cannot_be_are_told() {
        let text = "DAT > 1 1 1 140 100\nDAT > 1 1 1 140 101\nDAT > 1 2 4294967295 140 100\nACK < 1 3 17000000 40 0\nDAT > 1 4 2 40 0";
        read(
            "",
            text,
            expect![[r#"
            x: 1.000000:   40 | 000000000000000000000000000000000000000001000000000000006400000001000000010000000000000000000000 | 4500008c 00000000 00060000 01000001 02000002 00010002 000005b4 00000001 5010ffff 00000000
            FILE:2:   >> 2 1560 1561
            FILE:3: packet number 4294967295 too large
            FILE:4: packet number 17000001 too large
            x: 1.000000:   40 | 000000000000000000000000000000000000000001000000000000000000000004000000020000000000000000000000 | 45000028 00000000 00060000 01000001 02000002 00010002 00000618 00000001 5010ffff 00000000
            f.sampling_prob: 1
            f.filepos: 109
            f.encap: IP
            f.active: true
        "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "FromCapDump(x, FLOWID y, SAMPLE z) -> Discard; FromCapDump -> Discard",
            expect![[r#"
            config:1: While configuring 'FromCapDump@1 :: FromCapDump':
              SAMPLE: parse error
              FLOWID: unknown argument
            config:1: While configuring 'FromCapDump@3 :: FromCapDump':
              FILENAME: required argument missing
            Router could not be initialized!
        "#]],
        );
    }

    proptest! {
        #[test]
        fn any_line_is_a_packet_or_not(lines in prop::collection::vec("(SYN|DAT|ACK|RCV|SND) [<>] [0-9.]{1,12}( [0-9]{1,10}){3,4}( D?SACK:[0-9:-]{0,20}| FIN| FR| x){0,3}", 1..9)) {
            let mut format = CapDump { has_checksum: true, aggregate: 1, is_receiver: false, numbers: Numbers::new() };
            for line in lines {
                format.read(line.as_bytes(), &Scope::builtin(), &mut |_| {});
            }
        }
    }
}
