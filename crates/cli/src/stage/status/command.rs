//! `weir status`.

use std::process::ExitCode;
use std::time::{SystemTime, UNIX_EPOCH};

use clap::Args;

use super::{order, Interface, Status};
use crate::failure::Exit;
use crate::stage::others;

/// Options of `weir status`.
#[derive(Args)]
pub struct StatusOptions {
    /// Only this stage; `--json` has it as an object.
    #[arg(value_name = "ID", value_parser = others::number)]
    pub id: Option<u32>,
    /// As JSON, an object a stage.
    #[arg(long)]
    pub json: bool,
}

/// `weir status`.
pub fn status(options: &StatusOptions) -> Exit {
    let (list, silent) = match options.id {
        Some(id) => (vec![others::read_soon(id)?], Vec::new()),
        None => others::running()?,
    };
    let order = order::in_order(&list, &silent);
    if options.json {
        for status in order.iter().filter_map(|idx| list.get(*idx)) {
            println!("{}", serde_json::to_string(status).map_err(|error| error.to_string())?);
        }
    } else {
        print!("{}", text(&list, &silent, &order));
    }
    for id in silent {
        eprintln!("weir: {}", others::no_answer(id));
    }
    Ok(ExitCode::SUCCESS)
}

/// A table with a line an interface, and one for each stage that does not answer, in this order.
fn text(list: &[Status], silent: &[u32], order: &[usize]) -> String {
    let mut rows =
        vec![["ID", "UPTIME", "INTERFACE", "JOINT", "NEIGHBOUR", "RX", "TX", "DROPS", "QUEUED", "FUNCTION"]
            .map(str::to_string)];
    let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0.0, |time| time.as_secs_f64());
    for &idx in order {
        match list.get(idx) {
            Some(status) => rows.extend(lines(status, now)),
            None => rows.push(silence(silent[idx - list.len()])),
        }
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

/// The lines of a stage: one an interface, or one if it has none. What is told of the whole stage stands in the first.
fn lines(status: &Status, now_s: f64) -> impl Iterator<Item = [String; 10]> + '_ {
    let none = status.interfaces.is_empty().then_some(None);
    let interfaces = status.interfaces.iter().map(Some).chain(none);
    interfaces.enumerate().map(move |(n, interface)| {
        let stage = Some(status).filter(|_| n == 0);
        let told = |of: fn(&Interface) -> String| interface.map_or("-".to_string(), of);
        [
            stage.map_or(String::new(), |status| status.id.to_string()),
            stage.map_or(String::new(), |status| uptime(now_s - status.started_s)),
            told(|one| one.name.clone()),
            told(|one| one.joint.clone()),
            told(|one| one.neighbour.map_or("-".to_string(), |id| id.to_string())),
            told(|one| traffic(one.rx_packets, one.rx_bytes)),
            told(|one| traffic(one.tx_packets, one.tx_bytes)),
            (interface.map_or(0, |one| one.drops) + stage.map_or(0, |status| status.drops)).to_string(),
            (interface.map_or(0, |one| one.waiting as u64) + stage.map_or(0, |status| status.queued))
                .to_string(),
            stage.map_or(String::new(), |status| printable(&status.function)),
        ]
    })
}

/// A text that changes no terminal, as `ps` prints it.
fn printable(text: &str) -> String {
    text.replace(char::is_control, "?")
}

/// The line of a stage that does not answer.
fn silence(id: u32) -> [String; 10] {
    let mut row = ["-"; 10].map(str::to_string);
    (row[0], row[9]) = (id.to_string(), "(does not answer)".to_string());
    row
}

/// How long a stage runs, in two units at most.
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
    fn a_stage_without_interfaces_has_a_line_that_changes_no_terminal() {
        let named = |name: &str| Interface { name: name.to_string(), drops: 2, ..Interface::default() };
        let stage = |id, interfaces| Status {
            id,
            function: "count\x1b[m".to_string(),
            started_s: 0.0,
            interfaces,
            drops: 3,
            queued: 4,
        };
        let list = [stage(7, Vec::new()), stage(8, vec![named("left"), named("right")])];
        let ids = |text: &str| -> Vec<String> {
            let cells = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>());
            cells.map(|cells| format!("{} {}", cells[0], cells[cells.len() - 3..].join(" "))).collect()
        };
        assert_eq!(
            ids(&text(&list, &[9], &[0, 1, 2])),
            [
                "ID DROPS QUEUED FUNCTION",
                "7 3 4 count?[m",
                "8 5 4 count?[m",
                "right 0/0B 2 0",
                "9 (does not answer)"
            ]
        );
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
