//! What a store begins with: a configuration that was kept, or that of another store.

use std::path::Path;
use std::time::SystemTime;

use functions::Functions;
use serde_json::Value;
use yang::Data;

use super::{choices, shown, Store, Touched};
use crate::datastores;
use crate::edit::Edited;
use crate::fault::Fault;
use crate::journal::{Found, Journal};
use crate::roles;
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
        self.start(tree, journal)?;
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
        let tree = std::mem::replace(&mut self.tree, Tree::new());
        self.start(tree.0, journal)
    }

    /// Runs a configuration that was kept.
    fn start(&mut self, tree: Value, journal: Journal) -> Result<(), Fault> {
        let gone = self.load_kept(tree)?;
        for path in &gone {
            tracing::warn!(target: "weir", path, "removed: an earlier weir has kept this, which has no place beside the other values");
        }
        for fault in roles::lost(&self.functions, &self.tree, &Tree::new()) {
            tracing::warn!(target: "weir", "{}", fault.message);
        }
        self.rebuild()?;
        self.revision = journal.sequence();
        self.journal = Some(journal);
        match gone.is_empty() {
            true => Ok(()),
            // The changes to come are about what is there now.
            false => self.shorten_journal(),
        }
    }

    /// Takes a configuration that was kept, without what has no place in it: an earlier weir has kept that. The paths to what has gone.
    fn load_kept(&mut self, mut tree: Value) -> Result<Vec<String>, Fault> {
        let mut gone = choices::settle(&self.functions, &mut tree);
        self.load(tree)?;
        let pruned = self.prune(&mut Vec::new())?;
        gone.extend(pruned.iter().map(|edit| shown(&self.functions, &edit.path)));
        Ok(gone)
    }

    /// Writes the whole configuration, so that the next start has no changes to make: they are about the schemas of now.
    pub fn shorten_journal(&mut self) -> Result<(), Fault> {
        self.journal.as_mut().map_or(Ok(()), |journal| journal.shorten(&self.tree.0))
    }

    /// Takes a whole configuration, which was valid, in place of the present one, of which nothing runs yet.
    pub(super) fn load(&mut self, tree: Value) -> Result<(), Fault> {
        self.tree = Tree(tree);
        self.data = Data::of_valid(self.functions.modules(), &self.tree.0.to_string())?;
        Ok(())
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
        match self.load_kept(tree.clone()) {
            Ok(_) => Ok(()),
            // What is wrong with it is told when it is to run.
            Err(_) => self.load(tree),
        }
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
