//! `weir connect`, `disconnect`, `attach`, `detach` and `topology`.

use clap::{Args, Command};
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use daemon::topology::Endpoint;
use serde_json::{json, Value};

use super::create::{create_command, creation, daemon_of};
use super::target::{self, edit, instance_name, instances};
use super::{text, Daemon, Format};
use crate::complete::instances as complete;
use crate::failure::Failure;

/// Options of `weir connect`.
#[derive(Args)]
pub struct ConnectOptions {
    /// A port of an instance, such as edge:left.
    #[arg(add = ArgValueCompleter::new(complete::endpoints))]
    pub from: String,
    /// Another one, or dev:DEVICE, or tap:DEVICE (which is made), or a capture stream: unix:PATH, fifo:PATH or file:PATH.
    #[arg(add = ArgValueCompleter::new(complete::endpoints))]
    pub to: String,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir disconnect`.
#[derive(Args)]
pub struct DisconnectOptions {
    /// Either end of what joins them.
    #[arg(add = ArgValueCompleter::new(complete::joined))]
    pub endpoint: String,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir attach`.
#[derive(Args)]
#[command(override_usage = "weir attach [OPTIONS] <FUNCTION> <INSTANCE> <PORT> [FLAGS]...")]
pub struct AttachOptions {
    /// The function; `weir function list` lists them.
    #[arg(add = ArgValueCompleter::new(complete::functions))]
    pub function: String,
    /// The instance to be put there; it is made if it is not there.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::instances))]
    pub instance: String,
    /// The port that it is to stand in front of, such as edge:right.
    #[arg(add = ArgValueCompleter::new(complete::ports))]
    pub port: String,
    /// Flags of the function, for an instance that is made: `weir create FUNCTION --help` lists them.
    #[arg(add = ArgValueCompleter::new(complete::flags_behind_port), trailing_var_arg = true, allow_hyphen_values = true)]
    pub flags: Vec<String>,
    /// Nearer to the port than all that stand there already.
    #[arg(long)]
    pub first: bool,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir detach`.
#[derive(Args)]
pub struct DetachOptions {
    /// The instance that stands in front of a port.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::attached))]
    pub instance: String,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir topology`.
#[derive(Args)]
pub struct TopologyOptions {
    /// For Graphviz.
    #[arg(long, conflicts_with_all = ["mermaid", "json", "yaml"])]
    pub dot: bool,
    /// For Mermaid.
    #[arg(long, conflicts_with_all = ["json", "yaml"])]
    pub mermaid: bool,
    /// How it is printed.
    #[command(flatten)]
    pub format: Format,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Joins two endpoints.
pub fn connect(options: &ConnectOptions) -> Result<(), Failure> {
    let ConnectOptions { from, to, daemon } = options;
    let is_port = |end: &str| match Endpoint::parse(end) {
        Ok(endpoint) => Ok(matches!(endpoint, Endpoint::Port { .. })),
        Err(message) => Err(Failure::Usage(format!("`{end}`: {message}"))),
    };
    // The instance's port names the connection.
    let (from, to) = match (is_port(from)?, is_port(to)?) {
        (false, true) => (to, from),
        _ => (from, to),
    };
    let value = json!([{ "from": from, "to": to }]);
    let edit = edit(1, "create", &format!("/connection={}", encoded(from)), "weir:connection", Some(value));
    Ok(target::patch(daemon, "/restconf/data/weir:topology", vec![edit])?)
}

/// The ports of all instances.
pub fn ports(daemon: &Daemon) -> Result<Vec<Value>, String> {
    entries(daemon, "port")
}

fn entries(daemon: &Daemon, list: &str) -> Result<Vec<Value>, String> {
    let topology = daemon.get("/restconf/data/weir:topology")?;
    let entries =
        topology.get("weir:topology").and_then(|topology| topology.get(list)).and_then(Value::as_array);
    Ok(entries.cloned().unwrap_or_default())
}

/// Ends a connection.
pub fn disconnect(options: &DisconnectOptions) -> Result<(), String> {
    let end = &options.endpoint;
    let connections = connections(&options.daemon)?;
    let found = connections.iter().find(|ends| ends.contains(end));
    let [from, _] = found.ok_or_else(|| {
        let known: Vec<String> = connections.iter().map(|ends| ends.join(" - ")).collect();
        let known = match known.is_empty() {
            true => "there are no connections; `weir connect` makes one".to_string(),
            false => format!("connections: {}", known.join(", ")),
        };
        format!("nothing joins `{end}`; {known}")
    })?;
    let path = format!("/restconf/data/weir:topology/connection={}", encoded(from));
    options.daemon.ask("DELETE", &path, None)?.ok().map(drop)
}

/// Puts an instance in front of a port, and makes it if it is not there.
pub fn attach(options: &AttachOptions) -> Result<(), Failure> {
    let AttachOptions { function, instance, port, flags, .. } = options;
    // It may stand behind the function's flags.
    let is_first = |word: &String| word == "--first";
    let first = options.first || flags.iter().any(is_first);
    let own = flags.iter().filter(|word| !is_first(word)).cloned();
    let words: Vec<String> = std::iter::once(instance.clone()).chain(own).collect();
    let (daemon, rest) = daemon_of(&options.daemon, &words, None);
    let mut edits = Vec::new();
    match instances(&daemon)?.iter().find(|(name, _)| name == instance) {
        Some((_, other)) if other != function => {
            let told = format!("`{instance}` is a {other}, not a {function}; choose another name");
            return Err(Failure::Other(told));
        }
        Some(_) if rest.len() > 1 => {
            let flag = &rest[1];
            return Err(Failure::Other(format!(
                "`{flag}`: there is an instance `{instance}` already; change it with `weir set {instance} PATH=VALUE`"
            )));
        }
        Some(_) => {}
        None => edits.push(creation(function, &words, &options.daemon, attach_command)?.1),
    }
    let value = json!([{ "function": instance, "port": port }]);
    let target = format!("/weir:topology/attachment={}", encoded(instance));
    let mut put = edit(2, "insert", &target, "weir:attachment", Some(value));
    put["where"] = if first { "first" } else { "last" }.into();
    edits.push(put);
    Ok(target::patch(&daemon, "/restconf/data", edits)?)
}

/// The command that makes an instance, as it is written behind a port.
fn attach_command(function: &functions::Function<'_>) -> Command {
    let usage = format!("weir attach {} <INSTANCE> <PORT> [FLAGS]...", function.name());
    create_command(function).override_usage(usage)
}

/// Takes an instance away from a port.
pub fn detach(options: &DetachOptions) -> Result<(), String> {
    let path = format!("/restconf/data/weir:topology/attachment={}", encoded(&options.instance));
    let answer = options.daemon.ask("DELETE", &path, None)?;
    if !answer.is_missing() {
        return answer.ok().map(drop);
    }
    let known = attached(&options.daemon)?;
    let known = match known.is_empty() {
        true => "no instance does; `weir attach FUNCTION INSTANCE PORT` puts one there".to_string(),
        false => format!("those that do: {}", known.join(", ")),
    };
    Err(format!("`{}` stands in front of no port; {known}", options.instance))
}

/// What was joined, without what stands in front of ports.
pub fn connections(daemon: &Daemon) -> Result<Vec<[String; 2]>, String> {
    let ends = |one: &Value| [text(one, "from").to_string(), text(one, "to").to_string()];
    Ok(entries(daemon, "connection")?.iter().map(ends).collect())
}

/// The instances that stand in front of a port.
pub fn attached(daemon: &Daemon) -> Result<Vec<String>, String> {
    Ok(entries(daemon, "attachment")?.iter().map(|one| text(one, "function").to_string()).collect())
}

/// What ends all that joins an instance: paths.
pub fn separating(daemon: &Daemon, instance: &str) -> Result<Vec<String>, String> {
    let is_of = |end: &str| end.split_once(':').is_some_and(|(own, _)| own == instance);
    let mut paths = Vec::new();
    for one in entries(daemon, "connection")? {
        if is_of(text(&one, "from")) || is_of(text(&one, "to")) {
            paths.push(format!("/weir:topology/connection={}", encoded(text(&one, "from"))));
        }
    }
    for one in entries(daemon, "attachment")? {
        if text(&one, "function") == instance || is_of(text(&one, "port")) {
            paths.push(format!("/weir:topology/attachment={}", encoded(text(&one, "function"))));
        }
    }
    Ok(paths)
}

/// Shows what is joined with what.
pub fn show(options: &TopologyOptions) -> Result<(), String> {
    let ports = ports(&options.daemon)?;
    let all = instances(&options.daemon)?;
    if options.format.json || options.format.yaml {
        let instances: Vec<Value> =
            all.iter().map(|(name, function)| json!({ "name": name, "function": function })).collect();
        return options.format.print(&json!({ "instances": instances, "ports": ports }));
    }
    let mut links: Vec<(String, String)> = Vec::new();
    for port in &ports {
        let (own, peer) =
            (format!("{}:{}", text(port, "instance"), text(port, "name")), text(port, "peer").to_string());
        if !peer.is_empty() && !links.contains(&(peer.clone(), own.clone())) {
            links.push((own, peer));
        }
    }
    let state = |end: &str| ports.iter().find(|port| text(port, "peer") == end).map_or("", trouble);
    match (options.dot, options.mermaid) {
        (true, _) => print!("{}", dot(&all, &links)),
        (_, true) => print!("{}", mermaid(&all, &links)),
        _ => links.iter().for_each(|(from, to)| println!("{from} - {to}{}", state(to))),
    }
    Ok(())
}

/// What is wrong with the device that a port is joined with.
pub fn trouble(port: &Value) -> &'static str {
    match text(port, "device-state") {
        "down" => " (down)",
        "no-carrier" => " (no carrier)",
        "gone" => " (gone)",
        _ => "",
    }
}

/// The part of an endpoint that is drawn as a box, and what stands at the edge.
fn parts(end: &str) -> (String, String) {
    match Endpoint::parse(end) {
        Ok(Endpoint::Port { instance, port }) => (instance, port),
        _ => (end.to_string(), String::new()),
    }
}

fn dot(all: &[(String, String)], links: &[(String, String)]) -> String {
    let mut text = "graph topology {\n  rankdir=LR;\n  node [shape=box];\n".to_string();
    for (name, function) in all {
        text += &format!("  \"{name}\" [label=\"{name}\\n{function}\"];\n");
    }
    for (from, to) in links {
        let ((a, from), (b, to)) = (parts(from), parts(to));
        text += &format!("  \"{a}\" -- \"{b}\" [taillabel=\"{from}\", headlabel=\"{to}\"];\n");
    }
    text + "}\n"
}

fn mermaid(all: &[(String, String)], links: &[(String, String)]) -> String {
    let id = |text: &str| text.replace(|c: char| !c.is_ascii_alphanumeric(), "_");
    let mut text = "graph LR\n".to_string();
    for (name, function) in all {
        text += &format!("  {}[\"{name}<br>{function}\"]\n", id(name));
    }
    for (from, to) in links {
        let ((a, from), (b, to)) = (parts(from), parts(to));
        let label = [from, to].into_iter().filter(|part| !part.is_empty()).collect::<Vec<_>>().join(" - ");
        let far =
            if all.iter().any(|(name, _)| *name == b) { id(&b) } else { format!("{}([\"{b}\"])", id(&b)) };
        text += &format!("  {} ---|\"{label}\"| {far}\n", id(&a));
    }
    text
}
