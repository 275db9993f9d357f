//! `weir create`: an instance from a function's own flags.

use std::process::ExitCode;

use clap::{Args, Command, FromArgMatches};
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use serde_json::{json, Value};

use super::target::{self, edit};
use super::Daemon;
use crate::complete::instances as complete;
use crate::failure::{Exit, Failure};

/// Options of `weir create`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct CreateOptions {
    /// The function; `weir function list` lists them.
    #[arg(add = ArgValueCompleter::new(complete::functions), allow_hyphen_values = true)]
    pub function: Option<String>,
    /// The instance's name, and the function's own flags: `weir create FUNCTION --help` lists them.
    #[arg(add = ArgValueCompleter::new(complete::flags), value_name = "NAME|FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// The command with which an instance of a function is made.
pub fn create_command(function: &functions::Function<'_>) -> Command {
    let name = clap::Arg::new("name").required(true).value_name("NAME").help("The instance's name.");
    let mut next = 1;
    let command = crate::functions::instance_command(function).mut_args(|arg| {
        if !arg.is_positional() {
            return arg;
        }
        next += 1;
        arg.required(false).index(next)
    });
    let command = command.about(format!("Make a {}: {}", function.name(), function.about()));
    let command = command.bin_name(format!("weir create {}", function.name()));
    command.arg(name.index(1)).after_help(
        "Change it later with `weir set NAME PATH=VALUE`. A file's name without `/` in front is that of a file in this folder. Options of the daemon (--socket, --candidate ...) are those of \
         `weir create --help`.",
    )
}

/// The daemon that a command line means with what stands before a function's flags and among these, and the words that are not the
/// daemon's options; those that `own` has are not, either.
pub fn daemon_of(before: &Daemon, words: &[String], own: Option<&Command>) -> (Daemon, Vec<String>) {
    let all = Daemon::augment_args(Command::new("weir create").no_binary_name(true));
    let all = all.mut_args(|arg| arg.env(None::<&'static str>));
    let (mut for_daemon, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        if word == "--" {
            others.push(word);
            others.extend(words.by_ref());
            break;
        }
        let name = word.strip_prefix("--").map(|flag| flag.split_once('=').map_or(flag, |(name, _)| name));
        let has =
            |command: &Command| command.get_arguments().any(|arg| name.is_some() && arg.get_long() == name);
        let arg = all.get_arguments().find(|arg| name.is_some() && arg.get_long() == name);
        let Some(arg) = arg.filter(|_| !own.is_some_and(has)) else {
            others.push(word);
            continue;
        };
        let takes = arg.get_action().takes_values() && !arg.is_require_equals_set() && !word.contains('=');
        for_daemon.push(word);
        if takes {
            for_daemon.extend(words.next());
        }
    }
    let mut daemon = before.clone();
    let mut matches = all.try_get_matches_from(for_daemon).unwrap_or_else(|error| error.exit());
    if let Err(error) = daemon.update_from_arg_matches_mut(&mut matches) {
        error.exit();
    }
    daemon.candidate |= before.candidate;
    (daemon, others)
}

/// Makes an instance.
pub fn create(options: &CreateOptions) -> Exit {
    let name = match options.function.as_deref() {
        Some("--help" | "-h") => return crate::elements::help(Some("create")),
        Some(name) if !name.starts_with('-') => name,
        _ => {
            return Err(Failure::Usage(
                "say `weir create FUNCTION NAME [FLAGS]`; `weir function list` lists the functions"
                    .to_string(),
            ))
        }
    };
    let (daemon, edit) = creation(name, &options.words, &options.daemon, create_command)?;
    target::patch(&daemon, "/restconf/data", vec![edit])?;
    Ok(ExitCode::SUCCESS)
}

/// The edit that makes an instance of function `name` of words, its name and the function's flags; and the daemon that they and
/// `before` mean. `command` is what they are read as.
pub fn creation(
    name: &str,
    words: &[String],
    before: &Daemon,
    command: fn(&functions::Function<'_>) -> Command,
) -> Result<(Daemon, Value), Failure> {
    let wants_help = words.iter().any(|word| word == "--help" || word == "-h");
    let shipped = functions::Functions::shipped_one(name);
    let own = shipped.as_ref().and_then(|functions| functions.get(name)).map(|function| command(&function));
    let (daemon, _) = daemon_of(before, words, own.as_ref());
    // Help is there without a daemon, too.
    let shipped = shipped.filter(|_| wants_help);
    let functions = shipped.map_or_else(|| target::function(&daemon, name), Ok)?;
    let function = functions.get(name).ok_or_else(|| format!("no function `{name}`"))?;
    let own = command(&function);
    let (daemon, words) = daemon_of(before, words, Some(&own));
    let words = std::iter::once(name.to_string()).chain(words);
    let matches = own.try_get_matches_from(words).unwrap_or_else(|error| error.exit());
    let mut entry = crate::functions::instance(&function, &matches)?;
    let instance = matches.get_one::<String>("name").cloned().unwrap_or_default();
    entry["name"] = instance.as_str().into();
    target::make_absolute(&daemon, function.node, &mut entry).map_err(Failure::Usage)?;
    let path = format!("/{name}:{name}={}", encoded(&instance));
    let edit = edit(1, "create", &path, &format!("{name}:{name}"), Some(json!([entry])));
    Ok((daemon, edit))
}
