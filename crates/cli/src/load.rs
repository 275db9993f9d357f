//! Loading: from a file or an expression to a graph that can run.

use std::io::Read;
use std::sync::Arc;

use element::output::reason;
use element::Class;
use engine::change::Loader;
use engine::{BuildOptions, Engine, Layout, Time};
use graph::{Diagnostic, Diagnostics, Graph, Place};
use interfaces::stage::table::refuse_input;
use lang::{Options, Source};

use crate::failure::Failure;
use crate::host::ThisHost;
use crate::libraries::Files;

/// What the user wants to run.
#[derive(Clone, Debug, Default)]
pub struct Request {
    /// A file name, `-` for the standard input, or an expression.
    pub text: Origin,
    /// `VAR=value`.
    pub variables: Vec<(String, String)>,
    /// Folders for `require(library ...)`.
    pub clickpath: Option<String>,
    /// Simulated time from this many nanoseconds on.
    pub simulated_from_ns: Option<i64>,
    /// How many packets elements move at a time where the graph does not say.
    pub burst: usize,
    /// The threads that the graph runs on.
    pub layout: Layout,
    /// The processor of each thread, if it is to stay on one.
    pub cpus: Vec<usize>,
    /// Whether diagnostics are printed as Click prints them.
    pub is_click: bool,
}

/// Where a configuration comes from.
#[derive(Clone, Debug, Default)]
pub enum Origin {
    /// The standard input.
    #[default]
    Stdin,
    /// A file.
    File(String),
    /// The text itself.
    Expression(String),
}

impl Origin {
    /// The name that diagnostics give it.
    pub fn name(&self) -> &str {
        match self {
            Origin::Stdin => "<stdin>",
            Origin::File(name) => name,
            Origin::Expression(_) => "config",
        }
    }

    /// The file of this name; `-` and no name at all are the standard input.
    pub fn named(name: &str) -> Origin {
        match name {
            "" | "-" => Origin::Stdin,
            name => Origin::File(name.to_string()),
        }
    }

    /// The text, or the reason why it cannot be read; a capture is none.
    pub fn read(&self) -> Result<String, String> {
        let bytes = self.bytes()?;
        if interfaces::capture::begins(&bytes) {
            let name = self.name();
            return Err(format!(
                "{name}: it is a capture and no configuration; `weir read` reads its packets"
            ));
        }
        self.text(&bytes)
    }

    /// As [`Origin::read`], whatever it is.
    pub fn read_anything(&self) -> Result<String, String> {
        self.text(&self.bytes()?)
    }

    fn text(&self, bytes: &[u8]) -> Result<String, String> {
        let configuration = lang::configuration(bytes, self.name())?;
        Ok(String::from_utf8_lossy(&configuration).into_owned())
    }

    /// What the file holds, or the reason why it cannot be read.
    pub fn bytes(&self) -> Result<Vec<u8>, String> {
        let mut bytes = Vec::new();
        let result = match self {
            Origin::Expression(text) => {
                bytes.extend_from_slice(text.as_bytes());
                Ok(())
            }
            Origin::Stdin => {
                crate::print::input().and_then(|mut input| input.read_to_end(&mut bytes)).map(drop)
            }
            Origin::File(name) => std::fs::read(name).map(|read| bytes = read),
        };
        result.map_err(|error| format!("{}: {}", self.name(), reason(&error)))?;
        Ok(bytes)
    }
}

/// Parses.
pub fn parse(request: &Request, text: &str, diagnostics: &mut Diagnostics) -> Option<Graph> {
    parse_named(request, request.text.name(), text, diagnostics)
}

/// Parses; `name` is what diagnostics call the text.
pub fn parse_named(
    request: &Request,
    name: &str,
    text: &str,
    diagnostics: &mut Diagnostics,
) -> Option<Graph> {
    let libraries = Files { clickpath: request.clickpath.clone() };
    let options = Options {
        classes: catalog::stock(),
        variables: &request.variables,
        libraries: &libraries,
        packages: &[],
    };
    lang::parse(&Source { name, text }, &options, diagnostics)
}

/// Builds a parsed graph.
pub fn build(request: &Request, text: String, graph: Graph, diagnostics: &mut Diagnostics) -> Option<Engine> {
    let stock = catalog::stock();
    element::output::guard_files(refuse_input);
    let mut engine = Engine::build(graph, &|name| stock.get(name), request.build_options(), diagnostics)?;
    engine.world.source = text;
    engine.world.flatten = lang::flatten;
    engine.world.class_names = || catalog::stock().sorted_names();
    engine.world.loader = Some(reader(request.clone(), |graph| graph));
    Some(engine)
}

/// What reads configurations that a running graph is to go on with, as the first one was read; `amend` adds what the command
/// line adds.
pub fn reader(request: Request, amend: impl Fn(Graph) -> Graph + Send + Sync + 'static) -> Arc<dyn Loader> {
    Arc::new(Reader { request, amend: Box::new(amend) })
}

struct Reader {
    request: Request,
    amend: Box<dyn Fn(Graph) -> Graph + Send + Sync>,
}

impl Loader for Reader {
    fn parse(&self, name: &str, text: &str, diagnostics: &mut Diagnostics) -> Option<Graph> {
        parse_named(&self.request, name, text, diagnostics).map(&self.amend)
    }

    fn class(&self, name: &str) -> Option<&'static Class> {
        catalog::stock().get(name)
    }

    fn text(&self, told: &Diagnostic) -> String {
        if self.request.is_click {
            lang::click_text(told)
        } else {
            lang::weir_text(told)
        }
    }
}

impl Request {
    /// The request of a command's configuration options.
    pub fn from_options(options: &crate::command::SourceOptions) -> Result<Request, Failure> {
        let mut request = Request { clickpath: options.clickpath.clone(), burst: 32, ..Request::default() };
        let mut text = options.expression.clone().map(Origin::Expression);
        for word in &options.words {
            match word.split_once('=') {
                Some((name, value)) if is_variable(name) => {
                    request.variables.push((name.to_string(), value.to_string()));
                }
                _ if text.is_some() => {
                    let args: Vec<String> = std::env::args().collect();
                    let tip =
                        crate::command::tip(word, &args).unwrap_or("give VAR=value after it".to_string());
                    return Err(Failure::Usage(format!("`{word}`: there is a configuration already; {tip}")));
                }
                _ if word.is_empty() => {
                    return Err(Failure::Usage(format!("the name of the file is empty; {NO_CONFIGURATION}")))
                }
                _ if word == "-" => text = Some(Origin::Stdin),
                _ => text = Some(Origin::File(word.clone())),
            }
        }
        request.text = text.ok_or_else(|| Failure::Usage(format!("no configuration; {NO_CONFIGURATION}")))?;
        Ok(request)
    }

    /// The variables that are given and that the configuration does not mention. Of one that takes in others not all is known.
    pub fn unknown_variables<'r>(&'r self, text: &'r str) -> impl Iterator<Item = &'r str> {
        let names = self.variables.iter().map(|(name, _)| name.as_str());
        names.filter(move |name| !text.contains("require") && !text.contains(name))
    }

    fn build_options(&self) -> BuildOptions {
        let time = match self.simulated_from_ns {
            // Click reads the time thrice before it reads the configuration.
            Some(begin_ns) => Time::Simulated { begin_ns: begin_ns.saturating_add(3) },
            None => Time::Real,
        };
        BuildOptions {
            layout: self.layout,
            cpus: self.cpus.clone(),
            time,
            burst: self.burst.max(1),
            is_told_in_order: self.is_click,
            host: Box::new(ThisHost::default()),
            ..BuildOptions::default()
        }
    }
}

fn is_variable(name: &str) -> bool {
    !name.is_empty() && name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_')
}

/// Prints diagnostics in weir's form.
pub fn tell(diagnostics: &Diagnostics) {
    for diagnostic in &diagnostics.list {
        eprint!("{}", lang::weir_text(diagnostic));
    }
}

/// A text in the Click language that the user did not write: what a ready-made stage runs.
pub struct Made {
    /// The name that diagnostics give it.
    pub name: String,
    /// How messages call what the user wrote instead.
    pub called: String,
}

/// As [`tell`]; of texts that the user did not write only what failed, not where.
pub fn tell_of(diagnostics: &Diagnostics, made: &[Made]) {
    diagnostics.list.iter().for_each(|diagnostic| eprint!("{}", text_of(diagnostic, diagnostics, made)));
}

/// What is told of one of these diagnostics.
fn text_of(diagnostic: &Diagnostic, all: &Diagnostics, made: &[Made]) -> String {
    let made_by = |diagnostic: &Diagnostic| {
        let file = diagnostic.place.file.as_deref()?;
        made.iter().find(|made| made.name == file)
    };
    if diagnostic.place.file.is_none() && diagnostic.context.is_none() {
        // That nothing runs is plain where there is but one thing that could.
        let others = || all.list.iter().filter(|other| other.place.file.is_some());
        if others().next().is_some() && others().all(|other| made_by(other).is_some()) {
            return String::new();
        }
    }
    let Some(made) = made_by(diagnostic) else { return lang::weir_text(diagnostic) };
    let mut told = diagnostic.clone();
    (told.place, told.context) = (Place::default(), None);
    // Where an element's input is wrong, such as a line of a file.
    let input = told.landmark.take().filter(|place| diagnostic.context.is_some() && place.file.is_some());
    let input = input.map(|place| format!("{place}: ")).unwrap_or_default();
    told.message = format!("{input}{}", told.message);
    format!("weir: {}: {}", made.called, lang::weir_text(&told))
}

/// What to do about a command line without a configuration.
const NO_CONFIGURATION: &str = "name a file, `-` for the standard input, or use -e 'EXPR'";

/// What is told of a graph that has nothing in it, which is no error, as in Click.
pub const NO_ELEMENTS: &str = "the configuration has no elements";

/// Checks a parsed graph and configures its elements, without starting it.
pub fn configure(request: &Request, graph: Graph, diagnostics: &mut Diagnostics) {
    let stock = catalog::stock();
    Engine::check(graph, &|name| stock.get(name), request.build_options(), diagnostics);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn graphs_that_the_user_did_not_write_are_not_spoken_of() {
        let at = |file: &str| Place { file: Some(file.into()), line: 1, column: 1 };
        let mut diagnostics = Diagnostics::default();
        diagnostics.error(&at("config"), "nofile: missing").context =
            Some("While initializing 'a :: A'".into());
        diagnostics.error(&Place::default(), "Router could not be initialized!");
        let made = [Made { name: "config".into(), called: "read".into() }];
        let told = |diagnostics: &Diagnostics, made: &[Made]| {
            diagnostics.list.iter().map(|one| text_of(one, diagnostics, made)).collect::<String>()
        };
        assert_eq!(told(&diagnostics, &made), "weir: read: nofile: missing\n");
        let own =
            "config:1:1: While initializing 'a :: A': nofile: missing\nRouter could not be initialized!\n";
        assert_eq!(told(&diagnostics, &[]), own);
        diagnostics.error(&at("stage 2"), "wrong");
        let mixed = "weir: read: nofile: missing\nRouter could not be initialized!\nstage 2:1:1: wrong\n";
        assert_eq!(told(&diagnostics, &made), mixed);
    }
}
