//! `weir serve`: the daemon in which functions live.

mod activation;
mod learned;
mod plane;
mod reload;
mod sockets;

use std::net::SocketAddr;
use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;
use std::thread::JoinHandle;
use std::time::Duration;

use clap::Args;
use daemon::events::Events;
use daemon::http::tls::{Files, Tls};
use daemon::logs::Logs;
use daemon::metrics::push::{self, Collector};
use daemon::{Service, Store};
use engine::world::World;
use events::{Hooks, Level};
use functions::{Functions, Package};
use graph::Diagnostics;

pub use sockets::socket;

use learned::Keeper;
use reload::Reload;
use sys::signals::Signal;

use crate::control::herald::Herald;
use crate::control::hooks::HookOptions;
use crate::control::server::{Reach, Server};
use crate::failure::{Exit, Failure};
use crate::load::{self, Origin, Request};
use crate::stop::Stop;

/// The name by which `weir handler`, `weir live`, `weir trace` and `weir tap` find the daemon's graph.
const GRAPH: &str = "weir";

/// Options of `weir serve`.
#[derive(Args)]
pub struct ServeOptions {
    /// Folder that keeps the configuration and the functions that were added [default: /var/lib/weir, or
    /// $XDG_STATE_HOME/weir for ordinary users].
    #[arg(long, value_name = "FOLDER")]
    pub state: Option<PathBuf>,
    /// Keep nothing: begin without configuration, and forget it at the end.
    #[arg(long, conflicts_with = "state")]
    pub volatile: bool,
    /// Begin with the configuration that was put by (`weir candidate save`) instead of the one that ran last.
    #[arg(long, conflicts_with = "volatile")]
    pub startup: bool,
    /// Also keep what was learned: mappings of NATs and firewalls, connections of load balancers, Ethernet addresses of neighbours,
    /// stations of bridges. It is written every TIME, and at the end; 0 is the end alone.
    #[arg(long, value_name = "TIME", num_args = 0..=1, require_equals = true, default_missing_value = "60s",
        conflicts_with = "volatile", value_parser = time)]
    pub keep_state: Option<Duration>,
    /// Unix socket to answer on [default: /run/weir.socket, or $XDG_RUNTIME_DIR/weir/api.socket for ordinary users].
    #[arg(long, value_name = "PATH", env = "WEIR_SOCKET")]
    pub socket: Option<PathBuf>,
    /// Members of this group may operate through the Unix socket.
    #[arg(long, value_name = "GROUP")]
    pub group: Option<String>,
    /// Also answer over TLS on this address and port.
    #[arg(long, value_name = "ADDRESS:PORT", requires_all = ["certificate", "key"], value_parser = address_and_port)]
    pub listen: Option<SocketAddr>,
    /// The server's certificates (PEM).
    #[arg(long, value_name = "FILE")]
    pub certificate: Option<String>,
    /// The server's private key (PEM).
    #[arg(long, value_name = "FILE")]
    pub key: Option<String>,
    /// Certificates (PEM) of those who sign clients' certificates. A client's common name is its name, its organizational unit its
    /// role: read, operate or administer.
    #[arg(long, value_name = "FILE")]
    pub client_ca: Option<String>,
    /// Tokens of clients: lines NAME ROLE SHA256, the last the SHA-256 sum of the token.
    #[arg(long, value_name = "FILE")]
    pub tokens: Option<String>,
    /// Processor to run the packets on.
    #[arg(long, value_name = "N", value_parser = crate::cores::cpu)]
    pub cpu: Option<usize>,
    /// Packets that elements move at a time where the graph does not say.
    #[arg(long, default_value_t = 64, value_parser = clap::value_parser!(u16).range(1..=256))]
    pub burst: u16,
    /// How much is logged on standard error: off, error, warn, info, debug or trace; or levels of targets, such as
    /// info,weir::api=debug. The configuration (/weir:logging) may say something else.
    #[arg(long, value_name = "LEVEL|FILTER", env = "WEIR_LOG", default_value = "info")]
    pub log: String,
    /// Log objects of JSON, a line each.
    #[arg(long)]
    pub log_json: bool,
    /// Push metrics to a collector of OpenTelemetry (OTLP over HTTP), such as http://127.0.0.1:4318.
    #[arg(long, value_name = "URL", value_parser = Collector::parse)]
    pub otlp: Option<Collector>,
    /// How often metrics are pushed.
    #[arg(long, value_name = "TIME", default_value = "10s", requires = "otlp", value_parser = push::interval)]
    pub otlp_interval: Duration,
    /// Programs for events.
    #[command(flatten)]
    pub hooks: HookOptions,
}

/// Reads a time.
fn time(text: &str) -> Result<Duration, String> {
    humantime::parse_duration(text).map_err(|_| "expected a time such as 10s or 5min".to_string())
}

/// Reads where to listen.
fn address_and_port(text: &str) -> Result<SocketAddr, String> {
    text.parse().map_err(|_| "expected ADDRESS:PORT, such as 10.0.0.1:8443 or [::]:8443".to_string())
}

/// Runs the daemon until it is told to stop.
pub fn run(options: ServeOptions) -> Exit {
    check_clients(&options)?;
    let logs = Logs::install(&options.log, options.log_json);
    let logs = logs.map_err(|message| Failure::Usage(format!("--log {message}")))?;
    let mut engine = empty_graph(&options)?;
    let heard = logs.clone();
    engine
        .world
        .hear_elements(Box::new(move |element, text, is_failure| heard.hear(element, text, is_failure)));
    let given = activation::socket()?;
    let place = sockets::place(&options, given.as_ref())?;
    let control = control(&options, &mut engine.world, &place)?;
    let herald = control.herald().clone();
    let plane = Arc::new(plane::Running::new(control.reach(), herald.ports.clone()));
    let stop = Stop::listen_to([Signal::Interrupt, Signal::Terminate], &mut engine.world);
    let tls = options.listen.map(|_| Tls::new(&files(&options))).transpose()?.map(Arc::new);
    let reload = Reload::listen(&mut engine.world, tls.clone());
    let mut listeners = sockets::open(&options, given, place)?;
    // It goes before the thread that serves does.
    let socket_file = listeners.file.take();
    let state = match options.volatile {
        true => None,
        false => Some(options.state.clone().map_or_else(sockets::state_folder, Ok)?),
    };
    let keeper =
        state.as_deref().zip(options.keep_state).map(|(state, every)| Arc::new(Keeper::new(state, every)));
    let kept = keeper.clone().map(|keeper| (keeper, control.reach()));
    let collector = options.otlp.map(|collector| (collector, options.otlp_interval));
    let progress = Arc::new(Progress::default());
    let (end, ending) = tokio::sync::watch::channel(());
    let serving = serve_beside(control.reach(), progress.clone(), move |progress| {
        let service = service(state.as_deref(), options.startup, plane, logs, &herald)?;
        kept.map_or(Ok(()), |(keeper, reach)| keeper.start(reach))?;
        progress.has_started.store(true, Ordering::Release);
        sockets::serve(service, listeners, tls, collector, ending)
    })?;
    activation::reassure(control.reach())?;
    engine.run_while(|world| {
        control.work(world);
        reload.work();
        !stop.is_asked() && !progress.has_ended.load(Ordering::Acquire) && !serving.is_finished()
    });
    activation::tell(activation::State::Stopping);
    let asked = stop.is_asked();
    if asked || progress.has_started.load(Ordering::Acquire) {
        tracing::info!(target: "weir", asked, "stops");
    }
    if let Some(keeper) = keeper {
        keeper.end(&mut engine.world);
    }
    if let Some(hooks) = control.herald().hub.hooks() {
        hooks.finish();
    }
    engine.cleanup();
    // Traces and taps end with the graph, and the server waits until that is told.
    drop(engine);
    drop(control);
    drop(socket_file);
    // What waits for the graph has heard that there is none any more, and streams of events end.
    drop(end);
    if progress.has_started.load(Ordering::Acquire) {
        let _ = serving.join();
    }
    match asked {
        true => Ok(ExitCode::SUCCESS),
        false => Ok(ExitCode::FAILURE),
    }
}

/// How far the thread that serves has come.
#[derive(Default)]
struct Progress {
    has_started: AtomicBool,
    has_ended: AtomicBool,
}

/// Serves on a thread beside the graph's, as the store asks the graph; tells why it cannot.
fn serve_beside(
    graph: Reach,
    progress: Arc<Progress>,
    serve: impl FnOnce(&Progress) -> Result<(), String> + Send + 'static,
) -> Result<JoinHandle<()>, String> {
    let serving = sys::thread::start("serve", sys::thread::STACK, move || {
        if let Err(message) = serve(&progress) {
            eprintln!("weir: {message}");
        }
        progress.has_ended.store(true, Ordering::Release);
        // The graph may be asleep.
        graph.ask(|_| ());
    });
    serving.map_err(|error| sys::no_thread(&error))
}

/// Checks that who comes over TCP has a way to show who he is.
fn check_clients(options: &ServeOptions) -> Result<(), Failure> {
    if options.listen.is_some() && options.client_ca.is_none() && options.tokens.is_none() {
        return Err(Failure::Usage(
            "--listen: over TCP, clients must show who they are; give --client-ca FILE, --tokens FILE, or both".to_string(),
        ));
    }
    Ok(())
}

/// What lets users look into the graph. A user has one daemon.
fn control(options: &ServeOptions, world: &mut World, socket: &Path) -> Result<Server, String> {
    let mut control = Server::nameless(world, hooks(options, socket)?)?;
    control.set_configured();
    control.listen_unless(GRAPH, |other| {
        let process = other.map(|pid| format!(" in process {pid}")).unwrap_or_default();
        format!(
            "a daemon of this user, or `weir run --name {GRAPH}`, runs already{process}; a user has one: ask it, or end it first"
        )
    })?;
    Ok(control)
}

/// A graph without instances, which runs.
fn empty_graph(options: &ServeOptions) -> Result<engine::Engine, String> {
    let text = daemon::graph::text(&Default::default(), &Default::default());
    let request = Request {
        text: Origin::Expression(text.clone()),
        burst: usize::from(options.burst),
        cpus: options.cpu.into_iter().collect(),
        ..Request::default()
    };
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&request, &text, &mut diagnostics);
    let engine = graph.and_then(|graph| load::build(&request, text, graph, &mut diagnostics));
    load::tell(&diagnostics);
    engine.ok_or_else(|| "the graph could not be built".to_string())
}

fn files(options: &ServeOptions) -> Files {
    Files {
        certificate: options.certificate.clone().unwrap_or_default(),
        key: options.key.clone().unwrap_or_default(),
        clients: options.client_ca.clone(),
        tokens: options.tokens.clone(),
    }
}

/// The programs that are run for events. They find the daemon by its socket.
fn hooks(options: &ServeOptions, socket: &Path) -> Result<Option<Hooks>, String> {
    let socket = socket.display().to_string();
    let log = |level, line: &str| match level {
        Level::Info => tracing::info!(target: "weir::hook", "{line}"),
        Level::Warn => tracing::warn!(target: "weir::hook", "{line}"),
    };
    options.hooks.open(GRAPH, &[("WEIR_SOCKET", socket)], Box::new(log))
}

/// What answers: a configuration that was kept runs again.
fn service(
    state: Option<&Path>,
    from_startup: bool,
    plane: Arc<plane::Running>,
    logs: Arc<Logs>,
    herald: &Herald,
) -> Result<Arc<Service>, String> {
    let told = |fault: daemon::Fault| match &fault.path {
        Some(path) => format!("{path}: {}", fault.message),
        None => fault.message.clone(),
    };
    let added = state.map(|state| state.join("functions"));
    let packages = added.as_deref().map_or_else(|| Ok(Vec::new()), packages)?;
    let mut store = Store::new(Functions::shipped_and(packages)?, plane).with_logs(logs);
    if let Some(state) = state {
        store.begin(state, from_startup).map_err(told)?;
    }
    let (n_instances, revision) = (store.instances().count(), store.revision());
    tracing::info!(target: "weir", version = env!("CARGO_PKG_VERSION"), n_instances, revision, "starts");
    let service = Service::telling(store, added, Events(herald.hub.clone()));
    let joined = Arc::downgrade(&service);
    herald.ports.tell_joined(Box::new(move |device| joined.upgrade()?.store().topology().port_of(device)));
    Ok(service)
}

/// The functions that were added.
fn packages(folder: &Path) -> Result<Vec<Package>, String> {
    let Ok(entries) = std::fs::read_dir(folder) else { return Ok(Vec::new()) };
    let mut paths: Vec<PathBuf> = entries.flatten().map(|entry| entry.path()).collect();
    paths.retain(|path| path.extension().is_some_and(|extension| extension == "tar"));
    paths.sort();
    paths.iter().map(|path| Package::read(path)).collect()
}
