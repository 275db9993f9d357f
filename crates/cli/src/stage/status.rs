//! What a running stage tells of itself.

pub mod command;
pub mod order;

use std::sync::OnceLock;
use std::time::{SystemTime, UNIX_EPOCH};

use element::Runtime;
use engine::world::World;
use graph::{Handler, HandlerKind};
use interfaces::stage::{table, Report};
use serde::{Deserialize, Serialize};
use sys::pipe::PipeId;

use crate::numbers;

/// What a stage tells of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The number of its process, by which commands name it.
    pub id: u32,
    /// Its function with its arguments, as a shell reads them.
    pub function: String,
    /// When it started, in seconds since the epoch.
    pub started_s: f64,
    /// Its interfaces.
    pub interfaces: Vec<Interface>,
    /// Packets that its elements dropped.
    pub drops: u64,
    /// Packets that wait in its queues.
    pub queued: u64,
}

/// What is told of an interface.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub struct Interface {
    /// Its name.
    pub name: String,
    /// What packets go through: `pipe`, `ring`, `pump`, `cable`, `tap`, `device`, `file`, `socket`, or `none`.
    pub joint: String,
    /// The neighbouring stage.
    pub neighbour: Option<u32>,
    /// Packets received.
    pub rx_packets: u64,
    /// Bytes of these packets.
    pub rx_bytes: u64,
    /// Packets sent, those that wait included.
    pub tx_packets: u64,
    /// Bytes of these packets.
    pub tx_bytes: u64,
    /// Packets that could not be read or expressed, or that the other side did not read.
    pub drops: u64,
    /// Packets that wait for room.
    pub waiting: usize,
    /// Bytes that wait to be received.
    pub waiting_bytes: usize,
    /// The pipes that it reads, by the numbers of their devices and inodes: who writes to one of them is next to it.
    #[serde(default)]
    pub reads: Vec<String>,
    /// The pipes that it writes to.
    #[serde(default)]
    pub writes: Vec<String>,
}

/// Packets and bytes that a stack's device has seen, which the graph does not see: received and sent.
pub type DeviceTraffic = (u64, u64, u64, u64, u64);
/// Tells a stack's device's traffic by name: packets and bytes received from the stack, sent to it, and drops.
pub type DeviceReader = Box<dyn Fn(&str) -> Option<DeviceTraffic> + Send + Sync>;

/// What does not change while a stage runs.
pub struct About {
    /// Its function with its arguments.
    pub function: String,
    /// When it started.
    pub started: SystemTime,
    /// For the interfaces whose packets stay in the kernel.
    pub devices: Option<DeviceReader>,
}

static ABOUT: OnceLock<About> = OnceLock::new();

/// What the names of the graph's interfaces to a stack's devices begin with.
pub const STACK: &str = "stack.";

/// Says what this process is.
pub fn tell_about(about: About) {
    // A process is one stage.
    let _ = ABOUT.set(about);
}

/// A command line as a shell reads it.
pub fn command_line<'a>(words: impl IntoIterator<Item = &'a str>) -> String {
    // No word of a command line has a zero byte.
    shlex::try_join(words).unwrap_or_default()
}

/// The status of this process.
pub fn of(world: &mut World) -> Result<Status, String> {
    let about = ABOUT.get().ok_or("it is no stage")?;
    let drops = (0..world.n_elements()).flat_map(|idx| world.drops(idx)).map(|(_, n)| n).sum();
    let queued = queued(world);
    let interfaces: Vec<Reported> = table::opened().iter().map(report).collect();
    let inner = |(report, _): &&Reported| report.name.starts_with(STACK);
    let (inner, own): (Vec<&Reported>, Vec<&Reported>) = interfaces.iter().partition(inner);
    let told = |(report, (reads, writes)): &&Reported| {
        let is_behind = |(inner, _): &&&Reported| inner.name.strip_prefix(STACK) == Some(&report.name);
        let told = behind(interface(report, about), inner.iter().find(is_behind).map(|(inner, _)| inner));
        Interface { reads: texts(reads), writes: texts(writes), ..told }
    };
    Ok(Status {
        id: std::process::id(),
        function: about.function.clone(),
        started_s: about.started.duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64()),
        interfaces: own.iter().map(told).collect(),
        drops,
        queued,
    })
}

/// What an interface tells of itself, with the pipes that it reads, and those that it writes to.
type Reported = (Report, (Vec<PipeId>, Vec<PipeId>));

fn report(shared: &table::Shared) -> Reported {
    let mut interface = table::lock(shared);
    (interface.report(), interface.pipes())
}

fn texts(pipes: &[PipeId]) -> Vec<String> {
    pipes.iter().map(|pipe| format!("{}:{}", pipe.device, pipe.inode)).collect()
}

/// How many packets the elements of a graph store.
pub fn queued(world: &mut World) -> u64 {
    let stores = |idx: &usize| stores_packets(world.class_of(*idx).facts.handlers);
    let queues = (0..world.n_elements()).filter(stores).map(|idx| format!("{}.length", world.name(idx)));
    let queues: Vec<String> = queues.collect();
    queues.iter().filter_map(|name| numbers::read(world, name)).sum()
}

/// Whether the handlers are those of a class that stores packets: it tells how many. A length that can be written is that of
/// packets to be made or let pass.
fn stores_packets(handlers: &[Handler]) -> bool {
    handlers.iter().any(|handler| handler.name == "length" && handler.kind == HandlerKind::Read)
}

/// Adds what became of packets between an interface and the stack's device behind it.
fn behind(told: Interface, device: Option<&Report>) -> Interface {
    let (n_dropped, n_waiting) = device.map_or((0, 0), |device| (device.n_dropped, device.n_waiting));
    Interface { drops: told.drops + n_dropped, waiting: told.waiting + n_waiting, ..told }
}

fn interface(report: &Report, about: &About) -> Interface {
    let mut told = Interface {
        name: report.name.clone(),
        joint: report.joint.to_string(),
        neighbour: report.neighbour,
        rx_packets: report.received.packets,
        rx_bytes: report.received.bytes,
        tx_packets: report.sent.packets,
        tx_bytes: report.sent.bytes,
        drops: report.n_dropped,
        waiting: report.n_waiting,
        waiting_bytes: report.n_waiting_bytes,
        ..Interface::default()
    };
    let is_in_kernel = ["cable", "pump"].contains(&report.joint);
    let device = about.devices.as_ref().filter(|_| is_in_kernel).and_then(|read| read(&report.name));
    if let Some((rx_packets, rx_bytes, tx_packets, tx_bytes, drops)) = device {
        (told.rx_packets, told.rx_bytes) = (rx_packets, rx_bytes);
        (told.tx_packets, told.tx_bytes) = (tx_packets, tx_bytes);
        told.drops += drops;
    }
    told
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_stores_packets_has_packets_that_wait() {
        let stock = catalog::stock();
        let has_length = |name: &str| {
            stock.get(name).is_some_and(|class| class.facts.handlers.iter().any(|one| one.name == "length"))
        };
        let (storing, others): (Vec<&str>, Vec<&str>) = stock
            .sorted_names()
            .into_iter()
            .filter(|name| has_length(name))
            .partition(|name| stock.get(name).is_some_and(|class| stores_packets(class.facts.handlers)));
        expect_test::expect![[r#"
            ["ARPQuerier", "ARPTable", "FrontDropQueue", "FullNoteQueue", "IP6Neighbors", "MSQueue", "MixedQueue", "NotifierQueue", "Queue", "QuickNoteQueue", "SimpleQueue", "ThreadSafeQueue"]
            ["CheckLength", "DriverManager", "FastUDPFlows", "InfiniteSource", "RandomSource", "RatedSource", "Script"]
        "#]]
        .assert_eq(&format!("{storing:?}\n{others:?}\n"));
    }
}
