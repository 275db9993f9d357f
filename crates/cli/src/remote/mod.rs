//! Commands that ask a daemon: create, show, set, delete, connect, attach, topology, function.

mod api;
mod apply;
mod candidate;
mod change;
mod create;
mod function;
mod show;
mod target;
mod told;
mod topology;
mod watch;

use std::process::ExitCode;

use clap::{Args, Subcommand};
use serde_json::Value;

pub use api::Daemon;
pub use create::create_command;
pub use function::names as functions;
pub use target::{assignment, function, instances, split, Target};
pub use topology::{attached, connections, ports};
pub use watch::names as watches;

use crate::failure::{Exit, Failure};

/// How values are printed.
#[derive(Args, Clone, Debug, Default)]
pub struct Format {
    /// Print JSON.
    #[arg(long, conflicts_with = "yaml")]
    pub json: bool,
    /// Print YAML (the default where there is no table).
    #[arg(long)]
    pub yaml: bool,
}

impl Format {
    /// Prints a value.
    fn print(&self, value: &Value) -> Result<(), String> {
        match self.json {
            true => println!("{value:#}"),
            false => print!("{}", serde_yaml_ng::to_string(value).map_err(|error| error.to_string())?),
        }
        Ok(())
    }
}

/// A leaf that is a text; empty if it is not there.
fn text<'v>(entry: &'v Value, name: &str) -> &'v str {
    entry.get(name).and_then(Value::as_str).unwrap_or_default()
}

/// What to do with a daemon.
#[derive(Subcommand)]
pub enum RemoteCommand {
    /// Make an instance of a function in the daemon.
    Create(create::CreateOptions),
    /// Show the daemon's instances, or what one is and how it fares.
    Show(show::ShowOptions),
    /// Change an instance: all of the given values at once.
    Set(change::SetOptions),
    /// Delete an instance, or something of one.
    Delete(change::DeleteOptions),
    /// Call an action of an instance.
    #[command(mut_arg("candidate", hidden))]
    Call(change::CallOptions),
    /// Apply a configuration, written as `weir show --json` or --yaml prints it: all of it at once. What it does not have stays.
    Apply(apply::ApplyOptions),
    /// Join two ports of instances, or a port and a device.
    Connect(topology::ConnectOptions),
    /// End what joins a port.
    Disconnect(topology::DisconnectOptions),
    /// Put an instance in front of a port of another one.
    Attach(topology::AttachOptions),
    /// Take an instance away from the port that it stands in front of.
    Detach(topology::DetachOptions),
    /// Show how the daemon's instances are joined.
    Topology(topology::TopologyOptions),
    /// List, add, upgrade and remove functions of the daemon.
    #[command(mut_arg("candidate", hidden))]
    Function(function::FunctionOptions),
    /// Show, commit and confirm a configuration that is prepared with --candidate.
    #[command(mut_arg("candidate", hidden))]
    Candidate(candidate::CandidateOptions),
    /// Tell when a value of an instance crosses a threshold: an event.
    Watch(watch::WatchOptions),
    /// Watch a value no longer.
    Unwatch(watch::UnwatchOptions),
    /// List what is watched.
    Watches(watch::WatchesOptions),
    /// Follow what happens in the daemon.
    #[command(mut_arg("candidate", hidden))]
    Events(show::EventsOptions),
}

/// Where it means nothing.
fn hidden(arg: clap::Arg) -> clap::Arg {
    arg.hide(true)
}

/// Refuses `--candidate` where it is about what runs.
fn check_candidate(command: &RemoteCommand) -> Result<(), Failure> {
    let (name, daemon) = match command {
        RemoteCommand::Call(options) => ("call", &options.daemon),
        RemoteCommand::Function(options) => ("function", &options.daemon),
        RemoteCommand::Events(options) => ("events", &options.daemon),
        _ => return Ok(()),
    };
    match daemon.candidate {
        true => Err(Failure::Usage(format!("`weir {name}` is about what runs; leave out --candidate"))),
        false => Ok(()),
    }
}

/// Does it.
pub fn run(command: RemoteCommand) -> Exit {
    check_candidate(&command)?;
    let done = match command {
        RemoteCommand::Create(options) => return create::create(&options),
        RemoteCommand::Show(options) => return show::show(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Set(options) => return change::set(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Delete(options) => return change::delete(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Call(options) => return change::call(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Apply(options) => apply::apply(&options),
        RemoteCommand::Connect(options) => return topology::connect(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Disconnect(options) => topology::disconnect(&options),
        RemoteCommand::Attach(options) => return topology::attach(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Detach(options) => topology::detach(&options),
        RemoteCommand::Topology(options) => topology::show(&options),
        RemoteCommand::Function(options) => function::run(&options),
        RemoteCommand::Candidate(options) => candidate::run(&options),
        RemoteCommand::Watch(options) => return watch::watch(&options).map(|()| ExitCode::SUCCESS),
        RemoteCommand::Unwatch(options) => watch::unwatch(&options),
        RemoteCommand::Watches(options) => watch::watches(&options),
        RemoteCommand::Events(options) => show::events(&options),
    };
    done.map(|()| ExitCode::SUCCESS).map_err(Failure::Other)
}
