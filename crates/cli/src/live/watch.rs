//! Watching values of a running graph: `weir live GRAPH watch`, `unwatch` and `watches`.

use std::process::ExitCode;
use std::time::Duration;

use clap::builder::{PossibleValuesParser, TypedValueParser};
use clap::{ArgGroup, Args};
use clap_complete::ArgValueCompleter;
use events::{Sample, Startup, Threshold, Told};

use super::parse;
use crate::command::GraphName;
use crate::complete::graphs;
use crate::control::client;
use crate::control::hooks::time;
use crate::control::protocol::Ask;
use crate::failure::{Exit, Failure};

/// When a value is worth an event.
#[derive(Args, Clone, Debug)]
#[command(group(ArgGroup::new("bound").args(["rising", "falling"]).required(true).multiple(true)))]
pub struct Bounds {
    /// An event when the value is N or more, but not again before it was at --falling, or below N if that is not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = bound)]
    pub rising: Option<f64>,
    /// An event when the value is N or less, but not again before it was at --rising, or above N if that is not given.
    #[arg(long, value_name = "N", allow_negative_numbers = true, value_parser = bound)]
    pub falling: Option<f64>,
    /// Look at what was added to the value since the last look, as for counters.
    #[arg(long)]
    pub delta: bool,
    /// What the first look may tell.
    #[arg(long, value_name = "WAY", default_value = "rising", value_parser = startup())]
    pub startup: Startup,
}

/// Options of `weir live GRAPH watch`.
#[derive(Args, Clone, Debug)]
pub struct WatchOptions {
    /// A name for it; one that has this name already is replaced.
    pub name: String,
    /// `ELEMENT.HANDLER`, whose value is a number.
    #[arg(add = ArgValueCompleter::new(graphs::watched))]
    pub handler: String,
    /// When there is an event.
    #[command(flatten)]
    pub bounds: Bounds,
    /// How often to look.
    #[arg(long, value_name = "TIME", default_value = "1s", value_parser = time)]
    pub every: Duration,
}

fn bound(text: &str) -> Result<f64, String> {
    let number = text.parse().ok().filter(|number: &f64| number.is_finite());
    number.ok_or_else(|| "expected a number".to_string())
}

fn startup() -> impl TypedValueParser<Value = Startup> {
    PossibleValuesParser::new(Startup::WORDS).try_map(|word| Startup::named(&word).ok_or("no such way"))
}

/// Begins to watch.
pub fn watch(graph: &GraphName, options: WatchOptions) -> Result<(), Failure> {
    let WatchOptions { name, handler, bounds, every } = options;
    let Bounds { rising, falling, delta, startup } = bounds;
    let sample = if delta { Sample::Delta } else { Sample::Absolute };
    let every_ms = u32::try_from(every.as_millis()).unwrap_or(Threshold::MAX_EVERY_MS);
    let threshold = Threshold { rising, falling, sample, startup, every_ms };
    client::request(graph, &Ask::Watch { name, handler, threshold }).map(drop)
}

/// Lists what is watched.
pub fn watches(graph: &GraphName, json: bool) -> Exit {
    let text = client::request(graph, &Ask::Watches)?;
    if json {
        println!("{text}");
        return Ok(ExitCode::SUCCESS);
    }
    print(&parse::<Vec<Told>>(&text)?);
    Ok(ExitCode::SUCCESS)
}

/// Prints watches, a line each.
pub fn print(all: &[Told]) {
    let width = all.iter().map(|one| one.name.len()).max().unwrap_or(0);
    for one in all {
        println!("{:width$}  {}", one.name, words(one));
    }
}

/// A watch in a line.
fn words(told: &Told) -> String {
    let Threshold { rising, falling, sample, every_ms, .. } = &told.threshold;
    let mut words = told.source.clone();
    let bounds = [("rising", rising), ("falling", falling)];
    for (name, bound) in bounds.into_iter().filter_map(|(name, bound)| Some((name, bound.as_ref()?))) {
        words += &format!(" {name} {bound}");
    }
    if *sample == Sample::Delta {
        words += " delta";
    }
    words += &format!(" every {} s", f64::from(*every_ms) / 1000.0);
    match (&told.value, &told.problem) {
        (Some(value), _) => words += &format!(": {value}"),
        (None, Some(problem)) => words += &format!(": no value: {problem}"),
        (None, None) => {}
    }
    if let (Some(crossed), Some(at)) = (told.crossed, &told.crossed_at) {
        words += &format!(" ({} at {at})", crossed.name());
    }
    words
}
