//! Running a chain that is one graph, in this process.

use graph::{Diagnostics, Graph};
use interfaces::stage::table;

use super::plan::{Chain, Segment};
use super::ChainOptions;
use crate::failure::Exit;
use crate::load::{Made, Request};
use crate::stage::life::Ending;
use crate::stage::{self, Ready};

/// Runs a segment as one stage.
pub fn run(chain: &Chain, segment: Segment, graph: Graph, options: &ChainOptions) -> Exit {
    let parts: Vec<_> = chain.stages(segment).iter().filter_map(|part| part.graph()).collect();
    let fused: Vec<_> = parts.iter().map(|part| &part.options).collect();
    let fused = options.stage.fuse(&fused);
    fused.set_up();
    let fusion = chain.fusion(segment);
    fusion.interfaces.into_iter().try_for_each(|interface| interface.declare())?;
    table::end_with(fusion.sources);
    let functions: Vec<&str> = parts.iter().map(|part| part.function.as_str()).collect();
    let stages = chain.stages(segment).iter().map(|part| &part.written);
    let made = stages.filter(|written| written.words[0] != "stage");
    let made =
        made.map(|written| Made { name: format!("stage {}", written.number), called: written.called() });
    let ready = Ready {
        function: functions.join(" | "),
        called: "chain".to_string(),
        devices: None,
        request: Request { burst: usize::from(fused.burst()), ..Request::default() },
        text: lang::flatten(&graph),
        graph: Some(graph),
        diagnostics: Diagnostics::default(),
        made: made.collect(),
        name: options.name.clone(),
        drains: true,
    };
    stage::run_graph(ready, &fused, Ending::default(), |_| Ok(()))
}
