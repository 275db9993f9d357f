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
    per_packet, Arg, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::alignment;

/// The class.
pub const CLASS: Class = Class::new::<Classifier>("Classifier", "1/-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] = &[Arg::rest("PATTERN", "pattern", "The packets of an output; one pattern for each output.")];

const HANDLERS: &[Handler] =
    &[Handler::read("program", "The decision program: a test of a word a line, and where to go.").flags("calm")];

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
            filter::Classifier::parse(&texts, conf.n_outputs, alignment::offset(conf));
        super::ip_patterns::report(conf, &diagnostics);
        conf.finish()?;
        Ok(Classifier { patterns: patterns.ok_or("no patterns")? })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "program" => Ok(self.patterns.program().to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

impl Classifier {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.patterns.classify(packet.data()) {
            Some(output) => Verdict::port(output),
            None => Verdict::drop(NO_MATCH),
        }
    }
}
