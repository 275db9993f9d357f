//! Running a chain that is one graph, in this process.

use std::process::ExitCode;

use graph::{Diagnostics, Graph};
use interfaces::stage::table;

use super::plan::{Chain, Segment};
use super::ChainOptions;
use crate::load::{Made, Request};
use crate::stage::life::Ending;
use crate::stage::options::StageOptions;
use crate::stage::{self, Ready};

/// Runs a segment as one stage.
pub fn run(
    chain: &Chain,
    segment: Segment,
    graph: Graph,
    options: &ChainOptions,
) -> Result<ExitCode, String> {
    let fusion = chain.fusion(segment);
    fusion.interfaces.into_iter().try_for_each(|interface| interface.declare())?;
    table::end_with(fusion.sources);
    let parts: Vec<_> = chain.stages(segment).iter().filter_map(|part| part.graph()).collect();
    if parts.iter().any(|part| part.spins) {
        table::spin();
    }
    let functions: Vec<&str> = parts.iter().map(|part| part.function.as_str()).collect();
    let stages = chain.stages(segment).iter().map(|part| &part.written);
    let made = stages.filter(|written| written.words[0] != "stage");
    let made =
        made.map(|written| Made { name: format!("stage {}", written.number), called: written.called() });
    let burst = parts.iter().map(|part| part.burst).max().unwrap_or(options.stage.burst);
    let drain = parts.iter().map(|part| part.drain).fold(0.0, f64::max);
    let ready = Ready {
        function: functions.join(" | "),
        devices: None,
        request: Request { burst: usize::from(burst), ..Request::default() },
        text: lang::flatten(&graph),
        graph: Some(graph),
        diagnostics: Diagnostics::default(),
        made: made.collect(),
        name: options.name.clone(),
        drains: true,
    };
    let options = StageOptions { drain, burst, ..options.stage.clone() };
    stage::run_graph(ready, &options, Ending::default(), |_| Ok(()))
}
