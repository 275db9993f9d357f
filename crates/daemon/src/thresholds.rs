//! Thresholds of the configuration (`/weir:thresholds`): which values are looked at, and when there is an event.

use events::{Sample, Startup, Threshold, Told};
use functions::{Functions, CORE};
use serde_json::Value;
use yang::{Base, Kind};

use crate::fault::Fault;
use crate::path::{self, Place};
use crate::restconf::query::Query;
use crate::restconf::view;
use crate::store::Store;

/// The entries of the configuration.
fn entries(tree: &Value) -> impl Iterator<Item = &Value> {
    let all = tree.get(format!("{CORE}:thresholds")).and_then(|thresholds| thresholds.get("threshold"));
    all.and_then(Value::as_array).into_iter().flatten()
}

fn text<'v>(entry: &'v Value, name: &str) -> &'v str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What the configuration wants to be looked at: names, paths and thresholds.
pub fn wanted(tree: &Value) -> Vec<(String, String, Threshold)> {
    let one = |entry: &Value| {
        let threshold = threshold(entry);
        (text(entry, "name").to_string(), text(entry, "path").to_string(), threshold)
    };
    entries(tree).map(one).collect()
}

fn threshold(entry: &Value) -> Threshold {
    let bound = |name: &str| text(entry, name).parse().ok();
    let sample = if text(entry, "sample") == "delta" { Sample::Delta } else { Sample::Absolute };
    let startup = Startup::named(text(entry, "startup")).unwrap_or_default();
    const EVERY_MS: u64 = 10_000;
    let every_ms = entry.get("interval").and_then(Value::as_u64).unwrap_or(EVERY_MS);
    let every_ms = u32::try_from(every_ms).unwrap_or(Threshold::MAX_EVERY_MS);
    Threshold { rising: bound("rising"), falling: bound("falling"), sample, startup, every_ms }
}

/// What is wrong with the thresholds of a configuration, besides what the schema tells.
pub fn check(store: &Store) -> Result<(), Fault> {
    for entry in entries(&store.tree().0) {
        let at = |fault: Fault| fault.at(format!("/{CORE}:thresholds/threshold={}", text(entry, "name")));
        let places = places(store.functions(), text(entry, "path")).map_err(at)?;
        // In weir's own part, ports are of instances, too.
        let of_instance = match places.as_slice() {
            [first, ..] if first.node.module != CORE => Some(first),
            [first, port, ..] if first.node.name == "topology" && port.node.name == "port" => Some(port),
            _ => None,
        };
        let instance = of_instance.and_then(|place| place.keys.as_ref()?.first());
        if let Some(name) = instance.filter(|name| store.instance(name).is_none()) {
            return Err(at(Fault::invalid(format!(
                "there is no instance `{name}`; create it first, or delete the threshold with it"
            ))));
        }
    }
    Ok(())
}

/// The way to a value that is a number.
fn places<'f>(functions: &'f Functions, text: &str) -> Result<Vec<Place<'f>>, Fault> {
    let told = |fault: Fault| Fault { path: None, ..Fault::invalid(format!("`{text}`: {}", fault.message)) };
    let steps = path::parse(text).map_err(told)?;
    let places = path::resolve(functions, &steps).map_err(told)?;
    let node = places.last().map(|last| last.node).filter(|node| node.kind == Kind::Leaf);
    let base = node.and_then(|node| node.ty.as_ref()).map(|ty| ty.base);
    match base {
        Some(Base::Integer | Base::BigInteger | Base::Decimal | Base::Boolean) => Ok(places),
        _ => Err(Fault::invalid(format!(
            "`{text}` is no leaf whose value is a number; `weir show INSTANCE` shows which there are"
        ))),
    }
}

/// The value that a path leads to now.
pub fn value(store: &Store, text: &str) -> Result<String, String> {
    let places = places(store.functions(), text).map_err(|fault| fault.message)?;
    let value = view::of(store, &places, &Query::default());
    match value {
        Some(value @ (Value::String(_) | Value::Number(_) | Value::Bool(_))) => {
            Ok(functions::text_of(&value))
        }
        _ => Err("it is not there".to_string()),
    }
}

/// The state of a threshold: the leaf of this name.
pub fn state(told: &[Told], entry: &Value, leaf: &str) -> Option<Value> {
    let told = told.iter().find(|told| told.name == text(entry, "name"))?;
    match leaf {
        "value" => told.value.map(|value| value.to_string().into()),
        "problem" => told.problem.clone().map(Value::from),
        "crossed" => told.crossed.map(|crossed| crossed.name().into()),
        "crossed-at" => told.crossed_at.clone().map(Value::from),
        _ => None,
    }
}
