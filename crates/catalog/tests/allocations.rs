//! Packets cost no allocation: every class that takes packets is given the same ones again and again while allocations are counted.

use catalog::stock;
use element::{annotation, Batch, Packet, Runtime};
use engine::Engine;
use samples::{graph_of, run, Sample, NEIGHBOURS, SAMPLES};
use wire::checksum::checksum;

mod samples;

/// How packets are sent: how many at a time, how many before counting begins, and how many while allocations are counted.
const WAYS: [(usize, usize, usize); 2] = [(1, 1_000, 1_000), (32, 3_200, 4_800)];
/// Most allocations in that time. An element that allocated for every batch would come to 150.
const MOST_ALLOCATIONS: u64 = 40;
/// Driver rounds after each batch, and after some: timers are looked at every 32.
const ROUNDS: [u32; 2] = [4, 64];
const BATCHES_BETWEEN_TIMERS: usize = 16;

/// What allocates for packets: class, a word of its arguments, how often at most for a hundred packets, and why it must.
#[rustfmt::skip]
const ALLOCATE: &[(&str, &str, u64, &str)] = &[
    ("ARPPrint", "", TELLS, "prints packets"),
    ("ARPQuerier", "ENTRY_CAPACITY", 50, "forgets hosts when there are too many, and knows them anew"),
    ("ARPQuerier", "", 5, "gives back the room in which packets waited for hosts that do not answer"),
    ("CheckCRC32", "", TELLS, "tells of each packet with a bad sum"),
    ("CheckICMPHeader", "VERBOSE", TELLS, "tells of each packet that is bad"),
    ("CheckIPHeader", "VERBOSE", TELLS, "tells of each packet that is bad"),
    ("CheckPacket", "", TELLS, "tells of each packet that is bad"),
    ("DebugBridge", "", TELLS, "prints packets"),
    ("ForceICMP", "", TELLS, "tells of each packet with bad lengths"),
    ("ForceTCP", "", TELLS, "tells of each packet with bad lengths"),
    ("ForceUDP", "", TELLS, "tells of each packet with bad lengths"),
    ("IP6Neighbors", "RE", 50, "forgets neighbours that do not answer, and knows them anew"),
    ("IP6Print", "", TELLS, "prints packets"),
    ("IPPrint", "", TELLS, "prints packets"),
    ("IPReassembler", "", 5, "notes which pieces of a packet there are"),
    ("LinuxIPLookup", "", TELLS, "tells where each packet goes"),
    ("Print", "", TELLS, "prints packets"),
    ("RFC2507Decomp", "", TELLS, "tells of each packet"),
    ("Script", "", TELLS, "runs a script for each packet"),
    ("SetTCPChecksum", "", TELLS, "tells of each packet with bad lengths"),
];
/// As often as words take.
const TELLS: u64 = u64::MAX;

/// Sources of packets with their arguments.
const SOURCES: &[(&str, &str)] = &[
    ("InfiniteSource", ""),
    ("InfiniteSource", "BURST 32"),
    ("RatedSource", "RATE 100000"),
    ("TimedSource", "1ms"),
    ("RandomSource", "60"),
    ("FastUDPSource", "0, -1, 60, 2:0:0:0:0:3, 10.0.0.3, 1000, 2:0:0:0:0:4, 10.0.0.4, 2000"),
    ("FastUDPSourceIP6", "0, -1, 62, 2:0:0:0:0:3, 3ffe::3, 1000, 2:0:0:0:0:4, 3ffe::4, 2000"),
    ("FastUDPFlows", "0, -1, 60, 2:0:0:0:0:3, 10.0.0.3, 2:0:0:0:0:4, 10.0.0.4, 5, 4"),
    ("FastTCPFlows", "0, -1, 60, 2:0:0:0:0:3, 10.0.0.3, 2:0:0:0:0:4, 10.0.0.4, 5, 4"),
    ("FlowSource", "100"),
    ("EtherPauseSource", "2:0:0:0:0:3, 5, INTERVAL 1ms"),
    ("ICMPSendPings", "10.0.0.3, 10.0.0.4, INTERVAL 1ms"),
];
/// Driver rounds of a source before counting begins, and while allocations are counted; fewest packets that it makes in those.
const SOURCE_ROUNDS: u32 = 4_000;
const FEWEST_PACKETS: u64 = 50;

/// How a frame of PPPoE begins.
const PPPOE: u8 = 0x11;

/// An IPv4 packet from 1.0.0.1; `fragment` is the field of that name with its flags.
fn ipv4(protocol: u8, to: [u8; 4], ttl: u8, fragment: u16, options: &[u8], payload: &[u8]) -> Vec<u8> {
    ipv4_from([1, 0, 0, 1], protocol, to, ttl, fragment, &[options, payload])
}

fn ipv4_from(
    from: [u8; 4],
    protocol: u8,
    to: [u8; 4],
    ttl: u8,
    fragment: u16,
    [options, payload]: &[&[u8]; 2],
) -> Vec<u8> {
    let header_len = 20 + options.len();
    let [l0, l1] = ((header_len + payload.len()) as u16).to_be_bytes();
    let [f0, f1] = fragment.to_be_bytes();
    let mut ip = vec![0x40 | (header_len / 4) as u8, 0, l0, l1, 0, 7, f0, f1, ttl, protocol, 0, 0];
    ip.extend(from.iter().chain(&to).chain(*options));
    let sum = checksum(&ip).to_be_bytes();
    ip[10..12].copy_from_slice(&sum);
    ip.extend(*payload);
    ip
}

fn ipv6(protocol: u8, payload: &[u8]) -> Vec<u8> {
    let [l0, l1] = (payload.len() as u16).to_be_bytes();
    let mut ip = vec![0x60, 0, 0, 0, l0, l1, protocol, 255];
    ip.extend((1u128 << 112 | 2).to_be_bytes());
    ip.extend((1u128 << 112 | 3).to_be_bytes());
    ip.extend(payload);
    ip
}

/// With the checksum at `at`, of the pseudo-header too.
fn summed(mut ip: Vec<u8>, at: usize) -> Vec<u8> {
    let (header, addresses) = if ip[0] == 0x60 { (40, 8..40) } else { (20, 12..20) };
    let protocol = if ip[0] == 0x60 { ip[6] } else { ip[9] };
    let len = ((ip.len() - header) as u16).to_be_bytes();
    let pseudo = [&ip[addresses], &[0, protocol][..], &len].concat();
    let sum = checksum(&[&pseudo[..], &ip[header..]].concat()).to_be_bytes();
    ip[header + at..header + at + 2].copy_from_slice(&sum);
    ip
}

fn udp(port: u8, payload: &[u8]) -> Vec<u8> {
    [&[4, port, 0, 53, 0, 8 + payload.len() as u8, 0, 0][..], payload].concat()
}

fn tcp(port: u8, flags: u8, options: &[u8], payload: &[u8]) -> Vec<u8> {
    let header =
        [4, port, 0, 80, 0, 0, 1, 0, 0, 0, 2, 0, 0x50 + 4 * options.len() as u8, flags, 4, 0, 0, 0, 0, 0];
    [&header[..], options, payload].concat()
}

fn icmp(kind: u8, code: u8, rest: &[u8]) -> Vec<u8> {
    let mut icmp = [&[kind, code, 0, 0][..], rest].concat();
    let sum = checksum(&icmp).to_be_bytes();
    icmp[2..4].copy_from_slice(&sum);
    icmp
}

/// A neighbour solicitation or its answer, with the option that tells an address.
fn neighbour(kind: u8, flags: u8, option: u8) -> Vec<u8> {
    let message = [&[kind, 0, 0, 0, flags, 0, 0, 0][..], &(1u128 << 112 | 3).to_be_bytes()].concat();
    summed(ipv6(58, &[&message[..], &[option, 1, 2, 2, 2, 2, 2, 2]].concat()), 2)
}

/// What comes to a router: of every protocol, to it and through it, some with options, in fragments, or about to die.
fn bodies() -> Vec<Vec<u8>> {
    let (there, here) = ([2, 0, 0, 2], [1, 0, 0, 1]);
    let text = b"GET /a HTTP/1.0\r\n\r\n012";
    let mut all = Vec::new();
    for port in 1..5 {
        all.push(summed(ipv4(17, [2, 0, 0, port], 64, 0, &[], &udp(port, text)), 6));
        all.push(summed(ipv4(6, [2, 0, 0, port], 64, 0x4000, &[], &tcp(port, 0x18, &[], text)), 16));
        all.push(summed(ipv6(17, &udp(port, text)), 6));
        all.push(summed(ipv6(6, &tcp(port, 0x18, &[], text)), 16));
    }
    let quoted = [&[0, 0, 0, 0][..], &ipv4(17, there, 60, 0, &[], &udp(1, text))].concat();
    all.extend([
        summed(ipv4(6, there, 64, 0x4000, &[], &tcp(9, 2, &[2, 4, 5, 180], &[])), 16),
        ipv4(1, there, 64, 0, &[], &icmp(8, 0, &[0, 1, 0, 2, 3, 4])),
        ipv4(1, there, 64, 0, &[], &icmp(0, 0, &[0, 1, 0, 2, 3, 4])),
        ipv4(1, here, 64, 0, &[], &icmp(3, 1, &quoted)),
        summed(ipv4(17, there, 1, 0, &[], &udp(6, text)), 6),
        summed(ipv4(17, [1, 255, 255, 255], 64, 0, &[], &udp(7, text)), 6),
        summed(ipv4(17, [224, 0, 0, 5], 64, 0, &[], &udp(7, text)), 6),
        // Record route.
        ipv4(17, there, 64, 0, &[7, 7, 4, 0, 0, 0, 0, 0], &udp(8, text)),
        // Two fragments of one packet.
        ipv4(17, there, 64, 0x2000, &[], &udp(10, &[7; 32])),
        ipv4(17, there, 64, 5, &[], &[7; 16]),
        ipv4(
            47,
            here,
            64,
            0,
            &[],
            &[&[0, 0, 8, 0][..], &ipv4(17, there, 60, 0, &[], &udp(1, text))].concat(),
        ),
        summed(ipv4(17, there, 64, 0, &[], &udp(11, &[7; 200])), 6),
        summed(ipv6(58, &[&[128, 0, 0, 0, 0, 1, 0, 2][..], text].concat()), 2),
        neighbour(135, 0, 1),
        neighbour(136, 0x60, 2),
    ]);
    // From there: to a service, and through tunnels.
    let back = |protocol, payload: &[u8]| ipv4_from(there, protocol, here, 64, 0, &[&[], payload]);
    all.push(summed(back(17, &udp(12, text)), 6));
    all.push(summed(back(6, &tcp(12, 0x18, &[], text)), 16));
    let inner = ipv4(17, there, 60, 0, &[], &udp(1, text));
    all.push(back(47, &[&[0, 0, 8, 0][..], &inner].concat()));
    all.push(back(47, &[&[0x20, 0, 8, 0, 0, 0, 0, 1][..], &inner].concat()));
    // PPPoE, of session 1.
    all.push([&[PPPOE, 0, 0, 1, 0, inner.len() as u8 + 2, 0, 0x21][..], &inner].concat());
    for operation in [1, 2] {
        let stations = [&[2, 2, 2, 2, 2, 2, 2, 0, 0, 2][..], &[1, 1, 1, 1, 1, 1, 1, 0, 0, 1]].concat();
        all.push([&[0, 1, 8, 0, 6, 4, 0, operation][..], &stations].concat());
    }
    all
}

/// The packets that are sent: each with and without an Ethernet header, with its marks and annotations.
fn packets() -> Vec<Packet> {
    let mut all = Vec::new();
    for (n, body) in bodies().iter().enumerate() {
        let (to, from, kind) = match body[0] {
            0 => ([1; 6], n as u8, [8, 6]),
            PPPOE => ([2, 2, 2, 2, 2, 3], 2, [0x88, 0x64]),
            0x60 => ([1; 6], n as u8, [0x86, 0xdd]),
            _ => ([1; 6], n as u8, [8, 0]),
        };
        let ether = [&to[..], &[2, 2, 2, 2, 2, from], &kind].concat();
        for ether in [&ether[..], &[]] {
            let mut packet = Packet::from_bytes(&[ether, body].concat());
            if !ether.is_empty() {
                packet.set_mac_header(0, 14);
            }
            if body[0] == 0x60 {
                packet.set_network_header(ether.len(), 40);
                packet.set_anno(annotation::DST_IP6, <[u8; 16]>::try_from(&body[24..40]).expect("16 bytes"));
            } else if body[0] >> 4 == 4 {
                packet.set_network_header(ether.len(), usize::from(body[0] & 15) * 4);
                packet.set_dst_ip([body[16], body[17], body[18], body[19]].into());
            }
            packet.set_paint(n as u8 % 4);
            packet.set_anno_u32(annotation::AGGREGATE, n as u32 % 8);
            all.push(packet);
        }
    }
    all
}

/// Sends packets into every input of a sample's element, so many at a time.
fn send(engine: &mut Engine, sample: &Sample, packets: &[Packet], at_a_time: usize, n: usize) {
    let sources: [usize; 4] = std::array::from_fn(|port| {
        let name = ["s0", "s1", "s2", "s3"][port];
        engine.world.find(name, usize::MAX).unwrap_or(0)
    });
    let mut stream = packets.iter().cycle();
    for n_batch in 0..n / at_a_time {
        for source in &sources[..sample.1] {
            let mut batch = Batch::new();
            for packet in stream.by_ref().take(at_a_time) {
                let mut packet = packet.clone();
                packet.set_timestamp_ns(1_000_000_000_000_000_000 + n_batch as i64 * 1000);
                batch.push(packet);
            }
            engine.world.push_now(*source, 0, batch);
        }
        let mut n_rounds = ROUNDS[usize::from(n_batch % BATCHES_BETWEEN_TIMERS == 0)];
        engine.run_while(|world| {
            n_rounds -= 1;
            n_rounds > 0 && !world.is_idle()
        });
    }
}

/// The graphs around a sample's element: as it is, and pulled if it could be either.
fn graphs(sample: &Sample) -> Vec<(&'static str, String)> {
    // With a timer, simulated time goes on when nothing else happens.
    let text = format!("TimedSource(1ms) -> Discard; {}", graph_of(sample, |_| "Discard".to_string()));
    let text = text.replace("Queue(100000)", "Queue(1000)");
    let (inputs, outputs) =
        stock().get(sample.0).expect("the class exists").facts.processing.split_once('/').expect("both ways");
    if inputs.contains(['h', 'l']) || sample.1 == 0 {
        return vec![("", text)];
    }
    let mut pulled = text.replace("Idle -> [", "Idle -> Queue(1000) -> [");
    for port in 0..sample.2 {
        if outputs.chars().nth(port).or(outputs.chars().last()) == Some('a') {
            pulled = pulled.replace(&format!("e[{port}] -> "), &format!("e[{port}] -> Unqueue -> "));
        }
    }
    vec![("pushed ", text), ("pulled ", pulled)]
}

/// What a sample allocates for packets in which way, in words; nothing if it does not. And how often it does at most, for a hundred
/// packets.
fn allocations(sample: &Sample, packets: &[Packet]) -> (String, u64) {
    let (mut words, mut most) = (String::new(), 0);
    for (way, text) in graphs(sample) {
        for (at_a_time, n_before, n) in WAYS {
            let mut engine =
                run::<Packet>(sample, &text, &[], Packet::clone).expect("the graph can be built");
            send(&mut engine, sample, packets, at_a_time, n_before);
            let counted = allocation_counter::measure(|| send(&mut engine, sample, packets, at_a_time, n));
            let count = counted.count_total;
            if count > MOST_ALLOCATIONS {
                words += &format!("; {count} for {n} packets {way}by {at_a_time}");
                most = most.max(count.div_ceil(n as u64 / 100));
            }
            engine.cleanup();
        }
    }
    (words, most)
}

#[test]
fn packets_cost_no_allocation() {
    let only = std::env::var("WEIR_CLASS").unwrap_or_default();
    let packets = packets();
    let mut problems = String::new();
    let mut idle: Vec<_> = ALLOCATE.iter().filter(|(class, ..)| class.contains(&only)).collect();
    for sample in SAMPLES.iter().chain(NEIGHBOURS).filter(|sample| sample.0.contains(&only)) {
        let (told, most) = allocations(sample, &packets);
        let mut list = ALLOCATE.iter();
        let exception = list.find(|(class, word, ..)| *class == sample.0 && sample.3.contains(word));
        if most > exception.map_or(0, |(_, _, meant, _)| *meant) {
            problems += &format!("{}({}): more allocations than are meant{told}\n", sample.0, sample.3);
        }
        idle.retain(|entry| most == 0 || exception != Some(entry));
    }
    for (class, word, ..) in idle {
        problems += &format!("{class}({word}) allocates nothing: take it from the list\n");
    }
    assert!(problems.is_empty(), "{problems}");
}

/// What a source allocates for the packets that it makes, in words; nothing if it does not.
fn source_allocations(class: &str, arguments: &str) -> String {
    let is_pulled = stock().get(class).expect("the class exists").facts.processing == "l/l";
    let unqueue = if is_pulled { "Unqueue -> " } else { "" };
    let text =
        format!("TimedSource(1ms) -> Discard; {class}({arguments}) -> {unqueue}c :: Counter -> Discard");
    let sample = (SAMPLES[0].0, 0, 0, "", SAMPLES[0].4);
    let mut engine = run::<Packet>(&sample, &text, &[], Packet::clone).expect("the graph can be built");
    let count = |engine: &mut Engine| -> u64 {
        let count = engine.world.read_handler(usize::MAX, "c.count", "").expect("a Counter counts");
        count.trim().parse().expect("a count is a number")
    };
    let rounds = |engine: &mut Engine| {
        let mut n_rounds = SOURCE_ROUNDS;
        engine.run_while(|_| {
            n_rounds -= 1;
            n_rounds > 0
        });
    };
    rounds(&mut engine);
    let before = count(&mut engine);
    let counted = allocation_counter::measure(|| rounds(&mut engine));
    let n = count(&mut engine) - before;
    engine.cleanup();
    match counted.count_total {
        _ if n < FEWEST_PACKETS => format!("{class}({arguments}): {n} packets are too few\n"),
        n_allocations if n_allocations > MOST_ALLOCATIONS => {
            format!("{class}({arguments}): {n_allocations} for {n} packets\n")
        }
        _ => String::new(),
    }
}

#[test]
fn packets_from_sources_cost_no_allocation() {
    let problems: String =
        SOURCES.iter().map(|(class, arguments)| source_allocations(class, arguments)).collect();
    assert!(problems.is_empty(), "allocations:\n{problems}");
}
