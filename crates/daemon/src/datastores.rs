//! The configuration's other copies: `candidate`, which is prepared before it runs, and `startup`, which was put by.
//!
//! The candidate begins as the running configuration; each change of it is checked as if it were to run. Committing it makes all
//! its differences one transaction. A commit that waits for confirmation is taken back when that does not come in time, or when the
//! daemon ends before; it is confirmed by an operation or by another commit (RFC 6241, section 8.4).

use std::path::{Path, PathBuf};
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};
use std::time::Duration;

use functions::{Functions, CORE};
use serde_json::Value;

use crate::edit::{Edit, Op};
use crate::fault::Fault;
use crate::journal;
use crate::path::Step;
use crate::plane::Plane;
use crate::restconf::Service;
use crate::roles::Who;
use crate::store::{path_of, Store};
use crate::tree::Tree;

/// What ran before a commit that waits for confirmation.
const UNCONFIRMED: &str = "unconfirmed.json";
/// The title of the change that takes such a commit back.
const TAKEN_BACK: &str = "taken back: not confirmed";

/// A copy of the configuration.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Datastore {
    /// What runs.
    #[default]
    Running,
    /// What is prepared.
    Candidate,
    /// What was put by.
    Startup,
}

impl Datastore {
    /// The copy of this name (RFC 8527).
    pub fn named(name: &str) -> Option<Datastore> {
        match name {
            "ietf-datastores:running" | "ietf-datastores:operational" => Some(Datastore::Running),
            "ietf-datastores:candidate" => Some(Datastore::Candidate),
            "ietf-datastores:startup" => Some(Datastore::Startup),
            _ => None,
        }
    }

    /// Where its data is.
    pub fn root(self) -> String {
        match self {
            Datastore::Running => "/restconf/data".to_string(),
            Datastore::Candidate => "/restconf/ds/ietf-datastores:candidate".to_string(),
            Datastore::Startup => "/restconf/ds/ietf-datastores:startup".to_string(),
        }
    }
}

/// The other copies.
pub(crate) struct Copies {
    candidate: Mutex<Store>,
    startup: Mutex<Store>,
    /// The number of the running configuration that the candidate came from; none if there is no candidate.
    base: Mutex<Option<u64>>,
    /// Locked behind the running configuration.
    pending: Mutex<Option<Pending>>,
    folder: Option<PathBuf>,
    service: Weak<Service>,
}

/// A commit that waits for confirmation.
struct Pending {
    number: u64,
    before: Value,
    /// Without it, nobody waits any more.
    _waiting: Sender<()>,
}

/// Nothing runs what is only prepared.
struct Nowhere;

impl Plane for Nowhere {
    fn change(&self, _text: &str, _title: &str) -> Result<(), String> {
        Ok(())
    }

    fn read(&self, _handler: &str) -> Result<String, String> {
        Err("it does not run".to_string())
    }

    fn read_all(&self, handlers: &[String]) -> Vec<Result<String, String>> {
        handlers.iter().map(|handler| self.read(handler)).collect()
    }

    fn write(&self, _handler: &str, _value: &str) -> Result<(), String> {
        Err("what is only prepared has no actions: commit it first".to_string())
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Copies {
    /// No copies yet; `folder` keeps what outlives the daemon.
    pub fn new(functions: &Functions, folder: Option<PathBuf>, service: Weak<Service>) -> Copies {
        let empty = || Mutex::new(Store::new(functions.clone(), Arc::new(Nowhere)));
        Copies {
            candidate: empty(),
            startup: empty(),
            base: Mutex::new(None),
            pending: Mutex::new(None),
            folder,
            service,
        }
    }

    fn file(&self, name: &str) -> Option<PathBuf> {
        self.folder.as_ref().map(|folder| folder.join(name))
    }
}

impl Service {
    /// The store that a request is about. The running one is locked last where several are.
    pub(crate) fn of(&self, datastore: Datastore) -> Result<MutexGuard<'_, Store>, Fault> {
        match datastore {
            Datastore::Running => Ok(self.store()),
            Datastore::Candidate => {
                let mut candidate = lock(&self.copies.candidate);
                let mut base = lock(&self.copies.base);
                if base.is_none() {
                    let running = self.store();
                    candidate.copy(&running)?;
                    *base = Some(running.revision());
                }
                Ok(candidate)
            }
            Datastore::Startup => {
                let mut startup = lock(&self.copies.startup);
                let file = self.copies.file("startup.json");
                let tree = file.map_or_else(
                    || Ok(crate::store::nothing()),
                    |file| journal::read_whole(&file).map(|read| read.0),
                )?;
                startup.show(self.store().functions(), tree)?;
                Ok(startup)
            }
        }
    }

    /// Makes the candidate run. With a time-out, what ran before comes back unless the commit is confirmed in time; without one, it
    /// confirms the commit that waits for that.
    pub(crate) fn commit(&self, who: &Who, timeout: Option<Duration>) -> Result<(), Fault> {
        let candidate = lock(&self.copies.candidate);
        let mut base = lock(&self.copies.base);
        let mut running = self.store();
        let mut pending = lock(&self.copies.pending);
        let Some(from) = *base else {
            if timeout.is_none() && pending.is_some() {
                return self.forget(&mut pending);
            }
            return Err(Fault::data_missing(
                "there is no candidate: change /restconf/ds/ietf-datastores:candidate first",
            ));
        };
        if running.revision() != from {
            return Err(Fault::in_use(
                "the running configuration has changed since the candidate was begun; discard the candidate and begin anew",
            ));
        }
        let before = running.tree().0.clone();
        // It is on disk before the commit is: a daemon that ends between the two takes back nothing.
        let is_first = timeout.is_some() && pending.is_none();
        if let Some(file) = self.copies.file(UNCONFIRMED).filter(|_| is_first) {
            let failed = |error: std::io::Error| Fault::broken(format!("{}: {error}", file.display()));
            journal::write_whole(&file, &before, 0).map_err(failed)?;
        }
        if let Err(fault) = self.make(&mut running, candidate.tree(), who, "commit") {
            if is_first {
                self.forget(&mut pending)?;
            }
            return Err(fault);
        }
        *base = None;
        match timeout {
            Some(timeout) => self.await_confirmation(&mut pending, before, timeout),
            None => self.forget(&mut pending)?,
        }
        Ok(())
    }

    /// Lets what ran before come back when the time is up. A second commit before that keeps what the first one has kept.
    fn await_confirmation(&self, pending: &mut Option<Pending>, before: Value, timeout: Duration) {
        let (number, before) = match pending.take() {
            Some(first) => (first.number + 1, first.before),
            None => (1, before),
        };
        let (waiting, end) = channel();
        *pending = Some(Pending { number, before, _waiting: waiting });
        let service = self.copies.service.clone();
        std::thread::spawn(move || {
            if end.recv_timeout(timeout) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let Some(service) = service.upgrade() else { return };
            if let Err(fault) = service.take_back(Some(number)) {
                tracing::error!(target: "weir", "an unconfirmed commit cannot be taken back: {}", fault.message);
            }
        });
    }

    /// Keeps what a commit has made.
    pub(crate) fn confirm(&self) -> Result<(), Fault> {
        let mut pending = lock(&self.copies.pending);
        if pending.is_none() {
            return Err(none_waits());
        }
        self.forget(&mut pending)
    }

    /// Takes back what was committed and not confirmed.
    pub(crate) fn cancel(&self) -> Result<(), Fault> {
        self.take_back(None)
    }

    /// Takes back what waits for confirmation: that of this number, if another has come meanwhile nothing.
    fn take_back(&self, number: Option<u64>) -> Result<(), Fault> {
        let mut running = self.store();
        let mut pending = lock(&self.copies.pending);
        let Some(waits) = pending.as_ref() else {
            return if number.is_some() { Ok(()) } else { Err(none_waits()) };
        };
        if number.is_some_and(|number| number != waits.number) {
            return Ok(());
        }
        let before = Tree(waits.before.clone());
        self.make(&mut running, &before, &own(), TAKEN_BACK)?;
        self.forget(&mut pending)
    }

    /// Forgets what was prepared.
    pub(crate) fn discard(&self) {
        let _candidate = lock(&self.copies.candidate);
        *lock(&self.copies.base) = None;
    }

    /// Puts the running configuration by.
    pub(crate) fn save_startup(&self) -> Result<(), Fault> {
        let file = self.copies.file("startup.json");
        let file = file.ok_or_else(|| Fault::refused("this daemon keeps nothing (--volatile)"))?;
        let store = self.store();
        let failed = |error: std::io::Error| Fault::broken(format!("{}: {error}", file.display()));
        journal::write_whole(&file, &store.tree().0, store.revision()).map_err(failed).map(drop)
    }

    /// Runs what was put by.
    pub fn load_startup(&self) -> Result<(), Fault> {
        let tree = self.of(Datastore::Startup)?.tree().0.clone();
        self.make(&mut self.store(), &Tree(tree), &own(), "startup")
    }

    /// Takes back, at the start, what was committed and not confirmed when the daemon ended.
    pub fn take_back_unconfirmed(&self) -> Result<(), Fault> {
        let Some(file) = self.copies.file(UNCONFIRMED).filter(|file| file.exists()) else {
            return Ok(());
        };
        let (before, _, _) = journal::read_whole(&file)?;
        self.make(&mut self.store(), &Tree(before), &own(), TAKEN_BACK)?;
        remove(&file)
    }

    /// Makes the running configuration another one, in one transaction.
    fn make(&self, running: &mut Store, wanted: &Tree, who: &Who, title: &str) -> Result<(), Fault> {
        let edits = difference(running.functions(), running.tree(), wanted);
        running.transaction(&edits, title).map_err(|(_, fault)| fault)?;
        let shown = |edit: &Edit| crate::store::shown(running.functions(), &edit.path);
        let texts: Vec<String> = edits.iter().map(shown).collect();
        self.events.changed(who, running.revision(), &edits, &texts);
        Ok(())
    }

    /// Forgets a commit that waits: it is confirmed, or taken back.
    fn forget(&self, pending: &mut Option<Pending>) -> Result<(), Fault> {
        *pending = None;
        self.copies.file(UNCONFIRMED).map_or(Ok(()), |file| remove(&file))
    }
}

fn none_waits() -> Fault {
    Fault::data_missing("no commit waits for confirmation")
}

/// Whoever changes the configuration if nobody asks.
fn own() -> Who {
    Who { name: "weir".to_string(), ..Who::default() }
}

fn remove(file: &Path) -> Result<(), Fault> {
    match std::fs::remove_file(file) {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::broken(format!("{}: {error}", file.display())))
        }
        _ => Ok(()),
    }
}

/// The changes that make one configuration of another: instance by instance, and each part of what is about all.
pub fn difference(functions: &Functions, old: &Tree, new: &Tree) -> Vec<Edit> {
    let mut edits = Vec::new();
    for module in functions.modules().iter() {
        for node in &module.nodes {
            let member = crate::tree::member_name(0, node);
            let (before, after) = (old.0.get(&member), new.0.get(&member));
            if before == after {
                continue;
            }
            if module.name == CORE {
                let path =
                    vec![Step { module: Some(module.name.clone()), name: node.name.clone(), keys: None }];
                edits.push(edit(path, after));
                continue;
            }
            let entries = |tree: Option<&Value>| tree.and_then(Value::as_array).cloned().unwrap_or_default();
            let (before, after) = (entries(before), entries(after));
            let name = |entry: &Value| entry.get("name").map(functions::text_of).unwrap_or_default();
            let find =
                |list: &[Value], wanted: &str| list.iter().find(|entry| name(entry) == wanted).cloned();
            for entry in &after {
                if find(&before, &name(entry)).as_ref() != Some(entry) {
                    edits.push(edit(path_of(&module.name, &name(entry)), Some(entry)));
                }
            }
            for entry in before.iter().filter(|entry| find(&after, &name(entry)).is_none()) {
                edits.push(edit(path_of(&module.name, &name(entry)), None));
            }
        }
    }
    edits
}

fn edit(path: Vec<Step>, value: Option<&Value>) -> Edit {
    let op = if value.is_some() { Op::Replace } else { Op::Remove };
    Edit { op, path, value: value.cloned(), at: None }
}
