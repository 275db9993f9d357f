//! The texts of the handlers `handlers` and `ports`.

use element::{ElementIdx, Handler, HandlerKind, Runtime};

use super::{facts, has_use, n_numbered, DEFAULT};
use crate::world::World;

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
    let default = DEFAULT.iter().filter_map(|default| facts(world, idx, default.name));
    for handler in default.chain(specific).rev() {
        if !has_use(world, idx, handler) {
            continue;
        }
        match (handler.name, handler.name.split_once('#')) {
            ("config", _) if class.live => describe(&mut text, handler, HandlerKind::ReadWrite),
            (_, Some((before, after))) => {
                for port in (0..n_numbered(world, idx, handler)).rev() {
                    describe_as(&mut text, &format!("{before}{port}{after}"), handler.kind, handler.flags);
                }
            }
            _ => describe(&mut text, handler, handler.kind),
        }
    }
    text
}

/// Adds a handler's line: name, tab, flags.
pub fn describe(text: &mut String, handler: &Handler, kind: HandlerKind) {
    describe_as(text, handler.name, kind, handler.flags);
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
pub fn ports(world: &World, idx: ElementIdx) -> String {
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
