//! Batches of any size do what single packets do.

use testing::{simulated, Library};

fn run(graph: &str, reads: &[&str]) -> String {
    let library = Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes));
    library.run(simulated(), graph, reads, |world| world.is_still())
}

/// Packets of all kinds to all places, as a summary.
fn packets() -> String {
    let mut text = "!data ip_src ip_dst ip_ttl ip_len ip_opt ip_proto sport dport payload_len\n".to_string();
    for n in 0..900 {
        let ttl = [64, 77, 1, 33, 64, 2, 33][n % 7];
        let len = [60, 200, 201, 600][n / 7 % 4];
        let options = [".", ".", ".", "rr{^0.0.0.0,0.0.0.0}", "."][n / 3 % 5];
        text += &format!("1.1.2.3 10.0.0.{} {ttl} {len} {options} U 1 2 {}\n", n * 37 % 251, len - 28);
    }
    text
}

/// What a router of four interfaces does with packets that come in batches of at most `n`: what it prints, sorted, and what its
/// elements have counted.
fn routed(n: usize) -> String {
    let path = std::env::temp_dir().join(format!("weir-lanes-{}-{n}", std::process::id()));
    std::fs::write(&path, packets()).unwrap();
    let mut graph = format!(
        "source :: FromIPSummaryDump({}, STOP false, ZERO true, CHECKSUM true) -> q :: Queue(1000);",
        path.display()
    );
    graph += &format!(
        "q -> Unqueue(BURST {n}) -> kinds :: IPClassifier(ip ttl 77, ip ttl 33, -); kinds[2] -> rt :: HashSwitch(19, 1);
         kinds[0] -> SetPacketType(BROADCAST) -> rt; kinds[1] -> StoreData(21, \\<01>) -> StoreData(6, \\<40>) -> rt; sent :: Print(sent, MAXLENGTH 64) -> Discard;"
    );
    let mut reads = Vec::new();
    for i in 0..4 {
        graph += &format!(
            "rt[{i}] -> b{i} :: DropBroadcasts -> o{i} :: IPGWOptions(10.9.{i}.1) -> SetAnnoByte(34, 1) -> FixIPSrc(10.9.{i}.1)
               -> t{i} :: DecIPTTL -> f{i} :: IPFragmenter(200) -> EtherEncap(0x0800, 2:0:0:0:0:{i}, 2:0:0:0:1:{i}) -> sent;
             o{i}[1] -> Print(bad{i}) -> Discard; t{i}[1] -> Print(old{i}) -> Discard; f{i}[1] -> Print(long{i}) -> Discard;"
        );
        reads.extend(["b", "o", "t", "f"].map(|element| format!("{element}{i}.drops")));
    }
    let reads: Vec<&str> = reads.iter().map(String::as_str).collect();
    let text = run(&graph, &reads);
    std::fs::remove_file(&path).unwrap();
    let mut lines: Vec<&str> = text.lines().filter(|line| !line.starts_with("IPFragmenter")).collect();
    lines.sort_unstable();
    lines.join("\n")
}

#[test]
fn each_packet_meets_the_elements_of_its_branch() {
    let alone = routed(1);
    for kind in ["sent: ", "bad", "old", "long"] {
        assert!(alone.contains(kind), "there are packets of each kind: {kind}");
    }
    for n in [2, 7, 32, 120, 256] {
        assert_eq!(routed(n), alone, "in batches of {n}");
    }
}
