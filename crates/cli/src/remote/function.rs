//! `weir function`: which functions the daemon has.

use std::path::PathBuf;

use clap::{Args, Subcommand};
use clap_complete::ArgValueCompleter;
use daemon::path::encoded;
use functions::Package;
use serde_json::Value;

use crate::complete::instances as complete;

use super::{text, Daemon, Format};

/// Options of `weir function`.
#[derive(Args)]
pub struct FunctionOptions {
    /// What to do.
    #[command(subcommand)]
    pub action: FunctionAction,
    /// Which daemon.
    #[command(flatten)]
    pub daemon: Daemon,
}

/// What to do with functions.
#[derive(Subcommand)]
pub enum FunctionAction {
    /// List the functions.
    List {
        /// How it is printed.
        #[command(flatten)]
        format: Format,
    },
    /// Add a function, or upgrade it: its instances go on with the new graph and their state.
    Add {
        /// Its folder, or a tar archive of it.
        path: PathBuf,
    },
    /// Remove a function that has no instances; one that comes with weir takes the place of what was added under its name.
    Rm {
        /// Its name.
        #[arg(add = ArgValueCompleter::new(complete::functions))]
        name: String,
    },
    /// Print the schema of a function, or its template.
    Show {
        /// Its name.
        #[arg(add = ArgValueCompleter::new(complete::functions))]
        name: String,
        /// The template.
        #[arg(long)]
        template: bool,
    },
}

/// Does it.
pub fn run(options: &FunctionOptions) -> Result<(), String> {
    let daemon = &options.daemon;
    match &options.action {
        FunctionAction::List { format } => list(daemon, format),
        FunctionAction::Add { path } => {
            let package = Package::read(path)?;
            let url = format!("/functions/{}", encoded(&package.name));
            daemon.ask("PUT", &url, Some(("application/x-tar", package.to_tar())))?.ok().map(drop)
        }
        FunctionAction::Rm { name } => {
            daemon.ask("DELETE", &format!("/functions/{}", encoded(name)), None)?.ok().map(drop)
        }
        FunctionAction::Show { name, template } => {
            let archive = daemon.ask("GET", &format!("/functions/{}", encoded(name)), None)?.ok()?;
            let package = Package::of_tar(archive.as_slice(), name)?;
            print!("{}", if *template { package.template } else { package.schema });
            Ok(())
        }
    }
}

fn list(daemon: &Daemon, format: &Format) -> Result<(), String> {
    let list = entries(daemon)?;
    if format.json || format.yaml {
        return format.print(&list.into());
    }
    let width = list.iter().map(|one| text(one, "name").len()).max().unwrap_or(0);
    for one in &list {
        println!("{:width$}  {}", text(one, "name"), text(one, "about"));
    }
    Ok(())
}

/// Names of the daemon's functions.
pub fn names(daemon: &Daemon) -> Result<Vec<String>, String> {
    Ok(entries(daemon)?.iter().map(|one| text(one, "name").to_string()).collect())
}

fn entries(daemon: &Daemon) -> Result<Vec<Value>, String> {
    let all = daemon.get("/functions")?;
    Ok(all.get("functions").and_then(Value::as_array).cloned().unwrap_or_default())
}
