//! Functions that come, go and change while instances run.

use std::sync::Arc;

use functions::{Functions, Rendering};
use serde_json::json;
use yang::Data;

use super::next::Compound;
use super::{Store, Touched};
use crate::fault::Fault;
use crate::graph::{self, told, Bodies, Body};
use crate::topology::Topology;

/// The instance with which a function is tried out.
const TRIAL: &str = "trial";

impl Store {
    /// Whether the graph of a function's instance can be made with the values that are there by default. Where an instance needs
    /// others, only the first instance can show it.
    pub fn try_out(&self, functions: &Functions, name: &str) -> Result<(), Fault> {
        let Some(function) = functions.get(name) else { return Ok(()) };
        let entry = json!({ "name": TRIAL });
        let mut data = Data::new(functions.modules());
        let tree = json!({ format!("{name}:{name}"): [entry] });
        if data.merge(&tree.to_string()).and_then(|()| data.check()).is_err() {
            return Ok(());
        }
        let refused = |message: String| {
            Fault::invalid(format!("an instance of `{name}` with its defaults cannot be made: {message}"))
        };
        let ports = function.ports(&entry, &[]).map_err(refused)?;
        let text = match function.try_render(&entry, &ports, Compound) {
            Ok(text) => text,
            // It wants values, and says so.
            Err(Rendering::Raised(_)) => return Ok(()),
            Err(Rendering::Wrong(message)) => return Err(refused(message)),
        };
        let body = Body { function: name.to_string(), ports, text };
        let (bodies, topology) = (Bodies::from([(TRIAL.to_string(), Arc::new(body))]), Topology::default());
        self.plane.check(&graph::text(&bodies, &topology)).map_err(|message| {
            let told = told::read(&message, &bodies, &topology);
            refused(told.into_iter().map(|told| told.text).collect::<Vec<_>>().join("\n"))
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
            Ok(()) => self.data = data,
            Err(_) => self.functions = old,
        }
        kept
    }
}
