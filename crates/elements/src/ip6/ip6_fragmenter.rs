//! Stops IPv6 packets that are too long.
//!
//! Packets of at most MTU bytes pass, and so do those that are yet to be cut into segments of that length. Routers do not cut IPv6
//! packets (RFC 8200, section 5): longer ones leave by output 1, where an `ICMP6Error` for packets too big usually is, or are
//! dropped.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> f :: IP6Fragmenter(1280) -> Discard;
//! f[1] -> ICMP6Error(2001:db8::1, 2, 0) -> Discard;
//! ```

use element::{
    offload, same, Arg, Batch, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<IP6Fragmenter>("IP6Fragmenter", "1/1-2", "h/h", "x/x")
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::required("MTU", "unsigned", "Most bytes of a packet.")];

const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Packets that were too long."),
    Handler::read("fragments", "0: IPv6 packets are not cut on their way."),
];

const TOO_BIG: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("too-big", "The packet is longer than MTU and there is no output 1.")];

/// See the page above.
pub struct IP6Fragmenter {
    mtu: u32,
    n_drops: u64,
}

impl Element for IP6Fragmenter {
    fn configure(conf: &mut Configure<'_>) -> Result<IP6Fragmenter, Failed> {
        let mtu = conf.args.need("MTU");
        conf.finish()?;
        Ok(IP6Fragmenter { mtu, n_drops: 0 })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, _port: usize, batch: Batch) {
        ctx.push_each(batch, |packet| {
            if packet.len() <= self.mtu as usize || is_cut_later(packet, self.mtu) {
                return Verdict::PASS;
            }
            self.n_drops += 1;
            Verdict::port_or_drop(1, TOO_BIG)
        });
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "drops" => Ok(self.n_drops.to_string()),
            "fragments" => Ok("0".to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<IP6Fragmenter>(ctx, old) else { return };
        self.n_drops = old.n_drops;
    }
}

/// Whether a packet that is still to be cut into segments will not be too long then.
#[inline]
fn is_cut_later(packet: &Packet, mtu: u32) -> bool {
    packet.has_offload() && offload::frame_len(packet) <= mtu as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::check_reading;
    use expect_test::expect;
    use packet::{Gso, Offload};

    #[test]
    fn longer_packets_leave_by_output_1() {
        check_reading(
            "InfiniteSource(LENGTH 60, LIMIT 1, STOP true) -> f :: IP6Fragmenter(60) -> Print(short, 0) -> Discard;
            InfiniteSource(LENGTH 61, LIMIT 1, STOP true) -> f; f[1] -> Print(long, 0) -> Discard; DriverManager(wait_stop 2)",
            &["f.drops", "f.fragments"],
            expect![[r#"
                short:   60
                long:   61
                f.drops: 1
                f.fragments: 0
            "#]],
        );
    }

    #[test]
    fn what_counts_is_how_long_segments_will_be() {
        let mut packet = Packet::zeroed(40 + 20 + 5000);
        packet.data_mut()[52] = 0x50;
        packet.set_network_header(0, 40);
        let offload =
            |gso_size| Offload { gso: Gso::TcpV6, gso_size, checksum_start: 40, ..Offload::default() };
        packet.set_offload(offload(1440));
        assert!(is_cut_later(&packet, 1500) && !is_cut_later(&packet, 1499));
        packet.set_offload(Offload::default());
        assert!(!is_cut_later(&packet, 1500));
    }
}
