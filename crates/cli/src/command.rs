//! The command line of `weir`: help, completions and man pages come from here.

mod deferred;
pub mod examples;
mod options;

use std::io::Write;
use std::process::ExitCode;

use clap::error::{ContextKind, ContextValue, ErrorKind};
use clap::{CommandFactory, Parser, Subcommand};
use clap_complete::ArgValueCompleter;

use crate::chain::ChainOptions;
use crate::live::LiveOptions;
use crate::stage::{change, linux, simple, status};

pub use deferred::Deferred;
pub use options::{
    BenchOptions, CheckOptions, ElementsOptions, FmtOptions, GraphName, GraphOptions, HandlerAction,
    HandlerOptions, RunOptions, SourceOptions, TapOptions, TraceOptions,
};

/// Runs network functions: packets in, decisions, packets out.
#[derive(Parser)]
#[command(name = "weir", version, disable_help_subcommand = true, arg_required_else_help = true)]
pub struct Cli {
    /// What to do.
    #[command(subcommand)]
    pub command: Command,
}

/// What to do.
#[derive(Subcommand)]
pub enum Command {
    #[command(flatten)]
    Packets(PacketCommand),
    /// Show the running stages of this user.
    Status(Deferred<status::command::StatusOptions>),
    /// Put a stage into a running chain.
    Insert(Deferred<change::InsertOptions>),
    /// Take a stage out of a running chain.
    Remove(Deferred<change::RemoveOptions>),
    /// Put a stage into the place of another one in a running chain.
    Replace(Deferred<change::ReplaceOptions>),
    /// Run the daemon in which functions live.
    Serve(crate::serve::ServeOptions),
    #[command(flatten)]
    Remote(crate::remote::RemoteCommand),
    /// Tell all errors of a graph without running it.
    Check(CheckOptions),
    /// Print a graph with its compound elements expanded.
    Flatten(SourceOptions),
    /// Print a configuration in the standard layout.
    Fmt(FmtOptions),
    /// Draw a graph.
    Graph(GraphOptions),
    /// List the element classes.
    Elements(ElementsOptions),
    /// Show the page of an element class or of a function, or the help of a command.
    Help {
        /// Class name, such as `DecIPTTL`, a function's command, such as `nat`, or another command, such as `linux`. Without it,
        /// the commands are listed.
        #[arg(add = ArgValueCompleter::new(crate::complete::topics))]
        element: Option<String>,
        /// A command of that command, as in `weir help live add`.
        command: Option<String>,
    },
    /// Read or write a handler of a running graph.
    Handler(HandlerOptions),
    /// Change a running graph: nothing that stays loses packets or state.
    Live(LiveOptions),
    /// Show what each element did with packets of a running graph.
    Trace(TraceOptions),
    /// Copy the packets on an edge of a running graph to a capture stream.
    ///
    /// The graph does not wait for who reads: packets that are not read in time are left out, and their number is told at the end.
    Tap(TapOptions),
    /// Measure graphs.
    Bench(BenchOptions),
    /// Print a completion script for a shell.
    Completions {
        /// The shell.
        shell: clap_complete::Shell,
        /// A script that has all in it: it does not run weir, and knows no names of instances or elements.
        #[arg(long = "static")]
        fixed: bool,
    },
    /// Print the manual page or that of a command, or write all pages into a folder.
    Man {
        /// Folder to write `weir.1`, `weir-run.1`, ... into: one that is there, or a path with a `/`, such as `man/`; or a command,
        /// such as `nat`, whose page to print. What is both is the command.
        #[arg(value_name = "FOLDER|COMMAND")]
        what: Option<String>,
    },
    /// Print the element reference (Markdown).
    #[command(hide = true)]
    Reference,
}

/// Commands that packets pass through. They are started by the hundred, and made without the others.
#[derive(Subcommand)]
pub enum PacketCommand {
    /// Run a graph until it ends or Ctrl-C, then print a summary.
    Run(Deferred<RunOptions>),
    /// Run with Click's own command line, defaults and output (`weir click --help`).
    #[command(disable_help_flag = true)]
    Click {
        /// Click's arguments.
        #[arg(trailing_var_arg = true, allow_hyphen_values = true)]
        args: Vec<String>,
    },
    /// Run a graph as a stage of a shell pipeline.
    Stage(Deferred<simple::GraphOptions>),
    /// Stage: packets of a capture file.
    Read(Deferred<simple::ReadOptions>),
    /// Stage: packets into a capture file.
    Write(Deferred<simple::WriteOptions>),
    /// Stage: a network device, or a tap, at one end of a pipeline.
    Port(Deferred<simple::PortOptions>),
    /// Stage: a whole Linux network stack, in which a command or a shell runs.
    Linux(Deferred<linux::LinuxOptions>),
    /// Run the text of a shell pipeline of stages, in as few processes as possible.
    Chain(Deferred<ChainOptions>),
}

/// The whole command line, the configuration tools included.
pub fn full() -> clap::Command {
    Cli::command().subcommands(crate::functions::commands()).subcommands(crate::tools::commands())
}

/// What of the command line `args` can need: to make all of it takes a while, and schemas of functions are compiled for it.
pub fn of(args: &[String]) -> clap::Command {
    let named = |word: &String| match word.as_str() {
        "-V" | "--version" => Some(Cli::command()),
        word if PacketCommand::has_subcommand(word) => Some(PacketCommand::augment_subcommands(base())),
        word if Command::has_subcommand(word) => Some(Cli::command()),
        word => Some(base().subcommand(crate::functions::command(word)?)),
    };
    args.get(1).and_then(named).unwrap_or_else(full)
}

/// A command line without commands.
fn base() -> clap::Command {
    clap::Command::new("weir").disable_help_subcommand(true)
}

/// An error with the tip that belongs to it.
pub fn with_tip(mut told: clap::Error, args: &[String]) -> clap::Error {
    let kind = match told.kind() {
        ErrorKind::UnknownArgument => ContextKind::InvalidArg,
        ErrorKind::InvalidSubcommand => ContextKind::InvalidSubcommand,
        ErrorKind::ValueValidation => ContextKind::InvalidValue,
        _ => return told,
    };
    let Some(ContextValue::String(word)) = told.get(kind).cloned() else { return told };
    if let Some(tip) = tip(&word, args) {
        told.insert(ContextKind::Suggested, ContextValue::StyledStrs(vec![tip.into()]));
    }
    told
}

/// What is told of a word that stands behind a flag whose value must stand behind `=`.
pub fn tip(word: &str, args: &[String]) -> Option<String> {
    let at = args.iter().position(|arg| arg == word)?;
    let flag = args.get(at.checked_sub(1)?)?.strip_prefix("--")?;
    let mut command = of(args);
    command.build();
    let own = command.find_subcommand(args.get(1)?)?;
    let has = |arg: &clap::Arg| arg.get_long() == Some(flag) && arg.is_require_equals_set();
    let must_have_equals = own.get_arguments().any(has);
    must_have_equals.then(|| format!("a value of --{flag} stands behind `=`: --{flag}={word}"))
}

/// Prints help, the version, or what is wrong with a command line; the program's exit code.
pub fn tell(told: &clap::Error) -> ExitCode {
    let is_open = if told.use_stderr() { Ok(()) } else { crate::print::output().map(drop) };
    let printed = is_open.and_then(|()| told.print()).and_then(|()| std::io::stdout().flush());
    match printed {
        Err(error) if !told.use_stderr() => {
            eprintln!("weir: standard output: {}", element::output::reason(&error));
            ExitCode::FAILURE
        }
        _ => ExitCode::from(told.exit_code() as u8),
    }
}

/// Whether a command runs graphs, which go on when the reader of one of their outputs goes away.
pub fn runs_graphs(command: &Command) -> bool {
    matches!(command, Command::Packets(_) | Command::Serve(_) | Command::Bench(_))
}
