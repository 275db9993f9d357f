//! Stopping: SIGINT and SIGTERM ask the driver to stop; a second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

/// Whether the user asked to stop.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens for SIGINT and SIGTERM from now on, except for what the graph itself waits for.
    pub fn listen(is_awaited: impl Fn(i32) -> bool) -> Stop {
        let flag = Arc::new(AtomicBool::new(false));
        let signals = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
        for signal in signals.into_iter().filter(|signal| !is_awaited(*signal)) {
            // The order matters: the first signal finds the flag unset and only sets it, the second one ends the program.
            let _ = signal_hook::flag::register_conditional_default(signal, flag.clone());
            let _ = signal_hook::flag::register(signal, flag.clone());
        }
        Stop(flag)
    }

    /// Whether a signal has come.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
