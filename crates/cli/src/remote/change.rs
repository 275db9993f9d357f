//! `weir create`, `set`, `delete`, `call` and `apply`.

use std::io::Read;
use std::process::ExitCode;

use clap::builder::NonEmptyStringValueParser;
use clap::{Args, Command, FromArgMatches};
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use daemon::restconf::DATA;
use serde_json::{json, Map, Value};
use yang::Kind;

use super::target::{self, assignment, edit, instance_name, Target};
use super::{topology, watch, Daemon};
use crate::complete::instances as complete;
use crate::failure::{Exit, Failure};

/// Names the standard input among files.
const STDIN: &str = "-";

/// Options of `weir create`.
#[derive(Args)]
#[command(disable_help_flag = true)]
pub struct CreateOptions {
    /// The function; `weir function list` lists them.
    #[arg(add = ArgValueCompleter::new(complete::functions), allow_hyphen_values = true)]
    pub function: Option<String>,
    /// The instance's name, and the function's own flags: `weir create FUNCTION --help` lists them.
    #[arg(add = ArgValueCompleter::new(complete::flags), value_name = "NAME|FLAGS", trailing_var_arg = true, allow_hyphen_values = true)]
    pub words: Vec<String>,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

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

/// Checks `PATH=VALUE`.
fn pair(text: &str) -> Result<String, String> {
    assignment(text).map(|_| text.to_string())
}

/// The command with which an instance of a function is made.
pub fn create_command(function: &functions::Function<'_>) -> Command {
    let name = clap::Arg::new("name").required(true).value_name("NAME").help("The instance's name.");
    let mut next = 1;
    let command = crate::functions::instance_command(function).mut_args(|arg| {
        if !arg.is_positional() {
            return arg;
        }
        next += 1;
        arg.required(false).index(next)
    });
    let command = command.about(format!("Make a {}: {}", function.name(), function.about()));
    let command = command.bin_name(format!("weir create {}", function.name()));
    command.arg(name.index(1)).after_help(
        "Change it later with `weir set NAME PATH=VALUE`. Options of the daemon (--socket, --candidate ...) are those of \
         `weir create --help`.",
    )
}

/// The daemon that a command line means with what stands before a function's flags and among these, and the words that are not the
/// daemon's options; those that `own` has are not, either.
pub fn daemon_of(before: &Daemon, words: &[String], own: Option<&Command>) -> (Daemon, Vec<String>) {
    let all = Daemon::augment_args(Command::new("weir create").no_binary_name(true));
    let all = all.mut_args(|arg| arg.env(None::<&'static str>));
    let (mut for_daemon, mut others) = (Vec::new(), Vec::new());
    let mut words = words.iter().cloned();
    while let Some(word) = words.next() {
        if word == "--" {
            others.push(word);
            others.extend(words.by_ref());
            break;
        }
        let name = word.strip_prefix("--").map(|flag| flag.split_once('=').map_or(flag, |(name, _)| name));
        let has =
            |command: &Command| command.get_arguments().any(|arg| name.is_some() && arg.get_long() == name);
        let arg = all.get_arguments().find(|arg| name.is_some() && arg.get_long() == name);
        let Some(arg) = arg.filter(|_| !own.is_some_and(has)) else {
            others.push(word);
            continue;
        };
        let takes = arg.get_action().takes_values() && !arg.is_require_equals_set() && !word.contains('=');
        for_daemon.push(word);
        if takes {
            for_daemon.extend(words.next());
        }
    }
    let mut daemon = before.clone();
    let mut matches = all.try_get_matches_from(for_daemon).unwrap_or_else(|error| error.exit());
    if let Err(error) = daemon.update_from_arg_matches_mut(&mut matches) {
        error.exit();
    }
    daemon.candidate |= before.candidate;
    (daemon, others)
}

/// Makes an instance.
pub fn create(options: &CreateOptions) -> Exit {
    let name = match options.function.as_deref() {
        Some("--help" | "-h") => return crate::elements::help(Some("create")),
        Some(name) if !name.starts_with('-') => name,
        _ => {
            return Err(Failure::Usage(
                "say `weir create FUNCTION NAME [FLAGS]`; `weir function list` lists the functions"
                    .to_string(),
            ))
        }
    };
    let (daemon, edit) = creation(name, &options.words, &options.daemon)?;
    target::patch(&daemon, "/restconf/data", vec![edit])?;
    Ok(ExitCode::SUCCESS)
}

/// The edit that makes an instance of function `name` of words, its name and the function's flags; and the daemon that they and
/// `before` mean.
pub fn creation(name: &str, words: &[String], before: &Daemon) -> Result<(Daemon, Value), Failure> {
    let wants_help = words.iter().any(|word| word == "--help" || word == "-h");
    let shipped = functions::Functions::shipped_one(name);
    let own =
        shipped.as_ref().and_then(|functions| functions.get(name)).map(|function| create_command(&function));
    let (daemon, _) = daemon_of(before, words, own.as_ref());
    // Help is there without a daemon, too.
    let shipped = shipped.filter(|_| wants_help);
    let functions = shipped.map_or_else(|| target::function(&daemon, name), Ok)?;
    let function = functions.get(name).ok_or_else(|| format!("no function `{name}`"))?;
    let own = create_command(&function);
    let (daemon, words) = daemon_of(before, words, Some(&own));
    let words = std::iter::once(name.to_string()).chain(words);
    let matches = own.try_get_matches_from(words).unwrap_or_else(|error| error.exit());
    let mut entry = crate::functions::instance(&function, &matches)?;
    let instance = matches.get_one::<String>("name").cloned().unwrap_or_default();
    entry["name"] = instance.as_str().into();
    let path = format!("/{name}:{name}={}", encoded(&instance));
    let edit = edit(1, "create", &path, &format!("{name}:{name}"), Some(json!([entry])));
    Ok((daemon, edit))
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

/// A configuration without the state that `weir show` prints beside it.
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
            }
        }
    }
    Ok(value)
}

fn remove_state(node: &yang::Node, value: &mut Value) {
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
fn called(file: &str) -> &str {
    if file == STDIN {
        "standard input"
    } else {
        file
    }
}

/// Reads JSON or YAML.
fn read(file: &str) -> Result<Value, String> {
    let mut text = String::new();
    let name = called(file);
    let read = match file {
        STDIN => crate::print::input().and_then(|mut input| input.read_to_string(&mut text)).map(drop),
        file => std::fs::read_to_string(file).map(|read| text = read),
    };
    read.map_err(|error| format!("{name}: {}", element::output::reason(&error)))?;
    // JSON is YAML, too; but JSON's own errors tell more.
    if text.trim_start().starts_with('{') {
        return serde_json::from_str(&text).map_err(|error| format!("{name}: {error}"));
    }
    serde_yaml_ng::from_str(&text).map_err(|error| format!("{name}: {error}"))
}
