//! From the parsed file to the flat graph: compounds expanded, variables put in, tunnels replaced by connections.

use std::rc::Rc;

use graph::{Connection, Element, Endpoint, Graph, Place};

use crate::chain::MAX_LINKS;
use crate::classes::{Type, TypeIdx, ERROR, TUNNEL};
use crate::compound::{assign, use_signature, Compound, Link};
use crate::parser::{Parser, MAX_ELEMENTS};
use crate::scope::Scope;
use crate::tunnel::{loose_message, Wrong};

/// How deep compounds may hold compounds when expanded.
const MAX_EXPANSION_DEPTH: usize = 200;

impl Parser<'_, '_> {
    /// The flat graph.
    pub fn finish(&mut self) -> Graph {
        let mut scope = Scope::inside(None);
        for (name, value) in &self.c.variables {
            scope.set(name, value.clone());
        }
        for (name, value) in self.options.variables {
            scope.set(name, value.clone());
        }
        let scope = Rc::new(scope);
        for idx in 0..self.c.items.len() {
            self.expand_element(idx, &scope, 0);
        }
        if self.budget.is_spent() {
            self.error("variables are too long when expanded")
                .help("look for variables that contain each other");
        }
        self.flat()
    }

    /// Settles the name and configuration of element `idx`; if it is a compound, its elements are added.
    fn expand_element(&mut self, idx: usize, scope: &Rc<Scope>, depth: usize) {
        self.c.settle_name(idx);
        let n_elements = self.c.items.len();
        let Some(item) = self.c.items.get_mut(idx).filter(|item| item.kind != TUNNEL) else { return };
        item.config = scope.expand(&item.config, &self.budget);
        let Type::Compound(compound) = *self.types.get(item.kind) else { return };
        let (kind, place) = (item.kind, item.place.clone());
        if depth >= MAX_EXPANSION_DEPTH || n_elements >= MAX_ELEMENTS {
            item.kind = ERROR;
            let what = if depth >= MAX_EXPANSION_DEPTH {
                "nested too deep"
            } else {
                "expanded to too many elements"
            };
            self.diagnostics.error(&place, format!("compound element {what}"));
            return;
        }
        let mut arguments = args::split_args(&item.config);
        let [n_inputs, n_outputs] = item.n_ports;
        match self.select(kind, compound, (n_inputs, n_outputs), &mut arguments, &place) {
            None => self.c.items[idx].kind = ERROR,
            Some(kind) => match *self.types.get(kind) {
                Type::Compound(found) => self.expand_compound(idx, found, scope, &arguments, depth),
                _ => self.c.items[idx].kind = kind,
            },
        }
    }

    /// Picks the alternative that fits the ports and arguments, and orders the arguments as its parameters are.
    fn select(
        &mut self,
        kind: TypeIdx,
        first: usize,
        (n_inputs, n_outputs): (usize, usize),
        arguments: &mut Vec<String>,
        place: &Place,
    ) -> Option<TypeIdx> {
        let mut kind = kind;
        let mut candidates = vec![first];
        let mut closest = None;
        loop {
            let idx = *candidates.last()?;
            let compound = self.compounds.get(idx)?;
            let values = assign(arguments, &compound.keywords());
            if let Some(values) = values {
                if (compound.n_inputs, compound.n_outputs) == (n_inputs, n_outputs) {
                    *arguments = values;
                    return Some(kind);
                }
                closest = Some((kind, values));
            }
            match self.overloads.get(idx).copied().flatten() {
                None => break,
                Some(next) => match *self.types.get(next) {
                    // A class that was extended by itself would come round again.
                    Type::Compound(next_idx) if !candidates.contains(&next_idx) => {
                        candidates.push(next_idx);
                        kind = next;
                    }
                    Type::Compound(_) => break,
                    _ => return Some(next),
                },
            }
        }
        if candidates.len() != 1 || closest.is_none() {
            self.no_match(&candidates, arguments.len(), (n_inputs, n_outputs), place);
        }
        let (kind, values) = closest?;
        *arguments = values;
        Some(kind)
    }

    fn no_match(&mut self, candidates: &[usize], n_arguments: usize, n_ports: (usize, usize), place: &Place) {
        let listed: Vec<(Place, String)> = candidates
            .iter()
            .map(|idx| (self.compounds[*idx].place.clone(), self.compounds[*idx].signature()))
            .collect();
        let Some((first_place, _)) = listed.first().cloned() else { return };
        let signature = use_signature(&self.compounds[candidates[0]], n_arguments, n_ports.0, n_ports.1);
        // Click has read the whole file by now and says so.
        let end = self.place();
        self.diagnostics
            .error(place, format!("no match for '{signature}'"))
            .help("give it the arguments and connect the ports of one of the candidates")
            .landmark(end);
        self.diagnostics.message(&first_place, "candidates are:");
        for (place, signature) in listed {
            self.diagnostics.message(&place, format!("  {signature}"));
        }
    }

    fn expand_compound(
        &mut self,
        which: usize,
        found: usize,
        scope: &Rc<Scope>,
        arguments: &[String],
        depth: usize,
    ) {
        let Some(compound) = self.compounds.get(found).cloned() else { return };
        let mut inner = Scope::inside(Scope::around(scope, compound.depth));
        let mut arguments = arguments.iter();
        for (idx, (name, value)) in compound.variables.iter().enumerate() {
            let value = match arguments.next().filter(|_| idx < compound.n_parameters) {
                Some(argument) => argument.clone(),
                None if idx < compound.n_parameters => String::new(),
                None => inner.expand(value, &self.budget),
            };
            inner.set(name, value);
        }
        let inner = Rc::new(inner);
        self.c.items[which].kind = TUNNEL;
        let name = self.c.items[which].name.clone();
        let [_, input, output] = self.add_tunnels(&name);
        let mut map = vec![Some(input), Some(output)];
        self.copy_elements(which, &compound, &inner, &mut map);
        self.copy_links(&compound, &map);
        for idx in map.into_iter().skip(2).flatten() {
            self.expand_element(idx, &inner, depth + 1);
        }
    }

    /// Adds the elements of `compound`, an instance of which `which` is; `map` gets their numbers.
    fn copy_elements(
        &mut self,
        which: usize,
        compound: &Compound,
        scope: &Rc<Scope>,
        map: &mut Vec<Option<usize>>,
    ) {
        let (prefix, place) = (format!("{}/", self.c.items[which].name), self.c.items[which].place.clone());
        while let Some(item) = compound.items.get(map.len()) {
            let name = format!("{prefix}{}", item.name);
            if let Some(old) = self.c.names.get(&name).copied() {
                let old = self.c.items[old].place.clone();
                self.redeclaration("element", &name, &place, &old);
                map.push(None);
                continue;
            }
            if self.types.find(&name).is_some() {
                self.diagnostics.error(&place, format!("'{name}' is an element class"));
            }
            if item.kind == TUNNEL {
                // A group's element is followed by those for its input and output.
                map.extend(self.add_tunnels(&name).map(Some));
            } else {
                let config = scope.expand(&item.config, &self.budget);
                let idx = self.element(name, item.kind, config, item.place.clone());
                map.push(Some(idx));
            }
        }
    }

    fn copy_links(&mut self, compound: &Compound, map: &[Option<usize>]) {
        let find = |idx: usize| map.get(idx).copied().flatten();
        for link in &compound.links {
            if let (Some(from), Some(to)) = (find(link.from.0), find(link.to.0)) {
                if self.c.links.len() >= MAX_LINKS {
                    self.diagnostics.error(&link.place, "too many connections");
                    return;
                }
                self.c.connect((from, link.from.1), (to, link.to.1), link.place.clone());
            }
        }
    }

    /// Makes the tunnel elements of a compound or group: itself, its input and its output.
    pub fn add_tunnels(&mut self, name: &str) -> [usize; 3] {
        let names = [name.to_string(), format!("{name}/input"), format!("{name}/output")];
        let mut ok = true;
        let place = self.place();
        let idxs = names.clone().map(|name| {
            let idx = self.element(name.clone(), TUNNEL, String::new(), place.clone());
            if self.c.items[idx].kind != TUNNEL {
                let old = self.c.items[idx].place.clone();
                self.redeclaration("element", &name, &place, &old);
                ok = false;
            }
            idx
        });
        if !ok || self.c.depth > 0 {
            return idxs;
        }
        let [outer, input, output] = idxs;
        let keys = [(outer, false, 0), (input, true, 0), (output, false, 0), (outer, true, 0)];
        for (key, name) in keys.into_iter().zip([&names[0], &names[1], &names[2], &names[0]]) {
            if self.tunnels.is_paired(key) {
                let old = self.c.items[key.0].place.clone();
                self.redeclaration("connection tunnel", name, &place, &old);
                ok = false;
            }
        }
        if ok {
            self.tunnels.pair(keys[0], keys[1]);
            self.tunnels.pair(keys[2], keys[3]);
        }
        idxs
    }

    fn flat(&mut self) -> Graph {
        let mut graph = Graph { requirements: std::mem::take(&mut self.requirements), ..Graph::default() };
        let mut numbers: Vec<Option<usize>> = Vec::with_capacity(self.c.items.len());
        for item in &self.c.items {
            let class = match self.types.get(item.kind) {
                Type::Tunnel => {
                    numbers.push(None);
                    continue;
                }
                Type::Class(class) => class.clone(),
                Type::Error | Type::Compound(_) => "Error".to_string(),
            };
            numbers.push(Some(graph.elements.len()));
            let (name, config) = (item.name.clone(), item.config.clone());
            graph.elements.push(Element { name, class, config, place: item.place.clone() });
        }
        for link in self.flat_links(&numbers) {
            let end = |(element, port): (usize, usize)| {
                Some(Endpoint { element: numbers.get(element).copied().flatten()?, port })
            };
            if let (Some(from), Some(to)) = (end(link.from), end(link.to)) {
                graph.connections.push(Connection { from, to, place: link.place });
            }
        }
        graph.connections.sort_by(Connection::by_input);
        graph.connections.dedup_by(|a, b| a.by_input(b).is_eq());
        graph
    }

    /// The connections, with those through tunnels replaced by what they join.
    fn flat_links(&mut self, numbers: &[Option<usize>]) -> Vec<Link> {
        let mut links = std::mem::take(&mut self.c.links);
        let is_tunnel = |idx: usize| numbers.get(idx).copied().flatten().is_none();
        if !self.tunnels.is_empty() {
            for link in &links {
                if is_tunnel(link.to.0) {
                    self.tunnels.join((link.to.0, false, link.to.1), link.from);
                }
                if is_tunnel(link.from.0) {
                    self.tunnels.join((link.from.0, true, link.from.1), link.to);
                }
            }
        }
        let mut through = Vec::new();
        for link in links.iter().filter(|link| is_tunnel(link.from.0) || is_tunnel(link.to.0)) {
            let from = self.reach(link.from, true, numbers);
            let to = self.reach(link.to, false, numbers);
            // Every way from an element starts with a connection that leaves it; the others add nothing new.
            if is_tunnel(link.from.0) {
                continue;
            }
            if to.len().saturating_add(through.len()) > MAX_LINKS {
                self.diagnostics.error(&link.place, "too many connections");
                break;
            }
            for from in &from {
                through.extend(to.iter().map(|to| Link { from: *from, to: *to, place: link.place.clone() }));
            }
        }
        links.append(&mut through);
        links
    }

    fn reach(
        &mut self,
        end: (usize, usize),
        is_output: bool,
        numbers: &[Option<usize>],
    ) -> Vec<(usize, usize)> {
        let is_tunnel = |idx: usize| numbers.get(idx).copied().flatten().is_none();
        let mut wrong = Vec::new();
        let reached = self.tunnels.reach(end, is_output, &is_tunnel, &mut wrong);
        let name = |idx: usize| self.c.items.get(idx).map_or(String::new(), |item| item.name.clone());
        for wrong in &wrong {
            match wrong {
                Wrong::Loose(end) => {
                    let (idx, message, help) = loose_message(end, &name);
                    self.diagnostics.error(&self.c.items[idx].place, message).help(help);
                }
                Wrong::Misused((idx, is_output, _)) => {
                    let side = if *is_output { "output" } else { "input" };
                    let message = format!("'{}' used as {side}", name(*idx));
                    self.diagnostics.error(&self.c.items[*idx].place, message);
                }
            }
        }
        reached
    }
}
