//! Names of running graphs, of their elements and of their handlers.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;

use super::typed::Typed;
use super::{asked, candidates};
use crate::command::GraphName;
use crate::control::client;
use crate::control::protocol::{self, Ask};
use events::Told;

/// Names of graphs, and numbers of stages.
pub fn graphs(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, asked(|_| names()))
}

fn names() -> Result<Vec<String>, String> {
    let running = protocol::running()?.into_iter();
    let name = |(name, _): (String, _)| crate::stage::others::number_of(&name).unwrap_or(&name).to_string();
    let mut names: Vec<String> = running.map(name).collect();
    names.sort();
    Ok(names)
}

/// Elements of the graph that stands first, as in `weir live GRAPH rm`.
pub fn elements(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, asked(|typed| elements_of(&first(typed)?)))
}

/// Elements of the graph that `--graph` names.
pub fn own_elements(current: &OsStr) -> Vec<CompletionCandidate> {
    candidates(current, asked(|typed| elements_of(&typed.graph())))
}

/// Read handlers of the graph that `--graph` names.
pub fn read_handlers(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy().into_owned();
    candidates(current, asked(move |typed| handlers_of(&typed.graph(), &text, 'r')))
}

/// Write handlers of the graph that `--graph` names.
pub fn write_handlers(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy().into_owned();
    candidates(current, asked(move |typed| handlers_of(&typed.graph(), &text, 'w')))
}

/// Read handlers of the graph that stands first, as in `weir live GRAPH watch`.
pub fn watched(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy().into_owned();
    candidates(current, asked(move |typed| handlers_of(&first(typed)?, &text, 'r')))
}

/// Write handlers of the graph that stands first, as in `weir live GRAPH subscribe`.
pub fn subscribed(current: &OsStr) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy().into_owned();
    candidates(current, asked(move |typed| handlers_of(&first(typed)?, &text, 'w')))
}

/// Watches of the graph that stands first.
pub fn watches(current: &OsStr) -> Vec<CompletionCandidate> {
    let names = asked(|typed| {
        let text = client::request(&first(typed)?, &Ask::Watches)?;
        let all: Vec<Told> = serde_json::from_str(&text).map_err(|error| error.to_string())?;
        Ok(all.into_iter().map(|told| told.name).collect())
    });
    candidates(current, names)
}

fn first(typed: &Typed) -> Result<GraphName, String> {
    Ok(GraphName { graph: Some(typed.word(0)?.to_string()), ..GraphName::default() })
}

fn read(graph: &GraphName, handler: &str) -> Result<String, String> {
    Ok(client::request(graph, &Ask::Read { handler: handler.to_string(), parameter: String::new() })?)
}

fn elements_of(graph: &GraphName) -> Result<Vec<String>, String> {
    // Their number stands in front.
    Ok(read(graph, "list")?.lines().skip(1).map(str::to_string).collect())
}

/// Handlers of the element that stands in front of the last dot, else elements; `letter` tells readable from writable ones.
fn handlers_of(graph: &GraphName, text: &str, letter: char) -> Result<Vec<String>, String> {
    let Some((element, _)) = text.rsplit_once('.') else {
        return Ok(elements_of(graph)?.into_iter().map(|element| element + ".").collect());
    };
    let lines = read(graph, &format!("{element}.handlers"))?;
    let own = lines.lines().filter_map(|line| {
        let (name, flags) = line.split_once('\t')?;
        flags.contains(letter).then(|| format!("{element}.{name}"))
    });
    Ok(own.collect())
}
