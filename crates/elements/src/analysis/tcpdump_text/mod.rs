//! Lines that tcpdump prints, made into packets.

mod cursor;
mod ip;
mod tcp;

use std::net::Ipv4Addr;

use args::Scope;
use element::{annotation, Packet};
use wire::{checksum, protocol};

use cursor::Cursor;
use tcp::Flows;

const IP_HEADER: usize = 20;
const TCP_HEADER: usize = 20;
const UDP_HEADER: usize = 8;

/// What is known from the lines before.
#[derive(Default)]
pub struct Reader {
    flows: Flows,
}

/// What a line tells besides the bytes of headers.
struct Draft {
    packet: Packet,
    protocol: u8,
    /// Bytes behind the headers, as far as is known.
    data_len: Option<u32>,
}

impl Draft {
    fn new() -> Draft {
        let mut packet = Packet::zeroed(IP_HEADER + TCP_HEADER);
        packet.set_network_header(0, IP_HEADER);
        let mut draft = Draft { packet, protocol: 0, data_len: None };
        draft.put(0, &[0x45]);
        draft.put(8, &[2]);
        draft
    }

    /// Writes bytes at an offset, as far as the packet reaches.
    fn put(&mut self, at: usize, bytes: &[u8]) {
        self.packet.data_mut().iter_mut().skip(at).zip(bytes).for_each(|(to, from)| *to = *from);
    }

    fn u8_at(&self, at: usize) -> u8 {
        self.packet.data().get(at).copied().unwrap_or(0)
    }

    fn u16_at(&self, at: usize) -> u16 {
        u16::from_be_bytes([self.u8_at(at), self.u8_at(at + 1)])
    }

    fn u32_at(&self, at: usize) -> u32 {
        u32::from(self.u16_at(at)) << 16 | u32::from(self.u16_at(at + 2))
    }

    /// The length of the packet as it is.
    fn len(&self) -> u32 {
        self.packet.len() as u32
    }

    /// Sets the lengths, and the checksums if they are wanted.
    fn finish(mut self, sets_checksums: bool) -> Packet {
        let data_len = self.data_len.unwrap_or(0);
        let len = self.len().wrapping_add(data_len) as u16;
        self.put(2, &len.to_be_bytes());
        self.packet.set_anno_u32(annotation::EXTRA_LENGTH, data_len);
        let is_first = self.u16_at(6) & 0x1FFF == 0;
        if self.protocol == protocol::UDP && is_first {
            self.put(IP_HEADER + 4, &len.wrapping_sub(IP_HEADER as u16).to_be_bytes());
        }
        if sets_checksums {
            self.set_checksums();
        }
        self.packet
    }

    fn set_checksums(&mut self) {
        let sum = checksum::checksum(self.packet.data().get(..IP_HEADER).unwrap_or_default());
        self.put(10, &sum.to_be_bytes());
        let place = match self.protocol {
            protocol::TCP => IP_HEADER + 16,
            protocol::UDP => IP_HEADER + 6,
            _ => return,
        };
        if self.u16_at(6) & 0x3FFF != 0 {
            return;
        }
        let segment = self.packet.data().get(IP_HEADER..).unwrap_or_default();
        let (source, destination): (Ipv4Addr, Ipv4Addr) = (self.u32_at(12).into(), self.u32_at(16).into());
        let pseudo = checksum::pseudo_ipv4(source, destination, self.protocol, segment.len() as u16);
        let sum = checksum::transport(pseudo, segment);
        self.put(place, &sum.to_be_bytes());
    }
}

impl Reader {
    /// The packet of a line; `None` if it is not tcpdump's.
    pub fn read(&mut self, line: &str, sets_checksums: bool) -> Option<Packet> {
        if !line.starts_with(|first: char| first.is_ascii_digit()) {
            return None;
        }
        let mut draft = Draft::new();
        let (time, rest) = line.split_once(' ')?;
        draft.packet.set_timestamp_ns(args::timestamp(time).ok()?.as_nanos());
        let text = rest.split_once(':').map_or("", |(_, text)| text.trim_start_matches(' '));
        draft.protocol = guess_protocol(text);
        draft.put(9, &[draft.protocol]);
        let (source, rest) = rest.split_once(' ').filter(|(source, _)| !source.is_empty())?;
        let rest = rest.strip_prefix("> ").filter(|rest| !rest.is_empty())?;
        let destination = rest.split_once(':').map_or(rest, |(destination, _)| destination);
        read_end(&mut draft, source, 12, IP_HEADER)?;
        read_end(&mut draft, destination, 16, IP_HEADER + 2)?;
        let mut cursor = Cursor(text);
        match draft.protocol {
            protocol::TCP => tcp::read(&mut draft, &mut cursor, &mut self.flows),
            protocol::UDP => {
                read_udp(&mut draft, &mut cursor);
                draft.packet.take(TCP_HEADER - UDP_HEADER);
            }
            _ => draft.packet.take(TCP_HEADER),
        }
        ip::read_groups(&mut draft, cursor.0);
        Some(draft.finish(sets_checksums))
    }
}

/// The protocol that what follows the addresses looks like; 0 if it is not known.
fn guess_protocol(text: &str) -> u8 {
    match text.as_bytes() {
        [b'i', ..] => protocol::ICMP,
        [b'u', ..] | [b'[', b'u', ..] => protocol::UDP,
        [b'.' | b'A'..=b'Z', ..] => protocol::TCP,
        _ => 0,
    }
}

/// Reads an address, and the port behind it if the protocol has ports.
fn read_end(draft: &mut Draft, text: &str, address_at: usize, port_at: usize) -> Option<()> {
    let scope = Scope::builtin();
    let has_port = matches!(draft.protocol, protocol::TCP | protocol::UDP);
    let (address, port) = if has_port { text.rsplit_once(['.', ':'])? } else { (text, "") };
    draft.put(address_at, &args::ip(address, &scope).ok()?.octets());
    if has_port {
        draft.put(port_at, &args::port(port, &scope, draft.protocol).ok()?.to_be_bytes());
    }
    Some(())
}

/// Reads what is told of a UDP datagram: its length.
fn read_udp(draft: &mut Draft, cursor: &mut Cursor<'_>) {
    // As in Click, what tells of checksums is looked for one character too late.
    let mut ahead = *cursor;
    ahead.skip(1);
    if ahead.eat_bracket("[bad hdr") {
        *cursor = ahead;
    }
    let mut ahead = *cursor;
    ahead.skip(1);
    if ahead.eat("[udp sum ok] ") || ahead.eat_bracket("[bad udp") && ahead.eat(" ") {
        *cursor = ahead;
    }
    if cursor.eat_word_before_digit("udp ") {
        draft.data_len = cursor.number();
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn check(lines: &[&str], expect: Expect) {
        let mut reader = Reader::default();
        let show = |line: &&str| match reader.read(line, false) {
            Some(packet) => {
                let hex = packet
                    .data()
                    .chunks(4)
                    .map(|word| word.iter().map(|byte| format!("{byte:02x}")).collect::<String>());
                format!(
                    "{} +{}\n",
                    hex.collect::<Vec<_>>().join(" "),
                    packet.anno_u32(annotation::EXTRA_LENGTH)
                )
            }
            None => "none\n".to_string(),
        };
        expect.assert_eq(&lines.iter().map(show).collect::<String>());
    }

    #[test]
    fn sequence_numbers_are_relative_to_the_first() {
        check(
            &[
                "1.5 1.0.0.1.80 > 2.0.0.2.1000: S 5000:5000(0) win 512 <mss 1460,nop,wscale 7,sackOK> (DF) (ttl 64, id 7, len 52)",
                "1.6 2.0.0.2.1000 > 1.0.0.1.80: S 9000:9000(0) ack 5001 win 512 <mss 1460> (DF)",
                "1.7 1.0.0.1.80 > 2.0.0.2.1000: . ack 1 win 512",
                "1.8 1.0.0.1.80 > 2.0.0.2.1000: P 1:11(10) ack 1 win 512 urg 3",
                "1.9 2.0.0.2.1000 > 1.0.0.1.80: . ack 11 win 9 <nop,nop,sack sack 1 {21:31} >",
            ],
            expect![[r#"
                45000034 00074000 40060000 01000001 02000002 005003e8 00001388 00000000 80020200 00000000 020405b4 01030307 04020000 +0
                4500002c 00004000 02060000 02000002 01000001 03e80050 00002328 00001389 60120200 00000000 020405b4 +0
                45000028 00000000 02060000 01000001 02000002 005003e8 00001389 00002329 50100200 00000000 +0
                45000032 00000000 02060000 01000001 02000002 005003e8 00001389 00002329 50180200 00000003 +10
                45000034 00000000 02060000 02000002 01000001 03e80050 00002329 00001393 80100009 00000000 0101050a 0000139d 000013a7 +0
            "#]],
        );
    }

    #[test]
    fn other_protocols_have_less() {
        check(
            &[
                "5 1.0.0.1.ssh > 2.0.0.2.53:  udp 20 [tos 0xc0,ECT(0)]  [ttl 1] (id 4, len 48)",
                "5 1.0.0.1.53 > 2.0.0.2.53: [udp sum ok] udp 20",
                "5 1.0.0.1 > 2.0.0.2: icmp: echo request (frag 17:64@1480+) [ttl 9] CE",
                "5 1.0.0.1.1 > 2.0.0.2.2: FSRPAUECNWXY [bad hdr length] [tcp sum ok] 1:2(1)",
                "5 1.0.0.1.1 > 2.0.0.2.2: P [bad tcp cksum 1!] 1:2(1) win 5 <timestamp 1 2,foo,eol> (len 20)",
                "5 1.0.0.1 > 2.0.0.2.2: P 1:2(1)",
                "x",
                "5 > : :",
            ],
            expect![[r#"
                45c10030 00040000 01110000 01000001 02000002 00160035 001c0000 +20
                4500001c 00000000 02110000 01000001 02000002 00350035 00080000 +0
                45000014 00000000 02010000 01000001 02000002 +0
                45000028 00000000 02060000 01000001 02000002 00010002 00000000 00000000 00ff0000 00000000 +0
                45000014 00000000 02060000 01000001 020000 +1
                none
                none
                none
            "#]],
        );
    }

    proptest! {
        #[test]
        fn any_text_is_a_packet_or_not(
            text in "(\\.|[FSP]{0,3})( \\[tcp sum ok\\])? ?([0-9]{1,11}:[0-9]{1,11}\\([0-9]{0,3}\\))?( ack [0-9]{1,11})?( win [0-9]{1,6})?( urg [0-9])?( <(,|nop|mss [0-9]{1,6}|sack sack [0-9]{1,3} |\\{[0-9]:[0-9]\\}|timestamp 1 2|x|>){0,30})?( [(\\[](tos 0x[0-9a-f]{1,9}|len [0-9]{1,10}|frag 1:[0-9]{1,10}@8\\+|id 5|DF|,| ){0,5}[)\\]]){0,3}",
            any in "\\PC{0,60}",
        ) {
            let mut reader = Reader::default();
            for line in [format!("1 1.0.0.1.1 > 2.0.0.2.2: {text}"), format!("1 1.0.0.1.1 > 2.0.0.2.2: {any}"), format!("1 {any}")] {
                reader.read(&line, true);
            }
        }
    }
}
