//! What is wrong with a pattern.

use std::fmt;

/// Whether a message is about something that cannot be used.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Severity {
    Error,
    Warning,
}

/// A message about a pattern, or about all of them. Its text is Click's.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Diagnostic {
    /// The pattern's index, if the message is about one; it is then part of the text.
    pub pattern: Option<usize>,
    pub severity: Severity,
    pub message: String,
}

impl Diagnostic {
    pub(crate) fn error(pattern: Option<usize>, message: String) -> Diagnostic {
        Diagnostic { pattern, severity: Severity::Error, message }
    }

    pub(crate) fn wrong_count(n_outputs: usize) -> Diagnostic {
        Diagnostic::error(None, format!("need {n_outputs} arguments, one per output port"))
    }

    pub(crate) fn unused_output(output: usize) -> Diagnostic {
        let message = format!("output {output} matches no packets");
        Diagnostic { pattern: None, severity: Severity::Warning, message }
    }

    /// The text without `warning:`, for a caller that reports severity by itself.
    pub fn text(&self) -> String {
        self.pattern.map_or_else(String::new, |pattern| format!("pattern {pattern}: ")) + &self.message
    }

    pub fn is_error(&self) -> bool {
        self.severity == Severity::Error
    }
}

impl fmt::Display for Diagnostic {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(pattern) = self.pattern {
            write!(f, "pattern {pattern}: ")?;
        }
        let severity = if self.is_error() { "" } else { "warning: " };
        write!(f, "{severity}{}", self.message)
    }
}
