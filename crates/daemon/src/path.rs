//! Paths to nodes of the configuration: `/nat:nat=edge/forward=1/port` (RFC 8040, section 3.5.3).

use functions::{Functions, CORE};
use percent_encoding::{percent_decode_str, utf8_percent_encode, AsciiSet, NON_ALPHANUMERIC};
use serde_json::Value;
use yang::{Kind, Node};

use crate::fault::Fault;

/// What stands in paths as it is (RFC 3986, section 2.3).
const PLAIN: &AsciiSet = &NON_ALPHANUMERIC.remove(b'-').remove(b'.').remove(b'_').remove(b'~');
/// Most steps of a path.
const MAX_STEPS: usize = 64;

/// A text as a part of a path.
pub fn encoded(text: &str) -> String {
    utf8_percent_encode(text, PLAIN).to_string()
}

/// A key as users wrote it, from a URL.
pub fn decoded(text: &str) -> String {
    percent_decode_str(text).decode_utf8_lossy().into_owned()
}

/// A step: a node, and the keys of an entry if it is one of a list.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Step {
    /// The module's name, if it is given.
    pub module: Option<String>,
    /// The node's name.
    pub name: String,
    /// The entry's keys, or the value of a leaf-list's entry; none is the whole list.
    pub keys: Option<Vec<String>>,
}

/// A step whose node is known; keys are in their canonical form.
#[derive(Clone, Debug)]
pub struct Place<'s> {
    /// The node of the schema.
    pub node: &'s Node,
    /// The entry's keys.
    pub keys: Option<Vec<String>>,
}

/// Reads a path as it stands in a URL, without the part that leads to the datastore.
pub fn parse(text: &str) -> Result<Vec<Step>, Fault> {
    let parts: Vec<&str> = text.split('/').filter(|part| !part.is_empty()).collect();
    if parts.len() > MAX_STEPS {
        return Err(Fault::malformed(format!("the path has more than {MAX_STEPS} steps")));
    }
    parts.into_iter().map(step).collect()
}

/// A path whose keys are all empty.
pub fn without_keys(text: &str) -> String {
    let part = |part: &str| part.split_once('=').map_or(part.to_string(), |(node, _)| format!("{node}="));
    text.split('/').map(part).collect::<Vec<_>>().join("/")
}

fn step(text: &str) -> Result<Step, Fault> {
    let (node, keys) = match text.split_once('=') {
        Some((node, keys)) => (node, Some(keys)),
        None => (text, None),
    };
    let decoded = |text: &str| {
        let text = percent_decode_str(text).decode_utf8();
        let text = text.map_err(|_| Fault::malformed("the path is not in UTF-8"))?.into_owned();
        match text.contains('\0') {
            true => Err(Fault::invalid("the path holds a null character")),
            false => Ok(text),
        }
    };
    let node = decoded(node)?;
    let (module, name) = match node.split_once(':') {
        Some((module, name)) => (Some(module.to_string()), name.to_string()),
        None => (None, node),
    };
    let keys = keys.map(|keys| keys.split(',').map(decoded).collect()).transpose()?;
    Ok(Step { module, name, keys })
}

/// Steps with the names of all modules and the keys as the schema writes them.
pub fn steps_of(places: &[Place<'_>]) -> Vec<Step> {
    let step = |place: &Place<'_>| Step {
        module: Some(place.node.module.clone()),
        name: place.node.name.clone(),
        keys: place.keys.clone(),
    };
    places.iter().map(step).collect()
}

/// Writes a path as it stands in a URL.
pub fn to_text(places: &[Place<'_>]) -> String {
    let mut text = String::new();
    let mut module = "";
    for place in places {
        text.push('/');
        if place.node.module != module {
            module = &place.node.module;
            text += module;
            text.push(':');
        }
        text += &place.node.name;
        if let Some(keys) = &place.keys {
            let keys: Vec<String> = keys.iter().map(|key| encoded(key)).collect();
            text.push('=');
            text += &keys.join(",");
        }
    }
    text
}

/// Finds the nodes of a path, and checks its keys.
pub fn resolve<'s>(functions: &'s Functions, steps: &[Step]) -> Result<Vec<Place<'s>>, Fault> {
    let mut places = nodes(functions, steps)?;
    for at in 0..places.len() {
        let (place, is_last) = (&places[at], at + 1 == places.len());
        if place.node.kind == Kind::List && place.keys.is_none() && !is_last {
            let name = &place.node.name;
            return Err(Fault::malformed(format!("`{name}` is a list: name an entry, as in {name}=KEY")));
        }
        let keys = keys_of(place)?;
        if let (0, Some([name])) = (at, keys.as_deref()) {
            is_instance_name(name)?;
        }
        places[at].keys = keys;
    }
    Ok(places)
}

/// Finds the nodes of a path, whose keys are as they were written.
pub fn nodes<'s>(functions: &'s Functions, steps: &[Step]) -> Result<Vec<Place<'s>>, Fault> {
    let mut places: Vec<Place<'s>> = Vec::with_capacity(steps.len());
    for step in steps {
        let node = match places.last() {
            None => top(functions, step)?,
            Some(parent) => below(parent, step)?,
        };
        places.push(Place { node, keys: step.keys.clone() });
    }
    Ok(places)
}

fn top<'s>(functions: &'s Functions, step: &Step) -> Result<&'s Node, Fault> {
    // Whoever types a path by hand need not name the module of a function, which is called as its list.
    let module = step.module.as_deref().unwrap_or(&step.name);
    let found = functions.modules().get(module).or_else(|| match step.module {
        None => functions.modules().get(CORE),
        Some(_) => None,
    });
    let node = found.and_then(|module| module.nodes.iter().find(|node| node.name == step.name));
    node.ok_or_else(|| {
        let known: Vec<&str> = functions.iter().map(|function| function.name()).collect();
        Fault::unknown(format!("no function `{}`; there are {}", step.name, known.join(", ")))
    })
}

fn below<'s>(parent: &Place<'s>, step: &Step) -> Result<&'s Node, Fault> {
    let node = parent.node.child(&step.name);
    let node = node.filter(|node| step.module.as_ref().is_none_or(|module| *module == node.module));
    node.ok_or_else(|| {
        let known: Vec<&str> = parent.node.data_children().map(|node| node.name.as_str()).collect();
        Fault::unknown(format!("`{}` has no `{}`; it has {}", parent.node.name, step.name, known.join(", ")))
    })
}

/// Whether a text can be the name of an instance (`weir:name`).
fn is_instance_name(name: &str) -> Result<(), Fault> {
    let is_name = name.starts_with(|first: char| first.is_ascii_alphabetic())
        && name.len() <= 32
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_');
    match is_name {
        true => Ok(()),
        false => Err(Fault::invalid(format!(
            "`{name}`: expected a name of at most 32 letters, digits and `_`, a letter first, such as edge1"
        ))),
    }
}

/// The keys of a place, each as the schema writes it.
fn keys_of(place: &Place<'_>) -> Result<Option<Vec<String>>, Fault> {
    let Place { node, keys } = place;
    let Some(keys) = keys else { return Ok(None) };
    let leaves: Vec<&Node> = match node.kind {
        Kind::List => node.keys.iter().filter_map(|key| node.child(key)).collect(),
        Kind::LeafList => vec![*node],
        _ => return Err(Fault::malformed(format!("`{}` is no list and has no keys", node.name))),
    };
    if leaves.len() != keys.len() {
        let names = node.keys.join(",");
        return Err(Fault::malformed(format!(
            "an entry of `{}` has {} keys ({names}); {} are given",
            node.name,
            leaves.len(),
            keys.len()
        )));
    }
    let canonical = |(leaf, key): (&Node, &String)| {
        let value =
            functions::leaf(leaf, key).map_err(|message| Fault::invalid(format!("`{key}`: {message}")))?;
        Ok(functions::text_of(&value))
    };
    leaves.into_iter().zip(keys).map(canonical).collect::<Result<Vec<_>, Fault>>().map(Some)
}

/// The path in libyang's form.
pub fn for_libyang(places: &[Place<'_>]) -> Result<String, Fault> {
    let mut text = String::new();
    for (i, place) in places.iter().enumerate() {
        text.push('/');
        if i == 0 {
            text += &format!("{}:", place.node.module);
        }
        text += &place.node.name;
        let names: Vec<&str> = match place.node.kind {
            Kind::LeafList => vec!["."],
            _ => place.node.keys.iter().map(String::as_str).collect(),
        };
        for (name, key) in names.iter().zip(place.keys.iter().flatten()) {
            let quote = if key.contains('\'') { '"' } else { '\'' };
            if key.contains(quote) {
                return Err(Fault::invalid(format!("`{key}`: a key cannot hold both kinds of quotes")));
            }
            text += &format!("[{name}={quote}{key}{quote}]");
        }
    }
    Ok(text)
}

/// The data of a path from the top on, in which `value` stands at its end.
pub fn envelope(places: &[Place<'_>], value: Value) -> Value {
    let mut value = value;
    for (i, place) in places.iter().enumerate().rev() {
        let name = match i {
            0 => format!("{}:{}", place.node.module, place.node.name),
            _ => place.node.name.clone(),
        };
        value = match (&place.keys, place.node.kind) {
            (Some(keys), Kind::List) => Value::Array(vec![with_keys(place.node, keys, value)]),
            (Some(_), _) => Value::Array(vec![value]),
            (None, _) => value,
        };
        value = Value::Object(std::iter::once((name, value)).collect());
    }
    value
}

/// An entry with its keys first.
pub fn with_keys(list: &Node, keys: &[String], entry: Value) -> Value {
    let mut whole = serde_json::Map::new();
    for (name, key) in list.keys.iter().zip(keys) {
        let value = list.child(name).and_then(|leaf| functions::leaf(leaf, key).ok());
        whole.insert(name.clone(), value.unwrap_or_else(|| key.as_str().into()));
    }
    if let Value::Object(members) = entry {
        for (name, value) in members {
            whole.entry(name).or_insert(value);
        }
    }
    Value::Object(whole)
}
