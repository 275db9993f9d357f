//! `weir filter`: tcpdump's expressions.

use super::leaf::{Leaf, Place, Type};
use super::side::{self, DIRECTION};
use super::values::Values;
use super::{Example, Function};

/// The function.
pub const FUNCTION: Function = Function {
    name: "filter",
    source: include_str!("../../../../functions/filter/filter.click"),
    parts: &[],
    leaves: &[
        Leaf::new("expression", Type::Text("EXPR"), "What to let pass; several words are one expression.")
            .place(Place::Words),
        DIRECTION,
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir filter udp port 53 | weir write dns.pcap",
            purpose: "Keep the name service of a capture",
        },
        Example {
            line: "weir read lan.pcap | weir filter --right 'arp or tcp[tcpflags] & tcp-syn != 0' | weir write out.pcap",
            purpose: "Let ARP and the first packets of connections go to the right, and everything to the left",
        },
    ],
    holds: None,
    graph,
};

fn graph(values: &Values) -> Result<String, String> {
    const ETHERNET: i32 = 1;
    let expression = values.list("expression").join(" ");
    if let Err(error) = sys::bpf::compile(&expression, ETHERNET, 0) {
        let remedy = error.remedy().map(|remedy| format!("\n  help: {remedy}")).unwrap_or_default();
        return Err(format!("{error}{remedy}"));
    }
    side::each_way(values, &format!("FilterFunction({})", args::quote(expression)))
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, UDP};
    use expect_test::expect;

    #[test]
    fn packets_that_do_not_match_are_dropped_and_counted() {
        check(
            &["filter", "udp", "and", "dst", "port", "53"],
            &[UDP, "ARP(10.0.0.1, 10.0.0.2)"],
            &["UDP(10.0.0.2, 53, 10.0.0.1, 1000)"],
            &["to_right/match.drops", "to_left/match.drops"],
            expect![[r#"
                to_right/match.drops: 1
                to_left/match.drops: 1
                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            "#]],
        );
    }

    #[test]
    fn one_direction_can_be_left_alone() {
        check(
            &["filter", "--left", "arp"],
            &[UDP],
            &[UDP],
            &["to_left/match.drops"],
            expect![[r#"
                to_left/match.drops: 1
                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            "#]],
        );
    }

    #[test]
    fn a_wrong_expression_is_told() {
        fails(
            &["filter", "udp", "prt"],
            expect![[r#"
            filter: filter `udp prt`: can't parse filter expression: syntax error
              help: `man pcap-filter` describes the expressions"#]],
        );
    }
}
