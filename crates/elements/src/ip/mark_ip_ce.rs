//! Marks IPv4 packets as having met congestion (RFC 3168).
//!
//! Sets both ECN bits of the header, which must be marked. Packets whose senders do not know of ECN are dropped, unless FORCE is
//! true.
//!
//! ```click
//! FromDump(in.pcap) -> CheckIPHeader(14) -> MarkIPCE(true) -> ToDump(out.pcap);
//! ```

use element::{
    per_packet, Arg, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Verdict,
};

use super::type_of_service;

/// The class.
pub const CLASS: Class = Class::new::<MarkIPCE>("MarkIPCE", "1/1", "a/a", "x/x")
    .causes(Causes::NOTHING)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

const ARGS: &[Arg] = &[Arg::optional(
    "FORCE",
    "bool",
    "Whether to mark packets whose senders do not know of ECN. Default false.",
)];

const HANDLERS: &[Handler] = &[Handler::read("drops", "0: Click does not count what this class drops.")];

const NOT_CAPABLE: usize = 0;
const DROPS: &[DropReason] = &[DropReason::new("not-capable", "The packet's sender does not know of ECN.")];

const ECN: u8 = 3;

/// See the page above.
pub struct MarkIPCE {
    forces: bool,
}

impl Element for MarkIPCE {
    fn configure(conf: &mut Configure<'_>) -> Result<MarkIPCE, Failed> {
        let forces = conf.args.get_or("FORCE", false);
        conf.finish()?;
        Ok(MarkIPCE { forces })
    }

    per_packet!();

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "drops" => Ok("0".to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }
}

impl MarkIPCE {
    #[inline(always)]
    fn process(&mut self, packet: &mut Packet) -> Verdict {
        let ecn = packet.network().get(1).map(|byte| byte & ECN);
        match ecn {
            Some(0) | None if !self.forces => return Verdict::drop(NOT_CAPABLE),
            Some(ECN) | None => return Verdict::PASS,
            Some(_) => {}
        }
        type_of_service::change(packet, |byte| byte | ECN);
        Verdict::PASS
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn congestion_is_marked() {
        check(
            r#"FromIPSummaryDump(DATA "!data ip_src ip_ecn ip_sum
1.0.0.1 no 0
1.0.0.2 ect1 0
1.0.0.3 ce 0
", STOP true) -> SetIPChecksum -> t :: Tee -> MarkIPCE -> CheckIPHeader -> Print(a, 2) -> Discard;
              t [1] -> MarkIPCE(FORCE true) -> CheckIPHeader -> Print(b, 2) -> Discard;"#,
            expect![[r#"
                b:   40 | 4503
                a:   40 | 4503
                b:   40 | 4503
                a:   40 | 4503
                b:   40 | 4503
            "#]],
        );
    }
}
