//! `weir bench --startup`: how long a small graph takes to its first packet, and how much memory it has then.

use std::io::{BufRead, BufReader};
use std::process::Stdio;
use std::time::Instant;

use serde_json::json;

use super::contestant::{spawn_on, Contestant};
use super::report::{median, spread, Report};
use crate::command::BenchOptions;
use element::output::reason;

/// Ten elements; `Print` tells of the packet when it has passed nine of them.
const GRAPH: &str = "InfiniteSource(LIMIT 1) -> UDPIPEncap(10.0.0.1, 1000, 10.0.0.2, 2000) -> CheckIPHeader
  -> IPFilter(allow udp, deny all) -> rt :: RadixIPLookup(0.0.0.0/0 0) -> DecIPTTL -> Queue -> Unqueue
  -> Print(first) -> Discard";

/// Starts of each command unless `--rounds` says otherwise.
const ROUNDS: usize = 50;

/// What one start took.
struct Start {
    elapsed_ms: f64,
    /// The most memory that it has had, with the pages of files that all processes share.
    resident_kib: f64,
    /// What only it has.
    own_kib: f64,
}

/// Starts every command in turn.
pub fn report(contestants: &[Contestant], options: &BenchOptions) -> Result<Report, String> {
    let rounds = options.rounds.unwrap_or(ROUNDS);
    let heading = ["command", "ms", "spread", "resident KiB", "its own"].map(str::to_string).to_vec();
    let mut report = Report::new("Start-up", heading);
    report.facts.push(("starts of each command, of which the median counts", json!(rounds)));
    let mut lists: Vec<Vec<Start>> = contestants.iter().map(|_| Vec::new()).collect();
    for _ in 0..rounds {
        for (i, contestant) in contestants.iter().enumerate() {
            lists[i].push(start(contestant, i == 0, options.cpu())?);
        }
    }
    report.show(options);
    for (contestant, starts) in contestants.iter().zip(&lists) {
        let sorted = |figure: fn(&Start) -> f64| {
            let mut list: Vec<f64> = starts.iter().map(figure).collect();
            list.sort_by(f64::total_cmp);
            list
        };
        let times = sorted(|start| start.elapsed_ms);
        let resident_kib = median(&sorted(|start| start.resident_kib));
        let own_kib = median(&sorted(|start| start.own_kib));
        let cells = vec![
            contestant.name.clone(),
            format!("{:.2}", median(&times)),
            format!("{:.0}%", spread(&times) * 100.0),
            format!("{resident_kib:.0}"),
            format!("{own_kib:.0}"),
        ];
        let value = json!({
            "command": contestant.name,
            "first_packet_ms": median(&times),
            "resident_kib": resident_kib,
            "own_kib": own_kib,
            "runs_ms": times,
        });
        report.add(cells, value, options);
    }
    Ok(report)
}

/// Runs the graph until its first packet has passed.
fn start(contestant: &Contestant, is_weir: bool, cpu: usize) -> Result<Start, String> {
    let mut command = match is_weir {
        true => contestant.command_run(&["-e", GRAPH]),
        false => contestant.command(&["-e", GRAPH]),
    };
    let command = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let begin = Instant::now();
    let mut child = spawn_on(cpu, 1, command)?;
    let mut lines = child.stderr.take().into_iter().flat_map(|pipe| BufReader::new(pipe).lines());
    let mut seen = String::new();
    let passed = lines.by_ref().map_while(Result::ok).any(|line| {
        seen += &format!("{line}\n");
        line.starts_with("first:")
    });
    let elapsed_ms = begin.elapsed().as_secs_f64() * 1e3;
    let status = std::fs::read_to_string(format!("/proc/{}/status", child.id())).unwrap_or_default();
    // It may have ended by itself.
    let _ = child.kill();
    child.wait().map_err(|error| format!("{}: {}", contestant.name, reason(&error)))?;
    match passed {
        true => Ok(Start {
            elapsed_ms,
            resident_kib: figure(&status, "VmHWM:"),
            own_kib: figure(&status, "RssAnon:"),
        }),
        false => Err(format!("{}: no packet passed\n{seen}", contestant.name)),
    }
}

/// What `/proc` tells of a process under a name.
fn figure(status: &str, name: &str) -> f64 {
    let line = status.lines().find_map(|line| line.strip_prefix(name));
    line.and_then(|line| line.split_whitespace().next()?.parse().ok()).unwrap_or(f64::NAN)
}
