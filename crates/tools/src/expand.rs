//! From a text as it was written to a router, and compound elements expanded.

use std::rc::Rc;

use graph::{Diagnostics, Place};
use lang::{Body, Budget, Compound, Kind, Outline, Part, Scope};

use crate::router::{port, Element, Router};
use crate::tunnels::redeclared;

/// How deep compound elements may hold compound elements when expanded.
const MAX_DEPTH: usize = 200;
/// How many elements a configuration may have.
const MAX_ELEMENTS: usize = 1 << 20;
/// How many bytes the expansion of variables may look at.
const EXPANSION_BUDGET: u64 = 1 << 28;

/// The configuration that a text holds, compound elements not expanded.
pub fn router(outline: &Outline) -> Router {
    let mut router = Router::default();
    router.requirements.clone_from(&outline.requirements);
    router.definitions.clone_from(&outline.definitions);
    fill(&mut router, &outline.main);
    router
}

/// The inside of a compound element, its `input` and `output` among the elements.
pub(crate) fn inside(compound: &Compound) -> Router {
    let mut router = Router::default();
    router.definitions.clone_from(&compound.definitions);
    fill(&mut router, &compound.body);
    router
}

fn fill(router: &mut Router, body: &Body) {
    for part in &body.parts {
        let Part { name, kind, config, place } = part.clone();
        router.get_or_add(Element::new(name, kind, config, place));
    }
    for (input, output) in body.parts.iter().filter(|part| part.kind == Kind::Tunnel).flat_map(tunnels) {
        if let (Some(from), Some(to)) = (router.find(&input), router.find(&output)) {
            router.elements[from].leads_to = Some(to);
            router.elements[to].comes_from = Some(from);
        }
    }
    for wire in &body.wires {
        router.connect(port(wire.from.0, wire.from.1), port(wire.to.0, wire.to.1), wire.place.clone());
    }
}

/// Inputs and outputs of the tunnels that begin at a group's own element.
fn tunnels(part: &Part) -> [(String, String); 2] {
    let name = &part.name;
    [(name.clone(), format!("{name}/input")), (format!("{name}/output"), name.clone())]
}

/// Replaces the compound elements of `router` by what is in them. Variables of the file are put in if `expand_variables`.
pub fn flatten(
    router: &mut Router,
    outline: &Outline,
    expand_variables: bool,
    diagnostics: &mut Diagnostics,
) {
    let budget = Budget::new(EXPANSION_BUDGET);
    let mut scope = Scope::inside(None);
    for (name, value) in &router.definitions {
        let value = match expand_variables {
            true => scope.expand(value, &budget),
            // A variable stands for itself, so that `${name-default}` keeps its name.
            false => format!("${name}"),
        };
        scope.set(name, value);
    }
    let scope = Rc::new(scope);
    let mut expander = Expander { router, outline, budget: &budget, diagnostics, depth: 0 };
    for idx in 0..expander.router.elements.len() {
        expander.element(idx, &scope);
    }
    if budget.is_spent() {
        diagnostics.error(&Place::default(), "variables are too long when expanded");
    }
    router.remove_tunnels(diagnostics);
    router.compact();
    if expand_variables {
        router.definitions.clear();
    }
}

/// Puts the inside of a compound element where the tunnel called `name` is.
pub(crate) fn expand_compound(
    router: &mut Router,
    outline: &Outline,
    compound: usize,
    name: &str,
    diagnostics: &mut Diagnostics,
) {
    let budget = Budget::new(EXPANSION_BUDGET);
    let scope = Rc::new(Scope::inside(None));
    let mut expander = Expander { router, outline, budget: &budget, diagnostics, depth: 0 };
    let found = &outline.compounds[compound];
    if !found.parameters.is_empty() {
        let parameters = found.parameters.join(", ");
        let message = format!("too few arguments to compound element '{}({parameters})'", name_of(found));
        expander.diagnostics.error(&Place::default(), message);
    }
    expander.compound(compound, name, &Place::default(), &[], &scope);
}

fn name_of(compound: &Compound) -> String {
    let signature = compound.signature();
    signature.split(['(', '[']).next().unwrap_or("").to_string()
}

struct Expander<'a> {
    router: &'a mut Router,
    outline: &'a Outline,
    budget: &'a Budget,
    diagnostics: &'a mut Diagnostics,
    depth: usize,
}

impl Expander<'_> {
    /// Expands an element of the router where it is.
    fn element(&mut self, idx: usize, scope: &Rc<Scope>) {
        let element = &self.router.elements[idx];
        if element.is_dead || element.is_tunnel() {
            return;
        }
        let config = scope.expand(&element.config, self.budget);
        let (name, place) = (element.name.clone(), element.place.clone());
        let n_ports = (element.n_inputs, element.n_outputs);
        match self.select(element.kind.clone(), &config, n_ports, &place) {
            None => self.router.kill(idx),
            Some((Kind::Compound(compound), arguments)) => {
                self.router.elements[idx].kind = Kind::Tunnel;
                self.compound(compound, &name, &place, &arguments, scope);
            }
            Some((kind, _)) => {
                self.router.elements[idx].kind = kind;
                self.router.elements[idx].config = config;
            }
        }
    }

    /// Expands the inside of a compound element; returns the number that each of its parts got.
    fn compound(
        &mut self,
        compound: usize,
        name: &str,
        place: &Place,
        arguments: &[String],
        scope: &Rc<Scope>,
    ) {
        let outline = self.outline;
        let found = &outline.compounds[compound];
        let prefix = if name.ends_with('/') { name.to_string() } else { format!("{name}/") };
        let mut inner = Scope::inside(Scope::around(scope, found.depth));
        for (idx, parameter) in found.parameters.iter().enumerate() {
            inner.set(parameter, arguments.get(idx).cloned().unwrap_or_default());
        }
        for (name, value) in &found.definitions {
            inner.set(name, scope.expand(value, self.budget));
        }
        self.router.add_tunnel(name, &format!("{prefix}input"), place, self.diagnostics);
        self.router.add_tunnel(&format!("{prefix}output"), name, place, self.diagnostics);
        if self.depth >= MAX_DEPTH || self.router.elements.len() >= MAX_ELEMENTS {
            let what =
                if self.depth >= MAX_DEPTH { "nested too deep" } else { "expanded to too many elements" };
            self.diagnostics.error(place, format!("compound element {what}"));
            return;
        }
        self.depth += 1;
        self.body(found, &prefix, &Rc::new(inner));
        self.depth -= 1;
    }

    fn body(&mut self, compound: &Compound, prefix: &str, scope: &Rc<Scope>) {
        let mut ports_used = vec![(0, 0); compound.body.parts.len()];
        for wire in &compound.body.wires {
            let (out, input) = (&mut ports_used[wire.from.0].1, wire.to);
            *out = (*out).max(wire.from.1 + 1);
            let n_inputs = &mut ports_used[input.0].0;
            *n_inputs = (*n_inputs).max(input.1 + 1);
        }
        let parts = compound.body.parts.iter().zip(&ports_used);
        let numbers: Vec<Option<usize>> =
            parts.map(|(part, n_ports)| self.part(part, *n_ports, &compound.body, prefix, scope)).collect();
        for wire in &compound.body.wires {
            if let (Some(from), Some(to)) = (numbers[wire.from.0], numbers[wire.to.0]) {
                self.router.connect(port(from, wire.from.1), port(to, wire.to.1), wire.place.clone());
            }
        }
    }

    fn part(
        &mut self,
        part: &Part,
        n_ports: (usize, usize),
        body: &Body,
        prefix: &str,
        scope: &Rc<Scope>,
    ) -> Option<usize> {
        let name = format!("{prefix}{}", part.name);
        let config = scope.expand(&part.config, self.budget);
        if part.kind == Kind::Tunnel {
            return Some(self.tunnel(part, name, body, prefix));
        }
        match self.select(part.kind.clone(), &config, n_ports, &part.place)? {
            (Kind::Compound(compound), arguments) => {
                self.compound(compound, &name, &part.place, &arguments, scope);
                self.router.find(&name)
            }
            (kind, _) => {
                if let Some(old) = self.router.find(&name) {
                    let old = self.router.elements[old].place.clone();
                    redeclared("element", &name, &part.place, &old, self.diagnostics);
                }
                Some(self.router.get_or_add(Element::new(name, kind, config, part.place.clone())))
            }
        }
    }

    fn tunnel(&mut self, part: &Part, name: String, body: &Body, prefix: &str) -> usize {
        let is_part = |wanted: &str| body.parts.iter().any(|part| part.name == wanted);
        let outer = part.name.strip_suffix("/output").filter(|outer| is_part(outer));
        let inner = format!("{}/input", part.name);
        match outer {
            Some(outer) => {
                self.router.add_tunnel(&name, &format!("{prefix}{outer}"), &part.place, self.diagnostics)
            }
            None if is_part(&inner) => {
                self.router.add_tunnel(&name, &format!("{prefix}{inner}"), &part.place, self.diagnostics)
            }
            None => {
                let tunnel = Element::new(name, Kind::Tunnel, String::new(), part.place.clone());
                self.router.get_or_add(tunnel)
            }
        }
    }

    /// Picks the alternative of a class that fits ports and arguments, and puts the arguments into its order.
    fn select(
        &mut self,
        kind: Kind,
        config: &str,
        n_ports: (usize, usize),
        place: &Place,
    ) -> Option<(Kind, Vec<String>)> {
        let Kind::Compound(first) = kind else { return Some((kind, Vec::new())) };
        let outline = self.outline;
        let arguments = args::split_args(config);
        let mut tried = vec![first];
        let mut closest = None;
        loop {
            let idx = *tried.last()?;
            let compound = &outline.compounds[idx];
            if let Some(values) = compound.assign(&arguments) {
                if compound.n_ports == n_ports {
                    return Some((Kind::Compound(idx), values));
                }
                closest = Some((Kind::Compound(idx), values));
            }
            match &compound.next {
                // A class that was extended by itself would come round again.
                Some(Kind::Compound(next)) if !tried.contains(next) => tried.push(*next),
                Some(Kind::Class(name)) => return Some((Kind::Class(name.clone()), arguments)),
                _ => break,
            }
        }
        if tried.len() != 1 || closest.is_none() {
            let wanted = outline.compounds[first].use_signature(arguments.len(), n_ports);
            self.diagnostics.error(place, format!("no match for '{wanted}'"));
            self.diagnostics.message(&outline.compounds[first].place, "candidates are:");
            for idx in tried {
                let candidate = &outline.compounds[idx];
                self.diagnostics.message(&candidate.place, format!("  {}", candidate.signature()));
            }
        }
        closest
    }
}

#[cfg(test)]
mod tests {
    use expect_test::{expect, Expect};

    use crate::testing::{flat, unparse};

    fn check(text: &str, expected: Expect) {
        let (router, told) = flat(text);
        expected.assert_eq(&format!("{}{told}", unparse(&router)));
    }

    #[test]
    fn compound_elements_and_groups_are_expanded_in_place() {
        check(
            "elementclass Foo { $a | input -> c :: C($a, $x) -> Inner -> output }
             define($x 3) s :: S -> f :: Foo(1) -> (-> Null ->) -> { -> D -> } -> E",
            expect![[r#"
                define($x 3);

                s :: S;
                Null@6 :: Null;
                E@8 :: E;
                f/c :: C(1, $x);
                f/Inner@2 :: Inner;
                @7/D@1 :: D;
                s -> f/c
                    -> f/Inner@2
                    -> Null@6
                    -> @7/D@1
                    -> E@8;
            "#]],
        );
    }

    #[test]
    fn a_start_without_input_is_told_without_calling_it_a_warning_and_inner_compounds_count() {
        check(
            "elementclass Foo { S -> D; -> A -> }
             elementclass Bar { elementclass Baz { S -> D; input -> A -> output }
             -> A -> }
             elementclass Qux { elementclass Baz { S -> D; input -> A -> output; S -> D } -> A -> }",
            expect![[r#"
                f:1: suggest 'input ->' or '[0] ->' to start connection
                f:4: suggest 'input ->' or '[0] ->' to start connection
            "#]],
        );
    }

    #[test]
    fn ports_that_lead_nowhere_are_told() {
        check(
            "elementclass Foo { input -> A -> output } f :: Foo; B -> [1] f -> C; D -> f; f [1] -> E; g :: Foo(3)",
            expect![[r#"
                B@2 :: B;
                C@3 :: C;
                D@4 :: D;
                E@5 :: E;
                f/A@1 :: A;
                D@4 -> f/A@1
                    -> C@3;
                f:1: no match for 'Foo[1 argument, 0 inputs, 0 outputs]'
                f:1: candidates are:
                f:1:   Foo[1 input, 1 output]
                f:1: 'f' has no input 1
                f:1: 'f' has no output 1
            "#]],
        );
    }

    #[test]
    fn alternatives_are_chosen_by_arguments_and_ports() {
        check(
            "elementclass Foo { $a | input -> One($a) -> output || $a, $b | input -> Two($a, $b) -> output }
             A -> Foo(1) -> Foo(2, 3) -> Foo(4, 5, 6) -> B",
            expect![[r#"
                A@1 :: A;
                B@5 :: B;
                Foo@2/One@1 :: One(1);
                Foo@3/Two@1 :: Two(2, 3);
                A@1 -> Foo@2/One@1
                    -> Foo@3/Two@1;
                f:2: no match for 'Foo[3 arguments, 1 input, 1 output]'
                f:1: candidates are:
                f:1:   Foo[1 input, 1 output]
                f:1:   Foo[1 input, 1 output]
                f:2: 'Foo@3' output 0 unused
            "#]],
        );
    }
}
