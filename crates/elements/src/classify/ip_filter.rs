//! Filters IP packets by rules.
//!
//! A rule is an action and a pattern; the first rule whose pattern matches a packet decides about it. The action `allow`, or
//! `0`, sends the packet to output 0; another number sends it to that output; `deny` or `drop` drops it, as is done with
//! packets that match no rule. The help of `IPClassifier` says what patterns are.
//!
//! Packets must have a marked IP header: put `CheckIPHeader` or `MarkIPHeader` before. Rules are compiled: thousands of rules
//! take hardly longer than a few.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> IPFilter(deny src net 10.0.0.0/8, allow tcp && dst port 22 or 80, allow icmp, drop all)
//!     -> Discard;
//! ```

use element::{
    Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Refusal, Verdict,
};

use super::ip_patterns::{headers, report};
use super::scope_names::ScopeNames;

/// The class.
pub const CLASS: Class = Class::new::<IPFilter>("IPFilter", "1/-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::FailedUnless("need "))])
    .live();

const ARGS: &[Arg] = &[Arg::rest(
    "RULE",
    "rule",
    "`ACTION PATTERN`; ACTION is an output, `allow`, `deny` or `drop`, and no pattern matches all packets.",
)];

const HANDLERS: &[Handler] =
    &[Handler::read("program", "The decision program: a test of a word a line, and where to go.")];

const DROPS: &[DropReason] =
    &[DropReason::new("denied", "A rule drops such packets, or there is no rule for them.")];
const DENIED: usize = 0;

/// See the page above.
pub struct IPFilter {
    rules: filter::IpFilter,
}

impl Element for IPFilter {
    fn configure(conf: &mut Configure<'_>) -> Result<IPFilter, Failed> {
        let texts: Vec<String> = conf.args.rest().iter().map(|text| args::unquote_text(text)).collect();
        let (rules, diagnostics) = filter::IpFilter::parse(&texts, conf.n_outputs, &ScopeNames(conf.scope));
        report(conf, &diagnostics);
        conf.finish()?;
        Ok(IPFilter { rules: rules.ok_or("no rules")? })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        match self.rules.always() {
            Some(output) => ctx.send(verdict(output), batch),
            None => {
                let (quick, has_mac) = (self.rules.quick(), self.rules.looks_at_mac());
                ctx.push_each(batch, |packet| verdict(quick.classify(&headers(packet, has_mac))));
            }
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "program" => Ok(self.rules.program().to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

#[inline(always)]
fn verdict(output: Option<usize>) -> Verdict {
    match output {
        Some(output) => Verdict::port(output),
        None => Verdict::drop(DENIED),
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    /// TCP from 10.0.0.1 port 1234 to 192.168.1.1 port 80, SYN.
    const SYN: &str =
        "45000028 00010000 40060000 0a000001 c0a80101 04d20050 00000000 00000000 50020000 00000000";
    /// UDP from 10.0.0.1 to 1.2.3.4, port 53.
    const DNS: &str = "4500001c 00010000 40110000 0a000001 01020304 00350035 00080000";

    #[test]
    fn the_first_rule_that_matches_decides() {
        check(
            &format!(
                "InfiniteSource(DATA \\<{SYN}>, LIMIT 1) -> MarkIPHeader -> f :: IPFilter(drop udp dst host 1.2.3.4,
                    1 tcp dst port 80 and syn, allow all);
                InfiniteSource(DATA \\<{DNS}>, LIMIT 1) -> MarkIPHeader -> f;
                InfiniteSource(DATA \\<45000014 00010000 40110000 01010101 02020202>, LIMIT 1) -> MarkIPHeader -> f;
                f[0] -> Print(zero) -> Discard;
                f[1] -> Print(one) -> Discard;"
            ),
            expect![[r#"
                one:   40 | 45000028 00010000 40060000 0a000001 c0a80101 04d20050
                zero:   20 | 45000014 00010000 40110000 01010101 02020202
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_rule_by_rule() {
        check(
            "Idle -> f :: IPFilter(5 tcp, allow foo bar, bar, deny tcp port) -> Discard;",
            expect![[r#"
                config:1: While configuring 'f :: IPFilter':
                  pattern 0: slot '5' out of range
                  pattern 1: empty term near 'foo'
                  pattern 1: missing expression
                  pattern 1: garbage after expression at 'foo'
                  pattern 2: unknown slot ID 'bar'
                  pattern 3: 'port': value missing
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn rules_change_while_the_graph_runs() {
        check_reading(
            "Idle -> f :: IPFilter(allow tcp) -> Discard;
            Script(write f.config deny udp, write f.config foo, stop);",
            &["f.program", "f.config"],
            expect![[r#"
                While executing 'Script@4 :: Script':
                  While calling 'f.config foo':
                    pattern 0: unknown slot ID 'foo'
                f.program:  0 264/00110000%00ff0000  yes->[X]  no->[X]
                safe length 266
                alignment offset 0

                f.config: deny udp
            "#]],
        );
    }
}
