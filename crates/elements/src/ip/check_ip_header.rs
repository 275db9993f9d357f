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

use args::Args;
use element::fast_path::{FastPath, HasFastPath, Ingress};
use element::{
    same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::failures::{per_told_packet, Failures};
use super::header_check::{Addresses, HeaderCheck, BADSRC, FAULTS, GOODDST, INTERFACES};

/// The class.
pub const CLASS: Class = Class::new::<CheckIPHeader>("CheckIPHeader", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<CheckIPHeader>();

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
    DropReason::new("tiny-packet", "Shorter than an IPv4 header."),
    DropReason::new("bad-version", "The version is not 4."),
    DropReason::new("bad-header-length", "The header length is below 20 bytes."),
    DropReason::new("bad-length", "The total length is below the header's or above the packet's."),
    DropReason::new("bad-checksum", "The header checksum is wrong."),
    DropReason::new("bad-source", "The source address is one that no sender may have."),
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

    per_told_packet!(sentence, look_ahead);

    fn has_handler(&self, name: &str) -> bool {
        self.failures.has_handler(name)
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, FAULTS)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<CheckIPHeader>(ctx, old) else { return };
        self.take_over(&old);
    }
}

impl HasFastPath for CheckIPHeader {
    fn fast_path(&self) -> Option<FastPath> {
        let HeaderCheck { offset, has_checksum, addresses } = &self.check;
        Some(FastPath::Ingress(Ingress::checked(*offset, *has_checksum, &addresses.bad_sources)))
    }
}

impl CheckIPHeader {
    /// Configures the element; checksums are looked at by default if `has_checksum`.
    pub fn with_checksum(conf: &mut Configure<'_>, has_checksum: bool) -> Result<CheckIPHeader, Failed> {
        let others = set_keywords_apart(conf);
        let mut check = HeaderCheck { addresses: Addresses::read(conf), ..HeaderCheck::default() };
        let offset = offset(conf, others);
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let is_detailed = conf.args.get_or("DETAILS", false);
        check.has_checksum = conf.args.get_or("CHECKSUM", has_checksum);
        conf.proceed()?;
        match offset {
            Ok(offset) => check.offset = offset,
            Err(superfluous) => {
                let mut rest = conf.args.rest();
                rest.extend(superfluous);
                conf.go_on_with(rest, &[])?;
            }
        }
        conf.finish()?;
        Ok(CheckIPHeader { check, failures: Failures::new(FAULTS.len(), is_verbose, is_detailed) })
    }

    /// Goes on from the counts of the element that is replaced.
    pub fn take_over(&mut self, old: &CheckIPHeader) {
        self.failures.take_over(&old.failures);
    }

    /// Nobody has looked at most frames that still have the header of their link.
    #[inline(always)]
    fn look_ahead(&self, batch: &Batch) {
        if self.check.offset > 0 {
            batch.prefetch_data();
        }
    }

    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match self.check.check(packet) {
            Ok(()) => Verdict::PASS,
            Err(fault) => {
                self.failures.add(fault as usize, packet);
                Verdict::port_or_drop(1, fault as usize)
            }
        }
    }
}

/// Leaves only the keywords among the arguments; the others.
fn set_keywords_apart(conf: &mut Configure<'_>) -> Vec<String> {
    let (keywords, others): (Vec<_>, Vec<_>) =
        args::split_args(conf.config).into_iter().partition(|arg| is_keyword(arg));
    conf.args = Args::new(&args::join_args(&keywords), ARGS, conf.scope);
    others
}

/// Reads `OFFSET`: the only argument that may be given without a keyword, wherever it stands, as one of `others`. What is no number
/// then is superfluous, if nothing else is wrong.
fn offset(conf: &mut Configure<'_>, others: Vec<String>) -> Result<usize, Vec<String>> {
    let offset: u32 = conf.args.get_or("OFFSET", 0);
    match others.as_slice() {
        [] => Ok(offset as usize),
        [one] => args::integer::<u32>(one).map(|offset| offset as usize).map_err(|_| others),
        _ => Err(others),
    }
}

fn is_keyword(arg: &str) -> bool {
    let (word, rest) = args::next_word(arg);
    !rest.trim().is_empty() && ARGS.iter().any(|known| known.name == word)
}

fn sentence(ctx: &Ctx<'_>, reason: usize) -> String {
    let fault = FAULTS.get(reason).copied().unwrap_or_default();
    format!("{}: IP header check failed: {fault}", ctx.own_name())
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    /// A packet to 10.2.2.2 with a right checksum and two bytes of padding, and one whose checksum is wrong.
    const SOURCES: &str = "
        InfiniteSource(DATA \\<45000014 00010000 4011 63d3 0a010101 0a020202 ffff>, LIMIT 1) -> c;
        InfiniteSource(DATA \\<45000014 00010000 4011 63d4 0a010101 0a020202>, LIMIT 2, STOP true) -> c;";

    #[test]
    fn wrong_packets_are_counted_by_reason_and_the_first_is_told() {
        check_reading(
            &format!("c :: CheckIPHeader(DETAILS true) -> Print(ok, PRINTANNO true) -> Discard; {SOURCES}"),
            &["c.drops", "c.drop_details"],
            expect![[r#"
                ok:   20 | 0a0202020000000000000000000000000000000000000000000000000000000000000000000000000000000000000000 | 45000014 00010000 401163d3 0a010101 0a020202
                c: IP header check failed: bad IP checksum
                c.drops: 2
                c.drop_details: 0	tiny packet
                0	bad IP version
                0	bad IP header length
                0	bad IP length
                2	bad IP checksum
                0	bad source address

            "#]],
        );
    }

    #[test]
    fn every_wrong_packet_is_told_if_verbose_and_leaves_by_output_1() {
        check(
            &format!("c :: CheckIPHeader(VERBOSE true) -> Discard; c[1] -> Print(bad) -> Discard; {SOURCES}"),
            expect![[r#"
                c: IP header check failed: bad IP checksum
                bad:   20 | 45000014 00010000 401163d4 0a010101 0a020202
                c: IP header check failed: bad IP checksum
                bad:   20 | 45000014 00010000 401163d4 0a010101 0a020202
            "#]],
        );
    }

    #[test]
    fn drop_details_are_there_if_asked_for() {
        check_reading(
            "Idle -> c :: CheckIPHeader2 -> Discard",
            &["c.drop_details"],
            expect![[r#"
            c.drop_details: no 'c.drop_details' read handler
        "#]],
        );
    }

    #[test]
    fn what_is_no_offset_is_too_many_arguments() {
        check_mistake("CheckIPHeader(10.0.0.1)", expect!["too many arguments"]);
        check_mistake("CheckIPHeader(OFFSET x)", expect!["OFFSET: invalid number"]);
        check_mistake("CheckIPHeader(BADSRC , 14)", expect!["too many arguments"]);
        check_mistake("CheckIPHeader(BADSRC 1.2.3.4, 14)", expect![""]);
        check_mistake(
            "CheckIPHeader(OFFSET z, INTERFACES q, BADSRC 1)",
            expect!["INTERFACES: parse error; BADSRC: parse error; OFFSET: invalid number"],
        );
        check_mistake("CheckIPHeader(14, FROB 1)", expect!["FROB: unknown argument; too many arguments"]);
    }
}
