//! `weir click`: Click's own command line, defaults, output and exit codes.

use std::io::Write;
use std::process::ExitCode;
use std::time::Instant;

use element::Runtime;
use engine::{Engine, Layout};
use graph::Diagnostics;

use crate::cores;
use element::output::{reason, StandardOutput};

use crate::load::{self, Origin, Request};
use crate::stop::Stop;
use sys::signals::Signal;

mod handlers;
mod options;

use options::{Options, Parsed};

/// Runs as Click with these arguments, the program's name first.
pub fn main(args: Vec<String>) -> ExitCode {
    // Whoever reads an output, or has a control connection, may go away.
    sys::signals::ignore_broken_pipe();
    element::failure::tell_as_click();
    let program = args.first().and_then(|name| name.rsplit('/').next()).unwrap_or("click").to_string();
    match options::parse(&program, args.get(1..).unwrap_or(&[])) {
        Parsed::Run(options) => ExitCode::from(run(*options) as u8),
        Parsed::Print(text) => {
            print!("{text}");
            ExitCode::SUCCESS
        }
        Parsed::Refuse(text) => {
            eprint!("{text}");
            ExitCode::FAILURE
        }
    }
}

fn run(options: Options) -> i32 {
    let layout = match (options.n_cores, options.n_threads) {
        (n @ 2.., _) => Layout::Cores(n),
        (_, n @ 2..) => Layout::Threads(n),
        _ => Layout::One,
    };
    if matches!(layout, Layout::Cores(_)) && options.simulated_from_ns.is_some() {
        eprintln!("{}", cores::NO_SIMTIME);
        return 1;
    }
    let request = Request {
        text: options.origin.clone().unwrap_or_default(),
        variables: options.variables.clone(),
        clickpath: options.clickpath.clone(),
        simulated_from_ns: options.simulated_from_ns,
        burst: 1,
        layout,
        cpus: cpus(layout, &options),
        is_click: true,
    };
    if let (Layout::One, Some(cpu)) = (layout, options.affinity) {
        // As in Click, a processor that does not exist changes nothing.
        let _ = sys::cpu::pin_thread(cpu);
    }
    let text = match request.text.read_anything() {
        Ok(text) => text,
        Err(message) => {
            eprintln!("{message}");
            return 1;
        }
    };
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&request, &text, &mut diagnostics);
    let graph = graph.map(|graph| options::with_control_sockets(graph, &options));
    let engine = graph.and_then(|graph| load::build(&request, text, graph, &mut diagnostics));
    eprint!("{}", lang::click_texts(&diagnostics.list));
    let Some(mut engine) = engine else { return 1 };
    if options.allow_reconfigure {
        engine.world.has_hotconfig = true;
        let own = options.clone();
        let amend = move |graph| options::with_control_sockets(graph, &own);
        engine.world.loader = Some(load::reader(request.clone(), amend));
    }
    let exit = drive(&mut engine, &options, &request.text);
    engine.cleanup();
    let _ = StandardOutput.flush();
    exit
}

/// The processor of each thread, if they are to stay on one.
fn cpus(layout: Layout, options: &Options) -> Vec<usize> {
    match (layout, options.affinity) {
        (Layout::Cores(n) | Layout::Threads(n), Some(first)) => (first..).take(n).collect(),
        (Layout::Cores(_), None) if options.no_affinity => Vec::new(),
        _ => cores::cpus(layout, options.warnings),
    }
}

fn drive(engine: &mut Engine, options: &Options, origin: &Origin) -> i32 {
    let mut exit = 0;
    if let Some(path) = &options.output {
        if let Err(message) = write_flat(engine, path) {
            eprintln!("{message}");
            exit = 1;
        }
    }
    let (begin, used) = (Instant::now(), cpu_times());
    if !options.quit && engine.world.n_elements() > 0 {
        // A closed terminal ends Click at once.
        let stop = Stop::listen_to([Signal::Interrupt, Signal::Terminate], &mut engine.world);
        engine.run_while(|world| {
            stop.pass_on(world);
            true
        });
    } else if !options.quit && options.warnings {
        eprintln!("warning: {}: configuration has no elements, exiting", origin.name());
    }
    if options.time {
        report_time(begin, used);
    }
    if !handlers::print(engine, &options.handlers) {
        exit = 1;
    }
    match &options.exit_handler {
        None => exit,
        Some(name) => handlers::exit_value(engine, name),
    }
}

fn write_flat(engine: &mut Engine, path: &str) -> Result<(), String> {
    let text = engine.world.flat_configuration();
    if path == "-" {
        return std::io::stdout().write_all(text.as_bytes()).map_err(|error| reason(&error));
    }
    std::fs::write(path, text).map_err(|error| format!("{path}: {}", reason(&error)))
}

/// Processor time used by this process in user mode and in the system, in seconds.
fn cpu_times() -> (f64, f64) {
    const TICKS_PER_S: f64 = 100.0;
    let stat = std::fs::read_to_string("/proc/self/stat").unwrap_or_default();
    let fields: Vec<&str> = stat.rsplit(')').next().unwrap_or("").split_whitespace().collect();
    let field = |n: usize| fields.get(n).and_then(|f| f.parse::<f64>().ok()).unwrap_or(0.0) / TICKS_PER_S;
    (field(11), field(12))
}

fn report_time(begin: Instant, used: (f64, f64)) {
    let now = cpu_times();
    let elapsed = begin.elapsed().as_secs_f64();
    let (minutes, seconds) = ((elapsed / 60.0) as u64, elapsed % 60.0);
    println!("{:.3}u {:.3}s {minutes}:{seconds:05.2}", now.0 - used.0, now.1 - used.1);
}
