//! What elements tell while they are configured and initialised, on its way to the diagnostics.

use args::Told;
use element::Placed;
use graph::{Diagnostics, Place, Severity};

/// What is told, as a line.
pub(crate) fn line((severity, message): &Told) -> String {
    match severity {
        Severity::Warning => format!("warning: {message}"),
        Severity::Error | Severity::Message => message.clone(),
    }
}

/// A line that an element told while it was initialised.
pub(crate) fn remark(line: String) -> Told {
    match line.strip_prefix("warning: ") {
        Some(warning) => (Severity::Warning, warning.to_string()),
        None => (Severity::Message, line),
    }
}

/// Passes what an element told on, in order, under a heading.
pub(crate) fn tell(diagnostics: &mut Diagnostics, during: &str, element: &graph::Element, told: Vec<Told>) {
    for (severity, message) in told {
        let placed = Placed::new(&message).or_else(|| Placed::in_line(&message));
        let landmark = placed.map(|placed| Place { file: Some(placed.place.into()), line: 0, column: 0 });
        let file = placed.filter(|placed| placed.is_declared);
        let file = file.map(|placed| format!("({})", placed.place)).unwrap_or_default();
        let context = format!("{during} '{}{file}'", element.declaration());
        let message = placed.map(|placed| placed.message.to_string()).unwrap_or(message);
        let told = match severity {
            Severity::Error => diagnostics.error(&element.place, message),
            Severity::Warning => diagnostics.warning(&element.place, message),
            Severity::Message => diagnostics.message(&element.place, message),
        };
        told.landmark = landmark;
        told.context = Some(context);
    }
}
