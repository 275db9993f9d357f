//! What a daemon begins with instead of what ran last.

use std::path::Path;

use serde_json::Value;

use super::commit::{remove, UNCONFIRMED};
use super::STARTUP;
use crate::fault::Fault;
use crate::journal;

/// The configuration that takes the place of the one that ran last, if one does: what was put by, if that is wanted, or what ran before
/// a commit that waited for confirmation when the daemon ended.
pub(crate) fn instead(folder: &Path, from_startup: bool) -> Result<Option<Value>, Fault> {
    let file = folder.join(if from_startup { STARTUP } else { UNCONFIRMED });
    if !file.exists() {
        if !from_startup {
            return Ok(None);
        }
        // Not as if an empty one had been put by: what ran last would be lost.
        let file = file.display();
        let message = format!(
            "{file} is not there: nothing was saved (`weir candidate save`); begin without --startup"
        );
        return Err(Fault::refused(message));
    }
    if !from_startup {
        tracing::warn!(target: "weir", "the last commit is taken back: nobody has confirmed it");
    }
    journal::read_whole(&file).map(|(tree, ..)| Some(tree))
}

/// Forgets a commit that waited for confirmation.
pub(crate) fn forget_unconfirmed(folder: &Path) -> Result<(), Fault> {
    remove(&folder.join(UNCONFIRMED))
}
