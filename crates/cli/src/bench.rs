//! `weir bench`: measures graphs, and other Click-like commands beside.

use std::process::{Command, ExitCode, Stdio};

use serde_json::json;

use crate::command::BenchOptions;
use crate::load::reason;

/// A measured command.
struct Contestant {
    name: String,
    program: String,
    args: Vec<String>,
}

/// Measures every graph with every command in turn, so that a drift of the machine meets all alike.
pub fn run(options: BenchOptions) -> Result<ExitCode, String> {
    let files = match options.files.is_empty() {
        true => stock_files()?,
        false => options.files.clone(),
    };
    let me = std::env::current_exe().map_err(|error| reason(&error))?;
    let mut contestants = vec![Contestant {
        name: "weir".to_string(),
        program: me.to_string_lossy().into_owned(),
        args: vec!["click".to_string()],
    }];
    for command in &options.vs {
        let mut words = command.split_whitespace().map(str::to_string);
        let program = words.next().ok_or("--vs: the command is empty")?;
        let name = program.rsplit('/').next().unwrap_or(&program).to_string();
        contestants.push(Contestant { name, program, args: words.collect() });
    }
    let mut rows = Vec::new();
    if !options.json {
        println!("{}", heading(&contestants));
    }
    for file in &files {
        let row = measure(file, &contestants, &options)?;
        if !options.json {
            println!("{}", row.text(&contestants));
        }
        rows.push(row);
    }
    if options.json {
        let rows: Vec<_> = rows.iter().map(|row| row.json(&contestants)).collect();
        println!("{:#}", json!(rows));
    } else {
        for (i, contestant) in contestants.iter().enumerate().skip(1) {
            let logs = rows.iter().filter_map(|row| row.ratio(i)).map(f64::ln);
            let logs: Vec<f64> = logs.collect();
            let mean = (logs.iter().sum::<f64>() / logs.len().max(1) as f64).exp();
            println!("{mean:.2} times as fast as {} in the geometric mean", contestant.name);
        }
    }
    Ok(ExitCode::SUCCESS)
}

fn stock_files() -> Result<Vec<String>, String> {
    let entries = std::fs::read_dir("benches")
        .map_err(|error| format!("benches: {}; name the graphs to measure", reason(&error)))?;
    let mut files: Vec<String> = entries
        .flatten()
        .map(|entry| entry.path().to_string_lossy().into_owned())
        .filter(|path| path.ends_with(".click"))
        .collect();
    files.sort();
    match files.is_empty() {
        true => Err("benches: no *.click file; name the graphs to measure".to_string()),
        false => Ok(files),
    }
}

/// A graph's figures: nanoseconds a packet, by contestant and run, sorted.
struct Row {
    graph: String,
    figures: Vec<Vec<f64>>,
}

fn measure(file: &str, contestants: &[Contestant], options: &BenchOptions) -> Result<Row, String> {
    let mut figures = vec![Vec::new(); contestants.len()];
    for _ in 0..options.runs.max(1) {
        for (i, contestant) in contestants.iter().enumerate() {
            figures[i].push(one_run(file, contestant, options)?);
        }
    }
    for list in &mut figures {
        list.sort_by(f64::total_cmp);
    }
    let graph = file.rsplit('/').next().unwrap_or(file).trim_end_matches(".click").to_string();
    Ok(Row { graph, figures })
}

/// Runs a graph once; nanoseconds a packet between its two lines `B count now` and `E count now`.
fn one_run(file: &str, contestant: &Contestant, options: &BenchOptions) -> Result<f64, String> {
    let (folder, base) = file.rsplit_once('/').unwrap_or((".", file));
    let mut command = Command::new("taskset");
    command.args(["-c", &options.cpu.to_string(), &contestant.program]).args(&contestant.args);
    command.args([base, &format!("WARM={}s", options.warm), &format!("DUR={}s", options.duration)]);
    let command = command.current_dir(folder).stdin(Stdio::null()).stderr(Stdio::piped());
    let output = command.output().map_err(|error| format!("{}: {}", contestant.program, reason(&error)))?;
    let text = String::from_utf8_lossy(&output.stdout);
    let line = |mark: &str| -> Option<(f64, f64, Option<String>)> {
        let fields: Vec<&str> =
            text.lines().find(|line| line.starts_with(mark))?.split_whitespace().collect();
        let rest = fields.get(3).map(|text| text.to_string());
        Some((fields.get(1)?.parse().ok()?, fields.get(2)?.parse().ok()?, rest))
    };
    let (Some(begin), Some(end)) = (line("B "), line("E ")) else {
        let errors = String::from_utf8_lossy(&output.stderr);
        return Err(format!(
            "{file}: {} printed no `B count now` and `E count now`\n{errors}",
            contestant.name
        ));
    };
    let n_packets = end.0 - begin.0;
    if n_packets <= 0.0 {
        return Err(format!("{file}: no packet passed under {}", contestant.name));
    }
    Ok((end.1 - begin.1) * 1e9 / n_packets)
}

fn heading(contestants: &[Contestant]) -> String {
    let mut text = format!("{:<28}{:>9}{:>11}{:>8}", "graph", "Mpps", "ns/packet", "spread");
    for contestant in &contestants[1..] {
        text += &format!("{:>14}{:>8}", contestant.name, "ratio");
    }
    text
}

impl Row {
    fn median(&self, i: usize) -> f64 {
        let list = &self.figures[i];
        list[list.len() / 2]
    }

    /// How many times as fast as contestant `i` weir is.
    fn ratio(&self, i: usize) -> Option<f64> {
        (self.median(0) > 0.0).then(|| self.median(i) / self.median(0))
    }

    /// The range of the runs as a share of the median.
    fn spread(&self, i: usize) -> f64 {
        let list = &self.figures[i];
        (list[list.len() - 1] - list[0]) / self.median(i)
    }

    fn text(&self, contestants: &[Contestant]) -> String {
        let ns = self.median(0);
        let mut text =
            format!("{:<28}{:>9.2}{ns:>11.2}{:>7.0}%", self.graph, 1e3 / ns, self.spread(0) * 100.0);
        for i in 1..contestants.len() {
            text += &format!("{:>14.2}{:>7.2}x", self.median(i), self.ratio(i).unwrap_or(0.0));
        }
        text
    }

    fn json(&self, contestants: &[Contestant]) -> serde_json::Value {
        let figures = contestants.iter().enumerate().map(|(i, contestant)| {
            json!({
                "command": contestant.name,
                "ns_per_packet": self.median(i),
                "mpps": 1e3 / self.median(i),
                "spread": self.spread(i),
                "ratio": self.ratio(i),
                "runs": self.figures[i],
            })
        });
        json!({ "graph": self.graph, "figures": figures.collect::<Vec<_>>() })
    }
}
