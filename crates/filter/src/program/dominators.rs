//! Removes branches whose outcome every path that leads to them has already decided.
//!
//! For each instruction up to four *paths* are kept: sets of branches such that every way of reaching the instruction
//! goes through all branches of at least one set. A branch that leads to a test which every set decides alike can
//! skip that test. The order in which predecessors and paths are visited shows in the result, so it is part of the
//! contract: `program` texts compare equal with Click's only if it stays as it is.

use super::insn::{Insn, NEVER};
use super::predecessors::{branch, state, yes, Branch, Predecessors, NONE};
use std::collections::HashMap;

/// Above this many paths, an instruction keeps one: what they have in common.
const MAX_PATHS: usize = 4;

/// Branches on the way to an instruction. The last is the instruction's own, rewritten when it is looked at.
type Path = Vec<Branch>;

/// Works as Click does.
pub(super) fn run(insns: &mut [Insn]) {
    run_with(insns, known_lengths(insns), false);
}

/// Takes all packets to be long enough, and keeps the outcome of every packet.
///
/// Click's order of predecessors can put the two branches of one instruction apart. It then takes both for the second
/// of them, and may remove tests that are still needed.
pub(super) fn run_sound(insns: &mut [Insn]) {
    run_with(insns, vec![u32::MAX; insns.len()], true);
}

fn run_with(insns: &mut [Insn], known_length: Vec<u32>, sound: bool) {
    let mut run = Dominators {
        sound,
        known_length,
        same_as: first_equal(insns),
        paths: Vec::with_capacity(insns.len()),
        links: Predecessors::new(insns),
        insns,
    };
    for state in 0..run.insns.len() {
        let paths = run.find_paths(state);
        run.paths.push(paths);
        run.shift_branch(state, 1);
        run.shift_branch(state, 0);
    }
}

struct Dominators<'a> {
    sound: bool,
    insns: &'a mut [Insn],
    /// Bytes that a packet is known to have when it reaches an instruction.
    known_length: Vec<u32>,
    /// The first instruction with the same test; branches in paths are named by it.
    same_as: Vec<usize>,
    paths: Vec<Vec<Path>>,
    links: Predecessors,
}

impl Dominators<'_> {
    fn find_paths(&mut self, at: usize) -> Vec<Path> {
        let predecessors = self.links.of(at, self.sound);
        let incoming = self.incoming(&predecessors);
        if incoming.len() > MAX_PATHS {
            let mut common = intersect(&incoming);
            common.push(branch(self.same_as[at], 0));
            return vec![common];
        }
        let (paths, decided) = self.extend(at, &incoming);
        if let Some(own) = decided {
            let target = self.insns[at].jump[yes(own)];
            for &predecessor in &predecessors {
                self.set_branch(state(predecessor), yes(predecessor), target);
            }
        } else if !paths.is_empty() {
            return paths;
        }
        if at == 0 {
            return vec![vec![branch(0, 0)]];
        }
        self.set_branch(at, 0, NEVER);
        self.set_branch(at, 1, NEVER);
        Vec::new()
    }

    /// The paths of all predecessors, without those that contradict themselves.
    fn incoming(&mut self, predecessors: &[Branch]) -> Vec<Path> {
        // Which path, and how much of it. Paths are read at the end: see `run_sound` for what that means.
        let mut incoming: Vec<(usize, usize, usize)> = Vec::new();
        for (idx, &predecessor) in predecessors.iter().enumerate() {
            let from = state(predecessor);
            if idx > 0 && state(predecessors[idx - 1]) == from {
                // Both branches lead here, so this test decides nothing.
                let n_dropped = if self.sound { usize::MAX } else { 1 };
                let same = incoming.iter_mut().rev().take_while(|(state, ..)| *state == from);
                same.take(n_dropped).for_each(|(_, _, len)| *len -= 1);
                continue;
            }
            let other = idx + 1 < predecessors.len() && state(predecessors[idx + 1]) == from && self.sound;
            let own = branch(self.same_as[from], yes(predecessor));
            for (number, path) in self.paths[from].iter_mut().enumerate() {
                let len = path.len();
                let Some((last, earlier)) = path.split_last_mut() else { continue };
                if other || earlier.iter().all(|&b| b ^ own != 1) {
                    *last = own;
                    incoming.push((from, number, len));
                }
            }
        }
        incoming.into_iter().map(|(from, number, len)| self.paths[from][number][..len].to_vec()).collect()
    }

    /// Carries the paths on to `at`; the branch taken there if every path decides it, and alike.
    fn extend(&self, at: usize, incoming: &[Path]) -> (Vec<Path>, Option<Branch>) {
        let mut own = branch(self.same_as[at], 0);
        let mut n_decided = Some(0);
        let mut paths = Vec::with_capacity(incoming.len());
        for path in incoming {
            let last = path.last().copied().unwrap_or(NONE);
            let mut extended = Path::with_capacity(path.len() + 1);
            let mut found = None;
            for (idx, &b) in path.iter().enumerate() {
                if idx + 1 < path.len() && b ^ last <= 1 {
                    continue;
                }
                if b ^ own <= 1 {
                    found = Some(b);
                }
                extended.push(b);
            }
            n_decided = match (n_decided, found) {
                (Some(n), Some(b)) if n == 0 || b == own => {
                    own = b;
                    Some(n + 1)
                }
                _ => None,
            };
            extended.push(own);
            paths.push(extended);
        }
        (paths, n_decided.filter(|&n| n > 0).map(|_| own))
    }

    fn shift_branch(&mut self, from: usize, side: usize) {
        let target = self.insns[from].jump[side];
        if target <= 0 || self.paths[from].is_empty() {
            return;
        }
        let own = branch(self.same_as[from], side);
        let mut paths = std::mem::take(&mut self.paths[from]);
        let walks: Vec<Vec<i32>> = paths
            .iter_mut()
            .map(|path| {
                if let Some(last) = path.last_mut() {
                    *last = own;
                }
                self.walk(target, path)
            })
            .collect();
        self.paths[from] = paths;
        let new_target = last_common(&walks).unwrap_or(target);
        if new_target != target {
            self.set_branch(from, side, new_target);
        }
    }

    /// The targets passed when going on from `target` as long as the path decides the tests.
    fn walk(&self, mut target: i32, path: &[Branch]) -> Vec<i32> {
        let mut passed = vec![target];
        while target > 0 {
            let Some(next) = self.decide(&self.insns[target as usize], path) else { break };
            target = next;
            passed.push(target);
        }
        passed
    }

    fn decide(&self, test: &Insn, path: &[Branch]) -> Option<i32> {
        path.iter().rev().find_map(|&b| {
            let from = &self.insns[state(b)];
            let known = self.known_length[state(b)];
            let (must, must_not) = match yes(b) {
                1 => (from.implies(test, known), from.implies_not(test, known)),
                _ => (from.not_implies(test, known), from.not_implies_not(test, known)),
            };
            match (must, must_not) {
                (true, _) => Some(test.yes()),
                (false, true) => Some(test.no()),
                (false, false) => None,
            }
        })
    }

    fn set_branch(&mut self, from: usize, side: usize, target: i32) {
        self.links.relink(branch(from, side), self.insns[from].jump[side], target);
        self.insns[from].jump[side] = target;
    }
}

fn known_lengths(insns: &[Insn]) -> Vec<u32> {
    let mut known = vec![i32::MAX as u32; insns.len()];
    if let Some(first) = known.first_mut() {
        *first = 0;
    }
    for (at, insn) in insns.iter().enumerate() {
        let tested = insn.required_length().max(known[at]);
        let short = usize::from(insn.short_output);
        for (side, length) in [(1 - short, tested), (short, known[at])] {
            if insn.jump[side] > 0 {
                let target = &mut known[insn.jump[side] as usize];
                *target = length.min(*target);
            }
        }
    }
    known
}

fn first_equal(insns: &[Insn]) -> Vec<usize> {
    let mut first = HashMap::new();
    insns.iter().enumerate().map(|(at, insn)| *first.entry(insn.test()).or_insert(at)).collect()
}

/// What all lists have in common, found by stepping through them in parallel; they are taken to be ascending.
fn intersect(lists: &[impl AsRef<[i32]>]) -> Vec<i32> {
    let mut positions = vec![0; lists.len()];
    let mut common = Vec::new();
    let mut candidate = -1;
    loop {
        let (mut list, mut n_agree) = (0, 0);
        while n_agree < lists.len() {
            let values = lists[list].as_ref();
            while values.get(positions[list]).is_some_and(|&v| v < candidate) {
                positions[list] += 1;
            }
            let Some(&value) = values.get(positions[list]) else { return common };
            if value > candidate {
                candidate = value;
                n_agree = 0;
            }
            list = (list + 1) % lists.len();
            n_agree += 1;
        }
        common.push(candidate);
        candidate += 1;
    }
}

fn last_common(walks: &[Vec<i32>]) -> Option<i32> {
    let last = *walks.first()?.last()?;
    if walks.len() == 1 || last <= 0 && walks.iter().all(|walk| walk.last() == Some(&last)) {
        return Some(last);
    }
    intersect(walks).last().copied()
}
