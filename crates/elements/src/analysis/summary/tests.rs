//! What goes in comes out: fields of dumps, read and printed again.

use expect_test::{expect, Expect};
use proptest::prelude::*;

use super::compose::Defaults;
use super::describe::{prepare, Described, Wishes};
use super::dump::{Dump, Next};
use super::find;
use super::input::Input;

const DEFAULTS: Defaults = Defaults { protocol: 6, has_flow: false, minor_version: 3, zeroes: true };
const WISHES: Wishes = Wishes { complains: true, is_careful: true, counts_extra_length: true, restored: 0 };

/// Prints these fields of every packet of a dump.
fn print(dump: Vec<u8>, fields: &[&str]) -> String {
    let mut dump = Dump::new(Input::from_data(dump), DEFAULTS, false);
    let mut text = Vec::new();
    let mut told = String::new();
    loop {
        let mut packet = match dump.next(&mut |line| told += &format!("{line}\n")) {
            Next::Packet(packet) => packet,
            Next::Nothing => continue,
            Next::End => break,
        };
        let lengths = prepare(&mut packet, true);
        let mut described = Described::new(&packet, WISHES, Some(lengths));
        for field in fields.iter().filter_map(|name| find(name)) {
            match (field.extract)(&mut described) {
                Some(value) => (field.print)(&value, &described, &mut text),
                None => text.push(b'-'),
            }
            text.push(b' ');
        }
        text.pop();
        text.push(b'\n');
    }
    String::from_utf8_lossy(&text).into_owned() + &element::spoken(&told)
}

fn check(dump: &str, fields: &[&str], expect: Expect) {
    expect.assert_eq(&print(dump.as_bytes().to_vec(), fields));
}

#[test]
fn headers_are_made_as_fields_need_them() {
    check(
        "!data ip_src proto sport dport payload\n1.0.0.1 U 7 8 \"a\\n\"\n1.0.0.2 I\n1.0.0.3 T 1 -\n",
        &["src", "proto", "sport", "dport", "len", "ip ttl", "payload"],
        expect![[r#"
            1.0.0.1 U 7 8 30 100 "a\n"
            1.0.0.2 I - - 28 100 "\000\000\000\000\000\000\000\000"
            1.0.0.3 T 1 0 40 100 ""
        "#]],
    );
}

#[test]
fn an_excess_of_two_gigabytes_and_more_is_none() {
    check(
        "!data proto ip_len payload\nT 4294967295 x\nT 2147483647 x\n",
        &["ip_hl", "tcp_off", "len", "payload"],
        expect![[r#"
            20 20 4294967295 "x"
            60 60 2147483647 -
        "#]],
    );
}

#[test]
fn options_are_printed_as_they_were_read() {
    check(
        "!data ip_opt tcp_opt\nrr{1.2.3.4}+2;148=0:0 mss1400;wscale4;sackok\nts{1,!2}+1++3 sack1-2,sack3-4\n? ?\n",
        &["ip_opt", "tcp_opt", "tcp_sack", "ip_hl", "tcp_off"],
        expect![[r#"
            rr{1.2.3.4}+2;148=0:0 mss1400;wscale4;sackok sackok 40 32
            ts{1,!2}+1++3 sack1-2;sack3-4 sack1-2;sack3-4 36 40
            <data>:4: packet parse error
        "#]],
    );
}

#[test]
fn fillers_are_read_only_where_all_options_are() {
    let fields = ["tcp_opt", "tcp_off"];
    let check_field = |field: &str, text: &str, expected| {
        check(&format!("!data proto {field}\nT {text}\n"), &fields, expected);
    };
    check_field("tcp_opt", "mss1400;nop;sackok", expect![["mss1400;sackok 28\n"]]);
    check_field("tcp_ntopt", "mss1400;sackok", expect![["mss1400;sackok 28\n"]]);
    for text in ["mss1400;nop;sackok", "nop", "mss1400;eol"] {
        check_field("tcp_ntopt", text, expect![[". 20\n"]]);
    }
    check_field("tcp_sack", "sackok;nop;sack1-2", expect![[". 20\n"]]);
}

#[test]
fn flags_without_a_letter_are_not_taken_for_none() {
    check(
        "!data proto tcp_flags\nT .\nT 512\nT 1537\nT 4095\n",
        &["tcp_flags", "proto"],
        expect![[r#"
            . T
             T
            F T
            FSRPAUECN T
        "#]],
    );
}

#[test]
fn mistakes_are_told_with_their_line() {
    check(
        "!data frob src t\"us\n!flowid x\n!proto x\n!binary x y\n",
        &["src"],
        expect![[r#"
            <data>:1: warning: unknown content type 'frob'
            <data>:1: warning: unknown content type 'tus
            <data>:1: warning: '
            <data>:2: bad !flowid specification
            <data>:3: bad protocol in !proto
            <data>:4: bad !binary specification
        "#]],
    );
}

#[test]
fn names_have_short_forms() {
    for (short, name) in
        [("src", "ip_src"), ("tcp seq", "tcp_seq"), ("ts", "timestamp"), ("agg", "aggregate")]
    {
        assert_eq!(find(short).map(|field| field.name), Some(name));
    }
    assert!(find("frob").is_none() && find("").is_none());
}

const ALL: &[&str] = &[
    "timestamp",
    "wire_len",
    "eth_src",
    "eth_type",
    "ip_src",
    "ip_len",
    "ip_hl",
    "ip_fragoff",
    "ip_proto",
    "ip_opt",
    "sport",
    "tcp_flags",
    "tcp_opt",
    "tcp_off",
    "tcp_sack",
    "udp_len",
    "icmp_type",
    "icmp_code_name",
    "icmp_flowid",
    "payload_len",
    "payload",
    "payload_md5",
];

proptest! {
    #[test]
    fn any_words_make_packets(words in "[-0-9a-zSAFTUI.,;:{}+!^=?\" \n]{0,200}", start in 0..12usize) {
        let names: Vec<_> = ALL.iter().cycle().skip(start).take(ALL.len() - 1).copied().collect();
        print(format!("!data {}\n{words}", names.join(" ")).into_bytes(), ALL);
    }

    #[test]
    fn any_options_can_be_read(text in "(rr|ssrr|ts|ts.ip|ts.preip|mss|sack|wscale|99|nop)[{=0-9.,;:!^+}-]{0,30}") {
        print(format!("!data ip_opt tcp_opt\n{text} {text}\n").into_bytes(), ALL);
    }

    #[test]
    fn any_record_makes_a_packet(record: Vec<u8>, start in 0..20usize) {
        let names: Vec<_> = ALL.iter().cycle().skip(start).take(ALL.len()).copied().collect();
        let mut dump = format!("!data {}\n!binary\n", names.join(" ")).into_bytes();
        dump.extend((record.len() as u32 + 4).to_be_bytes());
        dump.extend(record);
        print(dump, ALL);
    }

    #[test]
    fn any_bytes_can_be_described(bytes: Vec<u8>, network in 0..20usize) {
        let mut packet = element::Packet::from_bytes(&[&[0x45][..], &bytes].concat());
        packet.set_network_header(network.min(packet.len()), 20);
        let lengths = prepare(&mut packet, true);
        let mut described = Described::new(&packet, WISHES, Some(lengths));
        for field in ALL.iter().filter_map(|name| find(name)) {
            if let Some(value) = (field.extract)(&mut described) {
                (field.print)(&value, &described, &mut Vec::new());
            }
        }
    }
}
