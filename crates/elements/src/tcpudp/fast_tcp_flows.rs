//! Makes packets of random TCP flows, for measurements.
//!
//! Gives up to LIMIT packets of LENGTH bytes with Ethernet, IPv4 and TCP headers, RATE per second, or with a RATE of 0 as many as are
//! pulled. Each belongs to a random one of FLOWS flows: a SYN, then data, then a FIN as the last of FLOWSIZE packets. The next one has
//! other ports. Ports and sequence numbers are random, and those of a flow do not go together.
//!
//! When LIMIT packets are made, a FIN follows for each flow that has not had its own. Then the `rate` handler gives the packets per
//! second between the first and the last.
//!
//! ```click
//! FastTCPFlows(100000, 500000, 60, 0:0:0:0:0:0, 1.0.0.1, 1:1:1:1:1:1, 2.0.0.2, 100, 10)
//!     -> Unqueue -> Discard;
//! ```

use element::{same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet};
use wire::{checksum, protocol, tcp_flag};

use super::fast_source::{checked_flows, checked_len, fast_handlers, random_port, Ends, Pace, TRANSPORT_AT};

/// The class.
pub const CLASS: Class =
    Class::new::<FastTCPFlows>("FastTCPFlows", "0/1", "l/l", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("RATE", "unsigned", "Packets per second; 0 is no limit."),
    Arg::required("LIMIT", "int", "Most packets to make before the last FINs; negative is no limit."),
    Arg::required("LENGTH", "unsigned", "Bytes of a packet, at least 60."),
    Arg::required("SRCETH", "Ethernet address", "Link-layer source."),
    Arg::required("SRCIP", "IP address", "Source address."),
    Arg::required("DSTETH", "Ethernet address", "Link-layer destination."),
    Arg::required("DSTIP", "IP address", "Destination address."),
    Arg::required("FLOWS", "unsigned", "Flows at a time."),
    Arg::required("FLOWSIZE", "unsigned", "Packets of a flow, at least 3."),
    Arg::optional("ACTIVE", "bool", "Whether packets are made. Default true."),
];

const HANDLERS: &[Handler] = fast_handlers![];

/// Packets of the shortest flows.
const MIN_FLOW_LEN: u32 = 3;
const FLOW_WARNING: &str = "warning: flow size < 3, defaulting to 3";
/// The flags of a flow's packets: its first, its last but for that, and its last.
const FLAGS: [u8; 3] = [tcp_flag::SYN, tcp_flag::PSH | tcp_flag::ACK, tcp_flag::FIN];
const SYN: usize = 0;
const DATA: usize = 1;
const FIN: usize = 2;

/// See the page above.
pub struct FastTCPFlows {
    pace: Pace,
    flows: Flows,
    warnings: Vec<&'static str>,
}

/// The flows and what their packets are made of.
struct Flows {
    list: Vec<Flow>,
    flow_len: u32,
    /// A packet without ports, numbers, flags and checksum.
    packet: Packet,
    /// Sum of its segment.
    sum: u64,
    /// All flows before this one have had their last FIN.
    n_ended: usize,
    has_ended: bool,
}

/// A flow: its ports, the sequence and acknowledgement numbers of its three kinds of packets, and how many it had.
#[derive(Clone, Copy, Default)]
struct Flow {
    ports: [[u8; 2]; 2],
    numbers: [[u32; 2]; 3],
    n_packets: u32,
}

impl Element for FastTCPFlows {
    fn configure(conf: &mut Configure<'_>) -> Result<FastTCPFlows, Failed> {
        let mut pace = Pace::configure(conf);
        let len = conf.args.need("LENGTH");
        let ether_source = conf.args.need("SRCETH");
        let source = conf.args.need("SRCIP");
        let ether_destination = conf.args.need("DSTETH");
        let destination = conf.args.need("DSTIP");
        let n_flows = conf.args.need("FLOWS");
        let flow_len: u32 = conf.args.need("FLOWSIZE");
        pace.configure_end(conf);
        conf.finish()?;
        let flow_warning = (flow_len < MIN_FLOW_LEN).then_some(FLOW_WARNING);
        let (len, len_warning) = checked_len(len)?;
        let list = vec![Flow::default(); checked_flows(n_flows)?];
        pace.tell(conf);
        let ends = Ends { ether_source, source, ether_destination, destination };
        let (packet, sum) = template(&ends, len);
        let flow_len = flow_len.max(MIN_FLOW_LEN);
        let flows = Flows { list, flow_len, packet, sum, n_ended: 0, has_ended: false };
        Ok(FastTCPFlows { pace, flows, warnings: flow_warning.into_iter().chain(len_warning).collect() })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        self.warnings.drain(..).for_each(|warning| ctx.chatter(warning));
        self.flows.list.iter_mut().for_each(|flow| *flow = Flow::random(ctx));
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let FastTCPFlows { pace, flows, .. } = self;
        if pace.is_over() && flows.has_ended {
            return Batch::new();
        }
        pace.pull(ctx, max, |ctx, pace| if pace.is_over() { flows.end() } else { flows.next(ctx) })
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.pace.read(name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if self.pace.write(ctx, name, value)? {
            self.flows.has_ended = false;
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<FastTCPFlows>(ctx, old) else { return };
        self.pace.take_over(ctx, &old.pace);
        (self.flows.n_ended, self.flows.has_ended) = (old.flows.n_ended, old.flows.has_ended);
        for (own, old) in self.flows.list.iter_mut().zip(old.flows.list) {
            *own = Flow { n_packets: old.n_packets.min(self.flows.flow_len), ..old };
        }
    }
}

/// The packet that all packets are made of, and the sum of its segment.
fn template(ends: &Ends, len: u32) -> (Packet, u64) {
    let mut packet = ends.packet(len, protocol::TCP);
    let tcp = packet.data_mut().get_mut(TRANSPORT_AT..).and_then(|tcp| tcp.first_chunk_mut::<20>());
    let sum = tcp.map_or(0, |tcp| {
        tcp[12] = 0x50;
        tcp[14..16].fill(0xff);
        checksum::sum(tcp)
    });
    (packet, ends.pseudo_sum(len, protocol::TCP) + u64::from(sum))
}

impl Flows {
    /// The next packet of a random flow.
    fn next(&mut self, ctx: &mut Ctx<'_>) -> Option<Packet> {
        self.n_ended = 0;
        let idx = ((ctx.random() >> 2) as usize).checked_rem(self.list.len())?;
        let flow = self.list.get_mut(idx)?;
        if flow.n_packets == self.flow_len {
            flow.ports = [random_port(ctx), random_port(ctx)];
            flow.n_packets = 0;
        }
        flow.n_packets += 1;
        let kind = match flow.n_packets {
            1 => SYN,
            n if n == self.flow_len => FIN,
            _ => DATA,
        };
        let flow = *flow;
        Some(self.packet_of(&flow, kind))
    }

    /// The FIN of the next flow that has not had it.
    fn end(&mut self) -> Option<Packet> {
        while let Some(flow) = self.list.get_mut(self.n_ended) {
            self.n_ended += 1;
            if flow.n_packets != self.flow_len {
                flow.n_packets = self.flow_len;
                let flow = *flow;
                return Some(self.packet_of(&flow, FIN));
            }
        }
        self.has_ended = true;
        None
    }

    fn packet_of(&self, flow: &Flow, kind: usize) -> Packet {
        let mut packet = self.packet.copy();
        let tcp = packet.data_mut().get_mut(TRANSPORT_AT..).and_then(|tcp| tcp.first_chunk_mut::<20>());
        let Some(tcp) = tcp else { return packet };
        let [source, destination] = flow.ports;
        let [sequence, acknowledged] = flow.numbers.get(kind).copied().unwrap_or_default();
        tcp[..2].copy_from_slice(&source);
        tcp[2..4].copy_from_slice(&destination);
        tcp[4..8].copy_from_slice(&sequence.to_be_bytes());
        tcp[8..12].copy_from_slice(&acknowledged.to_be_bytes());
        tcp[13] = FLAGS.get(kind).copied().unwrap_or(0);
        let ports = flow.ports.map(|port| u64::from(u16::from_be_bytes(port)));
        let numbers = u64::from(sequence) + u64::from(acknowledged) + u64::from(tcp[13]);
        let sum = checksum::fold(self.sum + ports[0] + ports[1] + numbers);
        tcp[16..18].copy_from_slice(&(!sum).to_be_bytes());
        packet
    }
}

impl Flow {
    fn random(ctx: &mut Ctx<'_>) -> Flow {
        let ports = [random_port(ctx), random_port(ctx)];
        // Click keeps random numbers as the machine does, the low byte first.
        let numbers = [(); 3].map(|()| [ctx.random().swap_bytes(), ctx.random().swap_bytes()]);
        Flow { ports, numbers, n_packets: 0 }
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::expect;

    const ENDS: &str = "0:0:0:0:0:1, 1.0.0.1, 1:1:1:1:1:2, 2.0.0.2";

    #[test]
    fn flows_begin_and_end() {
        check_reading(
            &format!(
                "s :: FastTCPFlows(0, 7, 60, {ENDS}, 1, 4) -> Unqueue -> CheckIPHeader(14) -> CheckTCPHeader
                     -> Strip(14) -> StoreData(20, \\<00010002>) -> StoreData(24, \\<00000003 00000004>) -> IPPrint -> Discard"
            ),
            &["s.count"],
            expect![[r#"
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: S 3:10(7,46,46) win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: P 3:9(6,46,46) ack 4 win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: P 3:9(6,46,46) ack 4 win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: F 3:10(7,46,46) win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: S 3:10(7,46,46) win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: P 3:9(6,46,46) ack 4 win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: P 3:9(6,46,46) ack 4 win 65535
                0.000000: 1.0.0.1.1 > 2.0.0.2.2: F 3:10(7,46,46) win 65535
                s.count: 8
            "#]],
        );
    }

    #[test]
    fn all_flows_end_after_the_limit() {
        check_reading(
            &format!(
                "s :: FastTCPFlows(0, 4, 70, {ENDS}, 1, 1) -> CheckIPHeader(14) -> CheckTCPHeader
                     -> c :: Counter -> TimedSink(0.01);
                 Script(wait 1s, read c.count, write s.reset, wait 1s, read s.count, read c.count, stop)"
            ),
            &["s.rate"],
            expect![[r#"
                warning: flow size < 3, defaulting to 3
                c.count:
                5
                s.count:
                5
                c.count:
                10
                s.rate: 125
            "#]],
        );
    }
}
