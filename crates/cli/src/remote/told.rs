//! The daemon's errors in the words of commands: it speaks of nodes and methods, users of instances and commands.

use daemon::path::{decoded, encoded};
use serde_json::Value;

use super::target;

/// What an answer's errors say, wherever they stand in it.
pub fn told(body: &Value) -> Option<String> {
    if let Some(errors) = body.get("error").and_then(Value::as_array) {
        return Some(errors.iter().map(one).collect::<Vec<_>>().join("\n"));
    }
    match body {
        Value::Object(members) => members.values().find_map(told),
        Value::Array(list) => list.iter().find_map(told),
        _ => None,
    }
}

/// Whether the errors of an answer say that what was to be deleted or read is not there.
pub fn is_missing(body: &Value) -> bool {
    match body {
        Value::Object(members) => {
            let tag = members.get("error-tag").and_then(Value::as_str);
            tag == Some("data-missing") || members.values().any(is_missing)
        }
        Value::Array(list) => list.iter().any(is_missing),
        _ => false,
    }
}

fn one(error: &Value) -> String {
    let text = |name: &str| error.get(name).and_then(Value::as_str);
    let tag = text("error-tag").unwrap_or_default();
    let message = text("error-message").or(text("error-tag")).unwrap_or("refused");
    let message = without_edit(message)
        .replace(
            "change /restconf/ds/ietf-datastores:candidate first",
            "change something with --candidate first",
        )
        .replace("is needed: Authorization: Bearer TOKEN", "is needed; give --cert and --key, or --token");
    let thing = text("error-path").map(Thing::of);
    let message = missing_node(&message, thing.as_ref())
        .or_else(|| missing_entry(&message))
        .or_else(|| no_object(&message, thing.as_ref()))
        .unwrap_or(message);
    let (Some(path), Some(thing)) = (text("error-path"), thing) else { return message };
    if message.starts_with(path) && tag == "data-exists" {
        return thing.exists();
    }
    if message.starts_with(&format!("{path} does not exist")) {
        return thing.is_missing();
    }
    if message.contains(path) {
        return message.replace(path, &thing.name());
    }
    match message.starts_with(&thing.name()) {
        true => message,
        false => format!("{}: {message}", thing.name()),
    }
}

/// A message without the number of the edit, of which users know nothing.
fn without_edit(message: &str) -> &str {
    let rest = message.strip_prefix("edit `").and_then(|rest| rest.split_once("`: "));
    match rest {
        Some((number, rest)) if number.bytes().all(|byte| byte.is_ascii_digit()) => rest,
        _ => message,
    }
}

/// What is told instead of libyang's words for a node that must be given.
fn missing_node(message: &str, thing: Option<&Thing>) -> Option<String> {
    let name = message.strip_prefix("Mandatory node \"")?.strip_suffix("\" instance does not exist.")?;
    let remedy = match thing {
        Some(Thing::Node(_, node)) => format!("give it, too, as {node}/{name}=VALUE"),
        _ => "`weir create FUNCTION --help` tells how to give it".to_string(),
    };
    Some(format!("`{name}` is missing, which has no default; {remedy}"))
}

/// What is told instead of an example in JSON of what a node with members is given.
fn no_object(message: &str, thing: Option<&Thing>) -> Option<String> {
    let (before, example) = message.split_once(", as in {\"")?;
    let member = example.strip_suffix("\": VALUE}")?;
    let Some(Thing::Node(_, node)) = thing else { return None };
    Some(format!("{before}; give each, as in {node}/{member}=VALUE"))
}

/// What is told instead of libyang's words for a reference to an entry that is not there.
fn missing_entry(message: &str) -> Option<String> {
    let rest = message.strip_prefix("Invalid leafref value \"")?;
    let (value, path) = rest.split_once("\" - no target instance \"")?;
    let path = path.strip_suffix("\" with the same value.")?;
    let is_name = |text: &&str| text.bytes().all(|c| c.is_ascii_alphanumeric() || c == b'-');
    let list = path.rsplit('/').nth(1).filter(is_name)?;
    Some(format!("there is no {list} `{value}`; make it first, or in the same command"))
}

/// A path whose keys stand behind `=`: those that libyang makes have them as in `[name='fw']`.
fn plain(path: &str) -> String {
    let (mut plain, mut rest) = (String::new(), path);
    while let Some((before, after)) = rest.split_once('[') {
        let key = after.split_once("='").and_then(|(_, key)| key.split_once("']"));
        let Some((key, behind)) = key else { break };
        plain += before;
        plain += if before.is_empty() { "," } else { "=" };
        plain += &encoded(key);
        rest = behind;
    }
    plain + rest
}

/// What a path leads to.
#[derive(Debug, PartialEq)]
enum Thing {
    Connection(String),
    Attachment(String),
    Watch(String),
    Instance(String),
    /// Something of an instance, as `weir show` takes it.
    Node(String, String),
    Other(String),
}

impl Thing {
    fn of(path: &str) -> Thing {
        let plain = plain(path);
        let lists: [(&str, &dyn Fn(String) -> Thing); 3] = [
            ("/weir:topology/connection=", &Thing::Connection),
            ("/weir:topology/attachment=", &Thing::Attachment),
            ("/weir:thresholds/threshold=", &Thing::Watch),
        ];
        let listed = lists.iter().find_map(|(list, thing)| Some((plain.strip_prefix(list)?, thing)));
        if let Some((key, thing)) = listed {
            let (key, rest) = key.split_once('/').unwrap_or((key, ""));
            let thing = thing(decoded(key));
            return if rest.is_empty() { thing } else { Thing::Other(format!("{} {rest}", thing.name())) };
        }
        let path_below = plain.strip_prefix('/').unwrap_or(&plain);
        let (first, rest) = path_below.split_once('/').unwrap_or((path_below, ""));
        let is_function = |list: &str| list.split_once(':').is_some_and(|(module, list)| module == list);
        match first.split_once('=').filter(|(list, _)| is_function(list)) {
            Some((_, name)) if rest.is_empty() => Thing::Instance(decoded(name)),
            Some((_, name)) => Thing::Node(decoded(name), target::written(rest)),
            None => Thing::Other(path.to_string()),
        }
    }

    fn name(&self) -> String {
        match self {
            Thing::Connection(end) => format!("connection of {end}"),
            Thing::Attachment(instance) => format!("attachment of `{instance}`"),
            Thing::Watch(name) => format!("watch `{name}`"),
            Thing::Instance(name) => format!("`{name}`"),
            Thing::Node(name, node) => format!("`{name}` {node}"),
            Thing::Other(path) => path.clone(),
        }
    }

    fn exists(&self) -> String {
        match self {
            Thing::Connection(end) => {
                format!("{end} is joined already; `weir disconnect {end}` ends that, `weir topology` shows with what")
            }
            Thing::Attachment(name) => {
                format!("`{name}` stands in front of a port already; `weir detach {name}` takes it away")
            }
            Thing::Instance(name) => format!(
                "there is an instance `{name}` already; change it with `weir set {name} PATH=VALUE`, or delete it first with `weir delete {name}`"
            ),
            other => format!("there is {} already", other.name()),
        }
    }

    fn is_missing(&self) -> String {
        match self {
            Thing::Instance(name) => format!("no instance `{name}`; `weir show` lists them"),
            Thing::Node(name, node) => {
                format!("`{name}` has no {node} now; `weir show {name}` shows what it has")
            }
            other => format!("there is no {}", other.name()),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn check(tag: &str, path: &str, message: &str, expected: &str) {
        let error = json!({ "error-tag": tag, "error-path": path, "error-message": message });
        let body = json!({ "ietf-restconf:errors": { "error": [error] } });
        assert_eq!(told(&body).as_deref(), Some(expected));
    }

    #[test]
    fn things_have_the_names_that_commands_give_them() {
        check(
            "data-missing",
            "/nat:nat=n/rule=7",
            "/nat:nat=n/rule=7 does not exist",
            "`n` has no rule/7 now; `weir show n` shows what it has",
        );
        check(
            "invalid-value",
            "/weir:topology/connection=a%3Aleft",
            "there is no instance `b`; create it first",
            "connection of a:left: there is no instance `b`; create it first",
        );
        check("invalid-value", "/weir:logging/level", "unknown level", "/weir:logging/level: unknown level");
        check(
            "invalid-value",
            "/firewall:firewall[name='fw']/rule[id='1']/source-set",
            "Invalid leafref value \"no\" - no target instance \"../../set/name\" with the same value.",
            "`fw` rule/1/source-set: there is no set `no`; make it first, or in the same command",
        );
        check(
            "missing-element",
            "/firewall:firewall[name='fw']/rule[id='88']",
            "Mandatory node \"action\" instance does not exist.",
            "`fw` rule/88: `action` is missing, which has no default; give it, too, as rule/88/action=VALUE",
        );
        check(
            "missing-element",
            "/delay:delay[name='d']",
            "Mandatory node \"time\" instance does not exist.",
            "`d`: `time` is missing, which has no default; `weir create FUNCTION --help` tells how to give it",
        );
        check(
            "invalid-value",
            "/wire:wire=w/limits",
            "`limits` `5`: expected an object with some of low, high, as in {\"low\": VALUE}",
            "`w` limits: `limits` `5`: expected an object with some of low, high; give each, as in limits/low=VALUE",
        );
        check("x", "/nat:nat=n", "edit `2`: `x`: expected a number", "`n`: `x`: expected a number");
        check("x", "/weir:topology/connection[from='a:b']/to", "no", "connection of a:b to: no");
        check("x", "/nat:nat[name='n']/rule[id='1'][at='2']/x", "no", "`n` rule/1/2/x: no");
        check("x", "/nat:nat=n", "a nat has no port `up`", "`n`: a nat has no port `up`");
    }

    #[test]
    fn a_path_of_any_form_is_shown() {
        for path in [
            "",
            "/",
            "[",
            "/a[b",
            "/a:a[b='c",
            "/a:a[b='c'][d='e']/f",
            "//",
            "é",
            "/a:a=",
            "/a:a=b/",
            "/weir:topology/connection=",
        ] {
            let _ = (Thing::of(path).name(), Thing::of(path).exists(), Thing::of(path).is_missing());
        }
    }
}
