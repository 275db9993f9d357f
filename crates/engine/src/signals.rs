//! Signals of the system that elements have asked for.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use element::ElementIdx;
use signal_hook::{consts::FORBIDDEN, flag, low_level};

use crate::wake::Waker;

/// Who waits for which signal, and which have come.
#[derive(Debug, Default)]
pub struct Signals {
    waiting: Vec<(i32, ElementIdx)>,
    hooks: HashMap<i32, Hook>,
}

/// What the signal handler of the process looks at and sets.
#[derive(Debug)]
struct Hook {
    came: Arc<AtomicBool>,
    /// Whether the signal has its usual effect, nobody waiting for it.
    is_usual: Arc<AtomicBool>,
}

impl Signals {
    /// Lets an element wait for the next `signo`.
    pub fn catch(&mut self, element: ElementIdx, signo: i32, waker: &Waker) -> Result<(), String> {
        match self.hooks.get(&signo) {
            Some(hook) => hook.is_usual.store(false, Ordering::SeqCst),
            None => {
                let hook = Hook::install(signo, waker).map_err(|error| error.to_string())?;
                self.hooks.insert(signo, hook);
            }
        }
        if !self.waiting.contains(&(signo, element)) {
            self.waiting.push((signo, element));
        }
        Ok(())
    }

    /// Forgets what an element waits for.
    pub fn forget(&mut self, element: ElementIdx) {
        self.waiting.retain(|(_, other)| *other != element);
        for (signo, hook) in &self.hooks {
            if !self.is_awaited(*signo) {
                hook.is_usual.store(true, Ordering::SeqCst);
            }
        }
    }

    /// Whether an element waits for a signal, so that it has no other effect.
    pub fn is_awaited(&self, signo: i32) -> bool {
        self.waiting.iter().any(|(waited, _)| *waited == signo)
    }

    /// Whether a signal has come that was not taken yet.
    pub fn have_come(&self) -> bool {
        self.hooks.values().any(|hook| hook.came.load(Ordering::Relaxed))
    }

    /// Takes the signals that have come, with the elements that waited for them.
    pub fn take(&mut self) -> Vec<(i32, ElementIdx)> {
        let mut came: Vec<i32> = Vec::new();
        for (signo, hook) in &self.hooks {
            if hook.came.load(Ordering::Relaxed) && hook.came.swap(false, Ordering::SeqCst) {
                came.push(*signo);
            }
        }
        if came.is_empty() {
            return Vec::new();
        }
        let (happened, waiting) = self.waiting.drain(..).partition(|(signo, _)| came.contains(signo));
        self.waiting = waiting;
        happened
    }

    /// After the elements have been told: a signal that nobody waits for any more has its usual effect again, from the
    /// time it was taken; so has one that nobody handled.
    pub fn settle(&mut self, taken: impl Iterator<Item = i32>, handled: &[i32]) {
        let mut taken: Vec<i32> = taken.collect();
        taken.sort_unstable();
        taken.dedup();
        for signo in taken {
            let Some(hook) = self.hooks.get(&signo) else { continue };
            let mut again = !handled.contains(&signo);
            if !self.is_awaited(signo) {
                hook.is_usual.store(true, Ordering::SeqCst);
                again |= hook.came.swap(false, Ordering::SeqCst);
            }
            if again {
                let _ = low_level::raise(signo);
            }
        }
    }
}

impl Hook {
    fn install(signo: i32, waker: &Waker) -> std::io::Result<Hook> {
        if FORBIDDEN.contains(&signo) {
            return Err(std::io::ErrorKind::InvalidInput.into());
        }
        let (came, is_usual) = (Arc::new(AtomicBool::new(false)), Arc::new(AtomicBool::new(false)));
        flag::register_conditional_default(signo, is_usual.clone())?;
        flag::register(signo, came.clone())?;
        low_level::pipe::register(signo, waker.writer()?)?;
        Ok(Hook { came, is_usual })
    }
}

/// Hands the signals back: those that come from now on have their usual effect.
impl Drop for Signals {
    fn drop(&mut self) {
        for hook in self.hooks.values() {
            hook.is_usual.store(true, Ordering::SeqCst);
        }
    }
}
