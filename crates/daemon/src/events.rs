//! What happens, for whoever listens: changes of the configuration (RFC 6470), of the graph, of ports and of values.

use std::sync::mpsc::{sync_channel, Receiver, SyncSender, TrySendError};
use std::sync::{Mutex, PoisonError};
use std::time::{SystemTime, UNIX_EPOCH};

use serde_json::{json, Value};

use crate::edit::{Edit, Op};
use crate::roles::Who;

/// Events that a listener may be behind; one that is further behind is let go.
const BACKLOG: usize = 1024;
/// Most listeners at a time.
const MAX_LISTENERS: usize = 256;

/// Those who listen.
#[derive(Default)]
pub struct Events(Mutex<Vec<SyncSender<Value>>>);

impl Events {
    /// Nobody listens yet.
    pub fn new() -> Events {
        Events::default()
    }

    /// Listens from now on; none if too many do already.
    pub fn listen(&self) -> Option<Receiver<Value>> {
        let (sender, receiver) = sync_channel(BACKLOG);
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        if all.len() >= MAX_LISTENERS {
            return None;
        }
        all.push(sender);
        Some(receiver)
    }

    /// Tells of something: `name` is the notification, with its module.
    pub fn tell(&self, name: &str, value: Value) {
        let mut notification = serde_json::Map::new();
        notification.insert("eventTime".into(), now().into());
        notification.insert(name.into(), value);
        let event = json!({ "ietf-restconf:notification": notification });
        let mut all = self.0.lock().unwrap_or_else(PoisonError::into_inner);
        all.retain(|listener| {
            !matches!(
                listener.try_send(event.clone()),
                Err(TrySendError::Full(_) | TrySendError::Disconnected(_))
            )
        });
    }

    /// Tells of a transaction.
    pub fn changed(&self, who: &Who, revision: u64, edits: &[Edit], paths: &[String]) {
        let edit = |(edit, path): (&Edit, &String)| {
            let operation = match edit.op {
                Op::Create => "create",
                Op::Merge => "merge",
                Op::Replace | Op::Move => "replace",
                Op::Delete | Op::Remove => "delete",
            };
            json!({ "target": path, "operation": operation })
        };
        let edits: Vec<Value> = edits.iter().zip(paths).map(edit).collect();
        let value = json!({ "changed-by": { "username": who.name }, "datastore": "running", "edit": edits, "weir:revision": revision.to_string() });
        self.tell("ietf-netconf-notifications:netconf-config-change", value);
    }
}

/// The time now, as RFC 3339 writes it.
pub fn now() -> String {
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    humantime::format_rfc3339_millis(UNIX_EPOCH + since).to_string()
}
