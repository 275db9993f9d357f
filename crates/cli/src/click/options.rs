//! Click's command line.

use args::Names;
use graph::{Element, Graph, Place};

use crate::clp::{self, Item, Line, Opt};
use crate::host::ThisHost;
use crate::load::Origin;

/// What the command line asks for.
pub enum Parsed {
    /// A run.
    Run(Box<Options>),
    /// A text on the standard output.
    Print(String),
    /// The command line is wrong: a text on the standard error.
    Refuse(String),
}

/// The options of a run.
#[derive(Clone, Default)]
pub struct Options {
    pub origin: Option<Origin>,
    pub variables: Vec<(String, String)>,
    pub output: Option<String>,
    pub handlers: Vec<String>,
    pub exit_handler: Option<String>,
    pub ports: Vec<String>,
    pub unix_sockets: Vec<String>,
    pub descriptors: Vec<String>,
    pub quit: bool,
    pub time: bool,
    pub warnings: bool,
    pub n_threads: usize,
    pub n_cores: usize,
    pub affinity: Option<usize>,
    pub no_affinity: bool,
    pub simulated_from_ns: Option<i64>,
    pub clickpath: Option<String>,
    pub allow_reconfigure: bool,
}

const OPTIONS: &[Opt] = &[
    Opt::flag("allow-reconfigure", 'R', "").negatable(),
    Opt::with("clickpath", 'C', "", ""),
    Opt::with("expression", 'e', "", ""),
    Opt::with("file", 'f', "", ""),
    Opt::with("handler", 'h', "", ""),
    Opt::flag("help", '\0', ""),
    Opt::with("output", 'o', "", ""),
    Opt::with("socket", '\0', "", ""),
    Opt::with("port", 'p', "", ""),
    Opt::flag("quit", 'q', ""),
    Opt::maybe("simtime", '\0'),
    Opt::maybe("simulation-time", '\0').same_as("simtime"),
    Opt::with("threads", 'j', "", ""),
    Opt::maybe("cpu", '\0').same_as("affinity").negatable(),
    Opt::maybe("affinity", 'a').negatable(),
    Opt::flag("time", 't', ""),
    Opt::with("unix-socket", 'u', "", ""),
    Opt::flag("version", 'v', ""),
    Opt::flag("warnings", '\0', "").negatable(),
    Opt::with("exit-handler", 'x', "", ""),
    Opt::with("cores", '\0', "", ""),
    Opt::flag(NO_WARNINGS, 'w', ""),
];

/// The option `-w`, which has no long name.
const NO_WARNINGS: &str = "";

/// The seconds at which simulated time begins unless told otherwise.
const SIMULATION_BEGINS: f64 = 1e9;

/// Parses the arguments after the program's name.
pub fn parse(program: &str, args: &[String]) -> Parsed {
    let mut options = Options { warnings: true, n_threads: 1, n_cores: 1, ..Options::default() };
    match read(&mut options, args) {
        Ok(()) => Parsed::Run(Box::new(options)),
        Err(Stop::Help) => Parsed::Print(help(program)),
        Err(Stop::Version) => Parsed::Print(version()),
        Err(Stop::Bad(message)) => Parsed::Refuse(format!(
            "{message}\nUsage: {program} [OPTION]... [ROUTERFILE]\nTry '{program} --help' for more information.\n"
        )),
        Err(Stop::BadOption(message)) => Parsed::Refuse(format!(
            "{}Usage: {program} [OPTION]... [ROUTERFILE]\nTry '{program} --help' for more information.\n",
            clp::refusal(program, &message)
        )),
    }
}

enum Stop {
    Help,
    Version,
    Bad(String),
    BadOption(String),
}

fn read(options: &mut Options, args: &[String]) -> Result<(), Stop> {
    for item in Line::new(OPTIONS, args) {
        match item.map_err(Stop::BadOption)? {
            Item::Word(text) => word(options, &text)?,
            Item::Option { name, told, value, negated } => apply(options, (name, &told), value, negated)?,
        }
    }
    Ok(())
}

/// Applies an option: its name, and what it is called where its value is wrong.
fn apply(
    options: &mut Options,
    (name, told): (&str, &str),
    value: Option<String>,
    negated: bool,
) -> Result<(), Stop> {
    let text = value.clone().unwrap_or_default();
    match name {
        "help" => return Err(Stop::Help),
        "version" => return Err(Stop::Version),
        "file" => origin(options, Origin::named(&text))?,
        "expression" => origin(options, Origin::Expression(text))?,
        "handler" => options.handlers.push(text),
        "exit-handler" if options.exit_handler.is_some() => {
            return Err(Stop::Bad("--exit-handler specified twice".to_string()))
        }
        "exit-handler" => options.exit_handler = value.filter(|name| !name.is_empty()),
        "output" if options.output.is_some() => {
            return Err(Stop::Bad("output file specified twice".to_string()))
        }
        "output" => options.output = value,
        "port" => options.ports.push(port(told, &text)?),
        "unix-socket" => options.unix_sockets.push(text),
        "socket" => {
            number(told, &text)?;
            options.descriptors.push(text);
        }
        "quit" => options.quit = true,
        "time" => options.time = true,
        "warnings" => options.warnings = !negated,
        NO_WARNINGS => options.warnings = false,
        "allow-reconfigure" => options.allow_reconfigure = !negated,
        "clickpath" => options.clickpath = value,
        "threads" => options.n_threads = number(told, &text)?.clamp(1, crate::cores::MAX.into()) as usize,
        "cores" => options.n_cores = n_cores(told, &text)?,
        "cpu" | "affinity" => {
            let first = value.map_or(Ok(0), |text| number(told, &text))?;
            options.affinity = usize::try_from(first).ok().filter(|_| !negated);
            options.no_affinity = options.affinity.is_none();
        }
        _ => {
            let begin_s = value.map_or(Ok(SIMULATION_BEGINS), |text| real_number(told, &text))?;
            options.simulated_from_ns = Some((begin_s * 1e9) as i64);
        }
    }
    Ok(())
}

fn n_cores(told: &str, text: &str) -> Result<usize, Stop> {
    let most = crate::cores::MAX;
    let is_possible = |n: &i64| (1..=i64::from(most)).contains(n);
    let n = number(told, text).ok().filter(is_possible);
    let wrong = || Stop::BadOption(format!("‘{told}’ expects a number from 1 to {most}, not ‘{text}’"));
    n.map(|n| n as usize).ok_or_else(wrong)
}

fn real_number(told: &str, text: &str) -> Result<f64, Stop> {
    args::double(text).map_err(|_| Stop::BadOption(format!("‘{told}’ expects a real number, not ‘{text}’")))
}

fn number(told: &str, text: &str) -> Result<i64, Stop> {
    let number = args::integer::<i32>(text);
    let number = number.map_err(|_| Stop::BadOption(format!("‘{told}’ expects an integer, not ‘{text}’")))?;
    Ok(i64::from(number))
}

/// A TCP port as a control socket is given it: the number of a port or service, or a number and a plus sign.
fn port(told: &str, text: &str) -> Result<String, Stop> {
    const TCP: u8 = 6;
    let names = Names::new(Box::new(ThisHost::default()));
    if let Ok(port) = args::port(text, &args::Scope::new(&names, ""), TCP) {
        return Ok(port.to_string());
    }
    let first = text.strip_suffix('+').and_then(|number| args::integer::<u16>(number).ok());
    match first.filter(|port| *port > 0) {
        Some(port) => Ok(format!("{port}+")),
        None => Err(Stop::BadOption(format!("‘{told}’ expects a TCP port number, not ‘{text}’"))),
    }
}

fn origin(options: &mut Options, origin: Origin) -> Result<(), Stop> {
    if options.origin.is_some() {
        return Err(Stop::Bad("router configuration specified twice".to_string()));
    }
    options.origin = Some(origin);
    Ok(())
}

/// An argument that is no option: `VAR=value`, or the router file.
fn word(options: &mut Options, word: &str) -> Result<(), Stop> {
    if let Some((name, value)) = clp::definition(word) {
        match options.variables.iter().any(|(known, _)| *known == name) {
            // The first value stays.
            true => eprintln!("parameter '{name}' multiply defined"),
            false => options.variables.push((name, value)),
        }
        return Ok(());
    }
    origin(options, Origin::named(word))
}

/// Name of the first control socket of the command line; the others' have a number behind it.
const FIRST_SOCKET: &str = "click_driver@@ControlSocket";

/// Adds the control sockets that `-p` and `-u` ask for to a graph.
pub fn with_control_sockets(mut graph: Graph, options: &Options) -> Graph {
    let tcp = options.ports.iter().map(|port| format!("TCP, {port}"));
    let unix = options.unix_sockets.iter().map(|path| format!("UNIX, {path}"));
    let given = options.descriptors.iter().map(|fd| format!("SOCKET, {fd}"));
    for (i, config) in tcp.chain(unix).chain(given).enumerate() {
        graph.elements.push(Element {
            name: if i == 0 { FIRST_SOCKET.to_string() } else { format!("{FIRST_SOCKET}@{i}") },
            class: "ControlSocket".to_string(),
            config,
            place: Place { file: Some("click".into()), line: 0, column: 0 },
        });
    }
    graph
}

fn version() -> String {
    let version = env!("CARGO_PKG_VERSION");
    format!("click (Click) 2.1\nweir {version}, which runs Click configurations\n")
}

fn help(program: &str) -> String {
    format!(
        "'Click' runs a Click router configuration at user level. It installs the
configuration, reporting any errors to standard error, and then generally runs
until interrupted.

Usage: {program} [OPTION]... [ROUTERFILE]

Options:
  -f, --file FILE               Read router configuration from FILE.
  -e, --expression EXPR         Use EXPR as router configuration.
  -j, --threads N               Start N threads (default 1).
      --cores N                 Run a replica of the router on each of N cores.
  -a, --affinity[=N]            Pin threads to CPUs starting at #N (default 0).
  -p, --port PORT               Listen for control connections on TCP port.
  -u, --unix-socket FILE        Listen for control connections on Unix socket.
      --socket FD               Add a file descriptor control connection.
  -R, --allow-reconfigure       Provide a writable 'hotconfig' handler.
  -h, --handler ELEMENT.H       Call ELEMENT's read handler H after running
                                driver and print result to standard output.
  -x, --exit-handler ELEMENT.H  Use handler ELEMENT.H value for exit status.
  -o, --output FILE             Write flat configuration to FILE.
  -q, --quit                    Do not run driver.
  -t, --time                    Print information on how long driver took.
  -w, --no-warnings             Do not print warnings.
      --simtime                 Run in simulation time.
  -C, --clickpath PATH          Use PATH for CLICKPATH.
      --help                    Print this message and exit.
  -v, --version                 Print version number and exit.
"
    )
}
