//! What is to run next: the graphs of instances, made anew where something changed.

use std::sync::Arc;

use functions::Placement;

use super::{Store, Touched};
use crate::fault::Fault;
use crate::graph::{Bodies, Body};
use crate::thresholds;
use crate::topology::Topology;

/// Ports of instances in a compound element.
pub(super) struct Compound;

impl Placement for Compound {
    fn from(&self, idx: usize, _name: &str) -> String {
        format!("input[{idx}]")
    }

    fn to(&self, idx: usize, _name: &str) -> String {
        format!("[{idx}] output")
    }
}

impl Store {
    /// What is to run: the graphs of `touched` instances, and of those whose ports change, are made anew.
    pub(super) fn next(&self, touched: &Touched) -> Result<(Bodies, Topology), Fault> {
        self.check_names()?;
        thresholds::check(self)?;
        let first_ports = |name: &str| {
            let (function, entry) = self.instance(name)?;
            self.functions.get(function)?.ports(entry, &[]).ok()
        };
        let topology = Topology::of(&self.tree.0, &first_ports)?;
        let mut bodies = Bodies::new();
        for (name, function, entry) in self.instances() {
            let path = format!("/{function}:{function}={name}");
            let of = self
                .functions
                .get(function)
                .ok_or_else(|| Fault::unknown(format!("no function `{function}`")).at(&path))?;
            let connected: Vec<&str> = topology.connected(name).collect();
            let mut ports =
                of.ports(entry, &connected).map_err(|message| Fault::invalid(message).at(&path))?;
            let old = self.bodies.get(name).filter(|old| old.function == function);
            if let Some(old) = old.filter(|_| of.has_any_port()) {
                ports = keep_numbers(&old.ports, ports);
            }
            let is_touched = [None, Some(name.to_string())]
                .into_iter()
                .any(|name| touched.contains(&(function.to_string(), name)));
            let same = old.filter(|old| !is_touched && old.ports == ports);
            let body = match same {
                Some(old) => old.clone(),
                None => {
                    let text = of
                        .render(entry, &ports, Compound)
                        .map_err(|message| Fault::refused(message).at(&path))?;
                    Arc::new(Body { function: function.to_string(), ports, text })
                }
            };
            bodies.insert(name.to_string(), body);
        }
        Ok((bodies, topology))
    }
}

/// The ports of an instance with their numbers as they were: what it has learned is about numbers. One that nothing is connected
/// with any more stays as long as others stand behind it.
fn keep_numbers(old: &[String], wanted: Vec<String>) -> Vec<String> {
    let mut ports: Vec<String> = old.to_vec();
    ports.extend(wanted.iter().filter(|port| !old.contains(port)).cloned());
    while ports.last().is_some_and(|last| !wanted.contains(last)) {
        ports.pop();
    }
    ports
}
