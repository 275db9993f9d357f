//! `weir run`: runs a graph, shows progress, and prints a summary.

mod progress;
mod summary;

use std::process::ExitCode;
use std::time::Instant;

use element::{failure, HandlerUse, Runtime, TOP};
use engine::world::World;
use engine::{Engine, Layout};
use graph::Diagnostics;
use interfaces::stage::table;
use serde_json::{json, Map, Value};

use crate::command::RunOptions;
use crate::control::server::Server;
use crate::cores;
use crate::failure::{Exit, Failure};
use crate::load::{self, Request};
use crate::stop::Stop;
use progress::Progress;
use summary::Summary;

/// Runs a graph to its end.
pub fn run(options: RunOptions) -> Exit {
    let request = request(&options)?;
    let Some(mut engine) = build(&request)? else { return Ok(ExitCode::FAILURE) };
    let is_empty = engine.world.n_elements() == 0;
    if is_empty {
        // As in Click. There is nothing to wait for.
        eprintln!("weir: warning: {}: {}", request.text.name(), load::NO_ELEMENTS);
    }
    check_reads(&options, &engine.world)?;
    engine.world.has_hotconfig = options.allow_reconfigure;
    let server = serve(&options, &mut engine.world)?;
    let stop = Stop::listen(&mut engine.world);
    let begin = Instant::now();
    let mut progress = Progress::new(options.quiet);
    engine.run_while(|world| {
        if is_empty {
            return false;
        }
        if let Some(server) = &server {
            server.work(world);
        }
        progress.look(world);
        stop.pass_on(world);
        true
    });
    progress.clear();
    let elapsed = begin.elapsed();
    let (values, are_read) = read_handlers(&options, &mut engine.world);
    if let Some(hooks) = server.as_ref().and_then(|server| server.herald().hub.hooks()) {
        hooks.finish();
    }
    let mut summary = Summary::of(&mut engine.world, elapsed);
    engine.cleanup();
    let has_failed = !are_read || failure::is_noted();
    if has_failed {
        summary.count_again(&mut engine.world);
    }
    // Traces and taps end with the graph, and the server waits until that is told.
    drop(engine);
    drop(server);
    if options.json {
        let mut object = summary.as_json();
        if !values.is_empty() {
            object["read"] = values.into();
        }
        println!("{object:#}");
    } else if !options.quiet {
        eprint!("{}", summary.as_text());
    }
    Ok(if has_failed { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

/// What is to be built of a command line.
fn request(options: &RunOptions) -> Result<Request, Failure> {
    let mut request = Request::from_options(&options.source)?;
    request.burst = usize::from(options.burst);
    request.simulated_from_ns = options.simtime.map(|seconds| (seconds * 1e9) as i64);
    request.layout = match (options.cores, options.threads) {
        (Some(n), _) => Layout::Cores(usize::from(n)),
        (_, Some(n)) => Layout::Threads(usize::from(n)),
        _ => Layout::One,
    };
    if matches!(request.layout, Layout::Cores(2..)) && options.simtime.is_some() {
        return Err(Failure::Usage(cores::NO_SIMTIME.to_string()));
    }
    request.cpus = cores::cpus(request.layout, true);
    Ok(request)
}

/// Builds the graph, and tells what is wrong with it; `None` if it cannot be built.
fn build(request: &Request) -> Result<Option<Engine>, Failure> {
    let text = request.text.read()?;
    for name in request.unknown_variables(&text) {
        eprintln!("weir: warning: {name}=...: {} has no variable ${name}", request.text.name());
    }
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(request, &text, &mut diagnostics);
    // Later changes may well write what was read before.
    let begin = || graph.and_then(|graph| load::build(request, text, graph, &mut diagnostics));
    let engine = table::guarding_inputs(begin);
    load::tell(&diagnostics);
    Ok(engine)
}

/// Reads the handlers of --read, and prints their values unless they are for programs; whether all could be read.
fn read_handlers(options: &RunOptions, world: &mut World) -> (Map<String, Value>, bool) {
    let (mut values, mut are_read) = (Map::new(), true);
    for name in &options.read {
        match world.read_handler(TOP, name, "") {
            Ok(value) if options.json => drop(values.insert(name.clone(), json!(value.trim_end()))),
            Ok(value) => println!("{name}: {}", value.trim_end()),
            Err(message) => {
                eprintln!("weir: --read {name}: {}", element::spoken(&message));
                are_read = false;
            }
        }
    }
    (values, are_read)
}

/// Checks that all of --read can be read. A graph that others may change could come to have the handler.
fn check_reads(options: &RunOptions, world: &World) -> Result<(), Failure> {
    let changes = options.name.is_some() || options.allow_reconfigure;
    let missing = options.read.iter().filter_map(|name| {
        let checked = world.check_handler(TOP, name, HandlerUse::Read(""));
        checked.err().map(|message| format!("--read {name}: {}", element::spoken(&message)))
    });
    let missing: Vec<String> = missing.collect();
    if changes {
        missing.iter().for_each(|message| eprintln!("weir: warning: {message}; it is read at the end"));
    } else if !missing.is_empty() {
        return Err(Failure::Usage(missing.join("\nweir: ")));
    }
    Ok(())
}

/// Answers and tells events, if anybody is to ask or to hear.
fn serve(options: &RunOptions, world: &mut World) -> Result<Option<Server>, String> {
    let hooks = options.hooks.open(options.name.as_deref().unwrap_or_default(), &[], Box::new(told))?;
    if options.name.is_none() && hooks.is_none() {
        return Ok(None);
    }
    let mut server = Server::nameless(world, hooks)?;
    if let Some(name) = &options.name {
        server.listen(name)?;
    }
    Ok(Some(server))
}

/// Tells what hooks print, and what is wrong with them.
fn told(_level: events::Level, line: &str) {
    eprintln!("weir: {line}");
}
