//! Ready-made network functions: flags become the text of a graph between a stage's interfaces.
//!
//! A function is a row of [`FUNCTIONS`]: its page and compound elements (`functions/NAME/NAME.click`), its parameters, and what
//! makes a graph of their values. Commands, help and `docs/functions` all come from that row.

mod bridge;
mod count;
mod delay;
mod filter;
mod firewall;
mod hex;
mod leaf;
mod loss;
mod nat;
mod page;
mod print;
mod route;
mod router;
mod rules;
mod shape;
mod side;
mod tee;
#[cfg(test)]
mod testing;
mod values;

use std::process::ExitCode;

use clap::{ArgMatches, Args, FromArgMatches};
use leaf::Leaf;
use values::Values;

use crate::stage::options::StageOptions;
use crate::stage::{self, Plan};

/// All functions, in the order in which help lists them.
pub const FUNCTIONS: &[Function] = &[
    nat::FUNCTION,
    firewall::FUNCTION,
    route::FUNCTION,
    bridge::FUNCTION,
    filter::FUNCTION,
    tee::FUNCTION,
    count::FUNCTION,
    print::FUNCTION,
    hex::FUNCTION,
    shape::FUNCTION,
    delay::FUNCTION,
    loss::FUNCTION,
];

/// The interfaces that every stage has: standard input and standard output.
const STAGE_INTERFACES: [&str; 2] = ["left", "right"];

/// The option `--if NAME=KIND` of all stages, by its name in `StageOptions`.
const INTERFACE_OPTION: &str = "interfaces";

/// A function that is ready to be used.
pub struct Function {
    /// Its command.
    pub name: &'static str,
    /// The text of `functions/NAME/NAME.click`: comments that describe it, then compound elements.
    source: &'static str,
    /// Texts of compound elements that it shares with others.
    parts: &'static [&'static str],
    /// Its parameters.
    leaves: &'static [Leaf],
    /// Command lines that show its use, and what each is for.
    examples: &'static [Example],
    /// For how many seconds it holds a packet that nothing keeps it from sending.
    holds: Option<fn(&Values) -> f64>,
    /// Makes the rest of the graph.
    graph: fn(&Values) -> Result<String, String>,
}

/// A command line that shows a function's use.
pub struct Example {
    line: &'static str,
    purpose: &'static str,
}

/// A function with its parameters: a graph.
#[derive(Clone, Debug, PartialEq)]
pub struct FunctionGraph {
    /// The function.
    pub name: &'static str,
    /// The graph in the Click language.
    pub text: String,
    /// The interfaces that the graph names, `left` and `right` first.
    pub interfaces: Vec<String>,
    /// For how many seconds it holds a packet that nothing keeps it from sending.
    pub holds_s: f64,
}

/// Name of the flag that prints the graph instead of running it.
const PRINT_GRAPH: &str = "print-graph";

/// The commands of all functions.
pub fn commands() -> Vec<clap::Command> {
    let command = |function| {
        let command = page::command(function);
        let short = command.get_about().cloned().unwrap_or_default();
        let long = command.get_long_about().cloned().unwrap_or_default();
        // Adding options replaces what the command is about.
        StageOptions::augment_args(command).about(short).long_about(long)
    };
    FUNCTIONS.iter().map(command).collect()
}

/// The function that a command line names, and what it says of it.
pub fn chosen(matches: &ArgMatches) -> Option<(&'static str, &ArgMatches)> {
    let (name, matches) = matches.subcommand()?;
    let function = FUNCTIONS.iter().find(|function| function.name == name)?;
    Some((function.name, matches))
}

/// Runs a function as a stage, or prints its graph. `words` are those of the command line behind the function's name.
pub fn run(name: &'static str, matches: &ArgMatches, words: &[String]) -> Result<ExitCode, String> {
    let graph = graph(name, matches)?;
    if matches.get_flag(PRINT_GRAPH) {
        println!("{}", graph.text.trim_end());
        return Ok(ExitCode::SUCCESS);
    }
    let mut options = StageOptions::from_arg_matches(matches).map_err(|error| error.to_string())?;
    // What it holds on purpose is not stuck.
    options.drain += graph.holds_s;
    let function = format!("{name} {}", words.join(" "));
    stage::run(Plan::of_text(function.trim_end().to_string(), graph.text), &options)
}

/// The graph of a function for what was given on its command line.
pub fn graph(name: &str, matches: &ArgMatches) -> Result<FunctionGraph, String> {
    let function = FUNCTIONS.iter().find(|function| function.name == name);
    let function = function.ok_or_else(|| format!("no function `{name}`"))?;
    let values = Values::of_matches(function.leaves, matches);
    function.graph(&values).map_err(|message| format!("{name}: {message}"))
}

impl Function {
    fn graph(&self, values: &Values) -> Result<FunctionGraph, String> {
        values.check()?;
        let instance = (self.graph)(values)?;
        let text = [self.parts, &[self.source, &instance]].concat().join("\n");
        let interfaces = values.interfaces().to_vec();
        let holds_s = self.holds.map_or(0.0, |holds| holds(values));
        Ok(FunctionGraph { name: self.name, text, interfaces, holds_s })
    }
}

/// Connects each interface with the input and the output of an element that have its number.
fn between(interfaces: &[String], element: &str) -> String {
    let line = |(i, name): (usize, &String)| {
        format!("FromInterface({name}) -> [{i}] {element} [{i}] -> ToInterface({name});\n")
    };
    interfaces.iter().enumerate().map(line).collect()
}
