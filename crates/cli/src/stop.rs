//! Stopping: SIGINT and SIGTERM ask the driver to stop; a second one ends the program at once.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::Arc;

use engine::world::World;

/// Whether the user asked to stop.
#[derive(Clone)]
pub struct Stop(Arc<AtomicBool>);

impl Stop {
    /// Listens for SIGINT and SIGTERM from now on, except for what the graph itself waits for.
    pub fn listen(world: &mut World) -> Stop {
        let flag = Arc::new(AtomicBool::new(false));
        let signals = [signal_hook::consts::SIGINT, signal_hook::consts::SIGTERM];
        for signal in signals {
            if world.awaits_signal(signal) {
                continue;
            }
            // The order matters: the first signal finds the flag unset and only sets it, the second one ends the program.
            let _ = signal_hook::flag::register_conditional_default(signal, flag.clone());
            let _ = signal_hook::flag::register(signal, flag.clone());
            if let Some(writer) = world.wake_writer() {
                let _ = signal_hook::low_level::pipe::register(signal, writer);
            }
        }
        Stop(flag)
    }

    /// Passes the user's wish on to the driver.
    pub fn pass_on(&self, world: &mut World) {
        if self.is_asked() {
            world.ask_to_stop();
        }
    }

    /// Whether a signal has come.
    pub fn is_asked(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }
}
