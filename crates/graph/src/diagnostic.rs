//! Diagnostics: what is wrong with something that a person typed, where, and what to do.

use std::fmt;
use std::sync::Arc;

/// A place in a text: file, line and column, the latter two counted from 1 (0: unknown).
#[derive(Clone, PartialEq, Eq, Hash, Default)]
pub struct Place {
    /// File name as the user gave it, or `config` for an expression given on the command line.
    pub file: Option<Arc<str>>,
    /// Line, from 1; 0 if unknown.
    pub line: u32,
    /// Column in characters, from 1; 0 if unknown.
    pub column: u32,
}

/// How bad a [`Diagnostic`] is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    /// The graph cannot run.
    Error,
    /// The graph runs, but the user should know.
    Warning,
    /// Something to tell, neither wrong nor doubtful.
    Message,
}

/// One thing to tell the user about a text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// How bad it is.
    pub severity: Severity,
    /// Where.
    pub place: Place,
    /// The element it is about, as `name :: Class`, where there is one (Click's "While configuring" context).
    pub context: Option<String>,
    /// One sentence: Click's own words where Click has such a message. May hold several lines.
    pub message: String,
    /// What to do about it.
    pub help: Option<String>,
    /// Where Click says it is, when that is not [`Diagnostic::place`]: often nowhere, or the end of the file.
    pub landmark: Option<Place>,
}

/// Collects diagnostics, so that all errors of a text are told at once.
#[derive(Clone, Debug, Default)]
pub struct Diagnostics {
    /// In the order in which they were found.
    pub list: Vec<Diagnostic>,
}

impl fmt::Display for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // A name given by `#line` may bring its own separator.
        let ends = |file: &str| file.ends_with(|c: char| c == ':' || c.is_ascii_whitespace());
        let colon = if self.file.as_deref().is_some_and(ends) { "" } else { ":" };
        match (&self.file, self.line, self.column) {
            (None, 0, _) => Ok(()),
            (None, line, _) => write!(f, "line {line}"),
            (Some(file), 0, _) => f.write_str(file),
            (Some(file), line, 0) => write!(f, "{file}{colon}{line}"),
            (Some(file), line, column) => write!(f, "{file}{colon}{line}:{column}"),
        }
    }
}

impl fmt::Debug for Place {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Place({self})")
    }
}

impl Place {
    /// The place as Click prints it: `FILE:LINE`, without the column.
    pub fn landmark(&self) -> String {
        Place { column: 0, ..self.clone() }.to_string()
    }
}

impl Diagnostics {
    /// Records an error at `place`.
    pub fn error(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Error, place, message.into())
    }

    /// Records a warning at `place`.
    pub fn warning(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Warning, place, message.into())
    }

    /// Records something to tell at `place`, neither wrong nor doubtful.
    pub fn message(&mut self, place: &Place, message: impl Into<String>) -> &mut Diagnostic {
        self.push(Severity::Message, place, message.into())
    }

    /// Records things to tell, which are about no place, in front of the `at`th diagnostic.
    pub fn insert_messages(&mut self, at: usize, messages: impl Iterator<Item = String>) {
        let after = self.list.split_off(at.min(self.list.len()));
        for message in messages {
            self.message(&Place::default(), message);
        }
        self.list.extend(after);
    }

    /// Whether an error was recorded.
    pub fn has_errors(&self) -> bool {
        self.n_errors() > 0
    }

    /// How many errors were recorded.
    pub fn n_errors(&self) -> usize {
        self.list.iter().filter(|d| d.severity == Severity::Error).count()
    }

    fn push(&mut self, severity: Severity, place: &Place, message: String) -> &mut Diagnostic {
        self.list.push(Diagnostic {
            severity,
            place: place.clone(),
            context: None,
            message,
            help: None,
            landmark: None,
        });
        self.list.last_mut().expect("an item was just pushed")
    }
}

impl Diagnostic {
    /// Adds the remedy.
    pub fn help(&mut self, help: impl Into<String>) -> &mut Self {
        self.help = Some(help.into());
        self
    }

    /// Sets where Click says it is.
    pub fn landmark(&mut self, landmark: Place) -> &mut Self {
        self.landmark = Some(landmark);
        self
    }

    /// Sets the element that it is about, as `name :: Class`.
    pub fn context(&mut self, context: impl Into<String>) -> &mut Self {
        self.context = Some(context.into());
        self
    }
}
