//! What templates see: the values of an instance, and filters for addresses.

use std::collections::HashSet;
use std::sync::Arc;

use args::{EtherAddr, Scope, Timestamp};
use minijinja::value::{Enumerator, Object, ValueKind};
use minijinja::{context, Environment, Error, ErrorKind, Value};
use serde_json::Value as Json;
use yang::{Base, Kind, Node, Type};

use crate::addresses;
use crate::function::text_of;
use crate::rate::{self, Burst, Rate};

/// What begins the detail of an error that a template makes on purpose.
pub const RAISED: &str = "\u{1}";

/// The values of an instance: one for each node, that by default if none is given, else none. `-` in names is `_`.
pub fn of_instance(node: &Node, data: &Json) -> Value {
    Shape::of(node).entry(data)
}

/// The nodes that entries of a list, or a container, have, each with its value where none is given.
struct Shape<'n> {
    nodes: Vec<(&'n Node, Value)>,
    names: Arc<[String]>,
}

/// Objects of up to so many members are searched from their first one on, which takes less than to hash a name.
const MAX_SEARCHED: usize = 8;

impl<'n> Shape<'n> {
    fn of(node: &'n Node) -> Shape<'n> {
        let nodes = node.data_children().filter(|child| child.is_config && child.kind != Kind::Action);
        let nodes: Vec<(&Node, Value)> = nodes.map(|node| (node, absent(node))).collect();
        let names = nodes.iter().map(|(node, _)| node.name.replace('-', "_")).collect();
        Shape { nodes, names }
    }

    fn entry(&self, data: &Json) -> Value {
        let members = data.as_object();
        let find = |name: &String| match members? {
            few if few.len() <= MAX_SEARCHED => few.iter().find(|(known, _)| *known == name).map(|one| one.1),
            many => many.get(name),
        };
        let value = |(node, absent): &(&Node, Value)| {
            find(&node.name).map_or_else(|| absent.clone(), |value| present(node, value))
        };
        let values = self.nodes.iter().map(value).collect();
        Value::from_object(Entry { names: self.names.clone(), values })
    }
}

/// Values with names.
#[derive(Debug)]
struct Entry {
    names: Arc<[String]>,
    values: Vec<Value>,
}

impl Object for Entry {
    fn get_value(self: &Arc<Self>, key: &Value) -> Option<Value> {
        let key = key.as_str()?;
        let idx = self.names.iter().position(|name| name == key)?;
        self.values.get(idx).cloned()
    }

    fn enumerate(self: &Arc<Self>) -> Enumerator {
        Enumerator::Values(self.names.iter().map(|name| Value::from(name.as_str())).collect())
    }
}

/// The value of a node that is given.
fn present(node: &Node, data: &Json) -> Value {
    let entries = || data.as_array().map(Vec::as_slice).unwrap_or_default();
    match node.kind {
        Kind::List => {
            let shape = Shape::of(node);
            entries().iter().map(|entry| shape.entry(entry)).collect()
        }
        Kind::LeafList => entries().iter().map(|value| of_json(node.ty.as_ref(), value)).collect(),
        Kind::Container { .. } => of_instance(node, data),
        Kind::Leaf => of_json(node.ty.as_ref(), data),
        _ => Value::from(()),
    }
}

/// The value of a node that is not given.
fn absent(node: &Node) -> Value {
    match node.kind {
        Kind::List | Kind::LeafList => Value::from(Vec::<Value>::new()),
        Kind::Container { is_presence: false } => of_instance(node, &Json::Null),
        Kind::Leaf => match &node.default {
            Some(default) => of_leaf(node.ty.as_ref(), default),
            None if node.ty.as_ref().is_some_and(|ty| ty.base == Base::Empty) => Value::from(false),
            None => Value::from(()),
        },
        _ => Value::from(()),
    }
}

fn of_json(ty: Option<&Type>, value: &Json) -> Value {
    match value {
        Json::String(text) => of_leaf(ty, text),
        other => of_leaf(ty, &text_of(other)),
    }
}

fn of_leaf(ty: Option<&Type>, text: &str) -> Value {
    match ty.map(|ty| ty.base) {
        Some(Base::Integer | Base::BigInteger) => {
            text.parse::<i128>().map_or_else(|_| Value::from(text), Value::from)
        }
        Some(Base::Boolean) => Value::from(text == "true"),
        Some(Base::Empty) => Value::from(true),
        Some(Base::Reference) => of_leaf(ty.and_then(|ty| ty.members.first()), text),
        _ => Value::from(text),
    }
}

/// Adds the functions and filters that templates have besides minijinja's own.
pub fn add_filters(env: &mut Environment<'_>) {
    env.add_function("raise", |message: &str| -> Result<Value, Error> { Err(raised(message)) });
    addresses::add_filters(env);
    env.add_filter("hex", |number: u64, digits: Option<usize>| {
        format!("{number:0width$x}", width = digits.unwrap_or(2))
    });
    env.add_filter("ethernet", |text: &str| station(text).map(|address| address.with_colons()));
    env.add_filter("ethernet_of_name", |name: &str| {
        let [.., a, b, c, d, e] = fnv1a(name).to_be_bytes();
        EtherAddr([2, a, b, c, d, e]).to_string()
    });
    env.add_filter("probability", |text: &str| {
        rate::probability(text).map(|number| format!("{number:.9}")).map_err(|message| invalid(&message))
    });
    env.add_filter("rate", |text: &str| -> Result<Value, Error> {
        Ok(match Rate::parse(text).map_err(|message| invalid(&message))? {
            Rate::BytesPerSecond(number) => context! { number, is_packets => false },
            Rate::PacketsPerSecond(number) => context! { number, is_packets => true },
        })
    });
    env.add_filter("burst", |text: &str| -> Result<Value, Error> {
        Ok(match Burst::parse(text).map_err(|message| invalid(&message))? {
            Burst::Size(number) => context! { number, ms => () },
            Burst::Milliseconds(ms) => context! { number => (), ms },
        })
    });
    env.add_filter("twice", twice);
    env.add_filter("identifier", |name: &str| identifier(name));
    env.add_filter("nanoseconds", |text: &str| time(text).map(|time| i128::from(time.as_nanos())));
    env.add_filter("seconds", |text: &str| -> Result<f64, Error> { Ok(time(text)?.as_nanos() as f64 / 1e9) });
    // A word of the Click language, whatever it holds.
    env.add_filter("quoted", |value: Value| -> String {
        let text = if value.kind() == ValueKind::String {
            value.as_str().unwrap_or_default().to_string()
        } else {
            value.to_string()
        };
        args::quote(&text)
    });
}

/// An error of a filter.
pub fn invalid(message: &str) -> Error {
    Error::new(ErrorKind::InvalidOperation, message.to_string())
}

fn raised(message: &str) -> Error {
    invalid(&format!("{RAISED}{message}"))
}

fn time(text: &str) -> Result<Timestamp, Error> {
    args::timestamp(text).map_err(|_| invalid(&format!("`{text}` is no time")))
}

/// A station's address.
pub fn station(text: &str) -> Result<EtherAddr, Error> {
    args::ether(text, &Scope::builtin()).map_err(|_| invalid(&format!("`{text}` is no Ethernet address")))
}

/// The first value that is in a list twice, or none.
fn twice(list: &Value) -> Result<Value, Error> {
    let mut seen = HashSet::new();
    for value in list.try_iter()? {
        if !seen.insert(value.to_string()) {
            return Ok(value);
        }
    }
    Ok(Value::from(()))
}

/// A part of an element's name for a name that may hold more than letters and digits; different for different names.
pub fn identifier(name: &str) -> String {
    let mut text = String::new();
    for c in name.chars() {
        match c {
            '_' => text.push_str("__"),
            c if c.is_ascii_alphanumeric() => text.push(c),
            c => text.push_str(&format!("_{:02x}_", u32::from(c))),
        }
    }
    text
}

/// The hash function FNV-1a: the same wherever and whenever it is computed.
fn fnv1a(text: &str) -> u64 {
    text.bytes()
        .fold(0xcbf2_9ce4_8422_2325, |hash, byte| (hash ^ u64::from(byte)).wrapping_mul(0x0100_0000_01b3))
}
