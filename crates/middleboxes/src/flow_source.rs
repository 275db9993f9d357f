//! Makes UDP packets of many flows, to load tables of flows.
//!
//! Sends BURST packets each time it is scheduled, as long as it is active, LIMIT is not reached and the queue downstream is not
//! full. Packets are IP packets with their headers marked and right checksums. Flow number `f` is that of host
//! SOURCE + f / HOST_FLOWS and source port SPORT + f % HOST_FLOWS, to DESTINATION and DPORT. All FLOWS flows have a packet
//! before any has its next one, always in the same order, which jumps about so that caches and their prefetchers cannot
//! foretell it.
//!
//! ```click
//! FlowSource(100000, LIMIT 1000000, BURST 32, STOP true) -> AggregateIPFlows -> Discard;
//! ```

use std::net::Ipv4Addr;

use element::{
    handlers, same, Arg, Batch, Class, Configure, Ctx, Element, Failed, Handler, Packet, Signal, TaskId,
    Wake, BATCH_MAX,
};
use wire::{checksum, protocol, Ipv4, Udp};

/// The class.
pub const CLASS: Class =
    Class::new::<FlowSource>("FlowSource", "0/1", "h/h", "x/x").args(ARGS).handlers(HANDLERS);

const ARGS: &[Arg] = &[
    Arg::required("FLOWS", "unsigned", "Number of flows, 1 to 2^31."),
    Arg::optional("LIMIT", "int", "Most packets to send; negative is no limit. Default -1."),
    Arg::optional("BURST", "unsigned", "Packets to send each time scheduled, 1 to 256. Default 32."),
    Arg::keyword("ACTIVE", "bool", "Whether to send packets. Default true."),
    Arg::keyword("STOP", "bool", "Whether to stop the driver when LIMIT packets are sent. Default false."),
    Arg::keyword("SOURCE", "IP address", "The first host. Default 100.64.0.1."),
    Arg::keyword("HOST_FLOWS", "unsigned", "Flows of each host. Default 1000."),
    Arg::keyword("SPORT", "unsigned", "The lowest source port. Default 10000."),
    Arg::keyword("DESTINATION", "IP address", "Where all packets go. Default 198.51.100.1."),
    Arg::keyword("DPORT", "unsigned", "Their destination port. Default 53."),
    Arg::keyword("LENGTH", "unsigned", "Length of the IP packets, 28 to 1500. Default 60."),
];

const HANDLERS: &[Handler] = &[
    Handler::read("count", "Packets sent."),
    Handler::read_write("active", "Whether packets are sent.").flags("checkbox"),
    Handler::write("reset", "Sets the count to 0, so that LIMIT packets more are sent.").flags("button"),
    handlers::SCHEDULED,
    handlers::TICKETS,
    handlers::HOME_THREAD,
];

/// See the page above.
pub struct FlowSource {
    flows: Flows,
    limit: i64,
    burst: usize,
    is_active: bool,
    stops: bool,
    count: u64,
    task: Option<TaskId>,
    nonfull: Signal,
}

/// The order of flows, and the packet that all of them begin as.
struct Flows {
    template: Packet,
    order: Order,
    source: u32,
    host_flows: u32,
    sport: u16,
    /// Checksums of the template.
    sums: [u16; 2],
}

/// All numbers below a limit, once a round: a linear congruential generator whose modulus is a power of two and whose period
/// is that (Hull and Dobell, "Random Number Generators", 1962), without the numbers that are too large.
#[derive(Clone, Copy, Debug)]
struct Order {
    state: u32,
    mask: u32,
    n: u32,
}

impl Order {
    fn new(n: u32) -> Order {
        Order { state: 0, mask: n.max(1).next_power_of_two().wrapping_sub(1), n: n.max(1) }
    }

    /// The next number; the modulus is less than twice the limit, so that few are skipped.
    #[inline]
    fn next(&mut self) -> u32 {
        loop {
            let number = self.state;
            self.state = number.wrapping_mul(0x0019_660d).wrapping_add(0x3c6e_f35f) & self.mask;
            if number < self.n {
                return number;
            }
        }
    }
}

impl Element for FlowSource {
    fn configure(conf: &mut Configure<'_>) -> Result<FlowSource, Failed> {
        let n_flows = conf.args.need_with("FLOWS", args::bounded(1, 1u32 << 31)).unwrap_or(1);
        let limit = conf.args.get_or("LIMIT", -1);
        let burst = conf.args.get_with("BURST", args::bounded(1, BATCH_MAX as u32)).unwrap_or(32) as usize;
        let is_active = conf.args.get_or("ACTIVE", true);
        let stops = conf.args.get_or("STOP", false);
        let source: Ipv4Addr = conf.args.get_or("SOURCE", Ipv4Addr::new(100, 64, 0, 1));
        let sport: u16 = conf.args.get_or("SPORT", 10000);
        let most = 65536 - u32::from(sport);
        let host_flows = conf.args.get_with("HOST_FLOWS", args::bounded(1, most)).unwrap_or(1000.min(most));
        let destination = conf.args.get_or("DESTINATION", Ipv4Addr::new(198, 51, 100, 1));
        let dport = conf.args.get_or("DPORT", 53);
        let length = conf.args.get_with("LENGTH", args::bounded(28u16, 1500)).unwrap_or(60);
        conf.finish()?;
        let (template, sums) = template(source, destination, sport, dport, length);
        let flows =
            Flows { template, order: Order::new(n_flows), source: source.to_bits(), host_flows, sport, sums };
        Ok(FlowSource { flows, limit, burst, is_active, stops, count: 0, task: None, nonfull: Signal::Busy })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        let task = ctx.new_task();
        ctx.schedule(task);
        self.nonfull = ctx.downstream_full_signal(0, Wake::Task(task));
        self.task = Some(task);
        Ok(())
    }

    fn run_task(&mut self, ctx: &mut Ctx<'_>, task: TaskId) -> bool {
        if !self.is_active || !ctx.is_active(&self.nonfull) {
            return false;
        }
        let left = u64::try_from(self.limit).map_or(u64::MAX, |limit| limit.saturating_sub(self.count));
        let n = left.min(self.burst as u64);
        if n == 0 {
            if self.stops {
                ctx.stop();
            }
            return false;
        }
        self.count += n;
        let batch = self.flows.make(n as usize);
        ctx.emit(0, batch);
        ctx.schedule(task);
        true
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "count" => Ok(self.count.to_string()),
            "active" => Ok(self.is_active.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "active" => {
                self.is_active =
                    args::boolean(value.trim()).map_err(|_| "active parameter must be boolean")?
            }
            "reset" => self.count = 0,
            _ => return Err(format!("no {name} write handler")),
        }
        self.task.into_iter().for_each(|task| ctx.schedule(task));
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<FlowSource>(ctx, old) else { return };
        self.count = old.count;
        if old.flows.order.n == self.flows.order.n {
            self.flows.order = old.flows.order;
        }
    }
}

/// The packet of flow 0, and the checksums of its two headers.
fn template(
    source: Ipv4Addr,
    destination: Ipv4Addr,
    sport: u16,
    dport: u16,
    length: u16,
) -> (Packet, [u16; 2]) {
    let mut packet = Packet::zeroed(length.into());
    packet.set_network_header(0, Ipv4::LEN);
    let udp_len = length.saturating_sub(Ipv4::LEN as u16);
    let mut sums = [0; 2];
    if let Some(mut udp) = packet.data_mut().get_mut(Ipv4::LEN..).and_then(Udp::new) {
        udp.set_source_port(sport);
        udp.set_destination_port(dport);
        udp.set_len(udp_len);
        let pseudo = checksum::pseudo_ipv4(source, destination, protocol::UDP, udp_len);
        sums[1] = checksum::nonzero(checksum::transport(pseudo, udp.as_bytes()));
        udp.set_checksum(sums[1]);
    }
    if let Some(mut ip) = Ipv4::init(packet.data_mut()) {
        ip.set_total_len(length);
        ip.set_ttl(64);
        ip.set_protocol(protocol::UDP);
        ip.set_source(source);
        ip.set_destination(destination);
        ip.update_checksum();
        sums[0] = ip.checksum();
    }
    packet.set_dst_ip(destination);
    (packet, sums)
}

impl Flows {
    /// The packets of the next flows.
    fn make(&mut self, n: usize) -> Batch {
        let mut batch = Batch::new();
        self.template.clone_into(n, &mut batch);
        for packet in batch.iter_mut() {
            let flow = self.order.next();
            let source = self.source.wrapping_add(flow / self.host_flows);
            let sport = self.sport.wrapping_add((flow % self.host_flows) as u16);
            let ip_sum = checksum::update_u32(self.sums[0], self.source, source);
            let udp_sum = checksum::update_u32(self.sums[1], self.source, source);
            let udp_sum = checksum::nonzero(checksum::update_u16(udp_sum, self.sport, sport));
            if let Some(header) = packet.data_mut().first_chunk_mut::<28>() {
                header[10..12].copy_from_slice(&ip_sum.to_be_bytes());
                header[12..16].copy_from_slice(&source.to_be_bytes());
                header[20..22].copy_from_slice(&sport.to_be_bytes());
                header[26..28].copy_from_slice(&udp_sum.to_be_bytes());
            }
        }
        batch
    }
}

#[cfg(test)]
mod tests {
    use super::Order;
    use crate::testing::check_reading;
    use expect_test::expect;

    #[test]
    fn every_flow_comes_once_a_round() {
        for n in [1, 2, 3, 64, 1000] {
            let mut order = Order::new(n);
            for _ in 0..2 {
                let mut round: Vec<u32> = (0..n).map(|_| order.next()).collect();
                round.sort_unstable();
                assert_eq!(round, (0..n).collect::<Vec<_>>());
            }
        }
    }

    #[test]
    fn packets_are_of_many_flows_and_right() {
        check_reading(
            "f :: FlowSource(5, 12, 2, HOST_FLOWS 2, SOURCE 10.0.0.1, LENGTH 30, STOP true)
                -> CheckIPHeader -> CheckUDPHeader -> p :: IPPrint -> a :: AggregateIPFlows
                -> n :: AggregateCounter -> Discard",
            &["f.count", "n.nagg", "n.count"],
            expect![[r#"
                0.000000: 10.0.0.1.10000 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.2.10000 > 198.51.100.1.53: udp 10
                a :: AggregateIPFlows: warning: packet received without timestamp
                0.000000: 10.0.0.1.10001 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.3.10000 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.2.10001 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.1.10000 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.2.10000 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.1.10001 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.3.10000 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.2.10001 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.1.10000 > 198.51.100.1.53: udp 10
                0.000000: 10.0.0.2.10000 > 198.51.100.1.53: udp 10
                f.count: 12
                n.nagg: 5
                n.count: 12
            "#]],
        );
    }

    #[test]
    fn mistakes_are_told() {
        check_reading(
            "FlowSource(0, SPORT 65000, HOST_FLOWS 1000, LENGTH 27) -> Discard",
            &[],
            expect![[r#"
                config:1: While configuring 'FlowSource@1 :: FlowSource':
                  FLOWS: out of range, bound 1
                  HOST_FLOWS: out of range, bound 536
                  LENGTH: out of range, bound 28
                Router could not be initialized!
            "#]],
        );
    }
}
