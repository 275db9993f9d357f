//! The configuration as JSON, and changes of it that can be undone.

use serde_json::{Map, Value};
use yang::{Kind, Node};

use crate::fault::Fault;
use crate::path::{self, Place};

/// Where an entry is put in a list whose order users decide on (RFC 8040, sections 4.8.5 and 4.8.6).
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Position {
    /// In front of all.
    First,
    /// Behind all.
    Last,
    /// In front of the entry with these keys.
    Before(Vec<String>),
    /// Behind the entry with these keys.
    After(Vec<String>),
}

/// The whole configuration: a member `MODULE:NAME` for each top-level node.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Tree(pub Value);

/// What takes a change back: the whole value of a place, as it was.
#[derive(Debug)]
pub struct Undo {
    way: Vec<Way>,
    old: Old,
}

#[derive(Clone, Debug)]
enum Way {
    Member(String),
    Entry(usize),
}

#[derive(Debug)]
enum Old {
    /// The member, and where it stood.
    Member(String, Option<(usize, Value)>),
    /// An entry was put here.
    Added(usize),
    /// An entry was here.
    Removed(usize, Value),
    /// An entry had this value.
    Replaced(usize, Value),
}

impl Tree {
    /// No configuration.
    pub fn new() -> Tree {
        Tree(Value::Object(Map::new()))
    }

    /// The value at a place.
    pub fn get(&self, places: &[Place<'_>]) -> Option<&Value> {
        let mut value = &self.0;
        for (i, place) in places.iter().enumerate() {
            value = value.get(member_name(i, place.node))?;
            if let Some(keys) = &place.keys {
                let idx = position(place.node, value.as_array()?, keys)?;
                value = &value[idx];
            }
        }
        Some(value)
    }

    /// An error if there is no value at a place beneath which something is to be written: a name that was mistyped makes none.
    pub fn must_have(&self, places: &[Place<'_>]) -> Result<(), Fault> {
        if self.get(places).is_some() {
            return Ok(());
        }
        let text = path::to_text(places);
        Err(Fault::missing(format!("{text} does not exist; create it first")).at(text))
    }

    /// Puts a value at a place, whose parents are made if they are not there; what was there goes.
    pub fn put(
        &mut self,
        places: &[Place<'_>],
        value: Value,
        at: Option<&Position>,
    ) -> Result<Vec<Undo>, Fault> {
        let Some((last, parents)) = places.split_last() else { return self.put_all(value) };
        let mut undos = Vec::new();
        let way = self.make(parents, &mut undos);
        let parent = self.at(&way).ok_or_else(|| Fault::broken("the place that was made is not there"))?;
        let name = member_name(parents.len(), last.node);
        let Some(keys) = &last.keys else {
            undos.push(set_member(parent, &name, Some(value), way));
            return Ok(undos);
        };
        if parent.get(&name).is_none_or(|list| !list.is_array()) {
            undos.push(set_member(parent, &name, Some(Value::Array(Vec::new())), way.clone()));
        }
        let list_way: Vec<Way> = way.iter().cloned().chain([Way::Member(name.clone())]).collect();
        let Some(Value::Array(list)) = parent.get_mut(&name) else { return Ok(undos) };
        let found = position(last.node, list, keys);
        let wanted = at.map(|at| place_of(last.node, list, at)).transpose()?;
        match (found, wanted) {
            (Some(idx), None) => {
                let old = std::mem::replace(&mut list[idx], value);
                undos.push(Undo { way: list_way, old: Old::Replaced(idx, old) });
            }
            (Some(idx), Some(mut to)) => {
                let old = list.remove(idx);
                undos.push(Undo { way: list_way.clone(), old: Old::Removed(idx, old) });
                to -= usize::from(to > idx);
                list.insert(to, value);
                undos.push(Undo { way: list_way, old: Old::Added(to) });
            }
            (None, to) => {
                let to = to.unwrap_or(list.len());
                list.insert(to, value);
                undos.push(Undo { way: list_way, old: Old::Added(to) });
            }
        }
        Ok(undos)
    }

    fn put_all(&mut self, value: Value) -> Result<Vec<Undo>, Fault> {
        let mut undos = Vec::new();
        let Value::Object(members) = value else { return Err(Fault::malformed("expected an object")) };
        let names: Vec<String> = self.0.as_object().into_iter().flat_map(|all| all.keys().cloned()).collect();
        for name in names {
            undos.push(set_member(&mut self.0, &name, None, Vec::new()));
        }
        for (name, value) in members {
            undos.push(set_member(&mut self.0, &name, Some(value), Vec::new()));
        }
        Ok(undos)
    }

    /// Takes away what is at a place; none if there is nothing.
    pub fn remove(&mut self, places: &[Place<'_>]) -> Option<Undo> {
        let (last, parents) = places.split_last()?;
        let way = self.find(parents)?;
        let parent = self.at(&way)?;
        let name = member_name(parents.len(), last.node);
        let Some(keys) = &last.keys else {
            parent.get(&name)?;
            return Some(set_member(parent, &name, None, way));
        };
        let Some(Value::Array(list)) = parent.get_mut(&name) else { return None };
        let idx = position(last.node, list, keys)?;
        if list.len() == 1 {
            return Some(set_member(parent, &name, None, way));
        }
        let old = list.remove(idx);
        let way = way.into_iter().chain([Way::Member(name)]).collect();
        Some(Undo { way, old: Old::Removed(idx, old) })
    }

    /// Takes changes back, the last one first.
    pub fn undo(&mut self, undos: Vec<Undo>) {
        for Undo { way, old } in undos.into_iter().rev() {
            let Some(value) = self.at(&way) else { continue };
            match (old, value) {
                (Old::Member(name, old), Value::Object(members)) => {
                    members.shift_remove(&name);
                    if let Some((idx, old)) = old {
                        members.shift_insert(idx.min(members.len()), name, old);
                    }
                }
                (Old::Added(idx), Value::Array(list)) => drop(list.remove(idx)),
                (Old::Removed(idx, old), Value::Array(list)) => list.insert(idx, old),
                (Old::Replaced(idx, old), Value::Array(list)) => list[idx] = old,
                _ => {}
            }
        }
    }

    /// The way to a place, if it is there.
    fn find(&self, places: &[Place<'_>]) -> Option<Vec<Way>> {
        let (mut way, mut value) = (Vec::new(), &self.0);
        for (i, place) in places.iter().enumerate() {
            let name = member_name(i, place.node);
            value = value.get(&name)?;
            way.push(Way::Member(name));
            if let Some(keys) = &place.keys {
                let idx = position(place.node, value.as_array()?, keys)?;
                value = &value[idx];
                way.push(Way::Entry(idx));
            }
        }
        Some(way)
    }

    /// The way to a place, which is made if it is not there.
    fn make(&mut self, places: &[Place<'_>], undos: &mut Vec<Undo>) -> Vec<Way> {
        for n in 1..=places.len() {
            let (place, parents) = (&places[n - 1], &places[..n - 1]);
            if self.find(&places[..n]).is_none() {
                let value = match &place.keys {
                    Some(keys) => crate::path::with_keys(place.node, keys, Value::Null),
                    None => Value::Object(Map::new()),
                };
                let whole: Vec<Place<'_>> = parents.iter().chain([place]).cloned().collect();
                undos.extend(self.put(&whole, value, None).unwrap_or_default());
            }
        }
        self.find(places).unwrap_or_default()
    }

    fn at(&mut self, way: &[Way]) -> Option<&mut Value> {
        way.iter().try_fold(&mut self.0, |value, step| match step {
            Way::Member(name) => value.get_mut(name),
            Way::Entry(idx) => value.get_mut(idx),
        })
    }
}

fn set_member(parent: &mut Value, name: &str, value: Option<Value>, way: Vec<Way>) -> Undo {
    let Value::Object(members) = parent else {
        return Undo { way, old: Old::Member(name.to_string(), None) };
    };
    let before = members.keys().position(|known| known == name);
    let old = match value {
        Some(value) => members.insert(name.to_string(), value),
        None => members.shift_remove(name),
    };
    Undo { way, old: Old::Member(name.to_string(), before.zip(old)) }
}

/// The name of a node's member: from the top on with its module.
pub fn member_name(depth: usize, node: &Node) -> String {
    match depth {
        0 => format!("{}:{}", node.module, node.name),
        _ => node.name.clone(),
    }
}

/// Where an entry with these keys stands.
fn position(node: &Node, list: &[Value], keys: &[String]) -> Option<usize> {
    // Long lists are gone through: no text is made of a number for that.
    let wanted: Vec<Wanted<'_>> =
        keys.iter().map(|key| Wanted { text: key, number: key.parse().ok() }).collect();
    // Numbers mostly ascend: then half of what is left can be left out each time. Keys are unique, so what is found is right in any order.
    if let ([key], [Wanted { number: Some(number), .. }]) = (node.keys.as_slice(), wanted.as_slice()) {
        let less = |entry: &Value| entry.get(key).and_then(Value::as_i64).is_some_and(|own| own < *number);
        let idx = list.partition_point(less);
        if list.get(idx).is_some_and(|entry| has_keys(node, entry, &wanted)) {
            return Some(idx);
        }
    }
    list.iter().position(|entry| has_keys(node, entry, &wanted))
}

/// A key that is looked for.
struct Wanted<'k> {
    text: &'k str,
    number: Option<i64>,
}

impl Wanted<'_> {
    fn is(&self, value: &Value) -> bool {
        match value {
            Value::String(own) => own == self.text,
            Value::Number(own) if own.is_i64() => own.as_i64() == self.number,
            other => functions::text_of(other) == self.text,
        }
    }
}

fn has_keys(node: &Node, entry: &Value, keys: &[Wanted<'_>]) -> bool {
    if node.kind == Kind::LeafList {
        return keys.first().is_some_and(|key| key.is(entry));
    }
    // Keys come first in most entries.
    let mut members = entry.as_object().into_iter().flatten();
    node.keys.iter().zip(keys).all(|(name, key)| match members.next() {
        Some((own, value)) if own == name => key.is(value),
        _ => entry.get(name).is_some_and(|value| key.is(value)),
    })
}

/// The keys of an entry.
pub fn keys_of(node: &Node, entry: &Value) -> Option<Vec<String>> {
    if node.kind == Kind::LeafList {
        return Some(vec![functions::text_of(entry)]);
    }
    node.keys.iter().map(|name| entry.get(name).map(functions::text_of)).collect()
}

fn place_of(node: &Node, list: &[Value], at: &Position) -> Result<usize, Fault> {
    let find = |keys: &Vec<String>| {
        position(node, list, keys).ok_or_else(|| {
            Fault::data_missing(format!("`{}` has no entry {} to stand beside", node.name, keys.join(",")))
        })
    };
    match at {
        Position::First => Ok(0),
        Position::Last => Ok(list.len()),
        Position::Before(keys) => find(keys),
        Position::After(keys) => find(keys).map(|idx| idx + 1),
    }
}
