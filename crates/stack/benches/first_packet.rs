//! From a command's start to the first packet that it writes to its standard output, and what memory many of them take.
//!
//! `cargo bench -p stack --bench first_packet -- [--starts N] [--keep] [--cpu N] COMMAND...` starts COMMAND with a pipe at both ends, N
//! times one after the other, or with `--keep` beside each other, and prints one line of words and figures. In a command,
//! `SELF` stands for this program; `SELF --send ADDRESS` sends a datagram to ADDRESS and then waits for ever.

use std::io::{PipeReader, PipeWriter, Read};
use std::process::{Child, Command, ExitCode, Stdio};
use std::time::{Duration, Instant};

/// Bytes that a pcap stream has before its first packet, and that it has before each.
const HEADERS: [usize; 2] = [24, 16];
/// Ethernet types of IPv4 and of ARP, which asks for the way to the datagram's receiver.
const TYPES: [[u8; 2]; 2] = [[0x08, 0x00], [0x08, 0x06]];

/// A command that runs, and the pipes at its ends.
struct Started {
    child: Child,
    _to: PipeWriter,
    _from: PipeReader,
    time: Duration,
}

/// What the command line says.
struct Options {
    n_starts: usize,
    keeps: bool,
    cpu: Option<usize>,
    command: Vec<String>,
}

fn options() -> Option<Options> {
    let mut options = Options { n_starts: 20, keeps: false, cpu: None, command: Vec::new() };
    let mut words = std::env::args().skip(1);
    while let Some(word) = words.next() {
        match word.as_str() {
            "--starts" => options.n_starts = words.next()?.parse().ok()?,
            "--cpu" => options.cpu = Some(words.next()?.parse().ok()?),
            "--keep" => options.keeps = true,
            // What cargo adds.
            "--bench" => {}
            _ => {
                options.command = std::iter::once(word).chain(words.by_ref()).collect();
            }
        }
    }
    options.command.retain(|word| word != "--bench");
    (options.n_starts > 0).then_some(options)
}

fn main() -> ExitCode {
    let Some(options) = options() else {
        eprintln!("first_packet: give [--starts N] [--keep] [--cpu N] COMMAND...");
        return ExitCode::FAILURE;
    };
    match options.command.as_slice() {
        // As cargo runs it without words.
        [] => ExitCode::SUCCESS,
        [word, address] if word == "--send" => send(address),
        _ => match measure(&options) {
            Ok(()) => ExitCode::SUCCESS,
            Err(error) => {
                eprintln!("first_packet: {}: {error}", options.command.join(" "));
                ExitCode::FAILURE
            }
        },
    }
}

/// The program of a stack whose first packet is waited for.
fn send(address: &str) -> ExitCode {
    let sent =
        std::net::UdpSocket::bind(("0.0.0.0", 0)).and_then(|socket| socket.send_to(b"x", (address, 9)));
    if let Err(error) = sent {
        eprintln!("first_packet: {address}: {error}");
        return ExitCode::FAILURE;
    }
    loop {
        std::thread::park();
    }
}

fn measure(options: &Options) -> std::io::Result<()> {
    if let Some(cpu) = options.cpu {
        sys::cpu::pin_thread(cpu).map_err(std::io::Error::other)?;
    }
    let before = available_kib()?;
    let (mut kept, mut times) = (Vec::new(), Vec::new());
    for _ in 0..options.n_starts {
        let started = start(&options.command)?;
        times.push(started.time.as_secs_f64() * 1e3);
        kept.push(started);
        if !options.keeps {
            end(kept.drain(..));
        }
    }
    let (first, last) =
        (median(&times[..times.len().min(10)]), median(&times[times.len().saturating_sub(10)..]));
    // Negative on a machine where others give memory back.
    let each = (before - available_kib()?) / kept.len().max(1) as i64;
    let own: Vec<f64> = kept.iter().filter_map(|started| private_kib(started.child.id())).collect();
    let own = if own.is_empty() { 0.0 } else { median(&own) };
    println!(
        "median_ms {:.2} first_ms {first:.2} last_ms {last:.2} available_kib_each {each} private_kib_each {own:.0}",
        median(&times)
    );
    end(kept.drain(..));
    Ok(())
}

/// Starts the command and waits for its first packet.
fn start(words: &[String]) -> std::io::Result<Started> {
    let own = std::env::current_exe()?;
    let own = own.to_string_lossy();
    let words: Vec<String> = words.iter().map(|word| word.replace("SELF", &own)).collect();
    let (input, to) = std::io::pipe()?;
    let (mut from, output) = std::io::pipe()?;
    let begin = Instant::now();
    let child = Command::new(&words[0])
        .args(&words[1..])
        .stdin(Stdio::from(input))
        .stdout(Stdio::from(output))
        .spawn()?;
    let read = await_packet(&mut from);
    let started = Started { child, _to: to, _from: from, time: begin.elapsed() };
    if let Err(error) = read {
        end(std::iter::once(started));
        return Err(error);
    }
    Ok(started)
}

/// Reads up to the first packet that speaks of IPv4: a new device may have said something of its own before.
fn await_packet(from: &mut PipeReader) -> std::io::Result<()> {
    let mut bytes = vec![0; HEADERS[0]];
    from.read_exact(&mut bytes)?;
    loop {
        let mut header = [0; HEADERS[1]];
        from.read_exact(&mut header)?;
        let [.., a, b, c, d, _, _, _, _] = header;
        bytes.resize(u32::from_le_bytes([a, b, c, d]).min(1 << 18) as usize, 0);
        from.read_exact(&mut bytes)?;
        if bytes.get(12..14).is_some_and(|kind| TYPES.iter().any(|known| kind == known)) {
            return Ok(());
        }
    }
}

fn end(list: impl Iterator<Item = Started>) {
    for mut started in list {
        // One that has ended already cannot be killed.
        let _ = started.child.kill();
        let _ = started.child.wait();
    }
}

/// Memory that can be had without swapping.
fn available_kib() -> std::io::Result<i64> {
    let text = std::fs::read_to_string("/proc/meminfo")?;
    let line = text.lines().find_map(|line| line.strip_prefix("MemAvailable:"));
    let figure = line.and_then(|rest| rest.split_whitespace().next()?.parse().ok());
    figure.ok_or_else(|| std::io::Error::other("/proc/meminfo has no MemAvailable"))
}

/// Memory that only this process and its children have.
fn private_kib(pid: u32) -> Option<f64> {
    let own = |pid: u32| -> Option<f64> {
        let text = std::fs::read_to_string(format!("/proc/{pid}/smaps_rollup")).ok()?;
        let lines = text.lines().filter(|line| line.starts_with("Private_"));
        Some(lines.filter_map(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok()).sum())
    };
    let children = std::fs::read_to_string(format!("/proc/{pid}/task/{pid}/children")).ok()?;
    let children = children.split_whitespace().filter_map(|word| own(word.parse().ok()?));
    Some(own(pid)? + children.sum::<f64>())
}

fn median(list: &[f64]) -> f64 {
    let mut sorted = list.to_vec();
    sorted.sort_by(f64::total_cmp);
    sorted[sorted.len() / 2]
}
