//! Frames from words.

use std::collections::HashMap;
use std::net::{Ipv4Addr, Ipv6Addr};

use interfaces::capture::{link, Precision, Timestamp, Writer};
use wire::checksum;

use super::BEGIN_S;

/// A capture of frames; those of interface number `idx` come some microseconds after those of the ones before it.
pub fn capture(frames: &[&str], idx: usize) -> Vec<u8> {
    let mut writer = Writer::pcap(Vec::new(), link::ETHERNET, 262_144, Precision::Nano);
    let mut times: Vec<(u64, Vec<u8>)> = frames
        .iter()
        .enumerate()
        .map(|(i, text)| {
            let frame = Frame::parse(text);
            let time_us = frame.option("at").map_or(i as u64 * 1000 + idx as u64 * 500, |ms| {
                (ms.parse::<f64>().unwrap() * 1000.0) as u64
            });
            (time_us, frame.bytes())
        })
        .collect();
    times.sort_by_key(|(time_us, _)| *time_us);
    // The first packet tells where time begins.
    let begin = Timestamp { seconds: BEGIN_S as i64, nanoseconds: 0 };
    writer.write(begin, 14, &Frame::parse("to=fe:fe:fe:fe:fe:fe RAW(ffff)").bytes()[..14]).unwrap();
    for (time_us, bytes) in times {
        let timestamp = Timestamp {
            seconds: (BEGIN_S + time_us / 1_000_000) as i64,
            nanoseconds: (time_us % 1_000_000 * 1000) as u32,
        };
        writer.write(timestamp, bytes.len() as u32, &bytes).unwrap();
    }
    writer.finish().unwrap()
}

/// `[NAME=VALUE]... KIND(ARGUMENT, ...)`.
struct Frame<'a> {
    options: HashMap<&'a str, &'a str>,
    kind: &'a str,
    args: Vec<&'a str>,
}

impl<'a> Frame<'a> {
    fn parse(text: &'a str) -> Frame<'a> {
        let (front, args) = text.split_once('(').expect("KIND(...)");
        let mut words: Vec<&str> = front.split_whitespace().collect();
        let kind = words.pop().expect("a kind");
        let options = words.iter().map(|word| word.split_once('=').expect("NAME=VALUE")).collect();
        let args = args.strip_suffix(')').expect("a closing parenthesis");
        Frame { options, kind, args: args.split(',').map(str::trim).collect() }
    }

    fn option(&self, name: &str) -> Option<&'a str> {
        self.options.get(name).copied()
    }

    fn number(&self, name: &str, default: u16) -> u16 {
        self.option(name).map_or(default, |text| text.parse().unwrap())
    }

    fn address(&self, i: usize) -> Ipv4Addr {
        self.args[i].parse().unwrap()
    }

    fn port(&self, i: usize) -> [u8; 2] {
        self.args[i].parse::<u16>().unwrap().to_be_bytes()
    }

    /// The Ethernet frame, from `from` (02:00:00:00:00:01) to `to` (02:00:00:00:00:02), with a tag if there is `vlan`.
    fn bytes(&self) -> Vec<u8> {
        let group = if self.kind == "ARP" { "ff:ff:ff:ff:ff:ff" } else { "02:00:00:00:00:02" };
        let mut frame = mac(self.option("to").unwrap_or(group));
        frame.extend(mac(self.option("from").unwrap_or("02:00:00:00:00:01")));
        if let Some(tci) = self.option("vlan") {
            frame.extend([[0x81, 0], tci.parse::<u16>().unwrap().to_be_bytes()].concat());
        }
        frame.extend(match self.kind {
            "RAW" => hex(self.args[0]),
            "ARP" | "ARPREPLY" => self.arp(),
            "UDP6" => self.udp6(),
            "PING6" | "NS" | "NA" | "RS" => self.icmp6(),
            "VLAN" => {
                let tag = self.args[0].parse::<u16>().unwrap().to_be_bytes();
                [&[0x81, 0][..], &tag, &[8, 0], &self.ip(17, 1, 3, self.udp(1))].concat()
            }
            _ => [vec![8, 0], self.ipv4()].concat(),
        });
        frame
    }

    fn ipv4(&self) -> Vec<u8> {
        match self.kind {
            // UDP(SOURCE, PORT, DESTINATION, PORT)
            "UDP" => self.ip(17, 0, 2, self.udp(0)),
            // TCP(SOURCE, PORT, DESTINATION, PORT, FLAGS)
            "TCP" => self.ip(6, 0, 2, self.tcp()),
            // PING(SOURCE, DESTINATION, IDENTIFIER)
            "PING" => self.ip(1, 0, 1, self.echo(8)),
            "PONG" => self.ip(1, 0, 1, self.echo(0)),
            // PROTO(NUMBER, SOURCE, DESTINATION)
            "PROTO" => self.ip(self.args[0].parse().unwrap(), 1, 2, vec![1; 8]),
            // ERROR(TYPE, CODE, SOURCE, DESTINATION, SOURCE, PORT, DESTINATION, PORT): about a datagram.
            "ERROR" => self.ip(1, 2, 3, self.icmp_error()),
            // FRAGMENT(SOURCE, DESTINATION, FLAGS AND OFFSET, HEX)
            "FRAGMENT" => self.ip(17, 0, 1, hex(self.args[3])),
            kind => panic!("no frame of kind {kind}"),
        }
    }

    fn ip(&self, protocol: u8, source: usize, destination: usize, payload: Vec<u8>) -> Vec<u8> {
        self.ip_between(protocol, self.address(source), self.address(destination), payload)
    }

    fn ip_between(&self, protocol: u8, source: Ipv4Addr, destination: Ipv4Addr, payload: Vec<u8>) -> Vec<u8> {
        let len = (20 + payload.len() as u16).to_be_bytes();
        let default = if self.kind == "FRAGMENT" { self.args[2] } else { "0" };
        let flags = u16::from_str_radix(self.option("flags").unwrap_or(default), 16).unwrap().to_be_bytes();
        let ttl = self.number("ttl", 64) as u8;
        let mut ip = vec![0x45, 0, len[0], len[1], 0, 7, flags[0], flags[1], ttl, protocol, 0, 0];
        ip.extend(source.octets());
        ip.extend(destination.octets());
        let sum = checksum::checksum(&ip).to_be_bytes();
        ip[10..12].copy_from_slice(&sum);
        ip.extend(payload);
        ip
    }

    fn udp(&self, first: usize) -> Vec<u8> {
        let payload = vec![0x55; usize::from(self.number("payload", 4))];
        let len = (8 + payload.len() as u16).to_be_bytes();
        let ports = [self.port(first + 1), self.port(first + 3)].concat();
        let datagram = [ports, len.to_vec(), vec![0, 0], payload].concat();
        self.with_checksum(datagram, 17, first, first + 2, 6)
    }

    fn tcp(&self) -> Vec<u8> {
        let flag = |c| match c {
            'F' => 1,
            'S' => 2,
            'R' => 4,
            'P' => 8,
            'A' => 16,
            _ => 0,
        };
        let flags: u8 = self.args[4].chars().map(flag).sum();
        let ports = [self.port(1), self.port(3)].concat();
        let rest = [0, 0, 0, 1, 0, 0, 0, 2, 0x50, flags, 1, 0, 0, 0, 0, 0];
        let payload = vec![0x54; usize::from(self.number("payload", 0))];
        self.with_checksum([ports, rest.to_vec(), payload].concat(), 6, 0, 2, 16)
    }

    fn with_checksum(
        &self,
        mut bytes: Vec<u8>,
        protocol: u8,
        source: usize,
        destination: usize,
        at: usize,
    ) -> Vec<u8> {
        let len = bytes.len() as u16;
        let pseudo = checksum::pseudo_ipv4(self.address(source), self.address(destination), protocol, len);
        let sum = checksum::transport(pseudo, &bytes).to_be_bytes();
        bytes[at..at + 2].copy_from_slice(&sum);
        bytes
    }

    fn echo(&self, ty: u8) -> Vec<u8> {
        let id = self.port(2);
        icmp(vec![ty, 0, 0, 0, id[0], id[1], 0, 1, 0x61, 0x62])
    }

    fn icmp_error(&self) -> Vec<u8> {
        let (ty, code) = (self.args[0].parse().unwrap(), self.args[1].parse().unwrap());
        let about = Frame { options: HashMap::new(), kind: "UDP", args: self.args[4..].to_vec() };
        icmp([vec![ty, code, 0, 0, 0, 0, 0, 0], about.ipv4()].concat())
    }

    /// ARP(SENDER, TARGET) asks, ARPREPLY(SENDER, TARGET) answers.
    fn arp(&self) -> Vec<u8> {
        let operation = if self.kind == "ARP" { 1 } else { 2 };
        let mut arp = vec![8, 6, 0, 1, 8, 0, 6, 4, 0, operation];
        arp.extend(mac(self.option("from").unwrap_or("02:00:00:00:00:01")));
        arp.extend(self.address(0).octets());
        arp.extend(mac(self.option("to").unwrap_or("00:00:00:00:00:00")));
        arp.extend(self.address(1).octets());
        arp
    }

    /// UDP6(SOURCE, PORT, DESTINATION, PORT), without a checksum, with a payload of `payload` bytes (0).
    fn udp6(&self) -> Vec<u8> {
        let address = |i: usize| self.args[i].parse::<Ipv6Addr>().unwrap().octets();
        let payload = vec![0x55; usize::from(self.number("payload", 0))];
        let len = (8 + payload.len() as u16).to_be_bytes();
        let datagram = [&self.port(1)[..], &self.port(3), &len, &[0, 0], &payload].concat();
        let header = [0x60, 0, 0, 0, len[0], len[1], 17, self.number("ttl", 64) as u8];
        [&[0x86, 0xdd][..], &header, &address(0), &address(2), &datagram].concat()
    }

    /// PING6(SOURCE, DESTINATION, IDENTIFIER) asks for an echo, NS(SOURCE, DESTINATION, TARGET) for a neighbor's address, NA(SOURCE,
    /// DESTINATION) tells the source's, RS(SOURCE, DESTINATION) asks for routers.
    fn icmp6(&self) -> Vec<u8> {
        let address = |i: usize| self.args[i].parse::<Ipv6Addr>().unwrap();
        let mac = mac(self.option("from").unwrap_or("02:00:00:00:00:01"));
        let option = |kind: u8| [&[kind, 1][..], &mac].concat();
        let (mut message, limit) = match self.kind {
            "PING6" => ([&[128, 0, 0, 0][..], &self.port(2), &[0, 1, 0x61, 0x62]].concat(), 64),
            "NS" => ([&[135, 0, 0, 0, 0, 0, 0, 0][..], &address(2).octets(), &option(1)].concat(), 255),
            "NA" => ([&[136, 0, 0, 0, 0x60, 0, 0, 0][..], &address(0).octets(), &option(2)].concat(), 255),
            _ => ([&[133, 0, 0, 0, 0, 0, 0, 0][..], &option(1)].concat(), 255),
        };
        let (from, to, len) = (address(0), address(1), message.len() as u16);
        let sum = checksum::transport(checksum::pseudo_ipv6(from, to, 58, len.into()), &message);
        message[2..4].copy_from_slice(&sum.to_be_bytes());
        let [high, low] = len.to_be_bytes();
        let header = [0x60, 0, 0, 0, high, low, 58, self.number("ttl", limit) as u8];
        [&[0x86, 0xdd][..], &header, &from.octets(), &to.octets(), &message].concat()
    }
}

fn icmp(mut message: Vec<u8>) -> Vec<u8> {
    let sum = checksum::checksum(&message).to_be_bytes();
    message[2..4].copy_from_slice(&sum);
    message
}

fn mac(text: &str) -> Vec<u8> {
    text.split(':').map(|part| u8::from_str_radix(part, 16).unwrap()).collect()
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> = text.bytes().filter(u8::is_ascii_hexdigit).collect();
    digits.chunks(2).map(|pair| u8::from_str_radix(std::str::from_utf8(pair).unwrap(), 16).unwrap()).collect()
}
