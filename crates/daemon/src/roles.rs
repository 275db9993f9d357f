//! Who may do what.
//!
//! Everybody has a role. Rules in the configuration (`/weir:access/rule`) come first, in their order, as in NACM (RFC 8341); what no rule
//! is about, the role decides on: `read` reads, `operate` also changes instances and calls actions, `administer` also changes rules
//! and functions.

mod differences;

use functions::{Functions, CORE};
use serde_json::Value;

use crate::fault::Fault;
use crate::path::{self, Step};
use crate::store;
use crate::tree::{member_name, Tree};

/// What somebody may do by default.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord)]
pub enum Role {
    /// Nothing.
    #[default]
    Nobody,
    /// Read.
    Read,
    /// Also change instances and call actions.
    Operate,
    /// Also change rules and functions.
    Administer,
}

/// Somebody who asks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Who {
    /// The name: of a user, a certificate or a token.
    pub name: String,
    /// The role.
    pub role: Role,
}

/// What somebody wants to do.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read data.
    Read,
    /// Change data.
    Write,
    /// Call an action.
    Execute,
    /// Add and remove functions.
    Administer,
}

impl Role {
    /// The role of this name.
    pub fn named(name: &str) -> Option<Role> {
        match name {
            "read" => Some(Role::Read),
            "operate" => Some(Role::Operate),
            "administer" => Some(Role::Administer),
            _ => None,
        }
    }

    fn name(self) -> &'static str {
        match self {
            Role::Nobody => "none",
            Role::Read => "read",
            Role::Operate => "operate",
            Role::Administer => "administer",
        }
    }
}

impl Access {
    fn name(self) -> &'static str {
        match self {
            Access::Read => "read",
            Access::Write => "write",
            Access::Execute => "execute",
            Access::Administer => "administer",
        }
    }
}

/// What somebody may do, by the rules of a configuration and by their role.
pub struct Rights {
    who: Who,
    rules: Vec<Rule>,
}

/// A rule that is about somebody.
struct Rule {
    name: String,
    is_denial: bool,
    /// What it is about; none is anything.
    kinds: Option<Vec<String>>,
    path: Vec<Step>,
}

impl Rights {
    /// The rights of somebody; `tree` has the rules.
    pub fn of(functions: &Functions, tree: &Tree, who: &Who) -> Rights {
        // Whoever administers cannot be locked out.
        let is_subject = who.role != Role::Administer;
        let rules = rules(tree).filter(|rule| is_subject && is_about(rule, who));
        Rights { who: who.clone(), rules: rules.filter_map(|rule| Rule::of(functions, rule)).collect() }
    }

    /// Whether they may do something with a node and what is below it.
    pub fn permit(&self, access: Access, path: &str) -> Result<(), Fault> {
        self.decide(access, &path::parse(path)?).map_err(|why| self.refused(access, path, &why))
    }

    /// Whether they may make one configuration another: each node that differs is written (RFC 8341, section 3.4.5).
    pub fn permit_change(&self, functions: &Functions, old: &Tree, new: &Tree) -> Result<(), Fault> {
        if self.who.role == Role::Administer {
            return Ok(());
        }
        let nodes = functions.modules().iter().flat_map(|module| &module.nodes);
        nodes.filter(|node| node.is_config).try_for_each(|node| {
            let name = member_name(0, node);
            differences::walk(node, &mut Vec::new(), old.0.get(&name), new.0.get(&name), &mut |steps| {
                self.decide(Access::Write, steps)
                    .map_err(|why| self.refused(Access::Write, &store::shown(functions, steps), &why))
            })
        })
    }

    fn refused(&self, access: Access, path: &str, why: &str) -> Fault {
        let name = if self.who.name.is_empty() { "nobody" } else { &self.who.name };
        Fault::denied(format!("{name} may not {} {path}: {why}", access.name())).at(path)
    }

    /// Whether they may; an error tells why not.
    fn decide(&self, access: Access, steps: &[Step]) -> Result<(), String> {
        if let Some(rule) = self.rules.iter().find(|rule| rule.concerns(access, steps)) {
            return match rule.is_denial {
                true => Err(format!("rule `{}` denies it", rule.name)),
                false => Ok(()),
            };
        }
        let is_about_rules = steps.first().is_some_and(|first| {
            first.name == "access" && first.module.as_ref().is_none_or(|module| module == CORE)
        });
        let needed = match access {
            Access::Read => Role::Read,
            Access::Administer => Role::Administer,
            Access::Write if is_about_rules => Role::Administer,
            Access::Write | Access::Execute => Role::Operate,
        };
        match self.who.role >= needed {
            true => Ok(()),
            false => {
                Err(format!("that needs the role {}; the role is {}", needed.name(), self.who.role.name()))
            }
        }
    }
}

/// What is wrong with the rules whose paths lead nowhere, but for those with paths that `known` has.
pub fn lost<'t>(
    functions: &'t Functions,
    tree: &'t Tree,
    known: &'t Tree,
) -> impl Iterator<Item = Fault> + 't {
    let is_new = |rule: &&Value| !rules(known).any(|other| word(other, "path") == word(rule, "path"));
    rules(tree).filter(is_new).filter_map(|rule| {
        let fault = target(functions, word(rule, "path")?).err()?;
        let name = word(rule, "name").unwrap_or_default();
        let message = format!("rule `{name}` is about nothing: {}", fault.message);
        Some(Fault::invalid(message).at(format!("/{CORE}:access/rule={name}/path")))
    })
}

fn rules(tree: &Tree) -> impl Iterator<Item = &Value> {
    let access = tree.0.get(format!("{CORE}:access"));
    access.and_then(|access| access.get("rule")).and_then(Value::as_array).into_iter().flatten()
}

fn word<'r>(rule: &'r Value, name: &str) -> Option<&'r str> {
    rule.get(name).and_then(Value::as_str)
}

fn words(rule: &Value, name: &str) -> Option<Vec<String>> {
    let list = rule.get(name).and_then(Value::as_array)?;
    Some(list.iter().filter_map(Value::as_str).map(str::to_string).collect())
}

fn is_about(rule: &Value, who: &Who) -> bool {
    let is_one = |name: &String| *name == who.name || name.strip_prefix("role:") == Some(who.role.name());
    words(rule, "who").is_none_or(|names| names.iter().any(is_one))
}

/// What a rule's path leads to, with names and keys as the schema writes them: a node, an operation, or what is no data.
fn target(functions: &Functions, text: &str) -> Result<Vec<Step>, Fault> {
    let steps = path::parse(text)?;
    let is_operation = |step: &Step| {
        let mut operations = functions.modules().get(CORE).into_iter().flat_map(|core| &core.rpcs);
        step.module.as_deref() == Some(CORE) && operations.any(|operation| operation.name == step.name)
    };
    let is_beside_data = match steps.as_slice() {
        [] => true,
        [only] if only.keys.is_some() => false,
        [only] => {
            is_operation(only) || (only.module.is_none() && ["functions", "metrics"].contains(&&*only.name))
        }
        [first, _] => first.module.is_none() && first.name == "functions",
        _ => false,
    };
    match is_beside_data {
        true => Ok(steps),
        false => Ok(path::steps_of(&path::resolve(functions, &steps)?)),
    }
}

impl Rule {
    /// A rule; none if nothing can be what it is about.
    fn of(functions: &Functions, rule: &Value) -> Option<Rule> {
        let text = word(rule, "path").unwrap_or_default();
        // What its function would have made of it does not matter while the function is not there.
        let path = target(functions, text).or_else(|_| path::parse(text)).ok()?;
        Some(Rule {
            name: word(rule, "name").unwrap_or_default().to_string(),
            is_denial: word(rule, "action") != Some("permit"),
            kinds: words(rule, "access"),
            path,
        })
    }

    fn concerns(&self, access: Access, steps: &[Step]) -> bool {
        let is_of_kind =
            self.kinds.as_ref().is_none_or(|kinds| kinds.iter().any(|kind| kind == access.name()));
        let both = || self.path.iter().zip(steps);
        let is_below = self.path.len() <= steps.len()
            && both().all(|(own, step)| is_node(own, step) && (own.keys.is_none() || own.keys == step.keys));
        // What is read from further up would show what is below.
        let is_above = access == Access::Read
            && self.is_denial
            && steps.len() <= self.path.len()
            && both().all(|(own, step)| {
                is_node(own, step) && (own.keys.is_none() || step.keys.is_none() || own.keys == step.keys)
            });
        is_of_kind && (is_below || is_above)
    }
}

/// Whether two steps lead to the same node. A path need not name the module of the node above again.
fn is_node(own: &Step, step: &Step) -> bool {
    own.name == step.name && (own.module.is_none() || step.module.is_none() || own.module == step.module)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use functions::Package;
    use serde_json::json;

    use super::*;

    const SCHEMA: &str =
        "module nat { yang-version 1.1; namespace 'urn:nat'; prefix nat; import weir { prefix weir; }
      list nat { key name; weir:port inside; uses weir:instance; leaf size { type uint8; }
        list forward { key id; ordered-by user; leaf id { type uint8; } leaf port { type uint16; } }
        leaf-list tag { type string; } action flush; } }";

    fn functions() -> Functions {
        Functions::new(vec![Arc::new(Package::of_texts("nat", SCHEMA, ""))]).unwrap()
    }

    fn who(name: &str, role: Role) -> Who {
        Who { name: name.into(), role }
    }

    #[test]
    fn roles_decide_where_no_rule_does() {
        let tree = Tree::new();
        for (role, read, write, rules, administer) in [
            (Role::Nobody, false, false, false, false),
            (Role::Read, true, false, false, false),
            (Role::Operate, true, true, false, false),
            (Role::Administer, true, true, true, true),
        ] {
            let may =
                |access, path| Rights::of(&functions(), &tree, &who("x", role)).permit(access, path).is_ok();
            assert_eq!(may(Access::Read, "/nat:nat"), read);
            assert_eq!(may(Access::Write, "/nat:nat=a"), write);
            assert_eq!(may(Access::Execute, "/nat:nat=a/flush"), write);
            assert_eq!(may(Access::Write, "/weir:access/rule=1"), rules);
            assert_eq!(may(Access::Administer, "/functions/x"), administer);
        }
    }

    #[test]
    fn rules_decide_in_their_order() {
        let tree = Tree(json!({ "weir:access": { "rule": [
            { "name": "own", "who": ["ann"], "path": "/nat:nat=a", "action": "permit" },
            { "name": "others", "who": ["role:read", "ann"], "path": "/nat:nat", "action": "deny" },
            { "name": "log", "access": ["execute"], "action": "deny" },
        ] } }));
        let rights = |name, role| Rights::of(&functions(), &tree, &who(name, role));
        let may = |name, role, access, path| rights(name, role).permit(access, path).is_ok();
        assert!(may("ann", Role::Read, Access::Write, "/nat:nat=a/inside"));
        assert!(!may("ann", Role::Operate, Access::Write, "/nat:nat=ab"));
        assert!(!may("ann", Role::Operate, Access::Read, "/nat:nat"));
        assert!(!may("ann", Role::Operate, Access::Read, ""), "the whole would show what is denied");
        assert!(may("bob", Role::Operate, Access::Read, "/nat:nat=b"));
        assert!(!may("bob", Role::Read, Access::Read, "/nat:nat=b"));
        assert!(!may("bob", Role::Operate, Access::Execute, "/nat:nat=b/flush"));
        assert!(may("root", Role::Administer, Access::Execute, "/nat:nat=b/flush"));
        let told = rights("bob", Role::Read).permit(Access::Read, "/nat:nat=b").unwrap_err();
        assert_eq!(told.message, "bob may not read /nat:nat=b: rule `others` denies it");
    }

    fn rule(path: &str) -> Tree {
        Tree(json!({ "weir:access": { "rule": [{ "name": "r", "path": path, "action": "deny" }] } }))
    }

    #[test]
    fn paths_of_rules_are_compared_step_by_step() {
        for (path, asked, is_about) in [
            ("/nat:nat=ab", "/nat:nat=a", false),
            ("/nat:nat=a", "/nat:nat=ab", false),
            ("/nat:nat=ab", "/nat:nat=ab", true),
            ("/nat=ab/nat:size/", "/nat:nat=ab/size", true),
            ("/nat:nat=ab/size", "/nat:nat=ab", true),
            ("/nat:nat=ab/size", "/nat:nat", true),
            ("/nat:nat=ab/size", "/nat:nat=c", false),
            ("/nat:nat=ab/forward=01", "/nat:nat=ab/forward=1/port", true),
            ("/nat:nat=ab/tag=x:y", "/nat:nat=ab/tag=x%3Ay", true),
            ("/weir:topology/connection=a:inside", "/weir:topology/connection=a%3Ainside", true),
            ("/weir:topology", "", true),
            ("/metrics", "/metrics", true),
            ("/functions", "/functions/nat", true),
            ("/functions/nat", "/functions/na", false),
            ("/weir:commit", "/weir:commit", true),
            // Of a function that is not there.
            ("/gone:gone=a", "/gone:gone=a/b", true),
        ] {
            let rights = Rights::of(&functions(), &rule(path), &who("ann", Role::Operate));
            assert_eq!(rights.permit(Access::Read, asked).is_err(), is_about, "{path} {asked}");
        }
    }

    #[test]
    fn a_rule_about_nothing_is_told() {
        let told = |path: &str| {
            let (functions, rules) = (functions(), rule(path));
            let told = lost(&functions, &rules, &Tree::new()).map(|fault| fault.message).collect::<String>();
            assert_eq!(lost(&functions, &rules, &rules).count(), 0);
            told
        };
        for path in
            ["/", "/nat:nat", "/nat:nat=a/flush", "/weir:commit", "/functions/x", "/metrics", "/weir:access"]
        {
            assert_eq!(told(path), "");
        }
        for (path, due) in [
            ("/nat:nat=a/sise", "rule `r` is about nothing: `nat` has no `sise`"),
            ("/nta:nta=a", "rule `r` is about nothing: no function `nta`"),
            ("/restconf/data/nat:nat=a", "rule `r` is about nothing: no function `restconf`"),
            ("/nat:nat/size", "`nat` is a list: name an entry"),
            ("/nat:nat=a/forward=x", "expected a number"),
            ("/metrics/x", "no function `metrics`"),
        ] {
            assert!(told(path).contains(due), "{path}: {}", told(path));
        }
    }

    #[test]
    fn each_node_that_differs_needs_the_right_to_write_it() {
        let entry = |name: &str, size: u8, ids: &[u8]| {
            let forward: Vec<Value> = ids.iter().map(|id| json!({ "id": id, "port": 1 })).collect();
            json!({ "name": name, "size": size, "forward": forward, "tag": ["x", "y"] })
        };
        let tree = |entries: Vec<Value>| Tree(json!({ "nat:nat": entries }));
        let old = tree(vec![entry("a", 1, &[1, 2, 3]), entry("b", 1, &[1])]);
        for (path, new, may) in [
            ("/nat:nat=a", vec![entry("b", 2, &[]), entry("a", 1, &[1, 2, 3])], true),
            ("/nat:nat=a", vec![entry("a", 2, &[1, 2, 3]), entry("b", 1, &[1])], false),
            ("/nat:nat=a", vec![entry("b", 1, &[1])], false),
            ("/nat:nat=a/forward", vec![entry("b", 1, &[1])], false),
            ("/nat:nat=a/forward=2", vec![], false),
            ("/nat:nat=a/forward=2", vec![entry("a", 3, &[2, 3]), entry("b", 1, &[1])], true),
            ("/nat:nat=a/forward=2", vec![entry("a", 1, &[1, 4, 2, 3]), entry("b", 1, &[1])], true),
            ("/nat:nat=a/forward=2", vec![entry("a", 1, &[1, 3, 2]), entry("b", 1, &[1])], false),
            (
                "/nat:nat=c/size",
                vec![entry("a", 1, &[1, 2, 3]), entry("b", 1, &[1]), entry("c", 1, &[])],
                false,
            ),
            (
                "/nat:nat=c/size",
                vec![entry("a", 1, &[1, 2, 3]), entry("b", 1, &[1]), json!({ "name": "c" })],
                true,
            ),
            (
                "/nat:nat=b/tag=y",
                vec![entry("a", 1, &[1, 2, 3]), json!({ "name": "b", "size": 1, "tag": ["x"] })],
                false,
            ),
            ("/nat:nat=b/tag=y", vec![entry("a", 1, &[1, 2, 3]), json!({ "name": "b", "tag": ["y"] })], true),
        ] {
            let rights = Rights::of(&functions(), &rule(path), &who("ann", Role::Operate));
            let new = tree(new);
            assert_eq!(rights.permit_change(&functions(), &old, &new).is_ok(), may, "{path} {new:?}");
        }
        let rights = Rights::of(&functions(), &old, &who("ann", Role::Operate));
        let told = rights.permit_change(&functions(), &old, &rule("/")).unwrap_err().message;
        assert_eq!(
            told,
            "ann may not write /weir:access: that needs the role administer; the role is operate"
        );
    }
}
