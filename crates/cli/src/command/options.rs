//! Options of the commands that work on graphs.

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::bench::limits;
use crate::complete::graphs;
use crate::control::protocol::checked_name;
use crate::patience::Patience;

/// A configuration and its variables.
#[derive(Args, Clone)]
pub struct SourceOptions {
    /// The configuration is EXPR itself.
    #[arg(short, long, value_name = "EXPR")]
    pub expression: Option<String>,
    /// Configuration file (`-` is the standard input), then VAR=value ...
    #[arg(value_name = "FILE|VAR=value")]
    pub words: Vec<String>,
    /// Folders in which `require(library ...)` looks, separated by colons.
    #[arg(long, value_name = "PATH")]
    pub clickpath: Option<String>,
}

/// Options of `weir run`.
#[derive(Args)]
pub struct RunOptions {
    /// The configuration.
    #[command(flatten)]
    pub source: SourceOptions,
    /// Name by which `weir handler`, `weir live`, `weir trace` and `weir tap` find the graph.
    #[arg(long, value_parser = checked_name)]
    pub name: Option<String>,
    /// Packets that elements move at a time where the graph does not say.
    #[arg(long, default_value_t = 32, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub burst: u16,
    /// Run a replica of the graph on each of N cores; flows are shared out among them.
    #[arg(long, value_name = "N", conflicts_with = "threads", value_parser = clap::value_parser!(u16).range(1..=i64::from(crate::cores::MAX)))]
    pub cores: Option<u16>,
    /// Run the graph on N threads; its elements are where StaticThreadSched puts them.
    #[arg(long, value_name = "N", value_parser = clap::value_parser!(u16).range(1..=i64::from(crate::cores::MAX)))]
    pub threads: Option<u16>,
    /// Run in simulated time, from SECONDS since the epoch.
    #[arg(long, value_name = "SECONDS", num_args = 0..=1, require_equals = true, default_missing_value = "1000000000", value_parser = since_epoch)]
    pub simtime: Option<f64>,
    /// Add the global write handler `hotconfig`, which gives the running graph another configuration.
    #[arg(short = 'R', long)]
    pub allow_reconfigure: bool,
    /// Print the summary as JSON on the standard output.
    #[arg(long)]
    pub json: bool,
    /// Print neither progress nor summary.
    #[arg(short, long)]
    pub quiet: bool,
    /// Print this read handler's value at the end, with --json as part of the summary (can be repeated).
    #[arg(long, value_name = "ELEMENT.HANDLER")]
    pub read: Vec<String>,
    /// Programs for events.
    #[command(flatten)]
    pub hooks: crate::control::hooks::HookOptions,
}

/// Reads a time in seconds since the epoch; nanoseconds of it fit into 64 bits.
fn since_epoch(text: &str) -> Result<f64, String> {
    const LATEST: f64 = 9e9;
    let seconds = text.parse().ok().filter(|seconds| (0.0..=LATEST).contains(seconds));
    seconds.ok_or_else(|| format!("give a number of seconds from 0 to {LATEST}"))
}

/// Options of `weir check`.
#[derive(Args)]
pub struct CheckOptions {
    /// The configuration.
    #[command(flatten)]
    pub source: SourceOptions,
    /// Print the diagnostics as JSON.
    #[arg(long)]
    pub json: bool,
}

/// Options of `weir fmt`.
#[derive(Args)]
pub struct FmtOptions {
    /// Files to format; the standard input if none, or for `-`.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub files: Vec<String>,
    /// Rewrite the files.
    #[arg(short, long)]
    pub write: bool,
    /// Only tell which files are not in the standard layout; exit code 1 if any.
    #[arg(long, conflicts_with = "write")]
    pub check: bool,
}

/// Options of `weir graph`.
#[derive(Args)]
pub struct GraphOptions {
    /// The configuration.
    #[command(flatten)]
    pub source: SourceOptions,
    /// For Graphviz (the default).
    #[arg(long, group = "format")]
    pub dot: bool,
    /// For Mermaid.
    #[arg(long, group = "format")]
    pub mermaid: bool,
    /// As JSON.
    #[arg(long, group = "format")]
    pub json: bool,
}

/// Options of `weir elements`.
#[derive(Args)]
pub struct ElementsOptions {
    /// Only classes whose name or first sentence contains WORD.
    pub word: Option<String>,
    /// As JSON, with all facts.
    #[arg(long)]
    pub json: bool,
}

/// Which running graph.
#[derive(Args, Default)]
pub struct GraphName {
    /// Name given to `weir run --name`; needed if several graphs run.
    #[arg(short, long = "graph", value_name = "NAME", global = true, add = ArgValueCompleter::new(graphs::graphs))]
    pub graph: Option<String>,
    /// How long to wait for it.
    #[command(flatten)]
    pub patience: Patience,
}

/// Options of `weir handler`.
#[derive(Args)]
pub struct HandlerOptions {
    /// Which running graph.
    #[command(flatten)]
    pub graph: GraphName,
    /// Print the answer as JSON.
    #[arg(long, global = true)]
    pub json: bool,
    /// What to do.
    #[command(subcommand)]
    pub action: HandlerAction,
}

/// What to do with handlers.
#[derive(Subcommand)]
pub enum HandlerAction {
    /// Read handlers.
    Read {
        /// `ELEMENT.HANDLER`, or a global handler; a parameter may follow.
        #[arg(add = ArgValueCompleter::new(graphs::read_handlers))]
        handler: String,
        /// Parameter.
        parameter: Vec<String>,
    },
    /// Write a handler.
    Write {
        /// `ELEMENT.HANDLER`, or a global handler.
        #[arg(add = ArgValueCompleter::new(graphs::write_handlers))]
        handler: String,
        /// Value.
        value: Vec<String>,
    },
    /// List the handlers of an element, or the elements.
    List {
        /// The element.
        #[arg(add = ArgValueCompleter::new(graphs::own_elements))]
        element: Option<String>,
    },
}

/// Options of `weir trace`.
#[derive(Args)]
pub struct TraceOptions {
    /// Which running graph.
    #[command(flatten)]
    pub graph: GraphName,
    /// Number of packets to trace.
    #[arg(short = 'c', long, default_value_t = 1, value_parser = limits::packets)]
    pub count: u32,
    /// Print each step as a line of JSON. {"left_out":N} stands for N steps that were not read in time.
    #[arg(long)]
    pub json: bool,
    /// Only packets that match this tcpdump filter.
    pub filter: Vec<String>,
}

/// Options of `weir tap`.
#[derive(Args)]
pub struct TapOptions {
    /// Which running graph.
    #[command(flatten)]
    pub graph: GraphName,
    /// Stop after this many packets.
    #[arg(short = 'c', long, value_parser = limits::number::<u64>)]
    pub count: Option<u64>,
    /// Write to FILE instead of the standard output.
    #[arg(short, long, value_name = "FILE")]
    pub output: Option<String>,
    /// Packets begin with this header.
    #[arg(long, default_value = "ethernet", value_parser = ["ethernet", "ip"])]
    pub link: String,
    /// Output port of an element: `ELEMENT` (port 0) or `ELEMENT[PORT]`.
    #[arg(add = ArgValueCompleter::new(graphs::own_elements))]
    pub edge: String,
}

/// Options of `weir bench`.
#[derive(Args)]
pub struct BenchOptions {
    /// Graphs to measure; all of `benches/*.click` if none.
    #[arg(value_parser = NonEmptyStringValueParser::new())]
    pub files: Vec<String>,
    /// Run this Click-like command in turn and print the ratio (can be repeated).
    #[arg(long, value_name = "[NAME=]COMMAND")]
    pub vs: Vec<String>,
    /// Measure instead how long a graph of ten elements takes from its start to its first packet.
    #[arg(long, conflicts_with = "files")]
    pub startup: bool,
    /// Change instead a running graph of 50 elements at random N times while a million packets a second pass through it: how long
    /// they stand still, and whether any is lost.
    #[arg(long, value_name = "N", conflicts_with_all = ["files", "startup", "vs"], value_parser = limits::at_least_one)]
    pub changes: Option<usize>,
    /// Spread the graph that is changed over N threads.
    #[arg(long, value_name = "N", requires = "changes", conflicts_with = "cores", value_parser = clap::value_parser!(u16).range(1..=i64::from(crate::cores::MAX)))]
    pub threads: Option<u16>,
    /// Runs of each graph, or starts; the median counts [default: 3, starts 50].
    #[arg(short, long, visible_alias = "runs", value_name = "N", value_parser = limits::at_least_one)]
    pub rounds: Option<usize>,
    /// Seconds before measuring.
    #[arg(long, default_value = "0.5", value_name = "SECONDS", value_parser = limits::warm)]
    pub warm: f64,
    /// Seconds of measuring.
    #[arg(long, default_value = "1", value_name = "SECONDS", value_parser = limits::duration)]
    pub duration: f64,
    /// Divide by processor time instead of elapsed time: for a machine that is busy.
    #[arg(long)]
    pub cpu_time: bool,
    /// First processor to run on [default: the first that this process may use].
    #[arg(long, value_name = "N", value_parser = crate::cores::cpu)]
    cpu: Option<usize>,
    /// Move N packets at a time where the graph says nothing, as `weir run` does; without it one, as Click.
    #[arg(long, value_name = "N", conflicts_with_all = ["startup", "changes"], value_parser = clap::value_parser!(u16).range(1..=256))]
    pub burst: Option<u16>,
    /// Run each graph on N cores, and on one to compare with; a graph that is changed on N only.
    #[arg(long, value_name = "N", conflicts_with_all = ["cpu_time", "startup"], value_parser = clap::value_parser!(u16).range(2..=i64::from(crate::cores::MAX)))]
    pub cores: Option<u16>,
    /// Print the figures as JSON.
    #[arg(long)]
    pub json: bool,
    /// Write the tables as Markdown into FILE, with the commit and the machine.
    #[arg(long, value_name = "FILE")]
    pub markdown: Option<String>,
}

impl BenchOptions {
    /// The first processor to run on.
    pub fn cpu(&self) -> usize {
        self.cpu.unwrap_or_else(crate::cores::first)
    }
}
