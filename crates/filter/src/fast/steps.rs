//! A decision graph that reads the words it tests from the packet: the fastest form of short lists.

use super::words::{aligned_word, Headers, Layout, Place, N_WORDS};
use crate::program::{Insn, Program, NEVER};

#[derive(Clone, Copy, Debug)]
struct Step {
    /// Mask and value as the bytes lie in the packet.
    mask: u32,
    value: u32,
    /// Where to go. Positive: a step; otherwise an output, negated.
    yes: i32,
    no: i32,
    no_is_next: bool,
    /// The offset as the program has it.
    offset: u16,
    /// Where the word is, or [`Place::ELSEWHERE`].
    from: Place,
    /// The place of the word where all words are loaded beforehand.
    place: u8,
}

/// A test of one word of a packet, and where the packet goes; `None` drops it.
#[derive(Clone, Copy, Debug)]
pub struct Test {
    at: usize,
    mask: u32,
    value: u32,
    pub yes: Option<usize>,
    pub no: Option<usize>,
}

impl Test {
    /// Whether the test holds; `None` if the packet does not have the whole word.
    #[inline(always)]
    pub fn holds(&self, data: &[u8]) -> Option<bool> {
        let word = data.get(self.at..)?.first_chunk()?;
        Some(u32::from_ne_bytes(*word) & self.mask == self.value)
    }
}

/// The graph.
#[derive(Clone, Debug)]
pub struct Steps {
    steps: Vec<Step>,
    /// Whether the words of IP headers are loaded beforehand: for long ways.
    loads_headers: bool,
}

/// Up to this many tests read their words one by one.
const MAX_SINGLE_READS: usize = 2;

impl Steps {
    /// The only test, if there is just one, and packets that have its word are at least `n_bytes` long.
    pub fn only_test(&self, n_bytes: u32) -> Option<Test> {
        let [Step { mask, value, yes, no, from, .. }] = *self.steps.as_slice() else { return None };
        let reaches = usize::from(from.at) + 4 >= n_bytes as usize;
        let test = Test { at: from.at.into(), mask, value, yes: crate::output(yes), no: crate::output(no) };
        (from != Place::ELSEWHERE && reaches && yes <= 0 && no <= 0).then_some(test)
    }

    /// For IP packets.
    pub fn of_ip(program: &Program, layout: &Layout) -> Steps {
        let mut steps = Steps::new(program, Place::of);
        steps.steps.iter_mut().for_each(|step| step.place = layout.place(step.offset));
        steps.loads_headers = program.longest_way() > MAX_SINGLE_READS
            && program.insns().iter().all(|insn| insn.mask == 0 || layout.is_fixed(insn.offset));
        steps
    }

    /// For packets as they are, with offsets `align_offset` above those in their data.
    pub fn of_data(program: &Program, align_offset: u32) -> Steps {
        Steps::new(program, |offset| {
            let at = u32::from(offset).checked_sub(align_offset).and_then(|at| u16::try_from(at).ok());
            at.map_or(Place::ELSEWHERE, |at| Place { at, from_transport: 0 })
        })
    }

    fn new(program: &Program, place: impl Fn(u16) -> Place) -> Steps {
        let step = |(number, insn): (i32, &Insn)| {
            let from = place(insn.offset);
            let (mask, value, [no, yes]) = (insn.mask.to_be(), insn.value.to_be(), insn.jump);
            let no_is_next = no == number + 1;
            Step { mask, value, yes, no, no_is_next, offset: insn.offset, from, place: 0 }
        };
        Steps { steps: (0..).zip(program.insns()).map(step).collect(), loads_headers: false }
    }

    #[inline(always)]
    pub fn classify_ip(&self, headers: &Headers) -> i32 {
        if self.loads_headers {
            if let Some(words) = Layout::load_raw(headers) {
                return self.walk(|step| words[usize::from(step.place) % N_WORDS]);
            }
        }
        self.walk(|step| match headers.network.get(headers.at(step.from)..).and_then(<[u8]>::first_chunk) {
            Some(word) if step.from != Place::ELSEWHERE => u32::from_ne_bytes(*word),
            _ => far_word(headers, step.offset),
        })
    }

    #[inline(always)]
    pub fn classify_data(&self, data: &[u8], align_offset: u32) -> i32 {
        self.walk(|step| match data.get(usize::from(step.from.at)..).and_then(<[u8]>::first_chunk) {
            Some(word) if step.from != Place::ELSEWHERE => u32::from_ne_bytes(*word),
            _ => far_aligned_word(data, step.offset, align_offset),
        })
    }

    #[inline(always)]
    fn walk(&self, word: impl Fn(&Step) -> u32) -> i32 {
        let mut at = 0;
        while let Some(step) = self.steps.get(at) {
            // Two branches rather than one choice of a number: what is guessed right costs no waiting for the word.
            if word(step) & step.mask == step.value {
                match usize::try_from(step.yes) {
                    Ok(next) if next > 0 => at = next,
                    _ => return step.yes,
                }
            } else if step.no_is_next {
                at += 1;
            } else {
                match usize::try_from(step.no) {
                    Ok(next) if next > 0 => at = next,
                    _ => return step.no,
                }
            }
        }
        NEVER
    }
}

#[cold]
fn far_word(headers: &Headers, offset: u16) -> u32 {
    headers.word(offset).to_be()
}

#[cold]
fn far_aligned_word(data: &[u8], offset: u16, align_offset: u32) -> u32 {
    aligned_word(data, offset, align_offset).to_be()
}
