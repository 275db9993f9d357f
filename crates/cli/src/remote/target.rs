//! Instances and paths into them, as users write them: `weir set fw rule/10/action=deny`.

use std::sync::Arc;

use daemon::path::{decoded, encoded};
use functions::{Functions, Package};
use serde_json::{json, Map, Value};
use yang::{Kind, Node};

use super::api::{Answer, Daemon};

/// An instance of a running daemon, and its schema.
pub struct Target {
    /// Its name.
    pub name: String,
    /// Its function's name.
    pub function: String,
    functions: Functions,
}

/// A place in an instance.
pub struct Place<'t> {
    /// The node.
    pub node: &'t Node,
    /// Its path in a URL, from the instance on, with a slash in front.
    pub path: String,
    /// Whether it names an entry, and not a whole list.
    pub is_entry: bool,
}

/// The instances of a daemon: names and functions, in the order of the alphabet.
pub fn instances(daemon: &Daemon) -> Result<Vec<(String, String)>, String> {
    let all = daemon.get("/restconf/data?content=config&depth=3")?;
    let mut list = Vec::new();
    for (name, entries) in all.get("ietf-restconf:data").and_then(Value::as_object).into_iter().flatten() {
        let function = name.split_once(':').map_or(name.as_str(), |(module, _)| module);
        for entry in entries.as_array().into_iter().flatten() {
            if let Some(name) = entry.get("name").and_then(Value::as_str) {
                list.push((name.to_string(), function.to_string()));
            }
        }
    }
    list.sort();
    Ok(list)
}

/// Reads the name of an instance, as far as that can be told without the daemon.
pub fn instance_name(text: &str) -> Result<String, String> {
    match text.starts_with(|c: char| c.is_ascii_alphabetic()) {
        true => Ok(text.to_string()),
        false => Err("the name of an instance begins with a letter".to_string()),
    }
}

/// The schema of a function, from the daemon.
pub fn function(daemon: &Daemon, name: &str) -> Result<Functions, String> {
    let archive = daemon.ask("GET", &format!("/functions/{}", encoded(name)), None)?;
    if archive.status == 404 {
        if let Some((_, function)) = Package::shipped_commands().find(|(command, _)| *command == name) {
            return Err(format!("no function `{name}`; that of `weir {name}` is called `{function}`"));
        }
        let known = super::functions(daemon)?;
        return Err(format!("no function `{name}`; there are {}", known.join(", ")));
    }
    let package = Package::of_tar(archive.ok()?.as_slice(), name)?;
    Functions::new(vec![Arc::new(package)])
}

impl Target {
    /// Finds an instance.
    pub fn find(daemon: &Daemon, name: &str) -> Result<Target, String> {
        let all = instances(daemon)?;
        let Some((name, function_name)) = all.iter().find(|(known, _)| known == name) else {
            let known: Vec<&str> = all.iter().map(|(name, _)| name.as_str()).collect();
            let known = if known.is_empty() {
                "there are none; `weir create` makes one".into()
            } else {
                format!("there are {}", known.join(", "))
            };
            return Err(format!("no instance `{name}`; {known}"));
        };
        let functions = function(daemon, function_name)?;
        Ok(Target { name: name.clone(), function: function_name.clone(), functions })
    }

    /// The path of the instance in a URL.
    pub fn url(&self) -> String {
        format!("/restconf/data/{0}:{0}={1}", self.function, encoded(&self.name))
    }

    /// The schema of the instance.
    pub fn node(&self) -> &Node {
        self.functions
            .get(&self.function)
            .map(|function| function.node)
            .expect("the schema was compiled with it")
    }

    /// Finds a place: names of nodes with slashes between; behind the name of a list stand an entry's keys.
    pub fn place(&self, path: &str) -> Result<Place<'_>, String> {
        let mut place = Place { node: self.node(), path: String::new(), is_entry: true };
        let mut words = split(path).into_iter();
        while let Some(word) = words.next() {
            if place.node.kind == Kind::List && !place.is_entry {
                return Err(format!(
                    "`{}` is a list: behind its name stands an entry's key",
                    place.node.name
                ));
            }
            let node = place.node.child(&word).ok_or_else(|| {
                let known: Vec<&str> = place.node.data_children().map(|node| node.name.as_str()).collect();
                format!("`{}` has no `{word}`; it has {}", place.node.name, known.join(", "))
            })?;
            place.path += &format!("/{}", node.name);
            let n_keys = match node.kind {
                Kind::List => node.keys.len(),
                Kind::LeafList => 1,
                _ => 0,
            };
            let keys: Vec<String> = words.by_ref().take(n_keys).collect();
            if !keys.is_empty() && keys.len() < n_keys {
                return Err(format!("an entry of `{word}` has {n_keys} keys: {}", node.keys.join(", ")));
            }
            for (key, name) in keys.iter().zip(&node.keys) {
                let ty = node.child(name).and_then(|leaf| leaf.ty.as_ref());
                ty.map_or(Ok(()), |ty| functions::check(ty, key))
                    .map_err(|message| format!("`{word}/{key}`: `{name}`: {message}"))?;
            }
            if !keys.is_empty() {
                let keys: Vec<String> = keys.iter().map(|key| encoded(key)).collect();
                place.path += &format!("={}", keys.join(","));
            }
            place.is_entry = n_keys == 0 || !keys.is_empty();
            place.node = node;
        }
        Ok(place)
    }
}

/// The words of a path; a word in quotes may hold slashes.
pub fn split(path: &str) -> Vec<String> {
    let (mut words, mut word, mut quote) = (Vec::new(), String::new(), None);
    for c in path.chars() {
        match (c, quote) {
            ('/', None) => words.push(std::mem::take(&mut word)),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            (c, _) => word.push(c),
        }
    }
    words.push(word);
    words.retain(|word| !word.is_empty());
    words
}

/// A path of RESTCONF as users write it, with keys among its words.
pub fn written(path: &str) -> String {
    decoded(&path.replace(['=', ','], "/"))
}

/// Splits `PATH=VALUE` at the first `=` outside of quotes.
pub fn assignment(text: &str) -> Result<(&str, &str), String> {
    let mut quote = None;
    for (i, c) in text.char_indices() {
        match (c, quote) {
            ('=', None) if i > 0 => return Ok((&text[..i], &text[i + 1..])),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    Err(format!("`{text}`: expected PATH=VALUE, such as mtu=1400 or rule/10/action=deny"))
}

/// The value of a node from what a user wrote: a leaf's value; words of a list's form, whose entries are numbered behind `before`;
/// else JSON.
pub fn value(node: &Node, text: &str, before: usize) -> Result<Value, String> {
    let failed = |message: String| format!("`{}` `{text}`: {message}", node.name);
    match node.kind {
        Kind::Leaf => functions::leaf(node, text).map_err(failed),
        Kind::LeafList => text
            .split(',')
            .map(|one| functions::leaf(node, one.trim()).map_err(failed))
            .collect::<Result<Vec<_>, _>>()
            .map(Value::Array),
        Kind::List if !text.trim_start().starts_with(['[', '{']) => {
            functions::entries(node, text, before).map(Value::Array).map_err(failed)
        }
        _ => serde_json::from_str(text).map_err(|error| failed(format!("expected JSON: {error}"))),
    }
}

/// The value of an entry from what a user wrote: JSON. Words tell of entries whose keys no path tells.
pub fn members(place: &Place<'_>, text: &str) -> Result<Value, String> {
    if let Ok(value @ Value::Object(_)) = serde_json::from_str(text) {
        return Ok(value);
    }
    let (node, path) = (place.node, written(&place.path[1..]));
    let is_own = |child: &&Node| child.is_config && !node.keys.contains(&child.name);
    let names: Vec<&str> = node.data_children().filter(is_own).map(|child| child.name.as_str()).collect();
    let first = names.first().copied().unwrap_or_default();
    let as_words = match node.extension("form") {
        Some(_) => format!(", or let {}='{text}' add an entry", node.name),
        None => String::new(),
    };
    Err(format!(
        "`{path}` `{text}`: an entry has {}; give each, as in {path}/{first}=VALUE, or an object of JSON{as_words}",
        names.join(", ")
    ))
}

/// Makes the names of files in a node's value absolute: the folder of the daemon is another one than the user's.
pub fn make_absolute(daemon: &Daemon, node: &Node, value: &mut Value) -> Result<(), String> {
    match value {
        Value::Array(values) => values.iter_mut().try_for_each(|value| make_absolute(daemon, node, value)),
        Value::Object(members) => members.iter_mut().try_for_each(|(name, value)| {
            let plain = name.split_once(':').map_or(name.as_str(), |(_, plain)| plain);
            node.child(plain).map_or(Ok(()), |child| make_absolute(daemon, child, value))
        }),
        Value::String(file) if is_relative(node, file) => {
            let failed = |message: &str| format!("`{}` `{file}`: {message}", node.name);
            if daemon.server.is_some() {
                return Err(failed("this is a file of the machine with the daemon: begin its name with `/`"));
            }
            let path = std::path::absolute(file.as_str()).map_err(|error| failed(&error.to_string()))?;
            let path = path
                .to_str()
                .ok_or_else(|| failed("the name of this folder is no text: begin it with `/`"))?;
            *file = path.to_string();
            Ok(())
        }
        _ => Ok(()),
    }
}

/// Whether a leaf's value names a file relative to a folder; `-` names none.
fn is_relative(node: &Node, text: &str) -> bool {
    let is_file = node.ty.as_ref().and_then(|ty| ty.typedef.as_deref()) == Some("file-name");
    is_file && !text.is_empty() && text != "-" && !text.starts_with('/')
}

/// One edit of a YANG Patch.
pub fn edit(number: usize, operation: &str, target: &str, name: &str, value: Option<Value>) -> Value {
    let mut edit = Map::new();
    edit.insert("edit-id".into(), number.to_string().into());
    edit.insert("operation".into(), operation.into());
    edit.insert("target".into(), target.into());
    if let Some(value) = value {
        edit.insert("value".into(), json!({ name: value }));
    }
    Value::Object(edit)
}

/// Makes edits in one transaction.
pub fn patch(daemon: &Daemon, url: &str, edits: Vec<Value>) -> Result<(), String> {
    patch_if(daemon, url, edits, None)?.ok().map(drop)
}

/// The same, if the configuration is still the one with this tag; the answer.
pub fn patch_if(daemon: &Daemon, url: &str, edits: Vec<Value>, tag: Option<&str>) -> Result<Answer, String> {
    let body = json!({ "ietf-yang-patch:yang-patch": { "patch-id": "weir", "edit": edits } });
    let body = (daemon::restconf::PATCH, body.to_string().into_bytes());
    daemon.ask_if("PATCH", url, Some(body), tag)
}
