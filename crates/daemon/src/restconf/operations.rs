//! Actions of instances (RFC 8040, section 3.6).

use std::sync::MutexGuard;
use std::time::Duration;

use ::functions::CORE;
use serde_json::{json, Map, Value};
use yang::Kind;

use super::{body, only, view, Reply, Request, Service, DATA};
use crate::fault::Fault;
use crate::path::{self, Place};
use crate::roles::{Access, Rights};
use crate::store::Store;

impl Service {
    /// The operations that belong to no instance: those of the configuration's copies.
    pub(super) fn operations(&self, request: &Request, rest: &str) -> Result<Reply, Fault> {
        let core = self.store().functions().clone();
        let rpcs = core.modules().get(CORE).map_or(&[][..], |module| &module.rpcs);
        if rest.is_empty() {
            return only(request, &["GET"], || {
                let all =
                    rpcs.iter().map(|rpc| (format!("{CORE}:{}", rpc.name), Value::Array(vec![Value::Null])));
                let all: Map<String, Value> = all.collect();
                Ok(Reply::json(200, &json!({ "ietf-restconf:operations": all })))
            });
        }
        let name = rest.strip_prefix(&format!("{CORE}:")).unwrap_or(rest);
        let Some(rpc) = rpcs.iter().find(|rpc| rpc.name == name) else {
            let known: Vec<String> = rpcs.iter().map(|rpc| format!("{CORE}:{}", rpc.name)).collect();
            return Err(Fault::missing(format!("no operation `{rest}`; there are {}", known.join(", "))));
        };
        only(request, &["POST"], || {
            let text = format!("/{CORE}:{name}");
            self.permit(&request.who, Access::Execute, &text)?;
            let place = Place { node: rpc, keys: None };
            let input = input(request, &place, &text)?;
            match name {
                "commit" => {
                    let seconds = input.get("confirm-timeout").and_then(Value::as_u64).unwrap_or_default();
                    let is_confirmed = input.contains_key("confirmed");
                    self.commit(&request.who, is_confirmed.then(|| Duration::from_secs(seconds)))?;
                }
                "confirm-commit" => self.confirm(&request.who)?,
                "cancel-commit" => self.cancel(&request.who)?,
                "discard-changes" => self.discard(),
                _ => self.save_startup()?,
            }
            Ok(Reply::empty(204))
        })
    }
}

/// Calls an action: writes the handlers that its schema names.
pub fn action(store: MutexGuard<'_, Store>, request: &Request, places: &[Place<'_>]) -> Result<Reply, Fault> {
    let text = path::to_text(places);
    Rights::of(store.functions(), store.tree(), &request.who).permit(Access::Execute, &text)?;
    let Some((last, parents)) = places.split_last() else { return Err(Fault::missing("no action")) };
    let entry = store.tree().get(parents).ok_or_else(|| {
        let text = path::to_text(parents);
        Fault::missing(format!("{text} does not exist")).at(text)
    })?;
    let instance =
        parents.first().and_then(|first| first.keys.as_ref()?.first()).cloned().unwrap_or_default();
    let mut values = entry.as_object().cloned().unwrap_or_default();
    values.extend(input(request, last, &text)?);
    let values = Value::Object(values);
    let mut writes = Vec::new();
    for statement in last.node.all_extensions("write") {
        let filled = view::filled(statement, Some(&values));
        let filled = filled.ok_or_else(|| {
            Fault::invalid(format!("`{}` needs a value for each leaf in `{statement}`", last.node.name))
                .at(&text)
        })?;
        let (handler, value) = filled.split_once(' ').unwrap_or((&filled, ""));
        writes.push((format!("{instance}/{handler}"), value.to_string()));
    }
    let plane = store.plane().clone();
    drop(store);
    for (handler, value) in writes {
        plane.write(&handler, &value).map_err(|message| {
            tracing::warn!(target: "weir", path = text, handler, "the handler refuses: {message}");
            Fault::refused(message).at(&text)
        })?;
    }
    tracing::info!(target: "weir", who = request.who.name, path = text, "called");
    Ok(Reply::empty(204))
}

/// What the action is given, checked.
fn input(request: &Request, action: &Place<'_>, text: &str) -> Result<Map<String, Value>, Fault> {
    let input = action.node.children.iter().find(|child| child.kind == Kind::Input);
    let given = match request.body.is_empty() {
        true => Value::Object(Map::new()),
        false => {
            let (name, value) = body::member(body::json(request, &[DATA, "application/json"])?)?;
            if name.split_once(':').map_or(name.as_str(), |(_, name)| name) != "input" {
                return Err(Fault::malformed(format!(
                    "the body is `{name}`; it must be `{}:input`",
                    action.node.module
                ))
                .at(text));
            }
            value
        }
    };
    let Some(input) = input else { return Ok(Map::new()) };
    let cleaned = crate::edit::clean_input(input, given, text)?;
    for leaf in input.data_children().filter(|leaf| leaf.is_mandatory) {
        if cleaned.get(&leaf.name).is_none() {
            return Err(Fault {
                tag: "missing-element",
                ..Fault::invalid(format!("`{}` needs `{}`", action.node.name, leaf.name))
            }
            .at(text));
        }
    }
    let defaults = input
        .data_children()
        .filter_map(|leaf| Some((leaf.name.clone(), functions::leaf(leaf, leaf.default.as_ref()?).ok()?)));
    let mut whole: Map<String, Value> = defaults.collect();
    whole.extend(cleaned.as_object().cloned().unwrap_or_default());
    Ok(whole)
}
