//! Checks IPv6 headers.
//!
//! Passes packets whose IPv6 header, OFFSET bytes in, is right: it is all there, its version is 6, the payload that it tells of is
//! there, and its source is none of BADADDRS. It marks the header for the elements downstream and cuts the packet to the payload's
//! length (Ethernet pads short packets). Wrong packets leave by output 1 if there is one, else they are dropped. The first of them
//! is told on standard error.
//!
//! ```click
//! FromDump(in.pcap) -> c :: CheckIP6Header(":: ::1", 14) -> Discard;
//! c[1] -> Print(bad) -> Discard;
//! ```

use std::net::Ipv6Addr;

use args::Scope;
use element::{
    same, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};
use wire::Ipv6;

use super::at_offset::at_offset;
use crate::ip::failures::{per_told_packet, Failures};

/// The class.
pub const CLASS: Class = Class::new::<CheckIP6Header>("CheckIP6Header", "1/1-2", "a/ah", "x/x")
    .causes(Causes::LINES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional(
        "BADADDRS",
        "list of IPv6 addresses",
        "Sources that are refused, besides ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff. Default none.",
    ),
    Arg::optional(
        "OFFSET",
        "int",
        "Where the header begins, in bytes; negative: in the headroom. Default 0.",
    ),
];

const HANDLERS: &[Handler] = &[Handler::read("drops", "Wrong packets.")];

const TINY: usize = 0;
const VERSION: usize = 1;
const LENGTH: usize = 2;
const SOURCE: usize = 3;
const DROPS: &[DropReason] = &[
    DropReason::new("tiny-packet", "Shorter than an IPv6 header."),
    DropReason::new("bad-version", "The version is not 6."),
    DropReason::new("bad-length", "The payload length is above the packet's."),
    DropReason::new("bad-source", "The source address is one that no sender may have."),
];

/// The source that is always refused.
const ALL_ONES: u128 = u128::MAX;

/// See the page above.
pub struct CheckIP6Header {
    offset: i32,
    bad_sources: Vec<u128>,
    failures: Failures,
}

impl Element for CheckIP6Header {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckIP6Header, Failed> {
        let text = conf.args.get_or("BADADDRS", String::new());
        let offset = conf.args.get_or("OFFSET", 0);
        let bad_sources = bad_sources(&text).unwrap_or_else(|message| {
            conf.args.fail(message);
            Vec::new()
        });
        conf.finish()?;
        Ok(CheckIP6Header { offset, bad_sources, failures: Failures::new(DROPS.len(), false, false) })
    }

    per_told_packet!(sentence);

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, &[])
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<CheckIP6Header>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

impl CheckIP6Header {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let bad_sources = &self.bad_sources;
        let result = at_offset(packet, self.offset, |packet, offset| check(packet, offset, bad_sources));
        match result.unwrap_or(Err(TINY)) {
            Ok(()) => Verdict::PASS,
            Err(reason) => {
                self.failures.add(reason, packet);
                Verdict::port_or_drop(1, reason)
            }
        }
    }
}

/// Checks the header at `offset`, marks it and cuts the packet to its length.
#[inline(always)]
fn check(packet: &mut Packet, offset: usize, bad_sources: &[u128]) -> Result<(), usize> {
    let bytes = packet.data().get(offset..).unwrap_or_default();
    let room = bytes.len().checked_sub(Ipv6::LEN).ok_or(TINY)?;
    let ip = Ipv6::new(bytes).ok_or(VERSION)?;
    let len = usize::from(ip.payload_len());
    if len > room {
        return Err(LENGTH);
    }
    if bad_sources.contains(&ip.source().to_bits()) {
        return Err(SOURCE);
    }
    packet.set_network_header(offset, Ipv6::LEN);
    packet.take(room - len);
    Ok(())
}

/// As in Click, what `AddressInfo` names is none.
fn bad_sources(text: &str) -> Result<Vec<u128>, String> {
    let address = |word: &String| args::ip6(word, &Scope::builtin()).map(Ipv6Addr::to_bits);
    let listed: Result<Vec<u128>, String> = args::split_words(text).iter().map(address).collect();
    let mut sources = listed.map_err(|_| "expects IP6ADDRESS -a ")?;
    sources.push(ALL_ONES);
    Ok(sources)
}

fn sentence(_ctx: &Ctx<'_>, _reason: usize) -> String {
    "IP6 header check failed".to_string()
}

#[cfg(test)]
mod tests {
    use crate::ip::tests::check_mistake;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn wrong_headers_leave_by_output_1() {
        let source = |header: &str, to: &str| {
            format!(
                "InfiniteSource(DATA \\<{header} 3a40 {from} {from} aabbcc>, LIMIT 1, STOP true) -> {to} :: Null -> c;",
                from = "20010db8000000000000000000000001",
            )
        };
        let packets = [
            source("60000000 0003", "good"),
            source("60000000 0001", "padded"),
            source("60000000 0004", "short"),
            source("40000000 0003", "version"),
        ];
        check_reading(
            &format!(
                "c :: CheckIP6Header(\":: 2001:db8::2\") -> Print(ok, 8) -> Discard; c[1] -> Print(bad, 8) -> b :: CheckIP6Header(2001:db8::1)
                    -> Discard; Idle -> b; DriverManager(wait_stop 4); {}",
                packets.concat()
            ),
            &["c.drops", "b.drops"],
            expect![[r#"
                ok:   43 | 60000000 00033a40
                ok:   41 | 60000000 00013a40
                IP6 header check failed
                bad:   43 | 60000000 00043a40
                IP6 header check failed
                bad:   43 | 40000000 00033a40
                c.drops: 2
                b.drops: 2
            "#]],
        );
    }

    #[test]
    fn addresses_must_be_addresses() {
        check_mistake("CheckIP6Header(\"::1 2001:db8::x\")", expect!["expects IP6ADDRESS -a"]);
        let named = "CheckIP6Header(a) -> Discard; AddressInfo(a ::1); Idle";
        check_mistake(named, expect!["expects IP6ADDRESS -a"]);
        check_mistake("CheckIP6Header(::1, y)", expect!["OFFSET: invalid number"]);
    }
}
