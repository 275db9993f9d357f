//! Checks that a graph can run: port counts, push and pull, no port unused or used twice.

use crate::{
    ClassFacts, Connection, Diagnostics, Endpoint, FlowCode, Graph, Place, PortCode, Processing,
    ProcessingCode,
};

/// How packets pass a port of a checked graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Port {
    /// Push or pull: what an agnostic port became. Agnostic ports that nothing decides push.
    pub processing: Processing,
    /// Whether the class left it open.
    pub agnostic: bool,
}

/// The ports of an element of a checked graph.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Ports {
    /// The inputs.
    pub inputs: Vec<Port>,
    /// The outputs.
    pub outputs: Vec<Port>,
}

/// What [`check`] found out of a graph that can run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Checked {
    /// The ports of each element, in the order of [`Graph::elements`].
    pub ports: Vec<Ports>,
}

/// The two sides of an element.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Side {
    Input,
    Output,
}

struct Checker<'a, 'f, 'd> {
    graph: &'a Graph,
    facts: Vec<Option<&'f ClassFacts>>,
    connections: Vec<&'a Connection>,
    ports: Vec<Ports>,
    diagnostics: &'d mut Diagnostics,
}

/// Checks `graph` by Click's rules, in Click's order, with Click's messages; `None` if there were errors.
///
/// A class of which `facts` knows nothing may have any ports, all agnostic.
pub fn check<'f>(
    graph: &Graph,
    facts: &dyn Fn(&str) -> Option<&'f ClassFacts>,
    diagnostics: &mut Diagnostics,
) -> Option<Checked> {
    check_as(graph, facts, Unused::Error, diagnostics)
}

/// As [`check`], for a graph under construction: ports may be connected to nothing, of which warnings tell.
pub fn check_unfinished<'f>(
    graph: &Graph,
    facts: &dyn Fn(&str) -> Option<&'f ClassFacts>,
    diagnostics: &mut Diagnostics,
) -> Option<Checked> {
    check_as(graph, facts, Unused::Warning, diagnostics)
}

/// What a port that is connected to nothing is.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Unused {
    Error,
    Warning,
}

fn check_as<'f>(
    graph: &Graph,
    facts: &dyn Fn(&str) -> Option<&'f ClassFacts>,
    unused: Unused,
    diagnostics: &mut Diagnostics,
) -> Option<Checked> {
    let facts = graph.elements.iter().map(|element| facts(&element.class)).collect();
    let connections = graph.sorted_connections();
    let mut checker = Checker { graph, facts, connections, ports: Vec::new(), diagnostics };
    let ok =
        checker.ends_exist() && checker.ranges() && checker.push_and_pull() && checker.completeness(unused);
    ok.then_some(Checked { ports: checker.ports })
}

impl Checker<'_, '_, '_> {
    /// A graph that was not made by the language front end may name elements that do not exist.
    fn ends_exist(&mut self) -> bool {
        let before = self.diagnostics.n_errors();
        for connection in &self.connections {
            for end in [connection.to, connection.from] {
                if end.element >= self.graph.elements.len() {
                    let message = format!("bad element number '{}'", end.element);
                    self.diagnostics.error(&connection.place, message).landmark(Place::default());
                }
            }
        }
        self.diagnostics.n_errors() == before
    }

    /// Counts the ports of each element and finds connections to ports that it does not have.
    fn ranges(&mut self) -> bool {
        let before = self.diagnostics.n_errors();
        let mut used = vec![(0usize, 0usize); self.graph.elements.len()];
        for connection in &self.connections {
            let n_outputs = &mut used[connection.from.element].1;
            *n_outputs = (*n_outputs).max(connection.from.port.saturating_add(1));
            let n_inputs = &mut used[connection.to.element].0;
            *n_inputs = (*n_inputs).max(connection.to.port.saturating_add(1));
        }
        let mut counts = Vec::with_capacity(used.len());
        for (idx, (n_inputs, n_outputs)) in used.into_iter().enumerate() {
            counts.push(self.count(idx, n_inputs, n_outputs));
        }
        self.connections_in_range(&counts);
        if self.diagnostics.n_errors() > before {
            return false;
        }
        self.ports = counts.iter().enumerate().map(|(idx, count)| self.coded_ports(idx, *count)).collect();
        self.diagnostics.n_errors() == before
    }

    fn count(&mut self, idx: usize, n_inputs: usize, n_outputs: usize) -> (usize, usize) {
        let Some(facts) = self.facts[idx] else { return (n_inputs, n_outputs) };
        match PortCode::parse(facts.ports) {
            Some(code) => code.counts(n_inputs, n_outputs),
            None => {
                let element = &self.graph.elements[idx];
                let message = format!("{}: bad port count", element.declaration());
                self.diagnostics.error(&element.place, message).landmark(Place::default());
                (0, 0)
            }
        }
    }

    /// Click takes a bad connection out by moving the last one into its place; so do we, for the messages' order.
    fn connections_in_range(&mut self, counts: &[(usize, usize)]) {
        let mut idx = 0;
        while let Some(connection) = self.connections.get(idx).copied() {
            let mut bad = false;
            for (end, side) in [(connection.to, Side::Input), (connection.from, Side::Output)] {
                let (n_inputs, n_outputs) = counts[end.element];
                let n_ports = if side == Side::Input { n_inputs } else { n_outputs };
                if end.port >= n_ports {
                    bad = true;
                    let help = range_help(self.facts[end.element], side)
                        .unwrap_or_else(|| format!("it has {n_ports} here"));
                    self.hookup_error(
                        end,
                        |element, kind, port| format!("'{element}' has no {kind} {port}"),
                        side,
                    )
                    .help(help);
                }
            }
            if bad {
                self.connections.swap_remove(idx);
            } else {
                idx += 1;
            }
        }
    }

    /// The ports of element `idx` as its class's code has them, not resolved yet.
    fn coded_ports(&mut self, idx: usize, (n_inputs, n_outputs): (usize, usize)) -> Ports {
        let code = self.facts[idx].map_or("a/a", |facts| facts.processing);
        let Some(code) = ProcessingCode::parse(code) else {
            let place = &self.graph.elements[idx].place;
            self.diagnostics.error(place, "bad processing code").landmark(Place::default());
            return Ports::default();
        };
        let port = |processing| Port { processing, agnostic: processing == Processing::Agnostic };
        Ports {
            inputs: (0..n_inputs).map(|idx| port(code.input(idx))).collect(),
            outputs: (0..n_outputs).map(|idx| port(code.output(idx))).collect(),
        }
    }

    /// Spreads push and pull along connections and through agnostic elements until nothing changes.
    fn push_and_pull(&mut self) -> bool {
        let before = self.diagnostics.n_errors();
        let mut links: Vec<Link> =
            self.connections.iter().map(|c| Link { from: c.from, to: c.to, inner: false }).collect();
        links.extend(self.agnostic_links());
        loop {
            let mut changed = false;
            let mut idx = 0;
            while let Some(link) = links.get(idx).copied() {
                let from = self.ports[link.from.element].outputs[link.from.port].processing;
                let to = self.ports[link.to.element].inputs[link.to.port].processing;
                if to == Processing::Agnostic && from != Processing::Agnostic {
                    self.ports[link.to.element].inputs[link.to.port].processing = from;
                    changed = true;
                } else if from == Processing::Agnostic && to != Processing::Agnostic {
                    self.ports[link.from.element].outputs[link.from.port].processing = to;
                    changed = true;
                } else if from != to {
                    self.mixed_error(link, from);
                    links.remove(idx);
                    continue;
                }
                idx += 1;
            }
            if !changed {
                break;
            }
        }
        for ports in &mut self.ports {
            for port in ports.inputs.iter_mut().chain(&mut ports.outputs) {
                if port.processing == Processing::Agnostic {
                    port.processing = Processing::Push;
                }
            }
        }
        self.diagnostics.n_errors() == before
    }

    /// Agnostic inputs tied to the agnostic outputs of the same element that their packets may leave by.
    fn agnostic_links(&self) -> Vec<Link> {
        let mut links = Vec::new();
        for (element, ports) in self.ports.iter().enumerate() {
            let Some(flow) = FlowCode::parse(self.facts[element].map_or("x/x", |facts| facts.flow)) else {
                continue;
            };
            for (input, _) in ports.inputs.iter().enumerate().filter(|(_, port)| port.agnostic) {
                for (output, _) in ports.outputs.iter().enumerate().filter(|(_, port)| port.agnostic) {
                    if flow.reaches(input, output) {
                        let (from, to) =
                            (Endpoint { element, port: output }, Endpoint { element, port: input });
                        links.push(Link { from, to, inner: true });
                    }
                }
            }
        }
        links
    }

    fn mixed_error(&mut self, link: Link, from: Processing) {
        let (out_word, in_word) = if from == Processing::Push { ("push", "pull") } else { ("pull", "push") };
        let element = |end: Endpoint| self.graph.elements[end.element].declaration();
        let (from, to) = (link.from, link.to);
        let message = if link.inner {
            format!(
                "agnostic '{}' in mixed context: {in_word} input {}, {out_word} output {}",
                element(from),
                to.port,
                from.port
            )
        } else {
            format!(
                "'{}' {out_word} output {} connected to '{}' {in_word} input {}",
                element(from),
                from.port,
                element(to),
                to.port
            )
        };
        let help = match out_word {
            "push" => "put a Queue between them: it turns push into pull",
            _ => "put an Unqueue between them: it turns pull into push",
        };
        let place = match self.connections.iter().find(|c| !link.inner && c.from == from && c.to == to) {
            Some(connection) => &connection.place,
            None => &self.graph.elements[from.element].place,
        };
        self.diagnostics.error(place, message).help(help).landmark(Place::default());
    }

    /// Push outputs and pull inputs take one connection; every port takes at least one.
    fn completeness(&mut self, unused: Unused) -> bool {
        let before = self.diagnostics.n_errors();
        for side in [Side::Input, Side::Output] {
            let ends = self.ends(side);
            for pair in ends.windows(2) {
                if pair[0] == pair[1] && self.is_active(pair[0], side) {
                    self.reuse_error(pair[0], side);
                }
            }
        }
        for side in [Side::Input, Side::Output] {
            let mut ends = self.ends(side).into_iter().peekable();
            for element in 0..self.ports.len() {
                for port in 0..self.side(element, side).len() {
                    let end = Endpoint { element, port };
                    while ends.next_if(|used| *used < end).is_some() {}
                    if ends.peek() != Some(&end) {
                        self.unused(end, side, unused);
                    }
                }
            }
        }
        self.diagnostics.n_errors() == before
    }

    fn unused(&mut self, end: Endpoint, side: Side, unused: Unused) {
        let told = |element: &str, kind: &str, port| format!("'{element}' {kind} {port} unused");
        if unused == Unused::Warning {
            let element = &self.graph.elements[end.element];
            let kind = if side == Side::Input { "input" } else { "output" };
            self.diagnostics.warning(&element.place, told(&element.declaration(), kind, end.port));
            return;
        }
        self.hookup_error(end, told, side).help(match side {
            Side::Input => "connect it, or feed it from an Idle",
            Side::Output => "connect it, or end it in a Discard",
        });
    }

    fn reuse_error(&mut self, end: Endpoint, side: Side) {
        let (kind, help) = match side {
            Side::Input => ("pull input", "join the sources with a scheduler, such as RoundRobinSched"),
            Side::Output => ("push output", "split the packets with a Tee"),
        };
        self.hookup_error(
            end,
            |element, _, port| format!("illegal reuse of '{element}' {kind} {port}"),
            side,
        )
        .help(help);
    }

    /// The connected ports of one side, sorted.
    fn ends(&self, side: Side) -> Vec<Endpoint> {
        let mut ends: Vec<Endpoint> =
            self.connections.iter().map(|c| if side == Side::Input { c.to } else { c.from }).collect();
        ends.sort_unstable();
        ends
    }

    fn side(&self, element: usize, side: Side) -> &[Port] {
        match side {
            Side::Input => &self.ports[element].inputs,
            Side::Output => &self.ports[element].outputs,
        }
    }

    /// Whether the element itself starts transfers at this port.
    fn is_active(&self, end: Endpoint, side: Side) -> bool {
        let starts = if side == Side::Input { Processing::Pull } else { Processing::Push };
        self.side(end.element, side).get(end.port).is_some_and(|port| port.processing == starts)
    }

    fn hookup_error(
        &mut self,
        end: Endpoint,
        message: impl Fn(&str, &str, usize) -> String,
        side: Side,
    ) -> &mut crate::Diagnostic {
        let element = &self.graph.elements[end.element];
        let kind = if side == Side::Input { "input" } else { "output" };
        self.diagnostics.error(&element.place, message(&element.declaration(), kind, end.port))
    }
}

/// A way along which push and pull spread.
#[derive(Clone, Copy)]
struct Link {
    from: Endpoint,
    to: Endpoint,
    /// Inside one element, not a connection.
    inner: bool,
}

fn range_help(facts: Option<&ClassFacts>, side: Side) -> Option<String> {
    let facts = facts?;
    let (inputs, outputs) = facts.ports.split_once('/').unwrap_or((facts.ports, facts.ports));
    Some(match side {
        Side::Input => format!("{} allows this many inputs: {inputs}", facts.name),
        Side::Output if outputs.starts_with('=') => {
            let extra = match outputs.len() - 1 {
                0 => String::new(),
                extra => format!(", plus {extra}"),
            };
            format!("{} has as many outputs as inputs{extra}", facts.name)
        }
        Side::Output => format!("{} allows this many outputs: {outputs}", facts.name),
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::graph;
    use expect_test::{expect, Expect};
    use proptest::prelude::*;

    fn class(
        name: &'static str,
        ports: &'static str,
        processing: &'static str,
        flow: &'static str,
    ) -> ClassFacts {
        ClassFacts { name, ports, processing, flow, args: &[], handlers: &[], drops: &[], page: "" }
    }

    fn classes() -> Vec<ClassFacts> {
        vec![
            class("Source", "0/1", "h/h", "x/x"),
            class("Null", "1/1", "a/a", "x/x"),
            class("Queue", "1/1-2", "h/lh", "x/x"),
            class("Discard", "1/0", "a/a", "x/x"),
            class("ToDump", "1/0-1", "a/a", "x/x"),
            class("PullSink", "1/0", "l/l", "x/x"),
            class("Sched", "-/1", "l/l", "x/x"),
            class("Suppressor", "-/=", "a/a", "#/#"),
            class("Split", "1/-", "a/ah", "x/x"),
            class("Broken", "x", "a/a", "x/x"),
        ]
    }

    fn checked(graph: &Graph) -> (Option<Checked>, Diagnostics) {
        let classes = classes();
        let facts = |name: &str| classes.iter().find(|class| class.name == name);
        let mut diagnostics = Diagnostics::default();
        let checked = check(graph, &facts, &mut diagnostics);
        (checked, diagnostics)
    }

    fn check_graph(elements: &str, connections: &str, expected: Expect) {
        let (checked, diagnostics) = checked(&graph(elements, connections));
        let letters = |ports: &[Port]| {
            let letter = |port: &Port| match (port.processing, port.agnostic) {
                (Processing::Pull, false) => "l",
                (Processing::Pull, true) => "l~",
                (_, false) => "h",
                (_, true) => "h~",
            };
            ports.iter().map(letter).collect::<String>()
        };
        let mut lines: Vec<String> = diagnostics
            .list
            .iter()
            .map(|d| format!("{}: {}", d.landmark.as_ref().unwrap_or(&d.place).landmark(), d.message))
            .collect();
        for ports in checked.iter().flat_map(|checked| &checked.ports) {
            lines.push(format!("{}/{}", letters(&ports.inputs), letters(&ports.outputs)));
        }
        expected.assert_eq(&lines.join("\n"));
    }

    #[test]
    fn agnostic_ports_follow_their_neighbours() {
        check_graph(
            "s:Source n:Null q:Queue m:Null d:PullSink",
            "0.0-1.0 1.0-2.0 2.0-3.0 3.0-4.0",
            expect![[r#"
                /h
                h~/h~
                h/l
                l~/l~
                l/"#]],
        );
        check_graph(
            "a:Null b:Null",
            "0.0-1.0 1.0-0.0",
            expect![[r#"
                h~/h~
                h~/h~"#]],
        );
    }

    #[test]
    fn flow_codes_keep_the_paths_of_a_suppressor_apart() {
        check_graph(
            "s:Source q:Queue t:Source x:Suppressor d:PullSink e:Discard",
            "2.0-1.0 1.0-3.0 0.0-3.1 3.0-4.0 3.1-5.0",
            expect![[r#"
                /h
                h/l
                /h
                l~h~/l~h~
                l/
                h~/"#]],
        );
    }

    #[test]
    fn ports_that_do_not_exist() {
        check_graph(
            "s:Source d:Discard x:Suppressor",
            "0.1-1.0 0.0-1.2 0.0-2.0 2.3-1.0",
            expect![[r#"
                f:1: 's :: Source' has no output 1
                f:3: 'x :: Suppressor' has no output 3
                f:2: 'd :: Discard' has no input 2"#]],
        );
    }

    #[test]
    fn push_meets_pull() {
        check_graph(
            "s:Source p:PullSink n:Null",
            "0.0-1.0",
            expect![[": 's :: Source' push output 0 connected to 'p :: PullSink' pull input 0"]],
        );
        check_graph(
            "s:Source n:Null p:PullSink",
            "0.0-1.0 1.0-2.0",
            expect![[": agnostic 'n :: Null' in mixed context: push input 0, pull output 0"]],
        );
    }

    #[test]
    fn ports_unused_or_used_twice() {
        check_graph(
            "s:Source n:Null d:Discard",
            "0.0-2.0 0.0-1.0",
            expect![[r#"
                f:1: illegal reuse of 's :: Source' push output 0
                f:2: 'n :: Null' output 0 unused"#]],
        );
        check_graph("q:Queue d:Discard", "0.0-1.0", expect![["f:1: 'q :: Queue' input 0 unused"]]);
    }

    #[test]
    fn several_pulls_from_one_output_and_pushes_to_one_input_are_fine() {
        check_graph(
            "s:Source t:Source q:Queue a:PullSink b:PullSink",
            "0.0-2.0 1.0-2.0 2.0-3.0 2.0-4.0",
            expect![[r#"
                /h
                /h
                h/l
                l/
                l/"#]],
        );
    }

    #[test]
    fn facts_that_cannot_be_read_are_errors() {
        check_graph("b:Broken", "", expect![[": b :: Broken: bad port count"]]);
    }

    proptest! {
        #[test]
        fn a_checked_graph_has_every_port_used_and_no_push_meeting_pull(
            picks in proptest::collection::vec(0..10usize, 1..8),
            edges in proptest::collection::vec((0..9usize, 0..3usize, 0..9usize, 0..3usize), 0..12),
        ) {
            let classes = classes();
            let words: Vec<String> =
                picks.iter().enumerate().map(|(idx, pick)| format!("e{idx}:{}", classes[*pick].name)).collect();
            let edges: Vec<String> = edges.iter().map(|(a, b, c, d)| format!("{a}.{b}-{c}.{d}")).collect();
            let graph = graph(&words.join(" "), &edges.join(" "));
            let (checked, diagnostics) = checked(&graph);
            prop_assert_eq!(checked.is_none(), diagnostics.has_errors());
            if let Some(checked) = checked {
                for c in &graph.connections {
                    let from = checked.ports[c.from.element].outputs[c.from.port];
                    let to = checked.ports[c.to.element].inputs[c.to.port];
                    prop_assert_eq!(from.processing, to.processing);
                }
                for (element, ports) in checked.ports.iter().enumerate() {
                    for port in 0..ports.inputs.len() {
                        let used = graph.connections_to(Endpoint { element, port }).count();
                        prop_assert!(used > 0);
                    }
                }
            }
        }
    }
}
