//! Resources that no schema changes.

use serde_json::{json, Map, Value};

use super::operations::refusals;
use crate::restconf::DATA;

/// Their paths, with operations.
pub fn paths() -> Vec<(String, Value)> {
    let get = |path: &str, about: &str, media_type: &str, schema: Value, statuses: &[&str]| {
        let operation = operation("get", path, about, ("200", Some((media_type, schema))), statuses);
        (path.to_string(), json!({ "get": operation }))
    };
    let (text, object) = (json!({ "type": "string" }), json!({ "type": "object" }));
    let yang = |name: &str| format!("/restconf/data/{name}");
    vec![
        get("/", "A page to look around with a browser.", "text/html; charset=utf-8", text.clone(), &[]),
        get("/openapi.json", "This document.", "application/json", object.clone(), &["401"]),
        get(
            "/metrics",
            "Metrics in the text form of Prometheus.",
            "text/plain; version=0.0.4; charset=utf-8",
            text.clone(),
            &["401", "403"],
        ),
        get("/.well-known/host-meta", "Where RESTCONF is.", "application/xrd+xml", text.clone(), &["401"]),
        get("/restconf", "The entry point of RESTCONF.", DATA, object.clone(), &["401"]),
        get("/restconf/operations", "Operations that belong to no instance.", DATA, object.clone(), &["401"]),
        get(
            "/restconf/yang-library-version",
            "The revision of ietf-yang-library.",
            DATA,
            object.clone(),
            &["401"],
        ),
        get(
            &yang("ietf-yang-library:yang-library"),
            "The modules that there are.",
            DATA,
            object.clone(),
            &["401"],
        ),
        get(
            &yang("ietf-restconf-monitoring:restconf-state"),
            "What the server can do.",
            DATA,
            object.clone(),
            &["401"],
        ),
        events(),
        with_name(get(
            "/yang/{name}",
            "The text of a module, called NAME.yang or NAME.",
            "application/yang",
            text,
            &["401", "404"],
        )),
        get("/functions", "The functions that there are.", "application/json", functions(), &["401", "403"]),
        function(),
    ]
}

fn operation(
    method: &str,
    path: &str,
    about: &str,
    (status, content): (&str, Option<(&str, Value)>),
    statuses: &[&str],
) -> Value {
    let mut answers = refusals(statuses);
    let mut answer = json!({ "description": about });
    if let Some((media_type, schema)) = content {
        answer["content"] = json!({ media_type: { "schema": schema } });
    }
    answers.insert(status.to_string(), answer);
    let letters = |one: char| if one.is_ascii_alphanumeric() { one } else { '-' };
    let name: String = path.chars().map(letters).collect();
    let tag = if path.starts_with("/functions") { "functions" } else { "daemon" };
    json!({ "operationId": format!("{method}{}", name.trim_end_matches('-')), "tags": [tag], "summary": about, "responses": answers })
}

/// The stream of events. What it holds is described beside its schema: lines are all that OpenAPI can say of it.
fn events() -> (String, Value) {
    let path = "/restconf/streams/NETCONF";
    let about = "Events as they happen (server-sent events).";
    let schema = json!({
        "type": "string",
        "description": "For each event a line `data: ` with JSON, as the schema `event` describes it, and an empty line. A line `:` \
                        every 15 seconds tells that all is well. Who is 1024 events behind finds the end of the stream.",
        "x-event": { "$ref": "#/components/schemas/event" },
    });
    let answer = ("200", Some(("text/event-stream", schema)));
    (path.to_string(), json!({ "get": operation("get", path, about, answer, &["401", "403", "503"]) }))
}

fn functions() -> Value {
    let function = json!({
        "type": "object",
        "properties": {
            "name": { "type": "string" },
            "about": { "type": "string" },
            "ports": { "type": "array", "items": { "type": "string" } },
            "shipped": { "type": "boolean", "description": "Whether it comes with weir." },
        },
        "required": ["name", "about", "ports", "shipped"],
    });
    let list = json!({ "type": "array", "items": function });
    json!({ "type": "object", "properties": { "functions": list }, "required": ["functions"] })
}

/// `/functions/{name}`: a function's archive.
fn function() -> (String, Value) {
    let path = "/functions/{name}";
    let bytes = json!({});
    let tar = "application/x-tar";
    let get = operation(
        "get",
        path,
        "The function's files, a tar archive.",
        ("200", Some((tar, bytes.clone()))),
        &["401", "403", "404"],
    );
    let mut put = operation(
        "put",
        path,
        "Adds a function, or upgrades it: its instances go on with the new graph and their state.",
        ("201", None),
        &["400", "401", "403", "409", "413", "500"],
    );
    put["responses"]["204"] = json!({ "description": "The function is upgraded." });
    put["requestBody"] = json!({ "required": true, "content": { tar: { "schema": bytes } } });
    let delete = operation(
        "delete",
        path,
        "Removes a function that has no instances. One that comes with weir stays; what was put in its place goes.",
        ("204", None),
        &["401", "403", "404", "409", "500"],
    );
    let (path, mut item) = with_name((path.to_string(), json!({ "get": get })));
    (item["put"], item["delete"]) = (put, delete);
    (path, item)
}

fn with_name((path, item): (String, Value)) -> (String, Value) {
    let mut whole = Map::new();
    whole.insert(
        "parameters".into(),
        json!([{ "name": "name", "in": "path", "required": true, "schema": { "type": "string" } }]),
    );
    whole.extend(item.as_object().cloned().unwrap_or_default());
    (path, whole.into())
}
