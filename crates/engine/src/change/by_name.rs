//! Finds the elements that configurations name.

use std::collections::HashMap;

use element::ElementIdx;
use graph::Graph;

use super::present;
use crate::configured::words;

/// The elements of a graph by their names.
pub(super) struct ByName<'g> {
    graph: &'g Graph,
    places: HashMap<&'g str, ElementIdx>,
    /// For each length, modulo 64, whether the last parts of names have it.
    lengths: u64,
}

impl<'g> ByName<'g> {
    pub fn new(graph: &'g Graph) -> ByName<'g> {
        let mut by_name = ByName { graph, places: HashMap::new(), lengths: 0 };
        for (idx, element) in present(graph) {
            by_name.places.entry(&element.name).or_insert(idx);
            by_name.lengths |= 1 << (last_part(&element.name).len() % 64);
        }
        by_name
    }

    /// The elements that an element's configuration names.
    pub fn named_by(&self, idx: ElementIdx) -> Vec<ElementIdx> {
        let Some(element) = self.graph.elements.get(idx) else { return Vec::new() };
        let may_name = |word: &&str| self.lengths >> (last_part(word).len() % 64) & 1 != 0;
        let found = words(&element.config).filter(may_name);
        found.filter_map(|word| self.find_in(word, element.context())).collect()
    }

    /// As [`Graph::find_in`].
    fn find_in(&self, name: &str, mut context: &str) -> Option<ElementIdx> {
        while !context.is_empty() {
            if let Some(idx) = self.places.get(format!("{context}{name}").as_str()) {
                return Some(*idx);
            }
            let outer = context.strip_suffix('/').unwrap_or(context);
            context = outer.rfind('/').map_or("", |slash| &context[..=slash]);
        }
        self.places.get(name).copied()
    }
}

fn last_part(name: &str) -> &str {
    name.rsplit('/').next().unwrap_or(name)
}

#[cfg(test)]
mod tests {
    use super::*;
    use graph::{Element, Place};

    #[test]
    fn names_mean_what_they_mean_to_the_graph() {
        let element = |name: &str| Element {
            name: name.into(),
            class: "Idle".into(),
            config: "a, b/c, c [d] a/b/c x.y é/a b:c a/c /c nothing-c".into(),
            place: Place::default(),
        };
        let names = ["", "a", "b/c", "c", "a/c", "a/b/c", "a/b/a", "a/b/x", "e/d", "c"];
        let graph = Graph { elements: names.map(element).into(), ..Graph::default() };
        let by_name = ByName::new(&graph);
        for (idx, element) in present(&graph) {
            let find = |word| graph.find_in(word, element.context());
            let expected: Vec<_> = words(&element.config).filter_map(find).collect();
            assert!(expected.len() >= 6, "{expected:?}");
            assert_eq!(by_name.named_by(idx), expected, "{}", element.name);
        }
    }
}
