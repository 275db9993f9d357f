//! Finding a pattern's elements and connections among a router's.

use std::collections::HashSet;

use lang::Kind;

use crate::router::{Connection, Router, Side};

/// Looks for the elements of `pattern` in `body`; `accept` is asked of each way to match them, in order, until it agrees.
///
/// A match has the number of an element of the body for each element of the pattern; none for tunnels.
pub(crate) fn find(
    pattern: &Router,
    body: &Router,
    accept: &mut dyn FnMut(&[Option<usize>]) -> bool,
) -> Option<Vec<Option<usize>>> {
    let wanted: Vec<usize> =
        pattern.live().filter(|idx| pattern.elements[*idx].kind != Kind::Tunnel).collect();
    let connections: Vec<&Connection> = pattern.wires().collect();
    let mut search = Search { pattern, body, connections, found: vec![None; pattern.elements.len()] };
    let mut used = HashSet::new();
    let mut left: Vec<std::vec::IntoIter<usize>> = Vec::new();
    loop {
        if left.len() == wanted.len() {
            if accept(&search.found) {
                return Some(search.found);
            }
        } else {
            left.push(search.candidates(wanted[left.len()]).into_iter());
        }
        // Takes the next candidate of the last element that has one.
        loop {
            let candidates = left.last_mut()?;
            let next = candidates.next();
            let element = wanted[left.len() - 1];
            if let Some(old) = search.found[element].take() {
                used.remove(&old);
            }
            match next {
                None => {
                    left.pop();
                }
                Some(candidate) if used.contains(&candidate) => {}
                Some(candidate) => {
                    search.found[element] = Some(candidate);
                    if search.fits(element) {
                        used.insert(candidate);
                        break;
                    }
                    search.found[element] = None;
                }
            }
        }
    }
}

struct Search<'a> {
    pattern: &'a Router,
    body: &'a Router,
    connections: Vec<&'a Connection>,
    found: Vec<Option<usize>>,
}

impl Search<'_> {
    /// The elements of the body that may stand for `element`: those that an element found before leads to, or else all.
    fn candidates(&self, element: usize) -> Vec<usize> {
        let class = self.pattern.elements[element].class();
        let before = self.connections.iter().find_map(|wire| {
            let from = self.found[wire.from.element].filter(|_| wire.to.element == element)?;
            Some(crate::router::port(from, wire.from.port))
        });
        let mut list: Vec<usize> = match before {
            Some(from) => {
                self.body.neighbours(from, Side::Output).into_iter().map(|end| end.element).collect()
            }
            None => self.body.of_class(class).collect(),
        };
        list.retain(|idx| self.body.elements[*idx].is(class));
        list.sort_unstable();
        list.dedup();
        list
    }

    /// Whether the body has all connections of the pattern between `element` and those found before.
    fn fits(&self, element: usize) -> bool {
        let touching = |wire: &&&Connection| wire.from.element == element || wire.to.element == element;
        self.connections.iter().filter(touching).all(|wire| {
            let (Some(from), Some(to)) = (self.found[wire.from.element], self.found[wire.to.element]) else {
                return true;
            };
            let end = crate::router::port;
            self.body.has_connection(end(from, wire.from.port), end(to, wire.to.port))
        })
    }
}
