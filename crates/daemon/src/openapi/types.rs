//! Types of YANG as JSON Schema, in the form in which RFC 7951 writes their values.

use serde_json::{json, Map, Value};
use yang::{Base, Node, Type};

use super::pattern;

/// Values that are right, for types whose patterns do not tell enough.
const EXAMPLES: &[(&str, &str)] = &[
    ("name", "edge"),
    ("port-name", "left"),
    ("ipv4-address", "10.0.0.1"),
    ("ipv4-network", "10.0.0.0/24"),
    ("ipv4-interface", "10.0.0.1/24"),
    ("ipv6-address", "2001:db8::1"),
    ("ipv6-network", "2001:db8::/32"),
    ("ipv6-interface", "2001:db8::1/64"),
    ("ipv6-next-hop", "fe80::1%left"),
    ("ethernet-address", "02:00:00:00:00:01"),
    ("time", "20ms"),
    ("pattern", "tcp && dst port 80"),
    ("capture-filter", "tcp port 80"),
    ("endpoint", "edge:left"),
    ("file-name", "trace.pcap"),
];
/// What a 64-bit integer looks like: decimal, octal or hexadecimal (RFC 7950, section 9.2.1).
const INTEGER: &str = "^[+-]?(?:0[xX][0-9a-fA-F]+|[0-9]+)$";
const DECIMAL: &str = r"^[+-]?[0-9]+(?:\.[0-9]+)?$";

/// The schema of a leaf's value, or of that of a leaf-list's entry.
pub fn of_leaf(node: &Node) -> Value {
    let mut schema = node.ty.as_ref().map_or_else(Map::new, of_type);
    if let Some(default) = node.default.as_ref().and_then(|text| functions::leaf(node, text).ok()) {
        schema.insert("default".into(), default);
    }
    describe(&mut schema, node);
    Value::Object(schema)
}

/// Adds what a node says of itself.
pub fn describe(schema: &mut Map<String, Value>, node: &Node) {
    let units = node.units.as_ref().map(|units| format!("({units})")).unwrap_or_default();
    let description = format!("{} {units}", node.description).trim().to_string();
    if !description.is_empty() {
        schema.insert("description".into(), description.into());
    }
    if !node.is_config {
        schema.insert("readOnly".into(), true.into());
    }
}

/// The schema of a type.
pub fn of_type(ty: &Type) -> Map<String, Value> {
    let schema = match ty.base {
        Base::Integer => integer(ty),
        Base::BigInteger => json!({ "type": "string", "pattern": INTEGER }),
        Base::Decimal => json!({ "type": "string", "pattern": DECIMAL }),
        Base::String => string(ty),
        Base::Boolean => json!({ "type": "boolean" }),
        Base::Enumeration => json!({ "type": "string", "enum": ty.words }),
        Base::Bits => json!({ "type": "string", "pattern": bits(&ty.words) }),
        Base::Binary => json!({ "type": "string", "contentEncoding": "base64" }),
        Base::Empty => json!({ "type": "array", "items": { "type": "null" }, "minItems": 1, "maxItems": 1 }),
        Base::Identity | Base::Instance => json!({ "type": "string" }),
        Base::Reference => ty.members.first().map_or_else(|| json!({}), |target| of_type(target).into()),
        Base::Union => json!({ "anyOf": ty.members.iter().map(of_type).collect::<Vec<_>>() }),
    };
    match schema {
        Value::Object(schema) => schema,
        _ => Map::new(),
    }
}

fn integer(ty: &Type) -> Value {
    let whole: Vec<(i128, i128)> = ty.holds.into_iter().collect();
    let range = if ty.range.is_empty() { &whole } else { &ty.range };
    let mut schema = json!({ "type": "integer" });
    bounds(&mut schema, range, ["minimum", "maximum"]);
    schema
}

fn string(ty: &Type) -> Value {
    let mut schema = json!({ "type": "string" });
    let example = EXAMPLES.iter().find(|(name, _)| Some(*name) == ty.typedef.as_deref());
    if let Some((_, example)) = example {
        schema["examples"] = json!([example]);
    }
    bounds(&mut schema, &ty.range, ["minLength", "maxLength"]);
    let patterns = ty.patterns.iter().filter_map(|(expression, is_inverted)| {
        let one = json!({ "pattern": pattern::translate(expression)? });
        Some(if *is_inverted { json!({ "not": one }) } else { one })
    });
    let patterns: Vec<Value> = patterns.collect();
    match (patterns.len(), patterns.first().and_then(|one| one.get("pattern"))) {
        (0, _) => {}
        (1, Some(one)) => schema["pattern"] = one.clone(),
        _ => schema["allOf"] = patterns.into(),
    }
    schema
}

/// Adds bounds, which may have several parts.
fn bounds(schema: &mut Value, range: &[(i128, i128)], [least, most]: [&str; 2]) {
    // More than a number of JSON can tell is no bound.
    let number = |bound: i128| i64::try_from(bound).ok();
    let part = |(from, to): &(i128, i128)| {
        let mut part = json!({});
        if let Some(from) = number(*from) {
            part[least] = from.into();
        }
        if let Some(to) = number(*to) {
            part[most] = to.into();
        }
        part
    };
    match range {
        [] => {}
        [one] => {
            for (name, value) in part(one).as_object().into_iter().flatten() {
                schema[name.as_str()] = value.clone();
            }
        }
        several => schema["anyOf"] = several.iter().map(part).collect(),
    }
}

/// Some words with spaces between them.
fn bits(words: &[String]) -> String {
    let quoted: Vec<String> = words.iter().map(|word| word.replace('.', r"\.")).collect();
    let one = quoted.join("|");
    format!("^(?:(?:{one})(?: +(?:{one}))*)?$")
}
