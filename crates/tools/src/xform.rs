//! Replacing patterns of elements by others.

use std::collections::HashMap;

use graph::{Diagnostics, Place};
use lang::{Kind, Outline};

use crate::expand::{expand_compound, flatten, inside};
use crate::isomorphism;
use crate::router::{port, Element, Port, Router, Side};

/// The ending of the name of what replaces a pattern.
const REPLACEMENT: &str = "_Replacement";
/// How often patterns may be replaced, at least and for each element: some follow each other for ever.
const MAX_REPLACEMENTS: (usize, usize) = (4096, 64);

/// A pattern and what replaces it: compound elements of a pattern file.
#[derive(Clone, Debug)]
pub struct Pattern<'a> {
    name: String,
    outline: &'a Outline,
    from: usize,
    to: usize,
}

/// The patterns of a file: pairs of compound elements called `NAME` and `NAME_Replacement`.
pub fn patterns(outline: &Outline) -> Vec<Pattern<'_>> {
    let compound = |kind: &Kind| match kind {
        Kind::Compound(idx) => Some(*idx),
        _ => None,
    };
    let pairs = outline.classes.iter().filter_map(|(replacement, kind)| {
        let name = replacement.strip_suffix(REPLACEMENT).filter(|name| !name.is_empty())?;
        let (_, pattern) = outline.classes.iter().rev().find(|(other, _)| other == name)?;
        Some(Pattern { name: name.to_string(), outline, from: compound(pattern)?, to: compound(kind)? })
    });
    pairs.collect()
}

/// Replaces patterns in a flat router until none is left; `is_reversed` turns patterns and replacements round.
pub fn xform(router: &mut Router, patterns: &[Pattern], is_reversed: bool, diagnostics: &mut Diagnostics) {
    let mut ordered: Vec<Pattern> = patterns.to_vec();
    if is_reversed {
        ordered.reverse();
        for pattern in &mut ordered {
            std::mem::swap(&mut pattern.from, &mut pattern.to);
        }
        // Click gives the new elements the names of the patterns in their first order.
        for (pattern, named) in ordered.iter_mut().zip(patterns) {
            pattern.name.clone_from(&named.name);
        }
    }
    let flat = |pattern: &Pattern, diagnostics: &mut Diagnostics| {
        let mut flat = inside(&pattern.outline.compounds[pattern.from]);
        flatten(&mut flat, pattern.outline, false, diagnostics);
        flat
    };
    let flat: Vec<Router> = ordered.iter().map(|pattern| flat(pattern, diagnostics)).collect();
    let mut rewriter = Rewriter { body: router, room: 0, counts: HashMap::new() };
    rewriter.room = rewriter.body.elements.len().next_power_of_two();
    let limit = MAX_REPLACEMENTS.0.saturating_add(MAX_REPLACEMENTS.1 * rewriter.body.elements.len());
    let mut n_replaced = 0;
    while let Some((idx, found)) = flat
        .iter()
        .enumerate()
        .find_map(|(idx, pattern)| Some((idx, Match::find(pattern, rewriter.body, idx + 1)?)))
    {
        if n_replaced >= limit {
            diagnostics.error(&Place::default(), "the patterns replace each other without end");
            break;
        }
        rewriter.replace(&ordered[idx], &flat[idx], idx + 1, found, diagnostics);
        n_replaced += 1;
    }
    if n_replaced > 0 {
        router.compact();
    }
}

/// A place where a pattern fits.
#[derive(Default)]
struct Match {
    /// For each element of the pattern, that of the router.
    elements: Vec<Option<usize>>,
    /// What the variables of the pattern stand for.
    variables: HashMap<String, String>,
    /// Ports outside that lead to inputs of the pattern, and to which outputs lead.
    inputs: Vec<(Port, usize)>,
    outputs: Vec<(usize, Port)>,
}

impl Match {
    /// Finds the first place in `body` where `pattern` fits; `mark` tells elements that came from it before.
    fn find(pattern: &Router, body: &Router, mark: usize) -> Option<Match> {
        let mut complete = None;
        isomorphism::find(pattern, body, &mut |elements| {
            complete = Match::check(pattern, body, mark, elements);
            complete.is_some()
        })?;
        complete
    }

    fn check(pattern: &Router, body: &Router, mark: usize, elements: &[Option<usize>]) -> Option<Match> {
        let mut found = Match { elements: elements.to_vec(), ..Match::default() };
        let pairs = || elements.iter().enumerate().filter_map(|(idx, element)| Some((idx, (*element)?)));
        for (idx, element) in pairs() {
            let (wanted, config) = (&pattern.elements[idx].config, &body.elements[element].config);
            if !match_config(wanted, config, &mut found.variables) {
                return None;
            }
        }
        // What this pattern's replacement brought is not replaced again on its own.
        if pairs().all(|(_, element)| body.elements[element].mark == mark) {
            return None;
        }
        let back: HashMap<usize, usize> = pairs().map(|(idx, element)| (element, idx)).collect();
        let border = Border { pattern, body, elements, back };
        for wire in body.wires() {
            let [from, to] = [wire.from, wire.to].map(|end| border.in_pattern(end));
            match (from, to) {
                (Some(from), Some(to)) if !pattern.has_connection(from, to) => return None,
                (None, Some(inside)) => found.inputs.push((wire.from, border.input(wire.from, inside)?)),
                (Some(inside), None) => found.outputs.push((border.output(wire.to, inside)?, wire.to)),
                _ => {}
            }
        }
        let is_met = pattern.wires().all(|wire| {
            let from = &pattern.elements[wire.from.element];
            let to = &pattern.elements[wire.to.element];
            let no_input = from.is_tunnel() && !found.inputs.iter().any(|(_, port)| *port == wire.from.port);
            let no_output = to.is_tunnel() && !found.outputs.iter().any(|(port, _)| *port == wire.to.port);
            !no_input && !no_output
        });
        is_met.then_some(found)
    }
}

/// What connects a match with the rest of the router.
struct Border<'a> {
    pattern: &'a Router,
    body: &'a Router,
    elements: &'a [Option<usize>],
    back: HashMap<usize, usize>,
}

impl Border<'_> {
    fn in_pattern(&self, end: Port) -> Option<Port> {
        self.back.get(&end.element).map(|element| port(*element, end.port))
    }

    /// The input of the pattern by which `outside` leads to `inside`.
    fn input(&self, outside: Port, inside: Port) -> Option<usize> {
        self.tunnel(outside, inside, Side::Input)
    }

    /// The output of the pattern by which `inside` leads to `outside`.
    fn output(&self, outside: Port, inside: Port) -> Option<usize> {
        self.tunnel(outside, inside, Side::Output)
    }

    /// The first port of the pattern that stands for `outside`: all that it leads to must be connected to `outside` too.
    fn tunnel(&self, outside: Port, inside: Port, side: Side) -> Option<usize> {
        let there = self.body.neighbours(outside, side.other());
        let is_met = |end: &Port| {
            self.pattern.neighbours(*end, side.other()).into_iter().all(|end| {
                self.elements[end.element].is_some_and(|element| there.contains(&port(element, end.port)))
            })
        };
        let tunnels = self.pattern.neighbours(inside, side).into_iter();
        let tunnels = tunnels.filter(|end| self.pattern.elements[end.element].is_tunnel());
        tunnels.filter(is_met).map(|end| end.port).min()
    }
}

struct Rewriter<'a> {
    body: &'a mut Router,
    /// How many elements there may be before gaps are closed.
    room: usize,
    /// How often each pattern's name was used.
    counts: HashMap<String, usize>,
}

impl Rewriter<'_> {
    fn replace(
        &mut self,
        pattern: &Pattern,
        flat: &Router,
        mark: usize,
        found: Match,
        diagnostics: &mut Diagnostics,
    ) {
        let name = self.unused_name(&pattern.name);
        let place = Place::default();
        let mut changed = Vec::new();
        let mut old_names = HashMap::new();
        for (idx, element) in found.elements.iter().enumerate().filter_map(|(idx, e)| Some((idx, (*e)?))) {
            changed.push(element);
            old_names.insert(idx, self.body.elements[element].name.clone());
            self.body.remove(element);
        }
        self.body.added = Some(changed);
        self.body.get_or_add(Element::new(name.clone(), Kind::Tunnel, String::new(), place.clone()));
        expand_compound(self.body, pattern.outline, pattern.to, &name, diagnostics);
        for idx in self.body.added.take().unwrap_or_default() {
            let element = &mut self.body.elements[idx];
            if !element.is_dead {
                element.mark = mark;
                put_variables(element, &found.variables);
            }
        }
        for idx in 0..flat.elements.len() {
            let new = self.body.find(&format!("{name}/{}", flat.elements[idx].name));
            if let (Some(new), Some(old_name)) = (new, old_names.remove(&idx)) {
                self.body.rename(new, old_name);
            }
        }
        if let Some(tunnel) = self.body.find(&name) {
            for (outside, input) in found.inputs {
                self.body.connect(outside, port(tunnel, input), place.clone());
            }
            for (output, outside) in found.outputs {
                self.body.connect(port(tunnel, output), outside, place.clone());
            }
        }
        // Ports that the replacement leaves out are nothing to tell.
        self.body.remove_tunnels(&mut Diagnostics::default());
        self.close_gaps();
    }

    /// Closes the gaps that elements and connections which were taken out have left, when there are many.
    fn close_gaps(&mut self) {
        if self.body.n_wires_ever() > 4 * self.body.wires().count() + 1000 {
            self.body.drop_dead_connections();
        }
        if self.body.elements.len() > self.room || self.body.elements.len() >= self.body.n_counted() + 500 {
            self.body.compact();
            self.room = self.body.elements.len().next_power_of_two();
        }
    }

    fn unused_name(&mut self, base: &str) -> String {
        let count = self.counts.entry(base.to_string()).or_insert(1);
        loop {
            let name = format!("{base}@{count}");
            *count += 1;
            let inside = format!("{name}/");
            let is_used = |idx: usize| {
                let other = &self.body.elements[idx].name;
                other.len() > inside.len() && other.starts_with(&inside)
            };
            if !self.body.live().any(is_used) {
                return name;
            }
        }
    }
}

/// Puts the values of variables into arguments that are nothing but a variable.
fn put_variables(element: &mut Element, variables: &HashMap<String, String>) {
    let mut arguments = args::split_args(&element.config);
    let mut changed = false;
    for argument in arguments.iter_mut().filter(|argument| argument.len() > 1 && argument.starts_with('$')) {
        if let Some(value) = variables.get(argument) {
            argument.clone_from(value);
            changed = true;
        }
    }
    if changed {
        element.config = args::join_args(&arguments);
    }
}

/// Whether a configuration string fits that of a pattern, in which an argument `$name` stands for any argument, and each
/// time for the same one.
fn match_config(pattern: &str, config: &str, variables: &mut HashMap<String, String>) -> bool {
    let (pattern, config) = (args::split_args(pattern), args::split_args(config));
    if pattern.len() != config.len() {
        return false;
    }
    let mut new: HashMap<&String, &String> = HashMap::new();
    for (wanted, value) in pattern.iter().zip(&config).filter(|(wanted, value)| wanted != value) {
        let name = wanted.strip_prefix('$').unwrap_or("");
        if name.is_empty() || !name.bytes().all(|byte| byte.is_ascii_alphanumeric() || byte == b'_') {
            return false;
        }
        let known = variables.get(wanted).or_else(|| new.get(wanted).copied());
        match known {
            Some(known) if known != value => return false,
            Some(_) => {}
            None => {
                new.insert(wanted, value);
            }
        }
    }
    variables.extend(new.into_iter().map(|(name, value)| (name.clone(), value.clone())));
    true
}

#[cfg(test)]
mod tests {
    use expect_test::{expect, Expect};

    use super::*;
    use crate::testing::{flat, outline, unparse};

    fn check(text: &str, patterns_text: &str, is_reversed: bool, expected: Expect) {
        let (mut router, _) = flat(text);
        let mut diagnostics = Diagnostics::default();
        let outline = outline(patterns_text, &mut diagnostics);
        xform(&mut router, &patterns(&outline), is_reversed, &mut diagnostics);
        expected.assert_eq(&format!("{}{}", unparse(&router), lang::click_texts(&diagnostics.list)));
    }

    const SWAP: &str = "elementclass P { input -> s :: Strip($a) -> c :: Check(X, $a) -> output }
        elementclass P_Replacement { input -> n :: New($a, $b) -> c :: Old -> output }";

    #[test]
    fn variables_match_any_argument_but_always_the_same() {
        check(
            "A -> Strip(14) -> Check(X, 14) -> B; C -> Strip(1) -> Check(X, 2) -> D",
            SWAP,
            false,
            expect![[r#"
                A@1 :: A;
                B@4 :: B;
                C@5 :: C;
                Strip@6 :: Strip(1);
                Check@7 :: Check(X, 2);
                D@8 :: D;
                P@1/n :: New(14, $b);
                Check@3 :: Old;
                C@5 -> Strip@6
                    -> Check@7
                    -> D@8;
                A@1 -> P@1/n
                    -> Check@3
                    -> B@4;
            "#]],
        );
    }

    #[test]
    fn patterns_apply_in_reverse() {
        check(
            "A -> New(1, 2) -> x :: Old -> B",
            SWAP,
            true,
            expect![[r#"
            A@1 :: A;
            B@4 :: B;
            P@1/s :: Strip(1);
            x :: Check(X, 1);
            A@1 -> P@1/s
                -> x
                -> B@4;
        "#]],
        );
    }

    #[test]
    fn connections_across_the_border_need_a_port_of_the_pattern() {
        check(
            "A -> s :: Strip(1) -> Check(X, 1) -> B; s -> C",
            SWAP,
            false,
            expect![[r#"
            A@1 :: A;
            s :: Strip(1);
            Check@3 :: Check(X, 1);
            B@4 :: B;
            C@5 :: C;
            A@1 -> s
                -> Check@3
                -> B@4;
            s -> C@5;
        "#]],
        );
        check(
            "A, A2 -> Strip(1) -> Check(X, 1) -> B, B2",
            SWAP,
            false,
            expect![[r#"
            A@1 :: A;
            A2@2 :: A2;
            B@5 :: B;
            B2@6 :: B2;
            P@1/n :: New(1, $b);
            Check@4 :: Old;
            A2@2 -> P@1/n
                -> Check@4
                -> B@5;
            A@1 -> P@1/n;
            Check@4 -> B2@6;
        "#]],
        );
    }

    #[test]
    fn patterns_that_undo_each_other_come_to_an_end() {
        let pattern = |name: &str, from: &str, to: &str| {
            format!(
                "elementclass {name} {{ input -> {from} -> output }}
                 elementclass {name}_Replacement {{ input -> {to} -> output }}\n"
            )
        };
        let (mut router, _) = flat("A -> X -> B");
        let mut diagnostics = Diagnostics::default();
        let outline = outline(&(pattern("P", "X", "Y") + &pattern("Q", "Y", "X")), &mut diagnostics);
        xform(&mut router, &patterns(&outline), false, &mut diagnostics);
        assert_eq!(lang::click_texts(&diagnostics.list), "the patterns replace each other without end\n");
    }
}
