//! What happens, as the API tells it: changes of the configuration (RFC 6470), of functions, of the graph, of ports and of values.

use std::sync::Arc;

use events::{Event, Hub};
use functions::CORE;
use serde_json::{json, Map, Value};

use crate::edit::{Edit, Op};
use crate::roles::Who;
use crate::store::{self, Store};

pub use events::now;

/// The event that is the notification of another module, and that module.
const CONFIG_CHANGE: (&str, &str) = ("netconf-config-change", "ietf-netconf-notifications");

/// Those who listen.
#[derive(Clone, Default)]
pub struct Events(pub Arc<Hub>);

impl Events {
    /// Tells of a transaction, after which the configuration is that of `store`.
    pub(crate) fn changed(&self, who: &Who, store: &Store, edits: &[Edit]) {
        let revision = store.revision();
        let edit = |edit: &Edit| {
            let operation = match edit.op {
                Op::Create => "create",
                Op::Merge => "merge",
                Op::Replace | Op::Move => "replace",
                Op::Delete | Op::Remove => "delete",
            };
            let target = store::shown(store.functions(), &edit.path);
            json!({ "target": target, "operation": operation })
        };
        let edits: Vec<Value> = edits.iter().map(edit).collect();
        let facts = json!({ "changed-by": { "username": who.name }, "datastore": "running", "edit": edits, "weir:revision": revision.to_string() });
        self.0.tell(Event::new(CONFIG_CHANGE.0, facts));
    }

    /// Tells of a function that was added, upgraded or removed.
    pub fn function_changed(&self, function: &str, change: &str) {
        self.0.tell(Event::new("function-changed", json!({ "function": function, "change": change })));
    }
}

/// An event as a notification in JSON (RFC 8040, section 6.4).
pub fn notification(event: &Event) -> Value {
    let module = if event.event == CONFIG_CHANGE.0 { CONFIG_CHANGE.1 } else { CORE };
    let mut notification = Map::new();
    notification.insert("eventTime".into(), event.time.as_str().into());
    notification.insert(format!("{module}:{}", event.event), Value::Object(event.facts.clone()));
    json!({ "ietf-restconf:notification": notification })
}
