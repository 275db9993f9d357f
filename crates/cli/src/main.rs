//! The `weir` command.
#![forbid(unsafe_code)]

#[macro_use]
mod print;

mod bench;
mod chain;
mod check;
mod click;
mod clp;
mod command;
mod complete;
mod control;
mod cores;
mod drops;
mod elements;
mod failure;
mod functions;
mod host;
mod libraries;
mod live;
mod load;
mod numbers;
mod pages;
mod patience;
mod remote;
mod run;
mod serve;
mod stage;
mod stop;
mod texts;
mod tools;
mod watch;

use std::process::ExitCode;

use clap::error::ErrorKind;
use clap::FromArgMatches;
use command::{Cli, Command, Deferred, PacketCommand};
use failure::{Exit, Failure};

fn main() -> ExitCode {
    sys::signals::end_on_broken_pipe();
    if complete::answer() {
        return ExitCode::SUCCESS;
    }
    // Where the kernel cannot, the process seems larger than it is, and runs as well.
    let _ = sys::image::map_page_by_page();
    let mut args: Vec<String> = std::env::args_os().map(|arg| arg.to_string_lossy().into_owned()).collect();
    let program = args.first().and_then(|program| program.rsplit('/').next()).unwrap_or("weir");
    if program == "click" {
        return click::main(args);
    }
    if let Some(tool) = tools::find(program) {
        let program = program.to_string();
        return tools::main(tool, &program, &args[1..]);
    }
    if let Some(tool) = args.get(1).and_then(|name| tools::subcommand(name)) {
        let program = format!("weir {}", args[1]);
        return tools::main(tool, &program, &args[2..]);
    }
    if args.get(1).is_some_and(|arg| arg == "click") {
        args.remove(0);
        return click::main(args);
    }
    sys::signals::fail_on_large_files();
    let matches = match command::of(&args).try_get_matches_from(std::env::args_os()) {
        Ok(matches) => matches,
        Err(told) if told.kind() == ErrorKind::InvalidUtf8 => return report(Err(Failure::Usage(no_text()))),
        Err(told) => return command::tell(&command::with_tip(told, &args)),
    };
    if let Some((function, matches)) = functions::chosen(&matches) {
        sys::signals::ignore_broken_pipe();
        return report(functions::run(function, matches, args.get(2..).unwrap_or_default()));
    }
    let cli = match Cli::from_arg_matches(&matches) {
        Ok(cli) => cli,
        Err(told) => return command::tell(&told),
    };
    if command::runs_graphs(&cli.command) {
        // The other outputs of a graph are to be complete even if the reader of one goes away.
        sys::signals::ignore_broken_pipe();
    }
    report(dispatch(cli.command, args))
}

/// Runs a command; `args` are the words of the command line.
fn dispatch(command: Command, args: Vec<String>) -> Exit {
    match command {
        Command::Packets(command) => match command {
            PacketCommand::Run(Deferred(options)) => run::run(options),
            PacketCommand::Click { .. } => Ok(click::main(args)),
            PacketCommand::Stage(Deferred(options)) => stage::simple::graph(options),
            PacketCommand::Read(Deferred(options)) => stage::simple::read(options),
            PacketCommand::Write(Deferred(options)) => stage::simple::write(options),
            PacketCommand::Port(Deferred(options)) => stage::simple::port(options),
            PacketCommand::Linux(Deferred(options)) => stage::linux::linux(options),
            PacketCommand::Chain(Deferred(options)) => chain::run(options),
        },
        Command::Status(Deferred(options)) => stage::status::command::status(&options),
        Command::Insert(Deferred(options)) => stage::change::insert(&options),
        Command::Remove(Deferred(options)) => stage::change::remove(&options),
        Command::Replace(Deferred(options)) => stage::change::replace(&options),
        Command::Serve(options) => serve::run(options),
        Command::Remote(command) => remote::run(command),
        Command::Check(options) => check::run(options),
        Command::Flatten(options) => texts::flatten(options),
        Command::Fmt(options) => texts::format(options),
        Command::Graph(options) => texts::graph(options),
        Command::Elements(options) => elements::list(options),
        Command::Help { element: Some(element), command: Some(command) } => {
            elements::help_of_part(&element, &command)
        }
        Command::Help { element, .. } => elements::help(element.as_deref()),
        Command::Handler(options) => control::client::handler(options),
        Command::Live(options) => live::run(options),
        Command::Trace(options) => control::client::trace(options),
        Command::Tap(options) => control::client::tap(options),
        Command::Bench(options) => bench::run(options),
        Command::Completions { shell, fixed } => pages::completions(shell, fixed),
        Command::Man { what } => pages::man(what.as_deref()),
        Command::Reference => elements::reference(),
    }
}

/// What is told of a word of the command line that is no text, where one is needed.
fn no_text() -> String {
    let word = std::env::args_os().find(|word| word.to_str().is_none()).unwrap_or_default();
    format!("{word:?} is no text in UTF-8; if it is the name of a file, give the file another name, or a link with one")
}

/// The exit status of a command; what went wrong is told.
fn report(exit: Exit) -> ExitCode {
    exit.unwrap_or_else(Failure::tell)
}
