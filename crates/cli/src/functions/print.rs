//! `weir print`: a line a packet.

use super::leaf::{Leaf, Type};
use super::side::{self, DIRECTION};
use super::values::Values;
use super::{Example, Function};

/// The function.
pub const FUNCTION: Function = Function {
    name: "print",
    source: include_str!("../../../../functions/print/print.click"),
    parts: &[],
    leaves: &[
        Leaf::new("contents", Type::Choice(&["none", "hex", "ascii"]), "Print the bytes of IP packets.")
            .default("none"),
        Leaf::new("payload", Type::Choice(&["no", "hex", "ascii"]), "Print the bytes behind IPv4 packets' headers.")
            .default("no"),
        Leaf::new("max-length", Type::Unsigned { min: 0, max: 65_535 }, "Most bytes to print of a packet.")
            .default("1500"),
        Leaf::new("ttl", Type::Flag, "Print the time to live of IPv4 packets."),
        Leaf::new("length", Type::Flag, "Print the total length of IPv4 packets."),
        Leaf::new("no-time", Type::Flag, "Do not print times."),
        DIRECTION,
    ],
    examples: &[
        Example {
            line: "weir read lan.pcap | weir print 2> lines.txt | weir write out.pcap",
            purpose: "See what goes through",
        },
        Example {
            line: "weir read lan.pcap | weir filter icmp | weir print --contents hex --ttl --right 2> pings.txt | weir write pings.pcap",
            purpose: "See the bytes of pings, too",
        },
    ],
    holds: None,
    graph,
};

fn graph(values: &Values) -> Result<String, String> {
    let [contents, payload, most] = ["contents", "payload", "max-length"].map(|name| values.need(name));
    let (contents, payload, most) = (contents?.to_uppercase(), payload?.to_uppercase(), most?);
    let has_contents = contents != "NONE";
    let (time, ttl, length) = (!values.flag("no-time"), values.flag("ttl"), values.flag("length"));
    side::each_way_with(values, |direction| {
        format!(
            "PrintFunction({}, {time}, {contents}, {has_contents}, {payload}, {ttl}, {length}, {most})",
            direction.to
        )
    })
}

#[cfg(test)]
mod tests {
    use super::super::testing::{check, fails, UDP};
    use expect_test::expect;

    #[test]
    fn a_line_a_packet_is_printed_in_order() {
        check(
            &["print"],
            &[
                UDP,
                "ARP(10.0.0.1, 10.0.0.2)",
                "UDP6(2001:db8::1, 5, 2001:db8::2, 6)",
                "VLAN(5, 10.0.0.1, 5, 10.0.0.2, 6)",
                UDP,
                "RAW(88cc 0102)",
            ],
            &["UDP(10.0.0.2, 53, 10.0.0.1, 1000)"],
            &[],
            expect![[r#"
                right: 1000000000.000000: 10.0.0.1.1000 > 10.0.0.2.53: udp 12
                left: 1000000000.000500: 10.0.0.2.53 > 10.0.0.1.1000: udp 12
                right: 1000000000.001000: arp who-has 10.0.0.2 tell 10.0.0.1
                right: 2001:db8::1 -> 2001:db8::2 plen 8, next 17, hlim 64
                right vlan: 1000000000.003000: 10.0.0.1.5 > 10.0.0.2.6: udp 12
                right: 1000000000.004000: 10.0.0.1.1000 > 10.0.0.2.53: udp 12
                right: 1000000000.005000:   16 | 02000000 00020200 00000001 88cc0102
                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.2:53 > 10.0.0.1:1000 ttl 64 len 32
                to right at 1.0 ms: 2:0:0:0:0:1 > ff:ff:ff:ff:ff:ff ARP who has 10.0.0.2 tell 10.0.0.1
                to right at 2.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 86dd, 48 bytes
                to right at 3.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 VLAN 5 UDP 10.0.0.1:5 > 10.0.0.2:6 ttl 64 len 32
                to right at 4.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to right at 5.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 type 88cc, 2 bytes
            "#]],
        );
    }

    #[test]
    fn contents_are_printed_if_wanted() {
        check(
            &[
                "print",
                "--no-time",
                "--ttl",
                "--length",
                "--contents",
                "hex",
                "--max-length",
                "24",
                "--right",
            ],
            &[UDP],
            &[UDP],
            &[],
            expect![[r#"
                right: ttl 64 length 32 10.0.0.1.1000 > 10.0.0.2.53: udp 12
                  02000000 00020200 00000001 08004500 00200007 00004011
                to right at 0.0 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
                to left at 0.5 ms: 2:0:0:0:0:1 > 2:0:0:0:0:2 UDP 10.0.0.1:1000 > 10.0.0.2:53 ttl 64 len 32
            "#]],
        );
        fails(
            &["print", "--contents", "octal"],
            expect![[r#"
            error: invalid value 'octal' for '--contents <WORD>': expected one of none, hex, ascii

            For more information, try '--help'.
        "#]],
        );
    }
}
