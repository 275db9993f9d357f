//! Programs and messages are those of Click.

use expect_test::{expect, Expect};
use filter::{BuiltInNames, Classifier, Headers, IpFilter};

fn check_filter(rules: &[&str], n_outputs: usize, expect: Expect) {
    let (filter, diagnostics) = IpFilter::parse(rules, n_outputs, &BuiltInNames);
    expect.assert_eq(&describe(filter.map(|filter| filter.program().to_string()), &diagnostics));
}

fn check_ip_classifier(patterns: &[&str], expect: Expect) {
    let (filter, mut diagnostics) = IpFilter::parse_classifier(patterns, patterns.len(), &BuiltInNames);
    diagnostics.extend(filter.iter().flat_map(|filter| filter.unused_outputs(patterns.len())));
    expect.assert_eq(&describe(filter.map(|filter| filter.program().to_string()), &diagnostics));
}

fn check_classifier(patterns: &[&str], expect: Expect) {
    let (classifier, diagnostics) = Classifier::parse(patterns, patterns.len(), 0);
    expect.assert_eq(&describe(classifier.map(|classifier| classifier.program().to_string()), &diagnostics));
}

fn describe(program: Option<String>, diagnostics: &[filter::Diagnostic]) -> String {
    diagnostics.iter().map(|diagnostic| format!("{diagnostic}\n")).chain(program).collect()
}

#[test]
fn ports_and_icmp_types_share_tests() {
    let patterns = ["dst port 7777", "dst port 8888", "dst port 7000", "icmp type echo", "icmp", "-"];
    check_ip_classifier(
        &patterns,
        expect![[r#"
         0 264/00060000%00ff0000  yes->step 2  no->step 1
         1 264/00110000%00ff0000  yes->step 2  no->step 6
         2 260/00000000%00001fff  yes->step 3  no->[5]
         3 512/00001e61%0000ffff  yes->[0]  no->step 4
         4 512/000022b8%0000ffff  yes->[1]  no->step 5
         5 512/00001b58%0000ffff  yes->[2]  no->[5]
         6 264/00010000%00ff0000  yes->step 7  no->[5]
         7 260/00000000%00001fff  yes->step 8  no->[4]
         8 512/08000000%ff000000  yes->[3]  no->[4]
        safe length 516
        alignment offset 0
    "#]],
    );
    check_ip_classifier(
        &["proto icmp", "dst port 53", "(proto tcp and !(syn and !ack)) or (tcpudp port >= 1024)", "-"],
        expect![[r#"
             0 264/00010000%00ff0000  yes->[0]  no->step 1
             1 264/00060000%00ff0000  yes->step 3  no->step 2
             2 264/00110000%00ff0000  yes->step 3  no->[3]
             3 260/00000000%00001fff  yes->step 4  no->step 5
             4 512/00000035%0000ffff  yes->[1]  no->step 5
             5 264/00060000%00ff0000  yes->step 6  no->step 8
             6 260/00000000%00001fff  yes->step 7  no->[2]
             7 524/00020000%00120000  yes->step 9  no->[2]
             8 260/00000000%00001fff  yes->step 9  no->[3]
             9 512/00000000%fc00fc00  yes->[3]  no->[2]  short->yes
            safe length 526
            alignment offset 0
        "#]],
    );
}

#[test]
fn services_and_bare_networks() {
    let rules = [
        "0 udp dst port netbios-ns",
        "1 udp dst port 5353",
        "2 udp src port bootpc",
        "3 128.230.206.0/24",
        "4 -",
    ];
    check_filter(
        &rules,
        5,
        expect![[r#"
         0 264/00110000%00ff0000  yes->step 1  no->step 5
         1 260/00000000%00001fff  yes->step 2  no->step 5
         2 512/00000089%0000ffff  yes->[0]  no->step 3
         3 512/000014e9%0000ffff  yes->[1]  no->step 4
         4 512/00440000%ffff0000  yes->[2]  no->step 5
         5 268/80e6ce00%ffffff00  yes->[3]  no->step 6
         6 272/80e6ce00%ffffff00  yes->[3]  no->[4]
        safe length 516
        alignment offset 0
    "#]],
    );
}

#[test]
fn rules_that_decide_nothing_disappear() {
    let rules = [
        "allow tcp && dst 10.0.0.0/32 && src 2.0.0.0/32",
        "allow tcp && dst 10.0.0.0/32 && dst port 80 && src 2.0.0.0/32",
        "allow all",
    ];
    check_filter(
        &rules,
        1,
        expect![[r#"
        all->[0]
        safe length 0
        alignment offset 0
    "#]],
    );
    check_filter(
        &["allow false"],
        1,
        expect![[r#"
        all->[2147483647]
        safe length 0
        alignment offset 0
    "#]],
    );
    check_filter(
        &["allow false", "allow false", "allow src 10.0.0.1"],
        1,
        expect![[r#"
         0 268/0a000001%ffffffff  yes->[0]  no->[X]
        safe length 272
        alignment offset 0
    "#]],
    );
    check_filter(
        &[],
        1,
        expect![[r#"
        all->[2147483647]
        safe length 0
        alignment offset 0
    "#]],
    );
}

#[test]
fn ethernet_addresses() {
    let rules = [
        "allow src 0:1:2:3:4:5",
        "allow src 10.0.0.0 & 8.0.0.0 = 8.0.0.0",
        "allow dst 10:20:30:40:50:60",
        "allow host 9:A:B:C:D:E",
        "deny all",
    ];
    check_filter(
        &rules,
        1,
        expect![[r#"
         0   8/00010203%ffffffff  yes->step 1  no->step 2
         1  12/04050000%ffff0000  yes->[0]  no->step 2
         2 268/0a000000%ffffffff  yes->[0]  no->step 3
         3   0/00001020%0000ffff  yes->step 4  no->step 5
         4   4/30405060%ffffffff  yes->[0]  no->step 5
         5   8/090a0b0c%ffffffff  yes->step 6  no->step 7
         6  12/0d0e0000%ffff0000  yes->[0]  no->step 7
         7   0/0000090a%0000ffff  yes->step 8  no->[X]
         8   4/0b0c0d0e%ffffffff  yes->[0]  no->[X]
        safe length 272
        alignment offset 0
    "#]],
    );
}

#[test]
fn many_values_are_sorted() {
    let rules = ["0 tcp dst port 80 or 443 or 22 or 25 or 110 or 143 or 8080 or 8443"];
    check_filter(
        &rules,
        1,
        expect![[r#"
         0 264/00060000%00ff0000  yes->step 1  no->[X]
         1 260/00000000%00001fff  yes->step 2  no->[X]
         2 512/00000016%0000ffff  yes->[0]  no->step 3
         3 512/00000019%0000ffff  yes->[0]  no->step 4
         4 512/00000050%0000ffff  yes->[0]  no->step 5
         5 512/0000006e%0000ffff  yes->[0]  no->step 6
         6 512/0000008f%0000ffff  yes->[0]  no->step 7
         7 512/00001f90%0000ffff  yes->[0]  no->step 8
         8 512/000001bb%0000ffff  yes->[0]  no->step 9
         9 512/000020fb%0000ffff  yes->[0]  no->[X]
        safe length 516
        alignment offset 0
    "#]],
    );
}

#[test]
fn all_errors_are_reported() {
    let rules = [
        "allow src prot 5",
        "3 foo",
        "bar all",
        "0 tcp opt 300",
        "0 src host 1.2.3.4 port",
        "0 src port > 70000 or ip ttl < 300",
        "0 echo",
        "0 (tcp",
        "0 tcp ? udp",
        "0 ip[3:2] 1",
        "0 ip id www",
        "",
    ];
    check_filter(
        &rules,
        1,
        expect![[r#"
        pattern 0: partial directive
        pattern 0: empty term near 'prot'
        pattern 0: garbage after expression at 'prot'
        pattern 1: slot '3' out of range
        pattern 1: empty term near 'foo'
        pattern 1: missing expression
        pattern 1: garbage after expression at 'foo'
        pattern 2: unknown slot ID 'bar'
        pattern 3: 'tcp opt': value 300 out of range
        pattern 4: 'port': value missing
        pattern 5: warning: relation '> 70000' is always false (range 0-65535)
        pattern 5: warning: relation '< 300' is always true (range 0-255)
        pattern 6: '<none>  echo' is ambiguous; try 'port  echo', 'port  echo', 'icmp type  echo'
        pattern 7: missing ')'
        pattern 8: missing ':' in ternary expression
        pattern 9: field [3:2] does not fit in a single word
        pattern 9: specify header field or 'port'
        pattern 10: 'ip id  www' is meaningless; try 'port  www', 'port  www'
        empty pattern 11
    "#]],
    );
}

#[test]
fn outputs_that_are_never_reached_are_warned_of() {
    check_ip_classifier(
        &["tcp", "tcp", "-", "udp"],
        expect![[r#"
        warning: output 1 matches no packets
        warning: output 3 matches no packets
         0 264/00060000%00ff0000  yes->[0]  no->[2]
        safe length 266
        alignment offset 0
    "#]],
    );
}

#[test]
fn classifier_programs() {
    check_classifier(
        &["1/01", "-"],
        expect![[r#"
         0   0/00010000%00ff0000  yes->[0]  no->[1]
        safe length 2
        alignment offset 0
    "#]],
    );
    check_classifier(
        &["12/0806 20/0001", "12/0806 20/0002", "12/0800", "-"],
        expect![[r#"
         0  12/08060000%ffff0000  yes->step 1  no->step 3
         1  20/00010000%ffff0000  yes->[0]  no->step 2
         2  20/00020000%ffff0000  yes->[1]  no->[3]
         3  12/08000000%ffff0000  yes->[2]  no->[3]
        safe length 22
        alignment offset 0
    "#]],
    );
    check_classifier(
        &["!12/08?0%ff?f 14/45", "12/0800", "-"],
        expect![[r#"
         0  12/08000000%ff0f0000  yes->step 2  no->step 1
         1  12/00004500%0000ff00  yes->[0]  no->[2]
         2  12/08000000%ffff0000  yes->[1]  no->[2]
        safe length 15
        alignment offset 0
    "#]],
    );
}

#[test]
fn classifier_errors() {
    check_classifier(
        &["12", "x", "3/z", "1/012", "1/0102%ff", "1/01%ffff"],
        expect![[r#"
        pattern 0: expected '/'
        pattern 1: expected a digit
        pattern 2: value has less than 2 hex digits
        pattern 2: expected a digit
        pattern 3: value has odd number of hex digits
        pattern 4: mask has too few hex digits
        pattern 5: mask has too many hex digits
    "#]],
    );
}

fn outputs(rules: &[&str], packets: &[&[u8]]) -> Vec<Option<usize>> {
    let (filter, _) = IpFilter::parse(rules, 4, &BuiltInNames);
    let filter = filter.expect("good rules");
    let headers = |network| Headers { mac: &[], network, transport: 20 };
    packets.iter().map(|network| filter.classify(&headers(network))).collect()
}

#[test]
fn short_packets_fail_tests_but_pass_their_negation() {
    let mut packet = [0; 24];
    packet[0] = 0x45;
    let (long, short) = (&packet[..], &packet[..21]);
    assert_eq!(outputs(&["0 transp[1] & 128 == 0", "1 -"], &[long, short]), [Some(0), Some(1)]);
    assert_eq!(outputs(&["0 transp[1] & 128 != 0", "1 -"], &[long, short]), [Some(1), Some(1)]);
    assert_eq!(outputs(&["0 not transp[1] & 128 == 0", "1 -"], &[long, short]), [Some(1), Some(0)]);
    assert_eq!(outputs(&["0 ip[19] & 128 == 0", "1 -"], &[long, &packet[..19]]), [Some(0), Some(1)]);
}

#[test]
fn later_fragments_have_no_ports() {
    let mut packet = [0; 28];
    (packet[0], packet[9], packet[23]) = (0x45, 17, 53);
    let mut fragment = packet;
    fragment[7] = 1;
    assert_eq!(outputs(&["0 dst port 53", "1 udp", "2 -"], &[&packet, &fragment]), [Some(0), Some(1)]);
}
