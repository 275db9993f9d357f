//! Click's command line.

use graph::{Element, Graph, Place};

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
#[derive(Default)]
pub struct Options {
    pub origin: Option<Origin>,
    pub variables: Vec<(String, String)>,
    pub output: Option<String>,
    pub handlers: Vec<String>,
    pub exit_handler: Option<String>,
    pub ports: Vec<String>,
    pub unix_sockets: Vec<String>,
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

/// Whether an option takes a value.
#[derive(Clone, Copy, PartialEq)]
enum Value {
    None,
    Required,
    Optional,
}

/// Long name, short name, value, whether `--no-` may precede it.
const OPTIONS: &[(&str, char, Value, bool)] = &[
    ("allow-reconfigure", 'R', Value::None, true),
    ("clickpath", 'C', Value::Required, false),
    ("expression", 'e', Value::Required, false),
    ("file", 'f', Value::Required, false),
    ("handler", 'h', Value::Required, false),
    ("help", '\0', Value::None, false),
    ("output", 'o', Value::Required, false),
    ("port", 'p', Value::Required, false),
    ("quit", 'q', Value::None, false),
    ("simtime", '\0', Value::Optional, false),
    ("simulation-time", '\0', Value::Optional, false),
    ("threads", 'j', Value::Required, false),
    ("cores", '\0', Value::Required, false),
    ("cpu", '\0', Value::Optional, true),
    ("affinity", 'a', Value::Optional, true),
    ("time", 't', Value::None, false),
    ("unix-socket", 'u', Value::Required, false),
    ("version", 'v', Value::None, false),
    ("warnings", '\0', Value::None, true),
    ("exit-handler", 'x', Value::Required, false),
    ("no-warnings", 'w', Value::None, false),
];

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
            "{program}: {message}\nUsage: {program} [OPTION]... [ROUTERFILE]\nTry '{program} --help' for more information.\n"
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
    let mut args = args.iter();
    let mut only_words = false;
    while let Some(arg) = args.next() {
        if only_words || arg == "-" || !arg.starts_with('-') {
            word(options, arg)?;
        } else if arg == "--" {
            only_words = true;
        } else if let Some(long) = arg.strip_prefix("--") {
            let (name, value) = match long.split_once('=') {
                Some((name, value)) => (name, Some(value.to_string())),
                None => (long, None),
            };
            let (option, negated) = find(name)?;
            let value = match option.2 {
                Value::Required if value.is_none() && !negated => {
                    Some(args.next().cloned().ok_or_else(|| lacks_value(arg))?)
                }
                Value::None if value.is_some() => {
                    return Err(Stop::BadOption(format!("‘--{name}’ can’t take an argument")))
                }
                _ => value,
            };
            apply(options, option.0, value, negated)?;
        } else {
            short(options, arg, &mut args)?;
        }
    }
    Ok(())
}

fn short(options: &mut Options, arg: &str, args: &mut std::slice::Iter<'_, String>) -> Result<(), Stop> {
    let mut letters = arg.chars().skip(1);
    while let Some(letter) = letters.next() {
        let option = OPTIONS.iter().find(|option| option.1 == letter && letter != '\0');
        let option = option.ok_or_else(|| Stop::BadOption(format!("unrecognized option ‘-{letter}’")))?;
        let rest: String = letters.clone().collect();
        let value = match option.2 {
            Value::None => None,
            Value::Optional => Some(rest).filter(|rest| !rest.is_empty()),
            Value::Required if rest.is_empty() => {
                Some(args.next().cloned().ok_or_else(|| lacks_value(&format!("-{letter}")))?)
            }
            Value::Required => Some(rest),
        };
        let ends = option.2 != Value::None;
        apply(options, option.0, value, false)?;
        if ends {
            break;
        }
    }
    Ok(())
}

fn lacks_value(option: &str) -> Stop {
    Stop::BadOption(format!("‘{option}’ requires an argument"))
}

type Entry = (&'static str, char, Value, bool);

/// The option with this name or unambiguous beginning of a name, and whether it is negated.
fn find(name: &str) -> Result<(Entry, bool), Stop> {
    let candidates = |name: &str| -> Vec<Entry> {
        if let Some(exact) = OPTIONS.iter().find(|option| option.0 == name) {
            return vec![*exact];
        }
        OPTIONS.iter().filter(|option| option.0.starts_with(name)).copied().collect()
    };
    if let [option] = candidates(name).as_slice() {
        return Ok((*option, false));
    }
    if let Some(positive) = name.strip_prefix("no-") {
        let negatable: Vec<Entry> = candidates(positive).into_iter().filter(|option| option.3).collect();
        if let [option] = negatable.as_slice() {
            return Ok((*option, true));
        }
    }
    let many = candidates(name);
    if many.len() > 1 {
        let names: Vec<String> = many.iter().map(|option| format!("‘--{}’", option.0)).collect();
        return Err(Stop::BadOption(format!(
            "option ‘--{name}’ is ambiguous\n(Possibilities are {}.)",
            names.join(" and ")
        )));
    }
    Err(Stop::BadOption(format!("unrecognized option ‘--{name}’")))
}

fn apply(options: &mut Options, name: &str, value: Option<String>, negated: bool) -> Result<(), Stop> {
    let text = value.clone().unwrap_or_default();
    match name {
        "help" => return Err(Stop::Help),
        "version" => return Err(Stop::Version),
        "file" => origin(options, file(&text))?,
        "expression" => origin(options, Origin::Expression(text))?,
        "handler" => options.handlers.push(text),
        "exit-handler" if options.exit_handler.is_some() => {
            return Err(Stop::Bad("--exit-handler specified twice".to_string()))
        }
        "exit-handler" => options.exit_handler = value,
        "output" if options.output.is_some() => {
            return Err(Stop::Bad("output file specified twice".to_string()))
        }
        "output" => options.output = value,
        "port" => options.ports.push(port(&text)?),
        "unix-socket" => options.unix_sockets.push(text),
        "quit" => options.quit = true,
        "time" => options.time = true,
        "warnings" => options.warnings = !negated,
        "no-warnings" => options.warnings = false,
        "allow-reconfigure" => options.allow_reconfigure = !negated,
        "clickpath" => options.clickpath = value,
        "threads" => options.n_threads = number(name, &text)?.clamp(1, crate::cores::MAX.into()) as usize,
        "cores" => {
            let is_possible = |n: &i64| (1..=i64::from(crate::cores::MAX)).contains(n);
            let n = number(name, &text).ok().filter(is_possible).ok_or_else(|| {
                Stop::BadOption(format!(
                    "‘--{name}’ expects a number from 1 to {}, not ‘{text}’",
                    crate::cores::MAX
                ))
            })?;
            options.n_cores = n as usize;
        }
        "cpu" | "affinity" => {
            let first = value.map_or(Ok(0), |text| number(name, &text))?;
            options.affinity = usize::try_from(first).ok().filter(|_| !negated);
            options.no_affinity = options.affinity.is_none();
        }
        _ => {
            let begin = match value {
                None => SIMULATION_BEGINS,
                Some(text) => args::double(&text).map_err(|_| {
                    Stop::BadOption(format!("‘--{name}’ expects a real number, not ‘{text}’"))
                })?,
            };
            options.simulated_from_ns = Some((begin * 1e9) as i64);
        }
    }
    Ok(())
}

fn number(name: &str, text: &str) -> Result<i64, Stop> {
    let number = args::integer::<i32>(text);
    let number =
        number.map_err(|_| Stop::BadOption(format!("‘--{name}’ expects an integer, not ‘{text}’")))?;
    Ok(i64::from(number))
}

fn port(text: &str) -> Result<String, Stop> {
    let digits = text.strip_suffix('+').unwrap_or(text);
    match args::integer::<u16>(digits) {
        Ok(port) if port > 0 => Ok(text.to_string()),
        _ => Err(Stop::BadOption(format!("‘--port’ expects a TCP port number, not ‘{text}’"))),
    }
}

fn file(name: &str) -> Origin {
    match name {
        "-" => Origin::Stdin,
        name => Origin::File(name.to_string()),
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
    if let Some((name, value)) = word.split_once('=') {
        let is_name = name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_');
        if is_name && !name.is_empty() {
            options.variables.push((name.to_string(), value.to_string()));
            return Ok(());
        }
    }
    origin(options, file(word))
}

/// Adds the control sockets that `-p` and `-u` ask for to a graph.
pub fn with_control_sockets(mut graph: Graph, options: &Options) -> Graph {
    let tcp = options.ports.iter().map(|port| format!("TCP, {port}"));
    let unix = options.unix_sockets.iter().map(|path| format!("unix, {}", args::quote(path)));
    let unix_retry: Vec<String> = tcp.chain(unix).collect();
    for (i, config) in unix_retry.into_iter().enumerate() {
        graph.elements.push(Element {
            name: format!("click_driver@@ControlSocket@{i}"),
            class: "ControlSocket".to_string(),
            config,
            place: Place::default(),
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
