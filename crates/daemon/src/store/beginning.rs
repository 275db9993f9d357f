//! What a store begins with: a configuration that was kept, or that of another store.

use std::path::Path;
use std::time::SystemTime;

use functions::Functions;
use serde_json::Value;
use yang::Data;

use super::{Store, Touched};
use crate::datastores;
use crate::edit::Edited;
use crate::fault::Fault;
use crate::journal::{Found, Journal};
use crate::tree::Tree;

impl Store {
    /// Goes on with the configuration that a folder keeps, and keeps it up to date from now on: with what was put by, if that is wanted,
    /// else with what ran before a commit that nobody confirmed, else with what ran last. The others are not run, as they may be what
    /// cannot run any more.
    pub fn begin(&mut self, folder: &Path, from_startup: bool) -> Result<(), Fault> {
        let (journal, found) = Journal::open(folder)?;
        let Some(tree) = datastores::instead(folder, from_startup)? else {
            return self.recover(journal, found);
        };
        self.load(tree)?;
        self.start(journal)?;
        if let Some(journal) = &mut self.journal {
            journal.replace(&self.tree.0)?;
            self.revision = journal.sequence();
        }
        datastores::forget_unconfirmed(folder)
    }

    /// Goes on with the configuration that a journal holds, and keeps it up to date from now on.
    pub fn recover(&mut self, journal: Journal, found: Found) -> Result<(), Fault> {
        self.load(found.tree)?;
        let mut edited = Edited { tree: &mut self.tree, data: &mut self.data, undos: Vec::new() };
        for edit in &found.edits {
            edited.apply(&self.functions, edit)?;
        }
        self.start(journal)
    }

    /// Runs the configuration that was loaded.
    fn start(&mut self, journal: Journal) -> Result<(), Fault> {
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
    pub(super) fn load(&mut self, tree: Value) -> Result<(), Fault> {
        self.data = Data::new(self.functions.modules());
        self.tree = Tree(tree);
        Ok(self.data.merge(&self.tree.0.to_string())?)
    }

    /// Becomes a copy of another store.
    pub(crate) fn copy(&mut self, other: &Store) -> Result<(), Fault> {
        self.functions = other.functions.clone();
        self.load(other.tree.0.clone())?;
        (self.bodies, self.topology) = (other.bodies.clone(), other.topology.clone());
        (self.revision, self.version, self.changed) = (other.revision, other.version, other.changed);
        Ok(())
    }

    /// Becomes a configuration that is only looked at, of this number and age.
    pub(crate) fn show(
        &mut self,
        functions: &Functions,
        tree: Value,
        number: u64,
        changed: SystemTime,
    ) -> Result<(), Fault> {
        self.functions = functions.clone();
        (self.version, self.changed) = (number, changed);
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
}
