//! Settings: handlers whose writing changes an element's configuration.

use element::ElementIdx;
use graph::{Arg, ArgKind};

use super::own_facts;
use crate::world::World;

/// The argument that writing a handler changes in the element's configuration: its place, if it has one, and its name. The
/// handler has the flag `setting`, and the argument's name in small letters or behind the flag (`setting=NAME`).
pub fn setting(world: &World, idx: ElementIdx, name: &str) -> Option<(Option<usize>, &'static str)> {
    let own = own_facts(world, idx, name)?;
    let argument = own.flags.split_whitespace().find_map(|flag| match flag.strip_prefix("setting") {
        Some("") => Some(name),
        Some(other) => other.strip_prefix('='),
        None => None,
    })?;
    argument_named(world.classes.get(idx)?.facts.args, argument)
}

/// The place of the argument that a handler changes, and the handler's own argument, which is added if the configuration does
/// not reach to that place. The handler has the flag `setting@` with the place.
pub fn moved_setting(world: &World, idx: ElementIdx, name: &str) -> Option<(usize, &'static str)> {
    let own = own_facts(world, idx, name)?;
    let position = own.flags.split_whitespace().find_map(|flag| flag.strip_prefix("setting@"))?;
    let args = world.classes.get(idx)?.facts.args;
    let arg = args.iter().find(|arg| arg.name.eq_ignore_ascii_case(name))?;
    Some((position.parse().ok()?, arg.name))
}

/// The argument of this name, in capitals or not: its place, if it has one, and its name.
fn argument_named<'a>(args: &'a [Arg], name: &str) -> Option<(Option<usize>, &'a str)> {
    let arg = args.iter().find(|arg| arg.name.eq_ignore_ascii_case(name))?;
    let mut positional = args.iter().filter(|arg| matches!(arg.kind, ArgKind::Required | ArgKind::Optional));
    Some((positional.position(|other| other.name == arg.name), arg.name))
}

/// A configuration of an element whose class has these arguments, with another value for one of them; `None` if the class has no
/// such argument.
pub fn with_argument(args: &[Arg], config: &str, name: &str, value: &str) -> Option<String> {
    let (position, name) = argument_named(args, name)?;
    Some(set_argument(config, position, name, value))
}

/// A configuration with another value for an argument, which stays in its place if it was given by place.
pub fn set_argument(config: &str, position: Option<usize>, name: &str, value: &str) -> String {
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

/// A value as one argument: quoted, if it would be several, or if a part of it would be a comment.
pub fn one_argument(value: &str) -> String {
    let value = value.trim();
    let read = args::split_args(value);
    match read.iter().all(|arg| arg == value) && read.len() < 2 {
        true => value.to_string(),
        false => args::quote(value),
    }
}

/// The configuration that an element has now, as its `config` handler tells it.
pub fn configuration(world: &mut World, idx: ElementIdx) -> String {
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
