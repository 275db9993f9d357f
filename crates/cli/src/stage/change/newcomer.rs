//! A stage that is started for a place in a running chain.

use std::ffi::OsString;
use std::fs::File;
use std::io::{PipeReader, PipeWriter};
use std::os::fd::{AsFd, AsRawFd};
use std::os::unix::process::CommandExt;
use std::process::{Child, Command, Stdio};
use std::time::Instant;

use clap::{ArgMatches, FromArgMatches};
use element::output::reason;
use interfaces::stage::Endpoint;
use sys::pipe::Kind;

use super::{path_of, LOOK, PATIENCE};
use crate::chain::{self, ChainOptions};
use crate::control::protocol::Ask;
use crate::failure::Failure;
use crate::functions;
use crate::stage::options::{StageOptions, LEFT, RIGHT};
use crate::stage::others;
use crate::stage::status::Status;

/// Why a stage is no shell.
const NO_SHELL: &str =
    "`linux` without a command opens a shell, which needs this terminal; give `linux ... -- COMMAND`";

/// A stage that is wanted, as far as its command line tells.
pub struct Wanted<'w> {
    /// The command that is to put it into a chain.
    command: &'static str,
    /// Its name, such as `count`.
    name: String,
    /// Its command line, without `weir`.
    words: &'w [OsString],
}

impl<'w> Wanted<'w> {
    /// Reads a command line. What is wrong with it is told before anything is asked, started or made.
    pub fn of(command: &'static str, words: &'w [OsString]) -> Result<Wanted<'w>, Failure> {
        let program = words.first().and_then(|word| word.to_str());
        let words = if program == Some("weir") { &words[1..] } else { words };
        let name = words.first().map(|word| word.to_string_lossy().into_owned()).unwrap_or_default();
        let wanted = Wanted { command, name, words };
        wanted.check().map_err(|failure| failure.map(|message| format!("{command}: {message}")))?;
        Ok(wanted)
    }

    /// Refuses a command line that is wrong, and stages of which it is plain that they have no place between others.
    fn check(&self) -> Result<(), Failure> {
        let name = self.name.as_str();
        if !chain::stages().contains(&name) {
            let stages = chain::stages().join(", ");
            return Err(Failure::Usage(format!("no stage `{name}`; stages are {stages}")));
        }
        let words = self.words.iter().map(|word| word.to_string_lossy().into_owned());
        let line: Vec<String> = std::iter::once("weir".to_string()).chain(words).collect();
        let matches = crate::command::of(&line).try_get_matches_from(&line);
        let matches = matches.unwrap_or_else(|error| error.exit());
        // Before a file is made, or made anew.
        refuse_end(&line[1..])?;
        if name == "chain" {
            check_chain(&matches)?;
        }
        if name == "linux" {
            let program = line.iter().skip_while(|word| *word != "--").nth(1);
            let program = program.ok_or_else(|| Failure::Usage(NO_SHELL.to_string()))?;
            // It begins when the stage has its place: the chain would end with it.
            if !chain::has_program(program, None) {
                return Err(Failure::Usage(format!("linux: there is no program `{program}`")));
            }
        }
        if let Some((name, own)) = functions::chosen(&matches) {
            functions::graph(name, own)?;
        }
        let options = matches.subcommand().and_then(|(_, own)| StageOptions::from_arg_matches(own).ok());
        options.map_or(Ok(()), |options| self.check_sides(&options)).map_err(Failure::Usage)
    }

    /// Refuses interfaces `left` and `right` that are no pipes.
    fn check_sides(&self, options: &StageOptions) -> Result<(), String> {
        let declared = options.declared(&|name| std::env::var(name).ok())?;
        for (side, endpoint) in [(LEFT, Endpoint::Stdin), (RIGHT, Endpoint::Stdout)] {
            if !declared.iter().any(|known| known.name == side && known.spec.uses(&endpoint)) {
                return Err(no_pipe(&self.name, side));
            }
        }
        Ok(())
    }
}

/// Refuses a stage that is an end of a chain.
fn refuse_end(words: &[String]) -> Result<(), Failure> {
    let end = words.first().filter(|name| ["read", "write", "port"].contains(&name.as_str()));
    match end.filter(|_| !words.iter().any(|word| word == "-")) {
        Some(name) => Err(Failure::Usage(format!(
            "`{name}` is an end of a chain, so that nothing would pass through it; `tee FILE` keeps a copy"
        ))),
        None => Ok(()),
    }
}

/// Refuses a chain that is no one stage between others.
fn check_chain(matches: &ArgMatches) -> Result<(), Failure> {
    let options = matches.subcommand().and_then(|(_, own)| ChainOptions::from_arg_matches(own).ok());
    let stages = options.map_or(Ok(None), |options| chain::as_one_stage(&options))?;
    let stages = stages.ok_or_else(|| "a graph of the chain is wrong".to_string())?;
    stages.iter().try_for_each(|words| refuse_end(words))
}

/// A stage that was started for a place in a chain, and the other ends of its pipes. One that gets no place is killed, so that it
/// reports nothing.
pub struct Newcomer {
    child: Child,
    to: PipeWriter,
    from: PipeReader,
    has_place: bool,
}

impl Newcomer {
    /// Starts a stage to the right of stage `left` and waits until it can be asked.
    pub fn start(wanted: &Wanted<'_>, left: u32) -> Result<Newcomer, String> {
        let Wanted { command, name, words } = wanted;
        let failed = |error: std::io::Error| format!("the new stage cannot be started: {}", reason(&error));
        let (input, to) = std::io::pipe().map_err(failed)?;
        let (from, output) = std::io::pipe().map_err(failed)?;
        let child = Command::new("/proc/self/exe")
            .arg0("weir")
            .args(*words)
            .stdin(Stdio::from(input))
            .stdout(Stdio::from(output))
            .stderr(errors(left).map_err(failed)?)
            // It lives as long as its chain, not as long as who waits for this command.
            .process_group(0)
            .spawn()
            .map_err(failed)?;
        let mut new = Newcomer { child, to, from, has_place: false };
        let checked = new.await_answer().and_then(|status| check(&status, name));
        checked.map_err(|message| format!("{command}: {message}; the chain is as it was"))?;
        Ok(new)
    }

    /// Waits until the stage tells of itself.
    fn await_answer(&mut self) -> Result<Status, String> {
        let begin = Instant::now();
        loop {
            if let Ok(status) = others::read(self.id()) {
                return Ok(status);
            }
            if let Ok(Some(status)) = self.child.try_wait() {
                return Err(format!("the new stage ended at once ({status})"));
            }
            if begin.elapsed() > PATIENCE {
                return Err("the new stage does not answer".into());
            }
            std::thread::sleep(LOOK);
        }
    }

    /// The number of its process.
    pub fn id(&self) -> u32 {
        self.child.id()
    }

    /// Has it take its place between two stages.
    pub fn take_place(&mut self, left: u32, right: u32) -> Result<(), String> {
        let (to, from) = (path_of(self.to.as_raw_fd()), path_of(self.from.as_raw_fd()));
        others::ask(self.id(), &Ask::TakePlace { left, right, to, from })?;
        self.has_place = true;
        Ok(())
    }
}

impl Drop for Newcomer {
    fn drop(&mut self) {
        if self.has_place {
            return;
        }
        // It may have ended by itself; then there is nothing to do.
        let _ = self.child.kill();
        let _ = self.child.wait();
        others::forget(self.id());
    }
}

/// Refuses a stage that would part those on its sides.
fn check(status: &Status, name: &str) -> Result<(), String> {
    for side in [LEFT, RIGHT] {
        let interface = status.interfaces.iter().find(|interface| interface.name == side);
        // Nobody but this process has the other ends of its pipes.
        if interface.is_none_or(|interface| interface.joint != "pipe") {
            return Err(no_pipe(name, side));
        }
    }
    Ok(())
}

fn no_pipe(name: &str, side: &str) -> String {
    format!("`{name}` has no pipe at its interface `{side}`, so that nothing would pass through it")
}

/// Where a new stage tells of errors: where this command does, but for a pipe, whose reader waits for the end of all who have it.
/// Then it is where its neighbour does.
fn errors(left: u32) -> std::io::Result<Stdio> {
    let own = std::io::stderr();
    if !matches!(sys::pipe::kind(own.as_fd()), Ok(Kind::Pipe(_) | Kind::Socket)) {
        return Ok(Stdio::inherit());
    }
    let neighbours = File::options().append(true).open(format!("/proc/{left}/fd/2"));
    neighbours.or_else(|_| File::options().append(true).open("/dev/null")).map(Stdio::from)
}
