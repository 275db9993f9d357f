//! `weir apply`, and the files of values that it and `weir set` read.

use std::io::Read;

use clap::builder::NonEmptyStringValueParser;
use clap::Args;
use daemon::json::Unambiguous;
use daemon::restconf::DATA;
use serde_json::{json, Value};

use super::{target, Daemon};

/// Names the standard input among files.
const STDIN: &str = "-";

/// Options of `weir apply`.
#[derive(Args)]
pub struct ApplyOptions {
    /// JSON or YAML (`-` is the standard input).
    #[arg(value_hint = clap::ValueHint::FilePath, value_parser = NonEmptyStringValueParser::new(), required_unless_present = "flag")]
    pub file: Option<String>,
    /// The same file, where `weir set` has it.
    #[arg(id = "flag", short, long = "file", value_name = "FILE", conflicts_with = "file",
          value_hint = clap::ValueHint::FilePath, value_parser = NonEmptyStringValueParser::new())]
    pub flag: Option<String>,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Applies a configuration.
pub fn apply(options: &ApplyOptions) -> Result<(), String> {
    let file = options.file.as_ref().or(options.flag.as_ref()).expect("one of the two is required");
    let value = read(file)?;
    if !value.is_object() {
        let what = if value.is_null() { "it is empty" } else { "it holds no names with values" };
        return Err(format!(
            "{}: {what}; expected a configuration as `weir show --yaml` prints it",
            called(file)
        ));
    }
    let value = match value.get("ietf-restconf:data") {
        Some(data) => data.clone(),
        None => value,
    };
    if let Some(name) = value.get("name").and_then(Value::as_str) {
        return Err(format!(
            "{}: this is one instance, as `weir show {name}` prints it; `weir set {name} -f {file}` takes it over",
            called(file)
        ));
    }
    let body = json!({ "ietf-restconf:data": without_state(&options.daemon, value)? });
    options.daemon.send_json("PATCH", "/restconf/data", DATA, &body).map(drop)
}

/// A configuration without the state that `weir show` prints beside it; names of files are absolute.
fn without_state(daemon: &Daemon, mut value: Value) -> Result<Value, String> {
    if let Value::Object(members) = &mut value {
        for (name, value) in members.iter_mut() {
            let (module, plain) = name.split_once(':').unwrap_or((name, name));
            let functions = match module {
                functions::CORE => functions::Functions::new(Vec::new())?,
                module => target::function(daemon, module)?,
            };
            let nodes = functions.modules().get(module).map_or(&[][..], |module| &module.nodes);
            if let Some(node) = nodes.iter().find(|node| node.name == plain) {
                remove_state(node, value);
                target::make_absolute(daemon, node, value)?;
            }
        }
    }
    Ok(value)
}

/// Takes away what is state, and so nobody can set.
pub fn remove_state(node: &yang::Node, value: &mut Value) {
    match value {
        Value::Array(entries) => entries.iter_mut().for_each(|entry| remove_state(node, entry)),
        Value::Object(members) => {
            members.retain(|name, _| node.child(name).is_none_or(|child| child.is_config));
            for (name, value) in members.iter_mut() {
                if let Some(child) = node.child(name) {
                    remove_state(child, value);
                }
            }
        }
        _ => {}
    }
}

/// What messages call a file.
pub fn called(file: &str) -> &str {
    if file == STDIN {
        "standard input"
    } else {
        file
    }
}

/// Reads JSON or YAML.
pub fn read(file: &str) -> Result<Value, String> {
    let mut text = String::new();
    let name = called(file);
    let read = match file {
        STDIN => crate::print::input().and_then(|mut input| input.read_to_string(&mut text)).map(drop),
        file => std::fs::read_to_string(file).map(|read| text = read),
    };
    read.map_err(|error| format!("{name}: {}", element::output::reason(&error)))?;
    // JSON is YAML, too; but JSON's own errors tell more.
    let read = match text.trim_start().starts_with('{') {
        true => serde_json::from_str(&text).map_err(|error| error.to_string()),
        false => serde_yaml_ng::from_str(&text).map_err(|error| error.to_string()),
    };
    read.map(|Unambiguous(value)| value).map_err(|error| format!("{name}: {error}"))
}
