//! How messages of a stage begin: many stages of a pipeline tell what happens to their standard input on the same terminal.

use std::fmt::Display;
use std::sync::OnceLock;

static NAME: OnceLock<String> = OnceLock::new();

/// Says what messages call this stage, such as `count`.
pub fn call_stage(name: &str) {
    // A process is one stage.
    let _ = NAME.set(name.to_string());
}

/// What the user is told: `weir: count: MESSAGE`.
pub fn told(message: impl Display) -> String {
    match NAME.get() {
        Some(name) => format!("weir: {name}: {message}"),
        None => format!("weir: {message}"),
    }
}
