//! Classifies packets by bytes at fixed places.
//!
//! There is one output for each pattern, and a packet leaves by the output of the first pattern that it matches; a packet that
//! matches none is dropped.
//!
//! A pattern is a list of clauses, all of which must hold: `OFFSET/VALUE` or `OFFSET/VALUE%MASK`. OFFSET is decimal and
//! counts bytes from the start of the packet; VALUE and MASK are hexadecimal, two digits a byte, and only the bits that are
//! set in MASK are compared. A `?` in place of a digit matches any digit. A clause with `!` before it must not hold. The
//! pattern `-` matches all packets. A packet that is too short for a clause does not match it.
//!
//! The patterns are compiled: many patterns take hardly longer than a few.
//!
//! ```click
//! FromDump(in.pcap, STOP true) -> c :: Classifier(12/0806 20/0001, 12/0800, -);
//! c[0] -> Print("ARP request") -> Discard;
//! c[1] -> Strip(14) -> CheckIPHeader -> Discard;
//! c[2] -> Discard;
//! ```

use element::{
    Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Refusal, Verdict,
};

use crate::control::alignment_info;

/// The class.
pub const CLASS: Class = Class::new::<Classifier>("Classifier", "1/-", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .refuses(&[("config", Refusal::FailedUnless("need "))])
    .live();

const ARGS: &[Arg] =
    &[Arg::rest("PATTERN", "pattern", "The packets of an output; one pattern for each output.")];

const HANDLERS: &[Handler] =
    &[Handler::read("program", "The decision program: a test of a word a line, and where to go.")
        .flags("calm")];

const DROPS: &[DropReason] = &[DropReason::new("no-match", "No pattern matches.")];
const NO_MATCH: usize = 0;

/// See the page above.
pub struct Classifier {
    patterns: filter::Classifier,
}

impl Element for Classifier {
    fn configure(conf: &mut Configure<'_>) -> Result<Classifier, Failed> {
        let texts = conf.args.rest();
        let (patterns, diagnostics) =
            filter::Classifier::parse(&texts, conf.n_outputs, alignment_info::offset(conf));
        super::ip_patterns::report(conf, &diagnostics);
        conf.finish()?;
        Ok(Classifier { patterns: patterns.ok_or("no patterns")? })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        let verdict = |output: Option<usize>| output.map_or(Verdict::drop(NO_MATCH), Verdict::port);
        if let Some(test) = self.patterns.only_test() {
            let (yes, no) = (verdict(test.yes), verdict(test.no));
            return ctx.spread(batch, |_, packet| match test.holds(packet.data()) {
                Some(true) => yes,
                Some(false) => no,
                None => verdict(self.patterns.classify(packet.data())),
            });
        }
        let classify = self.patterns.quick();
        ctx.spread(batch, |_, packet| verdict(classify(packet.data())));
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "program" => Ok(self.patterns.program().to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn the_first_pattern_that_matches_decides() {
        check(
            "InfiniteSource(DATA \\<01 02 03 04 05>, LIMIT 1) -> c :: Classifier(3/04 ! 4/05, 1/0?03%00ff, 0/00);
            InfiniteSource(DATA \\<01 02 03 04>, LIMIT 1) -> c;
            InfiniteSource(DATA \\<00>, LIMIT 1) -> c;
            InfiniteSource(DATA \\<07 08>, LIMIT 1) -> c;
            c[0] -> Print(zero) -> Discard;
            c[1] -> Print(one) -> Discard;
            c[2] -> Print(two) -> Discard;",
            expect![[r#"
                one:    5 | 01020304 05
                zero:    4 | 01020304
                two:    1 | 00
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told_pattern_by_pattern() {
        check(
            "Idle -> c :: Classifier(0/4, x, 1/45%f); c[0], c[1], c[2] => Discard, Discard, Discard;
            Idle -> Classifier(0/45, -) -> Discard;",
            expect![[r#"
                config:1: While configuring 'c :: Classifier':
                  pattern 0: value has less than 2 hex digits
                  pattern 1: expected a digit
                  pattern 2: mask has too few hex digits
                config:2: While configuring 'Classifier@7 :: Classifier':
                  need 1 arguments, one per output port
                Router could not be initialized!
            "#]],
        );
    }

    #[test]
    fn patterns_change_while_the_graph_runs() {
        check_reading(
            "Idle -> c :: Classifier(12/0806 20/0001) -> Discard;
            Script(write c.config 12/0800, write c.config x, stop);",
            &["c.program", "c.config"],
            expect![[r#"
                While executing 'Script@4 :: Script':
                  While calling 'c.config x':
                    pattern 0: expected a digit
                c.program:  0  12/08000000%ffff0000  yes->[0]  no->[X]
                safe length 14
                alignment offset 0

                c.config: 12/0800
            "#]],
        );
    }
}
