//! The state of a script: where it is and what it remembers.

use element::TimerId;

use super::program::{Kind, Op, Program, Step, Target, RETURNED};

/// How a run of a script ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Outcome {
    /// It ended, returned or waits.
    Fine,
    /// It asked the driver to stop.
    Stopped,
    /// It ended with an error.
    Failed,
}

/// The state of a script.
pub struct State {
    /// What starts it.
    pub kind: Kind,
    /// What it does, and its variables.
    pub program: Program,
    /// The instruction that comes next.
    pub position: usize,
    /// Steps taken in all.
    pub n_steps: i64,
    /// Steps still asked for while the script is running; `None` while it is not.
    pub asked: Option<i64>,
    /// What the last write handler returned: `$?`.
    pub write_status: i32,
    /// The handler that started the script: `$0`.
    pub handler: String,
    /// Its parameter: `$args`.
    pub args: String,
    /// Whether it was written.
    pub is_write: bool,
    /// Handlers of a proxy that have been looked for, the last first.
    pub proxied: Vec<String>,
    /// The timer of `wait`.
    pub timer: Option<TimerId>,
}

impl State {
    /// A script at its beginning.
    pub fn new(kind: Kind, program: Program) -> State {
        State {
            kind,
            program,
            position: 0,
            n_steps: 0,
            asked: None,
            write_status: 0,
            handler: String::new(),
            args: String::new(),
            is_write: false,
            proxied: Vec::new(),
            timer: None,
        }
    }

    /// The next instruction.
    pub fn current(&self) -> Option<&Step> {
        self.program.steps.get(self.position)
    }

    /// Begins pauses anew, from one instruction up to another.
    pub fn rewind(&mut self, from: usize, to: usize) {
        let passed = self.program.steps.iter_mut().take(to).skip(from);
        passed.for_each(|step| step.n_taken = 0);
    }

    /// Sets a variable by its index.
    pub fn set(&mut self, variable: usize, value: String) {
        if let Some((_, slot)) = self.program.variables.get_mut(variable) {
            *slot = value;
        }
    }

    /// What became of the script in a run, its last instruction, and what it returns.
    pub fn outcome(&self) -> (Outcome, Option<Op>, &str) {
        let last = self.current().map(|step| match (step.op, step.target) {
            (Op::Goto, Target::Finish(op)) => op,
            (op, _) => op,
        });
        let returned = match last {
            Some(Op::Return | Op::ReturnUnquoted) => self.returned(),
            Some(Op::End) if self.kind == Kind::Packet => "0",
            _ => "",
        };
        let outcome = match last {
            Some(Op::Error | Op::ErrorUnquoted) => Outcome::Failed,
            Some(Op::Stop) => Outcome::Stopped,
            _ => Outcome::Fine,
        };
        (outcome, last, returned)
    }

    fn returned(&self) -> &str {
        let found = self.program.variables.iter().find(|(name, _)| name == RETURNED);
        found.map_or("", |(_, value)| value)
    }

    /// The value of a variable, the built-in ones included.
    pub fn variable(&self, name: &str) -> Option<String> {
        if let Some((_, value)) = self.program.variables.iter().find(|(known, _)| known == name) {
            return Some(value.clone());
        }
        Some(match name {
            "?" => self.write_status.to_string(),
            "args" => self.args.clone(),
            "$" => std::process::id().to_string(),
            "0" => self.handler.clone(),
            "#" => args::split_words(&self.args).len().to_string(),
            "write" => self.is_write.to_string(),
            _ if name.starts_with(|c: char| ('1'..='9').contains(&c)) => {
                let number = args::integer::<i32>(name).ok()?;
                let words = args::split_words(&self.args);
                let idx = usize::try_from(number).ok()?.checked_sub(1)?;
                words.get(idx).cloned().unwrap_or_default()
            }
            _ => return None,
        })
    }

    /// A variable to be changed, `args` included.
    pub fn variable_mut(&mut self, name: &str, is_new_allowed: bool) -> Option<&mut String> {
        if name == "args" {
            return Some(&mut self.args);
        }
        let idx = match is_new_allowed {
            true => self.program.variable_or_new(name),
            false => self.program.variable(name)?,
        };
        self.program.variables.get_mut(idx).map(|(_, value)| value)
    }
}
