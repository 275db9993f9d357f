//! `weir check`: all errors, no run.

use std::process::ExitCode;

use graph::{Diagnostic, Diagnostics, Place, Severity};
use serde_json::json;

use crate::command::CheckOptions;
use crate::failure::Exit;
use crate::load::{self, Request};

/// Parses, checks and configures a graph, and tells all that is wrong with it.
pub fn run(options: CheckOptions) -> Exit {
    let request = Request::from_options(&options.source)?;
    let text = request.text.read()?;
    let mut diagnostics = Diagnostics::default();
    let place = Place { file: Some(request.text.name().into()), ..Place::default() };
    for name in request.unknown_variables(&text) {
        diagnostics.warning(&place, format!("{name}=...: it has no variable ${name}"));
    }
    if let Some(graph) = load::parse(&request, &text, &mut diagnostics) {
        if graph.elements.is_empty() {
            diagnostics.warning(&place, load::NO_ELEMENTS);
        }
        load::configure(&request, graph, &mut diagnostics);
    }
    if options.json {
        let list: Vec<_> = diagnostics.list.iter().map(as_json).collect();
        println!("{:#}", json!({ "ok": !diagnostics.has_errors(), "diagnostics": list }));
    } else {
        load::tell(&diagnostics);
    }
    Ok(if diagnostics.has_errors() { ExitCode::FAILURE } else { ExitCode::SUCCESS })
}

fn as_json(diagnostic: &Diagnostic) -> serde_json::Value {
    let severity = match diagnostic.severity {
        Severity::Error => "error",
        Severity::Warning => "warning",
        Severity::Message => "message",
    };
    // A context is a sentence, such as "While configuring 'x :: X'".
    let element = diagnostic.context.as_deref().map(|context| context.split('\'').nth(1).unwrap_or(context));
    json!({
        "severity": severity,
        "file": diagnostic.place.file.as_deref(),
        "line": diagnostic.place.line,
        "column": diagnostic.place.column,
        "element": element,
        "message": diagnostic.message,
        "help": diagnostic.help,
    })
}
