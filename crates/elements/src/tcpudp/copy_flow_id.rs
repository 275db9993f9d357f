//! Copies addresses and ports of one packet into others.
//!
//! Remembers source, destination and ports of the first UDP or TCP packet that comes to input 0 and writes them into all that
//! come to input 1; checksums stay as they are. Packets leave by the output of their input's number; those without marked
//! headers pass unchanged; they and later fragments are not remembered.
//!
//! ```click
//! c :: CopyFlowID;
//! FromDump(a.pcap) -> Strip(14) -> CheckIPHeader -> [0]c[0] -> Discard;
//! FromDump(b.pcap) -> Strip(14) -> CheckIPHeader -> [1]c[1] -> Discard;
//! ```

use element::{Causes, Class, Handler, Packet};

use super::copier::{Copied, Copier, ARGS};
use crate::rewriter::flow_id::FlowId;

/// The class.
pub const CLASS: Class = Class::new::<Copier<CopyFlowID>>("CopyFlowID", "2/2", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .pulls_first()
    .handlers(HANDLERS);

const HANDLERS: &[Handler] =
    &[Handler::write("reset", "The next packet at input 0 is remembered.").flags("button")];

/// See the page above.
#[derive(Default)]
pub struct CopyFlowID {
    flow: FlowId,
    has_begun: bool,
}

impl Copied for CopyFlowID {
    fn remember(&mut self, packet: &Packet) {
        if let Some(flow) = flow_of(packet).filter(|_| !self.has_begun) {
            (self.flow, self.has_begun) = (flow, true);
        }
    }

    fn write_into(&self, packet: &mut Packet) {
        // Later fragments have no ports, but as in Click what is in their place is written over.
        set_flow(packet, &self.flow);
    }

    fn reset(&mut self) {
        self.has_begun = false;
    }
}

/// The flow of a packet with marked headers that is not a later fragment.
pub fn flow_of(packet: &Packet) -> Option<FlowId> {
    let ip = packet.network().first_chunk::<20>()?;
    let ports = packet.transport().first_chunk::<4>()?;
    let is_first = u16::from_be_bytes([ip[6], ip[7]]) & 0x1fff == 0;
    is_first.then(|| FlowId {
        src: u32::from_be_bytes([ip[12], ip[13], ip[14], ip[15]]),
        dst: u32::from_be_bytes([ip[16], ip[17], ip[18], ip[19]]),
        sport: u16::from_be_bytes([ports[0], ports[1]]),
        dport: u16::from_be_bytes([ports[2], ports[3]]),
    })
}

/// Writes addresses and ports into the marked headers.
pub fn set_flow(packet: &mut Packet, flow: &FlowId) {
    if let Some(addresses) = packet.network_mut().get_mut(12..20) {
        addresses[..4].copy_from_slice(&flow.src.to_be_bytes());
        addresses[4..].copy_from_slice(&flow.dst.to_be_bytes());
    }
    let ports = [flow.sport.to_be_bytes(), flow.dport.to_be_bytes()];
    for (to, from) in packet.transport_mut().iter_mut().zip(ports.as_flattened()) {
        *to = *from;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_first_packet_names_the_flow_of_others() {
        check(
            r#"FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport ip_proto
1.0.0.1 1 2.0.0.2 80 U
3.0.0.1 3 4.0.0.2 40 T
", STOP false) -> MarkIPHeader -> [0]c :: CopyFlowID;
            o :: FromIPSummaryDump(DATA "!data ip_src sport ip_dst dport ip_proto
9.0.0.1 9 9.0.0.2 9 U
9.0.0.1 9 9.0.0.2 9 T
", STOP false, ACTIVE false) -> MarkIPHeader -> [1]c;
            c[0] -> IPPrint(a) -> Discard; c[1] -> IPPrint(b) -> Discard;
            Script(wait 1s, write o.active true, wait 1s, write c.reset, stop)"#,
            expect![[r#"
                a: 0.000000: 1.0.0.1.1 > 2.0.0.2.80: udp 8
                a: 0.000000: 3.0.0.1.3 > 4.0.0.2.40: . 0:0(0,40,40) win 0
                b: 0.000000: 1.0.0.1.1 > 2.0.0.2.80: udp 8
                b: 0.000000: 1.0.0.1.1 > 2.0.0.2.80: . 0:0(0,40,40) win 0
            "#]],
        );
    }

    #[test]
    fn later_fragments_are_written_over_but_not_remembered() {
        let data = "!data ip_src ip_dst ip_proto ip_fragoff payload\n";
        check(
            &format!(
                "FromIPSummaryDump(DATA \"{data}9.0.0.1 9.0.0.2 U 8 abcdef\n1.0.0.1 2.0.0.2 U 0 abcdef\n\") -> MarkIPHeader
                     -> [0]c :: CopyFlowID;
                 o :: FromIPSummaryDump(DATA \"{data}9.0.0.1 9.0.0.2 U 8 abcdef\n\", ACTIVE false) -> MarkIPHeader -> [1]c;
                 c[0] -> Print(a, 32) -> Discard; c[1] -> Print(b, 32) -> Discard;
                 Script(wait 1s, write o.active true, wait 1s, stop)"
            ),
            expect![[r#"
                a:   26 | 4500001a 00000001 64110000 09000001 09000002 61626364 6566
                a:   34 | 45000022 00000000 64110000 01000001 02000002 00000000 000e0000 61626364
                b:   26 | 4500001a 00000001 64110000 01000001 02000002 00000000 6566
            "#]],
        );
    }
}
