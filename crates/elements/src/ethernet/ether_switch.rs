//! A learning Ethernet switch.
//!
//! Input and output of one number belong to one network. The switch notes on which network it last heard each source address,
//! and sends a frame to the network of its destination, or to all networks but its own if that one is unknown, was not heard
//! for TIMEOUT, or is a group. A frame for the network that it comes from is dropped. Times are those of the frames' timestamps.
//! With a TIMEOUT of 0 the switch learns nothing and sends every frame to all other networks.
//!
//! While CAPACITY stations are known, others are not learned, and frames for them go to all other networks: stations that are known
//! go on as before, whatever addresses are forged. Stations that were not heard for TIMEOUT make room.
//!
//! ```click
//! switch :: EtherSwitch;
//! FromDevice(eth0) -> SetTimestamp -> [0]switch[0] -> Queue -> ToDevice(eth0);
//! FromDevice(eth1) -> SetTimestamp -> [1]switch[1] -> Queue -> ToDevice(eth1);
//! ```

use std::fmt::Write;

use args::Seconds;
use element::{
    same, same_ref, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet,
    Saved,
};

use super::stations::{stations, Key, Stations, CAPACITY, STATIONS, UNLEARNED};

/// The class.
pub const CLASS: Class = Class::new::<Switch<false>>("EtherSwitch", "2-/=", "h/h", "#/[^#]")
    .causes(Causes::COPIES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS);

/// The arguments.
pub const ARGS: &[Arg] = &[
    Arg::keyword(
        "TIMEOUT",
        "seconds",
        "How long a silent station's network is remembered; 0: nothing is learned. Default 300.",
    ),
    CAPACITY,
];

/// The handlers.
pub const HANDLERS: &[Handler] = &[
    Handler::read("table", "The stations: address and port number, a line each."),
    Handler::read_write("timeout", "How long a silent station's network is remembered, in seconds."),
    STATIONS.flags("unlisted"),
    UNLEARNED.flags("unlisted"),
    Handler::write("flush", "Forgets all stations.").flags("button unlisted"),
];

const SAME_NETWORK: usize = 0;
const DROPS: &[DropReason] =
    &[DropReason::new("same-network", "The destination is on the network that the frame comes from.")];

/// Where a frame goes: to this output, or to one of these.
type Way = u32;
const EVERYWHERE: Way = u32::MAX;

/// A switch; if it listens, its last output belongs to no network, and gets a copy of every frame.
pub struct Switch<const LISTENS: bool> {
    timeout_s: u32,
    timeout_ns: i64,
    stations: Stations,
    /// Of the batch that is being worked on.
    ways: Vec<Way>,
    /// Frames for each output.
    outgoing: Vec<Batch>,
}

impl<const LISTENS: bool> Element for Switch<LISTENS> {
    fn configure(conf: &mut Configure<'_>) -> Result<Switch<LISTENS>, Failed> {
        let Seconds::<0>(timeout_s) = conf.args.get_or("TIMEOUT", Seconds(300));
        let stations = stations(conf);
        conf.finish()?;
        let (ways, outgoing) = (Vec::new(), (0..conf.n_outputs).map(|_| Batch::new()).collect());
        let timeout_ns = nanoseconds(timeout_s);
        Ok(Switch { timeout_s, timeout_ns, stations, ways, outgoing })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, batch: Batch) {
        let source = port as u32;
        batch.prefetch_data();
        let mut ways = std::mem::take(&mut self.ways);
        ways.clear();
        ways.extend(batch.iter().map(|packet| self.way(source, packet)));
        match ways.first() {
            Some(first) if ways.iter().all(|way| way == first) => self.send_all(ctx, port, *first, batch),
            _ => self.send_each(ctx, port, &ways, batch),
        }
        self.ways = ways;
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        match name {
            "table" => {
                let mut text = String::new();
                for (address, port) in self.stations.list() {
                    let _ = writeln!(text, "{address} {port}");
                }
                Ok(text)
            }
            "stations" => Ok(self.stations.count().to_string()),
            "unlearned" => Ok(self.stations.n_unlearned.to_string()),
            "timeout" => Ok(self.timeout_s.to_string()),
            _ => Err(format!("no {name} read handler")),
        }
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "timeout" => {
                let seconds = args::saturating_seconds(value, 0);
                self.timeout_s = seconds.map_err(|_| "expected timeout (integer)")?;
                self.timeout_ns = nanoseconds(self.timeout_s);
            }
            "flush" => self.stations.clear(),
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let stations = match same_ref::<Switch<true>>(&*old) {
            Some(_) => same::<Switch<true>>(ctx, old).map(|old| old.stations),
            None => same::<Switch<false>>(ctx, old).map(|old| old.stations),
        };
        if let Some(stations) = stations {
            self.stations.go_on_with(stations);
            let n_ports = self.n_ports();
            self.stations.forget_where(|station| station.port >= n_ports);
        }
    }

    fn save_state(&mut self, _ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        Some(self.stations.save(from))
    }

    fn restore_state(&mut self, _ctx: &mut Ctx<'_>, line: &str, _passed_ms: i64) -> Result<(), String> {
        let n_ports = self.n_ports();
        self.stations.restore(line, |port, vlan| port < n_ports && vlan == 0)
    }
}

impl<const LISTENS: bool> Switch<LISTENS> {
    fn n_ports(&self) -> u32 {
        (self.outgoing.len() - usize::from(LISTENS)) as u32
    }

    /// Learns from a frame and finds its way.
    #[inline(always)]
    fn way(&mut self, source: u32, packet: &Packet) -> Way {
        let [d0, d1, d2, d3, d4, d5, sources @ ..] = match packet.data().first_chunk::<14>() {
            Some(header) => *header,
            None => padded(packet.data()),
        };
        if self.timeout_s == 0 {
            return EVERYWHERE;
        }
        let now_ns = packet.timestamp_ns();
        self.stations.hear(Key::of(sources), source, now_ns, now_ns.saturating_sub(self.timeout_ns));
        let destination = Key::of([d0, d1, d2, d3, d4, d5, 0, 0]);
        if destination.is_group() {
            return EVERYWHERE;
        }
        match self.stations.find(destination) {
            Some(station) if now_ns < station.heard_ns.saturating_add(self.timeout_ns) => station.port,
            Some(_) => {
                self.stations.forget(destination);
                EVERYWHERE
            }
            None => EVERYWHERE,
        }
    }

    /// Sends frames that all go the same way.
    fn send_all(&mut self, ctx: &mut Ctx<'_>, source: usize, way: Way, batch: Batch) {
        match way {
            EVERYWHERE => {
                let last = usize::from(source == 0);
                for port in (last + 1..self.outgoing.len()).rev().filter(|port| *port != source) {
                    ctx.emit(port, batch.clones());
                }
                ctx.emit(last, batch);
            }
            port if port as usize == source => match LISTENS {
                true => ctx.emit(self.listener(), batch),
                false => ctx.drop_batch(SAME_NETWORK, batch),
            },
            port => {
                if LISTENS {
                    ctx.emit(self.listener(), batch.clones());
                }
                ctx.emit(port as usize, batch);
            }
        }
    }

    /// The output that gets all frames.
    fn listener(&self) -> usize {
        self.outgoing.len().saturating_sub(1)
    }

    /// Sends frames each its own way; those for one output stay in order.
    fn send_each(&mut self, ctx: &mut Ctx<'_>, source: usize, ways: &[Way], mut batch: Batch) {
        let mut same_network = Batch::new();
        for (packet, way) in batch.drain().zip(ways) {
            match *way {
                EVERYWHERE => {
                    let others = self.outgoing.iter_mut().enumerate().filter(|(port, _)| *port != source);
                    for (_, outgoing) in others {
                        outgoing.push(packet.clone());
                    }
                }
                port if port as usize == source && !LISTENS => same_network.push(packet),
                port => {
                    if let Some(outgoing) = self.outgoing.last_mut().filter(|_| LISTENS) {
                        outgoing.push(packet.clone());
                    }
                    if port as usize == source {
                        continue;
                    }
                    if let Some(outgoing) = self.outgoing.get_mut(port as usize) {
                        outgoing.push(packet);
                    }
                }
            }
        }
        for (port, outgoing) in self.outgoing.iter_mut().enumerate().rev() {
            if !outgoing.is_empty() {
                ctx.emit(port, std::mem::replace(outgoing, Batch::new()));
            }
        }
        ctx.drop_batch(SAME_NETWORK, same_network);
    }
}

/// What is missing of a header reads as 0.
#[cold]
fn padded(bytes: &[u8]) -> [u8; 14] {
    let mut header = [0; 14];
    header.iter_mut().zip(bytes).for_each(|(to, from)| *to = *from);
    header
}

fn nanoseconds(seconds: u32) -> i64 {
    i64::from(seconds) * 1_000_000_000
}

#[cfg(test)]
mod tests {
    use crate::testing::check_reading;
    use expect_test::{expect, Expect};

    /// Sends frames, given as port, destination and source, through a switch of three ports.
    fn check(timeout: u32, frames: &[(usize, &str, &str)], expect: Expect) {
        let mut config = format!("s :: EtherSwitch(TIMEOUT {timeout});\n");
        for port in 0..3 {
            config += &format!("i{port} :: Null -> [{port}]s; s[{port}] -> Print({port}, 14) -> Discard;\n");
        }
        for (i, (port, destination, source)) in frames.iter().enumerate() {
            config +=
                &format!("InfiniteSource(DATA \\<{destination}{source}{i:04x}>, LIMIT 1) -> i{port};\n");
        }
        check_reading(&config, &["s.table", "s.timeout"], expect);
    }

    const A: &str = "02000000000a";
    const B: &str = "02000000000b";

    #[test]
    fn frames_go_where_their_destination_was_heard() {
        check(
            300,
            &[(0, B, A), (1, A, B), (2, A, B), (0, B, A), (2, B, A)],
            expect![[r#"
            2:   14 | 02000000 000b0200 0000000a 0000
            1:   14 | 02000000 000b0200 0000000a 0000
            0:   14 | 02000000 000a0200 0000000b 0001
            0:   14 | 02000000 000a0200 0000000b 0002
            2:   14 | 02000000 000b0200 0000000a 0003
            s.table: 02-00-00-00-00-0A 2
            02-00-00-00-00-0B 2

            s.timeout: 300
        "#]],
        );
    }

    #[test]
    fn frames_for_groups_go_to_all_other_networks() {
        check(
            300,
            &[(1, "ffffffffffff", A), (0, "01005e000001", B)],
            expect![[r#"
            config:4: 'i2 :: Null' input 0 unused
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn without_a_timeout_nothing_is_learned() {
        check(
            0,
            &[(0, B, A), (1, A, B)],
            expect![[r#"
            config:4: 'i2 :: Null' input 0 unused
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn frames_without_a_header_are_dropped() {
        check(
            300,
            &[(0, "", A)],
            expect![[r#"
            config:3: 'i1 :: Null' input 0 unused
            config:4: 'i2 :: Null' input 0 unused
            Router could not be initialized!
        "#]],
        );
    }

    #[test]
    fn a_flood_of_addresses_leaves_known_stations_alone() {
        // Stations 0 and 1 talk; then many more speak, of which the first has a place, and later the first two have been silent.
        let frame = |source: u32, destination: u32, time: u32| {
            format!("InfiniteSource(DATA \\<02{destination:010x}02{source:010x}0800>, LIMIT 1) -> SetTimestamp({time}) -> i;")
        };
        let flood: String = (2..100).map(|n| frame(n, 200, 2)).collect();
        let config = format!(
            "s :: EtherSwitch(CAPACITY 3, TIMEOUT 10); i :: Null -> s [0] -> Discard; Idle -> [1] s [1] -> Discard; {}{}{flood}{}",
            frame(0, 200, 1),
            frame(1, 200, 5),
            frame(3, 200, 12),
        );
        check_reading(
            &config,
            &["s.table", "s.stations", "s.unlearned"],
            expect![[r#"
            s.table: 02-00-00-00-00-01 0
            02-00-00-00-00-02 0
            02-00-00-00-00-03 0

            s.stations: 3
            s.unlearned: 97
        "#]],
        );
    }
}
