//! Changes of the configuration, as RESTCONF's methods and YANG Patch (RFC 8072) name them.

use std::collections::HashSet;

use functions::Functions;
use serde_json::{json, Map, Value};
use yang::{Base, Data, Kind, Node};

use crate::fault::Fault;
use crate::path::{self, Place, Step};
use crate::tree::{keys_of, Position, Tree, Undo};

/// What is done with a node (RFC 8072, section 2.5).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// It must not be there yet.
    Create,
    /// What is given is added to what is there, or takes its place.
    Merge,
    /// What is given takes the place of all that is there.
    Replace,
    /// It must be there.
    Delete,
    /// It need not be there.
    Remove,
    /// It must be there, and changes its place in the order.
    Move,
}

/// One change.
#[derive(Clone, Debug, PartialEq)]
pub struct Edit {
    /// What is done.
    pub op: Op,
    /// The node.
    pub path: Vec<Step>,
    /// Its value, without the names around it.
    pub value: Option<Value>,
    /// Where it is to stand in a list whose order users decide on.
    pub at: Option<Position>,
}

/// The configuration with what checks it.
pub struct Edited<'t> {
    /// The configuration.
    pub tree: &'t mut Tree,
    /// The same for libyang.
    pub data: &'t mut Data,
    /// What takes the changes back.
    pub undos: Vec<Undo>,
}

impl Edited<'_> {
    /// Makes a change; the place of the node.
    pub fn apply<'s>(&mut self, functions: &'s Functions, edit: &Edit) -> Result<Vec<Place<'s>>, Fault> {
        let places = path::resolve(functions, &edit.path)?;
        let text = path::to_text(&places);
        check_target(&places, edit).map_err(|fault| fault.at(&text))?;
        let is_there = self.tree.get(&places).is_some();
        match edit.op {
            Op::Create if is_there => {
                return Err(Fault::data_exists(format!(
                    "{text} exists already; change it with PUT or PATCH"
                ))
                .at(text));
            }
            Op::Delete | Op::Move if !is_there => {
                return Err(Fault::data_missing(format!("{text} does not exist")).at(text));
            }
            Op::Delete | Op::Remove => self.remove(&places)?,
            Op::Move => {
                let value = self.tree.get(&places).cloned().unwrap_or_default();
                self.undos.extend(self.tree.put(&places, value, edit.at.as_ref())?);
            }
            Op::Create | Op::Merge | Op::Replace => {
                let value =
                    edit.value.clone().ok_or_else(|| Fault::malformed("a value is needed").at(&text))?;
                let value = self.clean_target(functions, &places, value)?;
                if edit.op == Op::Replace {
                    self.remove_for_check(&places)?;
                }
                let whole = path::envelope(&places, value.clone());
                self.data.merge(&whole.to_string()).map_err(|problem| Fault::from(problem).or_at(&text))?;
                match edit.op {
                    Op::Merge => self.merge(&places, value, edit.at.as_ref())?,
                    _ => self.undos.extend(self.tree.put(&places, value, edit.at.as_ref())?),
                }
            }
        }
        Ok(places)
    }

    /// Whether the instance that a change is about is there, or is made by it: one is never made by what is written beneath it.
    pub fn check_instance(&self, functions: &Functions, edit: &Edit) -> Result<(), Fault> {
        let places = path::resolve(functions, &edit.path)?;
        let writes = matches!(edit.op, Op::Create | Op::Merge | Op::Replace);
        match places.as_slice() {
            [first, _, ..] if writes && first.keys.is_some() => self.tree.must_have(&places[..1]),
            _ => Ok(()),
        }
    }

    fn clean_target(
        &self,
        functions: &Functions,
        places: &[Place<'_>],
        value: Value,
    ) -> Result<Value, Fault> {
        let Some(last) = places.last() else {
            return clean_top(functions, value);
        };
        let text = path::to_text(places);
        let value = match (&last.keys, last.node.kind) {
            (Some(keys), Kind::List) => {
                let clean = clean_entry(last.node, value, &text)?;
                let own = keys_of(last.node, &clean);
                if own.as_ref().is_some_and(|own| own != keys) {
                    let own = own.unwrap_or_default().join(",");
                    return Err(Fault::invalid(format!(
                        "the entry's key is {own} in its value; it must be {}",
                        keys.join(",")
                    ))
                    .at(text));
                }
                path::with_keys(last.node, keys, clean)
            }
            (Some(keys), _) => only_value(last.node, keys, &value, &text)?,
            (None, _) => clean(last.node, value, &text)?,
        };
        Ok(value)
    }

    fn remove(&mut self, places: &[Place<'_>]) -> Result<(), Fault> {
        if places.is_empty() {
            self.undos.extend(self.tree.put(&[], Value::Object(Map::new()), None)?);
        } else {
            self.undos.extend(self.tree.remove(places));
        }
        self.remove_for_check(places)
    }

    /// Takes what is at a place away from libyang's data.
    fn remove_for_check(&mut self, places: &[Place<'_>]) -> Result<(), Fault> {
        let last = places
            .last()
            .ok_or_else(|| Fault::not_allowed("the whole configuration is replaced by its parts"))?;
        let path = path::for_libyang(places)?;
        if matches!(last.node.kind, Kind::List | Kind::LeafList) && last.keys.is_none() {
            // libyang removes one at a time.
            let entries = self.tree.get(places).and_then(Value::as_array).map_or(&[][..], Vec::as_slice);
            for keys in entries.iter().filter_map(|entry| keys_of(last.node, entry)) {
                let mut one = places.to_vec();
                one[places.len() - 1].keys = Some(keys);
                self.data.remove(&path::for_libyang(&one)?);
            }
        }
        self.data.remove(&path);
        Ok(())
    }

    /// Adds a value to what is there.
    fn merge(&mut self, places: &[Place<'_>], value: Value, at: Option<&Position>) -> Result<(), Fault> {
        let Some(last) = places.last() else {
            return self.merge_members(places, value);
        };
        let is_whole_list = last.keys.is_none() && matches!(last.node.kind, Kind::List | Kind::LeafList);
        match value {
            Value::Array(entries) if is_whole_list => {
                for entry in entries {
                    let Some(keys) = keys_of(last.node, &entry) else { continue };
                    let mut one = places.to_vec();
                    one[places.len() - 1].keys = Some(keys);
                    self.merge(&one, entry, None)?;
                }
                Ok(())
            }
            Value::Object(members) if at.is_none() && self.tree.get(places).is_some() => {
                self.merge_members(places, Value::Object(members))
            }
            value => {
                self.undos.extend(self.tree.put(places, value, at)?);
                Ok(())
            }
        }
    }

    fn merge_members(&mut self, places: &[Place<'_>], value: Value) -> Result<(), Fault> {
        let Value::Object(members) = value else { return Err(Fault::malformed("expected an object")) };
        for (name, value) in members {
            let Some(node) = places.last().and_then(|parent| parent.node.child(&name)) else { continue };
            let below: Vec<Place<'_>> = places.iter().cloned().chain([Place { node, keys: None }]).collect();
            self.merge(&below, value, None)?;
        }
        Ok(())
    }
}

impl Fault {
    /// With the node that it is about, if none is told.
    fn or_at(self, path: &str) -> Fault {
        Fault { path: self.path.or_else(|| Some(path.to_string())), ..self }
    }
}

/// Whether the node can be changed in this way.
fn check_target(places: &[Place<'_>], edit: &Edit) -> Result<(), Fault> {
    let Some(last) = places.last() else {
        return Err(Fault::not_allowed("the whole configuration cannot be changed as one; change its parts"));
    };
    let node = last.node;
    if matches!(node.kind, Kind::Action | Kind::Notification) || !node.is_config {
        return Err(Fault::not_allowed(format!("`{}` is no configuration: it cannot be written", node.name)));
    }
    let parent = places.len().checked_sub(2).map(|idx| places[idx].node);
    if parent.is_some_and(|list| list.kind == Kind::List && list.keys.contains(&node.name)) {
        return Err(Fault::not_allowed(format!("`{}` is the entry's key: make another entry", node.name)));
    }
    if edit.at.is_some() && !(node.is_user_ordered && last.keys.is_some()) {
        return Err(Fault::malformed(format!("`{}` has no order that users decide on", node.name)));
    }
    Ok(())
}

/// The value of a leaf-list's entry, which is also its key.
fn only_value(node: &Node, keys: &[String], value: &Value, at: &str) -> Result<Value, Fault> {
    check_leaf(node, value, at)?;
    let own = functions::leaf(node, &functions::text_of(value)).unwrap_or_default();
    match keys.first() {
        Some(key) if *key == functions::text_of(&own) => Ok(own),
        _ => Err(Fault::invalid(format!("the value is {value}; the path says {}", keys.join(","))).at(at)),
    }
}

fn clean_top(functions: &Functions, value: Value) -> Result<Value, Fault> {
    let Value::Object(members) = value else { return Err(Fault::malformed("expected an object")) };
    let mut cleaned = Map::new();
    for (name, value) in members {
        let places = path::resolve(functions, &path::parse(&name)?)?;
        if let Some(place) = places.first() {
            cleaned.insert(crate::tree::member_name(0, place.node), clean(place.node, value, &name)?);
        }
    }
    Ok(Value::Object(cleaned))
}

/// A value with its values checked, and its names without modules.
pub fn clean(node: &Node, value: Value, at: &str) -> Result<Value, Fault> {
    match (node.kind, value) {
        (Kind::List, Value::Array(entries)) => {
            let mut seen = HashSet::new();
            let mut clean = |entry| {
                let entry = clean_entry(node, entry, at)?;
                match keys_of(node, &entry) {
                    Some(keys) if !keys.is_empty() && seen.contains(&keys) => {
                        let keys = keys.join(",");
                        Err(Fault::invalid(format!("`{}` {keys} is given twice", node.name)).at(at))
                    }
                    keys => {
                        seen.extend(keys);
                        Ok(entry)
                    }
                }
            };
            entries.into_iter().map(&mut clean).collect()
        }
        (Kind::LeafList, Value::Array(values)) => {
            values.iter().try_for_each(|value| check_leaf(node, value, at))?;
            Ok(Value::Array(values))
        }
        (Kind::Leaf, value) => check_leaf(node, &value, at).map(|()| value),
        (Kind::List | Kind::LeafList, _) => {
            Err(Fault::invalid(format!("`{}` is a list: expected an array", node.name)).at(at))
        }
        (_, value) => clean_entry(node, value, at),
    }
}

/// What an action is given, with its values checked and its names without modules.
pub fn clean_input(node: &Node, value: Value, at: &str) -> Result<Value, Fault> {
    clean_members(node, value, at, |_| true)
}

fn clean_entry(node: &Node, value: Value, at: &str) -> Result<Value, Fault> {
    clean_members(node, value, at, |child| child.is_config)
}

fn clean_members(node: &Node, value: Value, at: &str, may: impl Fn(&Node) -> bool) -> Result<Value, Fault> {
    let Value::Object(members) = value else { return Err(no_object(node, &value, may).at(at)) };
    let mut cleaned = Map::new();
    for (name, value) in members {
        let plain = match name.split_once(':') {
            Some((module, plain)) if module == node.module => plain,
            _ => &name,
        };
        let Some(child) = node.child(plain) else {
            let known = members_of(node, may).join(", ");
            return Err(Fault::unknown(format!("`{}` has no `{name}`; it has {known}", node.name)).at(at));
        };
        if !may(child) {
            return Err(Fault::invalid(format!("`{name}` is state: it cannot be written")).at(at));
        }
        cleaned.insert(plain.to_string(), clean(child, value, &format!("{at}/{plain}"))?);
    }
    Ok(Value::Object(cleaned))
}

/// What a node can be given.
fn members_of(node: &Node, may: impl Fn(&Node) -> bool) -> Vec<&str> {
    node.data_children().filter(|child| may(child)).map(|child| child.name.as_str()).collect()
}

/// Why something else cannot be the value of a node that has members.
fn no_object(node: &Node, value: &Value, may: impl Fn(&Node) -> bool) -> Fault {
    let known = members_of(node, may);
    let example = known.iter().find(|name| !node.keys.iter().any(|key| key == *name));
    let example = example.map(|name| format!(", as in {{\"{name}\": VALUE}}")).unwrap_or_default();
    let (text, known) = (functions::text_of(value), known.join(", "));
    Fault::invalid(format!("`{}` `{text}`: expected an object with some of {known}{example}", node.name))
}

fn check_leaf(node: &Node, value: &Value, at: &str) -> Result<(), Fault> {
    let Some(ty) = &node.ty else { return Ok(()) };
    // RFC 7951, section 6.9.
    if matches!(ty.base, Base::Empty | Base::Union) && *value == json!([null]) {
        return Ok(());
    }
    let text = functions::text_of(value);
    let checked = match value {
        Value::Array(_) => Err("expected one value, not an array".to_string()),
        Value::Object(_) => Err("expected one value, not an object".to_string()),
        Value::Null => Err("expected a value; to have none, delete it".to_string()),
        _ => functions::check(ty, &text),
    };
    checked.map_err(|message| Fault::invalid(format!("`{}` `{text}`: {message}", node.name)).at(at))
}
