//! Handlers: finding the element and the handler that a name means, and calling it.

use element::{ElementIdx, Handler, HandlerKind, Runtime, TaskId};

use crate::globals;
use crate::world::World;

/// The handlers that every element has.
pub const DEFAULT: &[Handler] = &[
    Handler::read("name", "The element's name.").flags("calm"),
    Handler::read("class", "The element's class.").flags("calm"),
    Handler::read("config", "The element's configuration string.").flags("calm"),
    Handler::read("ports", "The element's ports and what they are connected to.").flags("calm"),
    Handler::read("handlers", "The element's handlers and how they are used.").flags("calm"),
];

/// What a handler name means.
enum Target {
    Global,
    Element(ElementIdx),
}

/// The element and the handler in `name`: `element.handler`, the element being looked up from `from` outwards, or a global
/// handler.
fn resolve<'n>(world: &World, from: ElementIdx, name: &'n str) -> Result<(Target, &'n str), String> {
    let Some((element, handler)) = name.rsplit_once('.') else { return Ok((Target::Global, name)) };
    if element.is_empty() {
        return Ok((Target::Global, handler));
    }
    if let Some(idx) = world.find(element, from) {
        return Ok((Target::Element(idx), handler));
    }
    // Elements can be named by number: the first is 1.
    let number = element.parse::<usize>().ok();
    if let Some(idx) = number.and_then(|n| n.checked_sub(1)).filter(|n| *n < world.n_elements()) {
        return Ok((Target::Element(idx), handler));
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

/// The handler of an element called `name`, if it has one.
pub fn find(world: &World, idx: ElementIdx, name: &str) -> Option<&'static Handler> {
    let own = world.classes[idx].facts.handlers.iter().find(|handler| matches(handler.name, name));
    own.or_else(|| DEFAULT.iter().find(|handler| handler.name == name))
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

/// Whether a handler can be read and written.
pub fn exists(world: &World, from: ElementIdx, name: &str) -> (bool, bool) {
    let kind = match resolve(world, from, name) {
        Ok((Target::Global, handler)) => globals::kind(handler),
        Ok((Target::Element(idx), handler)) => {
            let live = handler == "config" && world.classes[idx].live;
            match find(world, idx, handler) {
                Some(_) if live => Some(HandlerKind::ReadWrite),
                other => other.map(|handler| handler.kind),
            }
        }
        Err(_) => None,
    };
    kind.map_or((false, false), |kind| (kind.is_readable(), kind.is_writable()))
}

/// Reads a handler.
pub fn read(world: &mut World, from: ElementIdx, name: &str, param: &str) -> Result<String, String> {
    let (target, handler) = resolve(world, from, name)?;
    let idx = match target {
        Target::Global => {
            let kind = globals::kind(handler).filter(|kind| kind.is_readable());
            let kind = kind.ok_or_else(|| missing(handler, false))?;
            refuse_parameter(kind, handler, param)?;
            return globals::read(world, handler);
        }
        Target::Element(idx) => idx,
    };
    let facts = find(world, idx, handler).filter(|handler| handler.kind.is_readable());
    let full = full_name(world, &target, handler);
    let facts = facts.ok_or_else(|| missing(&full, false))?;
    refuse_parameter(facts.kind, &full, param)?;
    if let Some(text) = read_default(world, idx, handler) {
        return Ok(text);
    }
    if let Some(text) = read_task(world, idx, handler) {
        return Ok(text);
    }
    let result = world.call(idx, |element, ctx| element.read(ctx, handler, param));
    result.unwrap_or_else(|| Err(format!("{full}: element is busy")))
}

fn refuse_parameter(kind: HandlerKind, name: &str, param: &str) -> Result<(), String> {
    if param.is_empty() || kind.takes_parameter() {
        return Ok(());
    }
    Err(format!("read handler '{name}' does not take parameters"))
}

/// Writes a handler.
pub fn write(world: &mut World, from: ElementIdx, name: &str, value: &str) -> Result<(), String> {
    let (target, handler) = resolve(world, from, name)?;
    let idx = match target {
        Target::Global => {
            let kind = globals::kind(handler).filter(|kind| kind.is_writable());
            kind.ok_or_else(|| missing(handler, true))?;
            return globals::write(world, handler, value);
        }
        Target::Element(idx) => idx,
    };
    if handler == "config" && world.classes[idx].live {
        return world.reconfigure(idx, value);
    }
    let facts = find(world, idx, handler).filter(|handler| handler.kind.is_writable());
    let full = full_name(world, &target, handler);
    facts.ok_or_else(|| missing(&full, true))?;
    if let Some(result) = write_task(world, idx, handler, value) {
        return result;
    }
    let result = world.call(idx, |element, ctx| element.write(ctx, handler, value));
    result.unwrap_or_else(|| Err(format!("{full}: element is busy")))
}

fn read_default(world: &World, idx: ElementIdx, handler: &str) -> Option<String> {
    Some(match handler {
        "name" => world.name(idx).to_string(),
        "class" => world.class(idx).to_string(),
        "config" => world.configs[idx].clone(),
        "ports" => ports(world, idx),
        "handlers" => list(world, idx),
        _ => return None,
    })
}

/// The text of an element's `handlers` handler: name and flags, a line each.
pub fn list(world: &World, idx: ElementIdx) -> String {
    let class = world.classes[idx];
    let mut text = String::new();
    for handler in DEFAULT.iter().chain(class.facts.handlers) {
        let kind = match handler.name {
            "config" if class.live => HandlerKind::ReadWrite,
            _ => handler.kind,
        };
        describe(&mut text, handler, kind);
    }
    text
}

/// Adds a handler's line: name, tab, flags.
pub fn describe(text: &mut String, handler: &Handler, kind: HandlerKind) {
    const LETTERS: [(&str, char); 7] = [
        ("raw", '%'),
        ("calm", '.'),
        ("expensive", '$'),
        ("uncommon", 'U'),
        ("deprecated", 'D'),
        ("button", 'b'),
        ("checkbox", 'c'),
    ];
    text.push_str(handler.name);
    text.push('\t');
    text.extend(kind.is_readable().then_some('r'));
    text.extend(kind.is_writable().then_some('w'));
    text.extend(kind.takes_parameter().then_some('+'));
    let flags: Vec<&str> = handler.flags.split_whitespace().collect();
    text.extend(LETTERS.iter().filter(|(flag, _)| flags.contains(flag)).map(|(_, letter)| *letter));
    text.push('\n');
}

/// The text of an element's `ports` handler.
fn ports(world: &World, idx: ElementIdx) -> String {
    let (n_inputs, n_outputs) = world.wiring.n_ports(idx);
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    let mut text = format!("{n_inputs} input{}\n", plural(n_inputs));
    for port in 0..n_inputs {
        let way = if world.wiring.input_is_push(idx, port) { "push" } else { "pull" };
        let tilde = if world.wiring.input_is_agnostic(idx, port) { "~" } else { "" };
        let ends = world.wiring.upstream(idx, port);
        let ends: Vec<String> = ends.iter().map(|(e, p)| format!("{} [{p}]", world.name(*e))).collect();
        text += &format!("{way}{tilde}\t-\t{}\n", ends.join(", "));
    }
    text += &format!("{n_outputs} output{}\n", plural(n_outputs));
    for port in 0..n_outputs {
        let way = if world.wiring.output_is_push(idx, port) { "push" } else { "pull" };
        let tilde = if world.wiring.output_is_agnostic(idx, port) { "~" } else { "" };
        let ends = world.wiring.downstream(idx, port);
        let ends: Vec<String> = ends.iter().map(|(e, p)| format!("[{p}] {}", world.name(*e))).collect();
        text += &format!("{way}{tilde}\t-\t{}\n", ends.join(", "));
    }
    text
}

fn first_task(world: &World, idx: ElementIdx) -> Option<TaskId> {
    let task = world.tasks.of_element(idx).next();
    task
}

fn read_task(world: &World, idx: ElementIdx, handler: &str) -> Option<String> {
    let task = first_task(world, idx)?;
    Some(match handler {
        "scheduled" => world.is_scheduled(task).to_string(),
        "tickets" => world.tickets(task).to_string(),
        "home_thread" => world.tasks.get(task)?.home_thread.to_string(),
        _ => return None,
    })
}

fn write_task(world: &mut World, idx: ElementIdx, handler: &str, value: &str) -> Option<Result<(), String>> {
    let task = first_task(world, idx)?;
    let value = value.trim();
    Some(match handler {
        "scheduled" => args::boolean(value).map_err(|_| "syntax error".to_string()).map(|on| match on {
            true => world.schedule(task),
            false => world.unschedule(task, true),
        }),
        "tickets" => {
            args::saturating_integer::<i32>(value).map_err(|_| "syntax error".to_string()).map(|n| {
                world.set_tickets(task, n.clamp(1, crate::MAX_TICKETS as i32) as u32);
            })
        }
        "home_thread" => args::integer::<i32>(value)
            .map_err(|_| "syntax error".to_string())
            .map(|thread| world.set_home_thread(task, thread)),
        _ => return None,
    })
}
