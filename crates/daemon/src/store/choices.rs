//! Configurations with several cases of a choice, as an earlier weir could keep them.

use functions::Functions;
use serde_json::{Map, Value};
use yang::{Kind, Node};

use crate::tree::member_name;

/// Removes all cases of a choice but the one that came last (RFC 7950, section 7.9): the paths to what has gone.
pub(super) fn settle(functions: &Functions, tree: &mut Value) -> Vec<String> {
    let mut gone = Vec::new();
    let nodes = functions.modules().iter().flat_map(|module| &module.nodes);
    for node in nodes {
        let name = member_name(0, node);
        if let Some(value) = tree.get_mut(&name) {
            settle_value(node, value, &format!("/{name}"), &mut gone);
        }
    }
    gone
}

fn settle_value(node: &Node, value: &mut Value, at: &str, gone: &mut Vec<String>) {
    match value {
        Value::Array(entries) if node.kind == Kind::List => {
            for entry in entries {
                let keys = crate::tree::keys_of(node, entry).unwrap_or_default().join(",");
                settle_value(node, entry, &format!("{at}={keys}"), gone);
            }
        }
        Value::Object(members) => {
            settle_choices(&node.children, members, at, gone);
            for child in node.data_children() {
                if let Some(value) = members.get_mut(&child.name) {
                    settle_value(child, value, &format!("{at}/{}", child.name), gone);
                }
            }
        }
        _ => {}
    }
}

/// Members stand in the order in which they came.
fn settle_choices(nodes: &[Node], members: &mut Map<String, Value>, at: &str, gone: &mut Vec<String>) {
    for choice in nodes.iter().filter(|node| node.kind == Kind::Choice) {
        let Some(last) = members.keys().rev().find(|name| choice.child(name).is_some()).cloned() else {
            continue;
        };
        for case in &choice.children {
            if case.child(&last).is_some() {
                settle_choices(&case.children, members, at, gone);
                continue;
            }
            let others = case.data_children().filter(|node| members.shift_remove(&node.name).is_some());
            gone.extend(others.map(|node| format!("{at}/{}", node.name)));
        }
    }
}
