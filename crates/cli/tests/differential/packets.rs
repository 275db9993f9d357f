//! Random captures of Ethernet frames: most are sound, some are damaged.

use crate::random::Random;
use wire::checksum;

/// A pcap file with some frames; a wide one has frames of IPv6 as well.
pub fn capture(random: &mut Random, is_wide: bool) -> Vec<u8> {
    let mut file = Vec::new();
    for word in [0xa1b2_c3d4u32, 0x0004_0002, 0, 0, 65535, 1] {
        file.extend(word.to_le_bytes());
    }
    let mut now_us = 1_000_000_000_000u64 + random.below(1_000_000) as u64;
    for _ in 0..4 + random.below(30) {
        now_us += *random.pick(&[0, 1, 700, 20_000, 300_000]);
        let frame = if is_wide && random.one_in(4) { frame6(random) } else { frame(random) };
        let len = frame.len() as u32;
        for word in [(now_us / 1_000_000) as u32, (now_us % 1_000_000) as u32, len, len] {
            file.extend(word.to_le_bytes());
        }
        file.extend(frame);
    }
    file
}

/// A frame of at least 14 bytes.
fn frame(random: &mut Random) -> Vec<u8> {
    let mut frame = Vec::new();
    let to = if random.one_in(8) { [0xff; 6] } else { [0, 0, 0, 0, 0, random.below(5) as u8] };
    frame.extend(to);
    frame.extend([0, 0, 0, 0, 0, random.below(5) as u8]);
    match random.below(12) {
        0 => {
            frame.extend([0x08, 0x06]);
            frame.extend(arp(random));
        }
        1 => {
            frame.extend([0x81, 0x00, random.byte(), random.byte(), 0x08, 0x00]);
            frame.extend(datagram(random));
        }
        _ => {
            frame.extend([0x08, 0x00]);
            frame.extend(datagram(random));
        }
    }
    match random.below(14) {
        0 => frame.truncate(14 + random.below(frame.len() - 14)),
        1 => {
            let at = 14 + random.below(frame.len() - 14);
            frame[at] = random.byte();
        }
        2 => frame.extend([0; 6]),
        _ => {}
    }
    frame
}

/// A frame with an IPv6 packet: UDP, TCP or ICMPv6, among which neighbor solicitations and advertisements.
fn frame6(random: &mut Random) -> Vec<u8> {
    let mut frame =
        vec![0, 0, 0, 0, 0, random.below(5) as u8, 0, 0, 0, 0, 0, random.below(5) as u8, 0x86, 0xdd];
    let is_mapped = random.one_in(3);
    let address = |net: u8, random: &mut Random| {
        let mut address = [0; 16];
        if is_mapped {
            address[10..12].fill(0xff);
            address[12..].copy_from_slice(&random.ip_bytes());
        } else {
            (address[1], address[15]) = (net, 1 + random.below(3) as u8);
        }
        address
    };
    let (from, to, target) = (address(1, random), address(2, random), address(2, random));
    let (protocol, mut transport, checksum_at) = match random.below(6) {
        0 | 1 => (17, udp(random), 6),
        2 => (6, tcp(random), 16),
        3 => (58, [&[*random.pick(&[128, 129, 1, 3]), 0, 0, 0, 0, 7, 0, 9][..], &[5; 48]].concat(), 2),
        kind => {
            let (kind, flags, option) = if kind == 4 { (135, 0, 1) } else { (136, 0xc0, 2) };
            let host = [option, 1, 0, 0, 0, 0, 0, random.below(5) as u8];
            (58, [&[kind, 0, 0, 0, flags, 0, 0, 0][..], &target, &host].concat(), 2)
        }
    };
    let len = (transport.len() as u16).to_be_bytes();
    let covered = [&from[..], &to, &[0, 0], &len, &[0, 0, 0, protocol], &transport].concat();
    let sum = checksum::checksum(&covered);
    transport[checksum_at..checksum_at + 2].copy_from_slice(&sum.to_be_bytes());
    frame.extend([0x60, random.below(3) as u8, 0, 0]);
    frame.extend(len);
    let is_solicitation = protocol == 58 && transport[0] >= 133;
    frame.extend([protocol, if is_solicitation { 255 } else { *random.pick(&[64, 64, 2, 1, 0]) }]);
    frame.extend([from, to].concat());
    frame.extend(transport);
    if random.one_in(14) {
        frame.truncate(14 + random.below(frame.len() - 14));
    }
    frame
}

fn arp(random: &mut Random) -> Vec<u8> {
    let mut arp = vec![0, 1, 8, 0, 6, 4, 0, 1 + random.below(2) as u8];
    arp.extend([0, 0, 0, 0, 0, random.below(5) as u8]);
    arp.extend(random.ip_bytes());
    arp.extend([0, 0, 0, 0, 0, random.below(5) as u8]);
    arp.extend(random.ip_bytes());
    arp
}

/// An IPv4 packet with right checksums.
fn datagram(random: &mut Random) -> Vec<u8> {
    let protocol = *random.pick(&[6, 6, 17, 17, 1, 47]);
    let (from, to) = (random.ip_bytes(), random.ip_bytes());
    let mut transport = match protocol {
        6 => tcp(random),
        17 => udp(random),
        1 => icmp(random),
        _ => (0..random.below(60)).map(|_| random.byte()).collect(),
    };
    seal(protocol, from, to, &mut transport);
    let options: &[u8] = match random.below(8) {
        0 => &[7, 7, 4, 0, 0, 0, 0, 0],
        1 => &[68, 12, 5, 0, 0, 0, 0, 0, 0, 0, 0, 0],
        2 => &[1, 1, 1, 0],
        _ => &[],
    };
    let mut header = vec![0x45 + (options.len() / 4) as u8, *random.pick(&[0, 0, 0x10, 0xb8, 1, 2, 3])];
    header.extend((20 + options.len() as u16 + transport.len() as u16).to_be_bytes());
    header.extend([0, random.below(6) as u8]);
    let fragment: u16 = match random.below(10) {
        0 => 0x2000,
        1 => random.below(4) as u16,
        2 => 0x2001,
        3 | 4 => 0x4000,
        _ => 0,
    };
    header.extend(fragment.to_be_bytes());
    header.extend([*random.pick(&[64, 64, 64, 255, 2, 1, 0]), protocol, 0, 0]);
    header.extend(from);
    header.extend(if random.one_in(12) { *random.pick(&[[255; 4], [224, 0, 0, 1], [0; 4]]) } else { to });
    header.extend(options);
    let sum = checksum::checksum(&header);
    header[10..12].copy_from_slice(&sum.to_be_bytes());
    header.extend(transport);
    header
}

fn ports(random: &mut Random) -> Vec<u8> {
    let mut ports = Vec::new();
    for _ in 0..2 {
        ports.extend(random.pick(&[80u16, 53, 1024, 1025, 4000]).to_be_bytes());
    }
    ports
}

fn payload(random: &mut Random) -> Vec<u8> {
    let len = *random.pick(&[24, 24, 30, 57, 100, 600, 1400]);
    (0..len).map(|_| random.byte()).collect()
}

fn tcp(random: &mut Random) -> Vec<u8> {
    let options: &[u8] = match random.below(4) {
        0 => &[2, 4, 5, 180],
        1 => &[1, 1, 8, 10, 0, 0, 0, 1, 0, 0, 0, 2],
        _ => &[],
    };
    let mut tcp = ports(random);
    tcp.extend((random.below(3000) as u32).to_be_bytes());
    tcp.extend((random.below(3000) as u32).to_be_bytes());
    tcp.extend([0x50 + ((options.len() / 4) << 4) as u8, *random.pick(&[2, 0x12, 0x10, 0x18, 0x11, 4])]);
    tcp.extend([0x20, random.byte(), 0, 0, 0, 0]);
    tcp.extend(options);
    tcp.extend(payload(random));
    tcp
}

fn udp(random: &mut Random) -> Vec<u8> {
    let mut udp = ports(random);
    let payload = payload(random);
    udp.extend((8 + payload.len() as u16).to_be_bytes());
    udp.extend([0, 0]);
    udp.extend(payload);
    udp
}

fn icmp(random: &mut Random) -> Vec<u8> {
    let mut icmp = match random.below(3) {
        0 => vec![*random.pick(&[8, 0]), 0, 0, 0, 0, random.below(3) as u8, 0, random.below(9) as u8],
        1 => vec![*random.pick(&[3, 11, 4]), random.below(5) as u8, 0, 0, 0, 0, 0, 0],
        _ => vec![*random.pick(&[5, 12, 13, 17]), 0, 0, 0, 1, 2, 3, 4],
    };
    let (from, to) = (random.ip_bytes(), random.ip_bytes());
    icmp.extend([0x45, 0, 0, 60, 0, 1, 0, 0, 64, *random.pick(&[6, 17]), 0, 0]);
    icmp.extend(from);
    icmp.extend(to);
    icmp.extend(ports(random));
    icmp.extend([0; 32]);
    icmp
}

/// Fills in the checksum of a transport header; now and then none, or a wrong one.
fn seal(protocol: u8, from: [u8; 4], to: [u8; 4], transport: &mut [u8]) {
    let at = match protocol {
        6 => 16,
        17 => 6,
        1 => 2,
        _ => return,
    };
    let mut covered = Vec::new();
    if protocol != 1 {
        covered.extend(from);
        covered.extend(to);
        covered.extend([0, protocol]);
        covered.extend((transport.len() as u16).to_be_bytes());
    }
    covered.extend(&*transport);
    let sum = checksum::checksum(&covered);
    transport[at..at + 2].copy_from_slice(&sum.to_be_bytes());
}
