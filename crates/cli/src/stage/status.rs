//! What a running stage tells of itself, and `weir status`, which shows it.

use std::io::{BufRead, BufReader, Write};
use std::os::unix::net::UnixStream;
use std::process::ExitCode;
use std::sync::OnceLock;
use std::time::{Duration, Instant, SystemTime, UNIX_EPOCH};

use clap::Args;
use element::Runtime;
use engine::world::World;
use graph::{Handler, HandlerKind};
use interfaces::stage::{table, Report};
use serde::{Deserialize, Serialize};

use crate::control::protocol::{self, Answer, Ask};
use crate::failure::Exit;

/// What a stage tells of itself.
#[derive(Clone, Debug, Serialize, Deserialize)]
pub struct Status {
    /// The number of its process, by which commands name it.
    pub id: u32,
    /// Its function with its arguments.
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
#[derive(Clone, Debug, Serialize, Deserialize)]
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
}

/// Options of `weir status`.
#[derive(Args)]
pub struct StatusOptions {
    /// Only this stage; `--json` has it as an object.
    #[arg(value_name = "ID", value_parser = number)]
    pub id: Option<u32>,
    /// As JSON, an object a stage.
    #[arg(long)]
    pub json: bool,
}

/// Reads the number of a stage.
pub fn number(text: &str) -> Result<u32, String> {
    text.parse().map_err(|_| "expected the number of a stage; `weir status` lists them".to_string())
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

/// How long a stage may take to answer who changes it, on a machine that has much else to do.
const PATIENCE: Duration = Duration::from_secs(60);
/// How long one may take to tell a user of itself: it may hang in a write.
const PATIENCE_TO_TELL: Duration = Duration::from_secs(2);
/// When to look whether one that has not answered is stopped, so that nothing is to be waited for.
const SILENCE: Duration = Duration::from_millis(500);
/// What the names of stages' sockets begin with.
const PREFIX: &str = "stage-";
/// What the names of the graph's interfaces to a stack's devices begin with.
pub const STACK: &str = "stack.";

/// The name by which a stage's graph is found.
pub fn name_of(id: u32) -> String {
    format!("{PREFIX}{id}")
}

/// The number of the stage whose graph is found by this name.
pub fn number_of(name: &str) -> Option<&str> {
    name.strip_prefix(PREFIX).filter(|number| number.parse::<u32>().is_ok())
}

/// Says what this process is.
pub fn tell_about(about: About) {
    // A process is one stage.
    let _ = ABOUT.set(about);
}

/// The status of this process.
pub fn of(world: &mut World) -> Result<Status, String> {
    let about = ABOUT.get().ok_or("it is no stage")?;
    let all = 0..world.n_elements();
    let drops = all.clone().flat_map(|idx| world.drops(idx)).map(|(_, n)| n).sum();
    let stores = |idx: &usize| stores_packets(world.class_of(*idx).facts.handlers);
    let queues: Vec<String> = all.filter(stores).map(|idx| format!("{}.length", world.name(idx))).collect();
    let mut length =
        |name: &String| world.read_handler(usize::MAX, name, "").ok()?.trim().parse::<u64>().ok();
    let queued = queues.iter().filter_map(&mut length).sum();
    let interfaces = table::opened().iter().map(|shared| table::lock(shared).report()).collect::<Vec<_>>();
    let inner = |report: &&Report| report.name.starts_with(STACK);
    let (inner, own): (Vec<&Report>, Vec<&Report>) = interfaces.iter().partition(inner);
    let told = |report: &&Report| {
        let is_behind = |inner: &&&Report| inner.name.strip_prefix(STACK) == Some(&report.name);
        behind(interface(report, about), inner.iter().find(is_behind).copied())
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

/// Asks a stage.
pub fn ask(id: u32, ask: &Ask) -> Result<String, String> {
    begin(id, ask, PATIENCE).map(|(text, _)| text)
}

/// Asks a stage what lasts as long as the connection, which comes with the answer. One that is stopped is not waited for.
pub fn begin(id: u32, ask: &Ask, patience: Duration) -> Result<(String, UnixStream), String> {
    let path = protocol::path(&name_of(id))?;
    let gone = |error: std::io::Error| match error.kind() {
        std::io::ErrorKind::WouldBlock if runs(id) => {
            format!(
                "stage {id} does not answer: it may be stopped (SIGSTOP); `kill -CONT {id}` lets it go on"
            )
        }
        _ => format!("no stage {id} runs (`weir status` lists them)"),
    };
    let mut stream = UnixStream::connect(path).map_err(gone)?;
    stream.set_read_timeout(Some(SILENCE)).map_err(gone)?;
    let line = serde_json::to_string(ask).map_err(|error| error.to_string())?;
    writeln!(stream, "{line}").map_err(gone)?;
    let (begin, mut line, mut answers) = (Instant::now(), Vec::new(), BufReader::new(&stream));
    while let Err(error) = answers.read_until(b'\n', &mut line) {
        let is_slow = error.kind() == std::io::ErrorKind::WouldBlock && !is_stopped(id);
        if !is_slow || begin.elapsed() >= patience {
            return Err(gone(error));
        }
    }
    match serde_json::from_slice(&line) {
        Ok(Answer::Ok(text)) => Ok((text, stream)),
        Ok(Answer::Error(message)) => Err(format!("stage {id}: {message}")),
        Err(_) => Err(format!("stage {id} has ended")),
    }
}

/// The status of a stage.
pub fn read(id: u32) -> Result<Status, String> {
    read_within(id, PATIENCE)
}

fn read_within(id: u32, patience: Duration) -> Result<Status, String> {
    let (text, _) = begin(id, &Ask::Status, patience)?;
    serde_json::from_str(&text).map_err(|error| format!("stage {id} runs another version of weir: {error}"))
}

/// The stages of this user that can be asked, and those that could be when they were killed.
fn ids() -> Result<Vec<u32>, String> {
    Ok(protocol::names()?.iter().filter_map(|name| number_of(name)?.parse().ok()).collect())
}

/// Tells of a number whether it is, or was when it was killed, that of a stage of this user that can be asked. The folder is not
/// listed: killed stages may have left much there.
pub fn can_be_asked() -> Result<impl Fn(u32) -> bool, String> {
    let folder = protocol::folder()?;
    Ok(move |id| folder.join(protocol::file_name(&name_of(id))).exists())
}

/// The stages of this user that run, by age, and those that do not answer.
pub fn running() -> Result<(Vec<Status>, Vec<u32>), String> {
    // All at once, as one that does not answer takes a while; as many as there can be threads.
    let ask = |id| {
        let read = move || read_within(id, PATIENCE_TO_TELL);
        (id, sys::thread::start("status", sys::thread::STACK, read).ok())
    };
    let asked: Vec<_> = ids()?.into_iter().map(ask).collect();
    let (mut list, mut silent) = (Vec::new(), Vec::new());
    for (id, asking) in asked {
        let answer = match asking {
            Some(asking) => {
                asking.join().unwrap_or_else(|_| Err("the thread that asks has failed".to_string()))
            }
            None => read_within(id, PATIENCE_TO_TELL),
        };
        match answer {
            Ok(status) => list.push(status),
            // A socket without a process was left by one that was killed.
            _ if !runs(id) => forget(id),
            _ => silent.push(id),
        }
    }
    list.sort_by(|a, b| a.started_s.total_cmp(&b.started_s).then(a.id.cmp(&b.id)));
    Ok((list, silent))
}

/// Removes what a stage that was killed leaves.
pub fn forget(id: u32) {
    if let Ok(path) = protocol::path(&name_of(id)) {
        // It may have left nothing.
        let _ = std::fs::remove_file(path);
    }
}

/// Whether the process runs, even if it is stopped: one whose parent has not heard of its end does not.
pub fn runs(id: u32) -> bool {
    state(id).is_some_and(|state| !matches!(state, 'Z' | 'X'))
}

/// Whether a signal, or who follows it, has stopped the process.
fn is_stopped(id: u32) -> bool {
    matches!(state(id), Some('T' | 't'))
}

/// Whether the process does something, or would if there were a processor for it.
pub fn is_busy(id: u32) -> bool {
    matches!(state(id), Some('R' | 'D'))
}

/// The letter that tells what a process does.
fn state(id: u32) -> Option<char> {
    let text = std::fs::read_to_string(format!("/proc/{id}/stat")).ok()?;
    // The name of its program, in parentheses, is before its state.
    text.rsplit_once(") ")?.1.chars().next()
}

/// `weir status`.
pub fn status(options: &StatusOptions) -> Exit {
    let (list, silent) = match options.id {
        Some(id) => (vec![read_within(id, PATIENCE_TO_TELL)?], Vec::new()),
        None => running()?,
    };
    if options.json {
        for status in &list {
            println!("{}", serde_json::to_string(status).map_err(|error| error.to_string())?);
        }
    } else {
        print!("{}", text(&list, &silent));
    }
    for id in silent {
        eprintln!(
            "weir: stage {id} does not answer: it may be stopped (SIGSTOP); `kill -CONT {id}` lets it go on"
        );
    }
    Ok(ExitCode::SUCCESS)
}

/// A table with a line an interface, and one for each stage that does not answer.
fn text(list: &[Status], silent: &[u32]) -> String {
    let mut rows =
        vec![["ID", "UPTIME", "INTERFACE", "JOINT", "NEIGHBOUR", "RX", "TX", "DROPS", "QUEUED", "FUNCTION"]
            .map(str::to_string)];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    for status in list {
        let mut first = Some(status);
        for interface in &status.interfaces {
            let stage = first.take();
            rows.push([
                stage.map_or(String::new(), |status| status.id.to_string()),
                stage.map_or(String::new(), |status| uptime(now - status.started_s)),
                interface.name.clone(),
                interface.joint.clone(),
                interface.neighbour.map_or("-".to_string(), |id| id.to_string()),
                traffic(interface.rx_packets, interface.rx_bytes),
                traffic(interface.tx_packets, interface.tx_bytes),
                (interface.drops + stage.map_or(0, |status| status.drops)).to_string(),
                (interface.waiting as u64 + stage.map_or(0, |status| status.queued)).to_string(),
                stage.map_or(String::new(), |status| status.function.clone()),
            ]);
        }
    }
    for id in silent {
        let mut row = ["-"; 10].map(str::to_string);
        (row[0], row[9]) = (id.to_string(), "(does not answer)".to_string());
        rows.push(row);
    }
    let widths: Vec<usize> =
        (0..10).map(|idx| rows.iter().map(|row| row[idx].len()).max().unwrap_or(0)).collect();
    let mut text = String::new();
    for row in rows {
        let cells: Vec<String> =
            row.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        text += cells.join("  ").trim_end();
        text += "\n";
    }
    text
}

pub fn uptime(seconds: f64) -> String {
    let seconds = seconds.max(0.0) as u64;
    match seconds {
        0..60 => format!("{seconds}s"),
        60..3600 => format!("{}m{:02}s", seconds / 60, seconds % 60),
        _ => format!("{}h{:02}m", seconds / 3600, seconds / 60 % 60),
    }
}

/// Packets, and bytes in a handy unit.
fn traffic(packets: u64, bytes: u64) -> String {
    let units = ["B", "kB", "MB", "GB", "TB", "PB", "EB"];
    let mut value = bytes as f64;
    let mut unit = 0;
    while value >= 1000.0 && unit + 1 < units.len() {
        value /= 1000.0;
        unit += 1;
    }
    let digits = usize::from(unit > 0 && value < 100.0);
    format!("{packets}/{value:.digits$}{}", units[unit])
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

    #[test]
    fn figures_are_short() {
        assert_eq!(traffic(5, 999), "5/999B");
        assert_eq!(traffic(5, 12_345), "5/12.3kB");
        assert_eq!(traffic(5, 123_456_789), "5/123MB");
        assert_eq!(
            (uptime(5.9), uptime(65.0), uptime(3725.0)),
            ("5s".into(), "1m05s".into(), "1h02m".into())
        );
    }
}
