//! `weir set`, `delete` and `call`.

use std::time::{Duration, Instant};

use clap::Args;
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use daemon::restconf::DATA;
use serde_json::{json, Map, Value};
use yang::Kind;

use super::apply::{called, read, remove_state};
use super::target::{self, assignment, edit, instance_name, Place, Target};
use super::{topology, watch, Daemon};
use crate::complete::instances as complete;
use crate::failure::Failure;

/// The status of an answer when the configuration has changed meanwhile.
const CHANGED: u16 = 412;
/// How long to try while others change the configuration.
const PATIENCE: Duration = Duration::from_secs(60);

/// Options of `weir set`.
#[derive(Args)]
pub struct SetOptions {
    /// The instance.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::instances))]
    pub instance: String,
    /// PATH=VALUE: mtu=1400, rule/10/action=deny. A list takes words as on the command line (rule='allow tcp') or JSON. A file's name
    /// without `/` in front is that of a file in this folder.
    #[arg(required_unless_present = "file", value_parser = pair, add = ArgValueCompleter::new(complete::assignments))]
    pub values: Vec<String>,
    /// JSON or YAML with values of the instance (`-` is the standard input).
    #[arg(short, long, value_name = "FILE")]
    pub file: Option<String>,
    /// Take the place of what is there instead of adding to it.
    #[arg(long)]
    pub replace: bool,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir delete`.
#[derive(Args)]
pub struct DeleteOptions {
    /// The instance.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::instances))]
    pub instance: String,
    /// Nodes of it, such as rule/10; the whole instance with what joins it if none is given.
    #[arg(add = ArgValueCompleter::new(complete::paths))]
    pub paths: Vec<String>,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir call`.
#[derive(Args)]
pub struct CallOptions {
    /// The instance.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::instances))]
    pub instance: String,
    /// The action, perhaps with a path in front.
    #[arg(add = ArgValueCompleter::new(complete::actions))]
    pub action: String,
    /// NAME=VALUE of what it is given.
    #[arg(value_parser = pair)]
    pub values: Vec<String>,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Checks `PATH=VALUE`.
fn pair(text: &str) -> Result<String, String> {
    assignment(text).map(|_| text.to_string())
}

/// Changes an instance. Words that its schema refuses are a wrong command line, as they are where the instance is made.
pub fn set(options: &SetOptions) -> Result<(), Failure> {
    let target = Target::find(&options.daemon, &options.instance)?;
    let given = given(options, &target)?;
    let begin = Instant::now();
    loop {
        let (edits, tag) = edits(options, &target, &given)?;
        let answer = target::patch_if(&options.daemon, &target.url(), edits, tag.as_deref())?;
        // Somebody else may have taken the numbers.
        if answer.status != CHANGED || begin.elapsed() > PATIENCE {
            return answer.ok().map(drop).map_err(Failure::Other);
        }
    }
}

/// A node with the values that a file or the command line gives it.
struct Given<'g> {
    place: Place<'g>,
    /// From the file.
    value: Option<Value>,
    /// From the command line.
    texts: Vec<&'g str>,
}

/// What is given, by node: that of the file first, so that the command line has the last word.
fn given<'g>(options: &'g SetOptions, target: &'g Target) -> Result<Vec<Given<'g>>, Failure> {
    let mut all: Vec<Given<'_>> = Vec::new();
    if let Some(file) = &options.file {
        let mut value = read(file)?;
        remove_state(target.node(), &mut value);
        let Value::Object(members) = value else {
            return Err(format!("{}: expected names with values", called(file)).into());
        };
        for (name, value) in members {
            let place = target.place(&name)?;
            if !target.node().keys.contains(&name) {
                all.push(Given { place, value: Some(value), texts: Vec::new() });
            }
        }
    }
    let n_of_file = all.len();
    for text in &options.values {
        let (path, value) = assignment(text)?;
        let place = target.place(path).map_err(Failure::Usage)?;
        match all[n_of_file..].iter_mut().find(|known| known.place.path == place.path) {
            Some(known) if place.is_entry => {
                let message = format!("`{path}` is given twice, as `{}` and as `{value}`", known.texts[0]);
                return Err(Failure::Usage(message));
            }
            Some(known) => known.texts.push(value),
            None => all.push(Given { place, value: None, texts: vec![value] }),
        }
    }
    Ok(all)
}

/// The edits that make what is given, and the tag of the configuration for which they do if they hang on that.
fn edits(
    options: &SetOptions,
    target: &Target,
    given: &[Given<'_>],
) -> Result<(Vec<Value>, Option<String>), Failure> {
    let operation = if options.replace { "replace" } else { "merge" };
    let (mut edits, mut tag) = (Vec::new(), None);
    for Given { place, value, texts } in given {
        let is_list = place.node.kind == Kind::List;
        let mut values: Vec<Value> = value.iter().cloned().collect();
        let mut last = 0;
        if is_list && !place.is_entry && !options.replace && !texts.is_empty() {
            if tag.is_none() {
                let url = format!("{}?content=config", target.url());
                tag = options.daemon.ask("GET", &url, None)?.tag;
            }
            let of_file = given.iter().filter(|other| other.place.path == place.path);
            let of_file = of_file.filter_map(|other| highest(place, other.value.as_ref()?)).max();
            last = last_number(&options.daemon, target, place)?.max(of_file.unwrap_or(0));
        }
        for text in texts {
            let value = match place.is_entry && is_list {
                true => target::members(place, text).map(|entry| json!([entry])),
                false => target::value(place.node, text, last),
            };
            let value = value.map_err(Failure::Usage)?;
            last = last.max(highest(place, &value).unwrap_or(0));
            values.push(value);
        }
        let mut value = match values.len() {
            1 => values.remove(0),
            _ => values.into_iter().flat_map(entries_of).collect(),
        };
        target::make_absolute(&options.daemon, place.node, &mut value).map_err(Failure::Usage)?;
        let name = format!("{}:{}", place.node.module, place.node.name);
        edits.push(edit(edits.len() + 1, operation, &place.path, &name, Some(value)));
    }
    Ok((edits, tag))
}

fn entries_of(value: Value) -> Vec<Value> {
    match value {
        Value::Array(entries) => entries,
        other => vec![other],
    }
}

/// The highest number that an entry of a list has for its key: entries that words add are numbered on from there.
fn last_number(daemon: &Daemon, target: &Target, place: &Place<'_>) -> Result<usize, String> {
    let url = format!("{}{}?content=config", target.url(), place.path);
    let answer = daemon.ask("GET", &url, None)?;
    if answer.status == 404 {
        return Ok(0);
    }
    let answer = answer.json()?;
    let entries = answer.as_object().and_then(|members| members.values().next());
    Ok(entries.and_then(|entries| highest(place, entries)).unwrap_or(0))
}

/// The highest number among the keys of a list's entries.
fn highest(place: &Place<'_>, entries: &Value) -> Option<usize> {
    let [key] = place.node.keys.as_slice() else { return None };
    let entries = entries.as_array()?.iter();
    entries.filter_map(|entry| functions::text_of(entry.get(key)?).parse().ok()).max()
}

/// Deletes an instance, or nodes of it.
pub fn delete(options: &DeleteOptions) -> Result<(), Failure> {
    let target = Target::find(&options.daemon, &options.instance)?;
    if options.paths.is_empty() {
        // What joins it and watches it goes with it.
        let mut paths = topology::separating(&options.daemon, &target.name)?;
        paths.extend(watch::separating(&options.daemon, &target.function, &target.name)?);
        paths.push(format!("/{0}:{0}={1}", target.function, encoded(&target.name)));
        let edits = paths.iter().enumerate().map(|(i, path)| edit(i + 1, "delete", path, "", None));
        return target::patch(&options.daemon, "/restconf/data", edits.collect()).map_err(Failure::Other);
    }
    let mut edits = Vec::new();
    for path in &options.paths {
        let place = target.place(path).map_err(Failure::Usage)?;
        edits.push(edit(edits.len() + 1, "delete", &place.path, &place.node.name, None));
    }
    target::patch(&options.daemon, &target.url(), edits).map_err(Failure::Other)
}

/// Calls an action.
pub fn call(options: &CallOptions) -> Result<(), Failure> {
    let target = Target::find(&options.daemon, &options.instance)?;
    let place = target.place(&options.action).ok().filter(|place| place.node.kind == Kind::Action);
    let Some(place) = place else {
        let known: Vec<&str> = target
            .node()
            .data_children()
            .filter(|node| node.kind == Kind::Action)
            .map(|node| node.name.as_str())
            .collect();
        let known =
            if known.is_empty() { "it has none".to_string() } else { format!("it has {}", known.join(", ")) };
        let message = format!("`{}` is no action of a {}; {known}", options.action, target.function);
        return Err(Failure::Usage(message));
    };
    let input = place.node.children.iter().find(|child| child.kind == Kind::Input);
    let mut values = Map::new();
    for text in &options.values {
        let (name, value) = assignment(text)?;
        let node = input
            .and_then(|input| input.child(name))
            .ok_or_else(|| Failure::Usage(format!("`{}` takes no `{name}`", place.node.name)))?;
        let mut value = target::value(node, value, 0).map_err(Failure::Usage)?;
        target::make_absolute(&options.daemon, node, &mut value).map_err(Failure::Usage)?;
        if values.insert(name.to_string(), value).is_some() {
            return Err(Failure::Usage(format!("`{name}` is given twice")));
        }
    }
    let url = format!("{}{}", target.url(), place.path);
    let answer = match values.is_empty() {
        true => options.daemon.ask("POST", &url, None)?.json()?,
        false => options.daemon.send_json(
            "POST",
            &url,
            DATA,
            &json!({ format!("{}:input", place.node.module): values }),
        )?,
    };
    match answer {
        Value::Null => Ok(()),
        answer => super::Format::default().print(&answer).map_err(Failure::Other),
    }
}
