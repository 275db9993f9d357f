//! What is told of a node: configuration, values by default, and state that handlers give.

mod handlers;

use std::collections::HashMap;

use events::Told;
use functions::{text_of, CORE};
use regex_lite::Regex;
use serde_json::{Map, Value};
use yang::{Kind, Node};

use super::query::{Content, Defaults, Query};
use crate::drops::{self, Owners};
use crate::graph::Bodies;
use crate::path::Place;
use crate::plane::Plane;
use crate::store::Store;
use crate::topology::{Endpoint, Topology};

pub use handlers::filled;

use handlers::{row, typed, Handlers};

/// What a value is made of.
struct View<'s> {
    content: Content,
    defaults: Defaults,
    /// The instance whose handlers are read.
    instance: String,
    handlers: Handlers,
    bodies: &'s Bodies,
    topology: &'s Topology,
    plane: &'s dyn Plane,
    watched: Vec<Told>,
}

/// What is there at a place, without names around it; none if it is not there.
pub fn of(store: &Store, places: &[Place<'_>], query: &Query) -> Option<Value> {
    let config = store.tree().get(places);
    let is_state = places.last().is_some_and(|last| !last.node.is_config);
    if config.is_none() && !is_state && !is_there_by_itself(places) && !is_default(store, places, query) {
        return None;
    }
    // Entries that only state has stand below what configuration has.
    let anchor = places.iter().position(|place| !place.node.is_config).unwrap_or(places.len());
    let (anchor, below) = places.split_at(anchor);
    let data = store.tree().get(anchor);
    if data.is_none() && !is_there_by_itself(anchor) && !is_default(store, anchor, query) {
        return None;
    }
    let instance = anchor
        .first()
        .filter(|first| first.node.module != CORE)
        .and_then(|first| first.keys.as_ref()?.first().cloned());
    let mut view = View {
        content: query.content,
        defaults: query.defaults,
        instance: instance.unwrap_or_default(),
        handlers: Handlers { wanted: Vec::new(), values: None },
        bodies: store.bodies(),
        topology: store.topology(),
        plane: store.plane().as_ref(),
        watched: store.watched(),
    };
    drop(view.whole(store, anchor, below.first(), data));
    if !view.handlers.wanted.is_empty() {
        view.handlers.values =
            Some(store.plane().read_all(&std::mem::take(&mut view.handlers.wanted)).into_iter());
    }
    let value = view.whole(store, anchor, below.first(), data)?;
    within(value, below)
}

/// Containers are always there if what holds them is.
fn is_there_by_itself(places: &[Place<'_>]) -> bool {
    places.iter().all(|place| matches!(place.node.kind, Kind::Container { is_presence: false }))
}

/// Whether a leaf has its value by default, and that is told: what it belongs to is there.
fn is_default(store: &Store, places: &[Place<'_>], query: &Query) -> bool {
    let Some((last, above)) = places.split_last() else { return false };
    let holder = above.iter().rposition(|place| !is_there_by_itself(std::slice::from_ref(place)));
    query.defaults != Defaults::Trim
        && last.node.default.is_some()
        && holder.is_none_or(|at| store.tree().get(&above[..=at]).is_some())
}

/// What of the value of state at its first node lies behind the rest of the path.
fn within(value: Value, places: &[Place<'_>]) -> Option<Value> {
    let Some((first, rest)) = places.split_first() else { return Some(value) };
    let mut value = value;
    for place in std::iter::once(first).chain(rest) {
        value = value.get(&place.node.name)?.clone();
        if let Some(keys) = &place.keys {
            let entries = value.as_array()?;
            let found =
                entries.iter().find(|entry| crate::tree::keys_of(place.node, entry).as_ref() == Some(keys));
            value = found?.clone();
        }
    }
    Some(value)
}

impl View<'_> {
    fn whole(
        &mut self,
        store: &Store,
        anchor: &[Place<'_>],
        below: Option<&Place<'_>>,
        data: Option<&Value>,
    ) -> Option<Value> {
        let Some(last) = anchor.last() else {
            return match below {
                Some(state) => Some(self.only(state.node, data)),
                None => Some(self.everything(store)),
            };
        };
        if let Some(state) = below {
            return Some(self.only(state.node, data));
        }
        match (last.node.kind, &last.keys) {
            (Kind::List, Some(_)) => Some(self.members(last.node, data, anchor.len() == 1)),
            (_, Some(_)) => data.cloned(),
            _ => self.value(last.node, data, anchor.len() == 1),
        }
    }

    fn everything(&mut self, store: &Store) -> Value {
        let mut all = Map::new();
        for node in store.top_nodes() {
            let name = crate::tree::member_name(0, node);
            let data = store.tree().0.get(&name);
            if let Some(value) = self.value(node, data, true).filter(|value| !is_empty(value)) {
                all.insert(name, value);
            }
        }
        Value::Object(all)
    }

    /// A node of state in the value of what holds it.
    fn only(&mut self, node: &Node, data: Option<&Value>) -> Value {
        let value = self.state(node, data);
        Value::Object(value.map(|value| (node.name.clone(), value)).into_iter().collect())
    }

    /// The value of a node; `is_top` if it is a function's list.
    fn value(&mut self, node: &Node, data: Option<&Value>, is_top: bool) -> Option<Value> {
        if !node.is_config {
            return self.state(node, data);
        }
        match node.kind {
            Kind::List => {
                let entries = data?.as_array()?;
                Some(entries.iter().map(|entry| self.members(node, Some(entry), is_top)).collect())
            }
            Kind::Container { is_presence } => {
                (data.is_some() || !is_presence).then(|| self.members(node, data, false))
            }
            Kind::Leaf => self.leaf(node, data),
            _ => data.filter(|_| self.content != Content::Nonconfig).cloned(),
        }
    }

    fn leaf(&self, node: &Node, data: Option<&Value>) -> Option<Value> {
        let default = || node.default.as_ref().and_then(|text| functions::leaf(node, text).ok());
        match (self.content, self.defaults) {
            (Content::Nonconfig, _) => None,
            (_, Defaults::Explicit) => data.cloned(),
            (_, Defaults::ReportAll) => data.cloned().or_else(default),
            (_, Defaults::Trim) => data.filter(|data| default().as_ref() != Some(data)).cloned(),
        }
    }

    /// The members of an entry or a container.
    fn members(&mut self, node: &Node, data: Option<&Value>, is_instance: bool) -> Value {
        if is_instance && node.kind == Kind::List {
            self.instance = data.and_then(|data| data.get("name")).map(text_of).unwrap_or_default();
        }
        let mut members = Map::new();
        for child in node.data_children() {
            if matches!(child.kind, Kind::Action | Kind::Notification) {
                continue;
            }
            let own = data.and_then(|data| data.get(&child.name));
            let value = match child.is_config {
                true if node.keys.contains(&child.name) => own.cloned(),
                true => self.value(child, own, false),
                false => self.state(child, data),
            };
            // What holds nothing is there all the same, and is not told.
            if let Some(value) = value.filter(|value| !is_empty(value) || child.kind == Kind::Leaf) {
                members.insert(child.name.clone(), value);
            }
        }
        Value::Object(members)
    }

    /// The state of a node below an entry.
    fn state(&mut self, node: &Node, entry: Option<&Value>) -> Option<Value> {
        if self.content == Content::Config {
            return None;
        }
        if node.module == CORE {
            return match node.kind {
                Kind::Leaf => crate::thresholds::state(&self.watched, entry?, &node.name),
                _ => self.ports(node),
            };
        }
        match (node.kind, node.extension("read")) {
            (Kind::Leaf, Some(handler)) => {
                let handler = filled(handler, entry)?;
                let text = self.handlers.read(format!("{}/{handler}", self.instance))?;
                typed(node.ty.as_ref()?, text.trim())
            }
            (Kind::List, Some(handler)) => {
                let handler = filled(handler, entry)?;
                let text = self.handlers.read(format!("{}/{handler}", self.instance))?;
                let line = Regex::new(node.extension("line")?).ok()?;
                Some(text.lines().filter_map(|text| row(node, &line, text)).collect())
            }
            (Kind::Container { .. }, _) => {
                let children = node
                    .data_children()
                    .filter_map(|child| Some((child.name.clone(), self.state(child, entry)?)));
                Some(Value::Object(children.collect()))
            }
            _ => None,
        }
    }

    /// How a device fares. A tap that is there but not seen is in another namespace, of which nothing is known.
    fn device_state(&mut self, end: &Endpoint) -> Option<&'static str> {
        match end {
            Endpoint::Device(device) => self.plane.device_state(device),
            Endpoint::Tap(device) => match self.handlers.read(crate::graph::is_gone(device))?.trim() {
                "true" => Some("gone"),
                _ => self.plane.device_state(device).filter(|state| *state != "gone"),
            },
            _ => None,
        }
    }

    /// The ports of all instances.
    fn ports(&mut self, node: &Node) -> Option<Value> {
        if node.kind != Kind::List || node.name != "port" {
            return None;
        }
        let mut entries = Vec::new();
        let (drops, owners) = (self.handlers.read(drops::HANDLER.to_string()), Owners::of(self.topology));
        let mut dropped: HashMap<(&str, &str), u64> = HashMap::new();
        for one in owners.dropped(drops.as_deref().unwrap_or_default(), self.bodies) {
            let port = one.port.map(|port| dropped.entry((one.instance, port)).or_default());
            port.into_iter().for_each(|n| *n += one.n);
        }
        for (instance, body) in self.bodies {
            for (idx, port) in body.ports.iter().enumerate() {
                let mut entry = Map::new();
                entry.insert("instance".into(), instance.as_str().into());
                entry.insert("name".into(), port.as_str().into());
                let end = Endpoint::Port { instance: instance.clone(), port: port.clone() };
                if let Some(peer) = self.topology.peer(&end) {
                    entry.insert("peer".into(), peer.to_string().into());
                    if let Some(state) = self.device_state(peer) {
                        entry.insert("device-state".into(), state.into());
                    }
                }
                for (way, what, handler) in crate::graph::traffic(instance, idx) {
                    if let Some(value) = self.handlers.read(handler) {
                        entry.insert(format!("{way}-{what}"), value.trim().into());
                    }
                }
                if drops.is_some() {
                    let n = dropped.get(&(instance.as_str(), port.as_str())).copied().unwrap_or(0);
                    entry.insert("tx-drops".into(), n.to_string().into());
                }
                entries.push(Value::Object(entry));
            }
        }
        Some(Value::Array(entries))
    }
}

fn is_empty(value: &Value) -> bool {
    match value {
        Value::Array(list) => list.is_empty(),
        Value::Object(members) => members.is_empty(),
        _ => false,
    }
}
