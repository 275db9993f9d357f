//! Checks that a graph can run: port counts, push and pull, no port unused or used twice.

mod completeness;
mod push_and_pull;
mod ranges;

use crate::{ClassFacts, Connection, Diagnostics, Endpoint, Graph, Place, Processing};

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

impl Side {
    fn word(self) -> &'static str {
        match self {
            Side::Input => "input",
            Side::Output => "output",
        }
    }
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

    /// An error about a port.
    fn hookup_error(
        &mut self,
        end: Endpoint,
        message: impl Fn(&str, &str, usize) -> String,
        side: Side,
    ) -> &mut crate::Diagnostic {
        let element = &self.graph.elements[end.element];
        self.diagnostics.error(&element.place, message(&element.declaration(), side.word(), end.port))
    }
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
