//! Programs that are run for events: a folder of executables, each called as the event that it is for.

use std::collections::{HashSet, VecDeque};
use std::os::unix::fs::MetadataExt;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::time::Duration;

use crate::event::Event;
use crate::hook;

/// Events that wait at most; more are dropped, and counted.
const MAX_WAITING: usize = 1000;
/// How long the end waits for hooks whose events were before it.
const PATIENCE: Duration = Duration::from_secs(5);

/// How much a line of the log matters.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Level {
    /// What a hook printed.
    Info,
    /// What went wrong.
    Warn,
}

/// Writes a line to a log.
pub type Log = Box<dyn Fn(Level, &str) + Send + Sync>;

/// How programs are run.
pub struct Settings {
    /// The folder.
    pub folder: PathBuf,
    /// How long one may take.
    pub timeout: Duration,
    /// What else is in their environment.
    pub variables: Vec<(String, String)>,
    /// Where what they print goes.
    pub log: Log,
}

/// Runs programs on a thread of its own, one at a time, in the order of the events.
pub struct Hooks(Arc<Shared>);

pub(crate) struct Shared {
    pub(crate) settings: Settings,
    state: Mutex<State>,
    changed: Condvar,
}

#[derive(Default)]
struct State {
    waiting: VecDeque<Arc<Event>>,
    n_dropped: u64,
    runs: bool,
    /// Those that there is no point in complaining of again.
    complained: HashSet<String>,
    is_closing: bool,
    is_over: bool,
}

impl Hooks {
    /// Programs of a folder. Which there are is looked for at each event.
    pub fn open(mut settings: Settings) -> Result<Hooks, String> {
        let shown = settings.folder.display().to_string();
        let failed = |error: std::io::Error| format!("{shown}: {}", sys::reason(&error));
        // It is found also if this process goes to another folder.
        settings.folder = settings.folder.canonicalize().map_err(failed)?;
        let facts = settings.folder.metadata().map_err(failed)?;
        if !facts.is_dir() {
            return Err(format!("{shown}: this is no folder"));
        }
        if facts.mode() & 0o002 != 0 {
            return Err(format!("{shown}: anybody may put programs into it; `chmod o-w` it"));
        }
        let (state, changed) = (Mutex::default(), Condvar::new());
        let shared = Arc::new(Shared { settings, state, changed });
        let own = shared.clone();
        let begun = sys::thread::start("hooks", sys::thread::STACK, move || own.run());
        begun.map_err(|error| sys::no_thread(&error))?;
        Ok(Hooks(shared))
    }

    /// Runs the program of an event, if there is one, when those before have ended. Never waits.
    pub fn offer(&self, event: &Arc<Event>) {
        let Some(path) = self.0.program(&event.event) else { return };
        let checked = check(&path);
        let mut state = self.0.lock();
        if state.is_closing {
            return;
        }
        if let Err(problem) = checked {
            // Once is enough, until it is right again.
            if state.complained.insert(event.event.clone()) {
                drop(state);
                self.0.warn(&event.event, &problem);
            }
            return;
        }
        state.complained.remove(&event.event);
        match state.waiting.len() < MAX_WAITING {
            true => state.waiting.push_back(event.clone()),
            false => state.n_dropped += 1,
        }
        drop(state);
        self.0.changed.notify_all();
    }

    /// Waits some seconds for those that are due, and ends the one that still runs then.
    pub fn finish(&self) {
        let mut state = self.0.lock();
        state.is_closing = true;
        let is_busy = |state: &mut State| state.runs || !state.waiting.is_empty();
        let waited = self.0.changed.wait_timeout_while(state, PATIENCE, is_busy);
        state = waited.unwrap_or_else(PoisonError::into_inner).0;
        state.is_over = true;
        let n_left = state.waiting.len();
        state.waiting.clear();
        // The hook looks whether it is over, and is killed.
        let waited = self.0.changed.wait_timeout_while(state, PATIENCE, |state| state.runs);
        drop(waited);
        if n_left > 0 {
            self.0.say(Level::Warn, &format!("{n_left} events are left without their hooks"));
        }
    }
}

impl Drop for Hooks {
    fn drop(&mut self) {
        self.0.lock().is_over = true;
        self.0.changed.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The program for an event, if there is a file of that name.
    fn program(&self, event: &str) -> Option<PathBuf> {
        let path = self.settings.folder.join(event);
        path.symlink_metadata().is_ok().then_some(path)
    }

    fn run(&self) {
        while let Some((event, n_dropped)) = self.next() {
            if n_dropped > 0 {
                let message = format!(
                    "{n_dropped} events were dropped: {MAX_WAITING} wait already, hooks are too slow for them"
                );
                self.say(Level::Warn, &message);
            }
            if let Some(path) = self.program(&event.event) {
                if let Err(problem) = hook::run(self, &path, &event) {
                    self.warn(&event.event, &problem);
                }
            }
            self.lock().runs = false;
            self.changed.notify_all();
        }
    }

    /// Waits for an event; `None` at the end. With it, how many were dropped since the last one.
    fn next(&self) -> Option<(Arc<Event>, u64)> {
        let mut state = self.lock();
        loop {
            if state.is_over {
                return None;
            }
            if let Some(event) = state.waiting.pop_front() {
                state.runs = true;
                return Some((event, std::mem::take(&mut state.n_dropped)));
            }
            state = self.changed.wait(state).unwrap_or_else(PoisonError::into_inner);
        }
    }

    /// Whether the one that runs is not to be waited for.
    pub(crate) fn is_over(&self) -> bool {
        self.lock().is_over
    }

    pub(crate) fn say(&self, level: Level, line: &str) {
        (self.settings.log)(level, line);
    }

    fn warn(&self, event: &str, problem: &str) {
        self.say(Level::Warn, &format!("hook {event}: {problem}"));
    }
}

/// Why a program is not to be run.
fn check(path: &Path) -> Result<(), String> {
    const EXECUTABLE: u32 = 0o111;
    const OTHERS_WRITE: u32 = 0o002;
    match path.metadata() {
        Err(error) => Err(error.to_string()),
        Ok(facts) if !facts.is_file() => Err("this is no file".to_string()),
        Ok(facts) if facts.mode() & EXECUTABLE == 0 => Err("it is not executable; `chmod +x` it".to_string()),
        Ok(facts) if facts.mode() & OTHERS_WRITE != 0 => {
            Err("anybody may change it; `chmod o-w` it".to_string())
        }
        Ok(_) => Ok(()),
    }
}

#[cfg(test)]
mod tests;
