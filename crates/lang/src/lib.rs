//! The Click language: text to graph and back.
#![forbid(unsafe_code)]

mod archive;
mod block;
mod chain;
mod classes;
mod compound;
mod connect;
mod expand;
mod format;
mod lexer;
mod naming;
mod number;
mod outline;
mod parser;
mod ports;
mod report;
mod require;
mod scope;
mod tunnel;
mod unparse;

use graph::{ClassFacts, Diagnostics, Graph, Place};

pub use archive::{archive, configuration, members, Member};
pub use format::format;
pub use outline::{outline, Body, Compound, Kind, Outline, Part, Wire};
pub use report::{click_text, click_texts, weir_text};
pub use scope::{Budget, Scope};
pub use unparse::{chains, config, flatten, list, require_statement, requirements};

/// The element classes that a text may use.
pub trait Classes {
    /// What is known of the class `name`; `None` if there is no such class.
    fn facts(&self, name: &str) -> Option<&ClassFacts>;

    /// The names of all classes.
    fn names(&self) -> Vec<&str>;
}

/// Where `require(library FILE)` finds files.
pub trait Libraries {
    /// The path of the library `name`, required from a file in `directory`; `None` if there is none.
    fn find(&self, name: &str, directory: &str) -> Option<String>;

    /// The text of the file at `path`, or the reason why it cannot be read.
    fn read(&self, path: &str) -> Result<String, String>;
}

/// No libraries at all.
pub struct NoLibraries;

/// A text and its file's name.
#[derive(Clone, Copy, Debug)]
pub struct Source<'a> {
    /// The file's name as diagnostics give it; `config` for an expression, `<stdin>` for the standard input.
    pub name: &'a str,
    /// The text.
    pub text: &'a str,
}

/// What a text is read with.
#[derive(Clone, Copy)]
pub struct Options<'a> {
    /// The element classes.
    pub classes: &'a dyn Classes,
    /// `VAR=value` of the command line; these replace what the text defines.
    pub variables: &'a [(String, String)],
    /// Where libraries are found.
    pub libraries: &'a dyn Libraries,
    /// The packages that `require(package NAME)` finds here.
    pub packages: &'a [&'a str],
}

impl<'a> Options<'a> {
    /// Options with `classes`, and no variables, libraries or packages.
    pub fn new(classes: &'a dyn Classes) -> Options<'a> {
        Options { classes, variables: &[], libraries: &NoLibraries, packages: &[] }
    }
}

impl Libraries for NoLibraries {
    fn find(&self, _name: &str, _directory: &str) -> Option<String> {
        None
    }

    fn read(&self, path: &str) -> Result<String, String> {
        Err(format!("{path} is not available"))
    }
}

/// Reads a text: the flat graph, or `None` if there were errors, all of which go to `diagnostics`.
pub fn parse(source: &Source, options: &Options, diagnostics: &mut Diagnostics) -> Option<Graph> {
    let before = diagnostics.n_errors();
    for (idx, (name, _)) in options.variables.iter().enumerate() {
        if options.variables[..idx].iter().any(|(earlier, _)| earlier == name) {
            diagnostics
                .error(&Place::default(), format!("parameter '{name}' multiply defined"))
                .help(format!("give `{name}=...` once"));
        }
    }
    let mut parser = parser::Parser::new(source.name, source.text, options, diagnostics);
    parser.file();
    let graph = parser.finish();
    (diagnostics.n_errors() == before).then_some(graph)
}
