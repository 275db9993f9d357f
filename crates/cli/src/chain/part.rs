//! A stage of a chain: what its words mean.

use clap::error::ErrorKind;
use clap::{ArgMatches, FromArgMatches};
use graph::{Diagnostics, Graph};

use super::text::Written;
use super::ChainOptions;
use crate::command::{self, Cli, Command, Deferred, PacketCommand};
use crate::failure::Failure;
use crate::functions;
use crate::load::{self, Origin};
use crate::stage::options::{Declared, StageOptions, LEFT, RIGHT};
use crate::stage::status::command_line;
use crate::stage::{has_no_source, simple, Plan, NOTHING};

/// A stage.
pub struct Part {
    /// What was written.
    pub written: Written,
    /// What it does.
    pub work: Work,
}

/// What a stage does.
pub enum Work {
    /// It runs a graph.
    Graph(Box<GraphPart>),
    /// It is a Linux stack.
    Linux,
    /// It is a chain itself.
    Chain,
    /// It is a program that is not weir.
    Program,
}

/// A stage that runs a graph.
pub struct GraphPart {
    /// The name of its command.
    pub name: String,
    /// What `weir status` calls it.
    pub function: String,
    /// The graph's text.
    pub text: String,
    /// The graph.
    pub graph: Graph,
    /// Its interfaces.
    pub interfaces: Vec<Declared>,
    /// Its options, and for what they do not say those of the chain.
    pub options: StageOptions,
    /// Why it needs a process of its own.
    pub apart: Option<String>,
}

/// Where a stage stands.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Position {
    /// Whether it is the first one.
    pub is_first: bool,
    /// Whether it is the last one.
    pub is_last: bool,
}

/// The stages that make graphs of their own arguments, not of a function's parameters.
const PLAIN: [&str; 4] = ["stage", "read", "write", "port"];
/// The stages that are processes in any case.
const LINUX: &str = "linux";
/// See [`LINUX`].
const CHAIN: &str = "chain";

/// The names of all stages.
pub fn names() -> Vec<&'static str> {
    PLAIN.into_iter().chain(functions::names()).chain([LINUX, CHAIN]).collect()
}

impl Part {
    /// Reads a stage. What is wrong with a graph goes to `diagnostics`.
    pub fn of(
        mut written: Written,
        position: Position,
        options: &ChainOptions,
        diagnostics: &mut Diagnostics,
    ) -> Result<Option<Part>, Failure> {
        let has_weir = written.words[0].rsplit('/').next() == Some("weir");
        if has_weir {
            written.words.remove(0);
        }
        let work = match written.words.first().map(String::as_str) {
            None => {
                let names = names().join(", ");
                return Err(Failure::Usage(format!("{}: name a stage: {names}", written.called())));
            }
            Some(name @ (LINUX | CHAIN)) => {
                let work = if name == LINUX { Work::Linux } else { Work::Chain };
                matches(&written)?;
                work
            }
            Some(name) if names().contains(&name) => {
                let matches = matches(&written)?;
                match graph_part(&written, position, &matches, options, diagnostics) {
                    Ok(Some(part)) => Work::Graph(Box::new(part)),
                    Ok(None) => return Ok(None),
                    Err(failure) => {
                        return Err(failure.map(|message| format!("{}: {message}", written.called())))
                    }
                }
            }
            Some(name) if has_weir => {
                return Err(Failure::Usage(match command::full().find_subcommand(name) {
                    Some(_) => format!(
                        "{}: `weir {name}` is no stage; stages are {}",
                        written.called(),
                        names().join(", ")
                    ),
                    None => format!("{}: no stage `{name}`{}", written.called(), suggestion(name)),
                }))
            }
            Some(_) => Work::Program,
        };
        Ok(Some(Part { written, work }))
    }

    /// The graph, if it runs one.
    pub fn graph(&self) -> Option<&GraphPart> {
        match &self.work {
            Work::Graph(part) => Some(part),
            _ => None,
        }
    }
}

/// What else a name may mean.
pub fn suggestion(name: &str) -> String {
    let near = |other: &&str| strsim::damerau_levenshtein(name, other) <= 1 + name.len() / 4;
    match names().into_iter().filter(near).min_by_key(|other| strsim::damerau_levenshtein(name, other)) {
        Some(other) => format!("; did you mean `{other}`?"),
        None => format!("; stages are {}", names().join(", ")),
    }
}

/// The arguments as the command itself would read them.
fn matches(written: &Written) -> Result<ArgMatches, Failure> {
    let words = std::iter::once("weir").chain(written.words.iter().map(String::as_str));
    let words: Vec<String> = words.map(str::to_string).collect();
    command::of(&words).try_get_matches_from(&words).map_err(|error| match error.kind() {
        ErrorKind::DisplayHelp | ErrorKind::DisplayVersion => error.exit(),
        _ => {
            let text = error.to_string();
            let text = text.strip_prefix("error: ").unwrap_or(&text);
            let is_about_help = |paragraph: &&str| {
                paragraph.starts_with("Usage:") || paragraph.starts_with("For more information")
            };
            let text: Vec<&str> = text.split("\n\n").take_while(|one| !is_about_help(one)).collect();
            let (called, text) = (written.called(), text.join("\n"));
            let text = text.trim_end();
            Failure::Usage(format!("{called}: {text}\n  help: see `weir {} --help`", written.words[0]))
        }
    })
}

/// What a stage that is a graph runs, and its options.
fn plan(matches: &ArgMatches, position: Position) -> Result<(Plan, StageOptions), Failure> {
    if let Some((name, own)) = functions::chosen(matches) {
        let function = functions::graph(name, own)?;
        let options = functions::options(own, &function)?;
        return Ok((Plan::of_text(name.to_string(), function.text), options));
    }
    let cli = Cli::from_arg_matches(matches).map_err(|error| error.to_string())?;
    let Command::Packets(command) = cli.command else {
        return Err(Failure::Usage(format!("it is no stage; stages are {}", names().join(", "))));
    };
    match command {
        PacketCommand::Stage(Deferred(options)) => simple::plan_graph(options),
        PacketCommand::Read(Deferred(options)) => Ok(simple::plan_read(options)),
        PacketCommand::Write(Deferred(options)) => Ok(simple::plan_write(options)),
        PacketCommand::Port(Deferred(options)) => {
            simple::plan_port(options, || free_side(position)).map_err(Failure::Usage)
        }
        _ => Err(Failure::Usage(format!("it is no stage; stages are {}", names().join(", ")))),
    }
}

/// The side of a port that stands at this place.
fn free_side(position: Position) -> Result<&'static str, String> {
    match (position.is_first, position.is_last) {
        (true, true) => simple::free_side(),
        (true, false) => Ok(LEFT),
        (false, true) => Ok(RIGHT),
        (false, false) => {
            Err("a port in the middle of a chain: say with --side which of its sides the device is, or \
                               put it at an end of the chain"
                .to_string())
        }
    }
}

fn graph_part(
    written: &Written,
    position: Position,
    matches: &ArgMatches,
    options: &ChainOptions,
    diagnostics: &mut Diagnostics,
) -> Result<Option<GraphPart>, Failure> {
    let (plan, mut stage) = plan(matches, position)?;
    if matches!(plan.request.text, Origin::Stdin) {
        return Err(Failure::Usage(
            "in a chain packets come by standard input, not the graph; name a file, or use -e".to_string(),
        ));
    }
    let text = plan.request.text.read()?;
    let name = match &plan.request.text {
        Origin::Expression(_) => format!("stage {}", written.number),
        other => other.name().to_string(),
    };
    let Some(graph) = load::parse_named(&plan.request, &name, &text, diagnostics) else { return Ok(None) };
    if written.words[0] == "stage" && has_no_source(&graph) {
        return Err(NOTHING.to_string().into());
    }
    let chain = &options.stage;
    stage.inherit(chain);
    let is_end = position.is_first || position.is_last;
    if is_end && stage.format.is_none() {
        stage.format = chain.format.clone();
    }
    stage.interfaces.extend(chain.interfaces.iter().filter(|text| is_for(text, position)).cloned());
    stage.refuse_unknown(&graph).map_err(Failure::Usage)?;
    let is_plain = PLAIN.contains(&written.words[0].as_str());
    let function =
        if is_plain { plan.function } else { command_line(written.words.iter().map(String::as_str)) };
    let declared = stage.declared(&|name| variable(written, position, name));
    Ok(Some(GraphPart {
        name: written.words[0].clone(),
        function,
        apart: apart(&graph, written),
        interfaces: declared.map_err(Failure::Usage)?,
        text,
        graph,
        options: stage,
    }))
}

/// Whether an interface of the chain is one of the stage's.
fn is_for(text: &str, position: Position) -> bool {
    let name = text.split_once('=').map_or(text, |(name, _)| name);
    name == LEFT && position.is_first || name == RIGHT && position.is_last
}

/// The value of a variable: those in front of the stage, and at the ends of the chain those of its environment.
fn variable(written: &Written, position: Position, name: &str) -> Option<String> {
    if let Some(value) = written.variable(name) {
        return Some(value.to_string());
    }
    let is_inherited = match name {
        "IF0" | "IFTYPE0" => position.is_first,
        "IF1" | "IFTYPE1" => position.is_last,
        _ => position.is_first && position.is_last,
    };
    is_inherited.then(|| std::env::var(name).ok()).flatten()
}

/// Whether an assignment is about an interface.
pub fn is_of_interface(variable: &str) -> bool {
    let number = variable.strip_prefix("IFTYPE").or_else(|| variable.strip_prefix("IF"));
    number.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()))
}

/// Why a graph cannot be one with others.
fn apart(graph: &Graph, written: &Written) -> Option<String> {
    if let Some((name, _)) = written.environment.iter().find(|(name, _)| !is_of_interface(name)) {
        return Some(format!("{name} is set for it alone"));
    }
    graph.elements.iter().find_map(|element| {
        let words = args::split_args(&element.config);
        let drives = element.class == "DriverManager"
            || element.class == "Script" && words.iter().any(|word| is_keyword(word, "TYPE", "DRIVER"));
        if drives {
            return Some(format!("{} decides when its graph stops", element.name));
        }
        let is_file = element.class.starts_with("From") || element.class.starts_with("To");
        let is_standard = |word: &String| word == "-" || is_keyword(word, "FILENAME", "-");
        let uses = is_file && words.iter().any(is_standard);
        uses.then(|| format!("{} uses standard input or output itself", element.name))
    })
}

fn is_keyword(word: &str, keyword: &str, value: &str) -> bool {
    let (first, rest) = args::next_word(word);
    first == keyword && rest.trim() == value
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn variables_of_interfaces_are_known() {
        assert!(is_of_interface("IF0") && is_of_interface("IFTYPE12"));
        assert!(!is_of_interface("IF") && !is_of_interface("IFS") && !is_of_interface("CLICKPATH"));
    }

    #[test]
    fn near_names_are_suggested() {
        assert_eq!(suggestion("raed"), "; did you mean `read`?");
        assert!(suggestion("tcpdump").contains("stages are stage, read"));
    }
}
