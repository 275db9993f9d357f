//! Functions as stages: flags become the data of an instance, and its graph runs between the stage's interfaces.
//!
//! What a function is comes from its folder (`functions/NAME`): the commands, their help and `docs/functions` from the schema, the
//! graph from the template. Nothing here is about a single function.

mod command;
mod flag;
mod instance;
mod page;
#[cfg(test)]
mod testing;
#[cfg(test)]
mod tests;

use std::cell::RefCell;
use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches, Subcommand};
use functions::{Function, Functions, Interfaces, Package, Rate};
use serde_json::{json, Value};

use crate::command::Command;
use crate::failure::{Exit, Failure};
use crate::stage::options::StageOptions;
use crate::stage::status::command_line;
use crate::stage::{self, Plan};

/// The interfaces that every stage has: standard input and standard output.
const STAGE_INTERFACES: [&str; 2] = ["left", "right"];

/// The option `--if NAME=KIND` of all stages, by its name in `StageOptions`.
const INTERFACE_OPTION: &str = "interfaces";

/// Name of the flag that prints the graph instead of running it.
const PRINT_GRAPH: &str = "print-graph";

/// A function with its parameters: a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionGraph {
    /// The graph in the Click language.
    pub text: String,
    /// The interfaces that it is between.
    pub interfaces: Vec<String>,
    /// For how many seconds it holds a packet that nothing keeps it from sending.
    pub holds_s: f64,
}

thread_local! {
    /// The function whose schema was compiled last: it is the one that runs.
    static COMPILED: RefCell<Option<(&'static str, Functions)>> = const { RefCell::new(None) };
}

/// The names of all functions' commands, in the order in which help lists them.
pub fn names() -> impl Iterator<Item = &'static str> {
    Package::shipped_commands().map(|(command, _)| command)
}

/// The commands of all functions.
pub fn commands() -> Vec<clap::Command> {
    let functions = Functions::shipped();
    let command =
        |(command, name): (&'static str, _)| functions.get(name).map(|function| of_stage(command, &function));
    Package::shipped_commands().filter_map(command).collect()
}

/// The command of this name, if it is a function's: no schema but that function's is compiled.
pub fn command(name: &str) -> Option<clap::Command> {
    with(name, of_stage)
}

/// The command whose flags are those of a function.
pub fn instance_command(function: &Function<'_>) -> clap::Command {
    command::command("create", function).mut_arg(PRINT_GRAPH, |arg| arg.hide(true))
}

/// The data of an instance from what a command line says.
pub fn instance(function: &Function<'_>, matches: &ArgMatches) -> Result<Value, Failure> {
    instance::of(function, matches)
}

/// The page of the function whose command has this name.
pub fn page(name: &str) -> Option<String> {
    with(name, page::markdown)
}

/// The function that a command line names, and what it says of it.
pub fn chosen(matches: &ArgMatches) -> Option<(&'static str, &ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    if Command::has_subcommand(name) {
        // Other commands need not know what functions there are.
        return None;
    }
    Some((names().find(|known| *known == name)?, matches))
}

/// The options of a function's stage. What it holds on purpose is not stuck.
pub fn options(matches: &ArgMatches, graph: &FunctionGraph) -> Result<StageOptions, String> {
    let mut options = StageOptions::from_arg_matches(matches).map_err(|error| error.to_string())?;
    options.holds_s = graph.holds_s;
    Ok(options)
}

/// Runs a function as a stage, or prints its graph. `words` are those of the command line behind the function's name.
pub fn run(name: &'static str, matches: &ArgMatches, words: &[String]) -> Exit {
    let graph = graph(name, matches)?;
    if matches.get_flag(PRINT_GRAPH) {
        println!("{}", graph.text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let options = options(matches, &graph)?;
    let function = command_line([name].into_iter().chain(words.iter().map(String::as_str)));
    stage::run(Plan::of_text(function, graph.text), &options)
}

/// The graph of a function for what was given on its command line.
pub fn graph(name: &str, matches: &ArgMatches) -> Result<FunctionGraph, Failure> {
    let graph = with_all(name, |_, functions, function| graph_of(functions, &function, matches));
    let graph = graph.ok_or_else(|| format!("no function `{name}`"))?;
    graph.map_err(|failure| failure.map(|message| format!("{name}: {message}")))
}

fn graph_of(
    functions: &Functions,
    function: &Function<'_>,
    matches: &ArgMatches,
) -> Result<FunctionGraph, Failure> {
    let instance = instance::of(function, matches)?;
    let list = format!("{0}:{0}", function.name());
    let checked = functions.validate(&json!({ list: [instance] }));
    checked.map_err(|problem| Failure::Usage(told(function, &problem)))?;
    let all = all_interfaces(matches).map_err(Failure::Usage)?;
    let interfaces = match function.has_any_port() || function.port_list().is_some() {
        true => all,
        false => {
            let ports: Vec<String> = function.fixed_ports().into_iter().map(str::to_string).collect();
            ports.iter().try_for_each(|port| check_given(port, &all)).map_err(Failure::Usage)?;
            ports
        }
    };
    // Values that do not go together are found here.
    let text = function.render(&instance, &interfaces, Interfaces).map_err(Failure::Usage)?;
    Ok(FunctionGraph { text, interfaces, holds_s: held_s(function, &instance) })
}

/// What is told of data that is wrong: the flag, if it is about one, and the message.
fn told(function: &Function<'_>, problem: &yang::Problem) -> String {
    let path = problem.path.as_deref().unwrap_or_default();
    let name = path.rsplit('/').next().and_then(|last| last.split('[').next()).unwrap_or_default();
    match flag::of(function).iter().find(|flag| flag.id() == name) {
        Some(flag) => format!("{}: {}", flag.called(), problem.message),
        None => problem.message.clone(),
    }
}

/// Checks that the stage has the interface for a port.
fn check_given(port: &String, interfaces: &[String]) -> Result<(), String> {
    if interfaces.contains(port) {
        return Ok(());
    }
    let known = interfaces.join(", ");
    Err(format!("no interface `{port}`; there are {known}; add it with --if {port}=KIND:ARGS"))
}

/// The interfaces of a stage: those of each, and those of its options.
fn all_interfaces(matches: &ArgMatches) -> Result<Vec<String>, String> {
    let more = matches.try_get_many::<String>(INTERFACE_OPTION).ok().flatten().unwrap_or_default();
    let mut interfaces = STAGE_INTERFACES.map(str::to_string).to_vec();
    for text in more {
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
        let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
        if name.is_empty() || !name.chars().all(is_name) {
            let message = "expected a name of letters, digits and `_-.`, as in --if dmz=tap:tap2";
            return Err(instance::wrong("--if", name, message));
        }
        if !interfaces.iter().any(|known| known == name) {
            interfaces.push(name.to_string());
        }
    }
    Ok(interfaces)
}

/// The longest that a packet is held on purpose.
fn held_s(function: &Function<'_>, instance: &Value) -> f64 {
    let leaves = function.node.data_children().filter(|node| node.has("holds"));
    let text = |node: &yang::Node| {
        let given = instance.get(&node.name).and_then(Value::as_str).map(str::to_string);
        given.or_else(|| node.default.clone()).unwrap_or_default()
    };
    let seconds = |text: String| match args::timestamp(&text) {
        Ok(time) => time.as_secs_f64(),
        Err(_) => Rate::parse(&text).map_or(0.0, |rate| rate.longest_s()),
    };
    leaves.map(|node| seconds(text(node))).sum()
}

/// A function's command with the options of all stages.
fn of_stage(name: &'static str, function: &Function<'_>) -> clap::Command {
    let command = command::command(name, function);
    let short = command.get_about().cloned().unwrap_or_default();
    let long = command.get_long_about().cloned().unwrap_or_default();
    // Adding options replaces what the command is about.
    StageOptions::augment_args(command).about(short).long_about(long)
}

/// What `f` makes of the function whose command has this name.
fn with<R>(name: &str, f: impl FnOnce(&'static str, &Function<'_>) -> R) -> Option<R> {
    with_all(name, |command, _, function| f(command, &function))
}

/// As [`with`]; `f` also gets what the function was compiled with.
fn with_all<R>(name: &str, f: impl FnOnce(&'static str, &Functions, Function<'_>) -> R) -> Option<R> {
    let (command, name) = Package::shipped_commands().find(|(command, _)| *command == name)?;
    let compiled = COMPILED.with(|last| {
        let mut last = last.borrow_mut();
        match &*last {
            Some((known, functions)) if *known == name => Some(functions.clone()),
            _ => {
                let functions = Functions::shipped_one(name)?;
                *last = Some((name, functions.clone()));
                Some(functions)
            }
        }
    })?;
    let function = compiled.get(name)?;
    Some(f(command, &compiled, function))
}
