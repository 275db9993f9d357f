//! Reads the rules that arguments and files give.

use detect::rules::parse::Reader;
use detect::rules::RuleSet;
use element::output::reason;
use graph::{Diagnostic, Diagnostics, Severity};

/// Where rules come from.
#[derive(Clone, Debug, Default)]
pub struct Sources {
    /// Lines of rules, which come first.
    pub inline: Vec<String>,
    /// Names of files.
    pub files: Vec<String>,
}

impl Sources {
    /// Reads all rules; else all mistakes, a line each.
    pub fn read(&self) -> Result<RuleSet, Vec<String>> {
        let (mut reader, mut diagnostics) = (Reader::default(), Diagnostics::default());
        let mut told = Vec::new();
        reader.read("RULE", &self.inline.join("\n"), &mut diagnostics);
        for file in &self.files {
            // Rules may search for bytes that are no UTF-8, but their texts are only told.
            match std::fs::read(file) {
                Ok(bytes) => reader.read(file, &String::from_utf8_lossy(&bytes), &mut diagnostics),
                Err(error) => told.push(format!("{file}: {}", reason(&error))),
            }
        }
        told.extend(diagnostics.list.iter().filter(|d| d.severity == Severity::Error).map(text));
        match told.is_empty() {
            true => Ok(reader.finish()),
            false => Err(told),
        }
    }
}

fn text(diagnostic: &Diagnostic) -> String {
    let help = diagnostic.help.as_ref().map_or_else(String::new, |help| format!("; {help}"));
    format!("{}: {}{help}", diagnostic.place, diagnostic.message)
}
