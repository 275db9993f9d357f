//! Checks IPv4 headers.
//!
//! Passes packets whose IPv4 header, OFFSET bytes in, is right: version, header length, total length and checksum. It marks the
//! header for the elements downstream, cuts the packet to the total length (Ethernet pads short packets), and sets the
//! destination address annotation. Wrong packets leave by output 1 if there is one, else they are dropped. The first of them is
//! told on standard error.
//!
//! With INTERFACES, or BADSRC and GOODDST, packets from addresses that no sender may have are wrong too (RFC 1812,
//! section 5.3.7).
//!
//! ```click
//! FromDump(in.pcap) -> c :: CheckIPHeader(14, DETAILS true) -> Discard;
//! c[1] -> Print(bad) -> Discard;
//! ```

use element::{
    Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::failures::Failures;
use super::header_check::{HeaderCheck, BADSRC, FAULTS, GOODDST, INTERFACES};

/// The class.
pub const CLASS: Class = Class::new::<CheckIPHeader>("CheckIPHeader", "1/1-2", "a/ah", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

/// The arguments.
pub const ARGS: &[Arg] = &[
    Arg::optional("OFFSET", "unsigned", "Where the header begins, in bytes. Default 0."),
    INTERFACES,
    BADSRC,
    GOODDST,
    Arg::keyword("VERBOSE", "bool", "Whether to tell every wrong packet, not only the first. Default false."),
    Arg::keyword("DETAILS", "bool", "Whether to count wrong packets by reason. Default false."),
    Arg::keyword("CHECKSUM", "bool", "Whether to look at the checksum. Default true."),
];

/// The handlers.
pub const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Wrong packets."),
    Handler::read("drop_details", "Wrong packets by reason, a line each; only if DETAILS is true."),
];

/// The reasons to drop, as the faults of a header are numbered.
pub const DROPS: &[DropReason] = &[
    DropReason { name: "tiny-packet", doc: "Shorter than an IPv4 header." },
    DropReason { name: "bad-version", doc: "The version is not 4." },
    DropReason { name: "bad-header-length", doc: "The header length is below 20 bytes." },
    DropReason { name: "bad-length", doc: "The total length is below the header's or above the packet's." },
    DropReason { name: "bad-checksum", doc: "The header checksum is wrong." },
    DropReason { name: "bad-source", doc: "The source address is one that no sender may have." },
];

/// See the page above.
pub struct CheckIPHeader {
    check: HeaderCheck,
    failures: Failures,
}

impl Element for CheckIPHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckIPHeader, Failed> {
        CheckIPHeader::with_checksum(conf, true)
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| self.process(packet));
        self.failures.tell(ctx, sentence);
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let batch = ctx.pull_each(max, |packet| self.process(packet));
        self.failures.tell(ctx, sentence);
        batch
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, FAULTS)
    }
}

impl CheckIPHeader {
    /// Configures the element; checksums are looked at by default if `has_checksum`.
    pub fn with_checksum(conf: &mut Configure<'_>, has_checksum: bool) -> Result<CheckIPHeader, Failed> {
        let mut check = HeaderCheck::default();
        check.addresses.read(conf);
        check.offset = offset(conf);
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let is_detailed = conf.args.get_or("DETAILS", false);
        check.has_checksum = conf.args.get_or("CHECKSUM", has_checksum);
        conf.finish()?;
        Ok(CheckIPHeader { check, failures: Failures::new(FAULTS.len(), is_verbose, is_detailed) })
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.check.check(packet) {
            Ok(()) => Verdict::PASS,
            Err(fault) => {
                self.failures.add(fault as usize);
                Verdict::port_or_drop(1, fault as usize)
            }
        }
    }
}

/// Reads `OFFSET`. Without the keyword, Click calls whatever is no number superfluous.
fn offset(conf: &mut Configure<'_>) -> usize {
    let is_keyword = args::split_args(conf.config).iter().any(|arg| args::next_word(arg).0 == "OFFSET");
    if is_keyword {
        return conf.args.get_or::<u32>("OFFSET", 0) as usize;
    }
    let parsed = conf.args.get_with("OFFSET", |text, _| Ok(args::integer::<u32>(text)));
    match parsed {
        Some(Err(_)) => {
            conf.args.fail("too many arguments");
            0
        }
        Some(Ok(offset)) => offset as usize,
        None => 0,
    }
}

fn sentence(ctx: &Ctx<'_>, reason: usize) -> String {
    let fault = FAULTS.get(reason).copied().unwrap_or_default();
    format!("{}: IP header check failed: {fault}", ctx.own_name())
}
