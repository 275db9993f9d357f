//! Texts about graphs that do not run: `flatten`, `fmt`, `graph`.

use std::io::Error;
use std::path::{Path, PathBuf};
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

/// What names standard input.
const STDIN: &str = "-";

/// `weir fmt`.
pub fn format(options: FmtOptions) -> Result<ExitCode, String> {
    let mut code = ExitCode::SUCCESS;
    let stdin = [STDIN.to_string()];
    let files = if options.files.is_empty() { &stdin[..] } else { &options.files };
    for file in files {
        let is_stdin = file == STDIN;
        let file = if is_stdin { "<stdin>" } else { file };
        let text =
            if is_stdin { std::io::read_to_string(std::io::stdin()) } else { std::fs::read_to_string(file) };
        let text = text.map_err(|error| format!("{file}: {}", reason(&error)))?;
        let Some(new) = formatted(file, &text) else {
            code = ExitCode::FAILURE;
            continue;
        };
        if options.check && new != text {
            println!("{file}");
            code = ExitCode::FAILURE;
        } else if options.write && !is_stdin && new != text {
            replace(file, &new)?;
        } else if !options.check && (is_stdin || !options.write) {
            print!("{new}");
        }
    }
    Ok(code)
}

/// Replaces a file at once, so that an interruption leaves the old or the new text. A link stays: the file that it leads to is
/// replaced.
fn replace(file: &str, text: &str) -> Result<(), String> {
    let failed = |path: &Path, error: Error| format!("{}: {}", path.display(), reason(&error));
    let file = std::fs::canonicalize(file).map_err(|error| failed(Path::new(file), error))?;
    let mut beside = file.clone().into_os_string();
    beside.push(".weir-fmt");
    let beside = PathBuf::from(beside);
    std::fs::write(&beside, text).map_err(|error| failed(&beside, error))?;
    if let Ok(metadata) = std::fs::metadata(&file) {
        // Keeping the mode is a courtesy: the text matters.
        let _ = std::fs::set_permissions(&beside, metadata.permissions());
    }
    std::fs::rename(&beside, &file).map_err(|error| failed(&file, error))
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
