//! What a graph answers about its changes.

use engine::change::{Snapshot, Subscriber};
use engine::world::World;
use graph::Diagnostics;

use super::change::{Failure, Made};
use super::live::{Edit, Outcome, Past};
use super::server::Reach;

/// What is told of a daemon's graph to those who want another one.
const CONFIGURED: &str =
    "the daemon makes this graph of its configuration, which would no longer be what runs; change that with \
                          `weir set`, `weir delete`, `weir connect` or `weir apply`";
/// What is told of what a daemon knows nothing of.
const FOR_NOW: &str =
    "weir: this lasts until the daemon's configuration changes: it makes the graph anew then";

/// A value as JSON.
pub fn as_json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

/// Changes the graph, or tells what would be done. `None` if the graph has ended.
pub fn change(reach: &Reach, edit: &Edit, dry: bool) -> Result<Option<String>, String> {
    if reach.is_configured && matches!(edit, Edit::Apply { .. } | Edit::Rollback { .. }) {
        return Err(CONFIGURED.to_string());
    }
    let past = match *edit {
        Edit::Rollback { revision } => {
            let past = reach.ask(move |world| world.revisions().get(revision).map(|past| past.graph.clone()));
            let Some(past) = past else { return Ok(None) };
            past
        }
        _ => None,
    };
    let wish = |snapshot: &Snapshot, diagnostics: &mut Diagnostics| {
        edit.wish(snapshot, past.as_deref(), diagnostics)
    };
    let made = if dry { reach.plan(wish) } else { reach.change(wish) };
    match made {
        Ok(Made { revision, actions, mut warnings }) => {
            if reach.is_configured && !actions.is_empty() {
                warnings.push(FOR_NOW.to_string());
            }
            let plan = actions.iter().map(|action| action.to_string()).collect();
            as_json(&Outcome { revision, plan, warnings }).map(Some)
        }
        Err(Failure::Ended) => Ok(None),
        Err(Failure::Told(all)) => {
            let texts: Vec<String> = all.into_iter().map(|(_, text)| text).collect();
            Err(texts.join("\n").trim_end().to_string())
        }
    }
}

/// The graphs that ran.
pub fn history(world: &mut World) -> Vec<Past> {
    let revisions = world.revisions();
    let last = revisions.iter().next_back().map(|last| last.number);
    revisions.iter().map(|one| Past::new(one, Some(one.number) == last)).collect()
}

/// Begins or ends a subscription.
pub fn subscribe(world: &mut World, subscriber: Subscriber, ends: bool) -> Result<(), String> {
    if !ends {
        return world.subscribe(subscriber).map(drop);
    }
    if world.unsubscribe(&subscriber) {
        return Ok(());
    }
    let known = world.subscribers().iter().map(|one| match &one.element {
        Some(element) => format!("{} {element}", one.handler),
        None => one.handler.clone(),
    });
    let known = listed(known.collect(), "`weir live GRAPH subscribe` makes one");
    Err(format!("no such subscription; {known}"))
}

/// What there is, for a message about what there is not; `remedy` if there is nothing.
pub fn listed(known: Vec<String>, remedy: &str) -> String {
    match known.is_empty() {
        true => format!("there is none; {remedy}"),
        false => format!("there are {}", known.join(", ")),
    }
}
