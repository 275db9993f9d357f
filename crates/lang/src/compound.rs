//! Compound elements while a text is read; the whole file is one too.

use std::collections::HashMap;

use graph::{Diagnostics, Place};

use crate::classes::TypeIdx;

/// One end of a connection: element and port.
pub(crate) type End = (usize, usize);

/// An element of a compound.
#[derive(Clone, Debug)]
pub(crate) struct Item {
    pub kind: TypeIdx,
    /// Until the compound is complete, an anonymous element's name starts with `;`.
    pub name: String,
    pub config: String,
    pub place: Place,
    /// How many inputs and outputs are used.
    pub n_ports: [usize; 2],
}

#[derive(Clone, Debug)]
pub(crate) struct Link {
    pub from: End,
    pub to: End,
    pub place: Place,
}

/// A compound element: its parameters, elements and connections.
#[derive(Clone, Debug, Default)]
pub(crate) struct Compound {
    pub name: String,
    pub place: Place,
    /// How many compounds are around it.
    pub depth: usize,
    /// Parameters, as name and keyword, then defined variables, as name and value.
    pub variables: Vec<(String, String)>,
    pub n_parameters: usize,
    pub n_inputs: usize,
    pub n_outputs: usize,
    pub items: Vec<Item>,
    pub names: HashMap<String, usize>,
    pub links: Vec<Link>,
    /// How many of the first elements do not count in the names of anonymous ones.
    pub uncounted: usize,
    pub order_told: bool,
}

/// The two pseudo-elements of a compound or group.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Pseudo {
    Input,
    Output,
}

impl Compound {
    pub fn new(name: &str, place: Place, depth: usize) -> Compound {
        Compound { name: name.to_string(), place, depth, ..Compound::default() }
    }

    /// The name that messages use.
    pub fn printable_name(&self) -> &str {
        if self.name.is_empty() {
            "<anonymous>"
        } else {
            &self.name
        }
    }

    /// The keywords of the parameters: empty for a positional one.
    pub fn keywords(&self) -> Vec<&str> {
        self.variables.iter().take(self.n_parameters).map(|(_, keyword)| keyword.as_str()).collect()
    }

    pub fn add_parameter(&mut self, name: &str, keyword: &str, place: &Place, diagnostics: &mut Diagnostics) {
        if !self.define(name, keyword, ("$", place), diagnostics) {
            return;
        }
        self.n_parameters = self.variables.len();
        let (_, others) = self.variables.split_last().expect("a parameter was just added");
        if !keyword.is_empty() && others.iter().any(|(_, known)| known == keyword) {
            let message = format!("repeated keyword parameter '{keyword}' in compound element");
            diagnostics.error(place, message);
        }
        let before = others.last().map_or("", |(_, keyword)| keyword);
        if !self.order_told && ((keyword.is_empty() && !before.is_empty()) || before == "__REST__") {
            let order = "(The correct order is '[positional], [keywords], [__REST__]'.)";
            diagnostics.error(place, format!("compound element parameters out of order\n{order}"));
            self.order_told = true;
        }
    }

    /// Defines a variable; false if there is one of that name, which is told with `sign` in front.
    pub fn define(
        &mut self,
        name: &str,
        value: &str,
        (sign, place): (&str, &Place),
        diagnostics: &mut Diagnostics,
    ) -> bool {
        if self.variables.iter().any(|(known, _)| known == name) {
            diagnostics
                .error(place, format!("parameter '{sign}{name}' multiply defined"))
                .help("rename one of them");
            return false;
        }
        self.variables.push((name.to_string(), value.to_string()));
        true
    }

    /// A name for an anonymous element of class `class`, still marked by `;`.
    pub fn anonymous_name(&self, class: &str) -> String {
        format!(";{class}@{}", self.items.len() + 1 - self.uncounted)
    }

    pub fn connect(&mut self, from: End, to: End, place: Place) {
        if let Some(item) = self.items.get_mut(to.0) {
            item.n_ports[0] = item.n_ports[0].max(to.1 + 1);
        }
        if let Some(item) = self.items.get_mut(from.0) {
            item.n_ports[1] = item.n_ports[1].max(from.1 + 1);
        }
        self.links.push(Link { from, to, place });
    }

    /// Checks the use of the pseudo-element `idx` of a compound or group called `name`, whose links start at
    /// `first_link`; returns how many ports it has.
    pub fn check_pseudo(
        &self,
        (idx, pseudo): (usize, Pseudo),
        first_link: usize,
        name: &str,
        place: &Place,
        diagnostics: &mut Diagnostics,
    ) -> usize {
        let Some(item) = self.items.get(idx) else { return 0 };
        let (word, other, n_used, n_misused) = match pseudo {
            Pseudo::Input => ("input", "output", item.n_ports[1], item.n_ports[0]),
            Pseudo::Output => ("output", "input", item.n_ports[0], item.n_ports[1]),
        };
        let mut used = vec![false; n_used];
        for link in self.links.iter().skip(first_link) {
            let end = if pseudo == Pseudo::Input { link.from } else { link.to };
            if end.0 == idx {
                used[end.1] = true;
            }
        }
        if n_misused > 0 {
            diagnostics.error(place, format!("'{name}' pseudoelement '{word}' may only be used as {other}"));
        }
        for (port, _) in used.iter().enumerate().filter(|(_, used)| !**used) {
            diagnostics
                .error(place, format!("'{name}' {word} {port} missing"))
                .help(format!("ports are numbered from 0 without gaps; connect `{word} [{port}]`"));
        }
        n_used
    }

    /// Gives the anonymous element `idx` its lasting name, which no other element has.
    pub fn settle_name(&mut self, idx: usize) {
        let Some(marked) = self.items.get(idx).and_then(|item| item.name.strip_prefix(';')) else { return };
        let mut name = marked.to_string();
        if self.names.contains_key(&name) {
            let (prefix, number) = name.rsplit_once('@').unwrap_or((&name, ""));
            let prefix = format!("{prefix}@");
            let digits = number.bytes().take_while(u8::is_ascii_digit).count();
            let mut number: u64 = number[..digits].parse().unwrap_or(0);
            while self.names.contains_key(&name) {
                number += 1;
                name = format!("{prefix}{number}");
            }
        }
        self.names.insert(name.clone(), idx);
        self.items[idx].name = name;
    }

    /// The compound as messages tell it: name, parameters and ports.
    pub fn signature(&self) -> String {
        let parameter = |keyword: &&(String, String)| match keyword.1.as_str() {
            "" => "<arg>".to_string(),
            "__REST__" => "...".to_string(),
            keyword => keyword.to_string(),
        };
        // Click lists defined variables among the parameters.
        let list: Vec<String> = self.variables.iter().map(|variable| parameter(&variable)).collect();
        let list = if list.is_empty() { String::new() } else { format!("({})", list.join(", ")) };
        format!("{}{list}[{}]", self.printable_name(), ports(self.n_inputs, self.n_outputs))
    }
}

/// A use of a compound as messages tell it: name, number of arguments and ports.
pub(crate) fn use_signature(
    compound: &Compound,
    n_arguments: usize,
    n_inputs: usize,
    n_outputs: usize,
) -> String {
    let arguments = match n_arguments {
        0 => String::new(),
        1 => "1 argument, ".to_string(),
        n => format!("{n} arguments, "),
    };
    format!("{}[{arguments}{}]", compound.printable_name(), ports(n_inputs, n_outputs))
}

fn ports(n_inputs: usize, n_outputs: usize) -> String {
    let plural = |n: usize| if n == 1 { "" } else { "s" };
    format!("{n_inputs} input{}, {n_outputs} output{}", plural(n_inputs), plural(n_outputs))
}

/// Assigns `arguments` to parameters with these `keywords`; `None` if they do not fit.
pub(crate) fn assign(arguments: &[String], keywords: &[&str]) -> Option<Vec<String>> {
    match keywords.last() {
        None | Some(&"") => return (arguments.len() == keywords.len()).then(|| arguments.to_vec()),
        Some(_) => {}
    }
    let has_rest = keywords.last() == Some(&"__REST__");
    let n_values = keywords.len() - usize::from(has_rest);
    let n_positional = keywords.iter().take(n_values).take_while(|keyword| keyword.is_empty()).count();
    let mut values: Vec<Option<String>> = vec![None; n_values];
    let mut rest: Vec<&str> = Vec::new();
    for (idx, argument) in arguments.iter().enumerate() {
        if idx < n_positional {
            values[idx] = Some(argument.clone());
        } else if let Some((slot, value)) = keyword_argument(argument, &keywords[..n_values]) {
            values[slot] = Some(value.to_string());
        } else if has_rest {
            rest.push(argument);
        } else {
            return None;
        }
    }
    let mut values = values.into_iter().collect::<Option<Vec<String>>>()?;
    if has_rest {
        values.push(rest.join(", "));
    }
    Some(values)
}

fn keyword_argument<'v>(argument: &'v str, keywords: &[&str]) -> Option<(usize, &'v str)> {
    let end = argument.bytes().position(args::is_space).unwrap_or(argument.len());
    let (keyword, value) = argument.split_at(end);
    let valid = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'.' | b':' | b'?' | b'!');
    if keyword.is_empty() || !keyword.bytes().all(valid) {
        return None;
    }
    let slot = keywords.iter().position(|known| *known == keyword)?;
    Some((slot, value.trim_start_matches(|c: char| c.is_ascii() && args::is_space(c as u8))))
}

#[cfg(test)]
mod tests {
    use super::assign;

    fn check(arguments: &str, keywords: &[&str], expected: Option<&[&str]>) {
        let values = assign(&args::split_args(arguments), keywords);
        let expected =
            expected.map(|values| values.iter().map(|value| value.to_string()).collect::<Vec<_>>());
        assert_eq!(values, expected, "{arguments}");
    }

    #[test]
    fn arguments_fill_parameters() {
        check("a, b", &["", ""], Some(&["a", "b"]));
        check("a", &["", ""], None);
        check("A", &["", "__REST__"], Some(&["A", ""]));
        check("A, B, C", &["", "__REST__"], Some(&["A", "B, C"]));
        check("A, TWO  x y, C", &["", "TWO", "__REST__"], Some(&["A", "x y", "C"]));
        check("A, C, TWO x", &["", "TWO", "__REST__"], Some(&["A", "x", "C"]));
        check("A, C", &["", "TWO", "__REST__"], None);
        check("TWO, TWO x", &["", "TWO"], Some(&["TWO", "x"]));
        check("A, TWO x, B", &["", "TWO"], None);
        check("A, TWO x, TWO y", &["", "TWO"], Some(&["A", "y"]));
    }
}
