//! A checked classic filter program and its interpreter.

use super::BpfError;

/// One instruction, as the kernel and libpcap lay it out.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(C)]
pub struct Instruction {
    pub code: u16,
    pub jt: u8,
    pub jf: u8,
    pub k: u32,
}

impl Instruction {
    /// Whether it loads not what is in the packet but what the kernel knows of it, such as its direction (`SKF_AD_OFF`).
    pub fn asks_kernel(&self) -> bool {
        self.code & CLASS == LD && self.code & MODE == ABS && self.k >= 0xffff_f000
    }
}

/// A program that ends on every packet: jumps stay inside the program, the last instruction returns, and of jumps back there are no
/// more than a packet has bytes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Program {
    instructions: Box<[Instruction]>,
}

impl Program {
    /// Checks the instructions.
    pub fn new(instructions: impl Into<Box<[Instruction]>>) -> Result<Self, BpfError> {
        let instructions = instructions.into();
        if !(1..=MAX_LEN).contains(&instructions.len()) {
            return Err(BpfError::Program { idx: 0, reason: "a program has 1 to 4096 instructions" });
        }
        for (idx, instruction) in instructions.iter().enumerate() {
            let n_behind = instructions.len() - idx - 1;
            check(*instruction, idx, n_behind).map_err(|reason| BpfError::Program { idx, reason })?;
        }
        Ok(Self { instructions })
    }

    /// The program that takes every packet, and of each at most `snaplen` bytes.
    pub fn accept_all(snaplen: u32) -> Self {
        Self { instructions: Box::new([Instruction { code: RET_K, jt: 0, jf: 0, k: snaplen.max(1) }]) }
    }

    pub fn instructions(&self) -> &[Instruction] {
        &self.instructions
    }

    /// Whether it jumps back, as for `protochain`, which walks from header to header. The kernel refuses such programs.
    pub fn loops(&self) -> bool {
        self.instructions.iter().any(|i| i.code == JUMP && (i.k as i32) < 0)
    }

    /// The same program, keeping at most `snaplen` bytes of a packet (where the length is written in the program).
    pub fn with_snaplen(mut self, snaplen: u32) -> Self {
        for instruction in &mut self.instructions {
            if instruction.code == RET_K {
                instruction.k = instruction.k.min(snaplen.max(1));
            }
        }
        self
    }

    /// Whether the filter takes the packet of which `data` was captured and `wire_len` bytes were sent.
    #[inline]
    pub fn matches(&self, data: &[u8], wire_len: u32) -> bool {
        self.run(data, wire_len) != 0
    }

    /// How many bytes of the packet the filter keeps; 0 drops it. Reading beyond `data` drops it.
    pub fn run(&self, data: &[u8], wire_len: u32) -> u32 {
        let mut machine = Machine { data, wire_len, a: 0, x: 0, scratch: [0; SCRATCH], n_back: 0 };
        let mut at = 0usize;
        while let Some(&instruction) = self.instructions.get(at) {
            match machine.step(instruction) {
                Next::Skip(n) => at = at.wrapping_add(1).wrapping_add_signed(n),
                Next::Return(keep) => return keep,
            }
        }
        0
    }
}

const MAX_LEN: usize = 4096;
const SCRATCH: usize = 16;

// The instruction's code: class, then size and mode (loads) or operation and source (the others).
const LD: u16 = 0x00;
const LDX: u16 = 0x01;
const ST: u16 = 0x02;
const STX: u16 = 0x03;
const ALU: u16 = 0x04;
const JMP: u16 = 0x05;
const RET_K: u16 = 0x06;
const RET_A: u16 = 0x16;
const TAX: u16 = 0x07;
const TXA: u16 = 0x87;
const WORD: u16 = 0x00;
const HALF: u16 = 0x08;
const BYTE: u16 = 0x10;
const MODE: u16 = 0xe0;
const IMM: u16 = 0x00;
const ABS: u16 = 0x20;
const IND: u16 = 0x40;
const MEM: u16 = 0x60;
const LEN: u16 = 0x80;
const MSH: u16 = 0xa0;
const X: u16 = 0x08;

const LD_W_IMM: u16 = LD | WORD | IMM;
const LD_W_ABS: u16 = LD | WORD | ABS;
const LD_H_ABS: u16 = LD | HALF | ABS;
const LD_B_ABS: u16 = LD | BYTE | ABS;
const LD_W_IND: u16 = LD | WORD | IND;
const LD_H_IND: u16 = LD | HALF | IND;
const LD_B_IND: u16 = LD | BYTE | IND;
const LD_W_MEM: u16 = LD | WORD | MEM;
const LD_W_LEN: u16 = LD | WORD | LEN;
const LDX_W_IMM: u16 = LDX | WORD | IMM;
const LDX_W_MEM: u16 = LDX | WORD | MEM;
const LDX_W_LEN: u16 = LDX | WORD | LEN;
const LDX_B_MSH: u16 = LDX | BYTE | MSH;

const ADD: u16 = 0x00;
const SUB: u16 = 0x10;
const MUL: u16 = 0x20;
const DIV: u16 = 0x30;
const OR: u16 = 0x40;
const AND: u16 = 0x50;
const LSH: u16 = 0x60;
const RSH: u16 = 0x70;
const NEG: u16 = 0x80;
const MOD: u16 = 0x90;
const XOR: u16 = 0xa0;

const JA: u16 = 0x00;
const JEQ: u16 = 0x10;
const JGT: u16 = 0x20;
const JGE: u16 = 0x30;
const JSET: u16 = 0x40;

/// The jump without a condition. Its offset is signed, as in libpcap.
const JUMP: u16 = JMP | JA;

const CLASS: u16 = 0x07;
const OPERATION: u16 = 0xf0;

fn check(instruction: Instruction, n_before: usize, n_behind: usize) -> Result<(), &'static str> {
    let Instruction { code, jt, jf, k } = instruction;
    if code > 0xff {
        return Err("no such instruction");
    }
    let is_return = matches!(code, RET_K | RET_A);
    if n_behind == 0 && !is_return {
        return Err("the last instruction does not return");
    }
    match (code & CLASS, code & OPERATION) {
        _ if is_return || matches!(code, TAX | TXA) => Ok(()),
        (ST | STX, 0) if code & X == 0 => memory(k),
        (ALU, DIV | MOD) if code & X == 0 && k == 0 => Err("divides by zero"),
        (ALU, NEG) if code & X != 0 => Err("no such instruction"),
        (ALU, ADD | SUB | MUL | DIV | OR | AND | LSH | RSH | NEG | MOD | XOR) => Ok(()),
        (JMP, JA) if code & X == 0 => inside(k as i32, n_before, n_behind),
        (JMP, JEQ | JGT | JGE | JSET) => inside(jt.max(jf).into(), n_before, n_behind),
        _ if matches!(code, LD_W_MEM | LDX_W_MEM) => memory(k),
        _ if is_load(code) => Ok(()),
        _ => Err("no such instruction"),
    }
}

fn is_load(code: u16) -> bool {
    matches!(code, LD_W_ABS | LD_H_ABS | LD_B_ABS | LD_W_IND | LD_H_IND | LD_B_IND)
        || matches!(code, LD_W_IMM | LD_W_LEN | LDX_W_IMM | LDX_W_LEN | LDX_B_MSH)
}

fn memory(k: u32) -> Result<(), &'static str> {
    if (k as usize) < SCRATCH {
        Ok(())
    } else {
        Err("names a scratch word beyond 15")
    }
}

fn inside(offset: i32, n_before: usize, n_behind: usize) -> Result<(), &'static str> {
    let (first, end) = (-(n_before as i64) - 1, n_behind as i64);
    if (first..end).contains(&i64::from(offset)) {
        Ok(())
    } else {
        Err("jumps out of the program")
    }
}

enum Next {
    /// Go on after skipping so many instructions; before it if they are negative.
    Skip(isize),
    Return(u32),
}

struct Machine<'a> {
    data: &'a [u8],
    wire_len: u32,
    a: u32,
    x: u32,
    scratch: [u32; SCRATCH],
    n_back: usize,
}

impl Machine<'_> {
    #[inline]
    fn step(&mut self, instruction: Instruction) -> Next {
        let Instruction { code, jt, jf, k } = instruction;
        let done = match code & CLASS {
            LD | LDX => self.load(code, k),
            ST => self.scratch.get_mut(k as usize).map(|word| *word = self.a),
            STX => self.scratch.get_mut(k as usize).map(|word| *word = self.x),
            ALU => self.compute(code, k),
            JMP if code == JUMP => return self.go(k as i32),
            JMP => return Next::Skip(self.jump(code, jt, jf, k)),
            _ => match code {
                RET_K => return Next::Return(k),
                RET_A => return Next::Return(self.a),
                _ => {
                    self.transfer(code);
                    Some(())
                }
            },
        };
        match done {
            Some(()) => Next::Skip(0),
            None => Next::Return(0),
        }
    }

    #[inline]
    fn transfer(&mut self, code: u16) {
        if code == TAX {
            self.x = self.a;
        } else {
            self.a = self.x;
        }
    }

    #[inline]
    fn load(&mut self, code: u16, k: u32) -> Option<()> {
        let indirect = || self.x.checked_add(k);
        let value = match code {
            LD_W_ABS => u32::from_be_bytes(self.bytes(k)?),
            LD_H_ABS => u16::from_be_bytes(self.bytes(k)?).into(),
            LD_B_ABS => u8::from_be_bytes(self.bytes(k)?).into(),
            LD_W_IND => u32::from_be_bytes(self.bytes(indirect()?)?),
            LD_H_IND => u16::from_be_bytes(self.bytes(indirect()?)?).into(),
            LD_B_IND => u8::from_be_bytes(self.bytes(indirect()?)?).into(),
            LD_W_IMM | LDX_W_IMM => k,
            LD_W_LEN | LDX_W_LEN => self.wire_len,
            // The length of an IPv4 header, RFC 791 section 3.1: the low half of its first byte, in words.
            LDX_B_MSH => u32::from(u8::from_be_bytes(self.bytes(k)?) & 0xf) << 2,
            _ => *self.scratch.get(k as usize)?,
        };
        if code & CLASS == LD {
            self.a = value;
        } else {
            self.x = value;
        }
        Some(())
    }

    #[inline]
    fn bytes<const N: usize>(&self, offset: u32) -> Option<[u8; N]> {
        self.data.get(offset as usize..)?.first_chunk().copied()
    }

    #[inline]
    fn compute(&mut self, code: u16, k: u32) -> Option<()> {
        let (a, operand) = (self.a, if code & X != 0 { self.x } else { k });
        self.a = match code & OPERATION {
            ADD => a.wrapping_add(operand),
            SUB => a.wrapping_sub(operand),
            MUL => a.wrapping_mul(operand),
            DIV => a.checked_div(operand)?,
            MOD => a.checked_rem(operand)?,
            OR => a | operand,
            AND => a & operand,
            XOR => a ^ operand,
            LSH => a.checked_shl(operand).unwrap_or(0),
            RSH => a.checked_shr(operand).unwrap_or(0),
            _ => a.wrapping_neg(),
        };
        Some(())
    }

    /// A header is at least a byte, so that a walk over headers ends before the packet does.
    #[inline]
    fn go(&mut self, offset: i32) -> Next {
        self.n_back += usize::from(offset < 0);
        match self.n_back > self.data.len() {
            true => Next::Return(0),
            false => Next::Skip(offset as isize),
        }
    }

    #[inline]
    fn jump(&self, code: u16, jt: u8, jf: u8, k: u32) -> isize {
        let operand = if code & X != 0 { self.x } else { k };
        let holds = match code & OPERATION {
            JEQ => self.a == operand,
            JGT => self.a > operand,
            JGE => self.a >= operand,
            _ => self.a & operand != 0,
        };
        isize::from(if holds { jt } else { jf })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    const fn op(code: u16, jt: u8, jf: u8, k: u32) -> Instruction {
        Instruction { code, jt, jf, k }
    }

    fn run(instructions: &[Instruction], data: &[u8]) -> u32 {
        Program::new(instructions).unwrap().run(data, data.len() as u32)
    }

    /// What the program returns in A after `before`.
    fn check(before: &[Instruction], expected: u32) {
        let program = [before, &[op(RET_A, 0, 0, 0)]].concat();
        assert_eq!(run(&program, &[0x45, 1, 2, 3, 4, 5, 6, 7]), expected, "{before:?}");
    }

    #[test]
    fn loads_read_big_endian_and_stay_inside_the_packet() {
        check(&[op(LD_W_ABS, 0, 0, 4)], 0x0405_0607);
        check(&[op(LD_H_ABS, 0, 0, 6)], 0x0607);
        check(&[op(LD_B_ABS, 0, 0, 7)], 7);
        check(&[op(LDX_W_IMM, 0, 0, 2), op(LD_H_IND, 0, 0, 1)], 0x0304);
        check(&[op(LDX_B_MSH, 0, 0, 0), op(TXA, 0, 0, 0)], 20);
        check(&[op(LD_W_LEN, 0, 0, 0)], 8);
        for (code, k) in
            [(LD_W_ABS, 5), (LD_H_ABS, 7), (LD_B_ABS, 8), (LD_B_ABS, u32::MAX), (LD_W_ABS, 0xffff_f000)]
        {
            check(&[op(LD_W_IMM, 0, 0, 9), op(code, 0, 0, k)], 0);
        }
        check(&[op(LDX_W_IMM, 0, 0, u32::MAX), op(LD_B_IND, 0, 0, 3)], 0);
    }

    #[test]
    fn arithmetic_wraps_and_division_by_zero_drops() {
        for (code, x, expected) in [
            (ADD, u32::MAX, 5),
            (SUB, 7, u32::MAX),
            (MUL, 0x8000_0001, 6),
            (DIV, 4, 1),
            (DIV, 0, 0),
            (MOD, 4, 2),
            (MOD, 0, 0),
            (XOR, 3, 5),
            (LSH, 31, 0),
            (LSH, 32, 0),
            (RSH, 1, 3),
            (RSH, 99, 0),
        ] {
            check(&[op(LD_W_IMM, 0, 0, 6), op(LDX_W_IMM, 0, 0, x), op(ALU | code | X, 0, 0, 0)], expected);
        }
        check(&[op(LD_W_IMM, 0, 0, 1), op(ALU | NEG, 0, 0, 0)], u32::MAX);
    }

    #[test]
    fn scratch_words_keep_their_values() {
        check(&[op(LD_W_IMM, 0, 0, 6), op(ST, 0, 0, 15), op(LD_W_IMM, 0, 0, 1), op(LD_W_MEM, 0, 0, 15)], 6);
        check(&[op(LDX_W_IMM, 0, 0, 6), op(STX, 0, 0, 3), op(LD_W_MEM, 0, 0, 3)], 6);
    }

    #[test]
    fn jumps_choose_their_side() {
        let ends = [op(RET_K, 0, 0, 1), op(RET_K, 0, 0, 2)];
        for (code, k, expected) in
            [(JEQ, 5, 1), (JEQ, 4, 2), (JGT, 4, 1), (JGT, 5, 2), (JGE, 5, 1), (JSET, 2, 2)]
        {
            let program = [&[op(LD_W_IMM, 0, 0, 5), op(JMP | code, 0, 1, k)], &ends[..]].concat();
            assert_eq!(run(&program, &[]), expected);
        }
        assert_eq!(run(&[op(JMP | JA, 0, 0, 1), ends[0], ends[1]], &[]), 2);
    }

    #[test]
    fn jumps_back_end_with_the_packet() {
        let back = |n: i32| op(JMP | JA, 0, 0, -n as u32);
        assert_eq!(run(&[back(1), op(RET_K, 0, 0, 1)], &[0; 9]), 0);
        // The first byte that is 7, from the third on.
        let search = [
            op(LDX_W_IMM, 0, 0, 2),
            op(LD_B_IND, 0, 0, 0),
            op(JMP | JEQ, 4, 0, 7),
            op(TXA, 0, 0, 0),
            op(ALU | ADD, 0, 0, 1),
            op(TAX, 0, 0, 0),
            back(6),
            op(TXA, 0, 0, 0),
            op(RET_A, 0, 0, 0),
        ];
        assert_eq!(run(&search, &[7, 0, 0, 0, 7, 0]), 4);
        assert_eq!(run(&search, &[7, 0, 0, 0, 0]), 0);
        assert!(Program::new(search).unwrap().loops());
    }

    #[test]
    fn unsafe_programs_are_refused() {
        let ret = op(RET_K, 0, 0, 1);
        for (program, reason) in [
            (vec![], "a program has 1 to 4096 instructions"),
            (vec![ret; 4097], "a program has 1 to 4096 instructions"),
            (vec![op(LD_W_IMM, 0, 0, 0)], "the last instruction does not return"),
            (vec![op(JMP | JA, 0, 0, 1), ret], "jumps out of the program"),
            (vec![op(JMP | JA, 0, 0, -2i32 as u32), ret], "jumps out of the program"),
            (
                vec![op(JMP | JA, 0, 0, u32::MAX), op(JMP | JA, 0, 0, -3i32 as u32), ret],
                "jumps out of the program",
            ),
            (vec![op(JMP | JEQ, 0, 1, 0), ret], "jumps out of the program"),
            (vec![op(ST, 0, 0, 16), ret], "names a scratch word beyond 15"),
            (vec![op(LDX_W_MEM, 0, 0, 16), ret], "names a scratch word beyond 15"),
            (vec![op(ALU | DIV, 0, 0, 0), ret], "divides by zero"),
            (vec![op(0x1_00, 0, 0, 0), ret], "no such instruction"),
            (vec![op(LD | BYTE | LEN, 0, 0, 0), ret], "no such instruction"),
            (vec![op(ALU | 0xf0, 0, 0, 0), ret], "no such instruction"),
        ] {
            let error = Program::new(program).unwrap_err();
            assert!(
                matches!(error, BpfError::Program { reason: r, .. } if r == reason),
                "{error} / {reason}"
            );
        }
    }

    #[test]
    fn snaplen_limits_what_is_kept() {
        let program = Program::new([op(RET_K, 0, 0, 262_144)]).unwrap();
        assert_eq!(program.clone().with_snaplen(96).run(&[], 0), 96);
        assert_eq!(program.with_snaplen(0).run(&[], 0), 1);
        assert!(Program::accept_all(0).matches(&[], 0));
    }

    fn any_instruction() -> impl Strategy<Value = Instruction> {
        let small = prop_oneof![0u32..32, any::<u32>()];
        let code = prop_oneof![9 => 0u16..0x100, 1 => any::<u16>()];
        (code, 0u8..8, 0u8..8, small).prop_map(|(code, jt, jf, k)| op(code, jt, jf, k))
    }

    proptest! {
        #![proptest_config(ProptestConfig::with_cases(2000))]

        #[test]
        fn no_program_panics_or_hangs(
            instructions in proptest::collection::vec(any_instruction(), 0..40),
            data in proptest::collection::vec(any::<u8>(), 0..64),
            wire_len: u32,
        ) {
            // A program of nothing but chance is refused whole: keep the instructions that could stand alone.
            let returns = [op(RET_A, 0, 0, 0); 40];
            let valid = instructions.into_iter().filter(|i| super::check(*i, 0, returns.len()).is_ok());
            let program = Program::new(valid.chain(returns).collect::<Vec<_>>()).unwrap();
            program.run(&data, wire_len);
        }

        #[test]
        fn what_is_not_refused_runs(
            instructions in proptest::collection::vec(any_instruction(), 0..6),
            data in proptest::collection::vec(any::<u8>(), 0..64),
        ) {
            if let Ok(program) = Program::new(instructions) {
                program.run(&data, 0);
            }
        }
    }
}
