//! Handlers: finding the element and the handler that a name means, and calling it.

mod settings;
mod tasks;
mod texts;

use element::{Causes, ElementIdx, Handler, HandlerKind, HandlerUse, Refusal, Runtime};

use crate::globals;
use crate::world::World;
pub(crate) use settings::configuration;
pub use settings::with_argument;
use settings::{moved_setting, one_argument, set_argument, setting};
use tasks::{first_task, read_task, write_task};
pub(crate) use texts::describe;

/// The handlers that every element has.
pub const DEFAULT: &[Handler] = &[
    Handler::read("name", "The element's name.").flags("calm"),
    Handler::read("class", "The element's class.").flags("calm"),
    Handler::read("config", "The element's configuration string.").flags("calm"),
    Handler::read("ports", "The element's ports and what they are connected to.").flags("calm"),
    Handler::read("handlers", "The element's handlers and how they are used.").flags("calm"),
];

/// What a handler name means.
pub(crate) enum Target {
    Global,
    Element(ElementIdx),
}

/// The element and the handler in `name`: `element.handler`, the element being looked up from `from` outwards, `handler` of
/// `from` itself, or a global handler, which may also be written `.handler`.
fn resolve<'n>(world: &World, from: ElementIdx, name: &'n str) -> Result<(Target, &'n str), String> {
    let (element, handler) = match name.split_once('.') {
        _ if name.is_empty() => return Err("syntax error".to_string()),
        Some(("", handler)) => return Ok((Target::Global, handler)),
        Some((_, "")) => return Err("syntax error".to_string()),
        Some((element, handler)) => (Some(element), handler),
        None => (None, name),
    };
    if let Some(idx) = element.and_then(|element| world.find(element, from)) {
        return Ok((Target::Element(idx), handler));
    }
    if from < world.n_elements() && kind(world, from, name).is_some() {
        return Ok((Target::Element(from), name));
    }
    let Some(element) = element else { return Ok((Target::Global, name)) };
    if globals::kind(world, name).is_some() {
        return Ok((Target::Global, name));
    }
    Err(format!("no element named '{element}'"))
}

/// Whether a handler pattern such as `pattern#` (digits) matches a name.
fn matches(pattern: &str, name: &str) -> bool {
    match pattern.split_once('#') {
        None => pattern == name,
        Some((before, after)) => {
            let digits = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
            digits.is_some_and(|digits| !digits.is_empty() && digits.bytes().all(|b| b.is_ascii_digit()))
        }
    }
}

/// The facts of an element's handler called `name`, if it is one of its class.
pub(crate) fn facts(world: &World, idx: ElementIdx, name: &str) -> Option<&'static Handler> {
    own_facts(world, idx, name).or_else(|| DEFAULT.iter().find(|handler| handler.name == name))
}

/// The facts of a handler that the class itself has, which goes before a default one of the same name.
fn own_facts(world: &World, idx: ElementIdx, name: &str) -> Option<&'static Handler> {
    world.classes.get(idx)?.facts.handlers.iter().find(|handler| matches(handler.name, name))
}

/// How an element's handler called `name` is used, if it has one.
fn kind(world: &World, idx: ElementIdx, name: &str) -> Option<HandlerKind> {
    if name == "config" && world.classes.get(idx)?.live {
        return Some(HandlerKind::ReadWrite);
    }
    let own = || world.describer(idx)?.own_handler(name);
    let listed = facts(world, idx, name)
        .filter(|handler| has_use(world, idx, handler) && has_port(world, idx, handler, name));
    listed.map(|handler| handler.kind).or_else(own)
}

/// Whether an element's handler has something to act on: one of a task needs a task, others need certain arguments.
fn has_use(world: &World, idx: ElementIdx, handler: &Handler) -> bool {
    const OF_TASKS: [&str; 3] = ["scheduled", "tickets", "home_thread"];
    let is_there = || world.describer(idx).is_none_or(|element| element.has_handler(handler.name));
    let has_task = || !OF_TASKS.contains(&handler.name) || first_task(world, idx).is_some();
    (!world.is_initialized || has_task()) && is_there()
}

/// Whether the element has the port whose number is in `name`, if the handler is one of ports.
fn has_port(world: &World, idx: ElementIdx, handler: &Handler, name: &str) -> bool {
    let Some((before, after)) = handler.name.split_once('#') else { return true };
    let digits = name.strip_prefix(before).and_then(|rest| rest.strip_suffix(after));
    let is_plain = |digits: &&str| *digits == "0" || !digits.starts_with('0');
    let number = digits.filter(is_plain).and_then(|digits| digits.parse::<usize>().ok());
    number.is_some_and(|number| number < n_numbered(world, idx, handler))
}

/// How many handlers a handler of ports stands for: one for each port on the side that has more, or, with the flag `inputs`,
/// for each input.
fn n_numbered(world: &World, idx: ElementIdx, handler: &Handler) -> usize {
    let (n_inputs, n_outputs) = world.wiring.n_ports(idx);
    match handler.has_flag("inputs") {
        true => n_inputs,
        false => n_inputs.max(n_outputs),
    }
}

fn missing(name: &str, write: bool) -> String {
    format!("no '{name}' {} handler", if write { "write" } else { "read" })
}

/// The name as messages give it: an element's full name, a dot and the handler.
fn full_name(world: &World, target: &Target, handler: &str) -> String {
    match target {
        Target::Global => handler.to_string(),
        Target::Element(idx) => format!("{}.{handler}", world.name(*idx)),
    }
}

/// How a handler is used, and whether it is private.
fn kind_of(world: &World, from: ElementIdx, name: &str) -> Option<(HandlerKind, bool)> {
    match resolve(world, from, name).ok()? {
        (Target::Global, handler) => Some((globals::kind(world, handler)?, false)),
        (Target::Element(idx), handler) => {
            let is_private = facts(world, idx, handler).is_some_and(|facts| facts.has_flag("private"));
            Some((kind(world, idx, handler)?, is_private))
        }
    }
}

/// Whether a handler can be read and written.
pub fn exists(world: &World, from: ElementIdx, name: &str) -> (bool, bool) {
    let kind = kind_of(world, from, name).map(|(kind, _)| kind);
    kind.map_or((false, false), |kind| (kind.is_readable(), kind.is_writable()))
}

/// Whether a handler can be read and written by remote users.
pub fn visible(world: &World, from: ElementIdx, name: &str) -> (bool, bool) {
    let kind = kind_of(world, from, name).filter(|(_, is_private)| !is_private);
    kind.map_or((false, false), |(kind, _)| (kind.is_readable(), kind.is_writable()))
}

/// Checks that a handler can be called, and gives its full name.
pub fn check(world: &World, from: ElementIdx, name: &str, call: HandlerUse<'_>) -> Result<String, String> {
    resolve_for(world, from, name, call).map(|(target, handler)| full_name(world, &target, handler))
}

/// Finds a handler that can be called so.
pub(crate) fn resolve_for<'n>(
    world: &World,
    from: ElementIdx,
    name: &'n str,
    call: HandlerUse<'_>,
) -> Result<(Target, &'n str), String> {
    let (target, handler) = resolve(world, from, name)?;
    let kind = match target {
        Target::Global => globals::kind(world, handler),
        Target::Element(idx) => kind(world, idx, handler),
    };
    let full = || full_name(world, &target, handler);
    let refusal = |write: bool| {
        let told = |idx: ElementIdx| world.describer(idx)?.no_handler(handler);
        let why = match target {
            Target::Element(idx) if kind.is_none() => told(idx).map(|why| why + "\n"),
            _ => None,
        };
        why.unwrap_or_default() + &missing(&full(), write)
    };
    match call {
        HandlerUse::Read(param) => {
            let kind = kind.filter(|kind| kind.is_readable()).ok_or_else(|| refusal(false))?;
            if !param.is_empty() && !kind.takes_parameter() {
                return Err(format!("read handler '{}' does not take parameters", full()));
            }
        }
        HandlerUse::Write => {
            kind.filter(|kind| kind.is_writable()).ok_or_else(|| refusal(true))?;
        }
    }
    Ok((target, handler))
}

/// Reads a handler, in whichever world its element is.
pub fn read(world: &mut World, from: ElementIdx, name: &str, param: &str) -> Result<String, String> {
    match world.crew {
        None => read_here(world, from, name, param),
        Some(_) => crate::crew::read(world, from, name, param),
    }
}

/// Writes a handler, in whichever worlds its element is.
pub fn write(world: &mut World, from: ElementIdx, name: &str, value: &str) -> Result<(), String> {
    match world.crew {
        None => write_here(world, from, name, value),
        Some(_) => crate::crew::write(world, from, name, value),
    }
}

/// Reads a handler in this world.
pub fn read_here(world: &mut World, from: ElementIdx, name: &str, param: &str) -> Result<String, String> {
    let (target, handler) = resolve_for(world, from, name, HandlerUse::Read(param))?;
    let Target::Element(idx) = target else { return globals::read(world, handler) };
    if own_facts(world, idx, handler).is_none() {
        if let Some(text) = read_default(world, idx, handler) {
            return Ok(text);
        }
    }
    if let Some(text) = read_task(world, idx, handler) {
        return Ok(text);
    }
    world.forget_times();
    let result = world.call_handler(idx, |element, ctx| element.read(ctx, handler, param));
    result.unwrap_or_else(|| Err(format!("{}: element is busy", full_name(world, &target, handler))))
}

/// Writes a handler in this world.
pub fn write_here(world: &mut World, from: ElementIdx, name: &str, value: &str) -> Result<(), String> {
    let (target, handler) = resolve_for(world, from, name, HandlerUse::Write)?;
    let Target::Element(idx) = target else { return globals::write(world, handler, value) };
    let class = world.classes[idx];
    if class.fast_path.is_some() || class.causes != Causes::ANYTHING {
        // The element may have another fast path, or cause something else, whatever is written.
        world.wiring.forget_ways();
    }
    let is_own = own_facts(world, idx, handler).is_some_and(|own| own.kind.is_writable());
    if handler == "config" && !is_own && world.classes[idx].live {
        return world.reconfigure(idx, value);
    }
    if let Some(result) = write_task(world, idx, handler, value) {
        return result;
    }
    world.forget_times();
    if let Some((position, name)) = moved_setting(world, idx, handler) {
        let config = configuration(world, idx);
        return world.reconfigure(idx, &set_argument(&config, Some(position), name, &one_argument(value)));
    }
    let before =
        setting(world, idx, handler).map(|(position, name)| (position, name, configuration(world, idx)));
    let result = world.call_handler(idx, |element, ctx| element.write(ctx, handler, value));
    if let (Some(Ok(())), Some((position, name, config))) = (&result, before) {
        world.configs[idx] = set_argument(&config, position, name, value);
    }
    result.unwrap_or_else(|| Err(format!("{}: element is busy", full_name(world, &target, handler))))
}

/// What a script is told by number of a write that failed with this message.
pub fn refusal(world: &World, from: ElementIdx, name: &str, message: &str) -> i32 {
    let Ok((Target::Element(idx), handler)) = resolve(world, from, name) else { return Refusal::INVALID };
    let refusals = world.classes.get(idx).map_or(&[][..], |class| class.refusals);
    let rule = refusals.iter().find(|(pattern, _)| matches(pattern, handler));
    rule.map_or(Refusal::INVALID, |(_, refusal)| refusal.status(message))
}

fn read_default(world: &World, idx: ElementIdx, handler: &str) -> Option<String> {
    Some(match handler {
        "name" => world.name(idx).to_string(),
        "class" => world.class(idx).to_string(),
        "config" => world.configs[idx].clone(),
        "ports" => texts::ports(world, idx),
        "handlers" => texts::list(world, idx),
        _ => return None,
    })
}
