//! Makes packets of random UDP flows, for measurements.
//!
//! Gives up to LIMIT packets of LENGTH bytes with Ethernet, IPv4 and UDP headers, RATE per second, or with a RATE of 0 as many as are
//! pulled. Each belongs to a random one of FLOWS flows. A flow has random ports; after FLOWSIZE packets it gets new ones.
//!
//! When LIMIT packets are made, the `rate` handler gives the packets per second between the first and the last.
//!
//! ```click
//! FastUDPFlows(100000, 500000, 60, 0:0:0:0:0:0, 1.0.0.1, 1:1:1:1:1:1, 2.0.0.2, 100, 10)
//!     -> Unqueue -> Discard;
//! ```

use element::{same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet};

use super::fast_source::{
    checked_flows, checked_len, fast_handlers, random_port, udp_template, write_udp, Ends, Pace,
};

/// The class.
pub const CLASS: Class =
    Class::new::<FastUDPFlows>("FastUDPFlows", "0/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("RATE", "unsigned", "Packets per second; 0 is no limit."),
    Arg::required("LIMIT", "int", "Most packets to make; negative is no limit."),
    Arg::required("LENGTH", "int", "Bytes of a packet, at least 60."),
    Arg::required("SRCETH", "Ethernet address", "Link-layer source."),
    Arg::required("SRCIP", "IP address", "Source address."),
    Arg::required("DSTETH", "Ethernet address", "Link-layer destination."),
    Arg::required("DSTIP", "IP address", "Destination address."),
    Arg::required("FLOWS", "unsigned", "Flows at a time."),
    Arg::required("FLOWSIZE", "unsigned", "Packets of a flow."),
    Arg::optional("CHECKSUM", "bool", "Whether to compute the UDP checksum. Default true."),
    Arg::optional("ACTIVE", "bool", "Whether packets are made. Default true."),
];

const HANDLERS: &[Handler] =
    fast_handlers![Handler::read_write("length", "Bytes of a packet; another length makes new flows.")];

/// See the page above.
pub struct FastUDPFlows {
    pace: Pace,
    ends: Ends,
    len: u32,
    flow_len: u32,
    packet: Packet,
    /// Sum of the segment but for its ports; `None` for no checksum.
    sum: Option<u64>,
    flows: Vec<Flow>,
    warning: Option<&'static str>,
}

/// A flow: its ports and how many packets it had.
#[derive(Clone, Copy, Default)]
struct Flow {
    ports: [[u8; 2]; 2],
    n_packets: u32,
}

impl Element for FastUDPFlows {
    fn configure(conf: &mut Configure<'_>) -> Result<FastUDPFlows, Failed> {
        let mut pace = Pace::configure(conf);
        let len: i32 = conf.args.need("LENGTH");
        let ether_source = conf.args.need("SRCETH");
        let source = conf.args.need("SRCIP");
        let ether_destination = conf.args.need("DSTETH");
        let destination = conf.args.need("DSTIP");
        let n_flows = conf.args.need("FLOWS");
        let flow_len = conf.args.need("FLOWSIZE");
        let has_checksum = conf.args.get_or("CHECKSUM", true);
        pace.configure_end(conf);
        conf.finish()?;
        let (len, warning) = checked_len(len as u32)?;
        let flows = vec![Flow::default(); checked_flows(n_flows)?];
        pace.tell(conf);
        let ends = Ends { ether_source, source, ether_destination, destination };
        let (packet, sum) = udp_template(&ends, len, has_checksum);
        Ok(FastUDPFlows { pace, ends, len, flow_len, packet, sum, flows, warning })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(warning) = self.warning {
            ctx.chatter(warning);
        }
        self.renew(ctx);
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let FastUDPFlows { pace, flow_len, packet, sum, flows, .. } = self;
        pace.pull(ctx, max, |ctx, pace| {
            if pace.is_over() || flows.is_empty() {
                return None;
            }
            let idx = (ctx.random() >> 2) as usize % flows.len();
            let flow = flows.get_mut(idx)?;
            if flow.n_packets == *flow_len {
                *flow = Flow::random(ctx);
            }
            flow.n_packets = flow.n_packets.wrapping_add(1);
            let mut packet = packet.copy();
            write_udp(&mut packet, flow.ports[0], flow.ports[1], *sum);
            Some(packet)
        })
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "length" => Ok(self.len.to_string()),
            _ => self.pace.read(name),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if name != "length" {
            return self.pace.write(ctx, name, value).map(|_| ());
        }
        let len = args::integer(value).map_err(|_| "length parameter must be integer")?;
        if len != self.len {
            let (len, warning) = checked_len(len)?;
            if let Some(warning) = warning {
                ctx.chatter(warning);
            }
            self.len = len;
            (self.packet, self.sum) = udp_template(&self.ends, len, self.sum.is_some());
            self.renew(ctx);
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<FastUDPFlows>(ctx, old) else { return };
        self.pace.take_over(ctx, &old.pace);
        for (own, old) in self.flows.iter_mut().zip(old.flows) {
            *own = Flow { n_packets: old.n_packets.min(self.flow_len), ..old };
        }
    }
}

impl FastUDPFlows {
    /// Begins with new flows.
    fn renew(&mut self, ctx: &mut Ctx<'_>) {
        self.pace.forget_count();
        self.flows.iter_mut().for_each(|flow| *flow = Flow::random(ctx));
    }
}

impl Flow {
    fn random(ctx: &mut Ctx<'_>) -> Flow {
        Flow { ports: [random_port(ctx), random_port(ctx)], n_packets: 0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    const ENDS: &str = "0:0:0:0:0:1, 1.0.0.1, 1:1:1:1:1:2, 2.0.0.2";

    #[test]
    fn a_flow_keeps_its_ports_for_so_many_packets() {
        check_reading(
            &format!(
                "s :: FastUDPFlows(0, 12, 60, {ENDS}, 1, 5) -> Unqueue -> CheckIPHeader(14) -> SetTimestamp
                     -> AggregateIPFlows -> a :: AggregateCounter -> Discard"
            ),
            &["s.count", "a.nagg", "s.length"],
            expect![[r#"
                s.count: 12
                a.nagg: 3
                s.length: 60
            "#]],
        );
    }

    #[test]
    fn checksums_are_right_and_the_length_changes() {
        check_reading(
            &format!(
                "s :: FastUDPFlows(0, 9, 10, {ENDS}, 4, 1) -> CheckIPHeader(14) -> CheckUDPHeader
                     -> c :: Counter -> TimedSink(0.01);
                 Script(wait 1s, read c.byte_count, write s.length 101, wait 1s, read c.byte_count, write s.length x, write s.length 9, stop)"
            ),
            &["s.length", "s.count"],
            expect![[r#"
                warning: packet length < 60, defaulting to 60
                c.byte_count:
                540
                c.byte_count:
                1449
                While executing 'Script@6 :: Script':
                  While calling 's.length x':
                    length parameter must be integer
                warning: packet length < 60, defaulting to 60
                s.length: 60
                s.count: 0
            "#]],
        );
    }

    #[test]
    fn without_flows_there_are_no_packets() {
        check_reading(
            &format!("s :: FastUDPFlows(0, 12, 60, {ENDS}, 0, 5) -> Discard"),
            &["s.count"],
            expect![[r#"
            s.count: 0
        "#]],
        );
        check_reading(
            &format!("FastUDPFlows(0, 12, -1, {ENDS}, 1, 5) -> Discard; FastUDPFlows(0, 12, 60, {ENDS}, 5000000, 5) -> Discard"), &[], expect![[r#"
            config:1: While configuring 'FastUDPFlows@1 :: FastUDPFlows':
              packet length too large; max is 1048576
            config:1: While configuring 'FastUDPFlows@3 :: FastUDPFlows':
              too many flows; max is 4194304
            Router could not be initialized!
        "#]]);
    }
}
