//! Questions about a graph: elements by name, connections by port.

use std::cmp::Ordering;

use crate::{Connection, Element, ElementIdx, Endpoint, Graph};

impl Graph {
    /// Index of the element called `name`.
    pub fn find(&self, name: &str) -> Option<ElementIdx> {
        self.elements.iter().position(|element| element.name == name)
    }

    /// Index of the element that `name` means inside the compound element `context` (empty, or ending in `/`): it is
    /// looked for there, then in each enclosing compound.
    pub fn find_in(&self, name: &str, context: &str) -> Option<ElementIdx> {
        let position =
            |context| self.elements.iter().position(|e| e.name.strip_prefix(context) == Some(name));
        contexts(context).find_map(position)
    }

    /// The connections that leave output `from`, in the order in which they were written.
    pub fn connections_from(&self, from: Endpoint) -> impl Iterator<Item = &Connection> {
        self.connections.iter().filter(move |connection| connection.from == from)
    }

    /// The connections that enter input `to`, in the order in which they were written.
    pub fn connections_to(&self, to: Endpoint) -> impl Iterator<Item = &Connection> {
        self.connections.iter().filter(move |connection| connection.to == to)
    }

    /// Takes an element and its connections away; those behind it move up by one.
    pub fn remove(&mut self, element: ElementIdx) -> Element {
        self.connections.retain(|c| c.from.element != element && c.to.element != element);
        for end in self.connections.iter_mut().flat_map(|c| [&mut c.from, &mut c.to]) {
            end.element -= usize::from(end.element > element);
        }
        self.elements.remove(element)
    }

    /// The connections in Click's order: by input, then by output; each once.
    pub fn sorted_connections(&self) -> Vec<&Connection> {
        let mut list: Vec<&Connection> = self.connections.iter().collect();
        list.sort_by(|a, b| a.by_input(b));
        list.dedup_by(|a, b| a.by_input(b) == Ordering::Equal);
        list
    }
}

impl Connection {
    /// Compares as Click orders connections: by input, then by output.
    pub fn by_input(&self, other: &Connection) -> Ordering {
        (self.to, self.from).cmp(&(other.to, other.from))
    }

    /// Compares by output, then by input.
    pub fn by_output(&self, other: &Connection) -> Ordering {
        (self.from, self.to).cmp(&(other.from, other.to))
    }
}

impl Element {
    /// The element as messages name it: `name :: Class`.
    pub fn declaration(&self) -> String {
        format!("{} :: {}", self.name, self.class)
    }

    /// The compound element that holds this one, ending in `/`; empty at the top.
    pub fn context(&self) -> &str {
        context_of(&self.name)
    }
}

/// The compound element that holds the element called `name`, ending in `/`; empty at the top.
pub fn context_of(name: &str) -> &str {
    name.rfind('/').map_or("", |slash| &name[..=slash])
}

/// The compound element `context` (empty, or ending in `/`) and those that enclose it, from the inside out; the top is last.
pub fn contexts(context: &str) -> impl Iterator<Item = &str> {
    std::iter::successors(Some(context), |inner| inner.strip_suffix('/').map(context_of))
}

#[cfg(test)]
mod tests {
    use crate::testing::graph;

    #[test]
    fn names_are_found_from_the_inside_out() {
        let graph = graph("a:A q:Q a/q:Q a/b/q:Q a/b/c:C", "");
        assert_eq!(graph.find("a/q"), Some(2));
        assert_eq!(graph.find("c"), None);
        assert_eq!(graph.find_in("q", "a/b/"), Some(3));
        assert_eq!(graph.find_in("q", "a/x/"), Some(2));
        assert_eq!(graph.find_in("q", "z/"), Some(1));
        assert_eq!(graph.find_in("c", "a/"), None);
        assert_eq!(graph.elements[4].context(), "a/b/");
    }

    #[test]
    fn connections_sort_by_input() {
        let graph = graph("a:A b:B", "0.1-1.0 0.0-1.1 0.0-1.0 0.1-1.0");
        let order: Vec<_> = graph.sorted_connections().iter().map(|c| (c.to.port, c.from.port)).collect();
        assert_eq!(order, [(0, 0), (0, 1), (1, 0)]);
    }
}
