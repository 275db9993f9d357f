//! Paths into instances: `rule/10/action=deny`.

use std::ffi::OsStr;

use clap_complete::CompletionCandidate;
use serde_json::Value;
use yang::{Base, Kind, Node, Type};

use super::{asked, candidates};
use crate::remote::{Daemon, Target};

/// What paths are for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Use {
    /// Any data.
    Read,
    /// Configuration, with values.
    Assign,
    /// Actions.
    Call,
    /// Numbers.
    Watch,
}

/// Nodes of the instance that stands first.
pub fn paths(current: &OsStr) -> Vec<CompletionCandidate> {
    below(current, 0, Use::Read)
}

/// Nodes of the instance that stands first, with values.
pub fn assignments(current: &OsStr) -> Vec<CompletionCandidate> {
    below(current, 0, Use::Assign)
}

/// Actions of the instance that stands first.
pub fn actions(current: &OsStr) -> Vec<CompletionCandidate> {
    below(current, 0, Use::Call)
}

/// Nodes of the instance that stands second whose values are numbers.
pub fn numbers(current: &OsStr) -> Vec<CompletionCandidate> {
    below(current, 1, Use::Watch)
}

fn below(current: &OsStr, instance: usize, usage: Use) -> Vec<CompletionCandidate> {
    let text = current.to_string_lossy().into_owned();
    let found = asked(move |typed| {
        let daemon = typed.daemon();
        let target = Target::find(&daemon, typed.word(instance)?)?;
        if let (Use::Assign, Ok((path, value))) = (usage, crate::remote::assignment(&text)) {
            return values(&target, path, value);
        }
        nodes(&daemon, &target, &text, usage)
    });
    candidates(current, found)
}

/// What can follow the last slash.
fn nodes(daemon: &Daemon, target: &Target, text: &str, usage: Use) -> Result<Vec<String>, String> {
    let way = &text[..last_slash(text)];
    // The keys of an entry of which there are several stand one behind the other.
    for n_missing in 1..=MAX_KEYS {
        let Some(cut) = cut_words(way, n_missing - 1) else { break };
        let Ok(place) = target.place(cut) else { continue };
        if place.node.kind == Kind::List && !place.is_entry {
            let given = crate::remote::split(&way[cut.len()..]);
            let url = format!("{}{}", target.url(), place.path);
            let keys = keys(daemon, &url, place.node, &given)?;
            let end = if place.node.keys.len() > given.len() + 1 || usage != Use::Read { "/" } else { "" };
            return Ok(keys.into_iter().map(|key| format!("{way}{key}{end}")).collect());
        }
        if n_missing == 1 {
            let children = place.node.data_children().filter(|child| !place.node.keys.contains(&child.name));
            return Ok(children
                .filter_map(|child| shown(child, usage))
                .map(|name| way.to_string() + &name)
                .collect());
        }
    }
    Ok(Vec::new())
}

/// Most keys of a list whose entries are completed.
const MAX_KEYS: usize = 4;

/// A node as it goes on, if it can be used.
fn shown(node: &Node, usage: Use) -> Option<String> {
    let holds = matches!(node.kind, Kind::List | Kind::Container { .. });
    if holds && !node.data_children().any(|child| shown(child, usage).is_some()) {
        return None;
    }
    match usage {
        Use::Read if !matches!(node.kind, Kind::Action | Kind::Notification) => {
            Some(format!("{}{}", node.name, if holds { "/" } else { "" }))
        }
        Use::Assign if node.is_config && holds => Some(format!("{}/", node.name)),
        Use::Assign if node.is_config && matches!(node.kind, Kind::Leaf | Kind::LeafList) => {
            Some(format!("{}=", node.name))
        }
        Use::Call if node.kind == Kind::Action => Some(node.name.clone()),
        Use::Call | Use::Watch if holds => Some(format!("{}/", node.name)),
        Use::Watch if node.kind == Kind::Leaf => {
            let base = node.ty.as_ref()?.base;
            let counts = matches!(base, Base::Integer | Base::BigInteger | Base::Decimal | Base::Boolean);
            counts.then(|| node.name.clone())
        }
        _ => None,
    }
}

/// Keys of a list's entries whose first keys are those given.
fn keys(daemon: &Daemon, url: &str, list: &Node, given: &[String]) -> Result<Vec<String>, String> {
    let data = daemon.get(url)?;
    let entries = data.as_object().and_then(|members| members.values().next()).and_then(Value::as_array);
    let mut all = Vec::new();
    for entry in entries.into_iter().flatten() {
        let keys = list.keys.iter().map(|key| entry.get(key).map(functions::text_of).unwrap_or_default());
        let keys: Vec<String> = keys.collect();
        if let (true, Some(next)) = (keys.starts_with(given), keys.get(given.len())) {
            all.push(quoted(next));
        }
    }
    all.dedup();
    Ok(all)
}

/// A key as it stands in a path.
fn quoted(key: &str) -> String {
    match key.contains(['/', '=', '\'']) {
        true => format!("\"{key}\""),
        false => key.to_string(),
    }
}

/// Values that a leaf can have.
fn values(target: &Target, path: &str, value: &str) -> Result<Vec<String>, String> {
    let place = target.place(path)?;
    // Of several values, the last one is completed.
    let before = match place.node.kind {
        Kind::LeafList => value.rfind(',').map_or("", |at| &value[..=at]),
        _ => "",
    };
    let words = place.node.ty.as_ref().map(words).unwrap_or_default();
    Ok(words.into_iter().map(|word| format!("{path}={before}{word}")).collect())
}

/// The words that are all values of a type.
pub fn words(ty: &Type) -> Vec<String> {
    match ty.base {
        Base::Boolean => vec!["true".to_string(), "false".to_string()],
        Base::Union | Base::Reference => ty.members.iter().flat_map(words).collect(),
        _ => ty.words.clone(),
    }
}

/// Where what follows the last slash outside of quotes begins.
fn last_slash(text: &str) -> usize {
    slashes(text).last().map_or(0, |at| at + 1)
}

/// The slashes outside of quotes.
fn slashes(text: &str) -> Vec<usize> {
    let (mut found, mut quote) = (Vec::new(), None);
    for (at, c) in text.char_indices() {
        match (c, quote) {
            ('/', None) => found.push(at),
            ('"' | '\'', None) => quote = Some(c),
            (c, Some(open)) if c == open => quote = None,
            _ => {}
        }
    }
    found
}

/// A path that ends with a slash, without its last `n` words.
fn cut_words(way: &str, n: usize) -> Option<&str> {
    let slashes = slashes(way);
    match slashes.len().checked_sub(n)? {
        0 => Some(""),
        left => Some(&way[..=slashes[left - 1]]),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn slashes_in_quotes_belong_to_words() {
        assert_eq!(last_slash("route/\"10.0.0.0/8\"/ga"), "route/\"10.0.0.0/8\"/".len());
        assert_eq!(last_slash("route/\"10.0"), "route/".len());
        assert_eq!(cut_words("a/\"b/c\"/d/", 1), Some("a/\"b/c\"/"));
        assert_eq!((cut_words("a/", 1), cut_words("a/", 2), cut_words("", 0)), (Some(""), None, Some("")));
        assert_eq!((quoted("10.0.0.0/8"), quoted("x")), ("\"10.0.0.0/8\"".to_string(), "x".to_string()));
    }
}
