//! Configurations made into one, and taken out again: `click-combine` and `click-uncombine`.

use graph::Diagnostics;
use tools::Component;

use super::input::{stamp, told, told_by, Input};
use super::run::{write_router, Outcome};
use super::{Failure, Given};
use crate::clp::Item;
use crate::load::Origin;

/// `click-combine`.
pub fn combine(given: &mut Given) -> Outcome {
    let tool = given.tool();
    let Combination { output, links, config_only, parts } = combination(given)?;
    let fatal = |message: String| Failure::Error(tool.prefixed(&message).trim_end().to_string());
    if parts.list.is_empty() {
        return Err(fatal("no routers specified".to_string()));
    }
    for (idx, part) in parts.list.iter().enumerate() {
        if parts.list[..idx].iter().any(|other| other.name == part.name) {
            return Err(fatal(format!("two routers named '{}'", part.name)));
        }
    }
    let stamp = stamp();
    let (mut named, mut plain) = (Diagnostics::default(), Diagnostics::default());
    let stamp = (!config_only).then_some(&stamp);
    let combined = tools::combine(&parts.list, &links, stamp, &mut named, &mut plain);
    let named = told_by(&tool, &named);
    if parts.failed {
        return Err(Failure::Told);
    }
    named.and(told(&plain))?;
    write_router(&combined.ok_or(Failure::Told)?, output.as_deref())
}

/// What a command line of `click-combine` asks for.
#[derive(Default)]
struct Combination {
    output: Option<String>,
    links: Vec<String>,
    config_only: bool,
    parts: Parts,
}

/// Reads the command line, and the configurations as they come: what is wrong with them is told in this order.
fn combination(given: &mut Given) -> Result<Combination, Failure> {
    let (mut wanted, mut next_name) = (Combination::default(), None::<String>);
    let tool = given.tool();
    for item in given.items() {
        match item {
            Item::Option { name: "file", value, .. } => {
                wanted.parts.add(&mut next_name, Origin::named(&value.unwrap_or_default()));
            }
            Item::Option { name: "expression", value, .. } => {
                wanted.parts.add(&mut next_name, Origin::Expression(value.unwrap_or_default()));
            }
            Item::Option { name: "output", .. } if wanted.output.is_some() => {
                return Err(Failure::Usage("output file specified twice".to_string()));
            }
            Item::Option { name: "output", value, .. } => wanted.output = value,
            Item::Option { name: "name", value, .. } => {
                if next_name.is_some() {
                    eprint!("{}", tool.prefixed("warning: router name specified twice\n"));
                }
                next_name = value;
            }
            Item::Option { name: "link", value, .. } => wanted.links.push(value.unwrap_or_default()),
            Item::Option { .. } => wanted.config_only = true,
            Item::Word(word) => match named_file(&word) {
                NamedFile::Link => wanted.links.push(word),
                NamedFile::Plain => wanted.parts.add(&mut next_name, Origin::named(&word)),
                NamedFile::Named(name, file) => {
                    match &next_name {
                        Some(next) if !name.is_empty() => {
                            eprintln!("warning: router name specified twice ('{next}' and '{name}')");
                        }
                        None if !name.is_empty() => next_name = Some(name.to_string()),
                        _ => {}
                    }
                    wanted.parts.add(&mut next_name, Origin::named(file));
                }
            },
        }
    }
    Ok(wanted)
}

/// A word of `click-combine`.
enum NamedFile<'a> {
    Link,
    Plain,
    Named(&'a str, &'a str),
}

fn named_file(word: &str) -> NamedFile<'_> {
    if let Some((name, file)) = word.split_once(':') {
        return NamedFile::Named(name, file);
    }
    match word.split_once('=') {
        None => NamedFile::Plain,
        Some((name, _)) if name.contains('.') => NamedFile::Link,
        Some((name, file)) => NamedFile::Named(name, file),
    }
}

/// The configurations that are combined.
#[derive(Default)]
struct Parts {
    list: Vec<Component>,
    n_read: usize,
    failed: bool,
}

impl Parts {
    fn add(&mut self, next_name: &mut Option<String>, origin: Origin) {
        self.n_read += 1;
        let name = next_name.take().filter(|name| !name.is_empty());
        let input = Input { origin: Some(origin), ..Input::default() };
        let mut diagnostics = Diagnostics::default();
        match input.flat_anyway(&mut diagnostics) {
            Ok(router) => {
                self.failed |= told(&diagnostics).is_err();
                let is_legal = |name: &String| {
                    let legal = |c: char| c.is_ascii_alphanumeric() || "_/@".contains(c);
                    name.chars().all(legal)
                        && !name.contains("//")
                        && !name.starts_with('/')
                        && !name.ends_with('/')
                };
                if let Some(name) = name.as_ref().filter(|name| !is_legal(name)) {
                    eprintln!("router name '{name}' is not a legal Click identifier");
                    self.failed = true;
                }
                let name = name.unwrap_or_else(|| self.n_read.to_string());
                self.list.push(Component { name, router });
            }
            Err(failure) => {
                if let Failure::Error(message) = failure {
                    eprintln!("{message}");
                }
                self.failed = true;
            }
        }
    }
}

/// `click-uncombine`.
pub fn uncombine(given: &mut Given) -> Outcome {
    let (mut file, mut output, mut name) = (None::<String>, None, None::<String>);
    let tool = given.tool();
    let twice = |what: &str| Err(Failure::Usage(format!("{what} specified twice")));
    for item in given.items() {
        match item {
            Item::Option { name: "file", .. } if file.is_some() => return twice("combined router"),
            Item::Option { name: "file", value, .. } => file = value,
            Item::Option { name: "output", .. } if output.is_some() => return twice("output file"),
            Item::Option { name: "output", value, .. } => output = value,
            Item::Option { value, .. } if name.is_none() => name = value,
            Item::Word(word) if file.is_none() => file = Some(word),
            Item::Word(word) if name.is_none() => name = Some(word),
            _ => return twice("component name"),
        }
    }
    let input = Input { origin: file.as_deref().map(Origin::named), ..Input::default() };
    let mut router = input.flat()?;
    let name = name.unwrap_or_default();
    if name.is_empty() && router.archive.iter().any(|member| member.name == b"componentmap") {
        return Err(Failure::Error(tool.prefixed("no component specified").trim_end().to_string()));
    }
    let mut diagnostics = Diagnostics::default();
    let is_done = tools::uncombine(&mut router, &name, &input.name(), &mut diagnostics);
    told(&diagnostics)?;
    match is_done {
        true => write_router(&router, output.as_deref()),
        false => Err(Failure::Told),
    }
}
