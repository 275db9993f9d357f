//! A decision graph over loaded words: the fastest form of short lists.

use super::words::{Layout, Words, N_WORDS};
use crate::program::{Program, NEVER};

#[derive(Clone, Copy, Debug)]
struct Step {
    mask: u32,
    value: u32,
    /// `[no, yes]`. Positive: a step; otherwise an output, negated.
    jump: [i32; 2],
    place: u8,
}

#[derive(Clone, Debug)]
pub struct Steps {
    steps: Vec<Step>,
}

impl Steps {
    pub fn new(program: &Program, layout: &Layout) -> Steps {
        let step = |insn: &crate::program::Insn| Step {
            mask: insn.mask,
            value: insn.value,
            jump: insn.jump,
            place: layout.place(insn.offset),
        };
        Steps { steps: program.insns().iter().map(step).collect() }
    }

    #[inline]
    pub fn classify(&self, words: &Words) -> i32 {
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            let yes = words[usize::from(step.place) % N_WORDS] & step.mask == step.value;
            let jump = if yes { step.jump[1] } else { step.jump[0] };
            if jump <= 0 {
                return jump;
            }
            at = jump as usize;
        }
        NEVER
    }
}
