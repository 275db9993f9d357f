//! What the tools read: configurations, in files or archives, and what the command line says of them.

use std::os::unix::fs::MetadataExt;

use graph::{Diagnostics, Place, Severity};
use lang::{Member, Outline, Source};
use tools::Router;

use super::{Failure, Given, Tool};
use crate::clp::{self, Item};
use crate::libraries::Files;
use crate::load::Origin;

/// The options that most tools have.
#[derive(Default)]
pub struct Input {
    /// Where the configuration comes from, if it is said.
    pub origin: Option<Origin>,
    /// `VAR=value`.
    pub variables: Vec<(String, String)>,
    /// Folders for `require(library ...)`.
    pub clickpath: Option<String>,
    /// Where the output goes.
    pub output: Option<String>,
    /// Whether the values of variables are put in.
    pub expands_variables: bool,
}

/// A configuration that was read.
pub struct Loaded {
    /// As it was written.
    pub outline: Outline,
    /// Compound elements not expanded.
    pub router: Router,
    /// Its text.
    pub text: String,
}

impl Input {
    /// Takes an item that most tools take alike; gives back what is left.
    pub fn take(&mut self, item: Item, tool: &Tool) -> Result<Option<Item>, Failure> {
        match item {
            Item::Option { name: "clickpath", value, .. } => self.clickpath = value,
            Item::Option { name: "output", value, .. } => {
                let what = if tool.name == "flatten" { "--output" } else { "output" };
                if self.output.is_some() {
                    return Err(Failure::Usage(format!("{what} file specified twice")));
                }
                self.output = value;
            }
            Item::Option { name: "file", value, .. } => {
                self.set_origin(Origin::named(&value.unwrap_or_default()))?
            }
            Item::Option { name: "expression", value, .. } => {
                self.set_origin(Origin::Expression(value.unwrap_or_default()))?;
            }
            Item::Word(word) => match clp::definition(&word) {
                Some(definition) => self.define(definition, tool),
                None => self.set_origin(Origin::named(&word))?,
            },
            other => return Ok(Some(other)),
        }
        Ok(None)
    }

    pub fn define(&mut self, (name, value): (String, String), tool: &Tool) {
        if self.variables.iter().any(|(known, _)| *known == name) {
            eprint!("{}", tool.prefixed(&format!("parameter '{name}' multiply defined\n")));
            return;
        }
        self.variables.push((name, value));
    }

    pub fn set_origin(&mut self, origin: Origin) -> Result<(), Failure> {
        if self.origin.is_some() {
            return Err(Failure::Usage("router configuration specified twice".to_string()));
        }
        self.origin = Some(origin);
        Ok(())
    }

    /// The name of where the configuration comes from.
    pub fn name(&self) -> String {
        self.origin.clone().unwrap_or_default().name().to_string()
    }

    /// Reads the configuration and expands its compound elements; errors end the tool.
    pub fn flat(&self) -> Result<Router, Failure> {
        let mut diagnostics = Diagnostics::default();
        let router = self.flat_anyway(&mut diagnostics)?;
        told(&diagnostics)?;
        Ok(router)
    }

    /// Reads the configuration and expands its compound elements as far as it can be done.
    pub fn flat_anyway(&self, diagnostics: &mut Diagnostics) -> Result<Router, Failure> {
        let mut loaded = self.load(diagnostics)?;
        tools::flatten(&mut loaded.router, &loaded.outline, self.expands_variables, diagnostics);
        Ok(loaded.router)
    }

    /// Reads the configuration; what is wrong with it goes to `diagnostics`.
    pub fn load(&self, diagnostics: &mut Diagnostics) -> Result<Loaded, Failure> {
        let origin = self.origin.clone().unwrap_or_default();
        read(&origin, &self.variables, self.clickpath.as_deref(), false, diagnostics)
    }
}

/// Reads a configuration; what is wrong with it goes to `diagnostics`.
pub fn read(
    origin: &Origin,
    variables: &[(String, String)],
    clickpath: Option<&str>,
    may_be_empty: bool,
    diagnostics: &mut Diagnostics,
) -> Result<Loaded, Failure> {
    let bytes = origin.bytes().map_err(Failure::Error)?;
    let is_archive = bytes.first() == Some(&b'!');
    let archive = if is_archive { lang::members(&bytes).unwrap_or_default() } else { Vec::new() };
    let nowhere = Place::default();
    let text = match lang::configuration(&bytes, origin.name()) {
        Ok(text) => String::from_utf8_lossy(&text).into_owned(),
        Err(message) => {
            diagnostics.error(&nowhere, message);
            String::new()
        }
    };
    if text.is_empty() && !may_be_empty {
        let place = Place { file: Some(origin.name().into()), line: 0, column: 0 };
        diagnostics.warning(&place, "empty configuration");
    }
    let libraries = Files { clickpath: clickpath.map(str::to_string) };
    let outline =
        lang::outline(&Source { name: origin.name(), text: &text }, variables, &libraries, diagnostics);
    let mut router = tools::router(&outline);
    router.archive = archive;
    Ok(Loaded { outline, router, text })
}

/// Prints diagnostics as Click does; errors end the tool.
pub fn told(diagnostics: &Diagnostics) -> Result<(), Failure> {
    eprint!("{}", lang::click_texts(&diagnostics.list));
    if diagnostics.has_errors() {
        return Err(Failure::Told);
    }
    Ok(())
}

/// Prints diagnostics behind the tool's name; errors end the tool.
pub fn told_by(tool: &Tool, diagnostics: &Diagnostics) -> Result<(), Failure> {
    eprint!("{}", tool.prefixed(&lang::click_texts(&diagnostics.list)));
    if diagnostics.list.iter().any(|diagnostic| diagnostic.severity == Severity::Error) {
        return Err(Failure::Told);
    }
    Ok(())
}

/// What is written about a file that goes into an archive now.
pub fn stamp() -> Member {
    let now = std::time::SystemTime::now().duration_since(std::time::UNIX_EPOCH);
    let owner = std::fs::metadata("/proc/self").map_or((0, 0), |process| (process.uid(), process.gid()));
    Member {
        name: Vec::new(),
        data: Vec::new(),
        date_s: now.map_or(0, |time| time.as_secs()),
        owner,
        mode: 0o644,
    }
}

impl Given {
    /// The items, in order.
    pub fn items(&mut self) -> Vec<Item> {
        std::mem::take(&mut self.items)
    }

    pub fn tool(&self) -> Tool {
        self.tool
    }
}
