//! Stages: graphs as commands of a shell pipeline.

pub mod life;
pub mod options;
pub mod simple;

use std::process::ExitCode;

use graph::Diagnostics;
use interfaces::stage::table;

use crate::load::{self, Origin, Request};
use life::Stage;
use options::StageOptions;

/// A stage to be run.
pub struct Plan {
    /// What it is called in `weir status`, such as `nat --inside 10.0.0.0/8`.
    pub function: String,
    /// Its graph.
    pub request: Request,
}

impl Plan {
    /// A plan for a graph's text.
    pub fn of_text(function: String, text: String) -> Plan {
        Plan { function, request: Request { text: Origin::Expression(text), ..Request::default() } }
    }
}

/// Runs a graph as a stage until its input ends or nobody reads its output.
pub fn run(mut plan: Plan, options: &StageOptions) -> Result<ExitCode, String> {
    options.declare()?;
    plan.request.burst = usize::from(options.burst);
    let text = plan.request.text.read()?;
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&plan.request, &text, &mut diagnostics);
    let engine = graph.and_then(|graph| load::build(&plan.request, text, graph, &mut diagnostics));
    load::tell(&diagnostics);
    let Some(engine) = engine else { return Ok(ExitCode::FAILURE) };
    table::look_for_neighbours()?;
    Stage::new(engine, plan.function, options)?.run()
}
