//! Lets packets pass that match one of tcpdump's filter expressions.
//!
//! libpcap compiles EXPR (pcap-filter(7)) when the graph is made; the empty expression matches everything. Packets that do not
//! match leave by output 1 if it is connected, else they are dropped. LINK says what packets begin with. `len` is the length that a
//! packet had before it was cut, if its annotation tells one.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> f :: PcapFilter("tcp port 80 or arp") -> ToDump(out.pcap);
//! f[1] -> Discard;
//! ```

use args::Word;
use element::{
    per_packet, same, Arg, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};
use sys::bpf::Program;

use crate::capture::{link, MAX_CAPTURED_LEN};
use crate::stage::framing::wire_len;

/// The class.
pub const CLASS: Class =
    Class::new::<PcapFilter>("PcapFilter", "1/1-2", "a/ah", "x/x").args(ARGS).handlers(HANDLERS).drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("EXPR", "string", "What to let pass, in tcpdump's words."),
    Arg::keyword("LINK", "word", "Link type, such as `ETHER`, `IP` or `#` and its number. Default ETHER."),
];

const HANDLERS: &[Handler] = &[
    Handler::read_write("filter", "The expression."),
    Handler::read("matched", "Packets that matched."),
    Handler::read("drops", "Packets that did not match."),
];

const DROPS: &[DropReason] = &[DropReason::new("no-match", "The packet does not match the expression.")];
const NO_MATCH: usize = 0;

const DLT_RAW: i32 = 12;

/// See the page above.
pub struct PcapFilter {
    expression: String,
    link_type: u32,
    program: Program,
    n_matched: u64,
    n_others: u64,
}

impl Element for PcapFilter {
    fn configure(conf: &mut Configure<'_>) -> Result<PcapFilter, Failed> {
        let expression: String = conf.args.need("EXPR");
        let encap = conf.args.get::<Word>("LINK").map(|word| word.0);
        let link_type = encap.as_deref().map_or(Some(link::ETHERNET), link::parse);
        if link_type.is_none() {
            conf.args.fail("bad link type");
        }
        conf.finish()?;
        let link_type = link_type.unwrap_or(link::ETHERNET);
        let program = compile(&expression, link_type)?;
        Ok(PcapFilter { expression, link_type, program, n_matched: 0, n_others: 0 })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "filter" => self.expression.clone(),
            "matched" => self.n_matched.to_string(),
            "drops" => self.n_others.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "filter" => {
                self.program = compile(value.trim(), self.link_type)?;
                self.expression = value.trim().to_string();
                Ok(())
            }
            _ => Err(format!("no {name} write handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        if let Some(old) = same::<PcapFilter>(ctx, old) {
            (self.n_matched, self.n_others) = (old.n_matched, old.n_others);
        }
    }
}

impl PcapFilter {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if self.program.matches(packet.data(), wire_len(packet)) {
            self.n_matched += 1;
            Verdict::PASS
        } else {
            self.n_others += 1;
            Verdict::port_or_drop(1, NO_MATCH)
        }
    }
}

fn compile(expression: &str, link_type: u32) -> Result<Program, String> {
    // Of IP without a header, the compiler has another number than capture files (DLT_RAW and LINKTYPE_RAW).
    let link_type = if link_type == link::RAW { DLT_RAW } else { link_type.min(i32::MAX as u32) as i32 };
    sys::bpf::compile(expression, link_type, MAX_CAPTURED_LEN).map_err(|error| match error.remedy() {
        Some(remedy) => format!("{error}; {remedy}"),
        None => error.to_string(),
    })
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading, LAN};
    use expect_test::expect;

    #[test]
    fn packets_that_match_pass_and_the_others_are_counted() {
        check_reading(
            &format!(
                "FromDump({LAN}, STOP true) -> f :: PcapFilter(\"udp port 53 or arp\") -> a :: Counter -> Discard;
                 FromDump({LAN}) -> g :: PcapFilter(\"not (udp port 53 or arp)\") -> b :: Counter -> Discard;
                 g[1] -> c :: Counter -> Discard;"
            ),
            &["f.matched", "f.drops", "a.count", "b.count", "c.count", "f.filter"],
            expect![[r#"
                f.matched: 17
                f.drops: 782
                a.count: 17
                b.count: 782
                c.count: 17
                f.filter: udp port 53 or arp
            "#]],
        );
    }

    #[test]
    fn the_length_is_that_before_a_packet_was_cut() {
        check_reading(
            &format!(
                "FromDump({LAN}, STOP true) -> Truncate(60) -> f :: PcapFilter(\"greater 1000\") -> Discard;
                 FromDump({LAN}) -> g :: PcapFilter(\"greater 1000\") -> Discard;"
            ),
            &["f.matched", "g.matched"],
            expect![[r#"
                f.matched: 401
                g.matched: 401
            "#]],
        );
    }

    #[test]
    fn the_expression_can_be_replaced() {
        check_reading(
            "s :: InfiniteSource(DATA \\<45000014 00000000 40060000 01020304 05060708>, LIMIT 4, BURST 1, STOP true)
                -> f :: PcapFilter(tcp, LINK IP) -> Discard;
             DriverManager(wait_stop, write f.filter udp or, write f.filter udp, write s.limit 8, write s.active true,
                wait_stop);",
            &["f.matched", "f.drops", "f.filter"],
            expect![[r#"
                While calling 'f.filter udp or':
                  filter `udp or`: can't parse filter expression: syntax error; `man pcap-filter` describes the expressions
                f.matched: 4
                f.drops: 4
                f.filter: udp
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check(
            "Idle -> PcapFilter(\"tcp prt 80\") -> Discard; Idle -> PcapFilter(tcp, LINK FOO) -> Discard",
            expect![[r#"
            config:1: While configuring 'PcapFilter@2 :: PcapFilter':
              filter `tcp prt 80`: can't parse filter expression: syntax error; `man pcap-filter` describes the expressions
            config:1: While configuring 'PcapFilter@5 :: PcapFilter':
              bad link type
            Router could not be initialized!
        "#]],
        );
    }
}
