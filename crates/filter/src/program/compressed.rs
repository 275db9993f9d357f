//! The program with runs of tests of one masked word gathered into one step.

use super::insn::Insn;
use super::Program;
use std::fmt;

/// Steps with at least this many values keep them sorted, for binary search.
const MIN_SORTED: usize = 7;

/// A step: does the masked word equal one of the values?
#[derive(Clone, Debug, PartialEq, Eq)]
struct Step {
    offset: u16,
    short_output: bool,
    mask: u32,
    values: Vec<u32>,
    /// Where to go: `[no, yes]`. Positive: a step; otherwise an output, negated.
    jump: [i32; 2],
}

/// The form in which IPFilter and IPClassifier show their program.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Compressed {
    steps: Vec<Step>,
    output_everything: Option<i32>,
    safe_length: u32,
    align_offset: u32,
}

impl Compressed {
    pub fn new(program: &Program) -> Compressed {
        let insns = program.insns();
        let mut wanted = count_uses(insns);
        let mut steps = Vec::new();
        let mut step_of = vec![0; insns.len()];
        for (at, insn) in insns.iter().enumerate() {
            step_of[at] = steps.len() as i32;
            if wanted[at] > 0 {
                steps.push(gather(*insn, insns, &mut wanted));
            }
        }
        for jump in steps.iter_mut().flat_map(|step| &mut step.jump).filter(|jump| **jump > 0) {
            *jump = step_of[*jump as usize];
        }
        Compressed {
            steps,
            output_everything: program.output_everything,
            safe_length: program.safe_length,
            align_offset: program.align_offset,
        }
    }

    /// Packets of at least this length have all bytes that the program may look at.
    pub fn safe_length(&self) -> u32 {
        self.safe_length
    }

    /// The outputs below `n_outputs` that no packet can reach.
    pub fn unused_outputs(&self, n_outputs: usize) -> Vec<usize> {
        let jumps = self.steps.iter().flat_map(|step| step.jump);
        super::unused_outputs(self.output_everything, jumps, n_outputs)
    }
}

impl fmt::Display for Compressed {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut line_of = Vec::with_capacity(self.steps.len());
        let mut line = 0;
        for step in &self.steps {
            line_of.push(line);
            line += step.values.len() as i32;
        }
        let target = |jump: i32| if jump > 0 { line_of[jump as usize] } else { jump };
        let mut line = 0;
        for step in &self.steps {
            for (idx, &value) in step.values.iter().enumerate() {
                let is_last = idx + 1 == step.values.len();
                let no = if is_last { target(step.jump[0]) } else { line + 1 };
                let insn = Insn {
                    offset: step.offset.wrapping_sub(self.align_offset as u16),
                    short_output: step.short_output,
                    mask: step.mask,
                    value,
                    jump: [no, target(step.jump[1])],
                };
                writeln!(f, "{line:2} {insn}")?;
                line += 1;
            }
        }
        super::write_summary(f, line == 0, self.output_everything, self.safe_length, self.align_offset)
    }
}

fn count_uses(insns: &[Insn]) -> Vec<u32> {
    let mut uses = vec![0; insns.len()];
    if let Some(first) = uses.first_mut() {
        *first = 1;
    }
    for (at, insn) in insns.iter().enumerate() {
        if uses[at] == 0 {
            continue;
        }
        for &target in insn.jump.iter().filter(|&&target| target > 0) {
            uses[target as usize] += 1;
        }
    }
    uses
}

/// Takes `insn` and the tests that follow it alone, as far as they compare the same masked word.
fn gather(insn: Insn, insns: &[Insn], wanted: &mut [u32]) -> Step {
    let Insn { offset, short_output, mask, value, jump } = insn;
    let mut step = Step { offset, short_output, mask, values: vec![value], jump };
    while step.jump[0] > 0 {
        let at = step.jump[0] as usize;
        let next = insns[at];
        let same = next.yes() == insn.yes() && next.offset == offset && next.mask == mask;
        if wanted[at] != 1 || !same {
            break;
        }
        step.jump[0] = next.no();
        step.values.push(next.value);
        wanted[at] -= 1;
    }
    if step.values.len() >= MIN_SORTED {
        // The order of the words as a little-endian machine loads them.
        step.values.sort_unstable_by_key(|value| value.swap_bytes());
    }
    step
}
