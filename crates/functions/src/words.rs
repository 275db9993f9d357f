//! Values as words of a command line or lines of a file, made into JSON.

use std::cell::RefCell;

use regex_lite::Regex;
use serde_json::{Map, Value};
use yang::{Base, Kind, Node, Type};

use crate::check;

/// A leaf's value.
pub fn leaf(node: &Node, text: &str) -> Result<Value, String> {
    let Some(ty) = &node.ty else { return Err(format!("`{}` has no value", node.name)) };
    value(ty, text)
}

fn value(ty: &Type, text: &str) -> Result<Value, String> {
    check(ty, text)?;
    Ok(match ty.base {
        Base::Integer => text.parse::<i64>().map_or_else(|_| text.into(), Value::from),
        Base::Boolean => (text == "true").into(),
        Base::Empty => Value::Array(vec![Value::Null]),
        Base::Union | Base::Reference => {
            let mut members = ty.members.iter().map(|member| value(member, text));
            return members.find(Result::is_ok).unwrap_or_else(|| Err("no such value".to_string()));
        }
        _ => text.into(),
    })
}

/// The entries of a list that a word stands for. Keys that the word does not tell are numbered on behind those `before` it.
pub fn entries(list: &Node, word: &str, before: usize) -> Result<Vec<Value>, String> {
    let parts: Vec<String> = match list.extension("separator") {
        Some(",") => args::split_args(word),
        Some(separator) => word.split(separator).map(str::to_string).collect(),
        None => vec![word.to_string()],
    };
    let parts = parts.iter().map(|part| part.trim()).filter(|part| !part.is_empty());
    let told = |part: &str, message: String| match list.has("separator") {
        true => format!("`{part}`: {message}"),
        false => message,
    };
    parts
        .enumerate()
        .map(|(i, part)| {
            entry(list, part, before.saturating_add(i + 1)).map_err(|message| told(part, message))
        })
        .collect()
}

/// The entry of a list that a text stands for; a key that it does not tell is `number`.
pub fn entry(list: &Node, text: &str, number: usize) -> Result<Value, String> {
    let form =
        list.extension("form").ok_or_else(|| format!("`{}` cannot be written as a word", list.name))?;
    let expression = expression(form)?;
    let expected =
        || format!("expected {}", list.extension("expected").map_or_else(|| form_of(list), str::to_string));
    let found = expression.captures(text.trim()).ok_or_else(expected)?;
    let mut entry = Map::new();
    for key in &list.keys {
        entry.insert(key.clone(), Value::Null);
    }
    for child in list.data_children().filter(|child| child.kind == Kind::Leaf) {
        if let Some(part) = found.name(&child.name.replace('-', "_")) {
            let told = |message| of_part(child, part.as_str(), message);
            entry.insert(child.name.clone(), leaf(child, part.as_str()).map_err(told)?);
        }
    }
    for key in &list.keys {
        if entry.get(key).is_some_and(Value::is_null) {
            let node = list.child(key).ok_or_else(expected)?;
            let full = |_| format!("no number is left behind {}: say which `{key}` it has", number - 1);
            entry.insert(key.clone(), leaf(node, &number.to_string()).map_err(full)?);
        }
    }
    Ok(Value::Object(entry))
}

/// What is told of a part that is wrong: a choice among words does not say by itself which part it is.
fn of_part(node: &Node, text: &str, message: String) -> String {
    match node.ty.as_ref().filter(|ty| ty.base == Base::Enumeration) {
        Some(ty) => format!("`{text}` is none of {}", ty.words.join(", ")),
        None => message,
    }
}

thread_local! {
    /// The form that was looked at last, and its expression: thousands of lines may have one form.
    static LAST: RefCell<Option<(String, Regex)>> = const { RefCell::new(None) };
}

/// The expression that matches what a form stands for.
fn expression(form: &str) -> Result<Regex, String> {
    LAST.with(|last| {
        let mut last = last.borrow_mut();
        match &*last {
            Some((known, expression)) if known == form => Ok(expression.clone()),
            _ => {
                let expression = compiled(form)?;
                *last = Some((form.to_string(), expression.clone()));
                Ok(expression)
            }
        }
    })
}

fn compiled(form: &str) -> Result<Regex, String> {
    let mut text = String::from("^");
    let mut rest = form;
    while let Some(c) = rest.chars().next() {
        rest = &rest[c.len_utf8()..];
        match c {
            '{' => {
                let (name, behind) = rest.split_once('}').unwrap_or((rest, ""));
                text += &format!("(?P<{}>.+?)", name.replace('-', "_"));
                rest = behind;
            }
            '[' => text += "(?:",
            ']' => text += ")?",
            ' ' => text += r"\s+",
            c => text += &regex_lite::escape(&c.to_string()),
        }
    }
    Regex::new(&(text + "$")).map_err(|error| format!("the form `{form}` is wrong: {error}"))
}

/// What help calls a value of a leaf, or an entry of a list.
pub fn value_name(node: &Node) -> String {
    if let Some(name) = node.extension("value-name") {
        return name.to_string();
    }
    if node.kind == Kind::List {
        return form_of(node);
    }
    let ty = node.ty.as_ref();
    by_type(node).map(str::to_string).unwrap_or_else(|| match ty.map(|ty| (ty.base, &ty.words)) {
        Some((Base::Integer | Base::BigInteger, _)) => "N".to_string(),
        Some((Base::Enumeration, words)) => words.join("|"),
        Some((Base::Boolean, _)) => "true|false".to_string(),
        _ => capitals(node),
    })
}

/// What values of some types are called.
fn by_type(node: &Node) -> Option<&'static str> {
    Some(match node.ty.as_ref()?.typedef.as_deref()? {
        "ipv4-address" | "ipv6-address" | "ipv6-next-hop" => "ADDRESS",
        "ipv4-network" | "ipv6-network" => "PREFIX",
        "ipv4-interface" | "ipv6-interface" => "ADDRESS/LENGTH",
        "ethernet-address" => "MAC",
        "time" => "TIME",
        "file-name" => "FILE",
        "burst" => "SIZE|TIME",
        _ => return None,
    })
}

fn capitals(node: &Node) -> String {
    node.name.to_uppercase()
}

/// The form of a list's entries as help shows it: values are called by names in capital letters.
pub fn form_of(list: &Node) -> String {
    form_with(list, |_| None)
}

/// The same, with some leaves' values.
pub fn form_with<'v>(list: &Node, value: impl Fn(&str) -> Option<&'v str>) -> String {
    let mut text = String::new();
    let mut rest = list.extension("form").unwrap_or_default();
    while let Some((before, behind)) = rest.split_once('{') {
        let (name, behind) = behind.split_once('}').unwrap_or((behind, ""));
        text += before;
        text += &match (value(name), list.child(name)) {
            (Some(value), _) => value.to_string(),
            (None, Some(leaf)) => {
                let name = leaf.extension("value-name").or_else(|| by_type(leaf));
                name.map_or_else(|| capitals(leaf), str::to_string)
            }
            (None, None) => name.to_uppercase(),
        };
        rest = behind;
    }
    text + rest
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    fn list() -> Node {
        let text = "module m { yang-version 1.1; namespace 'urn:m'; prefix m; import weir { prefix weir; } \
            list forward { key id; weir:form '{protocol}:{port}={address}[:{inside-port}]'; leaf id { type uint8; }
              leaf protocol { type enumeration { enum tcp; enum udp; } } leaf port { type weir:layer-4-port; }
              leaf address { type weir:ipv4-address; } leaf inside-port { type weir:layer-4-port; } } }";
        let modules = yang::Modules::compile(&[("weir", crate::WEIR), ("m", text)]).unwrap();
        modules.get("m").unwrap().nodes[0].clone()
    }

    #[test]
    fn an_entry_for_which_no_number_is_left_is_refused() {
        let told = entries(&list(), "udp:53=10.0.0.2", 255);
        assert_eq!(told, Err("no number is left behind 255: say which `id` it has".to_string()));
    }

    #[test]
    fn words_become_entries() {
        let list = list();
        let told = [
            "tcp:80=10.0.0.1:8080",
            "udp:53=10.0.0.2",
            "tcp:80",
            "ip:1=10.0.0.1",
            "tcp:0=10.0.0.1",
            "tcp:1=x",
        ]
        .map(|word| match entries(&list, word, 4) {
            Ok(entries) => serde_json::to_string(&entries).unwrap(),
            Err(message) => message,
        });
        expect![[r#"
            [{"id":5,"protocol":"tcp","port":80,"address":"10.0.0.1","inside-port":8080}]
            [{"id":5,"protocol":"udp","port":53,"address":"10.0.0.2"}]
            expected PROTOCOL:PORT=ADDRESS[:INSIDE-PORT]
            `ip` is none of tcp, udp
            expected a number from 1 to 65535
            expected an IPv4 address such as 10.0.0.1"#]]
        .assert_eq(&told.join("\n"));
    }
}
