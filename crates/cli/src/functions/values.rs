//! The values of a function's parameters.

use std::collections::BTreeMap;

use clap::ArgMatches;

use super::leaf::{Leaf, Type};
use super::side::{DIRECTION, SIDES};
use super::{INTERFACE_OPTION, STAGE_INTERFACES};

/// What was given for each parameter, or its default.
pub struct Values {
    leaves: &'static [Leaf],
    texts: BTreeMap<&'static str, Vec<String>>,
    interfaces: Vec<String>,
}

impl Values {
    /// The values on a command line.
    pub fn of_matches(leaves: &'static [Leaf], matches: &ArgMatches) -> Values {
        let mut texts = BTreeMap::new();
        for leaf in leaves {
            let given = match leaf.ty {
                _ if leaf.name == DIRECTION.name => direction(matches),
                Type::Flag => matches.get_flag(leaf.name).then(Vec::new),
                _ => matches.get_many::<String>(leaf.name).map(|values| values.cloned().collect()),
            };
            let default = || leaf.default.map(|value| vec![value.to_string()]);
            if let Some(values) = given.or_else(default) {
                texts.insert(leaf.name, values);
            }
        }
        let more = matches.try_get_many::<String>(INTERFACE_OPTION).ok().flatten().unwrap_or_default();
        let mut interfaces = STAGE_INTERFACES.map(str::to_string).to_vec();
        for text in more {
            let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
            if !interfaces.iter().any(|known| known == name) {
                interfaces.push(name.to_string());
            }
        }
        Values { leaves, texts, interfaces }
    }

    /// What is wrong with any value: the flag, the value, and what to do.
    pub fn check(&self) -> Result<(), String> {
        for leaf in self.leaves {
            for text in self.list(leaf.name) {
                leaf.ty.check(text).map_err(|message| wrong(&leaf.flag(), text, &message))?;
            }
        }
        for name in &self.interfaces {
            let is_name = |c: char| c.is_ascii_alphanumeric() || "_-.".contains(c);
            if name.is_empty() || !name.chars().all(is_name) {
                let message = "expected a name of letters, digits and `_-.`, as in --if dmz=tap:tap2";
                return Err(wrong("--if", name, message));
            }
        }
        Ok(())
    }

    /// The names of all interfaces, `left` and `right` first.
    pub fn interfaces(&self) -> &[String] {
        &self.interfaces
    }

    /// The number of an interface; the error names `flag` and its `value`.
    pub fn interface(&self, name: &str, flag: &str, value: &str) -> Result<usize, String> {
        self.interfaces.iter().position(|known| known == name).ok_or_else(|| {
            let known = self.interfaces.join(", ");
            let message =
                format!("no interface `{name}`; there are {known}; add it with --if {name}=KIND:ARGS");
            wrong(flag, value, &message)
        })
    }

    /// Whether a flag is given.
    pub fn flag(&self, name: &str) -> bool {
        self.texts.contains_key(name)
    }

    /// All values of a parameter.
    pub fn list(&self, name: &str) -> &[String] {
        debug_assert!(self.leaves.iter().any(|leaf| leaf.name == name), "{name} is no parameter");
        self.texts.get(name).map_or(&[], Vec::as_slice)
    }

    /// The value of a parameter, if it has one.
    pub fn get(&self, name: &str) -> Option<&str> {
        self.list(name).first().map(String::as_str)
    }

    /// The value of a parameter that has a default or must be given.
    pub fn need(&self, name: &str) -> Result<&str, String> {
        self.get(name).ok_or_else(|| format!("--{name} is needed"))
    }

    /// The value of a parameter that has a default or must be given, as what it stands for.
    pub fn parse<T>(&self, name: &str, parse: fn(&str) -> Result<T, String>) -> Result<T, String> {
        let text = self.need(name)?;
        parse(text).map_err(|message| wrong(&format!("--{name}"), text, &message))
    }

    /// The value of a parameter, if it has one, as what it stands for.
    pub fn parse_given<T>(
        &self,
        name: &str,
        parse: fn(&str) -> Result<T, String>,
    ) -> Result<Option<T>, String> {
        self.get(name).map(|_| self.parse(name, parse)).transpose()
    }

    /// All values of a parameter, as what they stand for.
    pub fn parse_all<T>(&self, name: &str, parse: fn(&str) -> Result<T, String>) -> Result<Vec<T>, String> {
        let parsed =
            |text: &String| parse(text).map_err(|message| wrong(&format!("--{name}"), text, &message));
        self.list(name).iter().map(parsed).collect()
    }
}

/// The direction, by its own flag or by those that are short for it.
fn direction(matches: &ArgMatches) -> Option<Vec<String>> {
    let given = SIDES.map(|side| matches.get_flag(side));
    let side = match given {
        [true, true] => "both",
        [true, false] => SIDES[0],
        [false, true] => SIDES[1],
        [false, false] => return Some(vec![matches.get_one::<String>(DIRECTION.name)?.clone()]),
    };
    Some(vec![side.to_string()])
}

/// What is told of a value that is wrong.
pub fn wrong(flag: &str, value: &str, message: &str) -> String {
    format!("{flag} `{value}`: {message}")
}
