//! Graphs as text in the language: the `flatconfig`, `list` and `requirements` handlers.

use std::collections::HashMap;
use std::fmt::Write;

use args::quote;
use graph::{Endpoint, Graph};

/// The flat graph as text, in the format of Click's `flatconfig` handler.
pub fn flatten(graph: &Graph) -> String {
    let mut text = String::new();
    require_statement(&graph.requirements, &mut text);
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
    let connections = graph.sorted_connections().into_iter().map(|c| (c.from, c.to)).collect();
    let name = |idx: usize| graph.elements.get(idx).map_or("", |element| element.name.as_str());
    chains(connections, &name, &mut text);
    text
}

/// Writes connections, from and to, strung together into chains.
pub fn chains<'n>(
    connections: Vec<(Endpoint, Endpoint)>,
    name: &dyn Fn(usize) -> &'n str,
    text: &mut String,
) {
    Chains::new(connections).write(name, text);
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

/// Writes the `require` statement, if there is anything to require.
pub fn require_statement(requirements: &[(String, String)], text: &mut String) {
    if requirements.is_empty() {
        return;
    }
    let list = requirements.iter().map(|(kind, value)| match value.as_str() {
        "" => kind.clone(),
        value => format!("{kind} {}", quote(value)),
    });
    let _ = write!(text, "require({});\n\n", list.collect::<Vec<_>>().join(", "));
}

/// The connections, strung together into chains where an input 0 leads on to an output.
struct Chains {
    connections: Vec<(Endpoint, Endpoint)>,
    next: Vec<Option<usize>>,
    starts: Vec<bool>,
}

impl Chains {
    fn new(connections: Vec<(Endpoint, Endpoint)>) -> Chains {
        let mut leaving: HashMap<Endpoint, Vec<usize>> = HashMap::new();
        for (idx, connection) in connections.iter().enumerate() {
            leaving.entry(connection.0).or_default().push(idx);
        }
        let mut next = vec![None; connections.len()];
        let mut starts = vec![true; connections.len()];
        for (idx, connection) in connections.iter().enumerate().filter(|(_, c)| c.1.port == 0) {
            let onward = leaving.get(&connection.1).map_or(&[][..], Vec::as_slice);
            let mut onward = onward.iter().copied().filter(|other| *other != idx).peekable();
            let last = onward.clone().last();
            let found = onward.find(|other| connections[*other].1.port == 0).or(last);
            if let Some(found) = found {
                next[idx] = Some(found);
                starts[found] = false;
            }
        }
        Chains { connections, next, starts }
    }

    fn write<'n>(mut self, name: &dyn Fn(usize) -> &'n str, text: &mut String) {
        let mut used = vec![false; self.connections.len()];
        loop {
            for start in 0..used.len() {
                if !used[start] && self.starts[start] {
                    self.write_chain(start, &mut used, name, text);
                }
            }
            // What is left are cycles: one is opened at a time.
            match used.iter().position(|used| !used) {
                Some(left) => self.starts[left] = true,
                None => return,
            }
        }
    }

    fn write_chain<'n>(
        &self,
        start: usize,
        used: &mut [bool],
        name: &dyn Fn(usize) -> &'n str,
        text: &mut String,
    ) {
        let from = self.connections[start].0;
        text.push_str(name(from.element));
        if from.port > 0 {
            let _ = write!(text, " [{}]", from.port);
        }
        let mut at = Some(start);
        while let Some(idx) = at.filter(|idx| !used[*idx]) {
            let to = self.connections[idx].1;
            text.push_str(if idx == start { " -> " } else { "\n    -> " });
            if to.port > 0 {
                let _ = write!(text, "[{}] ", to.port);
            }
            text.push_str(name(to.element));
            used[idx] = true;
            at = self.next[idx];
        }
        text.push_str(";\n");
    }
}
