//! Who may do what.
//!
//! Everybody has a role. Rules in the configuration (`/weir:access/rule`) come first, in their order, as in NACM (RFC 8341); what no rule
//! is about, the role decides on: `read` reads, `operate` also changes instances and calls actions, `administer` also changes rules
//! and functions.

use functions::CORE;
use serde_json::Value;

use crate::fault::Fault;

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

/// Whether somebody may do something with a node and what is below it; `tree` has the rules.
pub fn permit(tree: &Value, who: &Who, access: Access, path: &str) -> Result<(), Fault> {
    let refused = |why: String| {
        let name = if who.name.is_empty() { "nobody" } else { &who.name };
        Err(Fault::denied(format!("{name} may not {} {path}: {why}", access.name())).at(path))
    };
    let rules =
        tree.get(format!("{CORE}:access")).and_then(|access| access.get("rule")).and_then(Value::as_array);
    // Whoever administers cannot be locked out.
    if who.role != Role::Administer {
        for rule in rules.into_iter().flatten() {
            if concerns(rule, who, access, path) {
                let name = rule.get("name").and_then(Value::as_str).unwrap_or_default();
                return match rule.get("action").and_then(Value::as_str) {
                    Some("permit") => Ok(()),
                    _ => refused(format!("rule `{name}` denies it")),
                };
            }
        }
    }
    let is_about_rules = path.starts_with(&format!("/{CORE}:access"));
    let needed = match access {
        Access::Read => Role::Read,
        Access::Administer => Role::Administer,
        Access::Write if is_about_rules => Role::Administer,
        Access::Write | Access::Execute => Role::Operate,
    };
    match who.role >= needed {
        true => Ok(()),
        false => refused(format!("that needs the role {}; the role is {}", needed.name(), who.role.name())),
    }
}

fn concerns(rule: &Value, who: &Who, access: Access, path: &str) -> bool {
    let words = |name: &str| {
        rule.get(name)
            .and_then(Value::as_array)
            .map(|list| list.iter().filter_map(Value::as_str).collect::<Vec<_>>())
    };
    let is_whose = words("who").is_none_or(|names| {
        names.iter().any(|name| *name == who.name || name.strip_prefix("role:") == Some(who.role.name()))
    });
    let is_of_kind = words("access").is_none_or(|kinds| kinds.contains(&access.name()));
    let is_about = rule.get("path").and_then(Value::as_str).is_none_or(|prefix| {
        let prefix = prefix.trim_end_matches('/');
        let rest = path.strip_prefix(prefix);
        let is_below = rest.is_some_and(|rest| rest.is_empty() || rest.starts_with(['/', '=']));
        // What is read from further up would show what is below.
        let is_above = access == Access::Read && prefix.starts_with(path.trim_end_matches('/'));
        let is_denial = rule.get("action").and_then(Value::as_str) != Some("permit");
        is_below || (is_above && is_denial)
    });
    is_whose && is_of_kind && is_about
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    fn who(name: &str, role: Role) -> Who {
        Who { name: name.into(), role }
    }

    #[test]
    fn roles_decide_where_no_rule_does() {
        let tree = json!({});
        for (role, read, write, rules, administer) in [
            (Role::Nobody, false, false, false, false),
            (Role::Read, true, false, false, false),
            (Role::Operate, true, true, false, false),
            (Role::Administer, true, true, true, true),
        ] {
            let may = |access, path| permit(&tree, &who("x", role), access, path).is_ok();
            assert_eq!(may(Access::Read, "/nat:nat"), read);
            assert_eq!(may(Access::Write, "/nat:nat=a"), write);
            assert_eq!(may(Access::Execute, "/nat:nat=a/flush"), write);
            assert_eq!(may(Access::Write, "/weir:access/rule=1"), rules);
            assert_eq!(may(Access::Administer, "/functions/x"), administer);
        }
    }

    #[test]
    fn rules_decide_in_their_order() {
        let tree = json!({ "weir:access": { "rule": [
            { "name": "own", "who": ["ann"], "path": "/nat:nat=a", "action": "permit" },
            { "name": "others", "who": ["role:read", "ann"], "path": "/nat:nat", "action": "deny" },
            { "name": "log", "access": ["execute"], "action": "deny" },
        ] } });
        let may = |name, role, access, path| permit(&tree, &who(name, role), access, path).is_ok();
        assert!(may("ann", Role::Read, Access::Write, "/nat:nat=a/inside"));
        assert!(!may("ann", Role::Operate, Access::Write, "/nat:nat=ab"));
        assert!(!may("ann", Role::Operate, Access::Read, "/nat:nat"));
        assert!(!may("ann", Role::Operate, Access::Read, ""), "the whole would show what is denied");
        assert!(may("bob", Role::Operate, Access::Read, "/nat:nat=b"));
        assert!(!may("bob", Role::Read, Access::Read, "/nat:nat=b"));
        assert!(!may("bob", Role::Operate, Access::Execute, "/nat:nat=b/flush"));
        assert!(may("root", Role::Administer, Access::Execute, "/nat:nat=b/flush"));
        let told = permit(&tree, &who("bob", Role::Read), Access::Read, "/nat:nat=b").unwrap_err();
        assert_eq!(told.message, "bob may not read /nat:nat=b: rule `others` denies it");
    }
}
