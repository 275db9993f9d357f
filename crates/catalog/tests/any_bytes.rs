//! Every class that takes packets survives any packet, and none gets lost: what comes in goes out, or is a counted drop.

use catalog::stock;
use element::{annotation, Packet, Runtime};
use packet::Offload;
use proptest::prelude::*;
use samples::{graph_of, run, Free, Sample, NEIGHBOURS, SAMPLES};

mod samples;

/// Classes that take packets and are not run here, and why.
const EXCEPTIONS: &[(&str, &str)] = &[
    ("ToIPFlowDumps", "It makes a file for each flow; its own tests run it."),
    ("DriverManager", "is given ports for no use: it takes no packets"),
    ("Error", "is a mistake by being there"),
    ("SpinlockAcquire", "needs a lock of a SpinlockInfo; packets just pass"),
    ("SpinlockRelease", "needs a lock of a SpinlockInfo; packets just pass"),
    ("SpinlockPush", "needs a lock of a SpinlockInfo; packets just pass"),
    ("UMLSwitch", "needs a switch; its packets leave the process"),
    ("TCPConn", "needs a TCPDemux in front; its own tests run it"),
    ("FTPPortMapper", "is run in front of the rewriter to which it tells mappings"),
    ("ErrorElement", "is a mistake by being there"),
    ("EtherSpanTree", "needs Suppressors, and answers with messages of its own"),
    ("ICMPRewriter", "is run behind the rewriters whose mappings it reads"),
    ("KernelTap", "needs privileges; its packets leave the process"),
    ("KernelTun", "needs privileges; its packets leave the process"),
    ("FromRawSocket", "needs privileges; its packets leave the process"),
    ("FromSocket", "needs a peer; its packets leave the process"),
    ("McastSocket", "needs a network; its packets leave the process"),
    ("IPFlowRawSockets", "needs privileges; its packets leave the process"),
    ("RawSocket", "needs privileges; its packets leave the process"),
    ("Socket", "needs a peer; its packets leave the process"),
    ("ToDevice", "needs privileges; its packets leave the process"),
    ("ToInterface", "needs an interface that a command declares"),
    ("StreamInterface", "needs a peer; its packets leave the process"),
    ("ToHost", "needs privileges; its packets leave the process"),
    ("ToRawSocket", "needs privileges; its packets leave the process"),
    ("ToSocket", "needs a peer; its packets leave the process"),
];

#[test]
fn every_class_that_takes_packets_is_run_or_explained() {
    for (_, classes) in stock().folders() {
        for class in classes.iter().filter(|class| !class.facts.ports.starts_with("0/")) {
            let name = class.facts.name;
            let is_run = SAMPLES.iter().any(|sample| sample.0 == name);
            let is_explained = EXCEPTIONS.iter().any(|(exception, _)| *exception == name);
            assert!(is_run != is_explained, "`{name}`: add it to SAMPLES, or to EXCEPTIONS with the reason");
        }
    }
}

/// Runs packets through every input of a sample's element; what is wrong with the result, if anything.
fn check(sample: &Sample, packets: &[Specimen]) -> Result<(), String> {
    let text = graph_of(sample, |_| "Discard".to_string());
    let mut engine = run(sample, &text, packets, Specimen::packet)?;
    let mut read = |name: String| -> u64 {
        let value = engine.world.read_handler(usize::MAX, &name, "");
        value.ok().and_then(|value| value.trim().parse().ok()).unwrap_or(0)
    };
    let n_in = (sample.1 * packets.len()) as u64;
    let n_out: u64 = (0..sample.2).map(|port| read(format!("c{port}.count"))).sum();
    let n_waiting: u64 = (0..sample.1).map(|port| read(format!("in{port}.length"))).sum();
    let drops = engine.world.drops(engine.world.find("e", usize::MAX).expect("the graph has it"));
    engine.cleanup();
    let n_dropped: u64 = drops.iter().map(|(_, n)| *n).sum();
    if sample.4 == Free || n_in == n_out + n_waiting + n_dropped {
        return Ok(());
    }
    Err(format!("{text}{n_in} in, {n_out} out, {n_waiting} wait, dropped: {drops:?}"))
}

/// A packet to be made: bytes, and what marks it.
#[derive(Clone, Debug)]
struct Specimen {
    bytes: Vec<u8>,
    network: Option<(usize, usize)>,
    has_mac: bool,
    annotation: u8,
    timestamp_s: u32,
    offload: Option<(u16, u16)>,
}

impl Specimen {
    fn packet(&self) -> Packet {
        let mut packet = Packet::from_bytes(&self.bytes);
        if self.has_mac {
            packet.set_mac_header(0, 14);
        }
        if let Some((offset, header_len)) = self.network {
            packet.set_network_header(offset, header_len);
        }
        packet.set_paint(self.annotation);
        packet.set_anno_u8(annotation::FIX_IP_SRC, self.annotation & 1);
        packet.set_anno_u8(annotation::ICMP_PARAMPROB, self.annotation);
        packet.set_timestamp_ns(i64::from(self.timestamp_s) * 1_000_000_000);
        if let Some((checksum_start, checksum_offset)) = self.offload {
            packet.set_offload(Offload {
                needs_checksum: true,
                checksum_start,
                checksum_offset,
                ..Offload::default()
            });
        }
        packet
    }
}

/// Options of an IPv4 header: known kinds, any lengths.
fn options() -> impl Strategy<Value = Vec<u8>> {
    let option = prop_oneof![
        Just(vec![1u8]),
        (
            prop_oneof![Just(7u8), Just(68), Just(131), Just(137), any::<u8>()],
            0u8..12,
            prop::collection::vec(any::<u8>(), 0..10)
        )
            .prop_map(|(kind, len, rest)| [vec![kind, len], rest].concat()),
    ];
    prop::collection::vec(option, 0..4).prop_map(|options| {
        let mut bytes = options.concat();
        bytes.resize(bytes.len().next_multiple_of(4), 0);
        bytes.truncate(40);
        bytes
    })
}

/// An IPv4 packet whose lengths and header checksum are right.
fn ipv4() -> impl Strategy<Value = Vec<u8>> {
    let protocol = prop_oneof![Just(1u8), Just(6), Just(17), Just(4), any::<u8>()];
    let fragment = prop_oneof![4 => Just(0u16), 1 => Just(0x2000), 1 => 1u16..9, 1 => any::<u16>()];
    let payload = prop_oneof![9 => prop::collection::vec(any::<u8>(), 0..120), 1 => any::<u8>().prop_map(|byte| vec![byte; 65_400])];
    let address = prop_oneof![Just([1u8, 0, 0, 1]), Just([2, 0, 0, 2]), any::<[u8; 4]>()];
    (options(), protocol, fragment, payload, address.clone(), address, any::<[u8; 4]>(), 0u8..20).prop_map(
        |(options, protocol, fragment, mut payload, from, to, [tos, id, ttl, kind], offset)| {
            // A payload that looks like the protocol's.
            match (protocol, payload.len()) {
                (1, 1..) => payload[0] = [0, 3, 4, 5, 8, 11, 12, 13][usize::from(kind % 8)],
                (6, 13..) => payload[12] = offset << 4,
                (17, 6..) => {
                    let len = (payload.len() as u16).to_be_bytes();
                    payload[4..6].copy_from_slice(&len);
                }
                _ => {}
            }
            let header_len = 20 + options.len();
            let len = ((header_len + payload.len()).min(65_535) as u16).to_be_bytes();
            let [f0, f1] = fragment.to_be_bytes();
            let mut header = vec![
                0x40 | (header_len / 4) as u8,
                tos,
                len[0],
                len[1],
                0,
                id & 1,
                f0,
                f1,
                ttl,
                protocol,
                0,
                0,
            ];
            header.extend(from.iter().chain(&to).chain(&options));
            let sum =
                header.chunks(2).map(|pair| u32::from(u16::from_be_bytes([pair[0], pair[1]]))).sum::<u32>();
            let sum = !(((sum & 0xffff) + (sum >> 16)) as u16)
                .wrapping_add(u16::from((sum & 0xffff) + (sum >> 16) > 0xffff));
            header[10..12].copy_from_slice(&sum.to_be_bytes());
            [header, payload].concat()
        },
    )
}

/// An IPv6 packet whose length is right, with addresses that IPv4 has too now and then.
fn ipv6() -> impl Strategy<Value = Vec<u8>> {
    let next = prop_oneof![Just(58u8), Just(6), Just(17), Just(44), any::<u8>()];
    let payload = prop_oneof![9 => prop::collection::vec(any::<u8>(), 0..120), 1 => any::<u8>().prop_map(|byte| vec![byte; 65_400])];
    let mapped =
        any::<[u8; 4]>().prop_map(|ip| u128::from(0xffff_0000_0000 | u64::from(u32::from_be_bytes(ip))));
    let address = prop_oneof![mapped, Just(1u128 << 112), any::<u128>()];
    (next, payload, address.clone(), address, any::<[u8; 2]>()).prop_map(
        |(next, mut payload, from, to, [limit, kind])| {
            if let (58, Some(first)) = (next, payload.first_mut()) {
                *first = [1, 2, 3, 4, 128, 129, 135, 136][usize::from(kind % 8)];
            }
            let [l0, l1] = (payload.len() as u16).to_be_bytes();
            let header = [0x60, 0, 0, 0, l0, l1, next, limit];
            [&header[..], &from.to_be_bytes(), &to.to_be_bytes(), &payload].concat()
        },
    )
}

fn arp() -> impl Strategy<Value = Vec<u8>> {
    (0u8..10, any::<[u8; 20]>())
        .prop_map(|(operation, rest)| [&[0, 1, 8, 0, 6, 4, 0, operation][..], &rest].concat())
}

fn specimen() -> impl Strategy<Value = Specimen> {
    let tag = prop_oneof![3 => Just(vec![]), 1 => Just(vec![0x81, 0, 0x60, 5])];
    let valid = (prop_oneof![4 => ipv4(), 2 => ipv6(), 1 => arp()], tag, 0u8..3).prop_map(
        |(body, tag, has_ether)| {
            let kind = match body.first() {
                Some(0) => [8, 6],
                Some(0x60) => [0x86, 0xdd],
                _ => [8, 0],
            };
            let ether = [&[1, 1, 1, 1, 1, 1, 2, 2, 2, 2, 2, 2][..], &tag, &kind].concat();
            if has_ether > 0 {
                [ether, body].concat()
            } else {
                body
            }
        },
    );
    let noise = prop_oneof![
        8 => prop::collection::vec(any::<u8>(), 0..200),
        1 => (any::<u8>(), 65_400usize..65_600).prop_map(|(byte, len)| vec![byte; len]),
    ];
    let flips = prop::collection::vec((any::<prop::sample::Index>(), any::<u8>()), 0..4);
    let mutated = (valid, flips, prop::option::weighted(0.3, any::<prop::sample::Index>())).prop_map(
        |(mut bytes, flips, cut)| {
            for (at, byte) in flips {
                let at = at.index(bytes.len().clamp(1, 80));
                if let Some(place) = bytes.get_mut(at) {
                    *place = byte;
                }
            }
            if let Some(cut) = cut {
                bytes.truncate(cut.index(bytes.len() + 1));
            }
            bytes
        },
    );
    let bytes = prop_oneof![1 => noise, 4 => mutated];
    let network = prop_oneof![
        3 => Just(Some(None)),
        1 => Just(None),
        1 => (0usize..300, 0usize..70).prop_map(|marks| Some(Some(marks))),
    ];
    let offload = prop::option::weighted(0.1, (0u16..90, 0u16..30));
    (bytes, network, any::<bool>(), any::<u8>(), any::<u32>(), offload).prop_map(
        |(bytes, network, has_mac, annotation, timestamp_s, offload)| {
            // Where the header would be, as an element that marks it without a look says.
            let begin = if bytes.first().is_some_and(|byte| matches!(byte >> 4, 4 | 6)) { 0 } else { 14 };
            let usual = || (begin, usize::from(bytes.get(begin).map_or(5, |byte| byte & 15)) * 4);
            let network = network.map(|marks: Option<(usize, usize)>| marks.unwrap_or_else(usual));
            let network = network.filter(|(offset, _)| *offset <= bytes.len());
            Specimen { bytes, network, has_mac, annotation, timestamp_s, offload }
        },
    )
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 48, max_shrink_iters: 200, failure_persistence: None, ..ProptestConfig::default() })]

    #[test]
    fn any_packets_pass_through_every_class(packets in prop::collection::vec(specimen(), 1..24)) {
        let outcomes = SAMPLES.iter().chain(NEIGHBOURS).filter_map(|sample| check(sample, &packets).err());
        let failures: Vec<String> = outcomes.collect();
        prop_assert!(failures.is_empty(), "{}", failures.join("\n"));
    }
}
