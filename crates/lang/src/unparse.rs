//! Graphs as text in the language: the `flatconfig`, `list` and `requirements` handlers.

use std::collections::HashMap;
use std::fmt::Write;

use graph::{Connection, Endpoint, Graph};

use crate::config::quote;

/// The flat graph as text, in the format of Click's `flatconfig` handler.
pub fn flatten(graph: &Graph) -> String {
    let mut text = String::new();
    requirements_statement(graph, &mut text);
    for element in &graph.elements {
        // Writing to a String cannot fail.
        let _ = match element.config.as_str() {
            "" => writeln!(text, "{} :: {};", element.name, element.class),
            config => writeln!(text, "{} :: {}({config});", element.name, element.class),
        };
    }
    if !graph.elements.is_empty() {
        text.push('\n');
    }
    Chains::new(graph).write(graph, &mut text);
    text
}

/// The text of Click's `list` handler: the number of elements, then their names.
pub fn list(graph: &Graph) -> String {
    let mut text = format!("{}\n", graph.elements.len());
    for element in &graph.elements {
        text.push_str(&element.name);
        text.push('\n');
    }
    text
}

/// The text of Click's `requirements` handler: kind and value of each, a line each.
pub fn requirements(graph: &Graph) -> String {
    graph.requirements.iter().map(|(kind, value)| format!("{kind}\n{value}\n")).collect()
}

/// The text of Click's `config` handler: the source, or the flat graph after `require(compact_config)`.
pub fn config(graph: &Graph, source: &str) -> String {
    match graph.requirements.iter().any(|(kind, _)| kind == "compact_config") {
        true => flatten(graph),
        false => source.to_string(),
    }
}

fn requirements_statement(graph: &Graph, text: &mut String) {
    if graph.requirements.is_empty() {
        return;
    }
    let list = graph.requirements.iter().map(|(kind, value)| match value.as_str() {
        "" => kind.clone(),
        value => format!("{kind} {}", quote(value)),
    });
    let _ = write!(text, "require({});\n\n", list.collect::<Vec<_>>().join(", "));
}

/// The connections, strung together into chains where an input 0 leads on to an output.
struct Chains<'a> {
    connections: Vec<&'a Connection>,
    next: Vec<Option<usize>>,
    starts: Vec<bool>,
}

impl<'a> Chains<'a> {
    fn new(graph: &'a Graph) -> Chains<'a> {
        let connections = graph.sorted_connections();
        let mut leaving: HashMap<Endpoint, Vec<usize>> = HashMap::new();
        for (idx, connection) in connections.iter().enumerate() {
            leaving.entry(connection.from).or_default().push(idx);
        }
        let mut next = vec![None; connections.len()];
        let mut starts = vec![true; connections.len()];
        for (idx, connection) in connections.iter().enumerate().filter(|(_, c)| c.to.port == 0) {
            let onward = leaving.get(&connection.to).map_or(&[][..], Vec::as_slice);
            let mut onward = onward.iter().copied().filter(|other| *other != idx).peekable();
            let last = onward.clone().last();
            let found = onward.find(|other| connections[*other].to.port == 0).or(last);
            if let Some(found) = found {
                next[idx] = Some(found);
                starts[found] = false;
            }
        }
        Chains { connections, next, starts }
    }

    fn write(mut self, graph: &Graph, text: &mut String) {
        let mut used = vec![false; self.connections.len()];
        loop {
            for start in 0..used.len() {
                if !used[start] && self.starts[start] {
                    self.write_chain(start, &mut used, graph, text);
                }
            }
            // What is left are cycles: one is opened at a time.
            match used.iter().position(|used| !used) {
                Some(left) => self.starts[left] = true,
                None => return,
            }
        }
    }

    fn write_chain(&self, start: usize, used: &mut [bool], graph: &Graph, text: &mut String) {
        let name =
            |end: Endpoint| graph.elements.get(end.element).map_or("", |element| element.name.as_str());
        let from = self.connections[start].from;
        text.push_str(name(from));
        if from.port > 0 {
            let _ = write!(text, " [{}]", from.port);
        }
        let mut at = Some(start);
        while let Some(idx) = at.filter(|idx| !used[*idx]) {
            let to = self.connections[idx].to;
            text.push_str(if idx == start { " -> " } else { "\n    -> " });
            if to.port > 0 {
                let _ = write!(text, "[{}] ", to.port);
            }
            text.push_str(name(to));
            used[idx] = true;
            at = self.next[idx];
        }
        text.push_str(";\n");
    }
}
