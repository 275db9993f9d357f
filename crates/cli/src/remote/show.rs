//! `weir show` and `weir events`.

use clap::Args;
use clap_complete::ArgValueCompleter;
use events::Event;
use serde_json::Value;

use super::target::{instance_name, instances, Target};
use super::topology::{ports, trouble};
use super::{text, Daemon, Format};
use crate::complete::instances as complete;
use crate::failure::Failure;
use crate::print;

/// Options of `weir show`.
#[derive(Args)]
pub struct ShowOptions {
    /// The instance; all of them, in a table, if none is given.
    #[arg(value_parser = instance_name, add = ArgValueCompleter::new(complete::instances))]
    pub instance: Option<String>,
    /// A node of it, such as rule, rule/10 or statistics.
    #[arg(add = ArgValueCompleter::new(complete::paths))]
    pub path: Option<String>,
    /// Only what was configured.
    #[arg(long, conflicts_with = "state")]
    pub config: bool,
    /// Only state.
    #[arg(long)]
    pub state: bool,
    /// Also values that are there by default.
    #[arg(long)]
    pub defaults: bool,
    /// How it is printed.
    #[command(flatten)]
    pub format: Format,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Shows instances.
pub fn show(options: &ShowOptions) -> Result<(), Failure> {
    let mut query = vec![];
    if options.config {
        query.push("content=config");
    }
    if options.state {
        query.push("content=nonconfig");
    }
    if options.defaults {
        query.push("with-defaults=report-all");
    }
    let query = if query.is_empty() { String::new() } else { format!("?{}", query.join("&")) };
    let Some(name) = &options.instance else {
        let shown = match options.format.json || options.format.yaml {
            true => options.format.print(&within(options.daemon.get(&format!("/restconf/data{query}"))?)),
            false => table(&options.daemon),
        };
        return shown.map_err(Failure::Other);
    };
    let target = Target::find(&options.daemon, name)?;
    let (path, is_entry) = match &options.path {
        None => (String::new(), true),
        Some(path) => {
            let place = target.place(path).map_err(Failure::Usage)?;
            (place.path, place.is_entry)
        }
    };
    let value = within(options.daemon.get(&format!("{}{path}{query}", target.url()))?);
    let value = match value {
        Value::Array(mut entries) if is_entry && entries.len() == 1 => entries.remove(0),
        other => other,
    };
    match &value {
        Value::String(text) if !options.format.json => println!("{text}"),
        value => options.format.print(value)?,
    }
    Ok(())
}

/// What stands under the one name of an answer.
fn within(answer: Value) -> Value {
    match answer {
        Value::Object(members) if members.len() == 1 => {
            members.into_iter().next().map(|(_, value)| value).unwrap_or_default()
        }
        other => other,
    }
}

/// A line for each instance: its function, and its ports with what they are joined with.
fn table(daemon: &Daemon) -> Result<(), String> {
    let ports = ports(daemon)?;
    let mut rows = vec![["INSTANCE".to_string(), "FUNCTION".to_string(), "PORTS".to_string()]];
    for (name, function) in instances(daemon)? {
        let own = ports.iter().filter(|port| text(port, "instance") == name);
        let one = |port: &Value| match text(port, "peer") {
            "" => text(port, "name").to_string(),
            peer => format!("{} > {peer}{}", text(port, "name"), trouble(port)),
        };
        rows.push([name.clone(), function, own.map(one).collect::<Vec<_>>().join(", ")]);
    }
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).max().unwrap_or(0);
    let (first, second) = (width(0), width(1));
    for [name, function, ports] in &rows {
        println!("{}", format!("{name:first$}  {function:second$}  {ports}").trim_end());
    }
    Ok(())
}

/// Options of `weir events`.
#[derive(Args)]
pub struct EventsOptions {
    /// Print each event as a line of JSON.
    #[arg(long)]
    pub json: bool,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Follows events until the daemon ends.
pub fn events(options: &EventsOptions) -> Result<(), String> {
    print::end_with_reader();
    options.daemon.follow("/restconf/streams/NETCONF", |line| {
        let Some(text) = line.strip_prefix("data: ") else { return true };
        if options.json {
            println!("{text}");
            return true;
        }
        let notification: Value = serde_json::from_str(text).unwrap_or_default();
        let event = event(notification.get("ietf-restconf:notification").unwrap_or(&Value::Null));
        println!("{}  {}", event.time, event.sentence());
        true
    })
}

/// The event that a notification tells of.
fn event(notification: &Value) -> Event {
    let mut event = Event { event: String::new(), time: String::new(), facts: Default::default() };
    for (name, value) in notification.as_object().into_iter().flatten() {
        match (name.as_str(), value) {
            ("eventTime", Value::String(time)) => event.time.clone_from(time),
            (name, Value::Object(facts)) => {
                event.event = name.split_once(':').map_or(name, |(_, name)| name).to_string();
                event.facts.clone_from(facts);
            }
            _ => {}
        }
    }
    event
}
