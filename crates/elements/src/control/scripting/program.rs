//! Programs: the instructions of a script, read from its arguments.

use std::sync::Arc;

use args::{integer, next_word};

/// What starts a script.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Kind {
    /// The start of the graph.
    Active,
    /// Its `run` handler.
    Passive,
    /// A packet.
    Packet,
    /// Any handler.
    Proxy,
    /// The driver, when it is about to stop.
    Driver,
    /// Signals.
    Signal(Vec<i32>),
}

/// Instructions that work on a text.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Op {
    /// Where a program begins that does not begin by waiting.
    Initial,
    Pause,
    Wait,
    Print,
    PrintUnquoted,
    PrintBare,
    PrintBareUnquoted,
    Save,
    Append,
    Read,
    ReadUnquoted,
    Write,
    WriteUnquoted,
    Set,
    SetUnquoted,
    Init,
    InitUnquoted,
    Export,
    ExportUnquoted,
    Label,
    Goto,
    Return,
    ReturnUnquoted,
    Exit,
    End,
    Stop,
    Error,
    ErrorUnquoted,
}

/// Where a `goto` leads.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Target {
    /// To an instruction.
    Step(usize),
    /// To the end of the program, as if by this instruction.
    Finish(Op),
}

/// An instruction.
#[derive(Clone, Debug)]
pub struct Step {
    /// What to do.
    pub op: Op,
    /// With what: the text, or the label.
    pub text: Arc<str>,
    /// The variable that it sets.
    pub variable: usize,
    /// How many steps a pause takes, and how many it has taken.
    pub n_steps: u32,
    pub n_taken: u32,
    /// Where it jumps.
    pub target: Target,
}

/// A program with its variables.
#[derive(Clone, Debug, Default)]
pub struct Program {
    /// The instructions.
    pub steps: Vec<Step>,
    /// Names and values of the variables.
    pub variables: Vec<(String, String)>,
}

/// The variable that holds what a script returns.
pub const RETURNED: &str = "_";

impl Program {
    /// Reads a program, an instruction an argument; all that is wrong with it if anything is.
    pub fn parse(instructions: &[String], kind: &Kind) -> Result<Program, Vec<String>> {
        let mut program = Program::default();
        let mut errors = Vec::new();
        for instruction in instructions {
            let (name, rest) = next_word(instruction);
            if !name.is_empty() && program.add_instruction(name, rest).is_none() {
                errors.push(format!("syntax error at '{name}'"));
            }
        }
        program.resolve_labels(&mut errors);
        if program.steps.is_empty() && *kind == Kind::Driver {
            program.add_pause(1);
        }
        program.add(if *kind == Kind::Driver { Op::Stop } else { Op::End }, "");
        if errors.is_empty() {
            Ok(program)
        } else {
            Err(errors)
        }
    }

    /// Index of a variable.
    pub fn variable(&self, name: &str) -> Option<usize> {
        self.variables.iter().position(|(known, _)| known == name)
    }

    /// Index of a variable, which is made if there is none of that name.
    pub fn variable_or_new(&mut self, name: &str) -> usize {
        self.variable(name).unwrap_or_else(|| {
            self.variables.push((name.to_string(), String::new()));
            self.variables.len() - 1
        })
    }

    /// Where a label leads.
    pub fn label(&self, label: &str) -> Option<Target> {
        let found = self.steps.iter().position(|step| step.op == Op::Label && *step.text == *label);
        found.map(Target::Step).or_else(|| Some(Target::Finish(finish(label)?))).or(match label {
            "begin" | "loop" => Some(Target::Step(0)),
            _ => None,
        })
    }

    /// The variables that handlers read, by name.
    pub fn exported(&self, name: &str) -> Option<usize> {
        let exports = self.steps.iter().filter(|step| matches!(step.op, Op::Export | Op::ExportUnquoted));
        let mut exported = exports.map(|step| step.variable);
        exported.find(|idx| self.variables.get(*idx).is_some_and(|(known, _)| known == name))
    }

    /// The names of the exported variables, the last first.
    pub fn exports(&self) -> Vec<String> {
        let exports = self.steps.iter().rev().filter(|s| matches!(s.op, Op::Export | Op::ExportUnquoted));
        exports.filter_map(|step| Some(self.variables.get(step.variable)?.0.clone())).collect()
    }

    fn add(&mut self, op: Op, text: &str) -> &mut Step {
        if self.steps.is_empty() && !matches!(op, Op::Initial | Op::Pause | Op::Wait) {
            self.steps.push(step(Op::Initial, ""));
        }
        self.steps.push(step(op, text));
        let last = self.steps.len() - 1;
        &mut self.steps[last]
    }

    fn add_pause(&mut self, n_steps: u32) {
        self.add(Op::Pause, "").n_steps = n_steps;
    }

    /// Adds an instruction; `None` if it is wrong.
    fn add_instruction(&mut self, name: &str, rest: &str) -> Option<()> {
        match name {
            "pause" | "wait_step" | "wait_stop" => self.add_pause(count(rest)?),
            "wait" if rest.is_empty() => self.add_pause(1),
            "loop" if rest.is_empty() => {
                self.add(Op::Goto, "");
            }
            "label" => {
                let (label, more) = next_word(rest);
                if label.is_empty() || !more.is_empty() {
                    return None;
                }
                self.add(Op::Label, label);
            }
            "end" | "exit" | "stop" if rest.is_empty() => {
                self.add(finish(name)?, "");
            }
            "return" => self.add_assignment(Op::Return, RETURNED, rest),
            "returnq" => self.add_assignment(Op::ReturnUnquoted, RETURNED, rest),
            "set" | "setq" | "init" | "initq" | "export" | "exportq" => {
                let (variable, value) = next_word(rest);
                if variable.is_empty() || (name.starts_with("set") && value.is_empty()) {
                    return None;
                }
                self.add_assignment(assignment(name)?, variable, value);
            }
            _ => {
                self.add(plain(name)?, rest);
            }
        }
        Some(())
    }

    fn add_assignment(&mut self, op: Op, variable: &str, value: &str) {
        let variable = self.variable_or_new(variable);
        self.add(op, value).variable = variable;
    }

    fn resolve_labels(&mut self, errors: &mut Vec<String>) {
        for idx in 0..self.steps.len() {
            let Some(step) = self.steps.get(idx) else { break };
            if step.op != Op::Goto || step.text.is_empty() {
                continue;
            }
            let (label, condition) = next_word(&step.text);
            let (target, condition) = (self.label(label), condition.into());
            if target.is_none() {
                errors.push(format!("no such label '{label}'"));
            }
            if let Some(step) = self.steps.get_mut(idx) {
                step.target = target.unwrap_or(Target::Step(0));
                step.text = condition;
            }
        }
    }
}

fn step(op: Op, text: &str) -> Step {
    let text = text.into();
    Step { op, text, variable: 0, n_steps: 0, n_taken: 0, target: Target::Step(0) }
}

/// The number of steps of a pause.
fn count(text: &str) -> Option<u32> {
    match text {
        "" => Some(1),
        _ => integer::<u32>(text).ok(),
    }
}

/// The instruction that a label ends the program with.
fn finish(label: &str) -> Option<Op> {
    Some(match label {
        "exit" | "-1" => Op::Exit,
        "end" | "-2" => Op::End,
        "stop" | "-3" => Op::Stop,
        "error" | "-4" => Op::Error,
        "errorq" | "-5" => Op::ErrorUnquoted,
        _ => return None,
    })
}

fn assignment(name: &str) -> Option<Op> {
    Some(match name {
        "set" => Op::Set,
        "setq" => Op::SetUnquoted,
        "init" => Op::Init,
        "initq" => Op::InitUnquoted,
        "export" => Op::Export,
        "exportq" => Op::ExportUnquoted,
        _ => return None,
    })
}

fn plain(name: &str) -> Option<Op> {
    Some(match name {
        "wait" | "wait_for" | "wait_time" => Op::Wait,
        "print" => Op::Print,
        "printq" => Op::PrintUnquoted,
        "printn" => Op::PrintBare,
        "printnq" => Op::PrintBareUnquoted,
        "save" => Op::Save,
        "append" => Op::Append,
        "read" => Op::Read,
        "readq" => Op::ReadUnquoted,
        "write" => Op::Write,
        "writeq" => Op::WriteUnquoted,
        "goto" => Op::Goto,
        "error" => Op::Error,
        "errorq" => Op::ErrorUnquoted,
        _ => return None,
    })
}

/// The number of a signal by its name.
pub fn signal_number(name: &str) -> Option<i32> {
    const NAMES: [(&str, i32); 11] = [
        ("ABRT", 6),
        ("ALRM", 14),
        ("HUP", 1),
        ("INT", 2),
        ("IO", 29),
        ("PIPE", 13),
        ("QUIT", 3),
        ("TERM", 15),
        ("TSTP", 20),
        ("USR1", 10),
        ("USR2", 12),
    ];
    let named = NAMES.iter().find(|(known, _)| *known == name).map(|(_, number)| *number);
    named.or_else(|| integer::<i32>(name).ok())
}

impl Kind {
    /// Reads the TYPE argument; `None` stands for a script without one.
    pub fn parse(text: &str) -> Result<Option<Kind>, String> {
        let (word, rest) = next_word(text);
        Ok(Some(match (word, rest) {
            ("", _) => return Ok(None),
            ("ACTIVE", "") => Kind::Active,
            ("PASSIVE", "") => Kind::Passive,
            ("PACKET" | "PUSH", "") => Kind::Packet,
            ("PROXY", "") => Kind::Proxy,
            ("DRIVER", "") => Kind::Driver,
            ("SIGNAL", names) => {
                let numbers = args::split_words(names);
                let numbers = numbers.iter().map(|name| signal_number(name).filter(|n| (0..32).contains(n)));
                let numbers = numbers.collect::<Option<Vec<i32>>>().filter(|numbers| !numbers.is_empty());
                Kind::Signal(numbers.ok_or("bad signal number")?)
            }
            _ => return Err("bad TYPE".to_string()),
        }))
    }

    /// Whether the script starts with the graph.
    pub fn starts(&self) -> bool {
        matches!(self, Kind::Active | Kind::Driver)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use expect_test::{expect, Expect};

    fn check(config: &str, kind: Kind, expect: Expect) {
        let shown = match Program::parse(&args::split_args(config), &kind) {
            Ok(program) => {
                let line = |step: &Step| format!("{:?} {} {:?}", step.op, step.text, step.target);
                program.steps.iter().map(line).collect::<Vec<_>>().join("\n")
            }
            Err(errors) => errors.join("\n"),
        };
        expect.assert_eq(&shown);
    }

    #[test]
    fn programs_begin_by_waiting_or_at_once() {
        check(
            "wait 1s, stop",
            Kind::Active,
            expect![[r#"
            Wait 1s Step(0)
            Stop  Step(0)
            End  Step(0)"#]],
        );
        check(
            "print x",
            Kind::Driver,
            expect![[r#"
            Initial  Step(0)
            Print x Step(0)
            Stop  Step(0)"#]],
        );
        check(
            "",
            Kind::Driver,
            expect![[r#"
            Pause  Step(0)
            Stop  Step(0)"#]],
        );
    }

    #[test]
    fn labels_are_resolved() {
        check(
            "label a, goto a $x, goto exit, goto begin, loop, goto -3",
            Kind::Passive,
            expect![[r#"
            Initial  Step(0)
            Label a Step(0)
            Goto $x Step(1)
            Goto  Finish(Exit)
            Goto  Step(0)
            Goto  Step(0)
            Goto  Finish(Stop)
            End  Step(0)"#]],
        );
    }

    #[test]
    fn all_mistakes_are_told() {
        check(
            "foo, set x, end now, label, goto nowhere, pause x, init",
            Kind::Active,
            expect![[r#"
            syntax error at 'foo'
            syntax error at 'set'
            syntax error at 'end'
            syntax error at 'label'
            syntax error at 'pause'
            syntax error at 'init'
            no such label 'nowhere'"#]],
        );
    }

    #[test]
    fn types_are_read() {
        assert_eq!(Kind::parse(""), Ok(None));
        assert_eq!(Kind::parse("PUSH"), Ok(Some(Kind::Packet)));
        assert_eq!(Kind::parse("SIGNAL INT 10"), Ok(Some(Kind::Signal(vec![2, 10]))));
        assert_eq!(Kind::parse("SIGNAL"), Err("bad signal number".to_string()));
        assert_eq!(Kind::parse("SIGNAL 77"), Err("bad signal number".to_string()));
        assert_eq!(Kind::parse("ACTIVE x"), Err("bad TYPE".to_string()));
    }
}
