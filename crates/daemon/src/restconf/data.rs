//! Data resources (RFC 8040, section 3.5): read, create, replace, change, delete.

use serde_json::{json, Value};
use yang::{Kind, Node};

use super::precondition::{date, etag, matches};
use super::query::{Content, Query};
use super::{body, only, view, Reply, Request, Service, DATA, PATCH};
use crate::datastores::Datastore;
use crate::edit::{Edit, Op};
use crate::fault::Fault;
use crate::path::{self, Place, Step};
use crate::roles::Access;
use crate::store::Store;
use crate::tree::{keys_of, Position};

/// Types of bodies with data.
const TYPES: [&str; 2] = [DATA, "application/json"];
/// Parameters of reading.
const READING: [&str; 4] = ["content", "depth", "fields", "with-defaults"];
/// Parameters of writing.
const WRITING: [&str; 2] = ["insert", "point"];

impl Service {
    /// Answers for a data resource.
    pub(super) fn data(&self, request: &Request, rest: &str) -> Result<Reply, Fault> {
        let (steps, unreadable) = match path::parse(rest) {
            Ok(steps) => (steps, None),
            Err(fault) => (path::parse(&path::without_keys(rest)).map_err(|_| fault.clone())?, Some(fault)),
        };
        let allowed = self.methods(request, &steps, unreadable)?;
        let reply = only(request, allowed, || match request.method.as_str() {
            "POST" => self.post(request, &steps),
            "PUT" => self.put(request, &steps),
            "PATCH" => self.patch(request, &steps),
            "DELETE" => self.delete(request, &steps),
            _ => self.read(request, &steps),
        })?;
        Ok(match request.method == "OPTIONS" && allowed.contains(&"PATCH") {
            true => reply.with("accept-patch", format!("{DATA}, {PATCH}")),
            false => reply,
        })
    }

    /// The methods of what a path leads to. They hang on its nodes alone: only with a method that is one of them, its keys matter,
    /// which may be `unreadable`.
    fn methods(
        &self,
        request: &Request,
        steps: &[Step],
        unreadable: Option<Fault>,
    ) -> Result<&'static [&'static str], Fault> {
        let store = self.of(request.datastore)?;
        if super::library::data(&store, steps).is_some() {
            return unreadable.map_or(Ok(&["GET"]), Err);
        }
        let methods = match super::resource::of_places(&path::nodes(store.functions(), steps)?) {
            [] => {
                let message = "a notification is no data; /restconf/streams/NETCONF tells of what happens";
                return Err(Fault::missing(message));
            }
            _ if request.datastore == Datastore::Startup => &["GET"],
            methods => methods,
        };
        let method = if request.method == "HEAD" { "GET" } else { &request.method };
        if methods.contains(&method) || method == "OPTIONS" {
            unreadable.map_or(Ok(()), Err)?;
            path::resolve(store.functions(), steps)?;
        }
        Ok(methods)
    }

    fn read(&self, request: &Request, steps: &[Step]) -> Result<Reply, Fault> {
        let query = Query::parse(&request.query, &READING)?;
        if let Some(reply) = super::library::data(&self.store(), steps) {
            return Ok(reply);
        }
        let store = self.of(request.datastore)?;
        let places = path::resolve(store.functions(), steps)?;
        let text = path::to_text(&places);
        self.rights_in(&store, request).permit(Access::Read, &text)?;
        if let Some(fields) = &query.fields {
            match places.last() {
                Some(last) => fields.check(&last.node.name, last.node.data_children())?,
                None => fields.check("the configuration", store.top_nodes())?,
            }
        }
        let value = view::of(&store, &places, &query)
            .ok_or_else(|| Fault::missing(format!("{text} does not exist")).at(&text))?;
        let (tag, is_config) = (etag(&store), places.last().is_none_or(|last| last.node.is_config));
        if !may_hold_state(&store, &places, &query)
            && request.header("if-none-match").is_some_and(|tags| matches(tags, &tag))
        {
            return Ok(Reply::empty(304).with("etag", tag));
        }
        let value = match &query.fields {
            Some(fields) => fields.of(&value),
            None => value,
        };
        let value = match query.depth {
            Some(depth) => super::fields::prune(&value, depth - 1),
            None => value,
        };
        let reply = Reply::json(200, &named(&places, value));
        Ok(match is_config {
            true => reply.with("etag", tag).with("last-modified", date(store.changed())),
            false => reply,
        })
    }

    /// Creates a child, or calls an action.
    fn post(&self, request: &Request, steps: &[Step]) -> Result<Reply, Fault> {
        let store = self.of(request.datastore)?;
        let functions = store.functions().clone();
        let parents = path::resolve(&functions, steps)?;
        if parents.last().is_some_and(|last| last.node.kind == Kind::Action) {
            return super::operations::action(store, request, &parents);
        }
        let query = Query::parse(&request.query, &WRITING)?;
        let (name, value) = body::member(body::json(request, &TYPES)?)?;
        let own = match path::parse(&name)?.as_slice() {
            [step] if step.keys.is_none() => step.clone(),
            _ => return Err(Fault::malformed(format!("`{name}` is no name of a node"))),
        };
        let child: Vec<Step> = steps.iter().cloned().chain([own]).collect();
        let mut places = path::resolve(&functions, &child)?;
        let mut value = value;
        if let Some(last) =
            places.last_mut().filter(|last| matches!(last.node.kind, Kind::List | Kind::LeafList))
        {
            value = body::single(value)?;
            last.keys = Some(keys_of(last.node, &value).ok_or_else(|| {
                Fault::malformed(format!(
                    "an entry of `{}` needs its key: {}",
                    last.node.name,
                    last.node.keys.join(", ")
                ))
            })?);
        }
        // Only what is there has children.
        if store.tree().get(&parents).is_none() && parents.iter().any(|place| place.keys.is_some()) {
            let text = path::to_text(&parents);
            return Err(Fault::missing(format!("{text} does not exist")).at(text));
        }
        let at = position(&query, &places, &functions)?;
        let (location, path) = (path::to_text(&places), path::steps_of(&places));
        let edit = Edit { op: Op::Create, path, value: Some(value), at };
        let reply = self.change(store, request, vec![edit], 201)?;
        Ok(reply.with("location", request.datastore.root() + &location))
    }

    fn put(&self, request: &Request, steps: &[Step]) -> Result<Reply, Fault> {
        let query = Query::parse(&request.query, &WRITING)?;
        let store = self.of(request.datastore)?;
        let places = path::resolve(store.functions(), steps)?;
        let last = target(&places)?;
        let value = body::value_of(last, body::json(request, &TYPES)?)?;
        entries_are_there(&store, &places[..places.len() - 1])?;
        let is_new = store.tree().get(&places).is_none();
        let at = position(&query, &places, store.functions())?;
        let edit = Edit { op: Op::Replace, path: path::steps_of(&places), value: Some(value), at };
        self.change(store, request, vec![edit], if is_new { 201 } else { 204 })
    }

    fn patch(&self, request: &Request, steps: &[Step]) -> Result<Reply, Fault> {
        Query::parse(&request.query, &[])?;
        if request.header("content-type").is_some_and(|given| given.starts_with(PATCH)) {
            return self.yang_patch(request, steps);
        }
        let store = self.of(request.datastore)?;
        let places = path::resolve(store.functions(), steps)?;
        let Some(last) = places.last() else { return self.patch_all(store, request) };
        let text = path::to_text(&places);
        if store.tree().get(&places).is_none() && places.iter().any(|place| place.keys.is_some()) {
            return Err(Fault::missing(format!("{text} does not exist; create it with PUT or POST")).at(text));
        }
        let value = body::value_of(last, body::json(request, &TYPES)?)?;
        let edit = Edit { op: Op::Merge, path: path::steps_of(&places), value: Some(value), at: None };
        self.change(store, request, vec![edit], 204)
    }

    /// Merges nodes from the top on.
    fn patch_all(&self, store: std::sync::MutexGuard<'_, Store>, request: &Request) -> Result<Reply, Fault> {
        let (name, value) = body::member(body::json(request, &TYPES)?)?;
        let (true, Value::Object(members)) = (name.ends_with("data"), value) else {
            return Err(Fault::malformed("the body must be {\"ietf-restconf:data\": {...}}"));
        };
        let mut edits = Vec::new();
        for (name, value) in members {
            edits.push(Edit { op: Op::Merge, path: path::parse(&name)?, value: Some(value), at: None });
        }
        self.change(store, request, edits, 204)
    }

    fn delete(&self, request: &Request, steps: &[Step]) -> Result<Reply, Fault> {
        Query::parse(&request.query, &[])?;
        let store = self.of(request.datastore)?;
        let places = path::resolve(store.functions(), steps)?;
        target(&places)?;
        let text = path::to_text(&places);
        if store.tree().get(&places).is_none() {
            return Err(Fault::missing(format!("{text} does not exist")).at(text));
        }
        let edit = Edit { op: Op::Delete, path: path::steps_of(&places), value: None, at: None };
        self.change(store, request, vec![edit], 204)
    }
}

/// Nothing is written beneath an entry that is not there (RFC 8040, section 4.5).
pub fn entries_are_there(store: &Store, places: &[Place<'_>]) -> Result<(), Fault> {
    let last = places.iter().rposition(|place| place.keys.is_some());
    last.map_or(Ok(()), |last| store.tree().must_have(&places[..=last]))
}

/// The node that is written; the whole configuration is none.
fn target<'p, 's>(places: &'p [Place<'s>]) -> Result<&'p Place<'s>, Fault> {
    let last = places
        .last()
        .ok_or_else(|| Fault::not_allowed("the whole configuration is changed by PATCH, or by its parts"))?;
    match last.node.kind {
        Kind::Action => {
            Err(Fault::not_allowed(format!("`{}` is an action: call it with POST", last.node.name)))
        }
        _ => Ok(last),
    }
}

/// Whether state may be in what is told, which changes though the configuration, and so the tag, stays (RFC 8040, section 3.5.2).
fn may_hold_state(store: &Store, places: &[Place<'_>], query: &Query) -> bool {
    fn holds_state(node: &Node) -> bool {
        let is_data = !matches!(node.kind, Kind::Action | Kind::Notification);
        is_data && (!node.is_config || node.data_children().any(holds_state))
    }
    query.content != Content::Config
        && places.last().map_or_else(|| store.top_nodes().any(holds_state), |last| holds_state(last.node))
}

/// A value under its node's name.
fn named(places: &[Place<'_>], value: Value) -> Value {
    let Some(last) = places.last() else { return json!({ "ietf-restconf:data": value }) };
    let value = if last.keys.is_some() { Value::Array(vec![value]) } else { value };
    Value::Object(std::iter::once((format!("{}:{}", last.node.module, last.node.name), value)).collect())
}

/// Where `insert` and `point` say that an entry goes.
fn position(
    query: &Query,
    places: &[Place<'_>],
    functions: &functions::Functions,
) -> Result<Option<Position>, Fault> {
    let point = || -> Result<Vec<String>, Fault> {
        let text =
            query.point.as_ref().ok_or_else(|| Fault::invalid("`insert=before` and `after` need `point`"))?;
        let other = path::resolve(functions, &path::parse(text.trim_start_matches("/restconf/data"))?)?;
        let keys = other.last().and_then(|last| last.keys.clone());
        let is_sibling = other.len() == places.len()
            && path::to_text(&other[..other.len().saturating_sub(1)])
                == path::to_text(&places[..places.len() - 1]);
        keys.filter(|_| is_sibling)
            .ok_or_else(|| Fault::invalid(format!("`point={text}` is no entry of the same list")))
    };
    Ok(match query.insert.as_deref() {
        None if query.point.is_some() => {
            return Err(Fault::invalid("`point` is for `insert=before` and `insert=after`"))
        }
        None => None,
        Some("first") => Some(Position::First),
        Some("last") => Some(Position::Last),
        Some("before") => Some(Position::Before(point()?)),
        Some(_) => Some(Position::After(point()?)),
    })
}
