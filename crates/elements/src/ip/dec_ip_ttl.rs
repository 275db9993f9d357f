//! Takes 1 from the time to live.
//!
//! Packets whose time to live is 1 or 0 are expired: they leave by output 1, where an `ICMPError` usually is, or are dropped.
//! For the others the time to live falls by one and the header checksum follows. A packet without a marked IPv4 header is
//! dropped.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> d :: DecIPTTL -> Discard;
//! d[1] -> ICMPError(18.26.4.24, timeexceeded) -> Discard;
//! ```

use element::fast_path::{Egress, FastPath, HasFastPath};
use element::{
    per_packet, same, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Verdict,
};

/// The class.
pub const CLASS: Class = Class::new::<DecIPTTL>("DecIPTTL", "1/1-2", "a/ah", "x/x")
    .lengthens(0)
    .causes(Causes::NOTHING)
    .stateless()
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .fast_path::<DecIPTTL>();

const ARGS: &[Arg] = &[
    Arg::keyword("ACTIVE", "bool", "Whether to change packets at all. Default true."),
    Arg::keyword("MULTICAST", "bool", "Whether to change packets to groups. Default true."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("drops", "Expired packets."),
    Handler::read_write("active", "Whether packets are changed.").flags("checkbox"),
];

const EXPIRED: usize = 0;
const NO_HEADER: usize = 1;
const DROPS: &[DropReason] = &[
    DropReason::new("expired", "The time to live has run out and there is no output 1."),
    DropReason::new("no-header", "No IPv4 header is marked, or it is cut off."),
];

/// See the page above.
pub struct DecIPTTL {
    is_active: bool,
    has_multicast: bool,
    n_expired: u64,
}

impl Element for DecIPTTL {
    fn configure(conf: &mut Configure<'_>) -> Result<DecIPTTL, Failed> {
        let is_active = conf.args.get_or("ACTIVE", true);
        let has_multicast = conf.args.get_or("MULTICAST", true);
        conf.finish()?;
        Ok(DecIPTTL { is_active, has_multicast, n_expired: 0 })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "drops" => Ok(self.n_expired.to_string()),
            "active" => Ok(self.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => self.is_active = args::boolean(value).map_err(|_| "expected boolean")?,
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<DecIPTTL>(ctx, old) else { return };
        self.n_expired = old.n_expired;
    }
}

impl HasFastPath for DecIPTTL {
    fn fast_path(&self) -> Option<FastPath> {
        Some(FastPath::Egress(match self.is_active {
            true => Egress::with_lifetime(self.has_multicast),
            false => Egress::default(),
        }))
    }
}

impl DecIPTTL {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        if !self.is_active {
            return Verdict::PASS;
        }
        let Some(header) = packet.network_mut().first_chunk_mut::<20>() else {
            return Verdict::drop(NO_HEADER);
        };
        if !self.has_multicast && header[16] & 0xf0 == 0xe0 {
            return Verdict::PASS;
        }
        if wire::decrement_ttl(header) {
            return Verdict::PASS;
        }
        self.n_expired += 1;
        Verdict::port_or_drop(1, EXPIRED)
    }
}

#[cfg(test)]
mod tests {
    #[test]
    fn expired_packets_leave_by_output_1() {
        let source = |ttl: &str, to: &str| {
            format!("InfiniteSource(DATA \\<45000014 00000000 {ttl}11 0000 01000001 {to}>, LIMIT 1, STOP true) -> MarkIPHeader -> d;")
        };
        let graph = "DecIPTTL(MULTICAST false) -> Print(0) -> Discard; d[1] -> Print(1) -> Discard; \
                     DriverManager(wait_stop, wait_stop, wait_stop)";
        let packets = [source("02", "02000002"), source("01", "02000002"), source("01", "e0000002")].concat();
        crate::testing::check_reading(
            &format!("d :: {graph}; {packets}"),
            &["d.drops"],
            expect_test::expect![[r#"
            0:   20 | 45000014 00000000 01110100 01000001 02000002
            1:   20 | 45000014 00000000 01110000 01000001 02000002
            0:   20 | 45000014 00000000 01110000 01000001 e0000002
            d.drops: 1
        "#]],
        );
    }
}
