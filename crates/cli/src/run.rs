//! `weir run`: runs a graph, shows progress, and prints a summary.

use std::io::{IsTerminal, Write};
use std::process::ExitCode;
use std::time::{Duration, Instant};

use element::{failure, HandlerUse, Runtime, TOP};
use engine::world::World;
use engine::Layout;
use graph::Diagnostics;
use interfaces::stage::table;
use serde_json::json;

use crate::command::RunOptions;
use crate::control::server::Server;
use crate::cores;
use crate::drops::{self, Dropped};
use crate::failure::{Exit, Failure};
use crate::load::{self, Request};
use crate::numbers;
use crate::stop::Stop;

/// How often the progress line is renewed.
const PROGRESS: Duration = Duration::from_millis(200);
/// Driver rounds between looks at the clock.
const ROUNDS_PER_LOOK: u32 = 64;

/// Runs a graph to its end.
pub fn run(options: RunOptions) -> Exit {
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
    let text = request.text.read()?;
    for name in request.unknown_variables(&text) {
        eprintln!("weir: warning: {name}=...: {} has no variable ${name}", request.text.name());
    }
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&request, &text, &mut diagnostics);
    // Later changes may well write what was read before.
    table::guard_inputs(true);
    let engine = graph.and_then(|graph| load::build(&request, text, graph, &mut diagnostics));
    table::guard_inputs(false);
    load::tell(&diagnostics);
    let Some(mut engine) = engine else { return Ok(ExitCode::FAILURE) };
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
    let mut progress = Progress::new(&options);
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
    let mut has_failed = false;
    let mut values = serde_json::Map::new();
    for name in &options.read {
        match engine.world.read_handler(TOP, name, "") {
            Ok(value) if options.json => drop(values.insert(name.clone(), json!(value.trim_end()))),
            Ok(value) => println!("{name}: {}", value.trim_end()),
            Err(message) => {
                eprintln!("weir: --read {name}: {}", element::spoken(&message));
                has_failed = true;
            }
        }
    }
    if let Some(hooks) = server.as_ref().and_then(|server| server.herald().hub.hooks()) {
        hooks.finish();
    }
    let mut summary = Summary::of(&mut engine.world, elapsed);
    engine.cleanup();
    has_failed |= failure::is_noted();
    if has_failed {
        summary.count_again(&mut engine.world);
    }
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

/// The line that shows how far the inputs have been read.
struct Progress {
    is_shown: bool,
    is_wanted: bool,
    n_rounds: u32,
    next: Instant,
}

impl Progress {
    fn new(options: &RunOptions) -> Progress {
        let is_wanted = !options.quiet && std::io::stderr().is_terminal();
        Progress { is_shown: false, is_wanted, n_rounds: 0, next: Instant::now() + PROGRESS }
    }

    fn look(&mut self, world: &mut World) {
        self.n_rounds += 1;
        if !self.is_wanted || !self.n_rounds.is_multiple_of(ROUNDS_PER_LOOK) || Instant::now() < self.next {
            return;
        }
        self.next = Instant::now() + PROGRESS;
        let (mut read, mut size) = (0, 0);
        for idx in 0..world.n_elements() {
            let name = world.name(idx).to_string();
            let mut number = |handler: &str| numbers::read(world, &format!("{name}.{handler}"));
            if let (Some(at), Some(of)) = (number("filepos"), number("filesize")) {
                read += at;
                size += of;
            }
        }
        if let Some(percent) = (read.min(size) * 100).checked_div(size) {
            eprint!("\r{percent:3}% of {:.1} MB read", size as f64 / 1e6);
            // A progress line that cannot be shown is no reason to stop.
            let _ = std::io::stderr().flush();
            self.is_shown = true;
        }
    }

    fn clear(&self) {
        if self.is_shown {
            eprint!("\r\x1b[K");
        }
    }
}

/// What went in, out and away.
struct Summary {
    elapsed: Duration,
    interfaces: Vec<Interface>,
    drops: Vec<Dropped>,
}

struct Interface {
    element: String,
    name: String,
    rx: Option<(u64, u64)>,
    tx: Option<(u64, u64)>,
}

/// Packets and bytes that an element received (`rx`) or sent (`tx`).
fn counts(world: &mut World, element: &str, way: &str) -> Option<(u64, u64)> {
    let mut number = |what: &str| numbers::read(world, &format!("{element}.{way}_{what}"));
    Some((number("packets")?, number("bytes")?))
}

impl Summary {
    fn of(world: &mut World, elapsed: Duration) -> Summary {
        let mut interfaces = Vec::new();
        for idx in 0..world.n_elements() {
            let element = world.name(idx).to_string();
            let Ok(name) = world.read_handler(TOP, &format!("{element}.interface_name"), "") else {
                continue;
            };
            let (rx, tx) = (counts(world, &element, "rx"), counts(world, &element, "tx"));
            interfaces.push(Interface { element, name: name.trim().to_string(), rx, tx });
        }
        let mut drops = drops::of(world);
        drops.extend(drops::discarded(world));
        Summary { elapsed, interfaces, drops }
    }

    /// Looks again at what went out: what was to be written in the end may have failed.
    fn count_again(&mut self, world: &mut World) {
        for interface in &mut self.interfaces {
            interface.tx = counts(world, &interface.element, "tx").or(interface.tx);
        }
    }

    fn as_text(&self) -> String {
        let mut text = format!("ran {:.3} s\n", self.elapsed.as_secs_f64());
        for interface in &self.interfaces {
            for (way, counts) in [("in", interface.rx), ("out", interface.tx)] {
                if let Some((packets, bytes)) = counts {
                    let Interface { element, name, .. } = interface;
                    text += &format!(
                        "  {way:<4} {name:<28} {packets:>10} packets {bytes:>12} bytes  ({element})\n"
                    );
                }
            }
        }
        for Dropped { element, class, reason, n, .. } in drops::losses(&self.drops) {
            text +=
                &format!("  drop {reason:<28} {n:>10} packets                     ({element} :: {class})\n");
        }
        text
    }

    fn as_json(&self) -> serde_json::Value {
        let counts = |pair: Option<(u64, u64)>| {
            pair.map(|(packets, bytes)| json!({ "packets": packets, "bytes": bytes }))
        };
        let interfaces = self.interfaces.iter().map(|interface| {
            json!({
                "element": interface.element,
                "interface": interface.name,
                "in": counts(interface.rx),
                "out": counts(interface.tx),
            })
        });
        let drops = self.drops.iter().map(|Dropped { element, class, reason, n, .. }| {
            json!({ "element": element, "class": class, "reason": reason, "packets": n })
        });
        json!({
            "elapsed_s": self.elapsed.as_secs_f64(),
            "interfaces": interfaces.collect::<Vec<_>>(),
            "drops": drops.collect::<Vec<_>>(),
        })
    }
}
