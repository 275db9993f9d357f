//! A learning Ethernet switch with VLANs.
//!
//! Input and output of one number are a port. An access port belongs to one VLAN, whose frames have no tag there. A trunk carries
//! the frames of several VLANs, each with its tag (IEEE 802.1Q); those without one belong to its native VLAN, if it has one. A
//! port of which nothing is said is an access port of VLAN 1.
//!
//! ```text
//! access VLAN                    VLAN, or 1
//! trunk [NATIVE] [ALLOWED VLANS] VLANS such as 10 20..29, or all; NATIVE is always allowed
//! ```
//!
//! A frame stays in its VLAN: the switch notes on which port it last heard each source address of a VLAN, and sends a frame to the
//! port of its destination, or to all other ports of the VLAN if that one is unknown, was not heard for TIMEOUT, or is a group. A
//! tag that names no VLAN counts as none, but for its priority. Frames of VLANs that the port is no member of are dropped, and so
//! are those without a tag that come by a trunk without a native VLAN. Tags of type 0x88A8 are left alone.
//!
//! Times are those of the frames' timestamps. With a TIMEOUT of 0 nothing is learned. While CAPACITY stations are known, others are
//! not learned, and frames for them go to all ports of the VLAN; silent ones make room.
//!
//! ```click
//! switch :: VLANSwitch(access 10, access 20, trunk 1 ALLOWED 10 20);
//! FromDevice(eth0) -> SetTimestamp -> [0]switch[0] -> Queue -> ToDevice(eth0);
//! FromDevice(eth1) -> SetTimestamp -> [1]switch[1] -> Queue -> ToDevice(eth1);
//! FromDevice(eth2) -> SetTimestamp -> [2]switch[2] -> Queue -> ToDevice(eth2);
//! ```

mod frame;
mod port;

use args::Seconds;
use element::{
    same, Arg, Batch, Causes, Class, Configure, Ctx, DropReason, Element, Failed, Handler, Packet, Saved,
};

use super::stations::{stations, Key, Station, Stations, CAPACITY, STATIONS, UNLEARNED};
use super::tag::{self, ID_MASK};
use frame::{is_tagged_at, remove_tag, Frame, ETHER_HEADER};
use port::{ports, Port};

/// The class.
pub const CLASS: Class = Class::new::<VlanSwitch>("VLANSwitch", "2-/=", "h/h", "#/[^#]")
    .causes(Causes::COPIES)
    .args(ARGS)
    .handlers(HANDLERS)
    .drops(DROPS)
    .live();

const ARGS: &[Arg] = &[
    Arg::rest("PORTS", "see above", "The VLANs of each port, one argument a port."),
    Arg::keyword(
        "TIMEOUT",
        "seconds",
        "How long a silent station's port is remembered; 0: nothing is learned. Default 300.",
    ),
    CAPACITY,
];

const HANDLERS: &[Handler] = &[
    Handler::read("table", "The stations: address, VLAN and port number, a line each.").flags("expensive"),
    STATIONS,
    UNLEARNED,
    Handler::read(
        "dropped",
        "A line for each port: its number, dropped frames of VLANs that it is no member of, dropped frames without a tag.",
    ),
    Handler::read_write("timeout", "How long a silent station's port is remembered, in seconds.")
        .flags("setting"),
    Handler::write("flush", "Forgets all stations.").flags("button"),
    Handler::write("reset_counts", "Sets the counts to 0.").flags("button"),
];

const SAME_PORT: usize = 0;
const NOT_MEMBER: usize = 1;
const UNTAGGED: usize = 2;
const SHORT: usize = 3;
const ALONE: usize = 4;
const DROPS: &[DropReason] = &[
    DropReason::new("same-port", "The destination is at the port that the frame came by."),
    DropReason::new("not-member", "The port is no member of the frame's VLAN."),
    DropReason::new("untagged", "The frame has no tag, and the trunk has no native VLAN."),
    DropReason::new("short", "The frame is shorter than an Ethernet header."),
    DropReason::new("alone", "No other port is a member of the frame's VLAN."),
];

/// See the page above.
pub struct VlanSwitch {
    ports: Vec<Port>,
    timeout_s: u32,
    stations: Stations,
    /// Dropped frames of the batch that is being worked on, by reason.
    dropped: [Batch; DROPS.len()],
}

impl Element for VlanSwitch {
    fn configure(conf: &mut Configure<'_>) -> Result<VlanSwitch, Failed> {
        let Seconds::<0>(timeout_s) = conf.args.get_or("TIMEOUT", Seconds(300));
        let stations = stations(conf);
        let ports = ports(conf);
        conf.finish()?;
        Ok(VlanSwitch { ports, timeout_s, stations, dropped: Default::default() })
    }

    fn push(&mut self, ctx: &mut Ctx<'_>, port: usize, mut batch: Batch) {
        for packet in batch.drain() {
            match self.admit(port, packet) {
                Ok(frame) => self.forward(port, frame),
                Err((reason, packet)) => self.dropped[reason].push(packet),
            }
        }
        for (idx, port) in self.ports.iter_mut().enumerate() {
            if !port.outgoing.is_empty() {
                ctx.emit(idx, std::mem::take(&mut port.outgoing));
            }
        }
        for (reason, dropped) in self.dropped.iter_mut().enumerate() {
            if !dropped.is_empty() {
                ctx.drop_batch(reason, std::mem::take(dropped));
            }
        }
    }

    fn read(&mut self, _ctx: &mut Ctx<'_>, name: &str, _param: &str) -> Result<String, String> {
        Ok(match name {
            "table" => self.table(),
            "stations" => self.stations.count().to_string(),
            "unlearned" => self.stations.n_unlearned.to_string(),
            "dropped" => {
                let ports = self.ports.iter().enumerate();
                ports
                    .map(|(idx, port)| format!("{idx} {} {}\n", port.n_not_member, port.n_untagged))
                    .collect()
            }
            "timeout" => self.timeout_s.to_string(),
            _ => return Err(format!("no {name} read handler")),
        })
    }

    fn write(&mut self, _ctx: &mut Ctx<'_>, name: &str, value: &str) -> Result<(), String> {
        match name {
            "timeout" => {
                let seconds = args::saturating_seconds(value, 0);
                self.timeout_s = seconds.map_err(|_| "expected a number of seconds such as 300")?;
            }
            "flush" => self.stations.clear(),
            "reset_counts" => {
                self.stations.n_unlearned = 0;
                self.ports.iter_mut().for_each(|port| (port.n_not_member, port.n_untagged) = (0, 0));
            }
            _ => return Err(format!("no {name} write handler")),
        }
        Ok(())
    }

    fn take_state(&mut self, ctx: &mut Ctx<'_>, old: Box<dyn Element>) {
        let Some(old) = same::<VlanSwitch>(ctx, old) else { return };
        for (port, old) in self.ports.iter_mut().zip(&old.ports) {
            (port.n_not_member, port.n_untagged) = (old.n_not_member, old.n_untagged);
        }
        self.stations.go_on_with(old.stations);
        let ports = &self.ports;
        let is_member =
            |port: u32, vlan| ports.get(port as usize).is_some_and(|port: &Port| port.membership.has(vlan));
        self.stations.forget_where(|station| !is_member(station.port, station.vlan()));
    }

    fn save_state(&mut self, _ctx: &mut Ctx<'_>, from: usize) -> Option<Saved> {
        Some(self.stations.save(from))
    }

    fn restore_state(&mut self, _ctx: &mut Ctx<'_>, line: &str, _passed_ms: i64) -> Result<(), String> {
        let ports = &self.ports;
        self.stations.restore(line, |port, vlan| {
            ports.get(port as usize).is_some_and(|port| port.membership.has(vlan))
        })
    }
}

impl VlanSwitch {
    /// A frame that comes by a port in its VLAN; or why it has none there.
    #[inline(always)]
    fn admit(&mut self, source: usize, mut packet: Packet) -> Result<Frame, (usize, Packet)> {
        let Some(port) = self.ports.get_mut(source).filter(|_| packet.len() >= ETHER_HEADER) else {
            return Err((SHORT, packet));
        };
        let tci = tag::read(&packet, tag::ETHERTYPE);
        match tci.filter(|tci| tci & ID_MASK != 0) {
            Some(tci) if port.membership.has(tci & ID_MASK) => Ok(Frame { packet, tci, is_tagged: true }),
            Some(_) => {
                port.n_not_member += 1;
                Err((NOT_MEMBER, packet))
            }
            None => match port.membership.native() {
                Some(vlan) => {
                    if tci.is_some() {
                        remove_tag(&mut packet);
                    }
                    Ok(Frame { packet, tci: tci.unwrap_or(0) | vlan, is_tagged: false })
                }
                None => {
                    port.n_untagged += 1;
                    Err((UNTAGGED, packet))
                }
            },
        }
    }

    /// Puts a frame to those that leave by the port of its destination, or by all.
    #[inline(always)]
    fn forward(&mut self, source: usize, frame: Frame) {
        let vlan = frame.tci & ID_MASK;
        match self.way(source, vlan, &frame.packet) {
            Some(port) if port == source => self.dropped[SAME_PORT].push(frame.packet),
            Some(port) => {
                if let Some(port) = self.ports.get_mut(port) {
                    let frame = frame.for_port(&port.membership);
                    port.outgoing.push(frame);
                }
            }
            None => self.flood(source, vlan, frame),
        }
    }

    /// Learns from a frame; the port of its destination, if that is known.
    #[inline(always)]
    fn way(&mut self, source: usize, vlan: u16, packet: &Packet) -> Option<usize> {
        if self.timeout_s == 0 {
            return None;
        }
        let [d0, d1, d2, d3, d4, d5, sources @ ..] = *packet.data().first_chunk::<ETHER_HEADER>()?;
        let oldest_ns = packet.timestamp_ns().saturating_sub(i64::from(self.timeout_s) * 1_000_000_000);
        let sender = Key::in_vlan(sources, vlan);
        if !sender.is_group() {
            self.stations.hear(sender, source as u32, packet.timestamp_ns(), oldest_ns);
        }
        let destination = Key::in_vlan([d0, d1, d2, d3, d4, d5, 0, 0], vlan);
        if destination.is_group() {
            return None;
        }
        let station = self.stations.find(destination)?;
        if station.heard_ns <= oldest_ns {
            self.stations.forget(destination);
            return None;
        }
        Some(station.port as usize)
    }

    /// Puts copies of a frame to those that leave by the other ports of its VLAN.
    fn flood(&mut self, source: usize, vlan: u16, frame: Frame) {
        let mut other = None;
        let mut n_ports = 0;
        for (idx, port) in self.ports.iter_mut().enumerate() {
            if idx == source || !port.membership.has(vlan) {
                continue;
            }
            n_ports += 1;
            let copy = match frame.is_tagged == is_tagged_at(&port.membership, vlan) {
                true => frame.packet.clone(),
                // The tag changes once, whatever the number of ports.
                false => other.get_or_insert_with(|| frame.clone().for_port(&port.membership)).clone(),
            };
            port.outgoing.push(copy);
        }
        if n_ports == 0 {
            self.dropped[ALONE].push(frame.packet);
        }
    }

    fn table(&self) -> String {
        let mut stations: Vec<_> = self.stations.iter().collect();
        stations.sort_unstable_by_key(|one| (one.vlan(), one.address().0));
        let line = |one: &&Station| format!("{} {} {}\n", one.address(), one.vlan(), one.port);
        stations.iter().map(line).collect()
    }
}

#[cfg(test)]
mod tests;
