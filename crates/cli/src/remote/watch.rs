//! `weir watch`, `unwatch` and `watches`: thresholds of the daemon's configuration.

use std::time::Duration;

use clap::Args;
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use events::{Crossing, Sample, Startup, Threshold, Told};
use serde::Deserialize;
use serde_json::{json, Value};

use super::target::{self, edit, Target};
use super::{text, Daemon, Format};
use crate::complete::instances as complete;
use crate::control::hooks::time;
use crate::control::listed;
use crate::failure::Failure;
use crate::live::watch::{self as live, Bounds};

/// Where the thresholds are.
const THRESHOLDS: &str = "/restconf/data/weir:thresholds";

/// Options of `weir watch`.
#[derive(Args)]
pub struct WatchOptions {
    /// A name for it; one that has this name already is replaced.
    #[arg(value_parser = watch_name)]
    pub name: String,
    /// The instance, or the path of a leaf anywhere, such as /weir:topology/port=edge,left/rx-packets.
    #[arg(value_name = "INSTANCE|/PATH", add = ArgValueCompleter::new(complete::instances))]
    pub instance: String,
    /// A leaf of the instance whose value is a number, such as statistics/flows.
    #[arg(add = ArgValueCompleter::new(complete::numbers))]
    pub path: Option<String>,
    /// When there is an event.
    #[command(flatten)]
    pub bounds: Bounds,
    /// How often to look.
    #[arg(long, value_name = "TIME", default_value = "10s", value_parser = time)]
    pub every: Duration,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir unwatch`.
#[derive(Args)]
pub struct UnwatchOptions {
    /// The watch.
    #[arg(add = ArgValueCompleter::new(complete::watches))]
    pub name: String,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Options of `weir watches`.
#[derive(Args)]
pub struct WatchesOptions {
    /// How it is printed.
    #[command(flatten)]
    pub format: Format,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// Reads a watch's name.
fn watch_name(text: &str) -> Result<String, String> {
    let is_name = |text: &str| text.bytes().all(|c| c.is_ascii_alphanumeric() || b"_-.".contains(&c));
    match !text.is_empty() && is_name(text) {
        true => Ok(text.to_string()),
        false => Err("expected a name of letters, digits and `_-.`, such as full".to_string()),
    }
}

/// Watches a value.
pub fn watch(options: &WatchOptions) -> Result<(), Failure> {
    let WatchOptions { name, instance, path, bounds, every, daemon } = options;
    let path = match (instance.starts_with('/'), path) {
        (true, None) => instance.clone(),
        (true, Some(path)) => {
            return Err(Failure::Usage(format!("`{path}`: say INSTANCE PATH, or /PATH alone")))
        }
        (false, None) => {
            return Err(Failure::Usage("say INSTANCE PATH, such as edge statistics/flows".to_string()))
        }
        (false, Some(path)) => {
            let target = Target::find(daemon, instance)?;
            let place = target.place(path).map_err(Failure::Usage)?;
            format!("/{0}:{0}={1}{2}", target.function, encoded(&target.name), place.path)
        }
    };
    let mut entry = json!({
        "name": name,
        "path": path,
        "sample": if bounds.delta { "delta" } else { "absolute" },
        "startup": bounds.startup,
        "interval": u64::try_from(every.as_millis()).unwrap_or(u64::MAX),
    });
    let given = [("rising", bounds.rising), ("falling", bounds.falling)];
    for (bound, value) in given.into_iter().filter_map(|(bound, value)| Some((bound, value?))) {
        entry[bound] = value.to_string().into();
    }
    let target = format!("/threshold={}", encoded(name));
    let edit = edit(1, "replace", &target, "weir:threshold", Some(json!([entry])));
    Ok(target::patch(daemon, THRESHOLDS, vec![edit])?)
}

/// Watches it no longer.
pub fn unwatch(options: &UnwatchOptions) -> Result<(), String> {
    let path = format!("{THRESHOLDS}/threshold={}", encoded(&options.name));
    let answer = options.daemon.ask("DELETE", &path, None)?;
    if !answer.is_missing() {
        return answer.ok().map(drop);
    }
    let known = listed(names(&options.daemon)?, "`weir watch` makes one");
    Err(format!("no watch `{}`; {known}", options.name))
}

/// Names of all watches.
pub fn names(daemon: &Daemon) -> Result<Vec<String>, String> {
    Ok(configured(daemon)?.iter().map(|entry| text(entry, "name").to_string()).collect())
}

/// All watches without how they fare.
fn configured(daemon: &Daemon) -> Result<Vec<Value>, String> {
    entries(daemon, &format!("{THRESHOLDS}?content=config"))
}

fn entries(daemon: &Daemon, url: &str) -> Result<Vec<Value>, String> {
    let all = daemon.get(url)?;
    let all = all.get("weir:thresholds").and_then(|all| all.get("threshold")).and_then(Value::as_array);
    Ok(all.cloned().unwrap_or_default())
}

/// Lists what is watched.
pub fn watches(options: &WatchesOptions) -> Result<(), String> {
    let entries = entries(&options.daemon, THRESHOLDS)?;
    if options.format.json || options.format.yaml {
        return options.format.print(&entries.into());
    }
    live::print(&entries.iter().map(told).collect::<Vec<Told>>());
    Ok(())
}

fn told(entry: &Value) -> Told {
    let number = |name: &str| text(entry, name).parse().ok();
    let words = |name: &str| entry.get(name).and_then(Value::as_str).map(str::to_string);
    let every_ms = entry["interval"].as_u64().and_then(|every| u32::try_from(every).ok());
    Told {
        name: text(entry, "name").to_string(),
        source: text(entry, "path").to_string(),
        threshold: Threshold {
            rising: number("rising"),
            falling: number("falling"),
            sample: Sample::deserialize(&entry["sample"]).unwrap_or_default(),
            startup: Startup::deserialize(&entry["startup"]).unwrap_or_default(),
            every_ms: every_ms.unwrap_or_default(),
        },
        value: number("value"),
        problem: words("problem"),
        crossed: Crossing::deserialize(&entry["crossed"]).ok(),
        crossed_at: words("crossed-at"),
    }
}

/// What ends all watches of an instance.
pub fn separating(daemon: &Daemon, function: &str, instance: &str) -> Result<Vec<String>, String> {
    let name = encoded(instance);
    let way = format!("/{function}:{function}={name}");
    let ports = format!("/weir:topology/port={name},");
    let is_of = |path: &str| {
        path.starts_with(&ports)
            || path.strip_prefix(&way).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    };
    let entries = configured(daemon)?;
    let own = entries.iter().filter(|entry| is_of(text(entry, "path")));
    Ok(own.map(|entry| format!("/weir:thresholds/threshold={}", encoded(text(entry, "name")))).collect())
}
