//! Instances that differ in one value from the one by default.

use serde_json::{json, Value};
use yang::{Base, Kind, Node};

/// An instance to try.
pub struct Trial {
    /// What is not as by default: `PATH=VALUE`.
    pub with: String,
    /// The instance.
    pub entry: Value,
}

/// An instance for each other value of each leaf of an instance of `node` that has only some words as values; `by_default` has none.
pub fn of(node: &Node, by_default: &Value) -> Vec<Trial> {
    let mut trials = Vec::new();
    add(node, "", &mut trials, &|value| {
        let mut entry = by_default.clone();
        if let (Some(entry), Value::Object(value)) = (entry.as_object_mut(), value) {
            entry.extend(value);
        }
        entry
    });
    trials
}

/// Adds those for the leaves of `node`, whose members `entry` makes an instance of.
fn add(node: &Node, path: &str, trials: &mut Vec<Trial>, entry: &dyn Fn(Value) -> Value) {
    for child in node.data_children().filter(|child| child.is_config) {
        let path = format!("{path}{}", child.name);
        let around = |value| entry(json!({ child.name.as_str(): value }));
        match child.kind {
            Kind::Leaf => {
                let all = values(child).into_iter();
                trials.extend(
                    all.map(|(word, value)| Trial { with: format!("{path}={word}"), entry: around(value) }),
                );
            }
            Kind::Container { .. } => add(child, &format!("{path}/"), trials, &around),
            _ => {}
        }
    }
}

/// The values of a leaf that are not its default, as text and as JSON.
fn values(leaf: &Node) -> Vec<(String, Value)> {
    let Some(ty) = &leaf.ty else { return Vec::new() };
    let all: Vec<(String, Value)> = match ty.base {
        Base::Boolean => [true, false].map(|value| (value.to_string(), value.into())).into(),
        Base::Enumeration => ty.words.iter().map(|word| (word.clone(), word.as_str().into())).collect(),
        Base::Empty => vec![("true".to_string(), json!([null]))],
        _ => Vec::new(),
    };
    all.into_iter().filter(|(word, _)| leaf.default.as_ref() != Some(word)).collect()
}
