//! Handlers: finding the element and the handler that a name means, and calling it.

use element::{ElementIdx, Handler, HandlerKind, HandlerUse, Refusal, Runtime, TaskId};

use graph::{Arg, ArgKind};

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
    world.classes.get(idx)?.facts.handlers.iter().find(|handler| matches(&handler.name, name))
}

/// The argument that writing a handler changes in the element's configuration: its place, if it has one, and its name. The
/// handler has the flag `setting`, and the argument's name in small letters or behind the flag (`setting=NAME`).
fn setting(world: &World, idx: ElementIdx, name: &str) -> Option<(Option<usize>, &'static str)> {
    let own = own_facts(world, idx, name)?;
    let argument = own.flags.split_whitespace().find_map(|flag| match flag.strip_prefix("setting") {
        Some("") => Some(name),
        Some(other) => other.strip_prefix('='),
        None => None,
    })?;
    argument_named(world.classes.get(idx)?.facts.args, argument)
}

/// The argument of this name, in capitals or not: its place, if it has one, and its name.
fn argument_named<'a>(args: &'a [Arg], name: &str) -> Option<(Option<usize>, &'a str)> {
    let arg = args.iter().find(|arg| arg.name.eq_ignore_ascii_case(name))?;
    let mut positional = args.iter().filter(|arg| matches!(arg.kind, ArgKind::Required | ArgKind::Optional));
    Some((positional.position(|other| other.name == arg.name), &arg.name))
}

/// A configuration of an element whose class has these arguments, with another value for one of them; `None` if the class has no
/// such argument.
pub fn with_argument(args: &[Arg], config: &str, name: &str, value: &str) -> Option<String> {
    let (position, name) = argument_named(args, name)?;
    Some(set_argument(config, position, name, value))
}

/// The place of the argument that a handler changes, and the handler's own argument, which is added if the configuration does
/// not reach to that place. The handler has the flag `setting@` with the place.
fn moved_setting(world: &World, idx: ElementIdx, name: &str) -> Option<(usize, &'static str)> {
    let own = own_facts(world, idx, name)?;
    let position = own.flags.split_whitespace().find_map(|flag| flag.strip_prefix("setting@"))?;
    let args = world.classes.get(idx)?.facts.args;
    let arg = args.iter().find(|arg| arg.name.eq_ignore_ascii_case(name))?;
    Some((position.parse().ok()?, &arg.name))
}

/// A configuration with another value for an argument, which stays in its place if it was given by place.
fn set_argument(config: &str, position: Option<usize>, name: &str, value: &str) -> String {
    let mut list = args::split_args(config);
    let is_keyword = |arg: &String| {
        let (word, rest) = args::next_word(arg);
        !rest.trim().is_empty()
            && word.bytes().all(|b| b.is_ascii_uppercase() || b.is_ascii_digit() || b == b'_')
    };
    let n_before = list.len();
    list.retain(|arg| args::next_word(arg).0 != name);
    let by_place = position.filter(|_| list.len() == n_before).and_then(|at| list.get_mut(at));
    match by_place.filter(|arg| !is_keyword(arg)) {
        Some(arg) => *arg = value.to_string(),
        None => list.push(format!("{name} {value}")),
    }
    args::join_args(&list)
}

/// The configuration that an element has now, as its `config` handler tells it.
pub(crate) fn configuration(world: &mut World, idx: ElementIdx) -> String {
    if let Some(at) = world.crew.as_ref().and_then(|crew| crew.elsewhere(idx)) {
        if let Some(text) = world.tell_mate(at, |world| configuration(world, idx)) {
            return text;
        }
    }
    let own = own_facts(world, idx, "config").filter(|own| own.kind.is_readable());
    let told = own.and_then(|_| world.call_handler(idx, |element, ctx| element.read(ctx, "config", "")));
    let given = |world: &World| world.configs.get(idx).cloned().unwrap_or_default();
    told.and_then(Result::ok).unwrap_or_else(|| given(world))
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
    let is_there = || world.describer(idx).is_none_or(|element| element.has_handler(&handler.name));
    let has_task = || !OF_TASKS.contains(&&*handler.name) || first_task(world, idx).is_some();
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
    match handler.flags.split_whitespace().any(|flag| flag == "inputs") {
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
            let is_private = |facts: &Handler| facts.flags.split_whitespace().any(|flag| flag == "private");
            Some((kind(world, idx, handler)?, facts(world, idx, handler).is_some_and(is_private)))
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
    if world.classes[idx].fast_path.is_some() {
        // The element may have another one, whatever is written.
        world.wiring.lanes.forget();
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
        return world.reconfigure(idx, &set_argument(&config, Some(position), name, value.trim()));
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
        "ports" => ports(world, idx),
        "handlers" => list(world, idx),
        _ => return None,
    })
}

/// The text of an element's `handlers` handler: name and flags, a line each, the last handler first.
pub fn list(world: &World, idx: ElementIdx) -> String {
    let class = world.classes[idx];
    let mut text = String::new();
    for (name, kind) in world.describer(idx).map(|element| element.own_handlers()).unwrap_or_default() {
        describe_as(&mut text, &name, kind, "");
    }
    let is_default = |handler: &&Handler| DEFAULT.iter().any(|default| default.name == handler.name);
    let specific = class.facts.handlers.iter().filter(|handler| !is_default(handler));
    // A handler of the class that takes a default one's name also takes its place.
    let default = DEFAULT.iter().filter_map(|default| facts(world, idx, &default.name));
    for handler in default.chain(specific).rev() {
        if !has_use(world, idx, handler) {
            continue;
        }
        match (&*handler.name, handler.name.split_once('#')) {
            ("config", _) if class.live => describe(&mut text, handler, HandlerKind::ReadWrite),
            (_, Some((before, after))) => {
                for port in (0..n_numbered(world, idx, handler)).rev() {
                    describe_as(&mut text, &format!("{before}{port}{after}"), handler.kind, &handler.flags);
                }
            }
            _ => describe(&mut text, handler, handler.kind),
        }
    }
    text
}

/// Adds a handler's line: name, tab, flags.
pub fn describe(text: &mut String, handler: &Handler, kind: HandlerKind) {
    describe_as(text, &handler.name, kind, &handler.flags);
}

fn describe_as(text: &mut String, name: &str, kind: HandlerKind, flags: &str) {
    const LETTERS: [(&str, char); 7] = [
        ("raw", '%'),
        ("calm", '.'),
        ("expensive", '$'),
        ("uncommon", 'U'),
        ("deprecated", 'D'),
        ("button", 'b'),
        ("checkbox", 'c'),
    ];
    let flags: Vec<&str> = flags.split_whitespace().collect();
    if flags.contains(&"unlisted") || flags.contains(&"private") {
        return;
    }
    text.push_str(name);
    text.push('\t');
    text.extend(kind.is_readable().then_some('r'));
    text.extend(kind.is_writable().then_some('w'));
    text.extend(kind.takes_parameter().then_some('+'));
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
    Some(match handler {
        "scheduled" => args::boolean(value).map_err(|_| "syntax error".to_string()).map(|on| match on {
            true => world.schedule(task),
            false => world.unschedule(task, true),
        }),
        "tickets" => {
            args::saturating_integer::<i32>(value).map_err(|_| "syntax error".to_string()).map(|n| {
                let pinned = n.clamp(1, crate::MAX_TICKETS as i32);
                if n != pinned {
                    world.tell(&format!("warning: tickets pinned at {pinned}"));
                }
                world.set_tickets(task, pinned as u32);
            })
        }
        "home_thread" => {
            // As in Click, the number of threads is let pass.
            let is_thread = |thread: &i32| i64::from(*thread) <= world.n_threads as i64;
            let thread = args::integer::<i32>(value).ok().filter(is_thread);
            thread.ok_or_else(|| "bad thread".to_string()).map(|thread| world.set_home_thread(task, thread))
        }
        _ => return None,
    })
}

#[cfg(test)]
mod tests {
    use super::set_argument;

    #[test]
    fn arguments_are_set_by_place_or_by_name() {
        let cases = [
            ("", Some(0), "CAPACITY 10"),
            ("5", Some(0), "10"),
            ("5, X 1", Some(0), "10, X 1"),
            ("X 1", Some(0), "X 1, CAPACITY 10"),
            ("CAPACITY 5, X 1", Some(0), "X 1, CAPACITY 10"),
            ("3", Some(1), "3, CAPACITY 10"),
            ("3", None, "3, CAPACITY 10"),
        ];
        for (config, position, expected) in cases {
            assert_eq!(set_argument(config, position, "CAPACITY", "10"), expected, "{config}");
        }
    }
}
