//! What `weir bench` found, as a table for a terminal, as Markdown and as JSON.

use std::process::Command;

use serde_json::{json, Value};

use super::contestant::Contestant;
use crate::command::BenchOptions;

/// A table with what it was made by.
pub struct Report {
    title: &'static str,
    heading: Vec<String>,
    rows: Vec<Vec<String>>,
    values: Vec<Value>,
    conclusions: Vec<String>,
    /// What somebody who reads the figures has to know.
    pub facts: Vec<(&'static str, Value)>,
}

/// Width of the first column on a terminal, and of the others.
const WIDTHS: (usize, usize) = (28, 12);

impl Report {
    /// A table without rows.
    pub fn new(title: &'static str, heading: Vec<String>) -> Report {
        let facts = vec![("commit", json!(commit())), ("machine", json!(machine()))];
        Report { title, heading, rows: Vec::new(), values: Vec::new(), conclusions: Vec::new(), facts }
    }

    /// Prints the heading unless JSON is wanted.
    pub fn show(&self, options: &BenchOptions) {
        if !options.json {
            println!("{}", line(&self.heading));
        }
    }

    /// Adds a row, and prints it unless JSON is wanted.
    pub fn add(&mut self, cells: Vec<String>, value: Value, options: &BenchOptions) {
        if !options.json {
            println!("{}", line(&cells));
        }
        self.rows.push(cells);
        self.values.push(value);
    }

    /// Adds what follows from all rows, and prints it unless JSON is wanted.
    pub fn conclude(&mut self, sentences: Vec<String>, options: &BenchOptions) {
        if !options.json {
            sentences.iter().for_each(|sentence| println!("{sentence}"));
        }
        self.conclusions = sentences;
    }

    /// The whole report.
    pub fn json(&self) -> Value {
        let facts: serde_json::Map<String, Value> =
            self.facts.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
        json!({ "facts": facts, "rows": self.values, "conclusions": self.conclusions })
    }

    /// The whole report as a page.
    pub fn markdown(&self) -> String {
        let row = |cells: &[String]| format!("| {} |\n", cells.join(" | "));
        let mut text = format!("# {}\n\nWritten by `{}`.\n\n", self.title, command_line());
        for (name, value) in &self.facts {
            let value = value.as_str().map_or_else(|| value.to_string(), str::to_string);
            text += &format!("- {name}: {value}\n");
        }
        text += &format!("\n{}|---|{}\n", row(&self.heading), "--:|".repeat(self.heading.len() - 1));
        self.rows.iter().for_each(|cells| text += &row(cells));
        text += "\n";
        self.conclusions.iter().for_each(|sentence| text += &format!("- {sentence}\n"));
        text
    }
}

fn line(cells: &[String]) -> String {
    let mut text = String::new();
    for (i, cell) in cells.iter().enumerate() {
        text += &match i {
            0 => format!("{cell:<0$}", WIDTHS.0),
            _ => format!(" {cell:>0$}", WIDTHS.1 - 1),
        };
    }
    text
}

/// The heading of the table of graphs.
pub fn heading(contestants: &[Contestant]) -> Vec<String> {
    let mut cells: Vec<String> = ["graph", "Mpps", "ns/packet", "spread"].map(str::to_string).to_vec();
    for contestant in contestants.iter().skip(1) {
        cells.extend([contestant.name.clone(), "spread".to_string(), "ratio".to_string()]);
    }
    if contestants.len() > 2 {
        cells.push("to fastest".to_string());
    }
    cells
}

/// The command that was given, its programs without their folders.
fn command_line() -> String {
    let base = |word: String| match word.split_once('=') {
        Some((name, rest)) => format!("{name}={}", rest.rsplit('/').next().unwrap_or(rest)),
        None if word.starts_with('/') => word.rsplit('/').next().unwrap_or("").to_string(),
        None => word,
    };
    let words: Vec<String> = std::env::args().skip(1).map(base).collect();
    format!("weir {}", words.join(" "))
}

/// The commit of the working folder, if it is one of git's.
fn commit() -> String {
    let git = |args: &[&str]| {
        let output = Command::new("git").args(args).output().ok().filter(|output| output.status.success())?;
        Some(String::from_utf8_lossy(&output.stdout).trim().to_string())
    };
    let Some(commit) = git(&["rev-parse", "--short", "HEAD"]) else { return "unknown".to_string() };
    match git(&["status", "--porcelain", "--", "crates", "Cargo.lock"])
        .is_none_or(|changes| changes.is_empty())
    {
        true => commit,
        false => format!("{commit} with changes"),
    }
}

/// Processor and system.
fn machine() -> String {
    let read = |path: &str| std::fs::read_to_string(path).unwrap_or_default();
    let info = read("/proc/cpuinfo");
    let of = |field: &str| {
        let line = info.lines().find(|line| line.starts_with(field))?;
        Some(line.split_once(':')?.1.trim().to_string())
    };
    let name = of("model name").unwrap_or_else(|| std::env::consts::ARCH.to_string());
    let model = of("model\t").map_or(String::new(), |model| format!(" (model {model})"));
    let release = read("/proc/sys/kernel/osrelease");
    format!("{name}{model}, {} processors, Linux {}", sys::cpu::n_online(), release.trim())
}

/// The middle of a sorted list.
pub fn median(list: &[f64]) -> f64 {
    list.get(list.len() / 2).copied().unwrap_or(f64::NAN)
}

/// The range of a sorted list as a share of its median.
pub fn spread(list: &[f64]) -> f64 {
    match list {
        [first, .., last] => (last - first) / median(list),
        _ => 0.0,
    }
}

/// The geometric mean of some ratios; 1 of none.
pub fn geometric_mean(ratios: impl Iterator<Item = f64>) -> f64 {
    let logs: Vec<f64> = ratios.map(f64::ln).collect();
    (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp()
}
