//! What a graph answers about its changes.

use engine::change::{Refusal, Subscriber};
use engine::world::World;
use graph::Diagnostics;

use super::live::{Edit, Outcome, Past};
use super::server::Reach;

/// How often a change is prepared anew because the graph has changed meanwhile.
const MAX_TRIES: usize = 20;

/// A value as JSON.
pub fn as_json(value: &impl serde::Serialize) -> Result<String, String> {
    serde_json::to_string(value).map_err(|error| error.to_string())
}

/// Changes the graph: everything is prepared here, beside the graph, which is only asked to go on with it. `None` if the graph has
/// ended.
pub fn change(reach: &Reach, edit: &Edit, dry: bool) -> Result<Option<String>, String> {
    for _ in 0..MAX_TRIES {
        let number = if let Edit::Rollback { revision } = edit { Some(*revision) } else { None };
        let seen = reach.ask(move |world| {
            let past = number.and_then(|number| world.revisions().get(number)).map(|past| past.graph.clone());
            (world.snapshot(), past)
        });
        let Some((snapshot, past)) = seen else { return Ok(None) };
        let snapshot = snapshot?;
        let mut diagnostics = Diagnostics::default();
        let wish = edit.wish(&snapshot, past.as_deref(), &mut diagnostics);
        let told = |diagnostics: &Diagnostics| -> Vec<String> {
            let texts = diagnostics.list.iter().map(|told| snapshot.loader().text(told));
            texts.map(|text| text.trim_end().to_string()).collect()
        };
        let wish = wish.map_err(|message| {
            let lines: Vec<String> = told(&diagnostics).into_iter().chain([message]).collect();
            lines.join("\n").trim_end().to_string()
        })?;
        let Some(prepared) = snapshot.prepare(wish, &mut diagnostics) else {
            return Err(told(&diagnostics).join("\n"));
        };
        let plan: Vec<String> = prepared.actions.iter().map(|action| action.to_string()).collect();
        let warnings = told(&diagnostics);
        if dry {
            return as_json(&Outcome { revision: None, plan, warnings }).map(Some);
        }
        let changed = reach.ask(move |world| {
            let mut diagnostics = Diagnostics::default();
            (world.change(prepared, &mut diagnostics), diagnostics)
        });
        match changed {
            None => return Ok(None),
            Some((Ok(changed), more)) => {
                let warnings = warnings.into_iter().chain(told(&more)).collect();
                return as_json(&Outcome { revision: Some(changed.revision), plan, warnings }).map(Some);
            }
            Some((Err(Refusal::Failed), more)) => return Err(told(&more).join("\n")),
            Some((Err(Refusal::Stale), _)) => {}
        }
    }
    Err("others change the graph all the time; try again".to_string())
}

/// The graphs that ran.
pub fn history(world: &World) -> Vec<Past> {
    let last = world.revisions().iter().next_back().map(|last| last.number);
    world.revisions().iter().map(|one| Past::new(one, Some(one.number) == last)).collect()
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
    Err(format!("no such subscription; there are: {}", known.collect::<Vec<_>>().join(", ")))
}
