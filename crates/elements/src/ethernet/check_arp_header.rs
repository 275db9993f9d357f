//! Checks ARP headers.
//!
//! Passes packets that are as long as their ARP header says, with addresses of the right lengths if they are for Ethernet, IPv4
//! or IPv6; the header is then marked as the network header. Others leave by output 1 if there is one, else they are dropped; the
//! first is told on standard error.
//!
//! ```click
//! FromDump(in.pcap) -> Classifier(12/0806) -> CheckARPHeader(14, DETAILS true) -> ARPPrint -> Discard;
//! ```

use element::{same, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Packet, Verdict};
use wire::{ethertype, Arp};

use crate::ip::failures::{per_told_packet, Failures};
use crate::ip::payload_check::{self, HANDLERS};

/// The class.
pub const CLASS: Class = Class::new::<CheckArpHeader>("CheckARPHeader", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::optional("OFFSET", "unsigned", "Where in the packet the header begins. Default 0."),
    payload_check::VERBOSE,
    payload_check::DETAILS,
];

const TINY: usize = 0;
const SHORT: usize = 1;
const BAD_HARDWARE: usize = 2;
const BAD_PROTOCOL: usize = 3;
const DROPS: &[DropReason] = &[
    DropReason::new("tiny", "Shorter than the fixed part of an ARP header."),
    DropReason::new("short", "Too short for the addresses."),
    DropReason::new("bad-hardware", "Ethernet addresses that are not of 6 bytes."),
    DropReason::new("bad-protocol", "IPv4 addresses not of 4 bytes, or IPv6 addresses not of 16."),
];
const FAULTS: &[&str] =
    &["tiny packet", "too small for addresses", "bad hardware type/length", "bad protocol type/length"];

/// Bytes in front of the addresses (RFC 826).
const FIXED: usize = 8;

/// See the page above.
pub struct CheckArpHeader {
    offset: usize,
    failures: Failures,
}

impl Element for CheckArpHeader {
    fn configure(conf: &mut Configure<'_>) -> Result<CheckArpHeader, Failed> {
        let offset: u32 = conf.args.get_or("OFFSET", 0);
        let is_verbose = conf.args.get_or("VERBOSE", false);
        let is_detailed = conf.args.get_or("DETAILS", false);
        conf.finish()?;
        let failures = Failures::new(FAULTS.len(), is_verbose, is_detailed);
        Ok(CheckArpHeader { offset: offset as usize, failures })
    }

    per_told_packet!(sentence);

    fn has_handler(&self, name: &str) -> bool {
        self.failures.has_handler(name)
    }

    fn read(&mut self, ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.failures.read(ctx, name, FAULTS)
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<CheckArpHeader>(ctx, old) else { return };
        self.failures.take_over(&old.failures);
    }
}

fn sentence(_ctx: &Ctx<'_>, fault: usize) -> String {
    format!("ARP header check failed: {}", FAULTS.get(fault).unwrap_or(&""))
}

impl CheckArpHeader {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match header_len(packet.data().get(self.offset..).unwrap_or_default()) {
            Ok(len) => {
                packet.set_network_header(self.offset, len);
                Verdict::PASS
            }
            Err(fault) => {
                self.failures.add(fault, packet);
                Verdict::port_or_drop(1, fault)
            }
        }
    }
}

/// The length of an ARP header, addresses included, or what is wrong with it.
#[inline(always)]
fn header_len(bytes: &[u8]) -> Result<usize, usize> {
    let [h0, h1, p0, p1, hardware_len, protocol_len, ..] = *bytes.first_chunk::<FIXED>().ok_or(TINY)?;
    let len = FIXED + 2 * usize::from(hardware_len) + 2 * usize::from(protocol_len);
    if bytes.len() < len {
        return Err(SHORT);
    }
    if u16::from_be_bytes([h0, h1]) == Arp::ETHERNET && hardware_len != 6 {
        return Err(BAD_HARDWARE);
    }
    match (u16::from_be_bytes([p0, p1]), protocol_len) {
        (ethertype::IPV4, 4) | (ethertype::IPV6, 16) => Ok(len),
        (ethertype::IPV4 | ethertype::IPV6, _) => Err(BAD_PROTOCOL),
        _ => Ok(len),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn lengths_follow_from_the_kinds_of_addresses() {
        let len = |kinds: &[u8], n: usize| header_len(&[kinds, &vec![0; n][..]].concat());
        assert_eq!(len(&[0, 1, 8, 0, 6, 4], 22), Ok(28));
        assert_eq!(len(&[0, 1, 8, 0, 6, 4], 21), Err(SHORT));
        assert_eq!(len(&[0, 1, 8, 0, 6, 4], 1), Err(TINY));
        assert_eq!(len(&[0, 1, 8, 0, 5, 4], 22), Err(BAD_HARDWARE));
        assert_eq!(len(&[0, 2, 8, 0, 5, 4], 22), Ok(26));
        assert_eq!(len(&[0, 1, 8, 0, 6, 5], 24), Err(BAD_PROTOCOL));
        assert_eq!(len(&[0, 1, 0x86, 0xdd, 6, 16], 46), Ok(52));
        assert_eq!(len(&[0, 1, 0x86, 0xdd, 6, 4], 46), Err(BAD_PROTOCOL));
        assert_eq!(len(&[0, 1, 1, 1, 6, 0], 46), Ok(20));
    }

    #[test]
    fn faults_are_told_and_counted() {
        let source = |data: &str| format!("InfiniteSource(DATA \\<{data}>, LIMIT 1) -> c;\n");
        let config = "c :: CheckARPHeader(1, DETAILS true, VERBOSE true) -> Print(ok) -> Discard; c[1] -> Print(bad) -> Discard;\n"
            .to_string()
            + &source("ff 0001 0800 06 04 0001 020000000001 01000001 000000000000 01000002")
            + &source("ff 0001 0800 06 04 0001 020000000001 01000001 000000000000 010000")
            + &source("ff 0001 0800 06")
            + &source("");
        check_reading(
            &config,
            &["c.drops", "c.drop_details"],
            expect![[r#"
            ok:   29 | ff000108 00060400 01020000 00000101 00000100 00000000
            ARP header check failed: too small for addresses
            bad:   28 | ff000108 00060400 01020000 00000101 00000100 00000000
            ARP header check failed: tiny packet
            bad:    6 | ff000108 0006
            ARP header check failed: tiny packet
            bad:    0
            c.drops: 3
            c.drop_details: 2	tiny packet
            1	too small for addresses
            0	bad hardware type/length
            0	bad protocol type/length

        "#]],
        );
    }
}
