//! YANG Patch (RFC 8072): many edits that are one transaction.

use serde_json::{json, Value};
use yang::Kind;

use super::body;
use crate::edit::{Edit, Op};
use crate::fault::Fault;
use crate::path::{self, Step};
use crate::store::Store;
use crate::tree::Position;

/// Edits with their names.
pub struct Patch {
    /// The patch's name.
    pub id: String,
    /// The edits' names.
    pub names: Vec<String>,
    /// The edits.
    pub edits: Vec<Edit>,
}

impl Patch {
    /// Reads a patch of the node that a path leads to.
    pub fn parse(store: &Store, base: &[Step], body: Value) -> Result<Patch, Fault> {
        let (name, patch) = body::member(body)?;
        if name != "ietf-yang-patch:yang-patch" {
            return Err(Fault::malformed(format!(
                "the body is `{name}`; it must be `ietf-yang-patch:yang-patch`"
            )));
        }
        only_has(&patch, &["patch-id", "comment", "edit"])?;
        if patch.get("comment").is_some_and(|comment| !comment.is_string()) {
            return Err(Fault::malformed("`comment` must be a string"));
        }
        let id = text(&patch, "patch-id").ok_or_else(|| Fault::malformed("`patch-id` is missing"))?;
        let list = match patch.get("edit") {
            Some(Value::Array(list)) => list.as_slice(),
            None => &[],
            Some(_) => return Err(Fault::malformed("`edit` must be an array")),
        };
        let mut whole = Patch { id, names: Vec::new(), edits: Vec::new() };
        for edit in list {
            only_has(edit, &["edit-id", "operation", "target", "point", "where", "value"])?;
            let name = text(edit, "edit-id").ok_or_else(|| Fault::malformed("an edit has no `edit-id`"))?;
            if whole.names.contains(&name) {
                return Err(Fault::malformed(format!("two edits are called `{name}`")));
            }
            let read = read(store, base, edit)
                .map_err(|fault| Fault { message: format!("edit `{name}`: {}", fault.message), ..fault })?;
            whole.names.push(name);
            whole.edits.push(read);
        }
        Ok(whole)
    }
}

/// Refuses members that RFC 8072 does not know.
fn only_has(value: &Value, known: &[&str]) -> Result<(), Fault> {
    let mut names = value.as_object().into_iter().flat_map(|members| members.keys());
    match names.find(|name| !known.contains(&name.as_str())) {
        Some(name) => Err(Fault::malformed(format!("`{name}` is unknown; there are {}", known.join(", ")))),
        None => Ok(()),
    }
}

fn text(value: &Value, name: &str) -> Option<String> {
    value.get(name).and_then(Value::as_str).map(str::to_string)
}

fn read(store: &Store, base: &[Step], edit: &Value) -> Result<Edit, Fault> {
    let operation = text(edit, "operation").ok_or_else(|| Fault::malformed("`operation` is missing"))?;
    let target = text(edit, "target").ok_or_else(|| Fault::malformed("`target` is missing"))?;
    let op = match operation.as_str() {
        "create" | "insert" => Op::Create,
        "merge" => Op::Merge,
        "replace" => Op::Replace,
        "delete" => Op::Delete,
        "remove" => Op::Remove,
        "move" => Op::Move,
        other => {
            return Err(Fault::malformed(format!(
                "no operation `{other}`; there are create, delete, insert, merge, move, replace and remove"
            )))
        }
    };
    let steps: Vec<Step> = base.iter().cloned().chain(path::parse(&target)?).collect();
    let places = path::resolve(store.functions(), &steps)?;
    let last = places.last().ok_or_else(|| Fault::invalid("the target is the whole configuration"))?;
    let value = match edit.get("value") {
        Some(value) => Some(body::value_of(last, value.clone())?),
        None if matches!(op, Op::Create | Op::Merge | Op::Replace) => {
            return Err(Fault::malformed("`value` is missing"))
        }
        None => None,
    };
    let has_place = matches!(operation.as_str(), "insert" | "move");
    if has_place && (last.keys.is_none() || !matches!(last.node.kind, Kind::List | Kind::LeafList)) {
        return Err(Fault::invalid(format!("{operation} is for entries of lists")));
    }
    let at = has_place.then(|| place(store, base, edit)).transpose()?;
    Ok(Edit { op, path: path::steps_of(&places), value, at })
}

fn place(store: &Store, base: &[Step], edit: &Value) -> Result<Position, Fault> {
    let beside = || -> Result<Vec<String>, Fault> {
        let point = text(edit, "point").ok_or_else(|| Fault::malformed("`point` is missing"))?;
        let steps: Vec<Step> = base.iter().cloned().chain(path::parse(&point)?).collect();
        let places = path::resolve(store.functions(), &steps)?;
        places
            .last()
            .and_then(|last| last.keys.clone())
            .ok_or_else(|| Fault::invalid(format!("`{point}` is no entry of a list")))
    };
    match text(edit, "where").as_deref() {
        Some("first") => Ok(Position::First),
        Some("last") | None => Ok(Position::Last),
        Some("before") => Ok(Position::Before(beside()?)),
        Some("after") => Ok(Position::After(beside()?)),
        Some(other) => {
            Err(Fault::malformed(format!("`where` is `{other}`; it must be before, after, first or last")))
        }
    }
}

/// What is told of a patch that was not made.
pub fn failed(id: &str, name: Option<&String>, fault: &Fault) -> Value {
    let errors = json!({ "error": [fault.to_json()] });
    let status = match name {
        Some(name) => {
            json!({ "patch-id": id, "edit-status": { "edit": [{ "edit-id": name, "errors": errors }] } })
        }
        None => json!({ "patch-id": id, "errors": errors }),
    };
    json!({ "ietf-yang-patch:yang-patch-status": status })
}
