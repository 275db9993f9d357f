//! Stages: graphs as commands of a shell pipeline.

pub mod life;
pub mod linux;
pub mod options;
pub mod simple;

use std::io::Write;
use std::process::ExitCode;

use graph::Diagnostics;
use interfaces::stage::table;

use crate::load::{self, Origin, Request};
use life::{Ending, Stage};
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
pub fn run(plan: Plan, options: &StageOptions) -> Result<ExitCode, String> {
    run_with(plan, options, Ending::default(), |_| Ok(()))
}

/// As [`run`], also until `ending` says so. Before packets flow, `begin` is given what wakes the stage.
pub fn run_with(
    mut plan: Plan,
    options: &StageOptions,
    ending: Ending,
    begin: impl FnOnce(Box<dyn Fn() + Send>) -> Result<(), String>,
) -> Result<ExitCode, String> {
    options.declare()?;
    plan.request.burst = usize::from(options.burst);
    let text = plan.request.text.read()?;
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&plan.request, &text, &mut diagnostics);
    let engine = graph.and_then(|graph| load::build(&plan.request, text, graph, &mut diagnostics));
    load::tell(&diagnostics);
    let Some(mut engine) = engine else { return Ok(ExitCode::FAILURE) };
    let waker = engine.world.wake_writer().ok_or("no descriptor is left; raise the limit of open files")?;
    table::look_for_neighbours()?;
    // A full socket means that the driver will wake anyway.
    begin(Box::new(move || drop((&waker).write(&[0]))))?;
    Stage::new(engine, plan.function, options, ending)?.run()
}
