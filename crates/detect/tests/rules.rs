//! The language of rules.

use detect::rules::parse::Reader;
use expect_test::{expect, Expect};
use graph::Diagnostics;
use proptest::prelude::*;

fn told(text: &str) -> (usize, String) {
    let (mut reader, mut diagnostics) = (Reader::default(), Diagnostics::default());
    reader.read("rules", text, &mut diagnostics);
    let line =
        |d: &graph::Diagnostic| format!("{}: {}; {}\n", d.place, d.message, d.help.as_deref().unwrap_or(""));
    (reader.finish().rules.len(), diagnostics.list.iter().map(line).collect())
}

fn check(text: &str, expect: Expect) {
    let (n_rules, told) = told(text);
    expect.assert_eq(&format!("{n_rules} rules\n{told}"));
}

#[test]
fn public_rules_are_read() {
    check(
        r#"
        # variables, a comment
        ipvar HOME_NET [10.0.0.0/8,!10.1.0.0/16,2001:db8::/32]
        ipvar EXTERNAL_NET !$HOME_NET
        portvar HTTP_PORTS [80,8000:8100,!8080]
        config classification: my-class,Something of mine,4
        alert tcp $EXTERNAL_NET any -> $HOME_NET $HTTP_PORTS (msg:"a \"quoted\" \; text"; flow:to_server,established; \
            content:"GET|20 2F|\:"; depth:6; nocase; content:!"x"; within:4; distance:2; pcre:"/a[^\/]{2,}$/Ri"; sid:1; rev:2;)
        alert udp any [1024:,!5353] <> !10.0.0.1 53 (content:"|00 01|"; offset:2; byte_test:2,>,10,0,relative; \
            isdataat:!5,relative; byte_jump:1,0,relative,align; classtype:my-class; sid:2;)
        drop icmp any any -> any any (itype:8; icode:0; dsize:>100; ttl:<5; sid:3;)
        alert http any any -> any any (http.method; content:"POST"; http.uri; content:"/x"; startswith; bsize:>3; sid:4;)
        alert tcp any any -> any any (content:"a"; http_uri; fast_pattern:only; content:"b",nocase,offset 3,http_header; sid:5;)
        alert tcp any any -> any any (flags:S,12; threshold:type both, track by_src, count 5, seconds 60; sid:6;)
        "#,
        expect![[r#"
            5 rules
            rules:4:29: a variable that both includes and excludes addresses cannot be negated; write the list out
            rules:7:19: there is no address variable `EXTERNAL_NET`; define it in a line before, such as `ipvar EXTERNAL_NET [10.0.0.0/8]`
        "#]],
    );
}

#[test]
fn all_mistakes_are_told_with_their_places() {
    check(
        r#"alert tcp any any -> any 80 (msg:"no number"; content:"a";)
allert tpc 10.0.0.300 any => $NETS 99999 (foo:1; content:"a|0|"; nocase; depth:0; sid:x;)
alert tcp any any -> any 80 content:"a"
alert tcp any -> any 80 (sid:1;)
alert tcp any any -> any 80 (pcre:"/(a)\1/"; pcre:"/(?=a)/"; pcre:"/a/q"; pcre:"a"; pcre:"/(/"; sid:2;)
alert tcp any any -> any 80 (offset:1; content:""; content:"a"; offset:1; distance:1; sid:3;)
alert tcp any any -> any 80 (flow:up; flowbits:isset,a|b; classtype:none; ssl_state:x; dns.query; flags:Q; sid:4;)
alert tcp any any -> any 80 (content:!"a"; fast_pattern; threshold:type limit; dsize:5<; sid:5;)
alert tcp any any -> any 80 (sid:6;)
alert tcp any any -> any 80 (sid:6;)
alert tcp any any -> any 80 (sid:4294967296; rev:-1; threshold:type limit, count 0; detection_filter:seconds 0;)
config checksum_mode: none
ipvar NAME"#,
        expect![[r#"
            2 rules
            rules:1:30: the rule has no number; add `sid:1000001;`
            rules:2:1: `allert` is no action; write `alert`, `drop`, `pass` or `log`
            rules:2:8: `tpc` is no protocol known here; write `tcp`, `udp`, `icmp` or `ip`
            rules:2:27: `=>` is no direction; write `->`, or `<>` for both directions
            rules:2:12: `10.0.0.300` is no address or network; write `10.0.0.1`, `10.0.0.0/8`, `2001:db8::/32`, `any`, `$NAME` or a list in brackets
            rules:2:30: there is no address variable `NETS`; define it in a line before, such as `ipvar NETS [10.0.0.0/8]`
            rules:2:36: `99999` is no port; write `80`, `8000:8100`, `:1023`, `1024:`, `any`, `$NAME` or a list in brackets
            rules:2:43: there is no option `foo`; docs/intrusion-detection.md lists the options
            rules:2:50: `0` are no bytes; write pairs of hexadecimal digits, as in `|0d 0a|`
            rules:2:66: `nocase` has no content before it; put it behind the `content` that it is about
            rules:2:74: `depth` has no content before it; put it behind the `content` that it is about
            rules:2:83: `sid` needs a number, not `x`; write `sid:1;`
            rules:3:1: a rule has no options; add `(msg:"..."; sid:1000001;)`
            rules:4:1: a rule begins with seven words, here are 6; write `alert tcp any any -> any 80 (...)`
            rules:5:30: the pattern `(a)\1` has backreferences, which cannot be searched in bounded time; write it without, or as several contents
            rules:5:46: the pattern `(?=a)` has look-around, which cannot be searched in bounded time; write it without, or as several contents
            rules:5:62: `q` is no flag of a pattern; the flags are imsxGAEROB, and UIPHDMCKSYVWQ for parts of HTTP
            rules:5:75: the pattern is not between slashes; write `pcre:"/PATTERN/flags"`
            rules:5:85: the pattern `(` is wrong: unclosed group; correct the pattern
            rules:6:30: `offset` has no content before it; put it behind the `content` that it is about
            rules:6:40: the content is empty; write what is searched
            rules:6:30: a content counts from the beginning and from the content before it; use offset and depth, or distance and within
            rules:7:30: `up` is nothing that flow knows; write `established`, `not_established`, `stateless`, `to_server`, `to_client`, `only_stream` or `no_stream`
            rules:7:39: `isset,a|b` names no bit, or alternatives; write `flowbits:isset,NAME`, and a rule for each alternative
            rules:7:59: there is no class `none`; define it before: `config classification: none,DESCRIPTION,PRIORITY`
            rules:7:75: there is no option `ssl_state`; docs/intrusion-detection.md lists the options
            rules:7:88: there is no option `dns.query`; this part is not looked for: search the stream with `content` or `pcre`
            rules:7:99: `Q` is no flag; the flags are FSRPAUEC210
            rules:8:44: a content that must not be there is no fast pattern; let a content that must be there be the fast pattern
            rules:8:58: threshold is not complete; write `threshold:type limit, track by_src, count 5, seconds 60;`
            rules:8:80: `5<` is no number or range; write `5`, `!5`, `<5`, `>5`, `<=5`, `>=5` or `5<>10`
            rules:10:1: there is another rule with sid 6, in line 9; give each rule a number of its own
            rules:11:30: `4294967296` does not fit into the 32 bits of `sid`; write a smaller number
            rules:11:46: `-1` does not fit into the 32 bits of `rev`; write a larger number
            rules:11:54: `count` cannot be 0; write `count 1` or more
            rules:11:85: `seconds` cannot be 0; write `seconds 1` or more
            rules:12:8: only `config classification:` is known; leave the line out; limits are arguments of the element
            rules:13:1: `ipvar` needs a name and a value; write `ipvar HOME_NET 10.0.0.0/8`
        "#]],
    );
}

proptest! {
    #[test]
    fn no_text_stops_the_reader(text in "(alert|drop|ipvar|config|#)? ?[a-z$!\\[\\]:,.0-9 ]{0,20} ?(->|<>)? ?[a-z0-9 ]{0,8}\\(?[ -~é\n]{0,80}\\)?") {
        told(&text);
    }

    #[test]
    fn no_options_stop_the_reader(options in prop::collection::vec(("(content|pcre|flow|flowbits|threshold|dsize|flags|byte_test|byte_jump|isdataat|depth|within|offset|msg|sid|http_uri|urilen)", "[ -~]{0,16}|\"!?/?[ -~]{0,12}/?[a-zA-Z]?\""), 0..6)) {
        let options: String = options.iter().map(|(name, value)| format!("{name}:{value};")).collect();
        told(&format!("alert tcp any any -> any any ({options})"));
    }
}
