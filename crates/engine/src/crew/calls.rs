//! Handler calls in a crew: which worlds they go to.

use element::{ElementIdx, HandlerCall, HandlerKind, HandlerUse, Runtime, TOP};

use super::board::Note;
use super::merge::{self, Rule};
use super::Place;
use crate::handlers::{self, Target};
use crate::world::World;

/// Where a call goes.
enum Route {
    /// The own world only.
    Here,
    /// Another world only.
    To(usize),
    /// All worlds.
    All,
    /// All worlds to write, the first to read.
    Alike,
}

/// Where a call of an element's handler goes that comes from `from`.
fn route(world: &World, from: ElementIdx, idx: ElementIdx) -> Route {
    let Some(crew) = &world.crew else { return Route::Here };
    match crew.places.get(idx) {
        Some(Place::World(at)) if *at != crew.index => Route::To(*at),
        Some(Place::Everywhere) if crew.index == 0 && crew.speaks_for_all(from) => Route::All,
        Some(Place::Alike) if crew.index == 0 && crew.speaks_for_all(from) => Route::Alike,
        _ => Route::Here,
    }
}

/// Reads a handler: where its element is, or in all worlds, whose answers become one.
pub(crate) fn read(world: &mut World, from: ElementIdx, name: &str, param: &str) -> Result<String, String> {
    let (target, handler) = handlers::resolve_for(world, from, name, HandlerUse::Read(param))?;
    let Target::Element(idx) = target else { return handlers::read_here(world, from, name, param) };
    let full = format!("{}.{handler}", world.name(idx));
    match route(world, from, idx) {
        Route::Here | Route::Alike => handlers::read_here(world, from, name, param),
        Route::To(at) => {
            let answer = world.tell_mate(at, |world| handlers::read_here(world, TOP, &full, param));
            answer.unwrap_or_else(|| Err(format!("{full}: element is on another thread")))
        }
        Route::All => {
            let mut answers = vec![handlers::read_here(world, from, name, param)?];
            for mate in world.mates().iter() {
                answers.push(mate.with(|engine| handlers::read_here(&mut engine.world, TOP, &full, param))?);
            }
            Ok(merge::merge(answers, rule(world, idx, handler)))
        }
    }
}

/// How a handler's answers become one. Numbers that can only be read, and change, add up, unless the handler says otherwise;
/// what can be written is a setting.
fn rule(world: &World, idx: ElementIdx, name: &str) -> Rule {
    let Some(facts) = handlers::facts(world, idx, name).filter(|facts| facts.kind == HandlerKind::Read)
    else {
        return Rule::Setting;
    };
    let said = facts.flags.split_whitespace().find_map(|flag| match flag {
        "calm" => Some(Rule::Setting),
        "alike" => Some(Rule::First),
        "least" => Some(Rule::Least),
        "most" => Some(Rule::Most),
        _ => None,
    });
    said.unwrap_or(Rule::Sum)
}

/// Writes a handler: where its element is, or in all worlds.
pub(crate) fn write(world: &mut World, from: ElementIdx, name: &str, value: &str) -> Result<(), String> {
    let (target, handler) = handlers::resolve_for(world, from, name, HandlerUse::Write)?;
    let Target::Element(idx) = target else { return write_global(world, from, name, handler, value) };
    let full = format!("{}.{handler}", world.name(idx));
    match route(world, from, idx) {
        Route::Here => handlers::write_here(world, from, name, value),
        Route::To(at) => {
            let done = world.tell_mate(at, |world| handlers::write_here(world, TOP, &full, value));
            done.unwrap_or_else(|| ask_first(world, from, full, value))
        }
        Route::All | Route::Alike => {
            let mut result = handlers::write_here(world, from, name, value);
            for mate in world.mates().iter() {
                let done = mate.with(|engine| {
                    // The first world tells what there is to tell.
                    engine.world.hear(|world| handlers::write_here(world, TOP, &full, value)).0
                });
                result = result.and(done);
            }
            result
        }
    }
}

/// Asks the first thread, which reaches all worlds, to write a handler; errors are told, as there is nobody to return them to.
fn ask_first(world: &mut World, from: ElementIdx, name: String, value: &str) -> Result<(), String> {
    if let Some(crew) = &world.crew {
        let call = HandlerCall { name, value: value.to_string() };
        crew.board.leave_note(Note { from, call, tell: true });
    }
    Ok(())
}

fn write_global(
    world: &mut World,
    from: ElementIdx,
    name: &str,
    handler: &str,
    value: &str,
) -> Result<(), String> {
    let before = world.runcount;
    handlers::write_here(world, from, name, value)?;
    if let Some(crew) = &mut world.crew {
        crew.stops_all |= world.runcount < before && crew.speaks_for_all(from);
    }
    if handler == "timewarp" {
        for mate in world.mates().iter() {
            mate.with(|engine| handlers::write_here(&mut engine.world, TOP, "timewarp", value))?;
        }
    }
    Ok(())
}
