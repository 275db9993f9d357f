//! A path for each node of the schemas, with the operations that the node has.

use serde_json::{json, Map, Value};
use yang::{Kind, Node};

use super::operations as operation;
use super::schemas::{is_data, wrapped, Schemas, Use};
use super::types;
use crate::restconf::resource::{self, Resource};

/// Paths and schemas so far.
#[derive(Default)]
pub struct Walk {
    /// Paths with their operations.
    pub paths: Map<String, Value>,
    /// Schemas of what they take and give.
    pub schemas: Schemas,
}

/// What stands above a node.
#[derive(Clone, Default)]
pub struct Above<'n> {
    node: Option<&'n Node>,
    path: String,
    parameters: Vec<Value>,
    /// Names of nodes, for names of schemas and operations.
    way: String,
}

impl Walk {
    /// The whole configuration.
    pub fn whole<'n>(&mut self, nodes: impl Iterator<Item = &'n Node>) {
        let nodes: Vec<&Node> = nodes.collect();
        let all = |walk: &mut Walk, usage| {
            let properties: Map<String, Value> = nodes
                .iter()
                .map(|node| (full_name(node), walk.schemas.value(node, &way_of("", node), usage)))
                .collect();
            json!({ "type": "object", "properties": properties, "additionalProperties": false })
        };
        let (read, merged) = (all(self, Use::Read), all(self, Use::Merge));
        let mut one = json!({ "type": "object", "properties": {}, "minProperties": 1, "maxProperties": 1, "additionalProperties": false });
        for node in &nodes {
            one["properties"][full_name(node)] = self.created(node, &way_of("", node));
        }
        let item = [
            ("get", operation::get(wrapped("ietf-restconf:data", read), true)),
            ("patch", operation::patch(wrapped("ietf-restconf:data", merged))),
            ("post", operation::post(one)),
        ];
        self.add("/restconf/data", "data", "weir", "all data", &[], item.into_iter());
    }

    /// A node, with all below it.
    pub fn node(&mut self, node: &Node, above: &Above<'_>) {
        let is_same_module = above.node.is_some_and(|parent| parent.module == node.module);
        let name = if is_same_module { node.name.clone() } else { full_name(node) };
        let base = if above.path.is_empty() { "/restconf/data" } else { &above.path };
        let (path, way) = (format!("{base}/{name}"), way_of(&above.way, node));
        let resource = Resource { node, parent: above.node, is_entry: false };
        self.resource(&resource, &path, &way, &above.parameters);
        let mut below = Above { node: Some(node), path, parameters: above.parameters.clone(), way };
        let keys: Vec<&Node> = match node.kind {
            Kind::List => node.keys.iter().filter_map(|key| node.child(key)).collect(),
            Kind::LeafList => vec![node],
            Kind::Container { .. } => Vec::new(),
            _ => return,
        };
        if !keys.is_empty() {
            let names = keys.iter().map(|key| below.key(key, node)).collect::<Vec<_>>();
            below.path += &format!("={}", names.join(","));
            let entry = Resource { is_entry: true, ..resource };
            self.resource(&entry, &below.path, &format!("{}=entry", below.way), &below.parameters);
        }
        for child in node.data_children() {
            self.node(child, &below);
        }
    }

    /// A path's operations.
    fn resource(&mut self, resource: &Resource<'_>, path: &str, id: &str, parameters: &[Value]) {
        let node = resource.node;
        let way = id.strip_suffix("=entry").unwrap_or(id).to_string();
        let mut item = Vec::new();
        for method in resource::methods(resource) {
            let operation = match *method {
                "GET" => operation::get(self.value(resource, &way, Use::Read), node.is_config),
                "PUT" => operation::put(
                    self.value(resource, &way, Use::Replace),
                    resource.is_entry && node.is_user_ordered,
                ),
                "PATCH" => operation::patch(self.value(resource, &way, Use::Merge)),
                "DELETE" => operation::delete(),
                _ if node.kind == Kind::Action => operation::call(self.input(node, &way)),
                _ => operation::post(self.children(node, &way)),
            };
            item.push((*method, operation));
        }
        let item = item.into_iter().map(|(method, operation)| match method {
            "GET" => ("get", operation),
            "PUT" => ("put", operation),
            "PATCH" => ("patch", operation),
            "DELETE" => ("delete", operation),
            _ => ("post", operation),
        });
        let about = node.description.split_inclusive(['.', ':']).next().unwrap_or_default().trim();
        self.add(path, id, &node.module, about, parameters, item);
    }

    fn add<'o>(
        &mut self,
        path: &str,
        id: &str,
        tag: &str,
        about: &str,
        parameters: &[Value],
        item: impl Iterator<Item = (&'o str, Value)>,
    ) {
        let mut whole = Map::new();
        if !parameters.is_empty() {
            whole.insert("parameters".into(), parameters.into());
        }
        for (method, mut operation) in item {
            operation["operationId"] = format!("{method}-{id}").into();
            operation["tags"] = json!([tag]);
            operation["summary"] = about.into();
            whole.insert(method.to_string(), operation);
        }
        if whole.keys().any(|name| name != "parameters") {
            self.paths.insert(path.to_string(), whole.into());
        }
    }

    /// The body that tells a resource's value: an entry stands in an array of one.
    fn value(&mut self, resource: &Resource<'_>, way: &str, usage: Use) -> Value {
        let node = resource.node;
        let schema = match (resource.is_entry, node.kind) {
            (true, Kind::List) => {
                let entry = self.schemas.entry(node, way, usage);
                json!({ "type": "array", "items": entry, "minItems": 1, "maxItems": 1 })
            }
            (true, _) => {
                json!({ "type": "array", "items": types::of_leaf(node), "minItems": 1, "maxItems": 1 })
            }
            (false, _) => self.schemas.value(node, way, usage),
        };
        wrapped(&full_name(node), schema)
    }

    /// The body that creates one of a node's children.
    fn children(&mut self, node: &Node, way: &str) -> Value {
        let mut properties = Map::new();
        for child in node.data_children().filter(|child| child.is_config && is_data(child)) {
            if !node.keys.contains(&child.name) {
                properties.insert(full_name(child), self.created(child, &way_of(way, child)));
            }
        }
        json!({ "type": "object", "properties": properties, "minProperties": 1, "maxProperties": 1, "additionalProperties": false })
    }

    fn created(&mut self, child: &Node, way: &str) -> Value {
        let mut schema = self.schemas.value(child, way, Use::Create);
        if matches!(child.kind, Kind::List | Kind::LeafList) {
            // One resource at a time is created.
            (schema["minItems"], schema["maxItems"]) = (1.into(), 1.into());
        }
        schema
    }

    fn input(&mut self, node: &Node, way: &str) -> Option<Value> {
        let input = node.children.iter().find(|child| child.kind == Kind::Input)?;
        let schema = self.schemas.entry(input, &format!("{way}.input"), Use::Create);
        Some(wrapped(&format!("{}:input", node.module), schema))
    }
}

impl Above<'_> {
    /// Adds the parameter for a key; how it stands in the path.
    fn key(&mut self, key: &Node, list: &Node) -> String {
        let is_taken = |name: &str| self.parameters.iter().any(|known| known["name"] == name);
        let mut name = if key.kind == Kind::LeafList { "value".to_string() } else { key.name.clone() };
        if is_taken(&name) {
            name = format!("{}-{name}", list.name);
        }
        // The same list may stand in itself.
        while is_taken(&name) {
            name.push('_');
        }
        let schema = key.ty.as_ref().map_or_else(Map::new, types::of_type);
        self.parameters.push(json!({
            "name": name, "in": "path", "required": true, "description": key.description, "schema": schema,
        }));
        format!("{{{name}}}")
    }
}

fn full_name(node: &Node) -> String {
    format!("{}:{}", node.module, node.name)
}

fn way_of(above: &str, node: &Node) -> String {
    match above.is_empty() {
        true if node.module == node.name => node.name.clone(),
        true => format!("{}.{}", node.module, node.name),
        false => format!("{above}.{}", node.name),
    }
}
