//! The branches that lead to each instruction, kept up to date as branches move.

use super::insn::Insn;

/// No branch.
pub const NONE: Branch = -1;

/// A branch: twice the instruction's number, plus one for *yes*.
pub type Branch = i32;
pub fn branch(state: usize, yes: usize) -> Branch {
    (state * 2 + yes) as Branch
}

pub fn state(branch: Branch) -> usize {
    (branch >> 1) as usize
}

pub fn yes(branch: Branch) -> usize {
    (branch & 1) as usize
}

/// The branches into each instruction, as linked lists threaded through the branches.
pub struct Predecessors {
    first: Vec<Branch>,
    next: Vec<Branch>,
    prev: Vec<Branch>,
}

impl Predecessors {
    pub fn new(insns: &[Insn]) -> Predecessors {
        let n = insns.len();
        let mut links =
            Predecessors { first: vec![NONE; n], next: vec![NONE; 2 * n], prev: vec![NONE; 2 * n] };
        for (from, insn) in insns.iter().enumerate() {
            for (side, &target) in insn.jump.iter().enumerate() {
                if target > 0 {
                    links.insert_after(branch(from, side), target as usize, NONE);
                }
            }
        }
        links
    }

    pub fn of(&self, state: usize, sorted: bool) -> Vec<Branch> {
        let mut found = Vec::new();
        let mut at = self.first[state];
        while at >= 0 {
            found.push(at);
            at = self.next[at as usize];
        }
        if sorted {
            found.sort_unstable();
        }
        found
    }

    pub fn relink(&mut self, moved: Branch, old: i32, new: i32) {
        if old > 0 {
            let (prev, next) = (self.prev[moved as usize], self.next[moved as usize]);
            match prev {
                NONE => self.first[old as usize] = next,
                _ => self.next[prev as usize] = next,
            }
            if next >= 0 {
                self.prev[next as usize] = prev;
            }
        }
        if new > 0 {
            let mut prev = NONE;
            let mut at = self.first[new as usize];
            while at >= 0 && at < moved {
                prev = at;
                at = self.next[at as usize];
            }
            self.insert_after(moved, new as usize, prev);
        }
    }

    fn insert_after(&mut self, added: Branch, state: usize, prev: Branch) {
        let slot = if prev < 0 { &mut self.first[state] } else { &mut self.next[prev as usize] };
        let next = std::mem::replace(slot, added);
        self.prev[added as usize] = prev;
        self.next[added as usize] = next;
        if next >= 0 {
            self.prev[next as usize] = added;
        }
    }
}
