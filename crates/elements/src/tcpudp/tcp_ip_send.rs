//! Sends TCP packets when it is told to.
//!
//! The packets have no payload, and both checksums.
//!
//! ```click
//! t :: TCPIPSend -> Discard;
//! Script(write t.send 16777226 2000 33554442 80 1 0 2);
//! ```

use args::{Args, Port};
use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Refusal};
use wire::protocol;

use super::tcp_packet::Segment;
use crate::rewriter::flow_id::FlowId;

/// The class.
pub const CLASS: Class = Class::new::<TCPIPSend>("TCPIPSend", "0/1", "h/h", "x/x")
    .handlers(HANDLERS)
    .refuses(&[("send", Refusal::Failed)]);

const HANDLERS: &[Handler] = &[Handler::write(
    "send",
    "Sends packets: `SRC SPORT DST DPORT SEQNO ACKNO FLAGS [COUNT [STOP]]`. As in Click, addresses are integers as the \
     processor reads them in a header, so that 16777226 is 10.0.0.1.",
)];

const SEND: &[Arg] = &[
    Arg::required("SRC", "unsigned", "Source address."),
    Arg::required("SPORT", "port", "Source port."),
    Arg::required("DST", "unsigned", "Destination address."),
    Arg::required("DPORT", "port", "Destination port."),
    Arg::required("SEQNO", "unsigned", "Sequence number."),
    Arg::required("ACKNO", "unsigned", "Acknowledgement number."),
    Arg::required("FLAGS", "byte", "Flags."),
    Arg::optional("COUNT", "unsigned", "Number of packets. Default 1."),
    Arg::optional("STOP", "bool", "Whether to stop the driver then. Default false."),
];

/// See the page above.
pub struct TCPIPSend;

impl Element for TCPIPSend {
    fn configure(conf: &mut Configure<'_>) -> Result<TCPIPSend, Failed> {
        conf.finish()?;
        Ok(TCPIPSend)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name != "send" {
            return Err(format!("no {name} write handler"));
        }
        let scope = ctx.scope();
        let mut args = Args::from_words(value, SEND, &scope);
        let src: u32 = args.need("SRC");
        let Port::<{ protocol::TCP }>(sport) = args.need("SPORT");
        let dst: u32 = args.need("DST");
        let Port::<{ protocol::TCP }>(dport) = args.need("DPORT");
        let sequence = args.need("SEQNO");
        let acknowledged = args.need("ACKNO");
        let flags = args.need("FLAGS");
        let n_packets: u32 = args.get_or("COUNT", 1);
        let stops = args.get_or("STOP", false);
        args.finish().map_err(|errors| errors.join("\n"))?;
        let flow = FlowId { src: src.swap_bytes(), dst: dst.swap_bytes(), sport, dport };
        let packet = Segment { flow, sequence, acknowledged, flags }.packet_with_checksums(0);
        for _ in 0..n_packets {
            ctx.emit_now(0, Batch::of(packet.clone()));
        }
        if stops {
            ctx.stop();
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check;
    use expect_test::expect;

    #[test]
    fn packets_are_sent_on_demand() {
        check(
            "t :: TCPIPSend -> Print(x, -1) -> CheckIPHeader -> CheckTCPHeader -> IPPrint -> Discard;
            Script(write t.send 16777226 2000 33554442 http 1 7 2, write t.send 1.0.0.1 x 3 4 5 6 300,
                write t.send 16777226 2000 33554442 80 1 0 16 2 true)",
            expect![[r#"
                While executing 'Script@7 :: Script':
                  While calling 't.send 16777226 2000 33554442 http 1 7 2':
                    DPORT: parse error
                  While calling 't.send 1.0.0.1 x 3 4 5 6 300':
                    SRC: invalid number
                    SPORT: parse error
                    FLAGS: out of range, bound 255
                x:   40 | 45000028 00004000 ff0667cd 0a000001 0a000002 07d00050 00000001 00000000 50107d78 16390000
                0.000000: 10.0.0.1.2000 > 10.0.0.2.80: . 1:1(0,40,40) ack 0 win 32120
                x:   40 | 45000028 00004000 ff0667cd 0a000001 0a000002 07d00050 00000001 00000000 50107d78 16390000
                0.000000: 10.0.0.1.2000 > 10.0.0.2.80: . 1:1(0,40,40) ack 0 win 32120
            "#]],
        );
    }
}
