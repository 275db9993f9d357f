//! The configuration that runs, and the way in which it changes: all of a transaction or nothing.

use std::collections::{BTreeSet, HashMap};
use std::sync::Arc;
use std::time::SystemTime;

use events::Watches;
use functions::{Functions, Placement, CORE};
use serde_json::{Map, Value};
use yang::{Data, Kind};

use crate::edit::{Edit, Edited};
use crate::fault::Fault;
use crate::graph::{self, Bodies, Body};
use crate::journal::{Found, Journal};
use crate::logs::Logs;
use crate::path::{self, Place, Step};
use crate::plane::Plane;
use crate::thresholds;
use crate::topology::Topology;
use crate::tree::Tree;

/// The running configuration.
pub struct Store {
    functions: Functions,
    tree: Tree,
    data: Data,
    bodies: Bodies,
    topology: Topology,
    plane: Arc<dyn Plane>,
    logs: Option<Arc<Logs>>,
    watches: Option<Watches>,
    journal: Option<Journal>,
    revision: u64,
    changed: SystemTime,
}

/// Names that no instance has: words of connections and of the Click language.
const RESERVED: [&str; 8] = ["dev", "tap", "input", "output", "define", "elementclass", "provide", "require"];

/// What changes are about: functions and instances of them; none of a function's is all.
type Touched = BTreeSet<(String, Option<String>)>;

/// Ports of instances in a compound element.
struct Compound;

impl Placement for Compound {
    fn from(&self, idx: usize, _name: &str) -> String {
        format!("input[{idx}]")
    }

    fn to(&self, idx: usize, _name: &str) -> String {
        format!("[{idx}] output")
    }
}

impl Store {
    /// A store without configuration.
    pub fn new(functions: Functions, plane: Arc<dyn Plane>) -> Store {
        let data = Data::new(functions.modules());
        Store {
            functions,
            tree: Tree::new(),
            data,
            bodies: Bodies::new(),
            topology: Topology::default(),
            plane,
            logs: None,
            watches: None,
            journal: None,
            revision: 0,
            changed: SystemTime::now(),
        }
    }

    /// Lets a log follow the configuration.
    pub fn with_logs(mut self, logs: Arc<Logs>) -> Store {
        self.logs = Some(logs);
        self
    }

    /// Lets values be looked at as the configuration says, from the next [`Store::follow`] on.
    pub(crate) fn with_watches(mut self, watches: Watches) -> Store {
        self.watches = Some(watches);
        self
    }

    /// Goes on with the configuration that a journal holds, and keeps it up to date from now on.
    pub fn recover(&mut self, journal: Journal, found: Found) -> Result<(), Fault> {
        self.load(found.tree)?;
        let mut edited = Edited { tree: &mut self.tree, data: &mut self.data, undos: Vec::new() };
        for edit in &found.edits {
            edited.apply(&self.functions, edit)?;
        }
        self.data.check()?;
        self.rebuild()?;
        self.revision = journal.sequence();
        self.journal = Some(journal);
        Ok(())
    }

    /// Writes the whole configuration, so that the next start has no changes to make: they are about the schemas of now.
    pub fn shorten_journal(&mut self) -> Result<(), Fault> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.shorten(&self.tree.0))
    }

    /// Takes a whole configuration in place of the present one, of which nothing runs yet.
    fn load(&mut self, tree: Value) -> Result<(), Fault> {
        self.data = Data::new(self.functions.modules());
        self.tree = Tree(tree);
        Ok(self.data.merge(&self.tree.0.to_string())?)
    }

    /// Becomes a copy of another store.
    pub(crate) fn copy(&mut self, other: &Store) -> Result<(), Fault> {
        self.functions = other.functions.clone();
        self.load(other.tree.0.clone())?;
        (self.bodies, self.topology) = (other.bodies.clone(), other.topology.clone());
        (self.revision, self.changed) = (other.revision, other.changed);
        Ok(())
    }

    /// Becomes a configuration that is only looked at.
    pub(crate) fn show(&mut self, functions: &Functions, tree: Value) -> Result<(), Fault> {
        self.functions = functions.clone();
        self.load(tree)
    }

    /// Makes all bodies anew and runs them.
    fn rebuild(&mut self) -> Result<(), Fault> {
        // There are none yet that could stay.
        let next = self.next(&Touched::new())?;
        self.run(next, "start")?;
        self.follow();
        Ok(())
    }

    /// Lets the log and the watches do as the configuration says now.
    pub(crate) fn follow(&self) {
        if let Some(watches) = &self.watches {
            watches.set_all(thresholds::wanted(&self.tree.0));
        }
        if let Some(logs) = &self.logs {
            logs.follow(&self.tree.0);
        }
    }

    /// The functions that instances can be of.
    pub fn functions(&self) -> &Functions {
        &self.functions
    }

    /// The configuration.
    pub fn tree(&self) -> &Tree {
        &self.tree
    }

    /// What is joined with what.
    pub fn topology(&self) -> &Topology {
        &self.topology
    }

    /// The instances' graphs.
    pub fn bodies(&self) -> &Bodies {
        &self.bodies
    }

    /// How thresholds fare.
    pub fn watched(&self) -> Vec<events::Told> {
        self.watches.as_ref().map_or_else(Vec::new, Watches::told)
    }

    /// The data plane.
    pub fn plane(&self) -> &Arc<dyn Plane> {
        &self.plane
    }

    /// The number of the configuration: another one, another number.
    pub fn revision(&self) -> u64 {
        self.revision
    }

    /// Since when it has that number.
    pub fn changed(&self) -> SystemTime {
        self.changed
    }

    /// Makes all of some changes, or none. An error tells which one it is about.
    pub fn transaction(&mut self, edits: &[Edit], title: &str) -> Result<(), (usize, Fault)> {
        let mut edited = Edited { tree: &mut self.tree, data: &mut self.data, undos: Vec::new() };
        let (mut touched, mut failed) = (Touched::new(), None);
        for (i, edit) in edits.iter().enumerate() {
            match edited.apply(&self.functions, edit) {
                Ok(places) => touched.extend(touched_by(&places)),
                Err(fault) => {
                    failed = Some((i, fault));
                    break;
                }
            }
        }
        let undos = edited.undos;
        let last = edits.len().saturating_sub(1);
        let result = match failed {
            Some(failed) => Err(failed),
            None => self.try_run(edits, &touched, title).map_err(|fault| (last, fault)),
        };
        if result.is_err() {
            self.tree.undo(undos);
            // Without order and values that are there by default, this is the same data.
            let tree = std::mem::replace(&mut self.tree, Tree::new());
            self.load(tree.0).and_then(|()| Ok(self.data.check()?)).map_err(|fault| (last, fault))?;
        }
        result
    }

    fn try_run(&mut self, edits: &[Edit], touched: &Touched, title: &str) -> Result<(), Fault> {
        self.data.check()?;
        let next = self.next(touched)?;
        let before = (self.bodies.clone(), self.topology.clone());
        self.run(next, title)?;
        if let Some(journal) = &mut self.journal {
            if let Err(fault) = journal.write(edits, &self.tree) {
                self.run(before, "undo")?;
                return Err(fault);
            }
        }
        self.revision += 1;
        self.changed = SystemTime::now();
        self.follow();
        Ok(())
    }

    /// A name is unique among all functions, and is no word that means something else.
    fn check_names(&self) -> Result<(), Fault> {
        let mut known = HashMap::new();
        for (name, function, _) in self.instances() {
            let path = format!("/{function}:{function}={name}");
            if RESERVED.contains(&name) {
                let message =
                    format!("`{name}` means something else in connections and graphs; choose another name");
                return Err(Fault::invalid(message).at(path));
            }
            if let Some(other) = known.insert(name, function) {
                let message =
                    format!("there is a {other} `{name}` already; names are unique among all functions");
                return Err(Fault::data_exists(message).at(path));
            }
        }
        Ok(())
    }

    /// All instances: name, function, and entry.
    pub fn instances(&self) -> impl Iterator<Item = (&str, &str, &Value)> {
        let lists = self.tree.0.as_object().into_iter().flatten();
        lists.filter_map(|(name, value)| Some((name.split_once(':')?.0, value.as_array()?))).flat_map(
            |(function, entries)| {
                let named = move |entry| Some((Value::as_str(Value::get(entry, "name")?)?, function, entry));
                entries.iter().filter_map(named)
            },
        )
    }

    /// The function and the entry of an instance.
    pub fn instance(&self, name: &str) -> Option<(&str, &Value)> {
        self.instances().find(|(known, _, _)| *known == name).map(|(_, function, entry)| (function, entry))
    }

    /// What is to run: the graphs of `touched` instances, and of those whose ports change, are made anew.
    fn next(&self, touched: &Touched) -> Result<(Bodies, Topology), Fault> {
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

    fn run(&mut self, (bodies, topology): (Bodies, Topology), title: &str) -> Result<(), Fault> {
        if (&bodies, &topology) == (&self.bodies, &self.topology) {
            return Ok(());
        }
        let text = graph::text(&bodies, &topology);
        self.plane.change(&text, title).map_err(|message| {
            tracing::warn!(target: "weir", title, "the graph cannot be changed: {message}");
            Fault::refused(message)
        })?;
        (self.bodies, self.topology) = (bodies, topology);
        Ok(())
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

    /// The names of modules with data, and that of weir itself.
    pub fn top_nodes(&self) -> impl Iterator<Item = &yang::Node> {
        self.functions
            .modules()
            .iter()
            .flat_map(|module| &module.nodes)
            .filter(|node| matches!(node.kind, Kind::List | Kind::Container { .. }))
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

/// The instance that a place belongs to, or all of a function.
fn touched_by(places: &[Place<'_>]) -> Option<(String, Option<String>)> {
    let first = places.first().filter(|first| first.node.module != CORE)?;
    let name = first.keys.as_ref().and_then(|keys| keys.first().cloned());
    Some((first.node.module.clone(), name))
}

/// A path to an instance.
pub fn path_of(function: &str, name: &str) -> Vec<Step> {
    let keys = Some(vec![name.to_string()]);
    vec![Step { module: Some(function.to_string()), name: function.to_string(), keys }]
}

/// No configuration, as JSON.
pub fn nothing() -> Value {
    Value::Object(Map::new())
}

/// The text of a path, for messages.
pub fn shown(functions: &Functions, steps: &[Step]) -> String {
    path::resolve(functions, steps).map(|places| path::to_text(&places)).unwrap_or_default()
}
