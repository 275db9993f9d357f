//! Finds the elements that configurations name.

use std::collections::HashMap;

use element::ElementIdx;
use graph::{contexts, Graph};

use super::present;
use crate::configured::words;

/// The elements of a graph by their names.
pub(super) struct ByName<'g> {
    graph: &'g Graph,
    places: HashMap<&'g str, ElementIdx>,
    /// For each look of the last parts of names ([`look`]), whether there is one: most words are none without a search.
    looks: [u64; N_LOOKS / 64],
}

/// How many looks words can have.
const N_LOOKS: usize = 4096;

impl<'g> ByName<'g> {
    pub fn new(graph: &'g Graph) -> ByName<'g> {
        let mut by_name = ByName { graph, places: HashMap::new(), looks: [0; N_LOOKS / 64] };
        for (idx, element) in present(graph) {
            by_name.places.entry(&element.name).or_insert(idx);
            let look = look(&element.name);
            by_name.looks[look / 64] |= 1 << (look % 64);
        }
        by_name
    }

    /// The elements that an element's configuration names. Configurations may be long: a word is looked up only if it looks like a
    /// name.
    pub fn named_by(&self, idx: ElementIdx) -> Vec<ElementIdx> {
        let Some(element) = self.graph.elements.get(idx) else { return Vec::new() };
        let candidates = words(&element.config).filter(|word| self.may_name(word));
        candidates.filter_map(|word| self.find_in(word, element.context())).collect()
    }

    fn may_name(&self, word: &str) -> bool {
        let look = look(word);
        self.looks[look / 64] >> (look % 64) & 1 != 0
    }

    /// As [`Graph::find_in`].
    fn find_in(&self, name: &str, context: &str) -> Option<ElementIdx> {
        contexts(context).find_map(|context| self.places.get(format!("{context}{name}").as_str()).copied())
    }
}

/// What the last part of a name looks like at a glance: its length, first and last byte.
fn look(name: &str) -> usize {
    let last_part = name.rsplit('/').next().unwrap_or_default().as_bytes();
    let of = |byte: Option<&u8>| byte.map_or(0, |byte| usize::from(*byte));
    (last_part.len() + 61 * of(last_part.first()) + 421 * of(last_part.last())) % N_LOOKS
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
