//! What an IPv4 router does last with every packet, in one element.
//!
//! Does what `DropBroadcasts -> PaintTee(COLOR) -> IPGWOptions(IPADDR) -> FixIPSrc(IPADDR) -> DecIPTTL -> CheckLength(MTU)`
//! would, faster. Packets leave by output 0. Output 1 gets a clone of each packet painted COLOR, which goes back to where it came
//! from and calls for an ICMP redirect; output 2 packets with malformed options; output 3 those whose time to live has run out;
//! output 4 those longer than MTU. A packet without a marked IPv4 header is dropped.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> StripToNetworkHeader -> o :: IPOutputCombo(1, 18.26.4.24, 1500) -> Discard;
//! o[1] -> Discard;
//! o[2] -> ICMPError(18.26.4.24, parameterproblem) -> Discard;
//! o[3] -> ICMPError(18.26.4.24, timeexceeded) -> Discard;
//! o[4] -> IPFragmenter(1500) -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::{
    annotation, offload, Arg, Batch, Causes, Class, Clock, Configure, Ctx, DropReason, Element, Failed,
    Packet,
};

use super::gateway_options::Router;
use super::{fix_ip_src, set_ip_checksum};

/// The class.
pub const CLASS: Class = Class::new::<IPOutputCombo>("IPOutputCombo", "1/5", "h/h", "x/x")
    .lengthens(0)
    .causes(Causes::COPIES)
    .stateless()
    .args(ARGS)
    .drops(DROPS);

const ARGS: &[Arg] = &[
    Arg::required("COLOR", "int", "Packets painted so are cloned to output 1."),
    Arg::required("IPADDR", "IP address", "The router's address on the outgoing interface."),
    Arg::required("MTU", "unsigned", "Most bytes of a packet for output 0."),
];

const GROUP: usize = 0;
const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("broadcast", "Came as a link-level broadcast or multicast."),
    DropReason::new("no-header", "No IPv4 header is marked, or it is cut off."),
];

const PAINTED: usize = 1;
const BAD_OPTIONS: usize = 2;
const EXPIRED: usize = 3;
const TOO_LONG: usize = 4;

/// See the page above.
pub struct IPOutputCombo {
    colour: i32,
    address: Ipv4Addr,
    mtu: usize,
}

impl Element for IPOutputCombo {
    fn configure(conf: &mut Configure<'_>) -> Result<IPOutputCombo, Failed> {
        let colour = conf.args.need("COLOR");
        let address = conf.args.need("IPADDR");
        let mtu: u32 = conf.args.need("MTU");
        conf.finish()?;
        Ok(IPOutputCombo { colour, address, mtu: mtu as usize })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let mut outputs: [Batch; 5] = std::array::from_fn(|_| Batch::new());
        for mut packet in batch.drain() {
            if packet.packet_type().is_group() {
                ctx.drop_packet(GROUP, packet);
                continue;
            }
            if i32::from(packet.paint()) == self.colour {
                outputs[PAINTED].push(packet.clone());
            }
            match ctx.with_clock(|_, clock| self.process(&mut packet, clock)) {
                Some(output) => outputs[output].push(packet),
                None => ctx.drop_packet(NO_HEADER, packet),
            }
        }
        let [out, painted, bad_options, expired, too_long] = outputs;
        // As for a single packet: first the clone, then the packet.
        ctx.emit(PAINTED, painted);
        ctx.emit(0, out);
        ctx.emit(BAD_OPTIONS, bad_options);
        ctx.emit(EXPIRED, expired);
        ctx.emit(TOO_LONG, too_long);
    }
}

impl IPOutputCombo {
    /// The output that the packet leaves by; `None` if it has no IPv4 header.
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet, clock: &mut Clock) -> Option<usize> {
        let first = *packet.network().first_chunk::<20>()?.first()?;
        if first & 0x0f > 5 {
            if let Err(offset) = self.act_on_options(packet, clock) {
                packet.set_anno_u8(annotation::ICMP_PARAMPROB, offset as u8);
                return Some(BAD_OPTIONS);
            }
        }
        if fix_ip_src::is_wanted(packet) {
            fix_ip_src::fix(packet, self.address);
        }
        let header = packet.network_mut().first_chunk_mut::<20>()?;
        if !wire::decrement_ttl(header) {
            return Some(EXPIRED);
        }
        Some(if self.is_too_long(packet) { TOO_LONG } else { 0 })
    }

    #[inline(never)]
    fn act_on_options(&self, packet: &mut Packet, clock: &mut Clock) -> Result<(), usize> {
        let header_len = packet.network_header_len();
        let bytes = packet.network_mut();
        let outcome =
            Router { address: self.address, addresses: &[self.address] }.act(bytes, header_len, clock)?;
        if outcome.is_changed {
            set_ip_checksum::set(bytes);
        }
        Ok(())
    }

    #[inline(always)]
    fn is_too_long(&self, packet: &Packet) -> bool {
        packet.len() > self.mtu && (!packet.has_offload() || offload::wire_len(packet) > self.mtu)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    /// Runs a packet with this time to live, length and options through the element.
    fn output(ttl: &str, len: &str, options: &str, paint: u8, expect: expect_test::Expect) {
        let words = 5 + options.split_whitespace().count();
        let packet = format!("4{words}0000{len} 00000000 {ttl}11 0000 01000001 02000002 {options} 01020304");
        let source = format!(
            "InfiniteSource(DATA \\<{packet}>, LIMIT 1, STOP true) -> Paint({paint}) -> MarkIPHeader"
        );
        let ports: String = (1..5).map(|n| format!("o[{n}] -> Print({n}) -> Discard;")).collect();
        let graph = format!(
            "{source} -> SetIPChecksum -> o :: IPOutputCombo(1, 9.9.9.9, 24) -> Print(0) -> Discard; {ports}"
        );
        check(&graph, expect);
    }

    #[test]
    fn each_trouble_has_its_output() {
        output(
            "40",
            "18",
            "",
            0,
            expect![[r#"
            0:   24 | 45000018 00000000 3f1178d3 01000001 02000002 01020304
        "#]],
        );
        output(
            "40",
            "18",
            "",
            1,
            expect![[r#"
            1:   24 | 45000018 00000000 401177d3 01000001 02000002 01020304
            0:   24 | 45000018 00000000 3f1178d3 01000001 02000002 01020304
        "#]],
        );
        output(
            "40",
            "20",
            "01070700 00000000",
            0,
            expect![[r#"
            2:   32 | 47000020 00000000 40116dc4 01000001 02000002 01070700
        "#]],
        );
        output(
            "01",
            "18",
            "",
            0,
            expect![[r#"
            3:   24 | 45000018 00000000 0111b6d3 01000001 02000002 01020304
        "#]],
        );
        output(
            "40",
            "1c",
            "94040000",
            0,
            expect![[r#"
            4:   28 | 4600001c 00000000 3f11e3ca 01000001 02000002 94040000
        "#]],
        );
    }
}
