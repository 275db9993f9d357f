//! Running a chain of several processes, joined by pipes.

use std::io::IsTerminal;
use std::os::fd::AsFd;
use std::os::unix::process::{CommandExt, ExitStatusExt};
use std::process::{Child, Command, ExitCode, ExitStatus, Stdio};
use std::time::{Duration, Instant};

use element::output::reason;
use rustix::process::{kill_process, Pid};
use sys::poll::{Interest, Poller};
use sys::signals::{Signal, Signals};

use super::part::{is_of_interface, Part, Work};
use super::plan::{Chain, Segment};
use super::ChainOptions;
use crate::failure::Exit;
use crate::stage::options::{LEFT, RIGHT};
use crate::stage::status::command_line;
use crate::stop;

/// This program.
const WEIR: &str = "/proc/self/exe";
/// What a shell adds to the number of the signal that ended a process.
const BY_SIGNAL: i32 = 128;
/// How long processes that the terminal has told to end may take before they are told again: longer than a stack gives its
/// program.
const INSIST: Duration = Duration::from_millis(2500);

/// A process of the chain.
struct Running {
    /// How messages call it.
    called: String,
    child: Child,
    status: Option<ExitStatus>,
}

/// Runs all processes until the last one has ended.
pub fn run(chain: &Chain, options: &ChainOptions) -> Exit {
    let words = |error: sys::SysError| error.to_string();
    let watched: Vec<Signal> = stop::signals().chain([Signal::Child]).collect();
    let signals = Signals::watch(&watched).map_err(words)?;
    if !options.quiet {
        chain.notes().iter().for_each(|note| eprintln!("weir: {note}"));
    }
    // The terminal's Ctrl-C reaches all processes of its group. Without one, nobody but this process tells them.
    let shares_terminal = std::io::stdin().is_terminal() || std::io::stderr().is_terminal();
    let mut running = start(chain, options, shares_terminal)?;
    let is_stopped = wait(&mut running, &signals, shares_terminal)?;
    let codes: Vec<i32> = running.iter().filter_map(|process| Some(code(process.status?))).collect();
    if !options.quiet && !is_stopped {
        running.iter().for_each(tell_end);
    }
    let failed = codes.iter().find(|code| **code != 0).filter(|_| options.pipefail);
    let code = failed.or(codes.last()).copied().unwrap_or(0);
    Ok(u8::try_from(code).map_or(ExitCode::FAILURE, ExitCode::from))
}

/// Starts all processes, or none.
fn start(chain: &Chain, options: &ChainOptions, shares_terminal: bool) -> Result<Vec<Running>, String> {
    let mut running: Vec<Running> = Vec::new();
    let mut input = Stdio::inherit();
    for (idx, segment) in chain.segments.iter().enumerate() {
        let called = chain.called(*segment);
        let mut command = command(chain, idx, options);
        if !shares_terminal {
            command.process_group(0);
        }
        sys::process::ends_with_parent(&mut command);
        command.stdin(input);
        input = Stdio::null();
        let started =
            connect(&mut command, &mut input, idx + 1 == chain.segments.len()).and_then(|()| command.spawn());
        match started {
            Ok(child) => running.push(Running { called, child, status: None }),
            Err(error) => {
                for process in &mut running {
                    // It may have ended by itself; then there is nothing to do.
                    let _ = process.child.kill();
                    let _ = process.child.wait();
                }
                return Err(format!("{called}: {}", reason(&error)));
            }
        }
    }
    Ok(running)
}

/// Makes the pipe to the next process, whose input is set.
fn connect(command: &mut Command, input: &mut Stdio, is_last: bool) -> std::io::Result<()> {
    if !is_last {
        let (reader, writer) = std::io::pipe()?;
        command.stdout(writer);
        *input = Stdio::from(reader);
    }
    Ok(())
}

/// Waits for all processes; whether the user stopped them.
fn wait(running: &mut [Running], signals: &Signals, shares_terminal: bool) -> Result<bool, String> {
    let words = |error: sys::SysError| error.to_string();
    let mut poller = Poller::new().map_err(words)?;
    poller.add(signals.as_fd(), 0, Interest::READ).map_err(words)?;
    let (mut is_stopped, mut insist_at) = (false, None::<Instant>);
    loop {
        for process in running.iter_mut().filter(|process| process.status.is_none()) {
            process.status = process.child.try_wait().map_err(|error| reason(&error))?;
        }
        if running.iter().all(|process| process.status.is_some()) {
            return Ok(is_stopped);
        }
        let patience = insist_at.map(|at| at.saturating_duration_since(Instant::now()));
        poller.wait(patience).map_err(words)?;
        for signal in signals.take() {
            match signal {
                Signal::Interrupt if shares_terminal => insist_at = Some(Instant::now() + INSIST),
                Signal::Interrupt | Signal::Terminate | Signal::Hangup => pass_on(running, signal),
                _ => continue,
            }
            is_stopped = true;
        }
        if insist_at.is_some_and(|at| at <= Instant::now()) {
            insist_at = None;
            pass_on(running, Signal::Interrupt);
        }
    }
}

fn pass_on(running: &[Running], signal: Signal) {
    let signal = match signal {
        Signal::Interrupt => rustix::process::Signal::INT,
        Signal::Hangup => rustix::process::Signal::HUP,
        _ => rustix::process::Signal::TERM,
    };
    for process in running.iter().filter(|process| process.status.is_none()) {
        if let Some(pid) = i32::try_from(process.child.id()).ok().and_then(Pid::from_raw) {
            // It is not waited for yet, so that the number is its own.
            let _ = kill_process(pid, signal);
        }
    }
}

/// The exit status as a shell has it.
fn code(status: ExitStatus) -> i32 {
    status.code().or_else(|| status.signal().map(|signal| BY_SIGNAL + signal)).unwrap_or(1)
}

/// Says that a process was killed. That a reader went away is how pipelines end.
fn tell_end(process: &Running) {
    const BROKEN_PIPE: i32 = 13;
    if let Some(signal) =
        process.status.and_then(|status| status.signal()).filter(|signal| *signal != BROKEN_PIPE)
    {
        eprintln!("weir: {} was ended by signal {signal}", process.called);
    }
}

/// What runs a segment.
fn command(chain: &Chain, idx: usize, options: &ChainOptions) -> Command {
    let segment = chain.segments[idx];
    let mut words = words(chain, idx, options);
    let program = words.remove(0);
    let mut command = Command::new(&program);
    if program == WEIR {
        command.arg0("weir");
    }
    command.args(words);
    for (name, _) in std::env::vars_os() {
        let name = name.to_string_lossy();
        let stays = match &*name {
            "IF0" | "IFTYPE0" => idx == 0,
            "IF1" | "IFTYPE1" => idx + 1 == chain.segments.len(),
            name => !is_of_interface(name),
        };
        if !stays {
            command.env_remove(&*name);
        }
    }
    if segment.len == 1 {
        let environment = &chain.parts[segment.first].written.environment;
        command.envs(environment.iter().map(|(name, value)| (name, value)));
    }
    command
}

/// The words of the command that runs a segment, as a user would write them.
pub fn shown(chain: &Chain, idx: usize, options: &ChainOptions) -> Vec<String> {
    let mut words = words(chain, idx, options);
    words.iter_mut().take(1).filter(|word| *word == WEIR).for_each(|word| *word = "weir".to_string());
    words
}

/// The words of the command that runs a segment.
fn words(chain: &Chain, idx: usize, options: &ChainOptions) -> Vec<String> {
    let segment = chain.segments[idx];
    let part = &chain.parts[segment.first];
    let own = part.written.words.iter().cloned();
    let ends = end_options(chain, idx, options);
    let weir = std::iter::once(WEIR.to_string());
    match part.work {
        Work::Program => own.collect(),
        Work::Linux => {
            let plain = options.stage.plain.then(|| "--plain".to_string());
            weir.chain(own.clone().take(1)).chain(ends).chain(plain).chain(own.skip(1)).collect()
        }
        Work::Chain => weir.chain(own).collect(),
        Work::Graph(_) => {
            let text = chain.text(segment);
            let settings = settings(chain, idx, options);
            let words = weir.chain(["chain".to_string()]).chain(ends).chain(settings);
            words.chain(["--".to_string(), text]).collect()
        }
    }
}

/// Options for the end of the chain that a segment is.
fn end_options(chain: &Chain, idx: usize, options: &ChainOptions) -> Vec<String> {
    let (is_first, is_last) = (idx == 0, idx + 1 == chain.segments.len());
    let mut words = Vec::new();
    for text in &options.stage.interfaces {
        let name = text.split_once('=').map_or(text.as_str(), |(name, _)| name);
        if name == LEFT && is_first || name == RIGHT && is_last {
            words.extend(["--if".to_string(), text.clone()]);
        }
    }
    if let Some(format) = options.stage.format.as_ref().filter(|_| is_first || is_last) {
        words.extend(["--format".to_string(), format.clone()]);
    }
    words
}

/// Options that a segment of graphs has from the chain.
fn settings(chain: &Chain, idx: usize, options: &ChainOptions) -> Vec<String> {
    let mut words = Vec::new();
    let stage = &options.stage;
    words.extend(["--burst".to_string(), stage.burst().to_string()]);
    words.extend(["--drain".to_string(), stage.drain().to_string()]);
    let flags = [(options.quiet, "--quiet"), (stage.spin, "--spin"), (stage.plain, "--plain")];
    words.extend(flags.iter().filter(|(is_set, _)| *is_set).map(|(_, flag)| flag.to_string()));
    if let Some(name) = &options.name {
        let n_before = chain.segments[..idx].iter().filter(|segment| chain.is_graph(**segment)).count();
        let name = if n_before == 0 { name.clone() } else { format!("{name}-{}", n_before + 1) };
        words.extend(["--name".to_string(), name]);
    }
    words
}

impl Chain {
    /// The text of a segment of graphs.
    fn text(&self, segment: Segment) -> String {
        match self.stages(segment) {
            [only] => {
                let mut words: Vec<&str> = only.written.words.iter().map(String::as_str).collect();
                let has_side = words.iter().any(|word| word.starts_with("--side"));
                if words[0] == "port" && !has_side && self.parts.len() > 1 {
                    let side = if segment.first == 0 { LEFT } else { RIGHT };
                    words.splice(1..1, ["--side", side]);
                }
                command_line(words)
            }
            parts => parts.iter().map(|part| part.written.text.as_str()).collect::<Vec<_>>().join(" | "),
        }
    }

    /// How messages call a segment.
    fn called(&self, segment: Segment) -> String {
        match self.stages(segment) {
            [only] => only.written.called(),
            parts => {
                let texts: Vec<&str> = parts.iter().map(|part| part.written.text.as_str()).collect();
                let last = segment.first + segment.len;
                format!("stages {} to {last} (`{}`)", segment.first + 1, texts.join(" | "))
            }
        }
    }

    /// Why graphs that could be one are not.
    pub fn notes(&self) -> Vec<String> {
        let next_to = |part: &Part, other: &Part| match (part.graph(), other.graph()) {
            (Some(part), Some(other)) => {
                let own = part.apart.clone().or(other.apart.clone());
                own.or((part.options.burst() != other.options.burst())
                    .then(|| "its --burst is another".to_string()))
            }
            _ => None,
        };
        let pairs = self.parts.windows(2);
        pairs
            .filter_map(|pair| {
                let why = next_to(&pair[0], &pair[1])?;
                Some(format!(
                    "{} runs in another process than stage {}: {why}",
                    pair[1].written.called(),
                    pair[0].written.number
                ))
            })
            .collect()
    }
}
