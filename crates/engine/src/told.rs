//! What elements tell while they are configured and initialised, on its way to the diagnostics.

use args::{Names, Told};
use element::{split_notes, Placed};
use graph::{Diagnostics, Place, Severity};

/// What is told last when a graph cannot be.
pub(crate) const NOT_INITIALIZED: &str = "Router could not be initialized!";

/// What is told, as a line; notes stay in front.
pub(crate) fn line((severity, message): &Told) -> String {
    match severity {
        Severity::Warning => {
            let (notes, message) = split_notes(message);
            format!("{notes}warning: {message}")
        }
        Severity::Error | Severity::Message => message.clone(),
    }
}

/// A line that an element told while it was initialised.
pub(crate) fn remark(line: String) -> Told {
    let (notes, message) = split_notes(&line);
    match message.strip_prefix("warning: ") {
        Some(warning) => (Severity::Warning, format!("{notes}{warning}")),
        None => (Severity::Message, line),
    }
}

/// Passes on what programs of the host told while an element was configured: as they are, in front of what the element tells.
pub(crate) fn tell_of_host(diagnostics: &mut Diagnostics, names: &Names) {
    for line in names.host().said() {
        diagnostics.message(&Place::default(), line);
    }
}

/// Passes what an element told on, in order, under a heading.
pub(crate) fn tell(diagnostics: &mut Diagnostics, during: &str, element: &graph::Element, told: Vec<Told>) {
    for (severity, message) in told {
        let Placed { place, is_declared, .. } = Placed::new(&message);
        let file = place.as_ref().filter(|_| is_declared);
        let file = file.map(|place| format!("({place})")).unwrap_or_default();
        let context = format!("{during} '{}{file}'", element.declaration());
        let lines: Vec<&str> = message.split('\n').map(|line| split_notes(line).1).collect();
        let message = lines.join("\n");
        let landmark = place.map(|place| Place { file: Some(place.into()), line: 0, column: 0 });
        let told = match severity {
            Severity::Error => diagnostics.error(&element.place, message),
            Severity::Warning => diagnostics.warning(&element.place, message),
            Severity::Message => diagnostics.message(&element.place, message),
        };
        told.landmark = landmark;
        told.context = Some(context);
    }
}
