//! Texts about graphs that do not run: `flatten`, `fmt`, `graph`.

mod bytes;

use std::io::Error;
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use graph::{Diagnostics, Graph};

use crate::command::{FmtOptions, GraphOptions, SourceOptions};
use crate::failure::{Exit, Failure};
use element::output::reason;

use crate::load::{self, Origin, Request};

/// Parses; tells what is wrong in weir's form.
pub fn parse(source: &SourceOptions) -> Result<Option<Graph>, Failure> {
    let request = Request::from_options(source)?;
    let text = request.text.read()?;
    let mut diagnostics = Diagnostics::default();
    let graph = load::parse(&request, &text, &mut diagnostics);
    load::tell(&diagnostics);
    Ok(graph)
}

/// `weir flatten`.
pub fn flatten(source: SourceOptions) -> Exit {
    let Some(graph) = parse(&source)? else { return Ok(ExitCode::FAILURE) };
    print!("{}", lang::flatten(&graph));
    Ok(ExitCode::SUCCESS)
}

/// `weir graph`.
pub fn graph(options: GraphOptions) -> Exit {
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
pub fn format(options: FmtOptions) -> Exit {
    let mut code = ExitCode::SUCCESS;
    let stdin = [STDIN.to_string()];
    let files = if options.files.is_empty() { &stdin[..] } else { &options.files };
    for file in files {
        let is_stdin = file == STDIN;
        let file = if is_stdin { "<stdin>" } else { file };
        let bytes = if is_stdin { Origin::Stdin } else { Origin::File(file.to_string()) }.bytes()?;
        let text = bytes::to_text(&bytes);
        let Some(new) = formatted(file, &text, &bytes) else {
            code = ExitCode::FAILURE;
            continue;
        };
        if options.check && new != text {
            println!("{file}");
            code = ExitCode::FAILURE;
        } else if options.write && !is_stdin && new != text {
            replace(file, &bytes::of_text(&new))?;
        } else if !options.check && (is_stdin || !options.write) {
            crate::print::bytes(&bytes::of_text(&new));
        }
    }
    Ok(code)
}

/// Replaces a file at once, so that an interruption leaves the old or the new text. A link stays: the file that it leads to is
/// replaced.
fn replace(file: &str, text: &[u8]) -> Result<(), String> {
    let failed = |path: &Path, error: Error| format!("{}: {}", path.display(), reason(&error));
    let file = std::fs::canonicalize(file).map_err(|error| failed(Path::new(file), error))?;
    let mut beside = file.clone().into_os_string();
    beside.push(".weir-fmt");
    let beside = PathBuf::from(beside);
    let written = std::fs::write(&beside, text).map_err(|error| failed(&beside, error));
    if let Ok(metadata) = std::fs::metadata(&file) {
        // Keeping the mode is a courtesy: the text matters.
        let _ = std::fs::set_permissions(&beside, metadata.permissions());
    }
    let replaced =
        written.and_then(|()| std::fs::rename(&beside, &file).map_err(|error| failed(&file, error)));
    if replaced.is_err() {
        // A part of a text, as a full disk leaves it, is of no use to anybody.
        let _ = std::fs::remove_file(&beside);
    }
    replaced
}

/// The text in the standard layout; what is wrong with `bytes`, which it stands for, is told.
fn formatted(name: &str, text: &str, bytes: &[u8]) -> Option<String> {
    let refused = match lang::format(&lang::Source { name, text }) {
        Ok(text) => return Some(text),
        Err(diagnostics) => diagnostics,
    };
    // Of bytes that are no UTF-8 it is told as by other commands.
    let read = String::from_utf8_lossy(bytes);
    load::tell(&lang::format(&lang::Source { name, text: &read }).err().unwrap_or(refused));
    None
}
