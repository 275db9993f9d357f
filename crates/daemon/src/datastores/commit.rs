//! Commits of the candidate, which may wait for confirmation.

use std::path::Path;
use std::sync::mpsc::{channel, RecvTimeoutError, Sender};
use std::time::Duration;

use serde_json::Value;

use super::lock;
use crate::fault::Fault;
use crate::journal;
use crate::restconf::Service;
use crate::roles::{Role, Who};
use crate::tree::Tree;

/// What ran before a commit that waits for confirmation.
pub(super) const UNCONFIRMED: &str = "unconfirmed.json";
/// The title of the change that takes such a commit back.
const TAKEN_BACK: &str = "taken back: not confirmed";

/// A commit that waits for confirmation.
pub(super) struct Pending {
    number: u64,
    /// Who has committed last.
    who: Who,
    before: Value,
    /// Without it, nobody waits any more.
    _waiting: Sender<()>,
}

impl Service {
    /// Makes the candidate run. With a time-out, what ran before comes back unless the commit is confirmed in time; without one, it
    /// confirms the commit that waits for that.
    pub(crate) fn commit(&self, who: &Who, timeout: Option<Duration>) -> Result<(), Fault> {
        let candidate = lock(&self.copies.candidate);
        let mut base = lock(&self.copies.base);
        let mut running = self.store();
        let mut pending = lock(&self.copies.pending);
        may_end(&pending, who)?;
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
        let number = pending.as_ref().map_or(1, |first| first.number + 1);
        let waiting = timeout.map(|timeout| self.await_confirmation(number, timeout)).transpose()?;
        let before = running.tree().0.clone();
        let is_first = timeout.is_some() && pending.is_none();
        let kept = self.copies.file(UNCONFIRMED).filter(|_| is_first);
        make_with_file(kept.as_deref(), &before, || {
            self.make(&mut running, candidate.tree(), Some(who), "commit")
        })?;
        *base = None;
        match waiting {
            Some(waiting) => {
                // It waits for this long from now on; nobody is there to hear that only where it failed.
                let _ = waiting.send(());
                // A second commit before that keeps what the first one has kept.
                let before = pending.take().map_or(before, |first| first.before);
                *pending = Some(Pending { number, who: who.clone(), before, _waiting: waiting });
                Ok(())
            }
            None => self.forget(&mut pending).map_err(|fault| Fault {
                message: format!("{}: what was committed is not confirmed", fault.message),
                ..fault
            }),
        }
    }

    /// Begins what lets that which ran before come back when the time is up. The time begins with what is sent; where nothing is,
    /// there was no commit.
    fn await_confirmation(&self, number: u64, timeout: Duration) -> Result<Sender<()>, Fault> {
        let (waiting, end) = channel();
        let service = self.copies.service.clone();
        let wait = move || {
            if end.recv().is_err() || end.recv_timeout(timeout) != Err(RecvTimeoutError::Timeout) {
                return;
            }
            let Some(service) = service.upgrade() else { return };
            if let Err(fault) = service.take_back(|pending| {
                // If another has come meanwhile, that waits.
                Ok(pending.as_ref().is_some_and(|waits| waits.number == number))
            }) {
                tracing::error!(target: "weir", "an unconfirmed commit cannot be taken back: {}", fault.message);
            }
        };
        let begun = sys::thread::start("confirm", sys::thread::STACK, wait);
        begun.map(|_| waiting).map_err(|error| Fault::broken(sys::no_thread(&error)))
    }

    /// Refuses changes of the running configuration but by commits as long as one waits: what ran before comes back whole, and would
    /// take them back, too. Whoever calls this holds the running configuration.
    pub(crate) fn none_may_wait(&self) -> Result<(), Fault> {
        let Some(Pending { who, .. }) = &*lock(&self.copies.pending) else { return Ok(()) };
        Err(Fault::in_use(format!(
            "a commit of {} waits for confirmation, and would take this change back with it if none comes: confirm or cancel it first \
             (`weir candidate confirm`, `weir candidate cancel`)",
            who.name
        )))
    }

    /// Keeps what a commit has made.
    pub(crate) fn confirm(&self, who: &Who) -> Result<(), Fault> {
        let mut pending = lock(&self.copies.pending);
        if pending.is_none() {
            return Err(none_waits());
        }
        may_end(&pending, who)?;
        self.forget(&mut pending)
    }

    /// Takes back what was committed and not confirmed.
    pub(crate) fn cancel(&self, who: &Who) -> Result<(), Fault> {
        self.take_back(|pending| match pending {
            Some(_) => may_end(pending, who).map(|()| true),
            None => Err(none_waits()),
        })
    }

    /// Takes back what waits for confirmation, if that is wanted.
    fn take_back(
        &self,
        is_wanted: impl FnOnce(&Option<Pending>) -> Result<bool, Fault>,
    ) -> Result<(), Fault> {
        let mut running = self.store();
        let mut pending = lock(&self.copies.pending);
        let is_wanted = is_wanted(&pending)?;
        let Some(waits) = pending.as_ref().filter(|_| is_wanted) else { return Ok(()) };
        let before = Tree(waits.before.clone());
        self.make(&mut running, &before, None, TAKEN_BACK)?;
        self.forget(&mut pending)
    }

    /// Forgets a commit that waits: it is confirmed, or taken back. It waits on as long as the next start would take it back.
    fn forget(&self, pending: &mut Option<Pending>) -> Result<(), Fault> {
        self.copies.file(UNCONFIRMED).map_or(Ok(()), |file| remove(&file))?;
        *pending = None;
        Ok(())
    }
}

/// Whether somebody may confirm a commit that waits, or take it back: who has committed, or who administers.
fn may_end(pending: &Option<Pending>, who: &Who) -> Result<(), Fault> {
    match pending {
        Some(waits) if who.role != Role::Administer && who.name != waits.who.name => {
            Err(Fault::in_use(format!(
                "a commit of {} waits for confirmation: {} or an administrator confirms or cancels it first",
                waits.who.name, waits.who.name
            )))
        }
        _ => Ok(()),
    }
}

fn none_waits() -> Fault {
    Fault::data_missing("no commit waits for confirmation")
}

/// Commits by `make`, with what ran before in a file, if there is to be one. It is on disk before the commit is: a daemon that ends
/// between the two takes back nothing.
fn make_with_file(
    file: Option<&Path>,
    before: &Value,
    make: impl FnOnce() -> Result<(), Fault>,
) -> Result<(), Fault> {
    let Some(file) = file else { return make() };
    let failed =
        |error: std::io::Error| Fault::broken(format!("{}: {}", file.display(), sys::reason(&error)));
    journal::write_whole(file, before, 0).map_err(failed)?;
    let made = make();
    if made.is_err() {
        if let Err(fault) = remove(file) {
            tracing::error!(target: "weir", "the next start takes changes back: {}", fault.message);
        }
    }
    made
}

/// Removes a file for good: it does not come back when the machine stops.
pub(super) fn remove(file: &Path) -> Result<(), Fault> {
    let removed = std::fs::remove_file(file).and_then(|()| match file.parent() {
        Some(folder) => std::fs::File::open(folder)?.sync_all(),
        None => Ok(()),
    });
    match removed {
        Err(error) if error.kind() != std::io::ErrorKind::NotFound => {
            Err(Fault::broken(format!("{}: {}", file.display(), sys::reason(&error))))
        }
        _ => Ok(()),
    }
}
