//! Pictures of a graph: Graphviz DOT, Mermaid and JSON. Push is drawn black, pull blue.

use std::fmt::Write;

use serde::Serialize;

use crate::{Checked, Connection, Graph, Processing};

/// The graph in Graphviz's language. With `checked`, connections have the colours of push and pull.
pub fn dot(graph: &Graph, checked: Option<&Checked>) -> String {
    let mut text =
        String::from("digraph click {\n  rankdir=LR;\n  node [shape=record, fontname=\"monospace\"];\n");
    for (idx, element) in graph.elements.iter().enumerate() {
        let (n_inputs, n_outputs) = counts(graph, checked, idx);
        let name = escape_record(&element.name);
        let class = escape_record(&element.class);
        let inputs = dot_ports('i', n_inputs);
        let outputs = dot_ports('o', n_outputs);
        // Writing to a String cannot fail.
        let _ = writeln!(text, "  e{idx} [label=\"{inputs}{{{name}|{class}}}{outputs}\"];");
    }
    for connection in edges(graph) {
        let (from, to) = (connection.from, connection.to);
        let style = match processing(checked, connection) {
            None => "",
            Some(Processing::Pull) => " [color=blue, arrowhead=empty]",
            Some(_) => " [color=black]",
        };
        let _ = writeln!(text, "  e{}:o{} -> e{}:i{}{style};", from.element, from.port, to.element, to.port);
    }
    text + "}\n"
}

/// The graph as a Mermaid flowchart. With `checked`, connections have the colours of push and pull.
pub fn mermaid(graph: &Graph, checked: Option<&Checked>) -> String {
    let mut text = String::from("flowchart LR\n");
    for (idx, element) in graph.elements.iter().enumerate() {
        let (name, class) = (escape_entities(&element.name), escape_entities(&element.class));
        let _ = writeln!(text, "  e{idx}[\"{name}<br/>{class}\"]");
    }
    let mut styles = String::new();
    for (idx, connection) in edges(graph).into_iter().enumerate() {
        let (from, to) = (connection.from, connection.to);
        let label = match (from.port, to.port) {
            (0, 0) => String::new(),
            (out_port, in_port) => format!("|\"{out_port} to {in_port}\"|"),
        };
        let _ = writeln!(text, "  e{} -->{label} e{}", from.element, to.element);
        match processing(checked, connection) {
            None => {}
            Some(Processing::Pull) => {
                let _ = writeln!(styles, "  linkStyle {idx} stroke:blue");
            }
            Some(_) => {
                let _ = writeln!(styles, "  linkStyle {idx} stroke:black");
            }
        }
    }
    text + &styles
}

/// The graph as JSON: `elements`, `connections`, `requirements`. With `checked`, ports and push or pull too.
pub fn json(graph: &Graph, checked: Option<&Checked>) -> String {
    let elements = graph.elements.iter().enumerate().map(|(idx, element)| ElementView {
        name: &element.name,
        class: &element.class,
        config: &element.config,
        landmark: element.place.landmark(),
        inputs: checked.and_then(|checked| checked.ports.get(idx)).map(|ports| names(&ports.inputs)),
        outputs: checked.and_then(|checked| checked.ports.get(idx)).map(|ports| names(&ports.outputs)),
    });
    let connections = edges(graph).into_iter().map(|connection| ConnectionView {
        from: name(graph, connection.from.element),
        from_port: connection.from.port,
        to: name(graph, connection.to.element),
        to_port: connection.to.port,
        processing: processing(checked, connection).map(Processing::name),
    });
    let requirements = graph.requirements.iter().map(|(kind, value)| RequirementView { kind, value });
    let view = GraphView {
        elements: elements.collect(),
        connections: connections.collect(),
        requirements: requirements.collect(),
    };
    let mut text = serde_json::to_string_pretty(&view).expect("strings and numbers can be written as JSON");
    text.push('\n');
    text
}

#[derive(Serialize)]
struct GraphView<'a> {
    elements: Vec<ElementView<'a>>,
    connections: Vec<ConnectionView<'a>>,
    requirements: Vec<RequirementView<'a>>,
}

#[derive(Serialize)]
struct ElementView<'a> {
    name: &'a str,
    class: &'a str,
    config: &'a str,
    landmark: String,
    #[serde(skip_serializing_if = "Option::is_none")]
    inputs: Option<Vec<&'static str>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    outputs: Option<Vec<&'static str>>,
}

#[derive(Serialize)]
struct ConnectionView<'a> {
    from: &'a str,
    from_port: usize,
    to: &'a str,
    to_port: usize,
    #[serde(skip_serializing_if = "Option::is_none")]
    processing: Option<&'static str>,
}

#[derive(Serialize)]
struct RequirementView<'a> {
    kind: &'a str,
    value: &'a str,
}

fn names(ports: &[crate::Port]) -> Vec<&'static str> {
    ports.iter().map(|port| port.processing.name()).collect()
}

fn name(graph: &Graph, idx: usize) -> &str {
    graph.elements.get(idx).map_or("", |element| &element.name)
}

/// The connections between elements that exist, in Click's order.
fn edges(graph: &Graph) -> Vec<&Connection> {
    let n_elements = graph.elements.len();
    let exists = |c: &&Connection| c.from.element < n_elements && c.to.element < n_elements;
    graph.sorted_connections().into_iter().filter(exists).collect()
}

fn processing(checked: Option<&Checked>, connection: &Connection) -> Option<Processing> {
    let ports = checked?.ports.get(connection.from.element)?;
    Some(ports.outputs.get(connection.from.port)?.processing)
}

fn counts(graph: &Graph, checked: Option<&Checked>, idx: usize) -> (usize, usize) {
    if let Some(ports) = checked.and_then(|checked| checked.ports.get(idx)) {
        return (ports.inputs.len(), ports.outputs.len());
    }
    let top = |ports: &mut dyn Iterator<Item = usize>| ports.max().map_or(0, |port| port.saturating_add(1));
    let to = graph.connections.iter().filter(|c| c.to.element == idx).map(|c| c.to.port);
    let from = graph.connections.iter().filter(|c| c.from.element == idx).map(|c| c.from.port);
    (top(&mut { to }), top(&mut { from }))
}

fn dot_ports(side: char, n_ports: usize) -> String {
    if n_ports == 0 {
        return String::new();
    }
    let ports: Vec<String> = (0..n_ports).map(|port| format!("<{side}{port}>{port}")).collect();
    match side {
        'i' => format!("{{{}}}|", ports.join("|")),
        _ => format!("|{{{}}}", ports.join("|")),
    }
}

fn escape_record(text: &str) -> String {
    let mut escaped = String::with_capacity(text.len());
    for c in text.chars() {
        if matches!(c, '"' | '\\' | '{' | '}' | '|' | '<' | '>' | ' ') {
            escaped.push('\\');
        }
        escaped.push(c);
    }
    escaped
}

fn escape_entities(text: &str) -> String {
    let escape = |c: char| match c {
        c if c.is_alphanumeric() || matches!(c, '_' | '/' | '@' | '-' | '.' | ' ') => c.to_string(),
        c => format!("#{};", u32::from(c)),
    };
    text.chars().map(escape).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::graph;
    use crate::{Port, Ports};
    use expect_test::expect;

    fn example() -> (Graph, Checked) {
        let mut graph = graph("s:Source a/q@2:Queue d:Discard", "0.0-1.0 1.1-2.0");
        graph.elements[1].config = "10, \"x\"".into();
        let port = |processing| Port { processing, agnostic: false };
        let (push, pull) = (port(Processing::Push), port(Processing::Pull));
        let ports = vec![
            Ports { inputs: vec![], outputs: vec![push] },
            Ports { inputs: vec![push], outputs: vec![pull, pull] },
            Ports { inputs: vec![pull], outputs: vec![] },
        ];
        (graph, Checked { ports })
    }

    #[test]
    fn dot_shows_ports_and_colours() {
        let (graph, checked) = example();
        expect![[r#"
            digraph click {
              rankdir=LR;
              node [shape=record, fontname="monospace"];
              e0 [label="{s|Source}|{<o0>0}"];
              e1 [label="{<i0>0}|{a/q@2|Queue}|{<o0>0|<o1>1}"];
              e2 [label="{<i0>0}|{d|Discard}"];
              e0:o0 -> e1:i0 [color=black];
              e1:o1 -> e2:i0 [color=blue, arrowhead=empty];
            }
        "#]]
        .assert_eq(&dot(&graph, Some(&checked)));
        assert!(dot(&graph, None).contains("e0:o0 -> e1:i0;\n"));
    }

    #[test]
    fn mermaid_shows_ports_and_colours() {
        let (graph, checked) = example();
        expect![[r#"
            flowchart LR
              e0["s<br/>Source"]
              e1["a/q@2<br/>Queue"]
              e2["d<br/>Discard"]
              e0 --> e1
              e1 -->|"1 to 0"| e2
              linkStyle 0 stroke:black
              linkStyle 1 stroke:blue
        "#]]
        .assert_eq(&mermaid(&graph, Some(&checked)));
    }

    #[test]
    fn json_holds_everything() {
        let (mut graph, checked) = example();
        graph.elements.truncate(1);
        graph.connections.clear();
        graph.requirements.push(("package".into(), "p".into()));
        expect![[r#"
            {
              "elements": [
                {
                  "name": "s",
                  "class": "Source",
                  "config": "",
                  "landmark": "f:1",
                  "inputs": [],
                  "outputs": [
                    "push"
                  ]
                }
              ],
              "connections": [],
              "requirements": [
                {
                  "kind": "package",
                  "value": "p"
                }
              ]
            }
        "#]]
        .assert_eq(&json(&graph, Some(&checked)));
        let (graph, checked) = example();
        let text = json(&graph, Some(&checked));
        assert!(text.contains("\"from_port\": 1") && text.contains("\"processing\": \"pull\""), "{text}");
    }
}
