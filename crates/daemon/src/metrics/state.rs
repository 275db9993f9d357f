//! State of instances: traffic of ports, drops, and leaves whose values are numbers.
//!
//! Entries of lists that are state are left out: there may be millions, and each would be a series of its own.

use functions::{text_of, CORE};
use serde_json::Value;
use yang::Kind as NodeKind;
use yang::{Base, Node};

use super::{Family, Kind, Number, Sample};
use crate::drops::{self, Dropped, Owners};
use crate::graph::Bodies;
use crate::restconf::view;
use crate::restconf::Service;
use crate::roles::{Access, Rights, Who};

/// The label that names an instance. `instance` is Prometheus's own for whom it asks.
const OWNER: &str = "name";

/// A metric that a handler gives.
struct Wanted {
    family: Family,
    labels: Vec<(String, String)>,
    handler: String,
}

/// The state of the instances that somebody may see.
pub fn families(service: &Service, who: &Who) -> Vec<Family> {
    let store = service.store();
    let rights = Rights::of(store.functions(), store.tree(), who);
    let may = |path: &str| rights.permit(Access::Read, path).is_ok();
    let mut wanted = Vec::new();
    let mut seen = Bodies::new();
    for (name, function, entry) in store.instances() {
        let Some(of) = store.functions().get(function) else { continue };
        if !may(&format!("/{function}:{function}={name}")) {
            continue;
        }
        let walk = Walk {
            instance: name,
            labels: vec![label(OWNER, name)],
            way: format!("weir_{}", plain(function)),
        };
        walk.members(of.node, entry, &mut wanted);
        seen.extend(store.bodies().get(name).map(|body| (name.to_string(), body.clone())));
    }
    if may(&format!("/{CORE}:topology")) {
        for (name, body) in &seen {
            ports(name, &body.ports, &mut wanted);
        }
    }
    let (plane, owners) = (store.plane().clone(), Owners::of(store.topology()));
    // The packets' thread answers; changes need not wait for that.
    drop(store);
    let handlers: Vec<String> =
        wanted.iter().map(|one| one.handler.clone()).chain([drops::HANDLER.to_string()]).collect();
    let mut values = plane.read_all(&handlers);
    let told = values.pop().and_then(Result::ok).unwrap_or_default();
    let given = wanted.into_iter().zip(values).filter_map(|(one, value)| one.given(value.ok()?.trim()));
    given.chain([dropped(&told, &seen, &owners)]).collect()
}

impl Wanted {
    fn given(self, text: &str) -> Option<Family> {
        let whole = text.parse().ok().map(Number::Whole);
        let value =
            whole.or_else(|| text.parse().ok().filter(|value: &f64| value.is_finite()).map(Number::Real))?;
        Some(Family { samples: vec![Sample { labels: self.labels, value }], ..self.family })
    }
}

/// A place in an instance's data.
struct Walk<'i> {
    instance: &'i str,
    labels: Vec<(String, String)>,
    /// The name so far.
    way: String,
}

impl Walk<'_> {
    /// What is below an entry or a container; `{leaf}` in handlers' names stands for values of `entry`.
    fn members(&self, node: &Node, entry: &Value, wanted: &mut Vec<Wanted>) {
        for child in node.data_children() {
            let below = Walk {
                instance: self.instance,
                labels: self.labels.clone(),
                way: format!("{}_{}", self.way, plain(&child.name)),
            };
            match (child.kind, child.is_config) {
                (NodeKind::Leaf, false) => wanted.extend(below.leaf(child, entry)),
                (NodeKind::Container { .. }, false) => below.members(child, entry, wanted),
                (NodeKind::Container { .. }, true) => {
                    below.members(child, entry.get(&child.name).unwrap_or(&Value::Null), wanted)
                }
                (NodeKind::List, true) => below.entries(child, entry, wanted),
                _ => {}
            }
        }
    }

    fn entries(&self, list: &Node, data: &Value, wanted: &mut Vec<Wanted>) {
        for entry in data.get(&list.name).and_then(Value::as_array).into_iter().flatten() {
            let keys = list.keys.iter().map(|key| {
                let value = entry.get(key).map(text_of).unwrap_or_default();
                label(&format!("{}_{}", plain(&list.name), plain(key)), &value)
            });
            let labels = self.labels.iter().cloned().chain(keys).collect();
            Walk { instance: self.instance, labels, way: self.way.clone() }.members(list, entry, wanted);
        }
    }

    fn leaf(self, node: &Node, entry: &Value) -> Option<Wanted> {
        let ty = node.ty.as_ref()?;
        if !matches!(ty.base, Base::Integer | Base::BigInteger | Base::Decimal) {
            return None;
        }
        let handler = view::filled(node.extension("read")?, Some(entry))?;
        let kind = if ty.typedef.as_deref() == Some("counter") { Kind::Counter } else { Kind::Gauge };
        let family = Family {
            unit: node.units.clone(),
            ..Family::new(named(self.way, kind), kind, &node.description)
        };
        Some(Wanted { family, labels: self.labels, handler: format!("{}/{handler}", self.instance) })
    }
}

/// Endings that say of a metric what it is not would mislead.
fn named(name: String, kind: Kind) -> String {
    let name = name.strip_suffix("_total").map(str::to_string).unwrap_or(name);
    let is_taken = ["_count", "_sum", "_bucket", "_info"].iter().any(|ending| name.ends_with(ending));
    match is_taken && kind == Kind::Gauge {
        true => name + "_now",
        false => name,
    }
}

/// The traffic of an instance's ports.
fn ports(instance: &str, ports: &[String], wanted: &mut Vec<Wanted>) {
    for (idx, port) in ports.iter().enumerate() {
        for (way, what, handler) in crate::graph::traffic(instance, idx) {
            let verb = if way == "rx" { "entered" } else { "left" };
            let (whose, unit) = match what {
                "bytes" => ("Bytes of packets", Some("By".to_string())),
                _ => ("Packets", None),
            };
            let help = format!("{whose} that {verb} an instance by a port.");
            let family = Family::new(format!("weir_port_{way}_{what}"), Kind::Counter, help);
            let labels = vec![label(OWNER, instance), label("port", port)];
            wanted.push(Wanted { family: Family { unit, ..family }, labels, handler });
        }
    }
}

/// Drops of the elements of some instances.
fn dropped(text: &str, bodies: &Bodies, owners: &Owners) -> Family {
    let help = "Packets that elements of an instance dropped, and why. What stands outside it, at one of its ports, has the port: queues, and what could not be sent.";
    let mut family = Family::new("weir_dropped_packets", Kind::Counter, help);
    for Dropped { instance, port, element, reason, n } in owners.dropped(text, bodies) {
        let port = port.map(|port| ("port", port));
        let labels = [(OWNER, instance)].into_iter().chain(port);
        let labels: Vec<_> = labels.chain([("element", element), ("reason", reason)]).collect();
        family = family.with(&labels, Number::Whole(n));
    }
    family
}

fn label(name: &str, value: &str) -> (String, String) {
    (name.to_string(), value.to_string())
}

/// A name of YANG as a part of a metric's.
fn plain(name: &str) -> String {
    let letter = |one: char| if one.is_ascii_alphanumeric() { one.to_ascii_lowercase() } else { '_' };
    name.chars().map(letter).collect()
}
