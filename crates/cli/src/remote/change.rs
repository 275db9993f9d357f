//! `weir set`, `delete` and `call`.

use clap::Args;
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use daemon::restconf::DATA;
use serde_json::{json, Map, Value};
use yang::Kind;

use super::apply::{called, read, remove_state};
use super::target::{self, assignment, edit, instance_name, Target};
use super::{topology, watch, Daemon};
use crate::complete::instances as complete;
use crate::failure::Failure;

/// Options of `weir set`.
#[derive(Args)]
pub struct SetOptions {
    /// The instance.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::instances))]
    pub instance: String,
    /// PATH=VALUE: mtu=1400, rule/10/action=deny. A list takes words as on the command line (rule='allow tcp') or JSON.
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
    let operation = if options.replace { "replace" } else { "merge" };
    let mut edits = Vec::new();
    let mut push = |place: &target::Place<'_>, value| {
        let name = format!("{}:{}", place.node.module, place.node.name);
        edits.push(edit(edits.len() + 1, operation, &place.path, &name, Some(value)));
    };
    for text in &options.values {
        let (path, value) = assignment(text)?;
        let place = target.place(path).map_err(Failure::Usage)?;
        let before = if place.is_entry { 0 } else { last_number(&options.daemon, &target, &place)? };
        let value = target::value(place.node, value, before).map_err(Failure::Usage)?;
        let value = if place.is_entry && place.node.kind == Kind::List { json!([value]) } else { value };
        push(&place, value);
    }
    if let Some(file) = &options.file {
        let mut value = read(file)?;
        remove_state(target.node(), &mut value);
        let Value::Object(members) = value else {
            return Err(format!("{}: expected names with values", called(file)).into());
        };
        for (name, value) in members {
            let place = target.place(&name)?;
            if target.node().keys.contains(&name) {
                continue;
            }
            push(&place, value);
        }
    }
    target::patch(&options.daemon, &target.url(), edits).map_err(Failure::Other)
}

/// The highest number that an entry of a list has for its key: entries that words add are numbered on from there.
fn last_number(daemon: &Daemon, target: &Target, place: &target::Place<'_>) -> Result<usize, String> {
    let [key] = place.node.keys.as_slice() else { return Ok(0) };
    let url = format!("{}{}?content=config", target.url(), place.path);
    let answer = daemon.ask("GET", &url, None)?;
    if answer.status == 404 {
        return Ok(0);
    }
    let answer = answer.json()?;
    let entries = answer.as_object().and_then(|members| members.values().next()).and_then(Value::as_array);
    let numbers =
        entries.into_iter().flatten().filter_map(|entry| functions::text_of(entry.get(key)?).parse().ok());
    Ok(numbers.max().unwrap_or(0))
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
        let value = target::value(node, value, 0).map_err(Failure::Usage)?;
        values.insert(name.to_string(), value);
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
