//! The daemon's data plane: a graph that runs in this process.

use std::sync::Arc;

use daemon::Plane;
use element::{Runtime, TOP};
use engine::change::{Snapshot, Wish};
use events::Ports;
use graph::{Diagnostics, Severity};

use crate::control::change::Failure;
use crate::control::server::Reach;

/// What is told of a graph that has ended.
const ENDED: &str = "the daemon is about to end";

/// A running graph.
pub struct Running(Reach, Arc<Ports>);

impl Running {
    /// The graph that is reached so, and what is known of its devices.
    pub fn new(reach: Reach, ports: Arc<Ports>) -> Running {
        Running(reach, ports)
    }
}

/// The graph of a text.
fn wish<'t>(
    text: &'t str,
    title: &'t str,
) -> impl Fn(&Snapshot, &mut Diagnostics) -> Result<Wish, String> + 't {
    move |snapshot, diagnostics| {
        // What is wrong is in the diagnostics.
        let graph = snapshot.loader().parse("graph", text, diagnostics).ok_or_else(String::new)?;
        Ok(Wish { graph, title: title.to_string(), ..Wish::default() })
    }
}

/// What is told of a graph that cannot run.
fn errors(failure: Failure) -> String {
    match failure {
        Failure::Ended => ENDED.to_string(),
        Failure::Told(all) => {
            let errors = all.into_iter().filter(|(severity, _)| *severity == Severity::Error);
            errors.map(|(_, text)| text).collect::<Vec<_>>().join("\n")
        }
    }
}

impl Plane for Running {
    fn change(&self, text: &str, title: &str) -> Result<(), String> {
        self.0.change(wish(text, title)).map(drop).map_err(errors)
    }

    fn check(&self, text: &str) -> Result<(), String> {
        self.0.plan(wish(text, "check")).map(drop).map_err(errors)
    }

    fn read(&self, handler: &str) -> Result<String, String> {
        self.read_all(&[handler.to_string()]).pop().unwrap_or_else(|| Err(ENDED.to_string()))
    }

    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>> {
        let (n, handlers) = (handlers.len(), handlers.to_vec());
        let values = self
            .0
            .ask(move |world| handlers.iter().map(|handler| world.read_handler(TOP, handler, "")).collect());
        values.unwrap_or_else(|| vec![Err(ENDED.to_string()); n])
    }

    fn write(&self, handler: &str, value: &str) -> Result<(), String> {
        let (handler, value) = (handler.to_string(), value.to_string());
        self.0.ask(move |world| world.write_handler(TOP, &handler, &value)).ok_or(ENDED)?
    }

    fn device_state(&self, device: &str) -> Option<&'static str> {
        self.1.state(device)
    }
}
