//! The passes that shorten a decision program: sort conjunctions, merge neighbours, drop what is unreachable.

use super::insn::{Insn, NEVER};
use super::{dominators, Program};

/// Tests of the IP protocol and of the fragment offset come first: they decide most.
fn sort_key(insn: &Insn, protocol_first: bool) -> u16 {
    match insn.offset {
        // 256 is the network header: the word with the protocol sorts before all other words of it.
        264 if protocol_first => 259,
        offset => offset,
    }
}

impl Program {
    /// Runs all passes. With `protocol_first`, IP protocol tests are moved before other network header tests.
    pub fn optimize(&mut self, protocol_first: bool) {
        self.sort_conjunctions(protocol_first);
        dominators::run(&mut self.insns);
        self.finish_optimizing();
    }

    /// Runs all passes such that packets long enough for all tests keep their outcome; see `dominators::run_sound`.
    pub fn optimize_soundly(&mut self, protocol_first: bool) {
        self.insns.iter_mut().for_each(|insn| insn.short_output = false);
        self.sort_conjunctions(protocol_first);
        dominators::run_sound(&mut self.insns);
        self.finish_optimizing();
    }

    fn finish_optimizing(&mut self) {
        self.merge_neighbours();
        self.remove_unused();
        match self.output_everything {
            None if self.insns.is_empty() => self.output_everything = Some(-NEVER),
            Some(_) => self.insns.clear(),
            None => {}
        }
        let required = self.insns.iter().map(Insn::required_length).max().unwrap_or(0);
        self.safe_length = required.wrapping_sub(self.align_offset);
    }

    /// Sorts chains of tests that share their other exit.
    pub fn sort_conjunctions(&mut self, protocol_first: bool) {
        let only_predecessor = self.only_predecessors();
        let mut at = 0;
        while at < self.insns.len() {
            at = match self.swap_with_next(at, &only_predecessor, protocol_first) {
                // Step back: the test may have to move further.
                true if only_predecessor[at] > 0 => only_predecessor[at] as usize,
                true => at,
                false => at + 1,
            };
        }
    }

    fn swap_with_next(&mut self, at: usize, only_predecessor: &[i32], protocol_first: bool) -> bool {
        for side in 0..2 {
            let first = self.insns[at];
            let target = first.jump[side];
            if target <= 0 || only_predecessor[target as usize] <= 0 {
                continue;
            }
            let second = self.insns[target as usize];
            let key = |insn: &Insn| (sort_key(insn, protocol_first), insn.mask, insn.value);
            if first.jump[1 - side] != second.jump[1 - side] || key(&first) <= key(&second) {
                continue;
            }
            self.insns[target as usize] = first;
            self.insns[target as usize].jump[side] = second.jump[side];
            self.insns[at] = second;
            self.insns[at].jump[side] = target;
            return true;
        }
        false
    }

    /// For each instruction, the one it can be reached from; 0 if there are several, -1 if there is none.
    fn only_predecessors(&self) -> Vec<i32> {
        let mut from = vec![-1; self.insns.len()];
        for (at, insn) in self.insns.iter().enumerate() {
            for &target in insn.jump.iter().filter(|&&target| target > 0) {
                let slot: &mut i32 = &mut from[target as usize];
                *slot = if *slot >= 0 { 0 } else { at as i32 };
            }
        }
        from
    }

    fn merge_neighbours(&mut self) {
        for at in (0..self.insns.len()).rev() {
            while self.merge_one(at) {}
        }
    }

    /// Merges an instruction with the one after it; whether to look at it once more.
    fn merge_one(&mut self, at: usize) -> bool {
        let mut insn = self.insns[at];
        if insn.no() > 0 {
            let next = self.insns[insn.no() as usize];
            if next.compatible(&insn, false) && insn.flippable() {
                insn.flip();
            } else if insn.generalizable_or_pair(&next) {
                let bit = insn.value ^ next.value;
                insn.value &= !bit;
                insn.mask &= !bit;
                insn.jump[0] = next.no();
                self.insns[at] = insn;
                return true;
            }
        }
        self.insns[at] = insn;
        if insn.yes() <= 0 {
            return false;
        }
        let next = &mut self.insns[insn.yes() as usize];
        if insn.no() == next.yes() && next.flippable() {
            next.flip();
        }
        if insn.no() != next.no() || !next.compatible(&insn, true) {
            return false;
        }
        insn.jump[1] = next.yes();
        if insn.mask == 0 {
            insn.offset = next.offset;
        }
        insn.value = insn.value & insn.mask | next.value & next.mask;
        insn.mask |= next.mask;
        self.insns[at] = insn;
        true
    }

    fn remove_unused(&mut self) {
        if self.insns.is_empty() {
            return;
        }
        let first = self.skip_undeciding();
        self.output_everything = None;
        match first {
            target if target > 0 => self.insns[0] = self.insns[target as usize],
            target if target < 0 => self.output_everything = Some(-target),
            _ => {
                let insn = &self.insns[0];
                if insn.yes() == 0 && (insn.no() == 0 || insn.mask == 0) {
                    self.output_everything = Some(0);
                }
            }
        }
        self.compact();
    }

    /// Redirects all jumps past instructions that decide nothing; where the first one leads.
    fn skip_undeciding(&mut self) -> i32 {
        let mut leads_to = vec![-1; self.insns.len()];
        for at in (0..self.insns.len()).rev() {
            let insn = &mut self.insns[at];
            for jump in insn.jump.iter_mut().filter(|jump| **jump > 0) {
                *jump = leads_to[*jump as usize];
            }
            leads_to[at] = match insn.yes() {
                yes if yes != insn.no() && insn.mask != 0 => at as i32,
                yes if yes <= 0 => yes,
                yes => leads_to[yes as usize],
            };
        }
        leads_to[0]
    }

    fn compact(&mut self) {
        let mut new_idx = vec![-1; self.insns.len()];
        if self.output_everything.is_none() {
            new_idx[0] = 0;
        }
        let mut n_kept = 0;
        for at in 0..self.insns.len() {
            if new_idx[at] < 0 {
                continue;
            }
            new_idx[at] = n_kept as i32;
            self.insns[n_kept] = self.insns[at];
            for &target in self.insns[n_kept].jump.iter().filter(|&&target| target > 0) {
                new_idx[target as usize] = 0;
            }
            n_kept += 1;
        }
        self.insns.truncate(n_kept);
        for insn in &mut self.insns {
            for jump in insn.jump.iter_mut().filter(|jump| **jump > 0) {
                *jump = new_idx[*jump as usize];
            }
        }
    }
}
