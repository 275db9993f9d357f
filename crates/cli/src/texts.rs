//! Texts about graphs that do not run: `flatten`, `fmt`, `graph`.

use std::io::Read;
use std::process::ExitCode;

use graph::{Diagnostics, Graph};

use crate::command::{FmtOptions, GraphOptions, SourceOptions};
use element::output::reason;

use crate::load::{self, Request};

/// Parses; tells what is wrong in weir's form.
pub fn parse(source: &SourceOptions) -> Result<Option<Graph>, String> {
    let request = Request::from_options(source)?;
    let text = request.text.read()?;
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&request, &text, &mut diagnostics);
    load::tell(&diagnostics);
    Ok(graph)
}

/// `weir flatten`.
pub fn flatten(source: SourceOptions) -> Result<ExitCode, String> {
    let Some(graph) = parse(&source)? else { return Ok(ExitCode::FAILURE) };
    print!("{}", lang::flatten(&graph));
    Ok(ExitCode::SUCCESS)
}

/// `weir graph`.
pub fn graph(options: GraphOptions) -> Result<ExitCode, String> {
    let Some(graph) = parse(&options.source)? else { return Ok(ExitCode::FAILURE) };
    let mut diagnostics = Diagnostics::default();
    let facts = |name: &str| catalog::stock().get(name).map(|class| &class.facts);
    let checked = graph::check(&graph, &facts, &mut diagnostics);
    load::tell(&diagnostics);
    let text = if options.json {
        graph::json(&graph, checked.as_ref())
    } else if options.mermaid {
        graph::mermaid(&graph, checked.as_ref())
    } else {
        graph::dot(&graph, checked.as_ref())
    };
    println!("{}", text.trim_end());
    Ok(if checked.is_some() { ExitCode::SUCCESS } else { ExitCode::FAILURE })
}

/// `weir fmt`.
pub fn format(options: FmtOptions) -> Result<ExitCode, String> {
    if options.files.is_empty() {
        let mut text = String::new();
        std::io::stdin().read_to_string(&mut text).map_err(|e| format!("<stdin>: {}", reason(&e)))?;
        return Ok(match formatted("<stdin>", &text) {
            Some(new) => {
                print!("{new}");
                ExitCode::SUCCESS
            }
            None => ExitCode::FAILURE,
        });
    }
    let mut code = ExitCode::SUCCESS;
    for file in &options.files {
        let text = std::fs::read_to_string(file).map_err(|e| format!("{file}: {}", reason(&e)))?;
        let Some(new) = formatted(file, &text) else {
            code = ExitCode::FAILURE;
            continue;
        };
        if options.check && new != text {
            println!("{file}");
            code = ExitCode::FAILURE;
        } else if options.write && new != text {
            replace(file, &new)?;
        } else if !options.check && !options.write {
            print!("{new}");
        }
    }
    Ok(code)
}

/// Replaces a file at once, so that an interruption leaves the old or the new text.
fn replace(file: &str, text: &str) -> Result<(), String> {
    let beside = format!("{file}.weir-fmt");
    std::fs::write(&beside, text).map_err(|e| format!("{beside}: {}", reason(&e)))?;
    if let Ok(metadata) = std::fs::metadata(file) {
        // Keeping the mode is a courtesy: the text matters.
        let _ = std::fs::set_permissions(&beside, metadata.permissions());
    }
    std::fs::rename(&beside, file).map_err(|e| format!("{file}: {}", reason(&e)))
}

fn formatted(name: &str, text: &str) -> Option<String> {
    match lang::format(&lang::Source { name, text }) {
        Ok(text) => Some(text),
        Err(diagnostics) => {
            load::tell(&diagnostics);
            None
        }
    }
}
