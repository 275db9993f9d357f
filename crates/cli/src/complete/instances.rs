//! Names of functions, of instances, of their ports and of their watches.

use std::ffi::{OsStr, OsString};

use clap_complete::CompletionCandidate;
use serde_json::Value;

use super::{asked, candidates};
use crate::remote::{self, Daemon};

pub use super::paths::{actions, assignments, numbers, paths};

/// Names of instances.
pub fn instances(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = asked(|typed| {
        let all = remote::instances(&typed.daemon())?;
        Ok(all.into_iter().map(|(name, _)| name).collect())
    });
    candidates(current, names)
}

/// Names of functions: the daemon's, or those that come with weir.
pub fn functions(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut names = asked(|typed| remote::functions(&typed.daemon()));
    if names.is_empty() {
        names = ::functions::Package::shipped_names().map(str::to_string).collect();
    }
    candidates(current, names)
}

/// The flags of `weir create FUNCTION NAME`, and their values.
pub fn flags(current: &OsStr) -> Vec<CompletionCandidate> {
    flags_behind(current, &super::typed::now().words)
}

/// The flags of `weir attach FUNCTION NAME PORT`, and their values.
pub fn flags_behind_port(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut words = super::typed::now().words;
    if words.len() > PORT {
        words.remove(PORT);
    }
    flags_behind(current, &words)
}

/// Which word of `weir attach` the port is.
const PORT: usize = 2;

/// The flags of a function whose name and instance stand first in some words.
fn flags_behind(current: &OsStr, words: &[String]) -> Vec<CompletionCandidate> {
    let Some((name, words)) = words.split_first() else { return Vec::new() };
    // The daemon may have another version.
    let functions = of_daemon(name).or_else(|| ::functions::Functions::shipped_one(name));
    let Some(functions) = functions else { return Vec::new() };
    let Some(function) = functions.get(name) else { return Vec::new() };
    let mut command = remote::create_command(&function);
    let mut args: Vec<OsString> = std::iter::once(name).chain(words).map(OsString::from).collect();
    args.push(current.to_os_string());
    let index = args.len() - 1;
    clap_complete::engine::complete(&mut command, args, index, None).unwrap_or_default()
}

/// A function as the daemon has it.
fn of_daemon(name: &str) -> Option<::functions::Functions> {
    let (sender, receiver) = std::sync::mpsc::channel();
    let name = name.to_string();
    let _ = asked(move |typed| {
        // Nobody waits for what comes too late.
        let _ = sender.send(remote::function(&typed.daemon(), &name)?);
        Ok(Vec::new())
    });
    receiver.try_recv().ok()
}

/// Ports of instances.
pub fn ports(current: &OsStr) -> Vec<CompletionCandidate> {
    let ports = asked(|typed| Ok(ends(&typed.daemon())?.into_iter().map(|(end, _)| end).collect()));
    candidates(current, ports)
}

/// What can be joined: ports that are not, and devices.
pub fn endpoints(current: &OsStr) -> Vec<CompletionCandidate> {
    let mut all = asked(|typed| {
        let free = ends(&typed.daemon())?.into_iter().filter(|(_, peer)| peer.is_none());
        let other = typed.words.first().cloned();
        Ok(free.map(|(end, _)| end).filter(|end| Some(end) != other.as_ref()).collect())
    });
    all.extend(devices());
    // The path is the user's to say.
    all.extend(["tap:", "unix:/", "fifo:/", "file:/"].map(str::to_string));
    candidates(current, all)
}

/// What is joined.
pub fn joined(current: &OsStr) -> Vec<CompletionCandidate> {
    let ends = asked(|typed| {
        let mut all: Vec<String> = remote::connections(&typed.daemon())?.into_iter().flatten().collect();
        all.sort();
        Ok(all)
    });
    candidates(current, ends)
}

/// Instances that stand in front of a port.
pub fn attached(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, asked(|typed| remote::attached(&typed.daemon())))
}

/// Names of the daemon's watches.
pub fn watches(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, asked(|typed| remote::watches(&typed.daemon())))
}

/// Ports with what they are joined with.
fn ends(daemon: &Daemon) -> Result<Vec<(String, Option<String>)>, String> {
    let end = |port: &Value| {
        let text = |name: &str| port.get(name)?.as_str().map(str::to_string);
        Some((format!("{}:{}", text("instance")?, text("name")?), text("peer")))
    };
    Ok(remote::ports(daemon)?.iter().filter_map(end).collect())
}

/// The devices of this network namespace.
fn devices() -> Vec<String> {
    let entries = std::fs::read_dir("/sys/class/net").into_iter().flatten().flatten();
    let names = entries.map(|entry| entry.file_name().to_string_lossy().into_owned());
    let mut all: Vec<String> = names
        .filter(|name| name != "lo" && name != "bonding_masters")
        .map(|name| format!("dev:{name}"))
        .collect();
    all.sort();
    all
}
