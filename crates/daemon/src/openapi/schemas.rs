//! Schemas of entries and containers, each for reading and for the ways of writing.

use serde_json::{json, Map, Value};
use yang::{Kind, Node};

use super::types;

/// What data is for: which members it has, and which it must have.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Use {
    /// Read: state too. Parameters may leave out anything.
    Read,
    /// Create: keys and all that is mandatory.
    Create,
    /// Replace: the path has the keys.
    Replace,
    /// Merge: the path has the keys, and what is mandatory may be there already.
    Merge,
    /// Below what is merged: keys.
    Add,
}

impl Use {
    fn suffix(self) -> &'static str {
        match self {
            Use::Read => "",
            Use::Create => "..create",
            Use::Replace => "..replace",
            Use::Merge => "..merge",
            Use::Add => "..add",
        }
    }

    fn below(self) -> Use {
        match self {
            Use::Replace => Use::Create,
            Use::Merge => Use::Add,
            same => same,
        }
    }
}

/// Schemas by name.
#[derive(Default)]
pub struct Schemas {
    /// All so far.
    pub all: Map<String, Value>,
}

impl Schemas {
    /// The schema of what stands under a node's name. `way` is the name of the node's own schema.
    pub fn value(&mut self, node: &Node, way: &str, usage: Use) -> Value {
        let mut schema = match node.kind {
            Kind::Leaf => return types::of_leaf(node),
            Kind::LeafList => {
                json!({ "type": "array", "items": node.ty.as_ref().map_or_else(Map::new, types::of_type), "uniqueItems": node.is_config })
            }
            Kind::List => json!({ "type": "array", "items": self.entry(node, way, usage.below()) }),
            Kind::Container { .. } => self.entry(node, way, usage),
            _ => json!({}),
        };
        if let (Some(schema), false) = (schema.as_object_mut(), matches!(node.kind, Kind::Container { .. })) {
            if usage != Use::Read {
                schema.extend(node.max_elements.map(|most| ("maxItems".to_string(), most.into())));
            }
            types::describe(schema, node);
        }
        schema
    }

    /// A reference to the schema of a list's entry, or of a container.
    pub fn entry(&mut self, node: &Node, way: &str, usage: Use) -> Value {
        let name = format!("{way}{}", usage.suffix());
        if !self.all.contains_key(&name) {
            // Its place; what it holds does not lead back to it.
            self.all.insert(name.clone(), Value::Null);
            let schema = self.object(node, way, usage);
            self.all.insert(name.clone(), schema);
        }
        json!({ "$ref": format!("#/components/schemas/{name}") })
    }

    fn object(&mut self, node: &Node, way: &str, usage: Use) -> Value {
        let mut properties = Map::new();
        for child in node.data_children().filter(|child| is_data(child)) {
            if usage == Use::Read || child.is_config || node.kind == Kind::Input {
                let schema = self.value(child, &format!("{way}.{}", child.name), usage.below());
                properties.insert(child.name.clone(), schema);
            }
        }
        let mut schema = Map::new();
        schema.insert("type".into(), "object".into());
        types::describe(&mut schema, node);
        schema.insert("properties".into(), properties.into());
        let required = required(node, usage);
        if !required.is_empty() {
            schema.insert("required".into(), required.into());
        }
        schema.insert("additionalProperties".into(), false.into());
        Value::Object(schema)
    }

    /// The schema of an event: its time, and one of the notifications.
    pub fn add_event(&mut self, modules: &yang::Modules) {
        let mut properties = Map::new();
        properties.insert("eventTime".into(), json!({ "type": "string", "format": "date-time" }));
        let own = modules.iter().flat_map(|module| &module.notifications);
        for node in own {
            // Names of schemas have no colons.
            let schema = self.entry(node, &format!("{}.event.{}", node.module, node.name), Use::Read);
            properties.insert(format!("{}:{}", node.module, node.name), schema);
        }
        let change = json!({ "type": "object", "description": "A transaction (RFC 6470): who made it, and what it changed." });
        properties.insert("ietf-netconf-notifications:netconf-config-change".into(), change);
        let event = json!({
            "type": "object",
            "properties": properties,
            "required": ["eventTime"],
            "minProperties": 2,
            "maxProperties": 2,
            "additionalProperties": false,
        });
        self.all.insert("event".into(), wrapped("ietf-restconf:notification", event));
    }

    /// Schemas that no function changes.
    pub fn add_fixed(&mut self) {
        let error = json!({
            "type": "object",
            "properties": {
                "error-type": { "type": "string", "enum": ["transport", "rpc", "protocol", "application"] },
                "error-tag": { "type": "string", "description": "The kind of error (RFC 8040, section 7)." },
                "error-app-tag": { "type": "string", "description": "The schema's own name for it." },
                "error-path": { "type": "string", "description": "The node that it is about." },
                "error-message": { "type": "string", "description": "What is wrong, and what to do." },
            },
            "required": ["error-type", "error-tag", "error-message"],
            "additionalProperties": false,
        });
        let list =
            json!({ "type": "array", "items": { "$ref": "#/components/schemas/error" }, "minItems": 1 });
        let errors = wrapped("error", list);
        let fixed = [
            ("error", error),
            ("errors", wrapped("ietf-restconf:errors", errors.clone())),
            ("yang-patch", yang_patch()),
            ("yang-patch-status", yang_patch_status(&errors)),
        ];
        for (name, schema) in fixed {
            self.all.insert(name.to_string(), schema);
        }
    }
}

/// Whether a node holds data.
pub fn is_data(node: &Node) -> bool {
    !matches!(node.kind, Kind::Action | Kind::Notification | Kind::Input | Kind::Output)
}

fn required(node: &Node, usage: Use) -> Vec<String> {
    let keys = match usage {
        Use::Create | Use::Add => node.keys.as_slice(),
        Use::Read | Use::Replace | Use::Merge => &[],
    };
    let is_whole = matches!(usage, Use::Create | Use::Replace);
    // Of the cases of a choice, only one is there.
    let mandatory = node.children.iter().filter(|child| {
        is_whole
            && (child.is_config || node.kind == Kind::Input)
            && child.is_mandatory
            && matches!(child.kind, Kind::Leaf)
            && !node.keys.contains(&child.name)
    });
    keys.iter().cloned().chain(mandatory.map(|child| child.name.clone())).collect()
}

/// An object with one member.
pub fn wrapped(name: &str, schema: Value) -> Value {
    let properties: Map<String, Value> = std::iter::once((name.to_string(), schema)).collect();
    json!({ "type": "object", "properties": properties, "required": [name], "additionalProperties": false })
}

fn yang_patch() -> Value {
    let edit = json!({
        "type": "object",
        "properties": {
            "edit-id": { "type": "string" },
            "operation": { "type": "string", "enum": ["create", "delete", "insert", "merge", "move", "replace", "remove"] },
            "target": { "type": "string", "description": "A path below that of the request.", "examples": ["/firewall:firewall=edge"] },
            "point": { "type": "string", "description": "With `before` and `after`: the entry beside which this one goes." },
            "where": { "type": "string", "enum": ["before", "after", "first", "last"], "default": "last" },
            "value": { "type": "object", "description": "The node under its name, as in the body of PUT." },
        },
        "required": ["edit-id", "operation", "target"],
    });
    let patch = json!({
        "type": "object",
        "description": "Edits that are made as one transaction (RFC 8072): all of them or none.",
        "properties": {
            "patch-id": { "type": "string" },
            "comment": { "type": "string" },
            "edit": { "type": "array", "items": edit },
        },
        "required": ["patch-id"],
    });
    wrapped("ietf-yang-patch:yang-patch", patch)
}

fn yang_patch_status(errors: &Value) -> Value {
    let edit = json!({ "type": "object", "properties": { "edit-id": { "type": "string" }, "errors": errors }, "required": ["edit-id"] });
    let status = json!({
        "type": "object",
        "properties": {
            "patch-id": { "type": "string" },
            "ok": { "type": "array", "items": { "type": "null" } },
            "errors": errors,
            "edit-status": wrapped("edit", json!({ "type": "array", "items": edit })),
        },
        "required": ["patch-id"],
        "additionalProperties": false,
    });
    wrapped("ietf-yang-patch:yang-patch-status", status)
}
