//! Acts on the IPv4 options that concern every router.
//!
//! Fills in the record-route and timestamp options (RFC 791) with MYADDR and the time and corrects the checksum. Packets whose
//! options are malformed leave by output 1 if there is one, where an `ICMPError` usually is, with the offset of the fault in the
//! parameter-problem annotation; else they are dropped. MYADDR is the address of the interface by which the packets will
//! leave (RFC 1812, section 4.2.2.2). A packet without a marked IPv4 header is dropped.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> g :: IPGWOptions(18.26.4.24) -> Discard;
//! g[1] -> ICMPError(18.26.4.24, parameterproblem) -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{
    annotation, per_packet, same, Arg, Causes, Class, Clock, Configure, Ctx, DropReason, Element, Failed,
    Handler, Packet, Verdict,
};

use super::gateway_options::Router;
use super::set_ip_checksum;

/// The class.
pub const CLASS: Class = Class::new::<IPGWOptions>("IPGWOptions", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<IPGWOptions>();

const ARGS: &[Arg] = &[
    Arg::required("MYADDR", "IP address", "The router's address on the outgoing interface."),
    Arg::optional("OTHERADDRS", "list of IP addresses", "The router's other addresses. Default none."),
];

const HANDLERS: &[Handler] = &[Handler::read("drops", "Packets with malformed options.")];

const PROBLEM: usize = 0;
const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("bad-options", "The options are malformed and there is no output 1."),
    DropReason::new("no-header", "No IPv4 header is marked, or it is cut off."),
];

/// See the page above.
pub struct IPGWOptions {
    address: Ipv4Addr,
    addresses: Vec<Ipv4Addr>,
    n_problems: u64,
}

impl Element for IPGWOptions {
    fn configure(conf: &mut Configure<'_>) -> Result<IPGWOptions, Failed> {
        let address = conf.args.need("MYADDR");
        let mut addresses: Vec<Ipv4Addr> = conf.args.get_or("OTHERADDRS", Vec::new());
        conf.finish()?;
        addresses.push(address);
        Ok(IPGWOptions { address, addresses, n_problems: 0 })
    }

    per_packet!(now);

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "drops" => Ok(self.n_problems.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IPGWOptions>(ctx, old) else { return };
        self.n_problems = old.n_problems;
    }
}

impl HasFastPath for IPGWOptions {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(Egress::without_options()))
    }
}

impl IPGWOptions {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        match packet.network().first_chunk::<20>() {
            None => Verdict::drop(NO_HEADER),
            Some(header) if header[0] & 0x0f <= 5 => Verdict::PASS,
            Some(_) => self.with_options(packet, clock),
        }
    }

    #[inline(never)]
    fn with_options(&mut self, packet: &mut Packet, clock: &mut Clock) -> Verdict {
        let header_len = packet.network_header_len();
        let bytes = packet.network_mut();
        let router = Router { address: self.address, addresses: &self.addresses };
        match router.act(bytes, header_len, clock) {
            Ok(outcome) => {
                if outcome.is_concerned {
                    set_ip_checksum::set(bytes);
                }
                Verdict::PASS
            }
            Err(offset) => {
                packet.set_anno_u8(annotation::ICMP_PARAMPROB, offset as u8);
                self.n_problems += 1;
                Verdict::port_or_drop(1, PROBLEM)
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn malformed_options_lead_elsewhere_with_their_place() {
        let source = "InfiniteSource(DATA \\<47000020 00000000 4011 0000 01000001 02000002 01070700 00000000 01020304>, \
                      LIMIT 1, STOP true) -> MarkIPHeader";
        check_reading(
            &format!("{source} -> g :: IPGWOptions(9.9.9.9) -> Discard; g[1] -> Print(p, PRINTANNO true) -> Discard"),
            &["g.drops"],
            expect![[r#"
                p:   32 | 000000000000000000000000000000000017000000000000000000000000000000000000000000000000000000000000 | 47000020 00000000 40110000 01000001 02000002 01070700
                g.drops: 1
            "#]],
        );
    }

    #[test]
    fn routes_are_recorded_with_a_new_checksum() {
        let source = "InfiniteSource(DATA \\<47000020 00000000 4011 0000 01000001 02000002 01070704 00000000 01020304>, \
                      LIMIT 1, STOP true) -> MarkIPHeader";
        check(
            &format!("{source} -> IPGWOptions(9.9.9.9) -> CheckIPHeader -> Print(p) -> Discard"),
            expect![[r#"
            p:   32 | 47000020 00000000 40115baa 01000001 02000002 01070708
        "#]],
        );
    }
}
