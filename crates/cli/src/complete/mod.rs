//! Completions: a shell runs weir at each TAB, which knows its own commands and asks the running daemon or graph for the rest.
//!
//! Whoever does not answer at once is left out: a shell never waits, and is never told of an error.

pub mod graphs;
pub mod instances;
mod line;
mod paths;
mod shells;
mod typed;

use std::sync::mpsc::channel;
use std::time::Duration;

use clap_complete::env::{CompleteEnv, Shells};
use clap_complete::{CompletionCandidate, Shell};

pub use paths::words;
use typed::Typed;

/// The variable by which a shell says that it wants completions, and which shell it is.
const VARIABLE: &str = "WEIR_COMPLETE";
/// How long all answers may take.
const PATIENCE: Duration = Duration::from_millis(200);

/// What shells are supported.
const SHELLS: Shells<'static> = Shells(&[
    &shells::BASH,
    &shells::ZSH,
    &shells::FISH,
    &clap_complete::env::Elvish,
    &clap_complete::env::Powershell,
]);

/// Answers a shell that wants completions; false if none does.
pub fn answer() -> bool {
    if std::env::var_os(VARIABLE).is_none_or(|shell| shell.is_empty()) {
        return false;
    }
    let args: Vec<_> = std::env::args_os().collect();
    let words = shells::words(&args);
    typed::remember(&words);
    let env = CompleteEnv::with_factory(|| command(&words)).var(VARIABLE).bin("weir");
    // A shell has no place for errors.
    let _ = env.shells(SHELLS).try_complete(args, std::env::current_dir().ok().as_deref());
    true
}

/// What of the command line is to be completed.
fn command(words: &[String]) -> clap::Command {
    let command = crate::command::of(words);
    // The graph stands in front of what is to be done with it.
    match words.get(1).is_some_and(|word| word == "live") && typed::now().words.is_empty() {
        true => command.mut_subcommand("live", |live| live.mut_subcommands(|action| action.hide(true))),
        false => command,
    }
}

/// Writes the script that lets a shell ask.
pub fn script(shell: Shell, out: &mut dyn std::io::Write) -> std::io::Result<()> {
    let name = shell.to_string();
    let completer =
        SHELLS.completer(&name).ok_or_else(|| std::io::Error::other(format!("no shell {name}")))?;
    completer.write_registration(VARIABLE, "weir", "weir", "weir", out)
}

/// What `weir help` has pages of: commands, functions and element classes.
pub fn topics(current: &std::ffi::OsStr) -> Vec<CompletionCandidate> {
    let commands = crate::command::full();
    let shown = commands.get_subcommands().filter(|command| !command.is_hide_set());
    let mut all: Vec<String> = shown.map(|command| command.get_name().to_string()).collect();
    all.extend(::functions::Package::shipped_names().map(str::to_string));
    let classes = catalog::stock().folders().iter().flat_map(|(_, classes)| classes.iter());
    all.extend(classes.map(|class| class.facts.name.to_string()));
    all.sort();
    all.dedup();
    candidates(current, all)
}

/// What `find` finds in time for what has been typed so far.
fn asked(find: impl FnOnce(&Typed) -> Result<Vec<String>, String> + Send + 'static) -> Vec<String> {
    let (sender, receiver) = channel();
    let typed = typed::now();
    let begun = sys::thread::start("complete", sys::thread::STACK, move || {
        // Nobody waits for what comes too late.
        let _ = sender.send(find(&typed).unwrap_or_default());
    });
    begun.ok().and_then(|_| receiver.recv_timeout(PATIENCE).ok()).unwrap_or_default()
}

/// The candidates that begin with what was typed.
fn candidates(current: &std::ffi::OsStr, all: Vec<String>) -> Vec<CompletionCandidate> {
    let current = current.to_string_lossy();
    let own = all.into_iter().filter(|one| one.starts_with(&*current));
    own.map(CompletionCandidate::new).collect()
}
