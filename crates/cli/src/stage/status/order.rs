//! Stages in the order of their chains.

use std::collections::{HashMap, HashSet};

use super::Status;

/// A stage and those next to it.
#[derive(Default)]
struct Place {
    /// When it started; one that does not answer is younger than all others.
    started_s: f64,
    right: Vec<usize>,
    n_left: usize,
}

/// The order in which stages are listed: each chain from left to right, and one after the other, the oldest first. Those that do not
/// answer, `silent`, come behind those that do in the numbers that are yielded, and are where their neighbours say.
pub fn in_order(list: &[Status], silent: &[u32]) -> Vec<usize> {
    let mut places = places(list, silent);
    let mut chains = chains(&places);
    chains.sort_by(|a, b| a.0.total_cmp(&b.0).then(a.1.cmp(&b.1)));
    let order = chains.iter().flat_map(|(_, members)| walk(&mut places, members));
    order.filter(|idx| *idx < list.len() + silent.len()).collect()
}

fn places(list: &[Status], silent: &[u32]) -> Vec<Place> {
    let interfaces = || {
        list.iter().enumerate().flat_map(|(idx, status)| status.interfaces.iter().map(move |one| (idx, one)))
    };
    let mut by_id = HashMap::new();
    let ids = list.iter().map(|status| status.id).chain(silent.iter().copied());
    // Another user's stages are seen only by those next to them, but they hold a chain together.
    for id in ids.chain(interfaces().filter_map(|(_, interface)| interface.neighbour)) {
        let n = by_id.len();
        by_id.entry(id).or_insert(n);
    }
    let mut readers: HashMap<&str, Vec<usize>> = HashMap::new();
    for (idx, interface) in interfaces() {
        interface.reads.iter().for_each(|pipe| readers.entry(pipe).or_default().push(idx));
    }
    let mut edges = HashSet::new();
    for (idx, interface) in interfaces() {
        let at_pipes = interface.writes.iter().filter_map(|pipe| readers.get(pipe.as_str())).flatten();
        edges.extend(at_pipes.map(|reader| (idx, *reader)));
        // One that does not answer tells nothing of its pipes, and sockets are none.
        match (interface.name.as_str(), interface.neighbour.and_then(|id| by_id.get(&id))) {
            ("left", Some(left)) => drop(edges.insert((*left, idx))),
            ("right", Some(right)) => drop(edges.insert((idx, *right))),
            _ => {}
        }
    }
    let age = |idx| list.get(idx).map_or(f64::INFINITY, |status: &Status| status.started_s);
    let mut places: Vec<Place> =
        (0..by_id.len()).map(|idx| Place { started_s: age(idx), ..Place::default() }).collect();
    for (left, right) in edges.into_iter().filter(|(left, right)| left != right) {
        places[left].right.push(right);
        places[right].n_left += 1;
    }
    places
}

/// The members of each chain, with the age of the oldest.
fn chains(places: &[Place]) -> Vec<(f64, Vec<usize>)> {
    let mut next_to: Vec<Vec<usize>> = vec![Vec::new(); places.len()];
    for (left, place) in places.iter().enumerate() {
        for &right in &place.right {
            next_to[left].push(right);
            next_to[right].push(left);
        }
    }
    let (mut chains, mut is_seen) = (Vec::new(), vec![false; places.len()]);
    for first in 0..places.len() {
        let (mut members, mut found) = (Vec::new(), vec![first]);
        while let Some(idx) = found.pop() {
            if !std::mem::replace(&mut is_seen[idx], true) {
                members.push(idx);
                found.extend(&next_to[idx]);
            }
        }
        if !members.is_empty() {
            let oldest = members.iter().map(|idx| places[*idx].started_s).fold(f64::INFINITY, f64::min);
            chains.push((oldest, members));
        }
    }
    chains
}

/// The members of a chain from left to right: a stage behind all that it receives from, and right behind the last of them. In a circle
/// the oldest is the first.
fn walk(places: &mut [Place], members: &[usize]) -> Vec<usize> {
    let mut left: Vec<usize> = members.to_vec();
    // The oldest is taken first, from the end.
    left.sort_by(|a, b| places[*b].started_s.total_cmp(&places[*a].started_s).then(b.cmp(a)));
    let (mut order, mut behind) = (Vec::new(), Vec::new());
    while let Some(idx) = behind.pop().or_else(|| next(places, &left)) {
        left.retain(|other| *other != idx);
        order.push(idx);
        let mut ready = Vec::new();
        for right in std::mem::take(&mut places[idx].right) {
            places[right].n_left -= 1;
            if places[right].n_left == 0 && left.contains(&right) {
                ready.push(right);
            }
        }
        ready.sort_by(|a, b| places[*b].started_s.total_cmp(&places[*a].started_s).then(b.cmp(a)));
        behind.extend(ready);
    }
    order
}

/// The oldest that receives from none of those that are left, or else the oldest.
fn next(places: &[Place], left: &[usize]) -> Option<usize> {
    left.iter().rev().find(|idx| places[**idx].n_left == 0).or(left.last()).copied()
}

#[cfg(test)]
mod tests {
    use super::super::Interface;
    use super::*;

    fn interface(name: &str, reads: &[&str], writes: &[&str], neighbour: u32) -> Interface {
        let texts = |list: &[&str]| list.iter().map(|text| text.to_string()).collect();
        let neighbour = Some(neighbour).filter(|id| *id > 0);
        Interface {
            name: name.into(),
            reads: texts(reads),
            writes: texts(writes),
            neighbour,
            ..Interface::default()
        }
    }

    fn stage(id: u32, started_s: f64, interfaces: Vec<Interface>) -> Status {
        Status { id, started_s, interfaces, function: String::new(), drops: 0, queued: 0 }
    }

    /// A stage between two pipes.
    fn between(id: u32, started_s: f64, reads: &str, writes: &str) -> Status {
        stage(id, started_s, vec![interface("left", &[reads], &[], 0), interface("right", &[], &[writes], 0)])
    }

    fn order(list: &[Status], silent: &[u32]) -> Vec<u32> {
        let ids: Vec<u32> = list.iter().map(|status| status.id).chain(silent.iter().copied()).collect();
        in_order(list, silent).into_iter().map(|idx| ids[idx]).collect()
    }

    #[test]
    fn chains_follow_each_other_by_age_and_their_stages_from_left_to_right() {
        let list = [
            between(1, 5.0, "c", "d"),
            between(2, 4.0, "x", "y"),
            between(3, 6.0, "a", "b"),
            between(4, 3.0, "b", "c"),
            between(5, 1.0, "m", "n"),
            between(6, 9.0, "y", "z"),
        ];
        assert_eq!(order(&list, &[]), [5, 3, 4, 1, 2, 6]);
    }

    #[test]
    fn branches_are_told_one_after_the_other_and_a_merger_behind_both() {
        let fork = vec![
            interface("left", &["a"], &[], 0),
            interface("right", &[], &["b"], 0),
            interface("aux", &[], &["c"], 0),
        ];
        let join = vec![interface("left", &["d"], &[], 0), interface("aux", &["e"], &[], 0)];
        let list = [
            stage(9, 1.0, join),
            between(3, 4.0, "c", "e"),
            between(2, 3.0, "b", "f"),
            between(4, 5.0, "f", "d"),
            stage(1, 2.0, fork),
        ];
        assert_eq!(order(&list, &[]), [1, 2, 4, 3, 9]);
    }

    #[test]
    fn one_that_does_not_answer_is_where_its_neighbours_say() {
        let list = [
            stage(1, 1.0, vec![interface("right", &[], &["a"], 7)]),
            stage(2, 2.0, vec![interface("left", &["b"], &[], 7)]),
            stage(3, 0.5, Vec::new()),
        ];
        assert_eq!(order(&list, &[8, 7]), [3, 1, 7, 2, 8]);
        // Nor does it matter whether anything is known of it.
        assert_eq!(order(&list, &[8]), [3, 1, 2, 8]);
    }

    #[test]
    fn a_circle_begins_with_the_oldest() {
        let list = [between(1, 2.0, "a", "b"), between(2, 1.0, "b", "a"), between(3, 3.0, "q", "q")];
        assert_eq!(order(&list, &[]), [2, 1, 3]);
    }
}
