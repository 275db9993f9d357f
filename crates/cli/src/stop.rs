//! Stopping: SIGINT, SIGTERM and SIGHUP ask the driver to stop; a SIGINT or SIGTERM a while after that ends the program at
//! once.

use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::Arc;

use engine::world::World;
use sys::signals::{is_ignored, unblock, Signal};

/// Whether the user asked to stop.
#[derive(Clone)]
pub struct Stop {
    is_asked: Arc<AtomicBool>,
    /// The number of the signal that came last.
    signal: Arc<AtomicUsize>,
}

/// What asks to stop. A closed terminal does not if whoever started this arranged that (`nohup`).
pub fn signals() -> impl Iterator<Item = Signal> {
    let hangup = Some(Signal::Hangup).filter(|signal| !is_ignored(*signal));
    [Signal::Interrupt, Signal::Terminate].into_iter().chain(hangup)
}

/// Has a signal set a flag from now on, and wake the driver.
pub fn hear(signal: i32, flag: &Arc<AtomicBool>, world: &mut World) {
    let _ = signal_hook::flag::register(signal, flag.clone());
    if let Some(writer) = world.wake_writer() {
        let _ = signal_hook::low_level::pipe::register(signal, writer);
    }
}

impl Stop {
    /// Listens for what asks to stop from now on, except for what the graph itself waits for.
    pub fn listen(world: &mut World) -> Stop {
        Stop::listen_to(signals(), world)
    }

    /// As [`Stop::listen`], for these signals.
    pub fn listen_to(signals: impl IntoIterator<Item = Signal>, world: &mut World) -> Stop {
        let stop = Stop { is_asked: Arc::default(), signal: Arc::default() };
        for signal in signals {
            unblock(signal);
            if world.awaits_signal(signal.number()) {
                continue;
            }
            let _ = sys::signals::end_when_repeated(signal);
            let signal = signal.number();
            let _ = signal_hook::flag::register_usize(signal, stop.signal.clone(), signal as usize);
            hear(signal, &stop.is_asked, world);
        }
        stop
    }

    /// Passes the user's wish on to the driver.
    pub fn pass_on(&self, world: &mut World) {
        if self.is_asked() {
            world.ask_to_stop();
        }
    }

    /// Whether a signal has come.
    pub fn is_asked(&self) -> bool {
        // The handler, on whichever thread it ran, stored the signal's number first.
        self.is_asked.load(Ordering::Acquire)
    }

    /// Where it is told that a signal has come.
    pub fn flag(&self) -> Arc<AtomicBool> {
        self.is_asked.clone()
    }

    /// The number of the signal that has come.
    pub fn signal(&self) -> Option<i32> {
        self.is_asked().then(|| self.signal.load(Ordering::Relaxed) as i32)
    }
}
