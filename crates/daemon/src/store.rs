//! The configuration that runs, and the way in which it changes: all of a transaction or nothing.

mod beginning;
mod choices;
mod next;
mod trials;
mod upgrade;

use std::collections::{BTreeSet, HashMap};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::Arc;
use std::time::SystemTime;

use events::Watches;
use functions::{Functions, CORE};
use serde_json::{Map, Value};
use yang::{Data, Kind};

use crate::drops::Owners;
use crate::edit::{Edit, Edited, Op};
use crate::fault::Fault;
use crate::graph::{self, told, Bodies};
use crate::journal::Journal;
use crate::logs::Logs;
use crate::path::{self, Place, Step};
use crate::plane::Plane;
use crate::thresholds;
use crate::topology::{Endpoint, Topology};
use crate::tree::{Tree, Undo};

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
    version: u64,
    changed: SystemTime,
}

/// How many configurations there were since the process began, of all stores.
static VERSIONS: AtomicU64 = AtomicU64::new(0);

/// Names that no instance has: words of the Click language. Those of connections are none either.
const RESERVED: [&str; 6] = ["input", "output", "define", "elementclass", "provide", "require"];

/// What changes are about: functions and instances of them; none of a function's is all.
type Touched = BTreeSet<(String, Option<String>)>;

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
            version: 0,
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

    /// A number that no store has for two configurations as long as the process runs, also where one is discarded.
    pub fn version(&self) -> u64 {
        self.version
    }

    /// Since when it has that number.
    pub fn changed(&self) -> SystemTime {
        self.changed
    }

    /// Makes all of some changes, or none. An error tells which one it is about. All that has changed: also what went because it has
    /// no place beside the new values any more.
    pub fn transaction(&mut self, edits: &[Edit], title: &str) -> Result<Vec<Edit>, (usize, Fault)> {
        self.transaction_if(edits, title, |_, _, _| Ok(()))
    }

    /// As [`Store::transaction`], if what is there before and after it may be.
    pub fn transaction_if(
        &mut self,
        edits: &[Edit],
        title: &str,
        may: impl FnOnce(&Functions, &Tree, &Tree) -> Result<(), Fault>,
    ) -> Result<Vec<Edit>, (usize, Fault)> {
        let before = self.tree.clone();
        let mut edited = Edited { tree: &mut self.tree, data: &mut self.data, undos: Vec::new() };
        let (mut touched, mut failed) = (Touched::new(), None);
        for (i, edit) in edits.iter().enumerate() {
            let made = edited.check_instance(&self.functions, edit);
            match made.and_then(|()| edited.apply(&self.functions, edit)) {
                Ok(places) => touched.extend(touched_by(&places)),
                Err(fault) => {
                    failed = Some((i, fault));
                    break;
                }
            }
        }
        let mut undos = edited.undos;
        let last = edits.len().saturating_sub(1);
        let result = match failed {
            Some(failed) => Err(failed),
            None => may(&self.functions, &before, &self.tree)
                .and_then(|()| self.try_run(edits, &before, &mut undos, touched, title))
                .map_err(|fault| (last, fault)),
        };
        if result.is_err() {
            self.tree.undo(undos);
            // Without order and values that are there by default, this is the same data.
            let tree = std::mem::replace(&mut self.tree, Tree::new());
            self.load(tree.0).and_then(|()| Ok(self.data.check()?)).map_err(|fault| (last, fault))?;
        }
        result
    }

    fn try_run(
        &mut self,
        edits: &[Edit],
        before: &Tree,
        undos: &mut Vec<Undo>,
        mut touched: Touched,
        title: &str,
    ) -> Result<Vec<Edit>, Fault> {
        let gone = self.prune(undos)?;
        for edit in &gone {
            let places = path::resolve(&self.functions, &edit.path)?;
            if before.get(&places) != edit.value.as_ref() {
                let message = "this has no place beside the other values: its condition (`when`) is not satisfied, or there is another \
                               case of its choice";
                return Err(Fault::invalid(message).at(path::to_text(&places)));
            }
            touched.extend(touched_by(&places));
        }
        let edits: Vec<Edit> =
            edits.iter().cloned().chain(gone.into_iter().map(|edit| Edit { value: None, ..edit })).collect();
        let next = self.next(&touched)?;
        let before = (self.bodies.clone(), self.topology.clone());
        self.run(next, title)?;
        if let Some(journal) = &mut self.journal {
            if let Err(fault) = journal.write(&edits, &self.tree) {
                self.run(before, "undo")?;
                return Err(fault);
            }
        }
        self.revision += 1;
        self.is_another();
        self.follow();
        Ok(edits)
    }

    /// Checks everything by the schemas, and removes what has no place beside the rest any more: the changes that do so, with the
    /// values that went.
    fn prune(&mut self, undos: &mut Vec<Undo>) -> Result<Vec<Edit>, Fault> {
        let mut gone = Vec::new();
        for steps in self.data.check()? {
            let step = |(module, name, keys): yang::Step| Step {
                module: Some(module),
                name,
                keys: Some(keys).filter(|keys| !keys.is_empty()),
            };
            let path: Vec<Step> = steps.into_iter().map(step).collect();
            let places = path::resolve(&self.functions, &path)?;
            let value = self.tree.get(&places).cloned();
            undos.extend(self.tree.remove(&places));
            gone.push(Edit { op: Op::Remove, path, value, at: None });
        }
        Ok(gone)
    }

    /// What is told of it may differ from now on.
    fn is_another(&mut self) {
        self.version = VERSIONS.fetch_add(1, Ordering::Relaxed) + 1;
        self.changed = SystemTime::now();
    }

    /// A name is unique among all functions, and is no word that means something else.
    fn check_names(&self) -> Result<(), Fault> {
        let mut known = HashMap::new();
        for (name, function, _) in self.instances() {
            let path = format!("/{function}:{function}={name}");
            if RESERVED.contains(&name) || Endpoint::kinds().any(|kind| kind == name) {
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

    fn run(&mut self, (bodies, topology): (Bodies, Topology), title: &str) -> Result<(), Fault> {
        if (&bodies, &topology) == (&self.bodies, &self.topology) {
            return Ok(());
        }
        let text = graph::text(&bodies, &topology);
        self.plane.change(&text, title).map_err(|message| {
            tracing::warn!(target: "weir", title, "the graph cannot be changed: {message}");
            let told = told::read(&message, &bodies, &topology);
            Fault::refused(told.iter().map(told::Told::to_string).collect::<Vec<_>>().join("\n"))
        })?;
        (self.bodies, self.topology) = (bodies, topology);
        if let Some(logs) = &self.logs {
            logs.know(Owners::of(&self.topology));
        }
        Ok(())
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
