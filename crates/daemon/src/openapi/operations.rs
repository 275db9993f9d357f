//! What all operations on data have in common: parameters, headers, answers.

use serde_json::{json, Map, Value};

use crate::restconf::{DATA, PATCH};

/// Answers that tell what is wrong: status, name, and when they come.
const REFUSALS: &[(&str, &str, &str)] = &[
    ("400", "Malformed", "The request cannot be understood, or a value cannot be."),
    ("401", "NoIdentity", "Over TLS: neither a certificate nor a token tells who asks."),
    ("403", "Denied", "Whoever asks may not do that."),
    ("404", "Missing", "It is not there."),
    ("405", "NotAllowed", "The resource does not have this method."),
    ("409", "Conflict", "What is there does not allow it, or the graph cannot be."),
    ("406", "NotAcceptable", "The answer would be in a form that is not accepted."),
    ("412", "Precondition", "The configuration is not the one that the request is about."),
    ("413", "TooBig", "The body is too long."),
    ("415", "MediaType", "The body's type is not understood."),
    ("500", "Broken", "The machine does not do what it should, such as writing to a disk that is full."),
    ("503", "Busy", "Too many listen already."),
];

/// References to answers with errors.
pub fn refusals(statuses: &[&str]) -> Map<String, Value> {
    let of = |status: &&str| {
        let (_, name, _) = REFUSALS.iter().find(|(known, _, _)| known == status)?;
        Some((status.to_string(), json!({ "$ref": format!("#/components/responses/{name}") })))
    };
    statuses.iter().filter_map(of).collect()
}

/// Answers with errors.
pub fn responses() -> Value {
    let errors = json!({ "$ref": "#/components/schemas/errors" });
    let status = json!({ "$ref": "#/components/schemas/yang-patch-status" });
    let mut all = Map::new();
    for (code, name, about) in REFUSALS {
        // Those that a patch's answer can have.
        let is_of_patch = matches!(*code, "400" | "404" | "409" | "500");
        let schema = if is_of_patch { json!({ "anyOf": [errors, status] }) } else { errors.clone() };
        let mut response = json!({ "description": about, "content": { DATA: { "schema": schema } } });
        match *code {
            "401" => response["headers"] = header("WWW-Authenticate"),
            "405" => response["headers"] = header("Allow"),
            _ => {}
        }
        all.insert(name.to_string(), response);
    }
    all.insert(
        "NotModified".into(),
        json!({ "description": "It is as If-None-Match says.", "headers": header("ETag") }),
    );
    all.insert("Done".into(), json!({ "description": "It is in force.", "headers": header("ETag") }));
    all.insert("Called".into(), json!({ "description": "It is done." }));
    Value::Object(all)
}

fn header(name: &str) -> Value {
    let name = name.to_string();
    let reference = json!({ "$ref": format!("#/components/headers/{name}") });
    Value::Object(std::iter::once((name, reference)).collect())
}

/// Header fields of answers.
pub fn headers() -> Value {
    let text =
        |about: &str| json!({ "description": about, "required": true, "schema": { "type": "string" } });
    json!({
        "ETag": text("Names the configuration as it is now."),
        "Last-Modified": text("Since when the configuration is so."),
        "Location": text("Where the new resource is."),
        "Allow": text("The methods that the resource has."),
        "WWW-Authenticate": text("How to tell who asks."),
    })
}

/// Parameters in the query and in the head.
pub fn parameters() -> Value {
    let query = |name: &str, about: &str, schema: Value| json!({ "name": name, "in": "query", "description": about, "schema": schema });
    let head = |name: &str, about: &str| json!({ "name": name, "in": "header", "description": about, "schema": { "type": "string" } });
    let number = json!({ "type": "integer", "minimum": 1, "maximum": 65535 });
    json!({
        "content": query("content", "Which data: configuration, state, or both.", json!({ "type": "string", "enum": ["all", "config", "nonconfig"], "default": "all" })),
        "depth": query("depth", "How many levels.", json!({ "anyOf": [number, { "type": "string", "const": "unbounded" }], "default": "unbounded" })),
        "fields": query("fields", "Which nodes, as in name;rule(id;action);statistics/flows.", json!({ "type": "string", "minLength": 1, "examples": ["name"] })),
        "with-defaults": query("with-defaults", "What is told of values that nobody has set.", json!({ "type": "string", "enum": ["explicit", "report-all", "trim"], "default": "explicit" })),
        "insert": query("insert", "Where an entry goes in a list that is ordered by users.", json!({ "type": "string", "enum": ["first", "last", "before", "after"], "default": "last" })),
        "point": query("point", "With `before` and `after`: the path of the entry beside which it goes.", json!({ "type": "string", "minLength": 1 })),
        "if-match": head("If-Match", "Only if the configuration is still one that these tags name."),
        "if-none-match": head("If-None-Match", "Only if the configuration is none that these tags name."),
        "if-unmodified-since": head("If-Unmodified-Since", "Only if the configuration has not changed since this date of HTTP."),
    })
}

/// References to parameters.
fn named(names: &[&str]) -> Vec<Value> {
    names.iter().map(|name| json!({ "$ref": format!("#/components/parameters/{name}") })).collect()
}

/// GET of data with this schema. The tag is that of the configuration, which state has no part in.
pub fn get(schema: Value, is_config: bool) -> Value {
    let mut answers = refusals(&["400", "401", "403", "404", "406"]);
    let mut names = vec!["content", "depth", "fields", "with-defaults"];
    let mut told = json!({ "description": "What is there.", "content": { DATA: { "schema": schema } } });
    if is_config {
        told["headers"] = json!({ "ETag": { "$ref": "#/components/headers/ETag" }, "Last-Modified": { "$ref": "#/components/headers/Last-Modified" } });
        answers.insert("304".into(), json!({ "$ref": "#/components/responses/NotModified" }));
        names.push("if-none-match");
    }
    answers.insert("200".into(), told);
    json!({ "parameters": named(&names), "responses": answers })
}

/// PUT of data with this schema.
pub fn put(schema: Value, is_ordered: bool) -> Value {
    let mut names = vec!["if-match", "if-none-match", "if-unmodified-since"];
    if is_ordered {
        names.extend(["insert", "point"]);
    }
    let mut answers = refusals(&["400", "401", "403", "404", "406", "409", "412", "413", "415", "500"]);
    answers.insert("201".into(), json!({ "$ref": "#/components/responses/Done" }));
    answers.insert("204".into(), json!({ "$ref": "#/components/responses/Done" }));
    json!({ "parameters": named(&names), "requestBody": body(&[(DATA, schema)]), "responses": answers })
}

/// PATCH of data with this schema, or by YANG Patch.
pub fn patch(schema: Value) -> Value {
    let mut answers = refusals(&["400", "401", "403", "404", "406", "409", "412", "413", "415", "500"]);
    let status = json!({ "$ref": "#/components/schemas/yang-patch-status" });
    answers.insert(
        "200".into(),
        json!({ "description": "All edits are in force.", "headers": header("ETag"), "content": { DATA: { "schema": status } } }),
    );
    answers.insert("204".into(), json!({ "$ref": "#/components/responses/Done" }));
    let body = body(&[(DATA, schema), (PATCH, json!({ "$ref": "#/components/schemas/yang-patch" }))]);
    let parameters = named(&["if-match", "if-none-match", "if-unmodified-since"]);
    json!({ "parameters": parameters, "requestBody": body, "responses": answers })
}

/// DELETE of data.
pub fn delete() -> Value {
    let mut answers = refusals(&["400", "401", "403", "404", "406", "409", "412", "500"]);
    answers.insert("204".into(), json!({ "$ref": "#/components/responses/Done" }));
    json!({ "parameters": named(&["if-match", "if-none-match", "if-unmodified-since"]), "responses": answers })
}

/// POST of a child with this schema.
pub fn post(schema: Value) -> Value {
    let mut answers = refusals(&["400", "401", "403", "404", "406", "409", "412", "413", "415", "500"]);
    let headers = json!({ "ETag": { "$ref": "#/components/headers/ETag" }, "Location": { "$ref": "#/components/headers/Location" } });
    answers.insert("201".into(), json!({ "description": "It is made.", "headers": headers }));
    let parameters = named(&["insert", "point", "if-match", "if-none-match", "if-unmodified-since"]);
    json!({ "parameters": parameters, "requestBody": body(&[(DATA, schema)]), "responses": answers })
}

/// POST that calls an action, which may be given data with this schema.
pub fn call(schema: Option<Value>) -> Value {
    let mut answers = refusals(&["400", "401", "403", "404", "406", "409", "413", "415"]);
    answers.insert("204".into(), json!({ "$ref": "#/components/responses/Called" }));
    let mut operation = json!({ "parameters": [], "responses": answers });
    if let Some(schema) = schema {
        operation["requestBody"] = body(&[(DATA, schema)]);
        operation["requestBody"]["required"] = false.into();
    }
    operation
}

fn body(types: &[(&str, Value)]) -> Value {
    let content: Map<String, Value> =
        types.iter().map(|(name, schema)| (name.to_string(), json!({ "schema": schema }))).collect();
    json!({ "required": true, "content": content })
}
