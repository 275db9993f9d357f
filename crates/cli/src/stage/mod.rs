//! Stages: graphs as commands of a shell pipeline.

pub mod change;
pub mod hold;
pub mod life;
pub mod linux;
pub mod options;
pub mod others;
pub mod process;
pub mod simple;
pub mod status;

use std::collections::HashSet;
use std::io::Write;
use std::process::ExitCode;

use graph::{Diagnostics, Graph};
use interfaces::stage::table;

use crate::control::server::Server;
use crate::failure::{Exit, Failure};
use crate::load::{self, Made, Origin, Request};
use life::{Ending, Stage};
use options::StageOptions;
use status::{About, DeviceReader};

/// A stage to be run.
pub struct Plan {
    /// What it is called in `weir status`, such as `tee copy.pcap`.
    pub function: String,
    /// Its graph.
    pub request: Request,
    /// Tells what went through the devices of a stack.
    pub devices: Option<DeviceReader>,
    /// Whether the user wrote no graph, but a stage's name and flags.
    pub is_ready_made: bool,
}

impl Plan {
    /// A plan for a graph.
    pub fn new(function: String, request: Request) -> Plan {
        Plan { function, request, devices: None, is_ready_made: false }
    }

    /// A plan for the text of a ready-made graph.
    pub fn of_text(function: String, text: String) -> Plan {
        let request = Request { text: Origin::Expression(text), ..Request::default() };
        Plan { is_ready_made: true, ..Plan::new(function, request) }
    }
}

/// Runs a graph as a stage until its input ends or nobody reads its output.
pub fn run(plan: Plan, options: &StageOptions) -> Exit {
    run_with(plan, options, Ending::default(), |_| Ok(()))
}

/// As [`run`], also until `ending` says so. Before packets flow, `begin` is given what wakes the stage.
pub fn run_with(
    mut plan: Plan,
    options: &StageOptions,
    ending: Ending,
    begin: impl FnOnce(Box<dyn Fn() + Send>) -> Result<(), String>,
) -> Exit {
    options.declare().map_err(Failure::Usage)?;
    plan.request.burst = usize::from(options.burst());
    let text = plan.request.text.read()?;
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&plan.request, &text, &mut diagnostics);
    graph.iter().try_for_each(|graph| options.refuse_unknown(graph)).map_err(Failure::Usage)?;
    let Plan { function, request, devices, is_ready_made } = plan;
    let called = function.split(' ').next().unwrap_or_default().to_string();
    let made = Made { name: request.text.name().to_string(), called: called.clone() };
    let made = Some(made).filter(|_| is_ready_made).into_iter().collect();
    let (name, drains) = (None, false);
    let ready = Ready { function, called, devices, request, text, graph, diagnostics, made, name, drains };
    run_graph(ready, options, ending, begin)
}

/// A graph, and what it comes from.
pub struct Ready {
    /// What it is called in `weir status`.
    pub function: String,
    /// What messages call it.
    pub called: String,
    /// Tells what went through the devices of a stack.
    pub devices: Option<DeviceReader>,
    /// How it runs.
    pub request: Request,
    /// The text that stands for it.
    pub text: String,
    /// The graph, if there is one.
    pub graph: Option<Graph>,
    /// What was found wrong with it so far.
    pub diagnostics: Diagnostics,
    /// The parts of it that the user did not write.
    pub made: Vec<Made>,
    /// The name by which `weir handler` and the like find it, besides its own.
    pub name: Option<String>,
    /// Whether it drains when an element stops the driver.
    pub drains: bool,
}

/// As [`run_with`], with a graph whose interfaces are declared.
pub fn run_graph(
    ready: Ready,
    options: &StageOptions,
    ending: Ending,
    begin: impl FnOnce(Box<dyn Fn() + Send>) -> Result<(), String>,
) -> Exit {
    let Ready { request, text, mut diagnostics, .. } = ready;
    table::call_stage(&ready.called);
    let engine = ready.graph.and_then(|graph| load::build(&request, text, graph, &mut diagnostics));
    load::tell_of(&diagnostics, &ready.made);
    let Some(mut engine) = engine else { return Ok(ExitCode::FAILURE) };
    let called = |message: String| format!("{}: {message}", ready.called);
    // A stack may be alone.
    if ready.devices.is_none() && nothing_can_come(engine.world.graph()) {
        return Err(if ready.made.is_empty() { NOTHING.into() } else { called(UNREAD.into()) }.into());
    }
    engine.world.hear_elements(Box::new(hear));
    // Before this stage can be asked: whoever sees that it can knows that it has begun to look for its neighbours.
    table::look_for_neighbours().map_err(called)?;
    let mut server = Server::nameless(&mut engine.world, None).map_err(called)?;
    server.listen(&others::name_of(std::process::id())).map_err(called)?;
    if let Some(name) = &ready.name {
        server.listen(name)?;
    }
    let started = std::time::SystemTime::now();
    status::tell_about(About { function: ready.function, started, devices: ready.devices });
    let waker = engine.world.wake_writer().ok_or_else(|| called(NO_DESCRIPTOR.to_string()))?;
    // A full socket means that the driver will wake anyway.
    begin(Box::new(move || drop((&waker).write(&[0]))))?;
    Stage::new(engine, server, options, ending)?.draining_when_stopped(ready.drains).run()
}

/// Prints what elements say. What they failed at is told as the stage's own errors are.
fn hear(_element: &str, text: &str, is_failure: bool) {
    // Those of interfaces are so already.
    match is_failure && !text.starts_with("weir: ") {
        true => engine::say(&table::told(text)),
        false => engine::say(text),
    }
}

/// What is told where nothing more can be opened.
const NO_DESCRIPTOR: &str = "no descriptor is left; raise the limit of open files";

/// What is told of a graph that would wait for ever.
pub const NOTHING: &str = "nothing can ever come: the graph has no source, and reads no interface that packets come in by\n  help: begin it \
                       with `FromInterface(left)`, and let `left` be something that is read, as standard input is";

/// The same of a graph that the user did not write.
const UNREAD: &str = "nothing can ever come: packets come in by none of its interfaces; let one be something that is read, as standard \
                      input is";

/// Whether no element reads an interface, makes packets or acts by itself.
pub fn has_no_source(graph: &Graph) -> bool {
    begins_only_with(graph, &["Idle"])
}

/// Whether whatever packets do not lead to is of these classes.
fn begins_only_with(graph: &Graph, classes: &[&str]) -> bool {
    let led_to: HashSet<usize> = graph.connections.iter().map(|connection| connection.to.element).collect();
    let mut elements = graph.elements.iter().enumerate();
    elements.all(|(idx, element)| led_to.contains(&idx) || classes.contains(&element.class.as_str()))
}

/// Whether no element makes packets or acts by itself, and no interface that is read can receive any.
fn nothing_can_come(graph: &Graph) -> bool {
    let may_receive = |shared: &table::Shared| {
        let mut interface = table::lock(shared);
        interface.is_read() && interface.may_receive()
    };
    // Most stages read something: their graphs are not looked at.
    !table::opened().iter().any(may_receive) && begins_only_with(graph, &["Idle", FROM])
}

/// The class of what reads interfaces.
const FROM: &str = "FromInterface";

/// Lets an interface go on in the pipe that `path` leads to.
pub fn succeed(interface: &str, path: &str) -> Result<(), String> {
    table::succeed(interface, open_pipe(path)?, interfaces::stage::Format::default())
}

/// Opens the end of a pipe that `path` leads to.
fn open_pipe(path: &str) -> Result<std::fs::File, String> {
    use std::os::unix::fs::OpenOptionsExt;
    let failed = |error: std::io::Error| format!("{path}: {}", element::output::reason(&error));
    // A reference alone: it is opened for what it allows, which its entry in /proc says.
    let pipe = std::fs::symlink_metadata(path).map_err(failed)?;
    let is_readable = std::os::unix::fs::MetadataExt::mode(&pipe) & 0o400 != 0;
    std::fs::OpenOptions::new()
        .read(is_readable)
        .write(!is_readable)
        .custom_flags(sys::pipe::NONBLOCK)
        .open(path)
        .map_err(failed)
}

#[cfg(test)]
mod tests {
    use graph::{Connection, Element, Endpoint, Place};

    use super::*;

    #[test]
    fn a_large_graph_is_searched_for_sources() {
        // To search all connections for each element would take minutes.
        const N: usize = 100_000;
        let element = |idx: usize| Element {
            name: format!("e{idx}"),
            class: if idx == 0 { "Idle" } else { "Null" }.to_string(),
            config: String::new(),
            place: Place::default(),
        };
        let connection = |idx: usize| Connection {
            from: Endpoint { element: idx, port: 0 },
            to: Endpoint { element: idx + 1, port: 0 },
            place: Place::default(),
        };
        let mut graph = Graph {
            elements: (0..N).map(element).collect(),
            connections: (0..N - 1).map(connection).collect(),
            requirements: Vec::new(),
        };
        assert!(has_no_source(&graph));
        graph.elements[0].class = "InfiniteSource".to_string();
        assert!(!has_no_source(&graph));
    }
}
