//! `weir shape`: a rate limit with a queue.

use super::leaf::{time, Leaf, Place, Type};
use super::side::{self, DIRECTION};
use super::values::{wrong, Values};
use super::{Example, Function};

/// The function.
pub const FUNCTION: Function = Function {
    name: "shape",
    source: include_str!("../../../../functions/shape/shape.click"),
    parts: &[],
    leaves: &[
        Leaf::new(
            "rate",
            Type::Own("RATE", |text| Rate::parse(text).map(drop)),
            "The rate: `10Mbps`, `1GBps`, `10kpps`.",
        )
        .place(Place::Word),
        Leaf::new(
            "bucket",
            Type::Own("SIZE|TIME", |text| Burst::parse(text).map(drop)),
            "What may pass at once after a pause: bytes (packets if RATE is in packets), or a time at RATE.",
        )
        .default("20ms")
        .short('b'),
        Leaf::new(
            "queue",
            Type::Unsigned { min: 1, max: 10_000_000 },
            "Most packets that wait in a direction.",
        )
        .default("1000"),
        DIRECTION,
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir shape 100Mbps | weir write out.pcap",
            purpose: "A path of 100 Mbit/s each way",
        },
        Example {
            line:
                "weir read lan.pcap | weir shape 2kpps --bucket 10 --queue 5000 --right | weir write out.pcap",
            purpose: "At most 2000 packets a second to the right, 10 at once, and a long queue",
        },
    ],
    holds: None,
    graph,
};

/// A rate.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Rate {
    BytesPerSecond(u32),
    PacketsPerSecond(u32),
}

/// What may pass at once.
#[derive(Clone, Copy, PartialEq, Debug)]
enum Burst {
    /// Bytes or packets.
    Size(u32),
    Milliseconds(u32),
}

impl Rate {
    fn parse(text: &str) -> Result<Rate, String> {
        const EXPECTED: &str =
            "expected a rate such as 10Mbps, 1GBps or 10kpps, above 0 and at most 34Gbps or 1Gpps";
        let rate = match text.strip_suffix("pps") {
            Some(number) => scaled(number).filter(|rate| *rate <= 1_000_000_000).map(Rate::PacketsPerSecond),
            None if !text.ends_with("ps") && !text.ends_with("/s") => None,
            None => args::bandwidth(text).ok().map(|rate| Rate::BytesPerSecond(rate.bytes_per_s)),
        };
        let rate = rate.filter(|rate| !matches!(rate, Rate::BytesPerSecond(0) | Rate::PacketsPerSecond(0)));
        rate.ok_or_else(|| EXPECTED.to_string())
    }
}

impl Burst {
    fn parse(text: &str) -> Result<Burst, String> {
        const EXPECTED: &str =
            "expected a number of bytes or packets such as 15000 or 64k, or a time such as 5ms";
        if text.ends_with('s') {
            let ms = time(text).ok().map(|time| time.as_nanos() / 1_000_000);
            let ms = ms.and_then(|ms| u32::try_from(ms).ok()).filter(|ms| (1..=10_000).contains(ms));
            return ms.map(Burst::Milliseconds).ok_or_else(|| "expected a time from 1ms to 10s".to_string());
        }
        let size = scaled(text).filter(|size| (1..=1_000_000_000).contains(size));
        size.map(Burst::Size).ok_or_else(|| EXPECTED.to_string())
    }
}

/// A number with the prefix of a unit, `k`, `M` or `G`.
fn scaled(text: &str) -> Option<u32> {
    let (number, factor) = match text.chars().last()? {
        'k' => (text.get(..text.len() - 1)?, 1e3),
        'M' => (text.get(..text.len() - 1)?, 1e6),
        'G' => (text.get(..text.len() - 1)?, 1e9),
        _ => (text, 1.0),
    };
    let number = number.trim().parse::<f64>().ok()? * factor;
    (0.0..=f64::from(u32::MAX)).contains(&number).then_some(number as u32)
}

fn graph(values: &Values) -> Result<String, String> {
    let rate = values.parse("rate", Rate::parse)?;
    let burst = values.parse("bucket", Burst::parse)?;
    let queue = values.need("queue")?;
    let (class, number, size) = match rate {
        Rate::BytesPerSecond(rate) => ("ShapeFunction", format!("{rate}Bps"), "BURST_BYTES"),
        Rate::PacketsPerSecond(rate) => ("ShapePacketsFunction", rate.to_string(), "BURST_SIZE"),
    };
    let burst = match (burst, rate) {
        (Burst::Milliseconds(ms), Rate::PacketsPerSecond(rate)) if u64::from(ms) * u64::from(rate) < 1000 => {
            // Less than one packet would never pass.
            return Err(wrong(
                "--bucket",
                values.need("bucket")?,
                &format!("{ms} ms at this rate are less than one packet; try --bucket 1"),
            ));
        }
        (Burst::Milliseconds(ms), _) => format!("BURST_DURATION {ms}ms"),
        (Burst::Size(n), _) => format!("{size} {n}"),
    };
    side::each_way(values, &format!("{class}({number}, {burst}, {queue})"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, run, UDP};
    use super::*;
    use expect_test::expect;

    #[test]
    fn rates_and_bursts_are_read() {
        for (text, rate) in [
            ("8Mbps", Rate::BytesPerSecond(1_000_000)),
            ("1kBps", Rate::BytesPerSecond(1000)),
            ("2.5kpps", Rate::PacketsPerSecond(2500)),
            ("7pps", Rate::PacketsPerSecond(7)),
        ] {
            assert_eq!(Rate::parse(text), Ok(rate), "{text}");
        }
        for text in ["", "10", "fast", "0Mbps", "0pps", "-1pps", "99Gpps", "1e99pps", "Mbps"] {
            assert!(Rate::parse(text).is_err(), "{text}");
        }
        assert_eq!(Burst::parse("64k"), Ok(Burst::Size(64_000)));
        assert_eq!(Burst::parse("5ms"), Ok(Burst::Milliseconds(5)));
        assert!(Burst::parse("0").is_err() && Burst::parse("20s").is_err() && Burst::parse("x").is_err());
    }

    #[test]
    fn packets_pass_at_the_rate() {
        let told = run(
            &["shape", "10pps", "--bucket", "2", "--right", "--queue", "20"],
            &[UDP; 30],
            &[UDP; 3],
            &["to_right/queue.drops", "to_right/limit.rate"],
        );
        expect![[r#"
            to_right/queue :: Queue: overflow
            to_right/queue.drops: 8
            to_right/limit.rate: 10
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 2.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 101.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 201.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 301.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 401.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 501.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 601.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 701.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 801.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 901.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1001.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1101.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1201.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1301.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1401.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1501.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1601.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1701.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1801.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1901.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 2001.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]]
        .assert_eq(&told);
    }

    #[test]
    fn bytes_pass_at_the_rate() {
        check(
            &["shape", "800bps", "--bucket", "120"],
            &[UDP; 4],
            &[UDP],
            &["to_left/limit.rate"],
            expect![[r#"
            to_left/limit.rate: 0.8kbps
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to right at 179.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
        "#]],
        );
    }

    #[test]
    fn what_cannot_be_is_refused() {
        fails(
            &["shape", "fast"],
            expect![[r#"
            error: invalid value 'fast' for '<RATE>': expected a rate such as 10Mbps, 1GBps or 10kpps, above 0 and at most 34Gbps or 1Gpps

            For more information, try '--help'.
        "#]],
        );
        fails(
            &["shape", "10pps", "--bucket", "20ms"],
            expect!["shape: --bucket `20ms`: 20 ms at this rate are less than one packet; try --bucket 1"],
        );
        fails(
            &["shape"],
            expect![[r#"
            error: the following required arguments were not provided:
              <RATE>

            Usage: weir shape <RATE>

            For more information, try '--help'.
        "#]],
        );
    }
}
