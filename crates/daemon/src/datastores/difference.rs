//! The difference of two configurations.

use functions::{Functions, CORE};
use serde_json::Value;

use crate::edit::{Edit, Op};
use crate::fault::Fault;
use crate::path::Step;
use crate::store::path_of;
use crate::tree::Tree;

/// The changes that make one configuration of another: instance by instance, and each part of what is about all. Instances of a
/// function that is not there cannot be made.
pub fn difference(functions: &Functions, old: &Tree, new: &Tree) -> Result<Vec<Edit>, Fault> {
    let module = |member: &str| member.split_once(':').map_or(member, |(module, _)| module).to_string();
    let mut wanted =
        new.0.as_object().into_iter().flat_map(|members| members.keys()).map(|name| module(name));
    if let Some(name) = wanted.find(|name| functions.modules().get(name).is_none()) {
        let message = format!(
            "there are instances of `{name}` in it, a function that is not there any more; add the function again, or delete them"
        );
        return Err(Fault::unknown(message));
    }
    let mut edits = Vec::new();
    for module in functions.modules().iter() {
        for node in &module.nodes {
            let member = crate::tree::member_name(0, node);
            let (before, after) = (old.0.get(&member), new.0.get(&member));
            if before == after {
                continue;
            }
            if module.name == CORE {
                let path =
                    vec![Step { module: Some(module.name.clone()), name: node.name.clone(), keys: None }];
                edits.push(edit(path, after));
                continue;
            }
            let entries = |tree: Option<&Value>| tree.and_then(Value::as_array).cloned().unwrap_or_default();
            let (before, after) = (entries(before), entries(after));
            let name = |entry: &Value| entry.get("name").map(functions::text_of).unwrap_or_default();
            let find =
                |list: &[Value], wanted: &str| list.iter().find(|entry| name(entry) == wanted).cloned();
            for entry in &after {
                if find(&before, &name(entry)).as_ref() != Some(entry) {
                    edits.push(edit(path_of(&module.name, &name(entry)), Some(entry)));
                }
            }
            for entry in before.iter().filter(|entry| find(&after, &name(entry)).is_none()) {
                edits.push(edit(path_of(&module.name, &name(entry)), None));
            }
        }
    }
    Ok(edits)
}

fn edit(path: Vec<Step>, value: Option<&Value>) -> Edit {
    let op = if value.is_some() { Op::Replace } else { Op::Remove };
    Edit { op, path, value: value.cloned(), at: None }
}
