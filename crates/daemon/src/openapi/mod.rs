//! The OpenAPI document (3.1), made from the schemas of all functions.

mod fixed;
mod operations;
mod paths;
mod pattern;
mod schemas;
mod types;

use serde_json::{json, Value};

use crate::store::Store;

const ABOUT: &str = "RESTCONF (RFC 8040) over the configuration and the state of functions. The paths below /restconf/data are those \
of the functions that are there now: each is a list of instances. The same data is at /restconf/ds/ietf-datastores:running and \
/restconf/ds/ietf-datastores:operational. Every resource also answers HEAD where it answers GET, and OPTIONS. Data that is right by \
this document can still be refused with 400 or 409: references must lead somewhere, patterns of packets must be in the language of \
IPFilter, addresses must be of hosts, and the whole must be a graph that can run.";

/// The document.
pub fn document(store: &Store) -> Value {
    let mut walk = paths::Walk::default();
    walk.whole(store.top_nodes());
    for node in store.top_nodes() {
        walk.node(node, &paths::Above::default());
    }
    let paths::Walk { mut paths, mut schemas } = walk;
    for (path, item) in fixed::paths() {
        paths.insert(path, item);
    }
    schemas.add_fixed();
    schemas.add_event(store.functions().modules());
    json!({
        "openapi": "3.1.0",
        "info": {
            "title": "weir",
            "version": env!("CARGO_PKG_VERSION"),
            "description": ABOUT,
            "license": { "name": "Apache-2.0 OR MIT" },
        },
        "servers": [{ "url": "/" }],
        // On the Unix socket, the kernel tells who asks.
        "security": [{}, { "token": [] }, { "certificate": [] }],
        "tags": tags(store),
        "paths": paths,
        "components": {
            "schemas": schemas.all,
            "parameters": operations::parameters(),
            "responses": operations::responses(),
            "headers": operations::headers(),
            "securitySchemes": {
                "token": { "type": "http", "scheme": "bearer", "description": "A token of the file that `--tokens` names." },
                "certificate": { "type": "mutualTLS", "description": "A client certificate that `--client-ca` has signed." },
            },
        },
    })
}

/// A group of operations for each function, and those of the daemon itself.
fn tags(store: &Store) -> Value {
    let own = [
        ("weir", "Access rules, joints between instances, and everything at once."),
        ("functions", "Functions themselves: which there are, and adding, upgrading and removing them."),
        ("daemon", "What the daemon tells of itself."),
    ];
    let own = own.into_iter().map(|(name, about)| json!({ "name": name, "description": about }));
    let functions = store
        .functions()
        .iter()
        .map(|function| json!({ "name": function.name(), "description": function.node.description }));
    own.chain(functions).collect()
}
