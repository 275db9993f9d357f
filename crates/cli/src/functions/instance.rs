//! What a command line says of a function, as the data of an instance.

use std::collections::HashSet;

use clap::ArgMatches;
use element::output::reason;
use functions::{entries, leaf, text_of, Function};
use serde_json::{Map, Value};
use yang::{Kind, Node};

use super::flag::{self, Flag, Place};
use crate::failure::Failure;

/// The data of an instance. What is wrong with a value names the flag and the value.
pub fn of(function: &Function<'_>, matches: &ArgMatches) -> Result<Value, Failure> {
    let mut instance = Map::new();
    // Nobody else has it: what comes from a name differs among stages.
    let name = format!("{}_{:012x}", function.name().replace('-', "_"), fastrand::u64(..1 << 48));
    instance.insert("name".to_string(), name.into());
    for flag in flag::of(function) {
        if let Some(value) = value(&flag, matches)? {
            instance.insert(flag.id().to_string(), value);
        }
    }
    Ok(Value::Object(instance))
}

/// What was given for a node.
fn value(flag: &Flag<'_>, matches: &ArgMatches) -> Result<Option<Value>, Failure> {
    let words = || matches.get_many::<String>(flag.id()).into_iter().flatten();
    let refused = |text: &str, message: String| Failure::Usage(wrong(&flag.called(), text, &message));
    let one = |text: &str| leaf(flag.node, text).map_err(|message| refused(text, message));
    Ok(match flag.place {
        Place::Switch => matches.get_flag(flag.id()).then(|| one("true")).transpose()?,
        Place::Option | Place::Word => {
            // No two of them are given.
            let own = flag.own_words().into_iter().find(|word| matches.get_flag(word));
            let given = own.or_else(|| words().next().map(String::as_str));
            given.map(one).transpose()?
        }
        Place::Joined => {
            let text = words().map(String::as_str).collect::<Vec<&str>>().join(" ");
            Some(text).filter(|text| !text.is_empty()).map(|text| one(&text)).transpose()?
        }
        Place::Repeated | Place::Words if flag.node.kind == Kind::LeafList => {
            let values = words().map(|text| one(text)).collect::<Result<Vec<Value>, Failure>>()?;
            Some(values).filter(|values| !values.is_empty()).map(Value::Array)
        }
        Place::Repeated | Place::Words => list(flag, matches)?,
    })
}

/// The entries of a list: those of words, then those of files.
fn list(flag: &Flag<'_>, matches: &ArgMatches) -> Result<Option<Value>, Failure> {
    let given = |id: &str| matches.get_many::<String>(id).into_iter().flatten();
    let mut list = Entries::of(flag.node);
    for text in given(flag.id()) {
        list.add(text).map_err(|message| Failure::Usage(wrong(&flag.called(), text, &message)))?;
    }
    for (name, path) in flag.file().into_iter().flat_map(|name| given(name).map(move |path| (name, path))) {
        list.add_file(path).map_err(|message| wrong(&format!("--{name}"), path, &message))?;
    }
    Ok(Some(list.entries).filter(|entries| !entries.is_empty()).map(Value::Array))
}

/// Entries of a list, none of which has the keys of another.
struct Entries<'n> {
    node: &'n Node,
    /// Keys that words tell; others are numbers that differ.
    told_keys: Vec<&'n String>,
    seen: HashSet<String>,
    entries: Vec<Value>,
}

impl<'n> Entries<'n> {
    fn of(node: &'n Node) -> Entries<'n> {
        let form = node.extension("form").unwrap_or_default();
        let told_keys = node.keys.iter().filter(|key| form.contains(&format!("{{{key}}}"))).collect();
        Entries { node, told_keys, seen: HashSet::new(), entries: Vec::new() }
    }

    /// Adds the entries that a word stands for.
    fn add(&mut self, text: &str) -> Result<(), String> {
        for entry in entries(self.node, text, self.entries.len())? {
            let keys = self.told_keys.iter().filter_map(|key| entry.get(*key)).map(text_of);
            let called = keys.collect::<Vec<String>>().join(" ");
            if !self.told_keys.is_empty() && !self.seen.insert(called.clone()) {
                let name = self.node.extension("flag").unwrap_or(&self.node.name);
                let article = if name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
                return Err(format!("{called} has {article} {name} already; one is enough"));
            }
            self.entries.push(entry);
        }
        Ok(())
    }

    /// Adds the entries that a file holds.
    fn add_file(&mut self, path: &str) -> Result<(), String> {
        let text =
            std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {}", reason(&error)))?;
        // Editors put a byte-order mark in front.
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        for (i, line) in text.lines().enumerate() {
            let line = line.split('#').next().unwrap_or_default();
            self.add(line).map_err(|message| format!("line {}: {message}", i + 1))?;
        }
        Ok(())
    }
}

/// What is told of a value that is wrong.
pub fn wrong(flag: &str, value: &str, message: &str) -> String {
    format!("{flag} `{value}`: {message}")
}
