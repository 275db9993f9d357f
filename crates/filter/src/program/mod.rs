//! The reference form of a filter: Click's decision program, in its order and its notation.

mod compressed;
mod dominators;
mod insn;
mod predecessors;
mod simplify;
mod tree;

pub use compressed::Compressed;
pub use insn::{required_length, Insn, FAILURE, NEVER, SUCCESS};
pub use tree::{Combiner, Node, NodeId, Nodes, Tree};

use std::fmt;
use std::ops::Range;

/// A directed acyclic graph of tests; jumps only lead forward.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    insns: Vec<Insn>,
    /// The output of all packets, if the program decides nothing. `-NEVER` and `-FAILURE` drop them.
    output_everything: Option<i32>,
    safe_length: u32,
    align_offset: u32,
}

impl Program {
    pub fn new(align_offset: u32) -> Program {
        Program {
            insns: Vec::new(),
            output_everything: Some(-NEVER),
            safe_length: 0u32.wrapping_sub(align_offset),
            align_offset,
        }
    }

    /// The instructions `part` of this program, which lead nowhere else, as a program of their own.
    pub fn part(&self, part: Range<usize>) -> Program {
        let first = part.start as i32;
        let place = |jump: i32| if jump > 0 { jump - first } else { jump };
        let insns = self.insns.get(part).unwrap_or_default();
        let insns: Vec<Insn> =
            insns.iter().map(|insn| Insn { jump: insn.jump.map(place), ..*insn }).collect();
        let output_everything = insns.is_empty().then_some(-NEVER);
        Program { insns, output_everything, ..Program::new(0) }
    }

    /// The parts of this program one after the other, unoptimised: packets that fail one go to the next, and are dropped in the
    /// end, or by a part without instructions.
    pub fn chained(&self, parts: impl IntoIterator<Item = Range<usize>>) -> Program {
        let mut insns = self.insns.clone();
        let (mut start_of_last, mut end) = (0, 0);
        for part in parts.into_iter().take_while(|part| !part.is_empty()) {
            let own = insns.get_mut(part.clone()).unwrap_or_default();
            (start_of_last, end) = (part.start, part.end);
            for jump in own.iter_mut().flat_map(|insn| &mut insn.jump).filter(|jump| **jump == FAILURE) {
                *jump = part.end as i32;
            }
        }
        insns.truncate(end);
        let last = insns.get_mut(start_of_last..).unwrap_or_default();
        for jump in last.iter_mut().flat_map(|insn| &mut insn.jump).filter(|jump| **jump == end as i32) {
            *jump = NEVER;
        }
        let output_everything = insns.is_empty().then_some(-NEVER);
        Program { insns, output_everything, ..Program::new(0) }
    }

    pub fn insns(&self) -> &[Insn] {
        &self.insns
    }

    pub fn output_everything(&self) -> Option<i32> {
        self.output_everything
    }

    /// Packets of at least this length have all bytes that the program may look at.
    pub fn safe_length(&self) -> u32 {
        self.safe_length
    }

    pub fn align_offset(&self) -> u32 {
        self.align_offset
    }

    /// The same program with each test replaced.
    pub fn map(&self, insn: impl FnMut(&Insn) -> Insn) -> Program {
        Program { insns: self.insns.iter().map(insn).collect(), ..*self }
    }

    /// Where a packet goes: an output, negated, or `NEVER` or `FAILURE`. `word` reads the word at an offset.
    pub fn run(&self, length: u32, word: impl Fn(u16) -> u32) -> i32 {
        if let Some(output) = self.output_everything {
            return -output;
        }
        let mut at = 0;
        while let Some(insn) = self.insns.get(at) {
            let jump = match insn.required_length() > length {
                true => insn.jump[usize::from(insn.short_output)],
                false => insn.branch(word(insn.offset)),
            };
            if jump <= 0 {
                return jump;
            }
            at = jump as usize;
        }
        NEVER
    }

    /// How many tests a packet can go through.
    pub fn longest_way(&self) -> usize {
        let mut from = vec![0; self.insns.len()];
        for (at, insn) in self.insns.iter().enumerate().rev() {
            let after = |jump: i32| if jump > 0 { from[jump as usize] } else { 0 };
            from[at] = 1 + after(insn.yes()).max(after(insn.no()));
        }
        from.first().copied().unwrap_or(0)
    }

    fn push(&mut self, insn: Insn) {
        self.insns.push(insn);
        self.output_everything = None;
    }

    /// Sends packets that fail this program to `failure`.
    pub fn set_failure(&mut self, failure: i32) {
        if self.output_everything == Some(-FAILURE) {
            self.output_everything = Some(-failure.min(0));
        }
        for jump in self.insns.iter_mut().flat_map(|insn| &mut insn.jump) {
            if *jump == FAILURE {
                *jump = failure;
            }
        }
    }

    /// Appends `next` for the packets that fail this program.
    pub fn append_or(&mut self, next: &Program) {
        if self.output_everything.is_some_and(|output| output != -FAILURE) {
            return;
        }
        let offset = self.insns.len() as i32;
        self.set_failure(next.output_everything.map_or(offset, |output| -output));
        self.insns.extend(next.insns.iter().map(|insn| Insn {
            jump: insn.jump.map(|jump| if jump > 0 { jump + offset } else { jump }),
            ..*insn
        }));
    }

    /// The outputs below `n_outputs` that no packet can reach.
    pub fn unused_outputs(&self, n_outputs: usize) -> Vec<usize> {
        let jumps = self.insns.iter().flat_map(|insn| insn.jump);
        unused_outputs(self.output_everything, jumps, n_outputs)
    }
}

impl fmt::Display for Program {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        for (step, insn) in self.insns.iter().enumerate() {
            let shown = Insn { offset: insn.offset.wrapping_sub(self.align_offset as u16), ..*insn };
            writeln!(f, "{step:2} {shown}")?;
        }
        write_summary(f, self.insns.is_empty(), self.output_everything, self.safe_length, self.align_offset)
    }
}

fn unused_outputs(everything: Option<i32>, jumps: impl Iterator<Item = i32>, n: usize) -> Vec<usize> {
    let mut used = vec![false; n];
    let outputs = jumps.filter(|&jump| jump <= 0).map(|jump| jump.unsigned_abs() as usize);
    let everything = everything.map(|output| output as usize);
    match everything.filter(|&output| output < n) {
        Some(output) => used[output] = true,
        None => outputs.filter(|&output| output < n).for_each(|output| used[output] = true),
    }
    (0..n).filter(|&output| !used[output]).collect()
}

fn write_summary(
    f: &mut fmt::Formatter<'_>,
    empty: bool,
    output_everything: Option<i32>,
    safe_length: u32,
    align_offset: u32,
) -> fmt::Result {
    if empty {
        writeln!(f, "all->[{}]", output_everything.unwrap_or(-1))?;
    }
    writeln!(f, "safe length {safe_length}\nalignment offset {align_offset}")
}
