//! Copies the latest TCP sequence number of some packets into others.
//!
//! Remembers the highest sequence number of the packets that come to input 0 and writes it into all that come to input 1;
//! checksums stay as they are. Packets leave by the output of their input's number; those without a marked TCP header pass
//! unchanged and unremembered.
//!
//! ```click
//! c :: CopyTCPSeq;
//! FromDump(a.pcap) -> Strip(14) -> CheckIPHeader -> [0]c[0] -> Discard;
//! FromDump(b.pcap) -> Strip(14) -> CheckIPHeader -> [1]c[1] -> Discard;
//! ```

use element::{Causes, Class, Handler, Packet};

use super::copier::{Copied, Copier, ARGS};
use super::sequence::is_before;

/// The class.
pub const CLASS: Class = Class::new::<Copier<CopyTCPSeq>>("CopyTCPSeq", "2/2", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .pulls_first()
    .handlers(HANDLERS);

const HANDLERS: &[Handler] =
    &[Handler::write("reset", "Forgets the sequence numbers so far.").flags("button")];

/// See the page above.
#[derive(Default)]
pub struct CopyTCPSeq {
    highest: u32,
    has_begun: bool,
}

impl Copied for CopyTCPSeq {
    fn remember(&mut self, packet: &Packet) {
        if let Some([_, _, _, _, sequence @ ..]) = packet.transport().first_chunk::<8>() {
            let sequence = u32::from_be_bytes(*sequence);
            if !self.has_begun || is_before(self.highest, sequence) {
                (self.highest, self.has_begun) = (sequence, true);
            }
        }
    }

    fn write_into(&self, packet: &mut Packet) {
        // As much of the number as the packet has room for.
        for (to, from) in packet.transport_mut().iter_mut().skip(4).zip(self.highest.to_be_bytes()) {
            *to = from;
        }
    }

    fn reset(&mut self) {
        self.has_begun = false;
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn the_highest_number_is_copied() {
        check(
            r#"FromIPSummaryDump(DATA "!data tcp_seq ip_proto
4294967290 T
5 T
4294967295 T
", STOP false) -> MarkIPHeader -> [0]c :: CopyTCPSeq;
            o :: FromIPSummaryDump(DATA "!data tcp_seq ip_proto
9 T
", STOP false, ACTIVE false) -> MarkIPHeader -> [1]c;
            c[0] -> IPPrint(a) -> Discard; c[1] -> IPPrint(b) -> Discard;
            Script(wait 1s, write o.active true, wait 1s, write c.reset, stop)"#,
            expect![[r#"
                a: 0.000000: 0.0.0.0.0 > 0.0.0.0.0: . 4294967290:4294967290(0,40,40) win 0
                a: 0.000000: 0.0.0.0.0 > 0.0.0.0.0: . 5:5(0,40,40) win 0
                a: 0.000000: 0.0.0.0.0 > 0.0.0.0.0: . 4294967295:4294967295(0,40,40) win 0
                b: 0.000000: 0.0.0.0.0 > 0.0.0.0.0: . 5:5(0,40,40) win 0
            "#]],
        );
    }
}
