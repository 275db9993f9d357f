//! Bodies of requests.

use serde_json::Value;

use super::{Request, DATA};
use crate::fault::Fault;
use crate::json::Unambiguous;
use crate::path::Place;

/// Most bytes of a body.
pub const MAX: usize = 16 << 20;

/// The JSON of a request.
pub fn json(request: &Request, types: &[&str]) -> Result<Value, Fault> {
    let given = request.header("content-type").unwrap_or(DATA);
    let plain = given.split(';').next().unwrap_or(given).trim();
    if !types.contains(&plain) {
        return Err(Fault::media_type(format!("the body is {plain}; it must be {}", types.join(" or "))));
    }
    if request.body.is_empty() {
        return Err(Fault::malformed("the request has no body"));
    }
    serde_json::from_slice(&request.body)
        .map(|Unambiguous(value)| value)
        .map_err(|error| Fault::malformed(format!("the body is no JSON: {error}")))
}

/// The only member of a body.
pub fn member(body: Value) -> Result<(String, Value), Fault> {
    let Value::Object(members) = body else {
        return Err(Fault::malformed(
            "the body must be an object with the node's name, as in {\"nat:nat\": [...]}",
        ));
    };
    let n = members.len();
    let mut members = members.into_iter();
    match (n, members.next()) {
        (1, Some(member)) => Ok(member),
        _ => {
            Err(Fault::malformed(format!("the body must be an object with one member, the node; it has {n}")))
        }
    }
}

/// The value that a body gives to a node: what stands under its name, of an entry without the array around it.
pub fn value_of(place: &Place<'_>, body: Value) -> Result<Value, Fault> {
    let (name, value) = member(body)?;
    let node = place.node;
    if name != node.name && name != format!("{}:{}", node.module, node.name) {
        return Err(Fault::malformed(format!(
            "the body is about `{name}`; the path is about `{}:{}`",
            node.module, node.name
        )));
    }
    if place.keys.is_none() {
        return Ok(value);
    }
    single(value)
}

/// The entry in an array of one.
pub fn single(value: Value) -> Result<Value, Fault> {
    match value {
        Value::Array(mut entries) if entries.len() == 1 => Ok(entries.remove(0)),
        Value::Array(entries) => {
            Err(Fault::malformed(format!("expected one entry; there are {}", entries.len())))
        }
        other => Ok(other),
    }
}
