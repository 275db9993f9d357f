//! `weir firewall`: IPFilter's rules, with or without state.

use std::fmt::Write;

use super::leaf::{Leaf, Place, Type};
use super::rules::{self, Rule};
use super::values::Values;
use super::{Example, Function};

/// Elements that find IPv4 packets in frames, put fragments together and cut them again.
pub const FRAMES: &str = include_str!("../../../../functions/frames.click");
/// An element that tells packets apart that are followed in different ways.
pub const FLOWS: &str = include_str!("../../../../functions/flows.click");

const COUNT: Type = Type::Unsigned { min: 1, max: 100_000_000 };

/// The function.
pub const FUNCTION: Function = Function {
    name: "firewall",
    source: include_str!("../../../../functions/firewall/firewall.click"),
    parts: &[FRAMES, FLOWS],
    leaves: &[
        Leaf::new("rules", Type::Own("RULES", rules::check), "Rules for packets to the right, separated by commas.")
            .place(Place::Words),
        Leaf::new("file", Type::File, "A file of further rules, behind RULES.").place(Place::Repeated).short('f'),
        Leaf::new("reverse", Type::Own("RULES", rules::check), "Rules for packets to the left.").place(Place::Repeated),
        Leaf::new("reverse-file", Type::File, "A file of further rules for packets to the left.").place(Place::Repeated),
        Leaf::new("both", Type::Flag, "RULES are for both directions."),
        Leaf::new("stateful", Type::Flag, "Let answers to what is allowed pass, and refuse to the left what no rule allows."),
        Leaf::new("default", Type::Choice(&["allow", "deny"]), "What becomes of packets that no rule matches.")
            .default("deny"),
        Leaf::new("drop-non-ip", Type::Flag, "Drop what is not IPv4, such as ARP and IPv6."),
        Leaf::new("count-rules", Type::Flag, "Count the packets of each rule."),
        Leaf::new("tcp-timeout", Type::Time, "How long a silent TCP connection is remembered.").default("7440s"),
        Leaf::new("udp-timeout", Type::Time, "How long other silent flows are remembered.").default("300s"),
        Leaf::new("icmp-timeout", Type::Time, "How long a ping is remembered.").default("60s"),
        Leaf::new("capacity", COUNT, "Most flows of a kind that are remembered.").default("1000000"),
        Leaf::new("mtu", Type::Unsigned { min: 68, max: 65_535 }, "The longest fragments to make of what came in fragments.")
            .default("1500"),
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir firewall 'deny tcp && dst port 23' 'allow all' | weir write out.pcap",
            purpose: "Refuse telnet to the right",
        },
        Example {
            line: "weir read lan.pcap | weir firewall --stateful 'allow src net 10.0.0.0/24' | weir write out.pcap",
            purpose: "Let the hosts on the left begin connections, and nobody on the right",
        },
        Example {
            line: "weir read lan.pcap | weir firewall -f rules.txt --both --default allow --count-rules | weir write out.pcap",
            purpose: "Rules of a file for both directions, each counted",
        },
    ],
    holds: None,
    graph,
};

/// What is wanted.
struct Wanted {
    other: i8,
    default: Rule,
    counts_rules: bool,
}

fn graph(values: &Values) -> Result<String, String> {
    let default = Rule { allows: values.need("default")? == "allow", pattern: "all".to_string() };
    let other = if values.flag("drop-non-ip") { 1 } else { 0 };
    let wanted = Wanted { other, default, counts_rules: values.flag("count-rules") };
    let to_right = all(values, "RULES", "rules", "--file", "file")?;
    let mut to_left = all(values, "--reverse", "reverse", "--reverse-file", "reverse-file")?;
    if values.flag("both") {
        to_left.extend(to_right.iter().cloned());
    }
    let is_free = to_left.is_empty() && !values.flag("reverse") && !values.flag("reverse-file");
    if values.flag("stateful") {
        // Without rules, --default is about packets to the right only.
        let closed = Wanted { default: Rule { allows: false, ..wanted.default.clone() }, ..wanted };
        let left_wanted = if is_free { &closed } else { &wanted };
        return stateful(values, &wanted, &to_right, left_wanted, &to_left);
    }
    let mut text = one_way("right", "left", &wanted, &to_right);
    text += &match is_free && other == 0 {
        true => "FromInterface(right) -> ToInterface(left);\n".to_string(),
        false if is_free => {
            let open = Wanted { default: Rule { allows: true, ..wanted.default.clone() }, ..wanted };
            one_way("left", "right", &open, &[])
        }
        false => one_way("left", "right", &wanted, &to_left),
    };
    Ok(text)
}

/// The rules that a parameter and the files of another hold.
fn all(values: &Values, flag: &str, words: &str, file_flag: &str, files: &str) -> Result<Vec<Rule>, String> {
    let mut all = Vec::new();
    for text in values.list(words) {
        all.extend(rules::parse(text).map_err(|message| super::values::wrong(flag, text, &message))?);
    }
    for path in values.list(files) {
        all.extend(rules::read(file_flag, path)?);
    }
    Ok(all)
}

/// A direction without state.
fn one_way(to: &str, from: &str, wanted: &Wanted, rules: &[Rule]) -> String {
    let mut text = rules_class(to, wanted, rules);
    let _ = write!(
        text,
        "FromInterface({from}) -> from_{from} :: PacketsOfFrames({}) -> to_{to} :: Rules_{to} -> ToInterface({to});\n\
         from_{from}[1] -> ToInterface({to});\n\
         to_{to}[1] -> Discard;\n",
        wanted.other
    );
    text
}

/// Both directions with state.
fn stateful(
    values: &Values,
    right: &Wanted,
    to_right: &[Rule],
    left: &Wanted,
    to_left: &[Rule],
) -> Result<String, String> {
    let [tcp, udp, icmp, capacity, mtu] =
        ["tcp-timeout", "udp-timeout", "icmp-timeout", "capacity", "mtu"].map(|name| values.need(name));
    let mut text = format!("state :: FirewallState({}, {}, {}, {});\n", tcp?, udp?, icmp?, capacity?);
    let mtu = mtu?;
    for (i, to, from, wanted, rules) in
        [(0, "right", "left", right, to_right), (1, "left", "right", left, to_left)]
    {
        text += &rules_class(to, wanted, rules);
        let _ = write!(
            text,
            "FromInterface({from}) -> from_{from} :: PacketsOfFrames({}) -> whole_{to} :: WholePackets -> to_{to} :: Rules_{to};\n\
             to_{to}[0] -> [{allowed}] state;\n\
             to_{to}[1] -> [{denied}] state;\n\
             from_{from}[1] -> ToInterface({to});\n\
             state[{i}] -> PacketsAsTheyCame({mtu}) -> ToInterface({to});\n",
            wanted.other,
            allowed = 2 * i,
            denied = 2 * i + 1,
        );
    }
    Ok(text)
}

/// A compound element for the rules of a direction: output 0 is for what is allowed, output 1 for the rest.
fn rules_class(to: &str, wanted: &Wanted, rules: &[Rule]) -> String {
    let last = std::iter::once(&wanted.default);
    let mut text = format!("elementclass Rules_{to} {{\n    input -> rules :: IPFilter(");
    for (i, rule) in rules.iter().chain(last).enumerate() {
        let output = if wanted.counts_rules { i } else { usize::from(!rule.allows) };
        let _ = write!(text, "{}\n        {output} {}", if i > 0 { "," } else { "" }, rule.pattern);
    }
    text += ");\n    allowed :: Counter -> [0] output;\n    denied :: Counter -> [1] output;\n";
    if wanted.counts_rules {
        for (i, rule) in rules.iter().enumerate() {
            let to = if rule.allows { "allowed" } else { "denied" };
            let _ = writeln!(text, "    rules[{i}] -> rule{} :: Counter -> {to};", i + 1);
        }
        let to = if wanted.default.allows { "allowed" } else { "denied" };
        let _ = writeln!(text, "    rules[{}] -> default :: Counter -> {to};", rules.len());
        // Both need an input.
        text += "    Idle -> allowed; Idle -> denied;\n}\n";
    } else {
        text += "    rules[0] -> allowed;\n    rules[1] -> denied;\n}\n";
    }
    text
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, graph, Scratch, UDP};
    use expect_test::expect;

    const WEB: &str = "TCP(10.0.0.1, 1000, 10.0.0.2, 80, S)";
    const ANSWER: &str = "at=5 TCP(10.0.0.2, 80, 10.0.0.1, 1000, SA)";
    const ARP: &str = "ARP(10.0.0.1, 10.0.0.2)";

    #[test]
    fn the_first_rule_that_matches_decides() {
        check(
            &["firewall", "deny tcp && dst port 80, allow udp", "allow tcp"],
            &[WEB, UDP, "TCP(10.0.0.1, 1000, 10.0.0.2, 81, S)", "PING(10.0.0.1, 10.0.0.2, 1)", ARP],
            &[WEB],
            &["to_right/allowed.count", "to_right/denied.count"],
            expect![[r#"
                to_right/allowed.count: 2
                to_right/denied.count: 2
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
                to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:81 S ttl 64 len 40
                to right at 4.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
            "#]],
        );
    }

    #[test]
    fn rules_look_behind_a_tag_and_non_ip_can_be_dropped() {
        let vlan = "VLAN(5, 10.0.0.1, 5, 10.0.0.2, 53)";
        check(
            &["firewall", "deny udp", "--default", "allow"],
            &[vlan, ARP],
            &[],
            &[],
            expect![[r#"
            to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
        "#]],
        );
        check(
            &["firewall", "allow udp", "--drop-non-ip"],
            &[vlan, ARP],
            &[UDP, ARP],
            &["from_left/other_denied.count", "from_right/other_denied.count"],
            expect![[r#"
                from_left/other_denied.count: 1
                from_right/other_denied.count: 1
                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 5 UDP 10.0.0.1:5 > 10.0.0.2:53 ttl 64 len 32
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            "#]],
        );
    }

    #[test]
    fn rules_can_be_for_both_directions_and_be_counted() {
        check(
            &["firewall", "--both", "--count-rules", "deny udp", "allow tcp"],
            &[UDP, WEB],
            &[WEB, WEB, "PING(10.0.0.1, 10.0.0.2, 1)"],
            &["to_right/rule1.count", "to_right/rule2.count", "to_left/rule2.count", "to_left/default.count"],
            expect![[r#"
                to_right/rule1.count: 1
                to_right/rule2.count: 1
                to_left/rule2.count: 2
                to_left/default.count: 1
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
                to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
                to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
            "#]],
        );
    }

    #[test]
    fn rules_come_from_files_too() {
        let scratch = Scratch::new();
        let path = scratch.path("rules");
        std::fs::write(&path, "# Comment\nallow udp  # all\n\ndeny all\n").unwrap();
        check(
            &["firewall", "-f", &path, "--reverse", "deny udp, allow all"],
            &[UDP, WEB],
            &[UDP, WEB],
            &[],
            expect![[r#"
            to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            to left at 1.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
        "#]],
        );
        std::fs::write(&path, "allow udp\nallow upd\n").unwrap();
        let message = graph(&["firewall", "-f", &path]).unwrap_err().replace(&path, "FILE");
        expect!["firewall: --file `FILE`: line 2: `allow upd`: empty term near 'upd' (`weir help IPClassifier` describes patterns)"].assert_eq(&message);
        fails(
            &["firewall", "-f", "/nowhere/rules"],
            expect!["firewall: --file `/nowhere/rules`: cannot be read: No such file or directory"],
        );
        fails(
            &["firewall", "permit tcp"],
            expect![[r#"
            error: invalid value 'permit tcp' for '[RULES]...': `permit tcp` begins with `permit`, not with allow, deny or drop

            For more information, try '--help'.
        "#]],
        );
    }

    #[test]
    fn with_state_answers_pass_and_nothing_else_does() {
        check(
            &["firewall", "--stateful", "allow tcp && dst port 80", "allow udp or icmp or ip proto 47"],
            &[
                WEB,
                UDP,
                "TCP(10.0.0.1, 5, 10.0.0.2, 22, S)",
                "PING(10.0.0.1, 10.0.0.2, 7)",
                "PROTO(47, 10.0.0.1, 10.0.0.2)",
                ARP,
            ],
            &[
                WEB,
                ANSWER,
                "at=6 TCP(10.0.0.2, 81, 10.0.0.1, 1000, S)",
                "at=7 PONG(10.0.0.2, 10.0.0.1, 7)",
                "at=8 PONG(10.0.0.2, 10.0.0.1, 8)",
                "at=9 PROTO(47, 10.0.0.2, 10.0.0.1)",
                "at=10 PROTO(47, 10.0.0.3, 10.0.0.1)",
                "at=11 ERROR(3, 3, 10.9.9.9, 10.0.0.1, 10.0.0.1, 1000, 10.0.0.2, 53)",
                "at=12 ERROR(3, 3, 10.9.9.9, 10.0.0.1, 10.0.0.1, 1001, 10.0.0.2, 53)",
                "at=13 UDP(10.0.0.2, 53, 10.0.0.1, 1000)",
                ARP,
            ],
            &["state/flows.table_size", "state/spoofed.count", "to_left/denied.count"],
            expect![[r#"
                state/flows.table_size: 2
                state/spoofed.count: 1
                to_left/denied.count: 10
                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:1000 > 10.0.0.2:80 S ttl 64 len 40
                to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 ping 7 ttl 64 len 30
                to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 protocol 47 ttl 64 len 28
                to right at 5.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
                to left at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.2:80 > 10.0.0.1:1000 SA ttl 64 len 40
                to left at 7.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.2 > 10.0.0.1 pong 7 ttl 64 len 30
                to left at 9.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.2 > 10.0.0.1 protocol 47 ttl 64 len 28
                to left at 10.5 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
                to left at 11.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.9.9.9 > 10.0.0.1 ICMP 3/3 about [UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32] ttl 64 len 60
                to left at 13.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
            "#]],
        );
    }

    #[test]
    fn with_state_rules_can_open_the_other_direction() {
        check(
            &["firewall", "--stateful", "--reverse", "allow tcp && dst port 22"],
            &[
                "at=5 TCP(10.0.0.1, 22, 10.0.0.2, 1000, SA)",
                "at=6 TCP(10.0.0.1, 23, 10.0.0.2, 1000, SA)",
                UDP,
            ],
            &["TCP(10.0.0.2, 1000, 10.0.0.1, 22, S)", "TCP(10.0.0.2, 1000, 10.0.0.1, 23, S)"],
            &[],
            expect![[r#"
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.2:1000 > 10.0.0.1:22 S ttl 64 len 40
                to right at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 TCP 10.0.0.1:22 > 10.0.0.2:1000 SA ttl 64 len 40
            "#]],
        );
    }

    #[test]
    fn with_state_fragments_are_judged_as_wholes_and_pass_as_fragments() {
        let first = "FRAGMENT(10.0.0.1, 10.0.0.2, 2000, 03e8003500480000 1111111111111111 1111111111111111 1111111111111111 1111111111111111)";
        let last = "FRAGMENT(10.0.0.1, 10.0.0.2, 5, 2222222222222222 3333333333333333 4444444444444444 5555555555555555)";
        check(
            &["firewall", "--stateful", "--mtu", "68", "allow dst udp port 53"],
            &[first, last],
            &[],
            &[],
            expect![[r#"
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 68 more
            to right at 1.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 10.0.0.1 > 10.0.0.2 fragment at 48 ttl 64 len 44 last
        "#]],
        );
        check(&["firewall", "--stateful", "allow dst udp port 54"], &[last, first], &[], &[], expect![""]);
    }
}
