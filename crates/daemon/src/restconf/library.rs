//! What the server tells of itself: entry points, capabilities, modules (RFC 8040, sections 3.1, 3.3 and 9; RFC 8525).

use serde_json::{json, Value};

use super::{Reply, DATA};
use crate::fault::Fault;
use crate::path::Step;
use crate::store::Store;

/// The revision of ietf-yang-library that is told (RFC 8525).
const YANG_LIBRARY: &str = "2019-01-04";

/// `/.well-known/host-meta`: where RESTCONF is.
pub fn host_meta() -> Reply {
    let text = "<XRD xmlns='http://docs.oasis-open.org/ns/xri/xrd-1.0'>\n  <Link rel='restconf' href='/restconf'/>\n</XRD>\n";
    Reply::text(200, "application/xrd+xml", text)
}

/// `/restconf`.
pub fn root() -> Reply {
    Reply::json(
        200,
        &json!({ "ietf-restconf:restconf": { "data": {}, "operations": {}, "yang-library-version": YANG_LIBRARY } }),
    )
}

/// `/restconf/yang-library-version`.
pub fn version() -> Reply {
    Reply::json(200, &json!({ "ietf-restconf:yang-library-version": YANG_LIBRARY }))
}

/// `/yang/NAME.yang`: the text of a module.
pub fn module(store: &Store, name: &str) -> Result<Reply, Fault> {
    let plain = name.strip_suffix(".yang").unwrap_or(name);
    let plain = plain.split('@').next().unwrap_or(plain);
    let module = store.functions().modules().get(plain);
    let module = module.ok_or_else(|| Fault::missing(format!("no module `{plain}`")))?;
    Ok(Reply::text(200, "application/yang", module.text.clone()))
}

/// Data that the server makes itself.
pub fn data(store: &Store, steps: &[Step]) -> Option<Reply> {
    let first = steps.first()?;
    let (name, value) = match first.module.as_deref()? {
        "ietf-yang-library" => (&first.name, library(store)),
        "ietf-restconf-monitoring" => (&first.name, monitoring()),
        _ => return None,
    };
    let whole = format!("{}:{name}", first.module.as_deref().unwrap_or_default());
    let mut value = value.get(&whole)?;
    let mut shown = whole.clone();
    for step in &steps[1..] {
        if step.keys.is_some() {
            return None;
        }
        value = value.get(&step.name)?;
        shown = format!("{}:{}", first.module.as_deref().unwrap_or_default(), step.name);
    }
    let value: Value = Value::Object(std::iter::once((shown, value.clone())).collect());
    Some(Reply::text(200, DATA, value.to_string() + "\n"))
}

fn library(store: &Store) -> Value {
    let module = |module: &yang::Module| {
        let revision = module.revision.clone().unwrap_or_default();
        let mut entry = json!({ "name": module.name, "namespace": module.namespace, "location": [format!("/yang/{}.yang", module.name)] });
        if !revision.is_empty() {
            entry["revision"] = revision.into();
        }
        entry
    };
    let modules: Vec<Value> = store.functions().modules().iter().map(module).collect();
    let content = format!("{:08x}", crc32fast::hash(json!(modules).to_string().as_bytes()));
    json!({ "ietf-yang-library:yang-library": {
        "module-set": [{ "name": "all", "module": modules }],
        "schema": [{ "name": "all", "module-set": ["all"] }],
        "datastore": [
            { "name": "ietf-datastores:running", "schema": "all" },
            { "name": "ietf-datastores:operational", "schema": "all" },
        ],
        "content-id": content,
    } })
}

fn monitoring() -> Value {
    let capability = |name: &str| format!("urn:ietf:params:restconf:capability:{name}");
    let capabilities: Vec<String> = [
        "defaults:1.0?basic-mode=explicit",
        "depth:1.0",
        "fields:1.0",
        "with-defaults:1.0",
        "yang-patch:1.0",
    ]
    .map(capability)
    .to_vec();
    json!({ "ietf-restconf-monitoring:restconf-state": {
        "capabilities": { "capability": capabilities },
        "streams": { "stream": [{
            "name": "NETCONF",
            "description": "Everything that happens.",
            "replay-support": false,
            "access": [{ "encoding": "json", "location": "/restconf/streams/NETCONF" }],
        }] },
    } })
}
