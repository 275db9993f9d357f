//! Classifies IP packets by what their headers say.
//!
//! There is one output for each pattern, and a packet leaves by the output of the first pattern that it matches; a packet that
//! matches none is dropped. Packets must have a marked IP header: put `CheckIPHeader` or `MarkIPHeader` before. Patterns are
//! compiled: thousands of them take hardly longer than a few.
//!
//! A pattern is made of tests:
//!
//! | test | of |
//! |---|---|
//! | `ip proto PROTOCOL`, or the protocol's name alone | the protocol |
//! | `[src\|dst] host ADDRESS` | addresses |
//! | `[src\|dst] net PREFIX`, `[src\|dst] net ADDRESS mask MASK` | networks |
//! | `[src\|dst] [tcp\|udp] port PORT` | ports, of first fragments |
//! | `icmp type TYPE` | the ICMP type, of first fragments |
//! | `tcp opt OPTION` | a TCP flag: `syn`, `fin`, `ack`, `rst`, `psh`, `urg` |
//! | `tcp win WINDOW` | the TCP window |
//! | `ip vers`, `ip hl`, `ip id`, `ip tos`, `ip dscp`, `ip ttl`, `ip len`, `ip sum` and a number | a field |
//! | `ip frag`, `ip unfrag`, `ip ect`, `ip ce` | fragments; congestion marks |
//! | `ip[POS:LEN] VALUE`, `tcp[POS:LEN] VALUE`, `transp[POS:LEN] VALUE` | bytes of a header |
//! | `[src\|dst] ether host ADDRESS` | Ethernet addresses; the link-layer header must be marked |
//! | `true`, `false`; `-`, `any` or `all` as the whole pattern | nothing |
//!
//! Without `src` or `dst` either may match; `src and dst` asks for both. Tests are combined by `and`, `or`, `not` (`&&`, `||`,
//! `!`), `A ? B : C` and parentheses. A value may have `==`, `!=`, `<`, `>`, `<=` or `>=` before it, and `& MASK` before
//! that. What is clear may be left out: `port 80 or 81`, `10.0.0.0/8`, `syn`.
//!
//! There is a handler for the pattern of each output, `pattern0`, `pattern1` and so on, which can be written; only built-in
//! names can be used then.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> Strip(14) -> CheckIPHeader
//!     -> c :: IPClassifier(tcp && dst port www, udp && src net 10.0.0.0/8, -);
//! c[0], c[1], c[2] => Discard, Discard, Discard;
//! ```

use args::Scope;
use element::{
    Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Refusal, Verdict,
};

use super::ip_patterns::{headers, report};
use super::scope_names::ScopeNames;

/// The class.
pub const CLASS: Class = Class::new::<IPClassifier>("IPClassifier", "1/-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::FailedUnless("need ")), ("pattern#", Refusal::Failed)])
    .live();

const ARGS: &[Arg] =
    &[Arg::rest("PATTERN", "pattern", "The packets of an output; one pattern for each output.")];

const HANDLERS: &[Handler] = &[
    Handler::read("program", "The decision program: a test of a word a line, and where to go."),
    Handler::read("config", "The patterns.").flags("calm"),
    Handler::read_write("pattern#", "The pattern of an output."),
];

const DROPS: &[DropReason] = &[DropReason::new("no-match", "No pattern matches.")];
const NO_MATCH: usize = 0;

/// See the page above.
pub struct IPClassifier {
    /// As written.
    texts: Vec<String>,
    /// The configuration as it was given, or as it became when a pattern was written.
    config: String,
    rules: filter::IpFilter,
}

impl Element for IPClassifier {
    fn configure(conf: &mut Configure<'_>) -> Result<IPClassifier, Failed> {
        let texts = conf.args.rest();
        let (rules, diagnostics) = parse(&texts, conf.n_outputs, conf.scope);
        report(conf, &diagnostics);
        // As in Click, only the start tells of them.
        if let Some(rules) = rules.as_ref().filter(|_| !conf.environment.is_alone()) {
            report(conf, &rules.unused_outputs(conf.n_outputs));
        }
        conf.finish()?;
        Ok(IPClassifier { texts, config: conf.config.to_string(), rules: rules.ok_or("no patterns")? })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let (quick, has_mac) = (self.rules.quick(), self.rules.looks_at_mac());
        ctx.spread(batch, |_, packet| match quick.classify(&headers(packet, has_mac)) {
            Some(output) => Verdict::port(output),
            None => Verdict::drop(NO_MATCH),
        });
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match pattern_number(name) {
            Some(number) => Ok(self.texts.get(number).map_or_else(String::new, |text| args::uncomment(text))),
            None if name == "program" => Ok(self.rules.program().to_string()),
            None if name == "config" => Ok(self.config.clone()),
            None => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        let number = pattern_number(name).ok_or_else(|| format!("no {name} write handler"))?;
        let mut texts = self.texts.clone();
        *texts.get_mut(number).ok_or("missing mandatory arguments")? = value.to_string();
        let (rules, diagnostics) = parse(&texts, texts.len(), &ctx.scope());
        let (errors, warnings): (Vec<_>, Vec<_>) = diagnostics.into_iter().partition(|d| d.is_error());
        for warning in warnings {
            ctx.tell(&warning.to_string());
        }
        let message = || errors.iter().map(|error| error.text()).collect::<Vec<_>>().join("\n");
        self.rules = rules.ok_or_else(message)?;
        self.config = args::join_args(&texts);
        self.texts = texts;
        Ok(())
    }
}

fn parse(
    texts: &[String],
    n_outputs: usize,
    scope: &Scope<'_>,
) -> (Option<filter::IpFilter>, Vec<filter::Diagnostic>) {
    // What is left out is all packets, but quotes with nothing in them are a mistake.
    let pattern = |text: &String| if text.is_empty() { "all".to_string() } else { args::unquote_text(text) };
    let patterns: Vec<String> = texts.iter().map(pattern).collect();
    filter::IpFilter::parse_classifier(&patterns, n_outputs, &ScopeNames(scope))
}

/// The number in `pattern0` and its like.
fn pattern_number(name: &str) -> Option<usize> {
    name.strip_prefix("pattern")?.parse().ok()
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn patterns_are_read_and_written_one_by_one() {
        check_reading(
            "Idle -> c :: IPClassifier(tcp dst port 80, \"udp\");
            c[0] -> Discard; c[1] -> Discard;
            Script(write c.pattern1 icmp, write c.pattern0 nonsense, write c.pattern2 tcp, stop);",
            &["c.pattern0", "c.pattern1", "c.pattern2", "c.pattern00", "c.config", "c.program", "c.handlers"],
            expect![[r#"
                While executing 'Script@5 :: Script':
                  While calling 'c.pattern0 nonsense':
                    pattern 0: empty term near 'nonsense'
                    pattern 0: missing expression
                    pattern 0: garbage after expression at 'nonsense'
                  no 'c.pattern2' write handler
                c.pattern0: tcp dst port 80
                c.pattern1: icmp
                c.pattern2: no 'c.pattern2' read handler
                c.pattern00: no 'c.pattern00' read handler
                c.config: tcp dst port 80, icmp
                c.program:  0 264/00060000%00ff0000  yes->step 1  no->step 3
                 1 260/00000000%00001fff  yes->step 2  no->[X]
                 2 512/00000050%0000ffff  yes->[0]  no->[X]
                 3 264/00010000%00ff0000  yes->[1]  no->[X]
                safe length 516
                alignment offset 0

                c.handlers: pattern1	rw
                pattern0	rw
                program	r
                handlers	r.
                ports	r.
                config	rw.
                class	r.
                name	r.

            "#]],
        );
    }

    #[test]
    fn who_writes_is_told_of_patterns_but_not_of_outputs_that_no_packet_reaches() {
        check_reading(
            "Idle -> c :: IPClassifier(tcp, -); c[0], c[1] => Discard, Discard;
            Script(write c.config tcp, write c.pattern1 ip ttl > 256, writeq c.config \"-, udp\")",
            &["c.config"],
            expect![[r#"
                While executing 'Script@5 :: Script':
                  While calling 'c.config tcp':
                    need 2 arguments, one per output port
                  While calling 'c.pattern1 ip ttl > 256':
                    pattern 1: warning: relation '> 256' is always false (range 0-255)
                c.config: -, udp
            "#]],
        );
    }

    #[test]
    fn outputs_that_no_packet_reaches_are_told() {
        check_reading(
            "Idle -> c :: IPClassifier(tcp, udp, tcp port 80); c[0], c[1], c[2] => Discard, Discard, Discard;
            Idle -> IPClassifier(tcp, udp) -> Discard; Idle -> e :: IPClassifier(, tcp, '');
            e[0], e[1], e[2] => Discard, Discard, Discard;",
            &[],
            expect![[r#"
                config:1: While configuring 'c :: IPClassifier':
                  warning: output 2 matches no packets
                config:2: While configuring 'IPClassifier@7 :: IPClassifier':
                  need 1 arguments, one per output port
                config:2: While configuring 'e :: IPClassifier':
                  pattern 2: empty term near ''
                  pattern 2: missing expression
                  pattern 2: garbage after expression at ''
                Router could not be initialized!
            "#]],
        );
    }
}
