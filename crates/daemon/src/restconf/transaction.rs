//! Changes that requests make: many edits are one transaction.

use serde_json::json;

use super::precondition::{self, etag};
use super::{body, patch, Reply, Request, Service, PATCH};
use crate::datastores::Datastore;
use crate::edit::Edit;
use crate::fault::Fault;
use crate::path::{self, Step};
use crate::roles::{self, Access, Rights};
use crate::store::Store;

impl Service {
    /// Many edits in one transaction (RFC 8072).
    pub(super) fn yang_patch(&self, request: &Request, steps: &[Step]) -> Result<Reply, Fault> {
        let store = self.of(request.datastore)?;
        super::data::entries_are_there(&store, &path::resolve(store.functions(), steps)?)?;
        let patch = patch::Patch::parse(&store, steps, body::json(request, &[PATCH])?)?;
        let (id, names) = (patch.id.clone(), patch.names.clone());
        match self.transact(store, request, patch.edits) {
            Ok(tag) => Ok(Reply::json(
                200,
                &json!({ "ietf-yang-patch:yang-patch-status": { "patch-id": id, "ok": [null] } }),
            )
            .with("etag", tag)),
            Err((_, fault)) if matches!(fault.status, 403 | 412) => Err(fault),
            Err((i, fault)) => Ok(Reply::json(fault.status, &patch::failed(&id, names.get(i), &fault))),
        }
    }

    /// Makes changes in one transaction: the answer of this status.
    pub(super) fn change(
        &self,
        store: std::sync::MutexGuard<'_, Store>,
        request: &Request,
        edits: Vec<Edit>,
        status: u16,
    ) -> Result<Reply, Fault> {
        let tag = self.transact(store, request, edits).map_err(|(_, fault)| fault)?;
        Ok(Reply::empty(status).with("etag", tag))
    }

    /// Makes changes if whoever asks may, and if nobody else has made others meanwhile; the tag of what is there then.
    fn transact(
        &self,
        mut store: std::sync::MutexGuard<'_, Store>,
        request: &Request,
        edits: Vec<Edit>,
    ) -> Result<String, (usize, Fault)> {
        let rights = self.rights_in(&store, request);
        let (mut first, mut is_there) = (None, true);
        for (i, edit) in edits.iter().enumerate() {
            let places = path::resolve(store.functions(), &edit.path).map_err(|fault| (i, fault))?;
            let text = path::to_text(&places);
            rights.permit(Access::Write, &text).map_err(|fault| (i, fault))?;
            first.get_or_insert(text);
            // Where the target of another method is not there, nothing is changed.
            is_there &= request.method != "PUT" || store.tree().get(&places).is_some();
        }
        precondition::check(request, &store, is_there).map_err(|fault| (0, fault))?;
        if request.datastore == Datastore::Running {
            self.none_may_wait().map_err(|fault| (0, fault))?;
        }
        let (begin, before) = (std::time::Instant::now(), store.revision());
        let first = first.as_deref().unwrap_or_default();
        let title = format!("{} {first}", request.method);
        // What an edit is about may hold what whoever asks may not write.
        let made = store.transaction_if(&edits, &title, |functions, old, new| {
            rights.permit_change(functions, old, new)?;
            roles::lost(functions, new, old).next().map_or(Ok(()), Err)
        });
        self.facts.transacted(made.is_ok(), begin.elapsed());
        let (who, n_edits) = (&request.who.name, edits.len());
        let made = made.map_err(|(i, fault)| {
            tracing::info!(target: "weir", who, path = first, n_edits, "refused: {}", fault.message);
            match fault.status {
                // The resource has the method; it is what is in the body that cannot be written.
                405 => (i, Fault { status: 400, tag: "invalid-value", ..fault }),
                _ => (i, fault),
            }
        })?;
        match request.datastore {
            Datastore::Running => {
                tracing::info!(target: "weir", who, path = first, n_edits, revision = store.revision(), "changed");
                self.events.changed(&request.who, &store, &made);
            }
            Datastore::Candidate => {
                tracing::info!(target: "weir", who, path = first, n_edits, "prepared");
                self.begin_candidate(before);
            }
            Datastore::Startup => {}
        }
        Ok(etag(&store))
    }

    /// What whoever asks may do. The rules are those that run.
    pub(super) fn rights_in(&self, store: &Store, request: &Request) -> Rights {
        match request.datastore {
            Datastore::Running => Rights::of(store.functions(), store.tree(), &request.who),
            _ => self.rights(&request.who),
        }
    }
}
