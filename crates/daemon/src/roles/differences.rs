//! The nodes in which two configurations differ.

use std::collections::{HashMap, HashSet};

use serde_json::Value;
use yang::{Kind, Node};

use crate::fault::Fault;
use crate::path::Step;
use crate::tree::keys_of;

/// What is done with each node that differs.
type Each<'e> = dyn FnMut(&[Step]) -> Result<(), Fault> + 'e;

/// Goes through the nodes that were created, changed, moved or deleted; `steps` lead to what holds `node`.
pub(super) fn walk(
    node: &Node,
    steps: &mut Vec<Step>,
    old: Option<&Value>,
    new: Option<&Value>,
    each: &mut Each<'_>,
) -> Result<(), Fault> {
    if old == new {
        return Ok(());
    }
    if !matches!(node.kind, Kind::List | Kind::LeafList) {
        return walk_one(node, None, steps, old, new, each);
    }
    let (old, new) = (entries(node, old), entries(node, new));
    let before: HashMap<_, _> = old.iter().cloned().collect();
    let after: HashMap<_, _> = new.iter().cloned().collect();
    let moved = moved(node, &old, &new);
    for (keys, _) in old.iter().chain(new.iter().filter(|(keys, _)| !before.contains_key(keys))) {
        let (old, new) = (before.get(keys).copied(), after.get(keys).copied());
        // One that has moved is changed as a whole.
        let old = old.filter(|_| !moved.contains(keys));
        walk_one(node, Some(keys.clone()), steps, old, new, each)?;
    }
    Ok(())
}

/// Goes through a node that is no list, or an entry of one.
fn walk_one(
    node: &Node,
    keys: Option<Vec<String>>,
    steps: &mut Vec<Step>,
    old: Option<&Value>,
    new: Option<&Value>,
    each: &mut Each<'_>,
) -> Result<(), Fault> {
    if old == new {
        return Ok(());
    }
    steps.push(Step { module: Some(node.module.clone()), name: node.name.clone(), keys });
    let holds_nodes = matches!(node.kind, Kind::List | Kind::Container { .. });
    if old.is_none() || new.is_none() || !holds_nodes {
        each(steps)?;
    }
    for child in node.data_children().filter(|child| holds_nodes && child.is_config) {
        let [old, new] = [old, new].map(|value| value.and_then(|value| value.get(&child.name)));
        walk(child, steps, old, new, each)?;
    }
    steps.pop();
    Ok(())
}

fn entries<'v>(node: &Node, value: Option<&'v Value>) -> Vec<(Vec<String>, &'v Value)> {
    let list = value.and_then(Value::as_array).into_iter().flatten();
    list.filter_map(|entry| Some((keys_of(node, entry)?, entry))).collect()
}

/// The entries of a list whose order users decide on that stand elsewhere among those that are in both.
fn moved<'l>(
    node: &Node,
    old: &'l [(Vec<String>, &Value)],
    new: &'l [(Vec<String>, &Value)],
) -> HashSet<&'l Vec<String>> {
    if !node.is_user_ordered {
        return HashSet::new();
    }
    let (before, after): (HashSet<_>, HashSet<_>) =
        (old.iter().map(|one| &one.0).collect(), new.iter().map(|one| &one.0).collect());
    let old = old.iter().map(|one| &one.0).filter(|keys| after.contains(keys));
    let new = new.iter().map(|one| &one.0).filter(|keys| before.contains(keys));
    old.zip(new).filter(|(old, new)| old != new).flat_map(|(old, new)| [old, new]).collect()
}
