//! Schemas in YANG 1.1 (RFC 7950) and data that they describe, over libyang.
//!
//! [`Modules::compile`] reads modules; their nodes are plain values ([`Node`]) from which commands, pages and interfaces are made.
//! [`Data`] is what libyang checks: it holds the data that a schema describes, without an order of its own.
//!
//! `unsafe` reads what libyang has compiled and yang5 does not show: extensions, words of enumerations, ranges, members of unions; and
//! what validation has removed.

mod data;
mod node;
mod raw;

use std::fmt;
use std::sync::Arc;

use yang5::context::{Context, ContextFlags};
use yang5::schema::{SchemaInputFormat, SchemaModule};

pub use data::{Data, Step};
pub use node::{Base, Extension, Kind, Module, Node, Type};

/// Modules that know each other.
#[derive(Clone)]
pub struct Modules {
    context: Arc<Context>,
    list: Arc<[Module]>,
}

/// What is wrong with a module, or with data.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// One sentence.
    pub message: String,
    /// Where it is, as libyang tells it.
    pub path: Option<String>,
    /// The application's name for it (`error-app-tag`).
    pub app_tag: Option<String>,
}

impl Modules {
    /// Compiles modules, given by name and text, each behind those that it imports. A problem's message is a line for each mistake.
    pub fn compile(texts: &[(&str, &str)]) -> Result<Modules, Problem> {
        let flags = ContextFlags::NO_YANGLIBRARY | ContextFlags::DISABLE_SEARCHDIRS;
        let context = Context::new(flags).map_err(Problem::of)?;
        let mut list = Vec::new();
        for (name, text) in texts {
            if text.contains('\0') {
                return Err(Problem::new(format!("{name}.yang: a module is text, without null characters")));
            }
            let parse = || SchemaModule::parse_string(&context, text, SchemaInputFormat::YANG);
            let module = raw::with_complaints(&context, parse).map_err(|list| mistakes(name, &list))?;
            list.push(Module::of(&module, text));
        }
        Ok(Modules { context: Arc::new(context), list: list.into() })
    }

    /// The modules, in the order in which they were given.
    pub fn iter(&self) -> impl Iterator<Item = &Module> {
        self.list.iter()
    }

    /// The module of this name.
    pub fn get(&self, name: &str) -> Option<&Module> {
        self.list.iter().find(|module| module.name == name)
    }
}

/// The mistakes of a module, a line each. That the module has not been parsed is known.
fn mistakes(name: &str, list: &[(Option<u64>, String)]) -> Problem {
    let told = list.iter().filter(|(_, text)| !text.starts_with("Parsing module"));
    let line = |(line, text): &(Option<u64>, String)| match line {
        Some(line) => format!("{name}.yang:{line}: {text}"),
        None => format!("{name}.yang: {text}"),
    };
    let lines: Vec<String> = told.map(line).collect();
    match lines.is_empty() {
        true => Problem::new(format!("{name}.yang: libyang tells no reason")),
        false => Problem::new(lines.join("\n")),
    }
}

impl Problem {
    /// A problem without a place.
    pub fn new(message: impl Into<String>) -> Problem {
        Problem { message: message.into(), path: None, app_tag: None }
    }

    fn of(error: yang5::Error) -> Problem {
        let message = error.msg.unwrap_or_else(|| "libyang tells no reason".to_string());
        Problem { message, path: error.path, app_tag: error.apptag }
    }
}

impl fmt::Display for Problem {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.path {
            Some(path) => write!(f, "{path}: {}", self.message),
            None => f.write_str(&self.message),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::expect;

    const WEIR: &str = "module base { yang-version 1.1; namespace 'urn:b'; prefix b;
        extension short { argument letter; } typedef size { type uint16 { range '1..9 | 20'; } } }";
    const NAT: &str = "module nat { yang-version 1.1; namespace 'urn:n'; prefix n; import base { prefix b; }
        description 'Translates.'; revision 2026-01-01;
        list nat { key name; leaf name { type string { length '1..8'; pattern '[a-z]+'; } }
            leaf size { b:short 's'; type b:size; default 5; description 'How many.'; units packets; }
            leaf mode { type enumeration { enum fast; enum slow; } mandatory true; }
            list rule { key id; ordered-by user; leaf id { type uint8; } must 'id != 7' { error-message 'No 7.'; error-app-tag no-7; } }
            choice way { leaf left { type empty; } leaf right { type union { type boolean; type int8; } } }
            leaf n { config false; type uint64; }
            action flush { input { leaf all { type boolean; } } }
        } }";

    fn modules() -> Modules {
        Modules::compile(&[("base", WEIR), ("nat", NAT)]).unwrap()
    }

    #[test]
    fn nodes_tell_what_the_schema_says() {
        let modules = modules();
        let module = modules.get("nat").unwrap();
        let list = &module.nodes[0];
        let told = list.data_children().map(|child| {
            let Node { name, kind, is_config, default, extensions, .. } = child;
            format!("{name} {kind:?} {is_config} {default:?} {extensions:?}\n  {:?}\n", child.ty)
        });
        expect![[r#"
            name Leaf true None []
              Some(Type { base: String, typedef: None, words: [], range: [(1, 8)], holds: None, patterns: [("[a-z]+", false)], members: [] })
            size Leaf true Some("5") [Extension { name: "short", argument: "s" }]
              Some(Type { base: Integer, typedef: Some("size"), words: [], range: [(1, 9), (20, 20)], holds: Some((0, 65535)), patterns: [], members: [] })
            mode Leaf true None []
              Some(Type { base: Enumeration, typedef: None, words: ["fast", "slow"], range: [], holds: None, patterns: [], members: [] })
            rule List true None []
              None
            left Leaf true None []
              Some(Type { base: Empty, typedef: None, words: [], range: [], holds: None, patterns: [], members: [] })
            right Leaf true None []
              Some(Type { base: Union, typedef: None, words: [], range: [], holds: None, patterns: [], members: [Type { base: Boolean, typedef: None, words: [], range: [], holds: None, patterns: [], members: [] }, Type { base: Integer, typedef: None, words: [], range: [], holds: Some((-128, 127)), patterns: [], members: [] }] })
            n Leaf false None []
              Some(Type { base: BigInteger, typedef: None, words: [], range: [], holds: Some((0, 18446744073709551615)), patterns: [], members: [] })
            flush Action false None []
              None
        "#]].assert_eq(&told.collect::<String>());
        assert_eq!(list.keys, ["name"]);
        let action = list.child("flush").unwrap();
        assert_eq!(action.children[0].child("all").map(|leaf| leaf.name.as_str()), Some("all"));
    }

    #[test]
    fn data_is_checked() {
        let modules = modules();
        let mut data = Data::new(&modules);
        data.check().unwrap();
        let mut tried = Vec::new();
        for json in [
            r#"{"nat:nat": [{"name": "a", "mode": "fast"}]}"#,
            r#"{"nat:nat": [{"name": "b"}]}"#,
            r#"{"nat:nat": [{"name": "b", "mode": "slow", "size": 10}]}"#,
            r#"{"nat:nat": [{"name": "b", "mode": "slow", "n": "1"}]}"#,
            r#"{"nat:nat": [{"name": "b", "mode": "slow", "what": "1"}]}"#,
            r#"{"nat:nat": [{"name": "b", "mode": "slow", "rule": [{"id": 7}]}]}"#,
            "{",
            "",
            "[]",
        ] {
            let result = data.merge(json).and_then(|()| data.check());
            tried.push(match result {
                Ok(_) => "right".to_string(),
                Err(problem) => format!("{problem} {:?}", problem.app_tag),
            });
            data.remove("/nat:nat[name='b']");
        }
        expect![[r#"
            right
            /nat:nat[name='b']: Mandatory node "mode" instance does not exist. None
            /nat:nat[name='b']/size: Unsatisfied range - value "10" is out of the allowed range. None
            Unexpected data state node "n" found. None
            /nat:nat[name='b']: Node "what" not found as a child of "nat" node. None
            /nat:nat[name='b']/rule[id='7']: No 7. Some("no-7")
            Unexpected end-of-input. None
            Empty JSON file. None
            Expected top-level JSON object or correct bare value, but array found. None"#]]
        .assert_eq(&tried.join("\n"));
        data.remove("/nat:nat[name='a']");
        data.remove("/nat:nat[name='a']");
        data.remove("nonsense[");
        data.check().unwrap();
    }

    #[test]
    fn what_has_no_place_any_more_goes_and_is_told() {
        let schema = "module m { yang-version 1.1; namespace 'urn:m'; prefix m; list m { key 'a b';
            leaf a { type uint8; } leaf b { type string; } leaf on { type boolean; }
            container box { when '../on = \"true\"'; presence ''; leaf-list item { type string; } leaf size { type uint8; default 3; } }
            leaf-list tag { when '../on = \"true\"'; type string; }
            choice way { case one { leaf left { type string; } leaf far { type string; default x; } } leaf right { type string; } } } }";
        let modules = Modules::compile(&[("m", schema)]).unwrap();
        let whole = r#"{"m:m": [{"a": 1, "b": "c/d", "on": true, "box": {"item": ["x"]}, "tag": ["p", "q"], "left": "l"}]}"#;
        let mut merged = Data::new(&modules);
        merged.merge(whole).unwrap();
        assert_eq!(merged.check().unwrap(), Vec::<Vec<Step>>::new());
        for mut data in [merged, Data::of_valid(&modules, whole).unwrap()] {
            data.merge(r#"{"m:m": [{"a": 1, "b": "c/d", "on": false, "right": "r"}]}"#).unwrap();
            let text = |steps: &Vec<Step>| {
                steps.iter().map(|(_, name, keys)| format!("/{name}{keys:?}")).collect::<String>()
            };
            let mut gone: Vec<String> = data.check().unwrap().iter().map(text).collect();
            gone.sort();
            let list = r#"/m["1", "c/d"]"#;
            let due =
                ["/box[]", "/left[]", r#"/tag["p"]"#, r#"/tag["q"]"#].map(|rest| format!("{list}{rest}"));
            assert_eq!(gone, due);
            assert_eq!(data.check().unwrap(), Vec::<Vec<Step>>::new());
        }
        let mut wrong = Data::new(&modules);
        wrong.merge(&whole.replace("true", "false")).unwrap();
        assert!(wrong.check().unwrap_err().message.contains("When condition"), "what is new is refused");
    }

    #[test]
    fn a_module_that_is_wrong_is_told() {
        let problem = |text| Modules::compile(&[("m", text)]).map(drop).unwrap_err().to_string();
        expect![[r#"m.yang: /x:a: Referenced type "what" not found."#]].assert_eq(&problem(
            "module x { yang-version 1.1; namespace 'urn:x'; prefix x; leaf a { type what; } }",
        ));
        expect!["m.yang:1: Unexpected end-of-input."].assert_eq(&problem("module x {"));
        expect![[r#"m.yang: Loading "nowhere" module failed, not found."#]]
            .assert_eq(&problem("module x { namespace 'urn:x'; prefix x; import nowhere { prefix n; } }"));
    }
}
