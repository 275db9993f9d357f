//! Sends an ARP reply every ten seconds.
//!
//! The first reply goes out after a second. It tells the station DSTIP, DSTETH that SRCIP has the Ethernet address SRCETH;
//! nobody has to ask. `ARPResponder` answers requests.
//!
//! ```click
//! ARPFaker(10.0.0.1, 2:0:0:0:0:1, 10.0.0.9, 2:0:0:0:0:9) -> Queue -> ToDump(out.pcap);
//! ```

use std::net::Ipv4Addr;

use args::EtherAddr;
use element::{Arg, Batch, Class, Configure, Ctx, Element, Failed, Packet, TimerId};

use super::arp_frame;

/// The class.
pub const CLASS: Class = Class::new::<ARPFaker>("ARPFaker", "0/1", "h/h", "x/x").args(ARGS);

const ARGS: &[Arg] = &[
    Arg::required("DSTIP", "IP address", "Who is told."),
    Arg::required("DSTETH", "Ethernet address", "Where the reply is sent."),
    Arg::required("SRCIP", "IP address", "The address that the reply is about."),
    Arg::required("SRCETH", "Ethernet address", "The station that has it, as the reply says."),
];

const FIRST_NS: i64 = 1_000_000_000;
const INTERVAL_NS: i64 = 10_000_000_000;

/// See the page above.
pub struct ARPFaker {
    reply: Packet,
    timer: Option<TimerId>,
}

impl Element for ARPFaker {
    fn configure(conf: &mut Configure<'_>) -> Result<ARPFaker, Failed> {
        let target_ip: Ipv4Addr = conf.args.need("DSTIP");
        let target: EtherAddr = conf.args.need("DSTETH");
        let sender_ip: Ipv4Addr = conf.args.need("SRCIP");
        let sender: EtherAddr = conf.args.need("SRCETH");
        conf.finish()?;
        let reply = arp_frame::reply((target.0, target_ip), (sender.0, sender_ip));
        Ok(ARPFaker { reply, timer: None })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let timer = ctx.new_timer();
        ctx.schedule_after(timer, FIRST_NS);
        self.timer = Some(timer);
        Ok(())
    }

    fn run_timer(&mut self, ctx: &mut Ctx<'_>, timer: TimerId) {
        ctx.emit_now(0, Batch::of(self.reply.clone()));
        ctx.schedule_after(timer, INTERVAL_NS);
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{check, check_reading};
    use expect_test::expect;

    #[test]
    fn a_reply_goes_its_way_before_the_next_is_due() {
        check(
            "ARPFaker(1.0.0.1, 1:1:1:1:1:1, 1.0.0.2, 2:2:2:2:2:2) -> SetTimestamp -> Print(q, 0, TIMESTAMP true) -> Discard; Script(wait 22, stop)",
            expect![[r#"
                q: 1000000001.000000001:   42
                q: 1000000011.000000003:   42
                q: 1000000021.000000005:   42
            "#]],
        );
    }

    #[test]
    fn replies_come_after_a_second_and_then_every_ten() {
        check_reading(
            "ARPFaker(18.26.4.1, 0:e0:2b:b:1a:0, 18.26.4.99, 00:a0:c9:9c:fd:9c) -> c :: Counter -> Print(x, 42) -> Discard;
             DriverManager(wait 0.9s, print c.count, wait 0.2s, print c.count, wait 9.9s, print c.count)",
            &["c.count"],
            expect![[r#"
                x:   42 | 00e02b0b 1a0000a0 c99cfd9c 08060001 08000604 000200a0 c99cfd9c 121a0463 00e02b0b 1a00121a 0401
                x:   42 | 00e02b0b 1a0000a0 c99cfd9c 08060001 08000604 000200a0 c99cfd9c 121a0463 00e02b0b 1a00121a 0401
                c.count: 2
            "#]],
        );
    }

    #[test]
    fn all_addresses_are_needed() {
        check(
            "ARPFaker(1.0.0.1, 1.0.0.2, x) -> Discard",
            expect![[r#"
            config:1: While configuring 'ARPFaker@1 :: ARPFaker':
              DSTETH: parse error
              SRCIP: parse error
              SRCETH: required argument missing
            Router could not be initialized!
        "#]],
        );
    }
}
