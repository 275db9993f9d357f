//! The parameter `fields` (RFC 8040, section 4.8.3): `name;rule(id;action);statistics/flows`.

use std::collections::BTreeMap;

use serde_json::Value;
use yang::{Kind, Node};

use crate::fault::Fault;

/// Nodes that are wanted, by name; one without nodes below is wanted whole.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Fields(BTreeMap<String, Fields>);

/// Deepest nesting.
const MAX_DEPTH: usize = 32;

impl Fields {
    /// Reads an expression.
    pub fn parse(text: &str) -> Result<Fields, Fault> {
        let mut rest = text;
        let fields = Fields::list(&mut rest, 0)?;
        match rest.is_empty() && !fields.0.is_empty() {
            true => Ok(fields),
            false => Err(Fault::invalid(format!(
                "`fields={text}` cannot be read at `{rest}`; expected names, as in name;rule(id;action)"
            ))),
        }
    }

    fn list(rest: &mut &str, depth: usize) -> Result<Fields, Fault> {
        if depth > MAX_DEPTH {
            return Err(Fault::invalid(format!("`fields` nests deeper than {MAX_DEPTH} levels")));
        }
        let mut fields = Fields::default();
        loop {
            fields.one(rest, depth)?;
            match rest.strip_prefix(';') {
                Some(behind) => *rest = behind,
                None => return Ok(fields),
            }
        }
    }

    /// `a/b/c(d;e)`.
    fn one(&mut self, rest: &mut &str, depth: usize) -> Result<(), Fault> {
        let end = rest.find([';', '/', '(', ')']).unwrap_or(rest.len());
        let (name, behind) = rest.split_at(end);
        if name.is_empty() || depth > MAX_DEPTH {
            return Err(Fault::invalid(format!("`fields` lacks a name at `{rest}`")));
        }
        *rest = behind;
        let name = name.split_once(':').map_or(name, |(_, name)| name);
        let below = self.0.entry(name.to_string()).or_default();
        if let Some(behind) = rest.strip_prefix('/') {
            *rest = behind;
            return below.one(rest, depth + 1);
        }
        if let Some(behind) = rest.strip_prefix('(') {
            *rest = behind;
            let list = Fields::list(rest, depth + 1)?;
            below.0.extend(list.0);
            let closed = rest.strip_prefix(')');
            *rest = closed.ok_or_else(|| Fault::invalid("`fields` lacks a `)`"))?;
        }
        Ok(())
    }

    /// Checks that `known` nodes, those of `holder`, have all these names.
    pub fn check<'n>(&self, holder: &str, known: impl Iterator<Item = &'n Node>) -> Result<(), Fault> {
        let known: Vec<&Node> =
            known.filter(|node| !matches!(node.kind, Kind::Action | Kind::Notification)).collect();
        for (name, below) in &self.0 {
            let Some(node) = known.iter().find(|node| node.name == *name) else {
                let names: Vec<&str> = known.iter().map(|node| node.name.as_str()).collect();
                let has = if names.is_empty() { "nothing".to_string() } else { names.join(", ") };
                return Err(Fault::invalid(format!("`fields`: `{holder}` has no `{name}`; it has {has}")));
            };
            below.check(name, node.data_children())?;
        }
        Ok(())
    }

    /// What is wanted of a value.
    pub fn of(&self, value: &Value) -> Value {
        if self.0.is_empty() {
            return value.clone();
        }
        match value {
            Value::Array(entries) => entries.iter().map(|entry| self.of(entry)).collect(),
            Value::Object(members) => {
                let wanted = members.iter().filter_map(|(name, value)| {
                    let plain = name.split_once(':').map_or(name.as_str(), |(_, name)| name);
                    self.0.get(plain).map(|below| (name.clone(), below.of(value)))
                });
                Value::Object(wanted.collect())
            }
            other => other.clone(),
        }
    }
}

/// The first levels of a value.
pub fn prune(value: &Value, depth: usize) -> Value {
    match value {
        // A list and its entry are one level.
        Value::Array(entries) => entries.iter().map(|entry| prune(entry, depth)).collect(),
        Value::Object(_) if depth == 0 => Value::Object(serde_json::Map::new()),
        Value::Object(members) => members
            .iter()
            .filter(|(_, value)| depth > 1 || !matches!(value, Value::Object(_) | Value::Array(_)))
            .map(|(name, value)| (name.clone(), prune(value, depth - 1)))
            .collect::<serde_json::Map<String, Value>>()
            .into(),
        other => other.clone(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_choose_nodes() {
        let value = json!({ "name": "a", "rule": [{ "id": 1, "action": "deny", "x": 1 }], "s": { "t": 1, "u": { "v": 2, "w": 3 } } });
        let of = |text| Fields::parse(text).unwrap().of(&value);
        assert_eq!(of("name;rule(id)"), json!({ "name": "a", "rule": [{ "id": 1 }] }));
        assert_eq!(of("s/u/v;s/t"), json!({ "s": { "t": 1, "u": { "v": 2 } } }));
        assert_eq!(of("m:rule"), json!({ "rule": [{ "id": 1, "action": "deny", "x": 1 }] }));
        assert_eq!(of("nothing"), json!({}));
        for bad in ["", ";", "a(", "a(b", "a)", "a//b", "a(b))"] {
            assert!(Fields::parse(bad).is_err(), "{bad}");
        }
        assert!(Fields::parse(&"a(".repeat(1000)).is_err());
        assert!(Fields::parse(&"a/".repeat(1000)).is_err());
    }

    #[test]
    fn depth_counts_levels() {
        let value = json!({ "name": "a", "rule": [{ "id": 1 }], "s": { "t": 1, "u": { "v": 2 } } });
        assert_eq!(prune(&value, 0), json!({}));
        assert_eq!(prune(&value, 1), json!({ "name": "a" }));
        assert_eq!(prune(&value, 2), json!({ "name": "a", "rule": [{ "id": 1 }], "s": { "t": 1 } }));
        assert_eq!(prune(&value, 9), value);
    }
}
