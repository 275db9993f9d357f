//! What each tool does with its command line.

use std::process::ExitCode;

use graph::{Diagnostics, Place, Severity};
use lang::Outline;
use tools::{Pattern, Router};

use super::elementmap::ElementMap;
use super::input::{read, stamp, told, Input};
use super::{write, Failure, Given};
use crate::clp::{self, Item};
use crate::load::Origin;

/// How a tool ends.
pub type Outcome = Result<ExitCode, Failure>;

/// Writes a router, in an archive if it came in one.
pub fn write_router(router: &Router, output: Option<&str>) -> Outcome {
    write(output, &tools::write(router, &stamp()))?;
    Ok(ExitCode::SUCCESS)
}

/// Writes a router without anything beside it.
fn write_config(router: &Router, output: Option<&str>) -> Outcome {
    write(output, tools::unparse(router).as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// `click-flatten`.
pub fn flatten(given: &mut Given) -> Outcome {
    let (mut input, mut action) = (Input::default(), "");
    let tool = given.tool();
    for item in given.items() {
        match input.take(item, &tool)? {
            Some(Item::Option { name: "expand-vars", negated, .. }) => input.expands_variables = !negated,
            Some(Item::Option { name, .. }) => action = name,
            _ => {}
        }
    }
    let router = input.flat()?;
    let output = input.output.as_deref();
    let elements = || router.live().map(|idx| &router.elements[idx]);
    let mut lines: Vec<String> = match action {
        "" => return write_router(&router, output),
        "config" => return write_config(&router, output),
        "classes" => tools::classes(&router).into_iter().collect(),
        "decls" | "declarations" => elements().map(|element| element.declaration()).collect(),
        _ => elements().map(|element| element.name.clone()).collect(),
    };
    lines.sort();
    let text: String = lines.into_iter().map(|line| line + "\n").collect();
    write(output, text.as_bytes())?;
    Ok(ExitCode::SUCCESS)
}

/// `click-check`.
pub fn check(given: &mut Given) -> Outcome {
    let (mut input, mut quiet, mut filter) = (Input::default(), false, false);
    let (mut chosen, mut asked) = (Vec::new(), false);
    let tool = given.tool();
    for item in given.items() {
        let is_output = matches!(item, Item::Option { name: "output", .. });
        if is_output && filter {
            return Err(Failure::Usage("output file specified twice".to_string()));
        }
        match input.take(item, &tool)? {
            Some(Item::Option { name: "quiet", negated, .. }) => quiet = !negated,
            Some(Item::Option { name: "filter", .. }) => {
                if input.output.is_some() || filter {
                    return Err(Failure::Usage("output file specified twice".to_string()));
                }
                filter = true;
            }
            Some(Item::Option { name, negated, .. }) => {
                let driver = if name == "kernel" { "linuxmodule" } else { name };
                asked = true;
                chosen.retain(|other| *other != driver);
                if !negated {
                    chosen.push(driver);
                }
            }
            _ => {}
        }
    }
    let router = input.flat()?;
    let map = ElementMap::of(&router);
    let is_output = filter || input.output.is_some();
    let name = input.name();
    let mut diagnostics = Diagnostics::default();
    for driver in ["userlevel", "linuxmodule", "bsdmodule"] {
        let nowhere = Place::default();
        let is_chosen = if asked { chosen.contains(&driver) } else { driver == "userlevel" };
        if is_chosen && driver != "userlevel" {
            let message = format!("{name}: Click compiled without support for {driver} driver");
            diagnostics.error(&nowhere, message);
        } else if is_chosen && is_right(&router, &map, &mut diagnostics) && !is_output && !quiet {
            diagnostics.message(&nowhere, format!("{name}: configuration OK in {driver} driver"));
        }
    }
    told(&diagnostics)?;
    match is_output {
        true => write_router(&router, input.output.as_deref()),
        false => Ok(ExitCode::SUCCESS),
    }
}

/// Whether there is nothing to say about a configuration.
fn is_right(router: &Router, map: &ElementMap, diagnostics: &mut Diagnostics) -> bool {
    let before = diagnostics.list.len();
    tools::check(router, &|class| map.facts(class), diagnostics);
    let is_said = |severity| matches!(severity, Severity::Error | Severity::Warning);
    !diagnostics.list[before..].iter().any(|told| is_said(told.severity))
}

/// `click-undead`.
pub fn undead(given: &mut Given) -> Outcome {
    let (mut input, mut config_only, mut verbose) = (Input::default(), false, false);
    let tool = given.tool();
    for item in given.items() {
        match input.take(item, &tool)? {
            Some(Item::Option { name: "config", negated, .. }) => config_only = !negated,
            Some(Item::Option { name: "verbose", negated, .. }) => verbose = !negated,
            // There is one driver only.
            _ => {}
        }
    }
    let mut router = input.flat()?;
    let mut diagnostics = Diagnostics::default();
    let map = ElementMap::of(&router);
    let is_live = tools::undead(&mut router, &|class| map.facts(class), verbose, &mut diagnostics);
    // As in Click, errors in dead code do not keep it from going.
    let _ = told(&diagnostics);
    match (is_live, config_only) {
        (false, _) => Err(Failure::Told),
        (true, true) => write_config(&router, input.output.as_deref()),
        (true, false) => write_router(&router, input.output.as_deref()),
    }
}

/// `click-xform`.
pub fn xform(given: &mut Given) -> Outcome {
    let (mut input, mut is_reversed, mut n_words) = (Input::default(), false, 0);
    let mut files = Vec::new();
    let tool = given.tool();
    for item in given.items() {
        match item {
            Item::Word(word) => match clp::definition(&word) {
                Some(definition) => input.define(definition, &tool),
                None => {
                    match n_words {
                        0 => input.set_origin(Origin::named(&word))?,
                        _ => files.push(word),
                    }
                    n_words += 1;
                }
            },
            Item::Option { name: "patterns", value, .. } => files.push(value.unwrap_or_default()),
            Item::Option { name: "reverse", negated, .. } => is_reversed = !negated,
            item => {
                input.take(item, &tool)?;
            }
        }
    }
    let outlines = outlines(&files, &input)?;
    let mut router = input.flat()?;
    let outlines = outlines.ok_or(Failure::Told)?;
    if files.is_empty() {
        eprintln!("warning: no patterns read");
    }
    let patterns: Vec<Pattern> = outlines.iter().flat_map(tools::patterns).collect();
    let mut diagnostics = Diagnostics::default();
    tools::xform(&mut router, &patterns, is_reversed, &mut diagnostics);
    told(&diagnostics)?;
    write_router(&router, input.output.as_deref())
}

/// Reads files of patterns; `None` if something was told about one of them.
fn outlines(files: &[String], input: &Input) -> Result<Option<Vec<Outline>>, Failure> {
    let (mut outlines, mut has_failed) = (Vec::new(), false);
    for file in files {
        let mut diagnostics = Diagnostics::default();
        match read(&Origin::named(file), &input.variables, None, true, &mut diagnostics) {
            Ok(loaded) => {
                has_failed |= told(&diagnostics).is_err();
                outlines.push(loaded.outline);
            }
            Err(Failure::Error(message)) => {
                eprintln!("{message}");
                has_failed = true;
            }
            Err(failure) => return Err(failure),
        }
    }
    Ok((!has_failed).then_some(outlines))
}

/// `click-align`.
pub fn align(given: &mut Given) -> Outcome {
    let (mut input, mut only_asserts, mut verbose) = (Input::default(), false, false);
    let tool = given.tool();
    for item in given.items() {
        match input.take(item, &tool)? {
            Some(Item::Option { name: "assertions", negated, .. }) => only_asserts = !negated,
            Some(Item::Option { name: "verbose", .. }) => verbose = true,
            // There is one driver only.
            _ => {}
        }
    }
    let mut router = input.flat()?;
    let mut diagnostics = Diagnostics::default();
    match only_asserts {
        true => tools::assert_alignment(&mut router, &mut diagnostics),
        false => tools::align(&mut router, verbose, &mut diagnostics),
    }
    // As in Click, an element whose arguments are wrong does not keep the others from being aligned.
    let _ = told(&diagnostics);
    write_router(&router, input.output.as_deref())
}

/// `click-devirtualize`.
pub fn devirtualize(given: &mut Given) -> Outcome {
    pass(
        given,
        "weir hands over packets in batches, which makes a call cheap; the configuration is passed on",
    )
}

/// `click-fastclassifier`.
pub fn fastclassifier(given: &mut Given) -> Outcome {
    pass(given, "weir compiles all its classifiers when it starts; the configuration is passed on")
}

/// Passes a configuration on, flat.
fn pass(given: &mut Given, why: &str) -> Outcome {
    let (mut input, mut config_only, mut source_only) = (Input::default(), false, false);
    let tool = given.tool();
    for item in given.items() {
        match input.take(item, &tool)? {
            Some(Item::Option { name: "config", negated, .. }) => config_only = !negated,
            Some(Item::Option { name: "source", negated, .. }) => source_only = !negated,
            _ => {}
        }
    }
    let router = input.flat()?;
    eprintln!("click-{}: {why}", tool.name);
    match (source_only, config_only) {
        (true, _) => write(input.output.as_deref(), b"").map(|()| ExitCode::SUCCESS),
        (_, true) => write_config(&router, input.output.as_deref()),
        _ => write_router(&router, input.output.as_deref()),
    }
}
