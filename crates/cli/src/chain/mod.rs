//! `weir chain`: the text of a shell pipeline of stages, run in as few processes as possible.

mod children;
mod explain;
mod fused;
mod part;
mod plan;
mod program;
mod text;

use std::process::ExitCode;

use clap::Args;

use crate::control::protocol::checked_name;
use crate::failure::{Exit, Failure};
use crate::stage::options::StageOptions;
pub use part::names as stages;
use plan::Chain;
pub use program::is_there as has_program;

/// Options of `weir chain`.
#[derive(Args, Clone)]
pub struct ChainOptions {
    /// The stages as a shell pipeline has them, in one word: 'read FILE | nat ... | weir write FILE'. `weir` in front of a
    /// stage's name may be left out. What is no stage of weir is a program, such as `tcpdump -r -`.
    #[arg(value_name = "STAGES", value_parser = text::check)]
    pub text: String,
    /// Only tell what each stage becomes and how they are joined.
    #[arg(long)]
    pub explain: bool,
    /// Explain in JSON.
    #[arg(long, requires = "explain", conflicts_with = "dot")]
    pub json: bool,
    /// Only print the graphs that stages become, for Graphviz.
    #[arg(long, conflicts_with = "explain")]
    pub dot: bool,
    /// Name by which `weir handler`, `weir trace` and `weir tap` find the graph. If there are several processes, those after
    /// the first are NAME-2, NAME-3 and so on.
    #[arg(long, value_parser = checked_name)]
    pub name: Option<String>,
    /// Exit with the status of the first stage that fails instead of that of the last stage.
    #[arg(long)]
    pub pipefail: bool,
    /// Print no notes about processes.
    #[arg(short, long)]
    pub quiet: bool,
    /// What all stages have; `--if left=KIND` and `--if right=KIND` are for the ends of the chain.
    #[command(flatten)]
    pub stage: StageOptions,
}

/// The words of a chain's stages, where it can be one stage between others: those that make one graph. None if one is wrong, which is
/// told.
pub fn as_one_stage(options: &ChainOptions) -> Result<Option<Vec<Vec<String>>>, Failure> {
    const SEVERAL: &str =
        "a chain of several processes has no place between stages; give one after the other";
    let Some(chain) = Chain::of(options)? else { return Ok(None) };
    match chain.only_graph() {
        Some(_) => Ok(Some(chain.parts.into_iter().map(|part| part.written.words).collect())),
        None => Err(Failure::Usage(SEVERAL.to_string())),
    }
}

/// `weir chain`.
pub fn run(options: ChainOptions) -> Exit {
    let Some(chain) = Chain::of(&options)? else { return Ok(ExitCode::FAILURE) };
    // Nothing starts unless all of it can.
    let Some(graphs) = chain.graphs() else { return Ok(ExitCode::FAILURE) };
    if options.explain {
        explain::explain(&chain, &options, &graphs);
        return Ok(ExitCode::SUCCESS);
    }
    if options.dot {
        explain::dot(&graphs);
        return Ok(ExitCode::SUCCESS);
    }
    match (chain.only_graph(), graphs.into_iter().flatten().next()) {
        (Some(segment), Some(graph)) => fused::run(&chain, segment, graph, &options),
        _ => children::run(&chain, &options),
    }
}
