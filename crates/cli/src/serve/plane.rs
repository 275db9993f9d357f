//! The daemon's data plane: a graph that runs in this process.

use daemon::Plane;
use element::Runtime;
use engine::change::{Refusal, Wish};
use graph::{Diagnostics, Severity};

use crate::control::server::Reach;

/// No element: names are looked up from the top.
const TOP: usize = usize::MAX;
/// How often a change is prepared anew because somebody else has changed the graph.
const MAX_TRIES: usize = 20;
/// What is told of a graph that has ended.
const ENDED: &str = "the daemon is about to end";

/// A running graph.
pub struct Running(Reach);

impl Running {
    /// The graph that is reached so.
    pub fn new(reach: Reach) -> Running {
        Running(reach)
    }
}

impl Plane for Running {
    fn change(&self, text: &str, title: &str) -> Result<(), String> {
        for _ in 0..MAX_TRIES {
            let snapshot = self.0.ask(|world| world.snapshot()).ok_or(ENDED)??;
            let mut diagnostics = Diagnostics::default();
            let told = |diagnostics: &Diagnostics| {
                let errors = diagnostics.list.iter().filter(|told| told.severity == Severity::Error);
                let texts: Vec<String> =
                    errors.map(|told| snapshot.loader().text(told).trim_end().to_string()).collect();
                texts.join("\n")
            };
            let Some(graph) = snapshot.loader().parse("graph", text, &mut diagnostics) else {
                return Err(told(&diagnostics));
            };
            let wish = Wish { graph, title: title.to_string(), ..Wish::default() };
            let Some(prepared) = snapshot.prepare(wish, &mut diagnostics) else {
                return Err(told(&diagnostics));
            };
            let changed = self.0.ask(move |world| {
                let mut diagnostics = Diagnostics::default();
                (world.change(prepared, &mut diagnostics).map(drop), diagnostics)
            });
            match changed.ok_or(ENDED)? {
                (Ok(()), _) => return Ok(()),
                (Err(Refusal::Failed), diagnostics) => return Err(told(&diagnostics)),
                (Err(Refusal::Stale), _) => {}
            }
        }
        Err("others change the graph all the time; try again".to_string())
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
}
