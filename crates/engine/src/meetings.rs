//! Where branches of a graph meet again: the inputs at which a batch waits for what was split off it.

use std::collections::BTreeMap;

/// An input: element and port.
pub type Input = (u32, u32);

/// As many elements behind a fork are looked at, the nearest ones.
pub const HORIZON: usize = 64;

/// The inputs at which branches that begin at the outputs of `fork` meet, the nearest last. `targets` tells the inputs that the
/// push outputs of an element lead to.
pub fn of(fork: u32, targets: impl Fn(u32) -> Vec<Input>) -> Vec<Input> {
    let branches = targets(fork);
    if branches.len() < 2 {
        return Vec::new();
    }
    let edge_of_branch = |(n, to): (usize, &Input)| Edge { from: fork, to: *to, branches: 1 << n.min(63) };
    let mut edges: Vec<Edge> = branches.iter().enumerate().map(edge_of_branch).collect();
    let mut elements = Vec::new();
    let mut n_seen = 0;
    while let Some(&Edge { to: (element, _), .. }) = edges.get(n_seen) {
        n_seen += 1;
        if element != fork && !elements.contains(&element) && elements.len() < HORIZON {
            elements.push(element);
            edges.extend(targets(element).into_iter().map(|to| Edge { from: element, to, branches: 0 }));
        }
    }
    spread(fork, &mut edges);
    let mut first = BTreeMap::new();
    let mut meetings = Vec::new();
    for Edge { to, branches, .. } in edges.iter().filter(|edge| edge.branches != 0) {
        // What has met once does not meet again further down: it comes from the same branches on each edge.
        if first.entry(*to).or_insert(*branches) != branches && !meetings.contains(to) {
            meetings.push(*to);
        }
    }
    meetings.reverse();
    meetings
}

/// An edge behind a fork, and a bit for each of the fork's outputs whose packets may take it.
struct Edge {
    from: u32,
    to: Input,
    branches: u64,
}

/// Tells each edge which branches lead to it.
fn spread(fork: u32, edges: &mut [Edge]) {
    let mut arriving = BTreeMap::<u32, u64>::new();
    let mut has_changed = true;
    while has_changed {
        has_changed = false;
        for Edge { from, to: (element, _), branches } in edges.iter_mut() {
            if *from != fork {
                *branches = arriving.get(from).copied().unwrap_or(0);
            }
            let known = arriving.entry(*element).or_default();
            has_changed |= *known | *branches != *known;
            *known |= *branches;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::{of, Input};

    /// The meetings behind element 0 of a graph, for each element the inputs that its outputs lead to.
    fn meetings(graph: &[&[Input]]) -> Vec<Input> {
        of(0, |element| graph.get(element as usize).map_or(Vec::new(), |targets| targets.to_vec()))
    }

    #[test]
    fn branches_meet_at_the_first_input_that_they_share() {
        assert_eq!(meetings(&[&[(1, 0), (2, 0)], &[(3, 0)], &[(3, 0)], &[(4, 0)]]), [(3, 0)]);
        assert_eq!(meetings(&[&[(1, 0), (1, 0)], &[(2, 0)]]), [(1, 0)]);
    }

    #[test]
    fn different_inputs_of_an_element_are_no_meeting() {
        assert_eq!(meetings(&[&[(1, 0), (2, 0)], &[(3, 0)], &[(3, 1)], &[(4, 0)]]), []);
        assert_eq!(meetings(&[&[(1, 0)], &[(2, 0), (2, 0)]]), []);
    }

    #[test]
    fn what_has_met_meets_no_more_but_with_others() {
        let third =
            meetings(&[&[(1, 0), (1, 0), (4, 0)], &[(2, 0), (3, 0)], &[(4, 0)], &[(4, 0)], &[(5, 0)]]);
        assert_eq!(third, [(4, 0), (1, 0)]);
        let twice = meetings(&[&[(1, 0), (1, 0)], &[(2, 0), (3, 0)], &[(4, 0)], &[(4, 0)]]);
        assert_eq!(twice, [(1, 0)]);
    }

    #[test]
    fn loops_come_to_an_end() {
        assert_eq!(meetings(&[&[(0, 0), (0, 0)]]), [(0, 0)]);
        assert_eq!(meetings(&[&[(1, 0), (2, 0)], &[(2, 0)], &[(1, 0)]]), [(1, 0), (2, 0)]);
    }

    #[test]
    fn what_is_far_away_is_not_looked_for() {
        let long = |element: u32| if element == 0 { vec![(1, 0), (9999, 0)] } else { vec![(element + 1, 0)] };
        assert_eq!(of(0, long), []);
    }
}
