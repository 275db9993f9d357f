//! Frames in words, wrong checksums included.

use std::net::{Ipv4Addr, Ipv6Addr};

use interfaces::capture::Reader;
use wire::checksum;

use super::BEGIN_S;

/// The frames of a capture: when each left, in nanoseconds, and a line about it.
pub fn capture(interface: &str, path: &str) -> Vec<(i64, String)> {
    let Ok(mut reader) = Reader::open(path) else { return Vec::new() };
    let mut lines = Vec::new();
    while let Ok(Some(record)) = reader.next_record() {
        let seconds = record.timestamp.seconds - BEGIN_S as i64;
        let time_ns = seconds * 1_000_000_000 + i64::from(record.timestamp.nanoseconds);
        let ms = (time_ns + 50_000) / 100_000;
        let line = format!("to {interface} at {}.{} ms: {}", ms / 10, ms % 10, frame(record.data));
        lines.push((time_ns, line));
    }
    lines
}

fn frame(data: &[u8]) -> String {
    let Some((header, rest)) = data.split_first_chunk::<14>() else { return format!("short {data:02x?}") };
    let (to, from) = (mac(&header[..6]), mac(&header[6..12]));
    format!("{from} > {to} {}", content(word(header, 12), rest))
}

fn content(kind: u16, rest: &[u8]) -> String {
    match kind {
        0x0800 => ip(rest),
        0x0806 => arp(rest),
        0x86dd => ip6(rest),
        0x8100 => {
            let inner = content(word(rest, 2), rest.get(4..).unwrap_or_default());
            format!("VLAN {} {inner}", word(rest, 0) & 0xfff)
        }
        kind => format!("type {kind:04x}, {} bytes", rest.len()),
    }
}

fn mac(bytes: &[u8]) -> String {
    let parts: Vec<String> = bytes.iter().map(|byte| format!("{byte:x}")).collect();
    parts.join(":")
}

fn word(bytes: &[u8], at: usize) -> u16 {
    bytes.get(at..at + 2).map_or(0, |pair| u16::from_be_bytes([pair[0], pair[1]]))
}

fn address(bytes: &[u8], at: usize) -> Ipv4Addr {
    bytes.get(at..at + 4).map_or(Ipv4Addr::UNSPECIFIED, |a| Ipv4Addr::new(a[0], a[1], a[2], a[3]))
}

fn arp(bytes: &[u8]) -> String {
    let (sender, target) = (address(bytes, 14), address(bytes, 24));
    match word(bytes, 6) {
        1 => format!("ARP who has {target} tell {sender}"),
        _ => format!("ARP {sender} is at {} to {target}", mac(bytes.get(8..14).unwrap_or_default())),
    }
}

fn ip(bytes: &[u8]) -> String {
    if bytes.len() < 20 {
        return format!("IP cut off: {bytes:02x?}");
    }
    let header_len = usize::from(bytes[0] & 15) * 4;
    let (header, payload) = bytes.split_at(header_len.min(bytes.len()));
    let fragment = word(header, 6) & 0x3fff;
    let mut line = match fragment & 0x1fff {
        0 => transport(header, payload),
        offset => format!("{} > {} fragment at {}", address(header, 12), address(header, 16), offset * 8),
    };
    line += &format!(" ttl {} len {}", header[8], word(header, 2));
    if fragment != 0 {
        line += if fragment & 0x2000 != 0 { " more" } else { " last" };
    } else if payload.len() + header_len == usize::from(word(header, 2)) && !is_valid(header, payload) {
        line += " BAD CHECKSUM";
    }
    if checksum::checksum(header) != 0 {
        line += " BAD HEADER CHECKSUM";
    }
    line
}

fn address6(bytes: &[u8], at: usize) -> Ipv6Addr {
    bytes
        .get(at..at + 16)
        .map_or(Ipv6Addr::UNSPECIFIED, |part| Ipv6Addr::from(<[u8; 16]>::try_from(part).unwrap()))
}

fn ip6(bytes: &[u8]) -> String {
    if bytes.len() < 40 {
        return format!("IPv6 cut off: {bytes:02x?}");
    }
    let (header, payload) = bytes.split_at(40);
    let (source, destination) = (address6(header, 8), address6(header, 24));
    let mut line = match header[6] {
        17 => format!("UDP [{source}]:{} > [{destination}]:{}", word(payload, 0), word(payload, 2)),
        58 => format!("{source} > {destination} {}", icmp6(payload)),
        protocol => format!("{source} > {destination} protocol {protocol}"),
    };
    line += &format!(" hops {} len {}", header[7], word(header, 4));
    let pseudo = checksum::pseudo_ipv6(source, destination, 58, payload.len() as u32);
    if header[6] == 58
        && payload.len() == usize::from(word(header, 4))
        && checksum::transport(pseudo, payload) != 0
    {
        line += " BAD CHECKSUM";
    }
    line
}

fn icmp6(message: &[u8]) -> String {
    let [ty, code, ..] = *message else { return "ICMPv6 cut off".to_string() };
    let target = address6(message, 8);
    let option = |at: usize| mac(message.get(at..at + 6).unwrap_or_default());
    match ty {
        128 => format!("ping {}", word(message, 4)),
        129 => format!("pong {}", word(message, 4)),
        134 => format!("RA {:02x?}", &message[4..]),
        135 => format!("who has {target}, tell {}", option(26)),
        136 => format!("{target} is at {} flags {:x}", option(26), message.get(4).unwrap_or(&0)),
        2 => format!("too big, mtu {} about [{}]", word(message, 6), ip6(&message[8..])),
        1..128 => format!("ICMPv6 {ty}/{code} about [{}]", ip6(message.get(8..).unwrap_or_default())),
        _ => format!("ICMPv6 {ty}/{code}"),
    }
}

fn transport(header: &[u8], payload: &[u8]) -> String {
    let (source, destination) = (address(header, 12), address(header, 16));
    let ports = format!("{source}:{} > {destination}:{}", word(payload, 0), word(payload, 2));
    match header[9] {
        17 => format!("UDP {ports}"),
        6 => {
            let bits = payload.get(13).copied().unwrap_or(0);
            let flags: String =
                "FSRPA".chars().enumerate().filter(|(i, _)| bits >> i & 1 == 1).map(|(_, c)| c).collect();
            format!("TCP {ports} {flags}")
        }
        1 => format!("{source} > {destination} {}", icmp(payload)),
        protocol => format!("{source} > {destination} protocol {protocol}"),
    }
}

fn icmp(message: &[u8]) -> String {
    let [ty, code, ..] = *message else { return "ICMP cut off".to_string() };
    match ty {
        8 => format!("ping {}", word(message, 4)),
        0 => format!("pong {}", word(message, 4)),
        3 if code == 4 => format!("ICMP 3/4 mtu {} about [{}]", word(message, 6), ip(&message[8..])),
        5 => format!("ICMP 5/{code} by {} about [{}]", address(message, 4), ip(&message[8..])),
        _ => format!("ICMP {ty}/{code} about [{}]", ip(message.get(8..).unwrap_or_default())),
    }
}

fn is_valid(header: &[u8], payload: &[u8]) -> bool {
    let pseudo =
        checksum::pseudo_ipv4(address(header, 12), address(header, 16), header[9], payload.len() as u16);
    match header[9] {
        6 => checksum::transport(pseudo, payload) == 0,
        17 => word(payload, 6) == 0 || matches!(checksum::transport(pseudo, payload), 0 | 0xffff),
        1 => checksum::checksum(payload) == 0,
        _ => true,
    }
}
