//! `weir count`: packets, bytes and rates.

use super::leaf::{Leaf, Type};
use super::values::Values;
use super::{between, Example, Function, STAGE_INTERFACES};

/// The function.
pub const FUNCTION: Function = Function {
    name: "count",
    source: include_str!("../../../../functions/count/count.click"),
    parts: &[],
    leaves: &[
        Leaf::new("interval", Type::Time, "Time between reports; 0: only one in the end.")
            .default("0")
            .short('i'),
        Leaf::new("json", Type::Flag, "Report JSON objects, one a line."),
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir count | weir write out.pcap",
            purpose: "Tell in the end how much went through",
        },
        Example {
            line: "weir read lan.pcap | weir count --interval 1s --json 2> counts.json | weir write out.pcap",
            purpose: "Report every second, for a program",
        },
    ],
    holds: None,
    graph,
};

fn graph(values: &Values) -> Result<String, String> {
    let (interval, json) = (values.need("interval")?, values.flag("json"));
    let ends = between(&STAGE_INTERFACES.map(str::to_string), "count");
    Ok(format!("count :: CountFunction({interval}, {json});\n{ends}"))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, UDP};
    use expect_test::expect;

    #[test]
    fn both_directions_are_counted() {
        check(
            &["count", "--interval", "1s", "--json"],
            &[UDP, UDP],
            &["ARP(10.0.0.1, 10.0.0.2)"],
            &["count/report.packets", "count/report.bytes"],
            expect![[r#"
                {"seconds":1.000,"right":{"packets":2,"bytes":92,"packets_per_s":2,"bits_per_s":736},"left":{"packets":1,"bytes":42,"packets_per_s":1,"bits_per_s":336}}
                {"seconds":2.000,"right":{"packets":2,"bytes":92,"packets_per_s":0,"bits_per_s":0},"left":{"packets":1,"bytes":42,"packets_per_s":0,"bits_per_s":0}}
                count/report.packets: right 2
                left 1

                count/report.bytes: right 92
                left 42

                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to left at 0.5 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
                to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            "#]],
        );
    }

    #[test]
    fn an_interval_is_a_time() {
        fails(
            &["count", "--interval", "often"],
            expect![[r#"
            error: invalid value 'often' for '--interval <TIME>': expected a time such as 20ms, 1.5s or 2min

            For more information, try '--help'.
        "#]],
        );
    }
}
