//! One test of a decision program: a masked comparison of four packet bytes.

use std::fmt;

/// Jump that drops the packet.
pub const NEVER: i32 = -i32::MAX;
/// Jump to wherever a failed pattern leads; resolved when patterns are joined.
pub const FAILURE: i32 = NEVER + 1;
/// Jump to wherever a matched pattern leads; resolved when a subtree is finished.
pub const SUCCESS: i32 = NEVER + 2;

/// A comparison of the four bytes at `offset`, read as a big-endian word, and where to go next.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Insn {
    pub offset: u16,
    /// The branch taken by a packet too short for the test.
    pub short_output: bool,
    pub mask: u32,
    pub value: u32,
    /// Where to go: `[no, yes]`. Positive: an instruction; otherwise an output, negated.
    pub jump: [i32; 2],
}

impl Insn {
    pub fn new(offset: u16, value: u32, mask: u32) -> Insn {
        Insn { offset, short_output: false, mask, value: value & mask, jump: [FAILURE, SUCCESS] }
    }

    pub fn yes(&self) -> i32 {
        self.jump[1]
    }

    pub fn no(&self) -> i32 {
        self.jump[0]
    }

    /// The packet length below which the outcome is `short_output`.
    pub fn required_length(&self) -> u32 {
        required_length(self.offset, self.mask)
    }

    /// What tells two tests apart, wherever they lead.
    pub fn test(&self) -> (u16, bool, u32, u32) {
        (self.offset, self.short_output, self.mask, self.value)
    }

    /// Whether a matching packet must match `next`, given that `known_length` bytes exist.
    pub fn implies(&self, next: &Insn, known_length: u32) -> bool {
        next.mask == 0
            || self.same_word(next, true, true, known_length)
                && self.covers(next)
                && self.value & next.mask == next.value
    }

    /// Whether a matching packet cannot match `next`.
    pub fn implies_not(&self, next: &Insn, known_length: u32) -> bool {
        next.mask != 0
            && self.same_word(next, true, false, known_length)
            && self.covers(next)
            && self.value & next.mask != next.value
    }

    /// Whether a packet that does not match must match `next`: they test one bit for different values.
    pub fn not_implies(&self, next: &Insn, known_length: u32) -> bool {
        next.mask == 0
            || self.same_word(next, false, true, known_length)
                && self.mask & self.mask.wrapping_sub(1) == 0
                && self.mask == next.mask
                && self.value != next.value
    }

    /// Whether a packet that does not match cannot match `next`.
    pub fn not_implies_not(&self, next: &Insn, known_length: u32) -> bool {
        self.mask == 0
            || self.same_word(next, false, false, known_length)
                && next.covers(self)
                && self.value == next.value & self.mask
    }

    /// Whether every packet that matches one could also match the other.
    pub fn compatible(&self, other: &Insn, consider_short: bool) -> bool {
        if self.mask == 0 || other.mask == 0 {
            return true;
        }
        let short_differs = consider_short
            && other.short_output != self.short_output
            && self.required_length() < other.required_length();
        let both = self.mask & other.mask;
        other.offset == self.offset && !short_differs && self.value & both == other.value & both
    }

    /// Whether this test or `next`, reached by the no branch, equals one test with a bit less in its mask.
    pub fn generalizable_or_pair(&self, next: &Insn) -> bool {
        let differ = self.value ^ next.value;
        self.offset != 0
            && next.offset == self.offset
            && self.mask != 0
            && next.mask == self.mask
            && (self.short_output || !next.short_output)
            && self.yes() == next.yes()
            && differ & differ.wrapping_sub(1) == 0
            && Insn { mask: self.mask & !differ, ..*self }.required_length() == self.required_length()
    }

    /// Whether the test can be turned round: only one bit is compared.
    pub fn flippable(&self) -> bool {
        self.mask.is_power_of_two()
    }

    /// Turns a one-bit test round: the other value, the branches swapped.
    pub fn flip(&mut self) {
        self.value ^= self.mask;
        self.jump.swap(0, 1);
        self.short_output = !self.short_output;
    }

    /// The branch of `value`, the word at `offset`.
    pub fn branch(&self, word: u32) -> i32 {
        self.jump[usize::from(word & self.mask == self.value)]
    }

    fn covers(&self, other: &Insn) -> bool {
        self.mask & other.mask == other.mask
    }

    fn same_word(&self, next: &Insn, branch: bool, next_branch: bool, known_length: u32) -> bool {
        self.offset == next.offset && self.short_packets_agree(next, branch, next_branch, known_length)
    }

    /// Whether packets too short for this test, which took `branch`, take `next_branch` at `next`.
    fn short_packets_agree(&self, next: &Insn, branch: bool, next_branch: bool, known_length: u32) -> bool {
        let required = self.required_length();
        self.short_output != branch
            || u32::from(self.offset) + 4 <= known_length
            || required <= known_length
            || required <= next.required_length() && next_branch == next.short_output
    }
}

/// The length of a packet that has all bytes of `mask` in the word at `offset`.
pub fn required_length(offset: u16, mask: u32) -> u32 {
    if mask == 0 {
        return 0;
    }
    u32::from(offset) + 4 - mask.trailing_zeros() / 8
}

impl fmt::Display for Insn {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{:3}/{:08x}%{:08x}  yes->", self.offset, self.value, self.mask)?;
        write_jump(f, self.yes())?;
        f.write_str("  no->")?;
        write_jump(f, self.no())?;
        f.write_str(if self.short_output { "  short->yes" } else { "" })
    }
}

fn write_jump(f: &mut fmt::Formatter<'_>, jump: i32) -> fmt::Result {
    match jump {
        NEVER => f.write_str("[X]"),
        FAILURE => f.write_str("[-]"),
        SUCCESS => f.write_str("[+]"),
        output if output <= 0 => write!(f, "[{}]", -output),
        step => write!(f, "step {step}"),
    }
}
