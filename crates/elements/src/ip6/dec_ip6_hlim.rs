//! Takes 1 from the hop limit.
//!
//! Packets whose hop limit is 1 or 0 are expired: they leave by output 1, where an `ICMP6Error` usually is, or are dropped. A
//! packet without a marked IPv6 header is dropped.
//!
//! ```click
//! FromDump(in.pcap) -> Strip(14) -> CheckIP6Header -> d :: DecIP6HLIM -> Discard;
//! d[1] -> ICMP6Error(2001:db8::1, 3, 0) -> Discard;
//! ```

use element::{
    per_packet, same, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};
/// The class.
pub const CLASS: Class = Class::new::<DecIP6HLIM>("DecIP6HLIM", "1/1-2", "a/ah", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[];

const HANDLERS: &[Handler] = &[Handler::read("drops", "Expired packets.")];

/// Where the hop limit is in the header. The rest of the header may be cut off.
const HOP_LIMIT: usize = 7;

const EXPIRED: usize = 0;
const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("expired", "The hop limit has run out and there is no output 1."),
    DropReason::new("no-header", "No IPv6 header is marked, or it is cut off before its hop limit."),
];

/// See the page above.
pub struct DecIP6HLIM {
    n_expired: u64,
}

impl Element for DecIP6HLIM {
    fn configure(conf: &mut Configure<'_>) -> Result<DecIP6HLIM, Failed> {
        conf.finish()?;
        Ok(DecIP6HLIM { n_expired: 0 })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "drops" => Ok(self.n_expired.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DecIP6HLIM>(ctx, old) else { return };
        self.n_expired = old.n_expired;
    }
}

impl DecIP6HLIM {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        match packet.network().get(HOP_LIMIT).copied() {
            None => Verdict::drop(NO_HEADER),
            Some(0 | 1) => {
                self.n_expired += 1;
                Verdict::port_or_drop(1, EXPIRED)
            }
            Some(limit) => {
                if let Some(place) = packet.network_mut().get_mut(HOP_LIMIT) {
                    *place = limit - 1;
                }
                Verdict::PASS
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn expired_packets_leave_by_output_1() {
        let source = |limit: &str| {
            let address = "20010db8000000000000000000000001";
            format!("InfiniteSource(DATA \\<60000000 00003b{limit} {address} {address}>, LIMIT 1, STOP true) -> MarkIP6Header -> t;")
        };
        let sources = ["00", "01", "02", "ff"].map(source).concat();
        check_reading(
            &format!(
                "t :: Tee; t -> d :: DecIP6HLIM -> Print(0, 8) -> Discard; d[1] -> Print(1, 8) -> Discard;
                t[1] -> Print(shared, 8) -> Discard; {sources} DriverManager(wait_stop 4)"
            ),
            &["d.drops"],
            expect![[r#"
                1:   40 | 60000000 00003b00
                shared:   40 | 60000000 00003b00
                1:   40 | 60000000 00003b01
                shared:   40 | 60000000 00003b01
                0:   40 | 60000000 00003b01
                shared:   40 | 60000000 00003b02
                0:   40 | 60000000 00003bfe
                shared:   40 | 60000000 00003bff
                d.drops: 2
            "#]],
        );
    }

    #[test]
    fn the_hop_limit_is_all_that_is_looked_at() {
        check_reading(
            "InfiniteSource(DATA \\<60000000 00003b02>, LIMIT 1) -> m :: MarkIP6Header -> d :: DecIP6HLIM -> Print(0, 8) -> Discard;
             d[1] -> Print(1, 8) -> Discard; InfiniteSource(DATA \\<60000000 00003b>, LIMIT 1) -> m;
             Script(wait 1s, stop)",
            &["d.drops"],
            expect![[r#"
                0:    8 | 60000000 00003b01
                d.drops: 0
            "#]],
        );
    }
}
