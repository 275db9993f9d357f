//! Values of handlers, and what they are in data.

use functions::text_of;
use regex_lite::Regex;
use serde_json::{Map, Value};
use yang::{Base, Node, Type};

/// Gives the values of handlers. It is asked for all of them twice: first to learn which, then for their values.
pub(super) struct Handlers {
    pub(super) wanted: Vec<String>,
    pub(super) values: Option<std::vec::IntoIter<Result<String, String>>>,
}

impl Handlers {
    pub(super) fn read(&mut self, handler: String) -> Option<String> {
        match &mut self.values {
            None => {
                self.wanted.push(handler);
                None
            }
            Some(values) => values.next()?.ok(),
        }
    }
}

/// A handler's name with the values of an entry's leaves, `{leaf|identifier}` being one as in an element's name; none if one has none.
pub fn filled(text: &str, entry: Option<&Value>) -> Option<String> {
    let mut whole = String::new();
    let mut rest = text;
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, after) = behind.split_once('}')?;
        whole += before;
        let (name, is_identifier) =
            name.strip_suffix("|identifier").map_or((name, false), |name| (name, true));
        let value = text_of(entry?.get(name)?);
        whole += &if is_identifier { functions::identifier(&value) } else { value };
        rest = after;
    }
    Some(whole + rest)
}

/// A handler's text as a value of a type; none if it is not one.
pub(super) fn typed(ty: &Type, text: &str) -> Option<Value> {
    match ty.base {
        Base::Integer => text.parse::<i64>().ok().map(Value::from),
        Base::BigInteger => text.parse::<i128>().ok().map(|number| number.to_string().into()),
        Base::Boolean => Some((text == "true" || text == "1").into()),
        _ => Some(text.into()),
    }
}

pub(super) fn row(node: &Node, line: &Regex, text: &str) -> Option<Value> {
    let found = line.captures(text)?;
    let mut entry = Map::new();
    for child in node.data_children() {
        if let Some(part) = found.name(&child.name.replace('-', "_")) {
            if let Some(value) = child.ty.as_ref().and_then(|ty| typed(ty, part.as_str())) {
                entry.insert(child.name.clone(), value);
            }
        }
    }
    node.keys.iter().all(|key| entry.contains_key(key)).then_some(Value::Object(entry))
}
