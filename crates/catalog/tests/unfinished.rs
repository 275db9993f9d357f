//! Packets whose checksum or segmentation is left to be done (virtio-net metadata) leave every class as others do.

use std::collections::HashSet;
use std::path::PathBuf;

use element::Packet;
use packet::{Gso, Offload};
use samples::{graph_of, run, Sample, NEIGHBOURS, SAMPLES};

mod samples;

/// A packet of TCP or UDP, with a whole checksum.
#[derive(Clone)]
struct Whole {
    bytes: Vec<u8>,
    ip_at: usize,
    transport_at: usize,
    /// Where the checksum is from there.
    checksum_at: usize,
    /// The sum of the pseudo-header.
    pseudo: u16,
}

/// The internet checksum's sum, not complemented (RFC 1071).
fn sum(bytes: &[u8]) -> u16 {
    let words =
        bytes.chunks(2).map(|pair| u64::from(u16::from_be_bytes([pair[0], *pair.get(1).unwrap_or(&0)])));
    let mut sum: u64 = words.sum();
    while sum > 0xffff {
        sum = (sum & 0xffff) + (sum >> 16);
    }
    sum as u16
}

impl Whole {
    fn new(is_v6: bool, is_tcp: bool, has_ether: bool, n: usize) -> Whole {
        let port = 1000 + n as u16;
        let [p0, p1] = port.to_be_bytes();
        let mut transport = vec![p0, p1, 0, 80];
        let checksum_at = if is_tcp {
            transport.extend([0, 0, 1, 0, 0, 0, 2, 0, 0x50, 0x18, 4, 0, 0, 0, 0, 0]);
            16
        } else {
            transport.extend(((8 + n) as u16).to_be_bytes());
            transport.extend([0, 0]);
            6
        };
        transport.extend((0..n).map(|i| (i * 7 + n) as u8));
        let (protocol, len) = (if is_tcp { 6 } else { 17 }, transport.len() as u16);
        let [l0, l1] = len.to_be_bytes();
        let (mut ip, addresses_at) = if is_v6 {
            let mut ip = vec![0x60, 0, 0, 0, l0, l1, protocol, 64];
            ip.extend(1u128.to_be_bytes());
            ip.extend((1u128 << 112 | 2).to_be_bytes());
            (ip, 8)
        } else {
            let [t0, t1] = (len + 20).to_be_bytes();
            let mut ip = vec![0x45, 0, t0, t1, 0, n as u8, 0, 0, 64, protocol, 0, 0];
            ip.extend([1, 0, 0, 1, 2, 0, 0, 2]);
            let header = !sum(&ip);
            ip[10..12].copy_from_slice(&header.to_be_bytes());
            (ip, 12)
        };
        let rest = [0, protocol, l0, l1];
        let pseudo = sum(&[&ip[addresses_at..], &rest].concat());
        let whole = !sum(&[&transport[..], &vec![0; transport.len() % 2], &pseudo.to_be_bytes()].concat());
        transport[checksum_at..checksum_at + 2].copy_from_slice(&whole.to_be_bytes());
        let mut bytes = Vec::new();
        if has_ether {
            bytes.extend([1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2]);
            bytes.extend(if is_v6 { [0x86, 0xdd] } else { [8, 0] });
        }
        let ip_at = bytes.len();
        bytes.append(&mut ip);
        let transport_at = bytes.len();
        bytes.append(&mut transport);
        Whole { bytes, ip_at, transport_at, checksum_at, pseudo }
    }

    fn packet(&self) -> Packet {
        let mut packet = Packet::from_bytes(&self.bytes);
        if self.ip_at > 0 {
            packet.set_mac_header(0, 14);
        }
        packet.set_network_header(self.ip_at, self.transport_at - self.ip_at);
        packet
    }

    /// The same, as a kernel hands it over before a device has completed the checksum and, unless `gso` is none, cut it.
    fn unfinished(&self, gso: Gso) -> Packet {
        let mut packet = self.packet();
        let at = self.transport_at + self.checksum_at;
        packet.data_mut()[at..at + 2].copy_from_slice(&self.pseudo.to_be_bytes());
        packet.set_offload(Offload {
            needs_checksum: true,
            checksum_start: self.transport_at as u16,
            checksum_offset: self.checksum_at as u16,
            gso: match (gso, self.checksum_at) {
                (Gso::None, _) => Gso::None,
                (_, 6) => Gso::UdpSegment,
                _ => Gso::TcpV4,
            },
            gso_size: 40,
            ..Offload::default()
        });
        packet
    }
}

/// Where the tests' captures are.
struct Scratch(PathBuf);

impl Scratch {
    fn new(name: &str) -> Scratch {
        let folder = std::env::temp_dir().join(format!("weir-{name}-{}", std::process::id()));
        std::fs::create_dir(&folder).expect("a folder can be made");
        Scratch(folder)
    }

    /// What leaves a sample's element, by port, as it would be on a wire.
    fn captured<T>(&self, sample: &Sample, packets: &[T], make: impl Fn(&T) -> Packet) -> Vec<Vec<Vec<u8>>> {
        let file = |port: usize| self.0.join(format!("{port}.pcap"));
        let text = graph_of(sample, |port| format!("ToDump({}, SNAPLEN 0)", file(port).display()));
        let mut engine =
            run(sample, &format!("RandomSeed(1);\n{text}"), packets, make).expect("the graph runs");
        engine.cleanup();
        let read = |port| records(&std::fs::read(file(port)).expect("the graph wrote a capture"));
        (0..sample.2).map(read).collect()
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        // What is left there disturbs nobody.
        let _ = std::fs::remove_dir_all(&self.0);
    }
}

/// The packets of a capture.
fn records(capture: &[u8]) -> Vec<Vec<u8>> {
    let (mut rest, mut all) = (&capture[24..], Vec::new());
    while let Some((header, behind)) = rest.split_at_checked(16) {
        let len = u32::from_le_bytes([header[8], header[9], header[10], header[11]]) as usize;
        all.push(behind[..len].to_vec());
        rest = &behind[len..];
    }
    all
}

/// Those whose packets are longer by bytes that nobody wrote.
const SHOW_HEADROOM: &[&str] = &["Resize", "Unstrip", "StoreTimestamp"];

fn samples() -> impl Iterator<Item = &'static Sample> {
    SAMPLES.iter().chain(NEIGHBOURS).filter(|sample| !SHOW_HEADROOM.contains(&sample.0))
}

fn packets(lens: &[usize]) -> Vec<Whole> {
    let kinds = |n| (0..8).map(move |kind| Whole::new(kind & 1 > 0, kind & 2 > 0, kind & 4 > 0, n));
    lens.iter().copied().flat_map(kinds).collect()
}

#[test]
fn unfinished_checksums_are_finished() {
    let (scratch, packets) = (Scratch::new("unfinished"), packets(&[0, 1, 5, 64, 111]));
    let mut failures = String::new();
    for sample in samples() {
        let whole = scratch.captured(sample, &packets, Whole::packet);
        let unfinished = scratch.captured(sample, &packets, |packet| packet.unfinished(Gso::None));
        if whole != unfinished {
            failures += &format!("{}({})\n", sample.0, sample.3);
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

/// What a packet is apart from the identifications that its IPv4 headers got on the way.
fn without_ids(mut packet: Vec<u8>) -> Vec<u8> {
    for at in 0..packet.len().saturating_sub(20) {
        let header = &mut packet[at..at + 20];
        if header[0] == 0x45 && sum(header) == 0xffff {
            header[4..6].fill(0);
            header[10..12].fill(0);
        }
    }
    packet
}

#[test]
fn what_is_to_be_cut_is_cut_or_whole() {
    let (scratch, packets) = (Scratch::new("uncut"), packets(&[64, 111]));
    let null = samples().find(|sample| sample.0 == "Null").expect("Null has a sample");
    let uncut = |packet: &Whole| packet.unfinished(Gso::TcpV4);
    let cut: Vec<Packet> = packets
        .iter()
        .flat_map(|whole| {
            let segments = scratch.captured(null, std::slice::from_ref(whole), uncut).swap_remove(0);
            segments.into_iter().map(|bytes| Whole { bytes, ..whole.clone() }.packet())
        })
        .collect();
    let mut failures = String::new();
    // A device pads what is too short for its wire.
    for sample in samples().filter(|sample| sample.0 != "Pad") {
        let mut allowed = scratch.captured(sample, &packets, Whole::packet).concat();
        allowed.extend(scratch.captured(sample, &cut, Packet::clone).concat());
        // Of a packet that passes, segments may pass that would not.
        allowed.extend(cut.iter().map(|packet| packet.data().to_vec()));
        let allowed: HashSet<Vec<u8>> = allowed.into_iter().map(without_ids).collect();
        let wrong = scratch.captured(sample, &packets, uncut).concat().into_iter().map(without_ids);
        let wrong: Vec<_> = wrong.filter(|packet| !allowed.contains(packet)).collect();
        if let Some(first) = wrong.first() {
            failures +=
                &format!("{}({}): {} packets, of them {first:02x?}\n", sample.0, sample.3, wrong.len());
        }
    }
    assert!(failures.is_empty(), "{failures}");
}
