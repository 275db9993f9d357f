//! The source of one UDP packet again and again, in either version of IP.

use std::marker::PhantomData;

use args::{Port, Value};
use element::{same, Arg, Batch, Configure, Ctx, Element, Failed, Packet};

use super::fast_source::{checked_len, Ends, Pace};

/// A version of IP.
pub trait Version: Send + 'static {
    /// Its addresses.
    type Address: Value;
    /// The argument that is the source address.
    const SOURCE: &'static str;
    /// The argument that is the destination address.
    const DESTINATION: &'static str;

    /// A packet of `len` bytes without ports, and the sum of its segment but for them if it is to have a checksum.
    fn template(ends: &Ends<Self::Address>, len: u32, has_checksum: bool) -> (Packet, Option<u64>);

    /// Writes source and destination port into such a packet, and the checksum if there is the sum of the rest.
    fn write_ports(packet: &mut Packet, source: [u8; 2], destination: [u8; 2], sum: Option<u64>);
}

/// The arguments; those that are IP addresses have these names.
pub const fn args(source: &'static str, destination: &'static str, address: &'static str) -> [Arg; 12] {
    [
        Arg::required("RATE", "unsigned", "Packets per second; 0 is no limit."),
        Arg::required("LIMIT", "int", "Most packets to make; negative is no limit."),
        Arg::required("LENGTH", "unsigned", "Bytes of a packet, at least 60."),
        Arg::required("SRCETH", "Ethernet address", "Link-layer source."),
        Arg::required(source, address, "Source address."),
        Arg::required("SPORT", "UDP port", "Source port."),
        Arg::required("DSTETH", "Ethernet address", "Link-layer destination."),
        Arg::required(destination, address, "Destination address."),
        Arg::required("DPORT", "UDP port", "Destination port."),
        Arg::optional("CHECKSUM", "bool", "Whether to compute the UDP checksum. Default true."),
        Arg::optional("INTERVAL", "unsigned", "Packets with the same ports; 0 is no limit. Default 0."),
        Arg::optional("ACTIVE", "bool", "Whether packets are made. Default true."),
    ]
}

/// The source.
pub struct FastUdp<V> {
    pace: Pace,
    datagram: Datagram<V>,
    warning: Option<&'static str>,
}

/// The packet, and how it changes.
struct Datagram<V> {
    packet: Packet,
    /// Sum of the segment but for its ports; `None` for no checksum.
    sum: Option<u64>,
    ports: [u16; 2],
    interval: u32,
    /// How far the ports have grown.
    growth: u16,
    version: PhantomData<V>,
}

impl<V: Version> Element for FastUdp<V> {
    fn configure(conf: &mut Configure<'_>) -> Result<FastUdp<V>, Failed> {
        let mut pace = Pace::configure(conf);
        let len = conf.args.need("LENGTH");
        let ether_source = conf.args.need("SRCETH");
        let source = conf.args.need(V::SOURCE);
        let Port::<17>(source_port) = conf.args.need("SPORT");
        let ether_destination = conf.args.need("DSTETH");
        let destination = conf.args.need(V::DESTINATION);
        let Port::<17>(destination_port) = conf.args.need("DPORT");
        let has_checksum = conf.args.get_or("CHECKSUM", true);
        let interval = conf.args.get_or("INTERVAL", 0);
        pace.configure_end(conf);
        conf.finish()?;
        let (len, warning) = checked_len(len)?;
        pace.tell(conf);
        let ends = Ends { ether_source, source, ether_destination, destination };
        let (packet, sum) = V::template(&ends, len, has_checksum);
        let ports = [source_port, destination_port];
        let mut datagram = Datagram { packet, sum, ports, interval, growth: 0, version: PhantomData };
        datagram.write_ports();
        Ok(FastUdp { pace, datagram, warning })
    }

    fn initialize(&mut self, ctx: &mut Ctx<'_>) -> Result<(), String> {
        if let Some(warning) = self.warning {
            ctx.chatter(warning);
        }
        Ok(())
    }

    fn pull(&mut self, ctx: &mut Ctx<'_>, _port: usize, max: usize) -> Batch {
        let datagram = &mut self.datagram;
        self.pace.pull(ctx, max, |_, pace| datagram.next(pace))
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        self.pace.read(name)
    }

    fn write(&mut self, ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        if self.pace.write(ctx, name, value)? {
            self.datagram.growth = 0;
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<FastUdp<V>>(ctx, old) else { return };
        self.pace.take_over(ctx, &old.pace);
        self.datagram.growth = old.datagram.growth;
        self.datagram.write_ports();
    }
}

impl<V: Version> Datagram<V> {
    #[inline]
    fn next(&mut self, pace: &Pace) -> Option<Packet> {
        if pace.is_over() {
            return None;
        }
        let packet = self.packet.clone();
        if self.interval > 0 && pace.count().wrapping_add(1).is_multiple_of(self.interval) {
            self.growth = self.growth.wrapping_add(1);
            self.write_ports();
        }
        Some(packet)
    }

    fn write_ports(&mut self) {
        let [source, destination] = self.ports.map(|port| port.wrapping_add(self.growth).to_be_bytes());
        V::write_ports(&mut self.packet, source, destination, self.sum);
    }
}
