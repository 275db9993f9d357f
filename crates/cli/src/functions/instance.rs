//! What a command line says of a function, as the data of an instance.

use clap::ArgMatches;
use element::output::reason;
use functions::{entries, leaf, Function};
use serde_json::{Map, Value};
use yang::{Kind, Node};

use super::flag::{self, Flag, Place};

/// The data of an instance. What is wrong with a value names the flag and the value.
pub fn of(function: &Function<'_>, matches: &ArgMatches) -> Result<Value, String> {
    let mut instance = Map::new();
    // Nobody else has it: what comes from a name differs among stages.
    let name = format!("{}_{:012x}", function.name(), fastrand::u64(..1 << 48));
    instance.insert("name".to_string(), name.into());
    for flag in flag::of(function) {
        if let Some(value) = value(&flag, matches)? {
            instance.insert(flag.id().to_string(), value);
        }
    }
    Ok(Value::Object(instance))
}

/// What was given for a node.
fn value(flag: &Flag<'_>, matches: &ArgMatches) -> Result<Option<Value>, String> {
    let words = || matches.get_many::<String>(flag.id()).into_iter().flatten();
    let one = |text: &str| leaf(flag.node, text).map_err(|message| wrong(&flag.called(), text, &message));
    Ok(match flag.place {
        Place::Switch => matches.get_flag(flag.id()).then(|| one("true")).transpose()?,
        Place::Option | Place::Word => {
            let given = of_own_words(flag, matches).or_else(|| words().next().map(String::as_str));
            given.map(one).transpose()?
        }
        Place::Joined => {
            let text = words().map(String::as_str).collect::<Vec<&str>>().join(" ");
            Some(text).filter(|text| !text.is_empty()).map(|text| one(&text)).transpose()?
        }
        Place::Repeated | Place::Words if flag.node.kind == Kind::LeafList => {
            let values = words().map(|text| one(text)).collect::<Result<Vec<Value>, String>>()?;
            Some(values).filter(|values| !values.is_empty()).map(Value::Array)
        }
        Place::Repeated | Place::Words => list(flag, matches)?,
    })
}

/// The value whose own flag was given.
fn of_own_words<'f>(flag: &Flag<'f>, matches: &ArgMatches) -> Option<&'f str> {
    let words = flag.own_words();
    let given: Vec<&str> = words.iter().copied().filter(|word| matches.get_flag(word)).collect();
    match given.as_slice() {
        [] => None,
        [one] => Some(*one),
        _ => flag.node.default.as_deref(),
    }
}

/// The entries of a list: those of words, then those of files.
fn list(flag: &Flag<'_>, matches: &ArgMatches) -> Result<Option<Value>, String> {
    let mut list = Vec::new();
    for text in matches.get_many::<String>(flag.id()).into_iter().flatten() {
        add(flag.node, text, &mut list).map_err(|message| wrong(&flag.called(), text, &message))?;
    }
    let file = flag.file().map(|file| (file, matches.get_many::<String>(file)));
    for (name, path) in
        file.into_iter().flat_map(|(name, paths)| paths.into_iter().flatten().map(move |path| (name, path)))
    {
        add_file(flag.node, path, &mut list)
            .map_err(|message| wrong(&format!("--{name}"), path, &message))?;
    }
    Ok(Some(list).filter(|list| !list.is_empty()).map(Value::Array))
}

fn add_file(node: &Node, path: &str, list: &mut Vec<Value>) -> Result<(), String> {
    let text =
        std::fs::read_to_string(path).map_err(|error| format!("cannot be read: {}", reason(&error)))?;
    for (i, line) in text.lines().enumerate() {
        let line = line.split('#').next().unwrap_or_default();
        add(node, line, list).map_err(|message| format!("line {}: {message}", i + 1))?;
    }
    Ok(())
}

/// Adds the entries that a word stands for; none may have the keys of another.
fn add(node: &Node, text: &str, list: &mut Vec<Value>) -> Result<(), String> {
    for entry in entries(node, text, list.len())? {
        // Keys that are numbered differ.
        let is_told =
            |key: &&String| node.extension("form").is_some_and(|form| form.contains(&format!("{{{key}}}")));
        let keys: Vec<&String> = node.keys.iter().filter(is_told).collect();
        let same = |other: &&Value| keys.iter().all(|key| other.get(key) == entry.get(key));
        if !keys.is_empty() && list.iter().any(|other| same(&other)) {
            let texts = keys
                .iter()
                .filter_map(|key| entry.get(key))
                .map(|value| value.as_str().map_or_else(|| value.to_string(), str::to_string));
            let article = if node.name.starts_with(['a', 'e', 'i', 'o', 'u']) { "an" } else { "a" };
            let called = texts.collect::<Vec<String>>().join(" ");
            return Err(format!("{called} has {article} {} already; one is enough", node.name));
        }
        list.push(entry);
    }
    Ok(())
}

/// What is told of a value that is wrong.
pub fn wrong(flag: &str, value: &str, message: &str) -> String {
    format!("{flag} `{value}`: {message}")
}
