//! `weir bench`: measures graphs, and other Click-like commands beside.

use std::process::ExitCode;

use serde_json::json;

use crate::command::BenchOptions;
use crate::failure::Exit;
use crate::load::Origin;
use element::output::reason;

mod changes;
mod contestant;
pub mod limits;
mod measure;
mod report;
mod startup;

use contestant::Contestant;
use measure::Row;
use report::Report;

/// Measures every graph with every command in turn, so that a drift of the machine meets all alike.
pub fn run(options: BenchOptions) -> Exit {
    let contestants = Contestant::all(&options.vs, options.cores, options.burst)?;
    let files = match options.files.is_empty() {
        _ if options.startup || options.changes.is_some() => Vec::new(),
        true => stock_files()?,
        false => options.files.clone(),
    };
    for file in &files {
        Origin::File(file.clone()).read()?;
    }
    let report = match options.changes {
        Some(n) => changes::report(n, &options)?,
        None if options.startup => startup::report(&contestants, &options)?,
        None => graphs(&files, &contestants, &options)?,
    };
    if options.json {
        println!("{:#}", report.json());
    }
    if let Some(path) = &options.markdown {
        std::fs::write(path, report.markdown()).map_err(|error| format!("{path}: {}", reason(&error)))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn graphs(files: &[String], contestants: &[Contestant], options: &BenchOptions) -> Result<Report, String> {
    let mut report = Report::new("Speed", report::heading(contestants));
    report.show(options);
    let mut rows = Vec::new();
    for file in files {
        let row = Row::measure(file, contestants, options)?;
        report.add(row.text(), row.json(contestants), options);
        rows.push(row);
    }
    report.conclude(measure::conclusions(&rows, contestants)?, options);
    report.facts.push(("runs of each graph, of which the median counts", json!(measure::rounds(options))));
    Ok(report)
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
