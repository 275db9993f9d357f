//! The configuration's other copies: `candidate`, which is prepared before it runs, and `startup`, which was put by.
//!
//! The candidate begins as the running configuration; each change of it is checked as if it were to run. Committing it makes all
//! its differences one transaction. A commit that waits for confirmation is taken back when that does not come in time, or when the
//! daemon ends before; it is confirmed by an operation or by another commit (RFC 6241, section 8.4).

mod beginning;
mod commit;
mod difference;

use std::path::PathBuf;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use functions::Functions;

use crate::fault::Fault;
use crate::journal;
use crate::plane::Plane;
use crate::restconf::Service;
use crate::roles::{Rights, Who};
use crate::store::Store;
use crate::tree::Tree;

pub(crate) use beginning::{forget_unconfirmed, instead};
pub use difference::difference;

use commit::Pending;

/// The file of what was put by.
const STARTUP: &str = "startup.json";

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

/// Nothing runs what is only prepared; whether it could, the plane where it is to run tells.
struct Nowhere(Arc<dyn Plane>);

impl Plane for Nowhere {
    fn change(&self, text: &str, _title: &str) -> Result<(), String> {
        self.0.check(text)
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
    /// No copies of a store yet; `folder` keeps what outlives the daemon.
    pub fn new(running: &Store, folder: Option<PathBuf>, service: Weak<Service>) -> Copies {
        let nowhere = || Arc::new(Nowhere(running.plane().clone()));
        let empty = || Mutex::new(Store::new(running.functions().clone(), nowhere()));
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
    /// The store that a request is about: where there is no candidate, what one would begin as. The running one is locked last where
    /// several are.
    pub(crate) fn of(&self, datastore: Datastore) -> Result<MutexGuard<'_, Store>, Fault> {
        match datastore {
            Datastore::Running => Ok(self.store()),
            Datastore::Candidate => {
                let mut candidate = lock(&self.copies.candidate);
                let is_new = lock(&self.copies.base).is_none();
                let running = self.store();
                if is_new {
                    candidate.copy(&running)?;
                } else if !candidate.functions().is(running.functions()) {
                    // What other functions refuse in it can only be taken out by those that it was made with.
                    let _ = candidate.change_functions(running.functions().clone());
                }
                drop(running);
                Ok(candidate)
            }
            Datastore::Startup => {
                let mut startup = lock(&self.copies.startup);
                let file = self.copies.file(STARTUP);
                let (tree, number, _) = file
                    .as_deref()
                    .map_or_else(|| Ok((crate::store::nothing(), 0, 0)), journal::read_whole)?;
                let saved = file.and_then(|file| file.metadata().ok()?.modified().ok());
                startup.show(self.store().functions(), tree, number, saved.unwrap_or(self.started()))?;
                Ok(startup)
            }
        }
    }

    /// A change of the candidate was made, which began as the running configuration of this number if there was none before.
    pub(crate) fn begin_candidate(&self, from: u64) {
        lock(&self.copies.base).get_or_insert(from);
    }

    /// Forgets what was prepared.
    pub(crate) fn discard(&self) {
        let _candidate = lock(&self.copies.candidate);
        *lock(&self.copies.base) = None;
    }

    /// Puts the running configuration by.
    pub(crate) fn save_startup(&self) -> Result<(), Fault> {
        let file = self.copies.file(STARTUP);
        let file = file.ok_or_else(|| Fault::refused("this daemon keeps nothing (--volatile)"))?;
        let store = self.store();
        let failed =
            |error: std::io::Error| Fault::broken(format!("{}: {}", file.display(), sys::reason(&error)));
        journal::write_whole(&file, &store.tree().0, store.revision()).map_err(failed).map(drop)
    }

    /// Makes the running configuration another one, in one transaction; the daemon itself may do so, if nobody asks.
    fn make(&self, running: &mut Store, wanted: &Tree, who: Option<&Who>, title: &str) -> Result<(), Fault> {
        let edits = difference(running.functions(), running.tree(), wanted)?;
        let rights = who.map(|who| Rights::of(running.functions(), running.tree(), who));
        let may = |functions: &Functions, old: &Tree, new: &Tree| {
            rights.map_or(Ok(()), |rights| rights.permit_change(functions, old, new))
        };
        let made = running.transaction_if(&edits, title, may).map_err(|(_, fault)| fault)?;
        let own = Who { name: "weir".to_string(), ..Who::default() };
        let who = who.unwrap_or(&own);
        tracing::info!(target: "weir", who = who.name, n_edits = made.len(), revision = running.revision(), "{title}");
        self.events.changed(who, running, &made);
        Ok(())
    }
}
