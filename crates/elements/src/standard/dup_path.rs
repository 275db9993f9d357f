//! Sends packets on at once or stores them, by a bit of their source address.
//!
//! The IPv4 header must be marked. If bits 0 and 4 of the source address differ, the packet is stored for whoever pulls from
//! output 1; at most 128 are. All others are pushed to output 0. Pullers are not told when there is something to pull.
//!
//! ```click
//! FromDump(in.pcap, FORCE_IP true) -> d :: DupPath;
//! d[0] -> Discard;
//! d[1] -> Unqueue -> Discard;
//! ```

use element::{same, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Packet};
use packet::Ring;

/// The class.
pub const CLASS: Class = Class::new::<DupPath>("DupPath", "1/2", "h/hl", "x/x").drops(DROPS);

const DROPS: &[DropReason] = &[
    DropReason::new("queue-full", "128 packets were stored already."),
    DropReason::new("no-ip-header", "No IPv4 header is marked, or it is cut off."),
];
const FULL: usize = 0;
const NO_HEADER: usize = 1;

const CAPACITY: usize = 128;

/// See the page above.
pub struct DupPath {
    stored: Ring,
}

impl Element for DupPath {
    fn configure(conf: &mut Configure<'_>) -> Result<DupPath, Failed> {
        conf.finish()?;
        Ok(DupPath { stored: Ring::new() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, mut batch: Batch) {
        let mut others = Batch::new();
        for packet in batch.drain() {
            match is_stored(&packet) {
                None => ctx.drop_packet(NO_HEADER, packet),
                Some(false) => others.push(packet),
                Some(true) if self.stored.len() < CAPACITY => self.stored.push_back(packet),
                Some(true) => ctx.drop_packet(FULL, packet),
            }
        }
        ctx.emit(0, others);
    }

    fn pull(&mut self, _ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let mut batch = Batch::new();
        self.stored.pop_batch(&mut batch, max);
        batch
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DupPath>(ctx, old) else { return };
        self.stored = old.stored;
    }
}

/// Whether the packet's source address is one of those that are stored.
fn is_stored(packet: &Packet) -> Option<bool> {
    let last = *packet.network().get(15)?;
    Some((last ^ last >> 4) & 1 != 0)
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn two_bits_of_the_source_decide() {
        check_reading(
            "i :: InfiniteSource(DATA x, LIMIT 40) -> r :: RoundRobinSwitch;
             r[0] -> UDPIPEncap(1.0.0.1, 1, 2.0.0.2, 2) -> d :: DupPath; r[1] -> UDPIPEncap(1.0.0.16, 1, 2.0.0.2, 2) -> d;
             r[2] -> UDPIPEncap(1.0.0.17, 1, 2.0.0.2, 2) -> d; r[3] -> UDPIPEncap(1.0.0.34, 1, 2.0.0.2, 2) -> d;
             r[4] -> d;
             d[0] -> a :: Counter -> Discard; d[1] -> Unqueue(LIMIT 3) -> IPPrint -> Discard; DriverManager(wait 1s)",
            &["a.count"],
            expect![[r#"
                1000000000.000000003: 1.0.0.1.1 > 2.0.0.2.2: udp 9
                1000000000.000000004: 1.0.0.16.1 > 2.0.0.2.2: udp 9
                1000000000.000000012: 1.0.0.1.1 > 2.0.0.2.2: udp 9
                a.count: 16
            "#]],
        );
    }

    #[test]
    fn at_most_128_are_stored() {
        check_reading(
            "InfiniteSource(DATA x, LIMIT 200) -> UDPIPEncap(1.0.0.1, 1, 2.0.0.2, 2) -> d :: DupPath -> Discard;
             d[1] -> u :: Unqueue(ACTIVE false) -> c :: Counter -> Discard;
             DriverManager(wait 1s, write u.active true, wait 1s, stop)",
            &["c.count"],
            expect![[r#"
                c.count: 128
            "#]],
        );
    }
}
