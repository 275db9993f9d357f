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
    per_packet, Arg, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::ip_patterns::{classify, report};
use super::scope_names::ScopeNames;

/// The class.
pub const CLASS: Class = Class::new::<IPFilter>("IPFilter", "1/-", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
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

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "program" => Ok(self.rules.program().to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

impl IPFilter {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match classify(&self.rules, packet) {
            Some(output) => Verdict::port(output),
            None => Verdict::drop(DENIED),
        }
    }
}
