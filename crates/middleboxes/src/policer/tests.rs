//! Tests of the policer.

use expect_test::expect;

use super::bucket::Bucket;
use super::rate::{Limit, Rate};
use crate::testing::{check, check_reading};

#[test]
fn packets_above_the_rate_are_told_apart() {
    // The first 10 come at once out of the bucket.
    check_reading(
        "RatedSource(RATE 1000, LENGTH 100) -> p :: Policer(100pps, BURST 10) -> c :: Counter -> Discard;
         p [1] -> d :: Counter -> Discard;
         DriverManager(wait 1s, read c.count, read d.count, write p.rate 10pps, write p.reset_counts, wait 1s, stop)",
        &["p.conforming", "p.conforming_bytes", "p.exceeding", "p.rate", "p.burst"],
        expect![[r#"
            c.count:
            109
            d.count:
            900
            p.conforming: 10
            p.conforming_bytes: 1000
            p.exceeding: 990
            p.rate: 10pps
            p.burst: 1
        "#]],
    );
}

#[test]
fn bytes_above_the_rate_are_dropped() {
    check_reading(
        "RatedSource(RATE 1000, LENGTH 1000) -> p :: Policer(100kBps, BURST 5000) -> c :: Counter -> Discard;
         DriverManager(wait 2s, stop)",
        &["c.count", "p.exceeding", "p.rate"],
        expect![[r#"
            c.count: 204
            p.exceeding: 1805
            p.rate: 800kbps
        "#]],
    );
}

#[test]
fn each_address_has_its_own_bucket_and_prefixes_share_one() {
    let packets =
        "10.0.0.1 10.1.0.1\n10.0.0.1 10.1.0.2\n10.0.0.2 10.1.0.1\n10.0.0.1 10.1.0.3\n10.0.1.9 10.1.0.1\n";
    let graph = |arguments: &str| {
        format!(
            "FromIPSummaryDump(DATA '!data ip_src ip_dst\n{packets}', STOP true) -> p :: Policer(1pps, {arguments})
             -> IPPrint(passes, TIMESTAMP false) -> Discard"
        )
    };
    let reads = ["p.table", "p.followed", "p.untracked"];
    check_reading(
        &graph("PER source"),
        &reads,
        expect![[r#"
        passes: 10.0.0.1.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        passes: 10.0.0.2.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        passes: 10.0.1.9.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        p.table: 10.0.0.1 2

        p.followed: 3
        p.untracked: 0
    "#]],
    );
    check_reading(
        &graph("PER destination, PREFIX 16, BURST 4"),
        &reads,
        expect![[r#"
        passes: 10.0.0.1.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        passes: 10.0.0.1.0 > 10.1.0.2.0: . 0:0(0,40,40) win 0
        passes: 10.0.0.2.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        passes: 10.0.0.1.0 > 10.1.0.3.0: . 0:0(0,40,40) win 0
        p.table: 10.1.0.0 1

        p.followed: 1
        p.untracked: 0
    "#]],
    );
    // Nobody makes room for 10.0.0.2: what passes is not held against others.
    check_reading(
        &graph("PER source, CAPACITY 1"),
        &reads,
        expect![[r#"
        passes: 10.0.0.1.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        passes: 10.0.0.2.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        passes: 10.0.1.9.0 > 10.1.0.1.0: . 0:0(0,40,40) win 0
        p.table: 10.0.0.1 2

        p.followed: 1
        p.untracked: 2
    "#]],
    );
}

#[test]
fn ipv6_hosts_of_a_network_share_a_bucket() {
    let header = "6000000000003b40";
    let address = |host: &str| format!("20010db80000000000000000000000{host}");
    let other = "20010db8000000010000000000000001";
    let source = |source: &str| {
        format!("InfiniteSource(DATA \\<{header} {source} {other}>, LIMIT 1) -> MarkIP6Header -> p;")
    };
    check_reading(
        &format!(
            "p :: Policer(1pps, PER source) -> Discard; {} {} {} InfiniteSource(DATA \\<00>, LIMIT 1) -> p;",
            source(&address("01")),
            source(&address("02")),
            source(other)
        ),
        &["p.table", "p.conforming", "p.exceeding", "p.untracked"],
        expect![[r#"
            p.table: 2001:db8:: 1

            p.conforming: 3
            p.exceeding: 1
            p.untracked: 1
        "#]],
    );
}

#[test]
fn arguments_are_checked() {
    check(
        "Idle -> Policer(10, BURST 0, PER port) -> Discard;",
        expect![[r#"
        config:1: While configuring 'Policer@2 :: Policer':
          RATE: expected a rate such as 10Mbps, 1GBps or 10000pps, above 0 and below 2^32 bytes or packets per second
          BURST: out of range, bound 1
          PER: parse error
        Router could not be initialized!
    "#]],
    );
    for text in ["0pps", "4294967296pps", "-1pps", "1.5pps", "pps", "35Gbps", "10", "x", "0bps"] {
        assert!(Rate::parse(text).is_err(), "{text}");
    }
    assert_eq!(Rate::parse("1500 pps"), Ok(Rate::Packets(1500)));
    assert_eq!(Rate::parse("8Mbps"), Ok(Rate::Bytes(1_000_000)));
}

#[test]
fn counts_and_buckets_go_on_when_the_rate_changes() {
    let library =
        testing::Library::new(elements::FOLDERS.iter().map(|(_, classes)| *classes).chain([crate::CLASSES]));
    let graph = |name: &str, arguments: &str| {
        format!(
            "{name} :: InfiniteSource(DATA \\<4500001c000000004011000001000001 0a010002 0001003500080000>, LIMIT 3) -> MarkIPHeader
                -> p :: Policer({arguments}) -> Discard; tick :: TimedSource(1ms) -> tock :: Discard;"
        )
    };
    let told = library.run_changing(
        &graph("a", "2pps, BURST 2, PER source"),
        &[&graph("b", "1pps, BURST 3, PER source"), &graph("c", "1kBps, PER source")],
        50,
        &["p.conforming", "p.exceeding", "p.table"],
    );
    expect![[r#"
        p.conforming: 6
        p.exceeding: 3
        p.table: 
    "#]]
    .assert_eq(&told);
}

#[test]
fn a_bucket_gives_no_more_than_rate_and_burst_however_packets_come() {
    for (rate, burst) in [(Rate::Bytes(u32::MAX), 3000), (Rate::Bytes(1), 1), (Rate::Packets(7), 3)] {
        let limit = Limit::new(rate, Some(burst));
        let (mut bucket, mut taken, mut state) = (Bucket::default(), 0u128, 1u64);
        let mut now_ns = 0u64;
        for _ in 0..100_000 {
            state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
            now_ns += (state >> 33) % 1_000_000;
            let n_tokens = 1 + (state >> 20) % u64::from(burst);
            if bucket.take(&limit, n_tokens, now_ns) {
                taken += u128::from(n_tokens);
            }
        }
        let most = u128::from(burst) + u128::from(now_ns) * u128::from(rate.tokens_per_s()) / 1_000_000_000;
        assert!(taken <= most, "{taken} of {most}");
        let wanted_all = rate != Rate::Bytes(u32::MAX);
        assert!(!wanted_all || taken * 10 > most * 9, "{taken} of {most}");
    }
}

#[test]
fn a_packet_longer_than_the_bucket_passes_in_its_time() {
    let limit = Limit::new(Rate::Bytes(1000), Some(100));
    let mut bucket = Bucket::default();
    assert!(bucket.take(&limit, 1000, 0));
    assert!(!bucket.take(&limit, 1, 899_999_999));
    assert!(bucket.take(&limit, 1, 901_000_000));
    assert!(!bucket.take(&limit, 1000, 902_000_000));
    assert!(bucket.take(&limit, 1000, 1_100_000_000));
}
