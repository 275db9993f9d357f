//! Functions that come, go and change while instances run.

use std::sync::Arc;

use functions::{Function, Functions, Rendering};
use serde_json::{json, Value};
use yang::Data;

use super::next::Compound;
use super::trials::{self, Trial};
use super::{Store, Touched};
use crate::fault::Fault;
use crate::graph::{self, told, Bodies, Body};
use crate::topology::Topology;

/// The instance with which a function is tried out.
const TRIAL: &str = "trial";
/// What is told of a class that there is none of, whatever else an instance is given.
const UNKNOWN_CLASS: [&str; 2] = ["undeclared element ", "unknown element class "];

impl Store {
    /// Whether the graph of a function's instance can be made with the values that are there by default, and knows its elements with
    /// others as well. Where an instance needs more values, only the first instance can show it.
    pub fn try_out(&self, functions: &Functions, name: &str) -> Result<(), Fault> {
        let Some(function) = functions.get(name) else { return Ok(()) };
        let mut tried = Vec::new();
        let refused = |with: &str, message: String| {
            Fault::invalid(format!("an instance of `{name}` with {with} cannot be made: {message}"))
        };
        let by_default = json!({ "name": TRIAL });
        self.try_entry(functions, function, &by_default, &mut tried)
            .map_err(|message| refused("its defaults", message))?;
        for Trial { with, entry } in trials::of(function.node, &by_default) {
            match self.try_entry(functions, function, &entry, &mut tried) {
                // All else may be due to what is not given besides.
                Err(message) if UNKNOWN_CLASS.iter().any(|words| message.contains(words)) => {
                    return Err(refused(&with, message))
                }
                _ => {}
            }
        }
        // Where no graph could be made, names of elements may not have been, either.
        match trials::unknown_handler(function.node, function.package, &tried).filter(|_| !tried.is_empty()) {
            Some(message) => Err(Fault::invalid(format!("{name}.yang: {message}"))),
            None => Ok(()),
        }
    }

    /// Whether the graph of an instance can be made, unless one of the same text was tried.
    fn try_entry(
        &self,
        functions: &Functions,
        function: Function<'_>,
        entry: &Value,
        tried: &mut Vec<String>,
    ) -> Result<(), String> {
        let name = function.name();
        let mut data = Data::new(functions.modules());
        let tree = json!({ format!("{name}:{name}"): [entry] });
        if data.merge(&tree.to_string()).and_then(|()| data.check()).is_err() {
            return Ok(());
        }
        let ports = function.ports(entry, &[])?;
        let text = match function.try_render(entry, &ports, Compound) {
            Ok(text) => text,
            // It wants values, and says so.
            Err(Rendering::Raised(_)) => return Ok(()),
            Err(Rendering::Wrong(message)) => return Err(message),
        };
        if tried.contains(&text) {
            return Ok(());
        }
        tried.push(text.clone());
        let body = Body { function: name.to_string(), ports, text };
        let (bodies, topology) = (Bodies::from([(TRIAL.to_string(), Arc::new(body))]), Topology::default());
        self.plane.check(&graph::text(&bodies, &topology)).map_err(|message| {
            let told = told::read(&message, &bodies, &topology);
            told.into_iter().map(|told| told.text).collect::<Vec<_>>().join("\n")
        })
    }

    /// Goes over to other functions; instances of those that changed go on with their new graphs and their state.
    pub fn change_functions(&mut self, functions: Functions) -> Result<(), Fault> {
        let mut data = Data::new(functions.modules());
        if let Some(function) =
            self.instances().map(|(_, function, _)| function).find(|name| functions.get(name).is_none())
        {
            return Err(Fault::in_use(format!("there are instances of `{function}`; delete them first")));
        }
        data.merge(&self.tree.0.to_string())?;
        data.check()?;
        let package = |functions: &Functions, name| functions.get(name).map(|one| one.package.clone());
        let changed = functions.iter().map(|function| function.name());
        let changed = changed.filter(|name| package(&self.functions, name) != package(&functions, name));
        let touched: Touched = changed.map(|name| (name.to_string(), None)).collect();
        let old = std::mem::replace(&mut self.functions, functions);
        let before = (self.bodies.clone(), self.topology.clone());
        let run = self.next(&touched).and_then(|next| self.run(next, "functions"));
        let kept = run.and_then(|()| {
            let kept = self.shorten_journal();
            kept.or_else(|fault| self.run(before, "undo").and(Err(fault)))
        });
        match kept {
            // Values that are there by default may be others.
            Ok(()) => {
                self.data = data;
                self.is_another();
            }
            Err(_) => self.functions = old,
        }
        kept
    }
}
