//! Click's configuration tools, under Click's names and with Click's options.

use std::io::Write;
use std::process::ExitCode;

use graph::ClassFacts;

mod elementmap;
mod graphs;
mod input;
mod parts;
mod run;
mod table;

use crate::clp::{self, Item, Line, Opt, Value};
use table::TOOLS;

/// A tool: what it is called, what it takes and what it does.
#[derive(Clone, Copy)]
pub struct Tool {
    /// Its name without `click-`.
    name: &'static str,
    /// What it does.
    about: &'static str,
    /// What it takes besides options.
    words: &'static str,
    /// Its options, besides `--help` and `--version`.
    options: &'static [Opt],
    /// Whether its name stands before its messages about the command line.
    is_named: bool,
    /// Runs it.
    run: fn(&mut Given) -> Result<ExitCode, Failure>,
}

/// What stands on a tool's command line, in order.
pub struct Given {
    tool: Tool,
    items: Vec<Item>,
}

/// Why a tool ends.
pub enum Failure {
    /// The command line is wrong: the usage is shown.
    Usage(String),
    /// Something else is wrong.
    Error(String),
    /// All is told.
    Told,
}

/// The options that all tools have.
const COMMON: &[Opt] = &[
    Opt::flag("help", '\0', "Print this message and exit."),
    Opt::flag("version", 'v', "Print version number and exit."),
];

/// The tool of this program's name, such as `click-flatten`.
pub fn find(program: &str) -> Option<Tool> {
    let name = program.strip_prefix("click-")?;
    TOOLS.iter().find(|tool| tool.name == name).copied()
}

/// The tool of this subcommand of weir: `flatten` and `check` are weir's own.
pub fn subcommand(name: &str) -> Option<Tool> {
    let named = TOOLS.iter().find(|tool| tool.name == name && !is_weirs(tool)).copied();
    named.or_else(|| find(name))
}

fn is_weirs(tool: &Tool) -> bool {
    matches!(tool.name, "flatten" | "check")
}

/// The tools as subcommands, for help, completions and manual pages.
pub fn commands() -> impl Iterator<Item = clap::Command> {
    TOOLS.iter().map(|tool| {
        let name = match tool.name {
            "flatten" => "click-flatten",
            "check" => "click-check",
            name => name,
        };
        let command =
            clap::Command::new(name).about(tool.about).disable_version_flag(true).disable_help_flag(true);
        let mut letters = Vec::new();
        let mut options = tool.all_options();
        options.retain(|option| !option.long.is_empty());
        for option in &mut options {
            // A second name of an option has the letter of the first.
            if letters.contains(&option.short) {
                option.short = '\0';
            }
            letters.push(option.short);
        }
        let options = options.into_iter().map(argument);
        let words = clap::Arg::new("words").value_name(tool.words).num_args(0..);
        command.args(options).arg(words)
    })
}

fn argument(option: Opt) -> clap::Arg {
    let arg = clap::Arg::new(option.long).long(option.long).help(option.help.1);
    let arg = if option.short == '\0' { arg } else { arg.short(option.short) };
    match option.value {
        Value::None => arg.action(clap::ArgAction::SetTrue),
        _ => arg.value_name(option.help.0),
    }
}

/// Runs a tool as `program`.
pub fn main(tool: Tool, program: &str, args: &[String]) -> ExitCode {
    let options = tool.all_options();
    let mut items = Vec::new();
    for item in Line::new(&options, args).plus_negates() {
        match item {
            Ok(Item::Option { name: "help", .. }) => {
                print!("{}", tool.help(program));
                return ExitCode::SUCCESS;
            }
            Ok(Item::Option { name: "version", .. }) => {
                let (name, version) = (tool.name, env!("CARGO_PKG_VERSION"));
                print!("click-{name} (Click) 2.1\nweir {version}, which runs Click configurations\n");
                return ExitCode::SUCCESS;
            }
            Ok(item) => items.push(item),
            Err(message) => {
                eprint!("{}", clp::refusal(program, &message));
                eprint!("{}", tool.usage(program));
                return ExitCode::FAILURE;
            }
        }
    }
    match (tool.run)(&mut Given { tool, items }) {
        Ok(code) => return code,
        Err(Failure::Usage(message)) => {
            eprint!("{}", tool.prefixed(&format!("{message}\n")));
            eprint!("{}", tool.usage(program));
        }
        Err(Failure::Error(message)) => eprintln!("{message}"),
        Err(Failure::Told) => {}
    }
    ExitCode::FAILURE
}

impl Tool {
    fn all_options(&self) -> Vec<Opt> {
        [self.options, COMMON].concat()
    }

    fn usage(&self, program: &str) -> String {
        // Here Click is brief.
        let words = if matches!(self.name, "combine" | "uncombine") { "[ROUTERFILE]" } else { self.words };
        format!("Usage: {program} [OPTION]... {words}\nTry '{program} --help' for more information.\n")
    }

    fn help(&self, program: &str) -> String {
        let (about, words) = (self.about, self.words);
        let mut text = format!("{about}\n\nUsage: {program} [OPTION]... {words}\n\nOptions:\n");
        let row = |option: &Opt| {
            let short = if option.short == '\0' { "   ".to_string() } else { format!("-{},", option.short) };
            let name = [option.long, option.help.0].join(" ");
            format!("  {short} --{:<24} {}\n", name.trim_end(), option.help.1)
        };
        text.extend(self.all_options().iter().filter(|option| !option.long.is_empty()).map(row));
        text
    }

    /// Messages with the tool's name before each line, where Click puts it.
    fn prefixed(&self, text: &str) -> String {
        match self.is_named {
            true => text.lines().map(|line| format!("click-{}: {line}\n", self.name)).collect(),
            false => text.to_string(),
        }
    }
}

/// Writes a tool's output into a file, or to the standard output if there is none or it is `-`.
fn write(file: Option<&str>, bytes: &[u8]) -> Result<(), Failure> {
    let result = match file {
        None | Some("-") => crate::print::output().and_then(|mut out| {
            out.write_all(bytes)?;
            out.flush()
        }),
        Some(file) => std::fs::write(file, bytes),
    };
    let name = file.filter(|file| *file != "-").unwrap_or("<stdout>");
    result.map_err(|error| Failure::Error(format!("{name}: {}", element::output::reason(&error))))
}

/// The facts about classes of the catalogue.
fn facts(class: &str) -> Option<&'static ClassFacts> {
    catalog::stock().get(class).map(|class| &class.facts)
}
