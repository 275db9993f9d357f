//! Instances that differ in one value from the one by default.

use functions::Package;
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

/// What is wrong with a handler of a schema that is one of no element: its name is nowhere in the graphs that were tried, nor in the
/// templates, which may make it only of other values. Names with values of leaves in them are not looked at.
pub fn unknown_handler(node: &Node, package: &Package, graphs: &[String]) -> Option<String> {
    let no_part = |c: char| !(c.is_ascii_alphanumeric() || c == '_' || c == '@');
    let is_known = |handler: &str| {
        let Some((element, _)) = handler.split(' ').next().unwrap_or_default().rsplit_once('.') else {
            return true;
        };
        let mut texts = graphs.iter().map(String::as_str).chain(package.templates());
        let name = element.rsplit('/').next().unwrap_or(element);
        element.contains('{') || texts.any(|text| text.split(no_part).any(|word| word == name))
    };
    let unknown =
        |does| node.all_extensions(does).find(|handler| !is_known(handler)).map(|handler| (does, handler));
    match unknown("read").or_else(|| unknown("write")) {
        Some((does, handler)) => {
            Some(format!("`{}` has `weir:{does} \"{handler}\"`, but there is no such element", node.name))
        }
        None => node.children.iter().find_map(|child| unknown_handler(child, package, graphs)),
    }
}
